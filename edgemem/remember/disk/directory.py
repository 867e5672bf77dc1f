"""The directory that is a memory: what it weighs, whether it is paused, and the lock of its one writer."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

from edgemem import files
from edgemem.errors import MemoryDirError, UsageError
from edgemem.remember.disk import schema
from edgemem.remember.disk.contents import LOCK, PAUSE, protect, survey

PATIENCE_S = 1.0
"""How long a new writer waits: a question that was just answered holds the lock for a short time to store its session."""


class WriterLock:
    """A lock of the operating system, so that it does not remain after a crash.

    Held from construction to `close`. The file names the holder's process, for the error of the second comer. Only its owner may open it;
    where another user did, before that was so, and holds the lock, a new file takes its place.
    """

    def __init__(self, directory: Path, patience_s: float = PATIENCE_S) -> None:
        self._path = directory / LOCK
        self._file = files.change_or_create(self._path)
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
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if self._held_by_a_stranger():
                    self._replace()
                    continue
                if time.monotonic() >= until_s:
                    raise
                time.sleep(0.02)
            else:
                if self._is_current():
                    return
                self._open_again()

    def _is_current(self) -> bool:
        """Whether the open file still has the name."""
        try:
            return os.path.samestat(os.fstat(self._file), self._path.lstat())
        except FileNotFoundError:
            return False

    def _open_again(self) -> None:
        fresh = files.change_or_create(self._path)
        os.close(self._file)
        self._file = fresh

    def _replace(self) -> None:
        if self._is_current():
            self._path.unlink()
        self._open_again()

    def _held_by_a_stranger(self) -> bool:
        """Whether all who hold a lock on a file of this number are processes of users who may not write here."""
        status = self._path.parent.stat()
        trusted = {0, os.geteuid(), status.st_uid}
        holders = [_user_of(process) for process in _holders(os.fstat(self._file).st_ino)]
        return bool(holders) and all(user is not None and user not in trusted for user in holders)

    @property
    def descriptor(self) -> int:
        """Of the lock file: a process that inherits it holds the lock too."""
        return self._file

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _holders(inode: int) -> list[int]:
    """Processes that hold a lock of this kind on a file with this number, as the kernel lists them; empty where it does not."""
    try:
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return []
    found = [line.split() for line in lines if " FLOCK " in line and " -> " not in line]
    return [int(fields[4]) for fields in found if len(fields) > 5 and fields[5].rpartition(":")[2] == str(inode)]


def _user_of(process: int) -> int | None:
    """The user as which it runs; None where that is not to be seen."""
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    return next((int(line.split()[2]) for line in lines if line.startswith("Uid:")), None)


def disk_bytes(directory: Path) -> int:
    """Bytes of every file in the directory of the memory, also of those that are not edgemem's."""
    found = survey(directory)
    return found.own_bytes + found.foreign_bytes


def is_paused(directory: Path) -> bool:
    """Whether nothing new may be remembered here until `set_paused(directory, paused=False)`."""
    return os.path.lexists(directory / PAUSE)


def require_not_paused(directory: Path) -> None:
    """For whatever brings new memories in. Raises UsageError while the memory is paused."""
    if is_paused(directory):
        raise UsageError(f"memory {directory} is paused: run `edgemem memory resume --memory {directory}`")


def set_paused(directory: Path, *, paused: bool) -> None:
    """Pause or resume a memory; it survives restarts. Raises MemoryDirError if there is no memory."""
    prepare(directory, create=False)
    if paused:
        with suppress(FileExistsError):
            files.create(directory / PAUSE).close()
    else:
        (directory / PAUSE).unlink(missing_ok=True)


def require_outside(directory: Path, target: Path) -> None:
    """Raise UsageError if `target`, which is to be written, is in the directory of this memory.

    It could replace the memory's own files, and what lies there counts in the budget and outlives a later `forget`.
    """
    inside = directory.resolve()
    if any(path.is_relative_to(inside) for path in (target.resolve(), target.parent.resolve() / target.name)):
        raise UsageError(f"{target} is inside the memory {directory}: nothing else is written there; name a file outside it")


def prepare(directory: Path, *, create: bool) -> None:
    """Refuse what is no memory, or one with links, before a byte is written into it; close it to other users."""
    if os.path.lexists(directory / schema.DATABASE):
        protect(directory)
        return
    if directory.exists() and not directory.is_dir():
        raise MemoryDirError(f"{directory} is a file, not a memory: name a directory")
    if not create:
        raise MemoryDirError(f"no memory at {directory}: make one with `edgemem ingest SOURCE --memory {directory}`")
    files.make_directory(directory)
    if survey(directory).foreign:
        raise MemoryDirError(f"{directory} is not a memory and not empty: name an empty or a new directory")
    if directory.stat().st_uid != os.geteuid() != 0:
        raise MemoryDirError(f"{directory} belongs to another user, who could read what is remembered: name a directory of your own")
    protect(directory)
