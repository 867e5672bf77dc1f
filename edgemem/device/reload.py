"""SIGHUP: the daemon reads its settings again. What is safe takes effect between two frames; what needs a restart is named."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from edgemem.config import parse_bytes
from edgemem.device import notify
from edgemem.errors import EdgememError, UsageError
from edgemem.remember.disk.page_budget import BudgetShares
from edgemem.see.privacy import Privacy

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from edgemem.config import Settings
    from edgemem.device.log import Report
    from edgemem.device.shared_store import SharedStore
    from edgemem.extend.environment import Environment

_GOVERNED = ("budget.fps", "budget.ram", "budget.watts", "governor")
"""Settings that the governor follows. "governor" stands for all of its table."""
SAFE = ("budget.disk", *_GOVERNED, "privacy.masks", "privacy.streams", "retention")
"""Settings that a running daemon takes over, in alphabetical order: what is stored, and how much work is done. Models stay loaded."""


class Change(NamedTuple):
    """The difference between the settings in use and those of the file."""

    settings: Settings
    """Those in use, with the safe ones of the file."""
    taken: tuple[str, ...]
    """Keys that take effect now."""
    waiting: tuple[str, ...]
    """Keys that take effect after a restart."""


class Suspendable(Protocol):
    """A stream, as the reload needs it; `StreamWorker` is one."""

    label: str

    def suspended(self, within_s: float) -> AbstractContextManager[None]: ...
    def refuse(self, why: str) -> None: ...


class Governed(Protocol):
    """The governor's thread, as the reload needs it; `GovernorRunner` is one."""

    def use(self, settings: Settings) -> None: ...


def change_of(used: Settings, read: Settings) -> Change:
    """What differs. Raises EdgememError for a budget that is too small."""
    changed = sorted(set(_changed(used, read)))
    if "budget.disk" in changed:
        BudgetShares.of(parse_bytes(read.budget.disk))
    settings = msgspec.structs.replace(
        used,
        budget=read.budget,
        governor=read.governor,
        privacy=read.privacy,
        retention=read.retention,
    )
    return Change(settings, tuple(key for key in changed if _in(SAFE, key)), tuple(key for key in changed if not _in(SAFE, key)))


def _in(keys: Sequence[str], key: str) -> bool:
    """Whether a key is one of these, or in a table that is."""
    return key in keys or key.partition(".")[0] in keys


def _changed(used: msgspec.Struct, read: msgspec.Struct, prefix: str = "") -> Iterator[str]:
    """The keys whose values differ, such as "budget.disk"."""
    for field in msgspec.structs.fields(used):
        before, after = getattr(used, field.name), getattr(read, field.name)
        if before == after:
            continue
        if isinstance(before, msgspec.Struct) and type(before) is type(after):
            yield from _changed(before, after, f"{prefix}{field.encode_name}.")
        else:
            yield f"{prefix}{field.encode_name}"


class Reloads:
    """Reads the settings again when `request` was called, and applies what is safe."""

    def __init__(self, environment: Environment, memory: Path, report: Report, within_s: float) -> None:
        """`within_s`: how long a stream may take to pause."""
        self._environment, self._memory, self._report, self._within_s = environment, memory, report, within_s
        self._requested = threading.Event()

    def request(self) -> None:
        """Ask for a reload, from any thread."""
        self._requested.set()

    @property
    def requested(self) -> bool:
        """Whether `run` has something to do."""
        return self._requested.is_set()

    def run(self, store: SharedStore, workers: Sequence[Suspendable], governor: Governed | None) -> None:
        """Read and apply, and tell the service manager. Wrong settings change nothing and are reported."""
        self._requested.clear()
        notify.reloading()
        try:
            change = change_of(self._environment.settings, self._environment.read_again())
            if light := change.settings.governor.light:
                self._environment.engines.check_names(light, "governor.light")
            governed = [key for key in change.taken if _in(_GOVERNED, key)]
            if len(governed) < len(change.taken):
                self._apply(change, store, workers)
            self._environment.use(change.settings)
            if governed and governor is not None:
                governor.use(change.settings)
            self._say(change)
        except EdgememError as error:
            if store.lost is not None:
                raise
            self._report(f"the settings are not changed: {error}", level="error")
        finally:
            notify.send("READY=1")

    def _apply(self, change: Change, store: SharedStore, workers: Sequence[Suspendable]) -> None:
        """Swap the settings while no stream sees anything: each continues with a pipeline that is made anew."""
        with ExitStack() as stack:
            for worker in workers:
                stack.enter_context(worker.suspended(self._within_s))
            self._environment.use(change.settings)
            if "budget.disk" in change.taken:
                store.budget_bytes = parse_bytes(change.settings.budget.disk)
                with store.released(change.settings.store.durability):
                    pass  # opened again it keeps the new cap
            for worker in workers:
                worker.refuse(self._refusal(change.settings, worker.label))

    def _refusal(self, settings: Settings, stream: str) -> str:
        try:
            Privacy(settings.privacy, settings.retention, self._memory, stream).require_consent()
        except UsageError as error:
            return str(error)
        return ""

    def _say(self, change: Change) -> None:
        if change.taken:
            self._report(f"settings read again: {', '.join(change.taken)}", level="notice")
        if change.waiting:
            self._report(f"these settings take effect after a restart: {', '.join(change.waiting)}", level="warning")
        if not change.taken and not change.waiting:
            self._report("settings read again: nothing has changed", level="notice")
