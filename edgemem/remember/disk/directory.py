"""The directory of a memory: its files, its size, and the lock of its only writer."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

from edgemem.errors import MemoryDirError
from edgemem.remember.disk import schema

PAUSE = "pause"
"""While this file exists, nothing is seen. It is a file so that it applies to all processes at once and needs no writer."""


PATIENCE_S = 1.0
"""How long a new writer waits: a question that was just answered holds the lock for a short time to store its session."""


class WriterLock:
    """A lock of the operating system, so that it does not remain after a crash.

    Held from construction to `close`. The file contains the id of the holder's process, for the error message of a second writer.
    """

    def __init__(self, directory: Path, patience_s: float = PATIENCE_S) -> None:
        self._file = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self._take(time.monotonic() + patience_s)
        except BlockingIOError:
            holder = os.pread(self._file, 32, 0).decode(errors="replace").strip() or "unknown"
            os.close(self._file)
            raise MemoryDirError(
                f"memory {directory} is being written by process {holder}: wait for it or stop it (asking and searching still work)",
            ) from None
        except OSError:
            os.close(self._file)
            raise
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def _take(self, until_s: float) -> None:
        while True:
            try:
                return fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= until_s:
                    raise
                time.sleep(0.02)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def disk_bytes(directory: Path) -> int:
    """Bytes of every file of the memory at `directory`."""
    files = [*directory.iterdir(), *(directory / "vectors").glob("*")]
    return sum(path.stat().st_size for path in files if path.is_file())


def remove_vectors(directory: Path) -> None:
    """Remove the vector files: the writer of a plain memory creates them again; an encrypted memory has none."""
    for path in (directory / "vectors").glob("*"):
        path.unlink()
    with suppress(FileNotFoundError):
        (directory / "vectors").rmdir()


def remove_part(part: Path) -> None:
    """Remove a database that was not completed, and its other files."""
    for kind in ("", "-journal", "-wal", "-shm"):
        part.with_name(part.name + kind).unlink(missing_ok=True)


def is_paused(directory: Path) -> bool:
    """Whether nothing may be written here until `set_paused(directory, paused=False)`."""
    return (directory / PAUSE).exists()


def set_paused(directory: Path, *, paused: bool) -> None:
    """Pause or resume a memory; it survives restarts. Raises MemoryDirError if there is no memory."""
    prepare(directory, create=False)
    if paused:
        (directory / PAUSE).touch()
    else:
        (directory / PAUSE).unlink(missing_ok=True)


def prepare(directory: Path, *, create: bool) -> None:
    """Raise MemoryDirError if the directory is no memory, before anything is written to it."""
    if (directory / schema.DATABASE).exists():
        return
    if directory.exists() and not directory.is_dir():
        raise MemoryDirError(f"{directory} is a file, not a memory: name a directory")
    if not create:
        raise MemoryDirError(f"no memory at {directory}: make one with `edgemem ingest SOURCE --memory {directory}`")
    directory.mkdir(parents=True, exist_ok=True)
    ours = {
        "lock",
        "vectors",
        PAUSE,
        schema.PART,
        f"{schema.PART}-journal",
        *(f"{schema.DATABASE}-{kind}" for kind in ("wal", "shm", "journal")),
    }
    if any(path.name not in ours for path in directory.iterdir()):
        raise MemoryDirError(f"{directory} is not a memory and not empty: name an empty or a new directory")
