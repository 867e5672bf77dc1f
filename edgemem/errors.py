"""Errors for users. Each has one line that says what to do, and the exit code of the command line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class EdgememError(Exception):
    """Base of all errors that edgemem raises itself. `exit_code`: of the command line."""

    exit_code = 1


class UsageError(EdgememError):
    """Wrong arguments, configuration, recipe, card or plugin: exit code 2."""

    exit_code = 2


class SourceError(EdgememError):
    """A video, folder or camera that cannot be read."""


class EngineError(EdgememError):
    """A model that is missing, corrupt or does not fit its card."""


class RuntimeUnavailable(EngineError):  # noqa: N818 - a state of this machine that another runtime makes good
    """A runtime whose library, driver or device is missing here; the message names which, and what to do."""


class FetchError(EngineError):
    """Weights that could not be fetched or verified."""


class ChatError(EngineError):
    """A language model that is not configured, does not answer, refuses, or would exceed a cost limit."""


class MemoryDirError(EdgememError):
    """A directory that is no memory, or is locked, too new, read-only, corrupt or on a full disk."""


class OldSchemaError(MemoryDirError):
    """A memory of an earlier version: it must be migrated before it can be read."""


class MemoryKeyError(MemoryDirError):
    """A key that is missing, wrong, unreadable or not needed: exit code 2, because the configuration must be corrected."""

    exit_code = 2


class BudgetError(MemoryDirError):
    """A write that does not fit into the byte budget, or a budget that is too small. Nothing was written."""


class PluginError(UsageError):
    """A plugin that violates the contract; the message names the plugin, the hook or key, and the nearest valid one."""


def nearest(name: str, valid: Iterable[str]) -> str:
    """A hint such as ` (did you mean "blur"?)` for the valid name closest to `name`; else the list of valid ones."""
    options = sorted(set(valid))
    close = difflib.get_close_matches(name, options, n=1, cutoff=0.5)
    if close:
        return f' (did you mean "{close[0]}"?)'
    return f" (valid: {', '.join(options)})" if options else ""


class PluginFailure(EdgememError):  # noqa: N818 - a failure that was counted, not an error to report
    """A plugin's object raised an error, or is switched off after repeated failures. Callers count it and continue without it."""
