"""Backup (also while a writer is active), restore, and compaction: each works in bounded steps and reports its progress."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from edgemem import files
from edgemem.errors import MemoryDirError, OldSchemaError, UsageError
from edgemem.remember.budget.batches import cap_in_force, in_transactions
from edgemem.remember.disk import database, keys, schema
from edgemem.remember.disk.contents import remove_part
from edgemem.remember.disk.directory import disk_bytes, is_paused, require_outside
from edgemem.remember.disk.error_translation import translated_errors
from edgemem.remember.disk.keys import Key
from edgemem.remember.disk.rewrite import copy_into
from edgemem.remember.forget import finish_forgetting
from edgemem.remember.forgetting.erase import merging
from edgemem.remember.rows import text
from edgemem.remember.rows.reading import connect
from edgemem.remember.rows.transaction import Transaction
from edgemem.remember.store import Store
from edgemem.remember.view import View

Progress = Callable[[int, int], None]
"""Called with the number of steps done and the number of all steps."""

_COPY_PAGES = 2048
"""8 MiB per step."""
_VACUUM_STEPS = 16


def open_view(directory: Path, as_of_us: int | None = None) -> View:
    """`View.open`, but a memory of an earlier version is migrated first. Every command and service reads through this function.

    Raises MemoryDirError as `View.open` and `Store.open` do; a paused memory is not migrated, because nothing is written to it.
    """
    try:
        return View.open(directory, as_of_us)
    except OldSchemaError:
        if is_paused(directory):
            raise
    Store.open(directory, create=False, budget_bytes=cap_in_force(directory)).close()
    return View.open(directory, as_of_us)


def backup(directory: Path, file: Path, progress: Progress | None = None, *, key: Key | None = None) -> int:
    """Copy the memory at `directory` as it is now into one new SQLite file; returns its size in bytes. A writer may continue at the same
    time.

    The vector files are not in it: they are rebuilt when the copy is first opened for writing. The copy shows one instant, so the writer's
    log cannot be cut until it is done. The copy has the memory's key, or `key`. Raises UsageError if `file` exists or is
    inside the memory, MemoryDirError if it cannot be read or written.
    """
    open_view(directory).close()  # says what cannot be opened, and why
    require_outside(directory, file)
    if os.path.lexists(file):
        raise UsageError(f"{file} exists: name a new file, or delete it first")
    part = file.with_name(f"{file.name}.part")
    try:
        files.create(part).close()
    except FileExistsError:
        raise UsageError(f"{part} is left from a backup that was interrupted, or is being written: delete it first") from None
    except OSError as error:
        raise MemoryDirError(f"{file} cannot be written: {error.strerror or error}") from None
    try:
        with translated_errors(directory):
            own = keys.configured()
            if key is not None and own is None:
                _encrypt(directory, part, key)
            else:
                with closing(connect(directory)) as source:
                    source.execute("BEGIN")  # from the next line on it reads one instant, so that no commit restarts it
                    source.execute("SELECT count(*) FROM sqlite_schema").fetchone()
                    _copy(source, part, key or own, progress)
        part.replace(file)
    except OSError as error:
        raise MemoryDirError(f"{file} cannot be written: {error.strerror or error}") from None
    finally:
        remove_part(part)
    return file.stat().st_size


def compact(directory: Path, progress: Progress | None = None) -> tuple[int, int]:
    """Return free space to the disk, finish a wipe that was interrupted, and make a damaged full-text index anew; returns bytes before and
    after.

    A few pages at a time are moved to the front of the file, so that no space for a second copy is needed. Only the wipe of an encrypted
    memory needs a second copy, and may exceed the budget for that time.
    """
    before = disk_bytes(directory) if directory.is_dir() else 0
    with Store.open(directory, create=False, budget_bytes=cap_in_force(directory)) as store:
        with store.unbounded() as tx:
            for table in text.damaged(tx.connection):
                text.rebuild(tx.connection, table)
        in_transactions(store, [Transaction.drop_unused_terms, *merging()])
        total, more = 1, True
        while more:
            more = store.maintain(vacuum_steps=_VACUUM_STEPS)
            with store.transaction() as tx:
                left = tx.connection.execute("PRAGMA freelist_count").fetchone()[0]
            total = max(total, left)
            if progress is not None:
                progress(total - left, total)
    finish_forgetting(directory, beyond_budget=True)
    return before, disk_bytes(directory)


def _encrypt(directory: Path, part: Path, key: Key) -> None:
    """Make an encrypted copy of a plain memory as of one instant. Its pages differ, so it is copied row by row, in one step."""
    with closing(database.connect_any(directory / schema.DATABASE, None)) as source:
        schema.configure(source)
        copy_into(source, part, key)


def _copy(source: sqlite3.Connection, part: Path, key: Key | None, progress: Progress | None) -> None:
    def step(_status: int, remaining: int, total: int) -> None:
        if progress is not None:
            progress(total - remaining, total)

    with closing(database.connect(part, key)) as target:
        target.execute("PRAGMA journal_mode=OFF")  # the copy is thrown away unless it is whole
        source.backup(target, pages=_COPY_PAGES, progress=step, sleep=0)
    descriptor = os.open(part, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
