"""What lies in the directory of a memory: what edgemem made, what is foreign, and who may read it.

A memory is its owner's alone: its directory has mode 0700, every file in it 0600. It holds no links: through one, what is written or
removed would be somewhere else. Nothing is ever removed but names that edgemem itself makes.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from edgemem import files
from edgemem.errors import MemoryDirError, UsageError
from edgemem.remember.disk import schema

_log = logging.getLogger(__name__)

LOCK, PAUSE, SOCKET, VECTORS = "lock", "pause", "agent.sock", "vectors"
_KEPT_BESIDE = ("", "-wal", "-shm", "-journal")
"""What SQLite calls the files that belong to a database."""
DATABASE_FILES = frozenset(f"{schema.DATABASE}{end}" for end in _KEPT_BESIDE)
PART_FILES = frozenset(f"{schema.PART}{end}" for end in _KEPT_BESIDE)
_FILES = DATABASE_FILES | PART_FILES | {LOCK, PAUSE}
_VECTOR_FILE = re.compile(r"[A-Za-z0-9_.~%-]+\.(i8|b1|rows)(\.new)?")
"""Names of vector files: that of the space, percent-encoded, and what they hold."""
_MOST_FOREIGN = 10_000
"""Entries of foreign directories that are looked at: a directory that is full of them need not be counted to the last."""
_said: set[tuple[str, str]] = set()
"""What was said of which directory: once a process is enough."""


class Contents(NamedTuple):
    """Bytes of what edgemem made, and what else lies there: names with their bytes."""

    own_bytes: int
    foreign: tuple[tuple[str, int], ...]

    @property
    def foreign_bytes(self) -> int:
        return sum(size for _, size in self.foreign)

    @property
    def foreign_names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.foreign)


def survey(directory: Path) -> Contents:
    """Everything in the directory. A foreign directory counts with all that is in it; nothing is followed. Raises OSError."""
    own_bytes, foreign = 0, []
    for name, status in _entries(directory):
        if name == VECTORS and stat.S_ISDIR(status.st_mode):
            for inner, inner_status in _entries(directory / VECTORS):
                if _is_vector_file(inner, inner_status):
                    own_bytes += inner_status.st_size
                else:
                    foreign.append((f"{VECTORS}/{inner}", _weight(directory / VECTORS / inner, inner_status)))
        elif name in _FILES and stat.S_ISREG(status.st_mode):
            own_bytes += status.st_size
        elif not (name == SOCKET and stat.S_ISSOCK(status.st_mode)):
            foreign.append((name, _weight(directory / name, status)))
    return Contents(own_bytes, tuple(sorted(foreign)))


def protect(directory: Path) -> None:
    """Refuse a memory with links, and close it to other users where it was open to them, which is said.

    Costs one look at every entry. Raises MemoryDirError, OSError.
    """
    opened = [directory] if files.open_to_others(directory.stat()) else []
    for folder, name, status in _own(directory):
        _refuse_link(directory, folder / name, status)
        if files.open_to_others(status) and not stat.S_ISSOCK(status.st_mode):
            opened.append(folder / name)
    if opened:
        _close_to_others(directory, opened)


def require_only_own(directory: Path) -> None:
    """Raise UsageError unless everything in the directory is what edgemem makes: only then may it be removed whole."""
    if foreign := survey(directory).foreign_names:
        raise UsageError(f"{directory} holds what is not edgemem's ({', '.join(foreign[:3])}): move it away, or name another directory")


def remove_memory(directory: Path) -> None:
    """Remove a memory with its directory; nothing where there is none.

    Raises UsageError where anything else lies in it, MemoryDirError where there are links, OSError.
    """
    if not directory.is_dir():
        return
    protect(directory)
    require_only_own(directory)
    remove_vectors(directory)
    for name, _ in list(_entries(directory)):
        (directory / name).unlink(missing_ok=True)
    directory.rmdir()


def remove_vectors(directory: Path) -> None:
    """Remove the vector files: a plain memory's writer makes them anew, an encrypted memory has none. What is foreign stays."""
    folder = directory / VECTORS
    if not folder.is_dir() or folder.is_symlink():
        return
    for name, status in list(_entries(folder)):
        if _is_vector_file(name, status):
            (folder / name).unlink(missing_ok=True)
    if not any(_entries(folder)):
        folder.rmdir()


def leftovers(directory: Path) -> list[tuple[str, int]]:
    """Names and bytes of a database that was not completed. The next writer removes it."""
    return sorted((name, status.st_size) for name, status in _entries(directory) if name in PART_FILES)


def remove_part(part: Path) -> None:
    """Remove a database that was not completed, and whatever belongs to it."""
    for end in _KEPT_BESIDE:
        part.with_name(part.name + end).unlink(missing_ok=True)


def _entries(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Names and what they are, links not followed. What goes meanwhile is left out."""
    with os.scandir(folder) as found:
        for entry in found:
            try:
                yield entry.name, entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue


def _own(directory: Path) -> Iterator[tuple[Path, str, os.stat_result]]:
    """What edgemem made, and every link."""
    for name, status in _entries(directory):
        if name in _FILES or name in {SOCKET, VECTORS} or stat.S_ISLNK(status.st_mode):
            yield directory, name, status
        if name == VECTORS and stat.S_ISDIR(status.st_mode):
            for inner, inner_status in _entries(directory / VECTORS):
                if _VECTOR_FILE.fullmatch(inner) or stat.S_ISLNK(inner_status.st_mode):
                    yield directory / VECTORS, inner, inner_status


def _refuse_link(directory: Path, path: Path, status: os.stat_result) -> None:
    name = path.relative_to(directory)
    wanted = {VECTORS: stat.S_IFDIR, SOCKET: stat.S_IFSOCK}.get(str(name), stat.S_IFREG)
    if stat.S_ISLNK(status.st_mode):
        raise MemoryDirError(f"memory {directory}: {name} is a link: nothing is read or written through it; remove the link")
    if stat.S_IFMT(status.st_mode) != wanted and name.name != SOCKET:
        raise MemoryDirError(f"memory {directory}: {name} is {files.kind(status) or 'a file'} that edgemem did not make: remove it")
    if wanted == stat.S_IFREG and status.st_nlink > 1 and name.name != SOCKET:
        raise MemoryDirError(f"memory {directory}: {name} has another name elsewhere (a hard link): put a copy in its place")


def _is_vector_file(name: str, status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and _VECTOR_FILE.fullmatch(name) is not None


def _weight(path: Path, status: os.stat_result) -> int:
    """Bytes of a foreign entry with everything below it."""
    total, count = status.st_size if stat.S_ISREG(status.st_mode) else 0, 0
    if not stat.S_ISDIR(status.st_mode):
        return total
    for folder, _, names in os.walk(path):
        for name in names:
            count += 1
            if count > _MOST_FOREIGN:
                return total
            try:
                found = os.lstat(os.path.join(folder, name))  # noqa: PTH118 - ten thousand of them
            except OSError:
                continue
            total += found.st_size if stat.S_ISREG(found.st_mode) else 0
    return total


def _close_to_others(directory: Path, opened: list[Path]) -> None:
    """Not through a link: `protect` found none, and nobody else may put one there once the directory, which is first, is closed."""
    try:
        for path in opened:
            with suppress(FileNotFoundError):  # a vector file that was just replaced: the new one is private
                path.chmod(files.DIRECTORY_MODE if path.is_dir() else files.FILE_MODE)
    except OSError as error:
        say_once(directory, f"other users can read it, and that cannot be changed: {error.strerror}")
    else:
        say_once(directory, "other users could read it: from now on only its owner can")


def say_once(directory: Path, text: str) -> None:
    """Log it, once a process."""
    if (str(directory), text) not in _said:
        _said.add((str(directory), text))
        _log.warning("memory %s: %s", directory, text)
