"""Measures how much of the write-ahead log is not yet moved into the database.

A log that keeps its size and is written from its beginning again needs no new blocks of the file system. Compared with cutting it to zero
each time, writes take half the time, checkpoints three quarters. So the file size does not show how much waits; its frames do. The frames
of the current round have the salt of the log's header and come first (SQLite's "WAL File Format"; SQLCipher encrypts only the pages in
them).
"""

from __future__ import annotations

import os
from pathlib import Path

from edgemem.remember.disk.page_budget import FRAME_BYTES

_HEADER_BYTES = 32
_SALT_BYTES = 8
_SALT_AT, _FRAME_SALT_AT = 16, 8
"""Position of the salt in the header of the log and in that of a frame."""


class Log:
    """The log of one database, as its only writer sees it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._moved = (b"", 0)

    def waiting_bytes(self) -> int:
        """Bytes of frames that no checkpoint has moved; 0 without a log."""
        salt, frames = self._written()
        return FRAME_BYTES * (frames - self._moved[1] if salt == self._moved[0] else frames)

    def note_moved(self) -> None:
        """Call after a checkpoint that moved everything."""
        self._moved = self._written()

    def size_bytes(self) -> int:
        """Bytes of the file."""
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return 0

    def _written(self) -> tuple[bytes, int]:
        """Salt and number of frames of the current round, found by bisection: a dozen small reads."""
        try:
            # Closing it releases no lock: SQLite locks the database and the shared memory, never the log.
            file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return b"", 0
        try:
            salt = os.pread(file, _SALT_BYTES, _SALT_AT)
            low, high = 0, max(0, os.fstat(file).st_size - _HEADER_BYTES) // FRAME_BYTES
            while low < high:
                middle = (low + high) // 2
                if os.pread(file, _SALT_BYTES, _HEADER_BYTES + middle * FRAME_BYTES + _FRAME_SALT_AT) == salt:
                    low = middle + 1
                else:
                    high = middle
            return salt, low
        finally:
            os.close(file)
