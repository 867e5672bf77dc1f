"""Translates errors of SQLite and of the file system to one line that says what to do."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgemem.errors import MemoryDirError
from edgemem.remember.disk.database import errors

_AGAIN = "restore a backup as a new memory with `edgemem memory import BACKUP --memory DIR`"
_SQLITE = (
    ("disk is full", "the disk is full: free some space or lower budget.disk; everything that was committed is safe"),
    ("readonly", "is read-only: mount it writable or fix its permissions"),
    ("locked", "is busy: another process holds it; try again when that is done"),
    ("not a database", f"is damaged: memory.db is not an SQLite database; {_AGAIN}"),
    ("malformed", f"is damaged: {_AGAIN}"),
    ("unable to open", "cannot be opened: check its permissions"),
    ("disk i/o error", "cannot be read or written: the disk reports an I/O error"),
)
_ERRNO = {
    errno.ENOSPC: "the disk is full: free some space or lower budget.disk; everything that was committed is safe",
    errno.EDQUOT: "the disk quota is used up: free some space or lower budget.disk; everything that was committed is safe",
    errno.EROFS: "is on a read-only file system: mount it writable",
    errno.EACCES: "may not be accessed by this user: fix its permissions",
    errno.EPERM: "may not be accessed by this user: fix its permissions",
    errno.EIO: "cannot be read or written: the disk reports an I/O error",
}


def explain(directory: Path, error: Exception) -> MemoryDirError:
    """The error for the user, in one line, for an `error` of SQLite, SQLCipher or the file system in the memory at `directory`."""
    if isinstance(error, UnicodeDecodeError):  # SQLite quotes a damaged table definition in its message
        said = f"is damaged: {_AGAIN}"
    elif isinstance(error, OSError):
        said = _ERRNO.get(error.errno or 0, error.strerror or str(error))
    else:
        text = str(error)
        if "disk i/o error" in text.lower() and _full(directory):
            text = "disk is full"  # SQLite says so only of some of its files
        said = next((line for sign, line in _SQLITE if sign in text.lower()), text)
    return MemoryDirError(f"memory {directory}: {said}")


def _full(directory: Path) -> bool:
    try:
        return os.statvfs(directory).f_bavail == 0
    except OSError:
        return False


@contextmanager
def translated_errors(directory: Path) -> Iterator[None]:
    """Convert errors of SQLite, encrypted or not, of text that is no UTF-8, and of the file system to `MemoryDirError`.

    Programming errors are not changed.
    """
    try:
        yield
    except errors("ProgrammingError", "IntegrityError", "InterfaceError"):
        raise
    except errors() + (OSError, UnicodeDecodeError) as error:  # noqa: RUF005 - mypy knows this form
        raise explain(directory, error) from error
