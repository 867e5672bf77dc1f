"""Reads TOML: files of settings, recipes, cards and boards, and single values."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from edgemem import files
from edgemem.errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MOST_FILE_BYTES = 1 << 20
"""Largest settings file or recipe that is read."""


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a dict. Raises UsageError, which names the file and the line."""
    try:
        return dict(tomllib.loads(files.read_file(path, MOST_FILE_BYTES).decode("utf-8")))
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise UsageError(f"{path}: cannot be read ({why})") from None
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not valid TOML ({error})") from None


def value_of(text: str) -> Any:
    """The TOML value of a text (`3`, `true`, `["a"]`), else the text itself."""
    try:
        return tomllib.loads(f"v = {text}")["v"]
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        return text
