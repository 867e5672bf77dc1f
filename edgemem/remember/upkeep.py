"""Backup while a writer is at work, the way back, and compaction: each in bounded steps that tell how far they are."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from edgemem.errors import MemoryDirError, UsageError
from edgemem.remember import schema
from edgemem.remember.directory import disk_bytes
from edgemem.remember.erase import drop_unused_terms, merging
from edgemem.remember.faults import told
from edgemem.remember.forget import tidy_up
from edgemem.remember.pieces import cap_in_force, in_pieces
from edgemem.remember.reading import connect
from edgemem.remember.store import Store
from edgemem.remember.view import View

Progress = Callable[[int, int], None]
"""Called with what is done and what there is in all."""

_COPY_PAGES = 2048
"""8 MiB a step."""
_VACUUM_STEPS = 16


def backup(directory: Path, file: Path, progress: Progress | None = None) -> int:
    """Copy the memory at `directory` as it is now into one new SQLite file; returns its bytes. A writer may go on meanwhile.

    The vector files are not in it: they are rebuilt when the copy is first written to. The copy is of one instant, so until it is
    done the writer's log cannot be cut. Raises UsageError when `file` exists, MemoryDirError when it cannot be read or written.
    """
    View.open(directory).close()  # says what cannot be opened, and why
    if file.exists():
        raise UsageError(f"{file} exists: name a new file, or delete it first")
    part = file.with_name(f"{file.name}.part")
    try:
        with told(directory), closing(connect(directory)) as source:
            source.execute("BEGIN")
            source.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # from here on it reads one instant, so no commit restarts it
            _copy(source, part, progress)
        part.replace(file)
    except OSError as error:
        raise MemoryDirError(f"{file} cannot be written: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)
    return file.stat().st_size


def restore(file: Path, directory: Path) -> None:
    """Make a new memory at `directory` from a backup. Raises UsageError when something is there, MemoryDirError if it is no backup."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UsageError(f"{directory} is not empty: a backup becomes a new memory; name a new directory")
    with told(file), closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        if schema.version_of(connection, file) == 0:
            raise MemoryDirError(f"{file} is not a backup of a memory")
    with told(directory):
        directory.mkdir(parents=True, exist_ok=True)
        part = directory / f"{schema.DATABASE}-part"
        shutil.copyfile(file, part)
        part.replace(directory / schema.DATABASE)
    Store.open(directory, create=False).close()  # migrates it, and rebuilds the vector files


def compact(directory: Path, progress: Progress | None = None) -> tuple[int, int]:
    """Give free space back to the disk and end a wipe that was interrupted; returns bytes before and after.

    Pages are moved to the front of the file a few at a time, so that it needs no room for a second copy.
    """
    before = disk_bytes(directory) if directory.is_dir() else 0
    with Store.open(directory, create=False, budget_bytes=cap_in_force(directory)) as store:
        in_pieces(store, [drop_unused_terms, *merging()])
        total, more = 1, True
        while more:
            more = store.maintain(vacuum_steps=_VACUUM_STEPS)
            with store.transaction() as tx:
                left = tx.connection.execute("PRAGMA freelist_count").fetchone()[0]
            total = max(total, left)
            if progress is not None:
                progress(total - left, total)
    tidy_up(directory)
    return before, disk_bytes(directory)


def _copy(source: sqlite3.Connection, part: Path, progress: Progress | None) -> None:
    def step(_status: int, remaining: int, total: int) -> None:
        if progress is not None:
            progress(total - remaining, total)

    part.unlink(missing_ok=True)
    with closing(sqlite3.connect(part)) as target:
        source.backup(target, pages=_COPY_PAGES, progress=step, sleep=0)
    descriptor = os.open(part, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
