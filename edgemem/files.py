"""Files and directories that only their owner may read, and files of others read within bounds.

Everything that the project writes is made here (`tests/attack/test_storage_private.py` proves it): directories with mode 0700, files with
0600, whatever the umask allows, and never through a link. What is read whole (settings, recipes, subtitles, pictures) is read here too: its
kind and its size are known before the first byte, so that a named pipe, a device or a huge file is refused and not waited for.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import IO, BinaryIO, TextIO

DIRECTORY_MODE, FILE_MODE = 0o700, 0o600
_OTHERS = 0o077
"""Permissions of anybody but the owner."""
_FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_to_others(status: os.stat_result) -> bool:
    """Whether anybody but the owner may read, write or enter it."""
    return bool(status.st_mode & _OTHERS)


def kind(status: os.stat_result) -> str:
    """What it is, in words: "a directory", "a named pipe" ...; "" for a regular file."""
    return _KINDS.get(stat.S_IFMT(status.st_mode), "")


def make_directory(path: Path) -> None:
    """Make a directory and those above it that are missing. What is there stays as it is. Raises OSError."""
    missing = [folder for folder in (path, *path.parents) if not folder.is_dir()]
    for folder in reversed(missing):
        with suppress(FileExistsError):
            folder.mkdir(DIRECTORY_MODE)
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "it is not a directory", str(path))


def create(path: Path) -> BinaryIO:
    """A new file, open for writing. Raises FileExistsError where anything has that name, also a link; OSError."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, FILE_MODE), "wb")


def create_text(path: Path) -> TextIO:
    """As `create`, for text in UTF-8."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, FILE_MODE), "w", encoding="utf-8")


def overwrite(path: Path) -> BinaryIO:
    """An empty file of this name, open for writing. Raises OSError for a link and for what is no file."""
    file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | _FLAGS, FILE_MODE), "wb")
    return _only_a_file(file, path)


def change(path: Path) -> BinaryIO:
    """A file that is there, open for reading and writing, not through a link. Raises OSError."""
    return _only_a_file(os.fdopen(os.open(path, os.O_RDWR | os.O_NONBLOCK | _FLAGS), "r+b"), path)


def look_into(path: Path) -> BinaryIO:
    """A file that is there, open for reading, not through a link. Raises OSError."""
    return _only_a_file(os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | _FLAGS), "rb"), path)


def change_or_create(path: Path) -> int:
    """Descriptor of a file, made if it is not there, open for reading and writing, not through a link. Raises OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | _FLAGS, FILE_MODE)
    try:
        require_file(os.fstat(descriptor), path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def write_file(path: Path, data: bytes | memoryview) -> None:
    """Write a whole file that the user named, in the place of one that is there. Raises OSError for a link and for what is no file.

    It takes the name when it is complete, so that nothing is left where writing fails.
    """
    with suppress(FileNotFoundError):
        require_file(path.lstat(), path)
    part = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}")
    try:
        with create(part) as file:
            file.write(data)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def read_along(path: Path) -> BinaryIO:
    """A file that the user named, open for reading, also through a link. Raises OSError where it is a pipe, a device or a directory."""
    require_file(path.stat(), path)  # before it is opened: opening a device may do something
    return _only_a_file(os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb"), path)


def read_file(path: Path, most_bytes: int) -> bytes:
    """All of a file. Raises OSError as `read_along`, and where it has more than `most_bytes`."""
    with read_along(path) as file:
        status = os.fstat(file.fileno())
        data = file.read(most_bytes + 1) if status.st_size <= most_bytes else b""
    if status.st_size > most_bytes or len(data) > most_bytes:
        raise OSError(errno.EFBIG, f"it has more than {size_text(most_bytes)}", str(path))
    return data


def require_file(status: os.stat_result, path: Path) -> None:
    """Raise OSError unless it is a regular file."""
    if what := kind(status):
        raise OSError(errno.EINVAL, f"it is {what}, not a file", str(path))


def size_text(size: int) -> str:
    """`64 MiB`, `512 KiB` or `20 bytes`."""
    for unit, bits in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << bits:
            return f"{size >> bits} {unit}"
    return f"{size} bytes"


def _only_a_file(file: IO[bytes], path: Path) -> BinaryIO:
    try:
        require_file(os.fstat(file.fileno()), path)
    except OSError:
        file.close()
        raise
    return file  # type: ignore[return-value]
