"""Rewrites a memory's database to a new file that replaces the old one: with a key, without one, or with another key.

The new file is complete, verified and synced before it gets the name of the old one, in one step of the file system. After a crash at any
moment, either the old or the new file is there, complete. Until then no other connection is allowed, and there is a second copy on the
disk.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from edgemem.errors import MemoryDirError, UsageError
from edgemem.remember.disk import keys, schema
from edgemem.remember.disk.database import connect, connect_any, errors
from edgemem.remember.disk.directory import WriterLock, prepare, remove_part, remove_vectors
from edgemem.remember.disk.error_translation import translated_errors
from edgemem.remember.disk.keys import Key

READER_PATIENCE_S = 5.0
"""How long to wait for readers to close."""
_SPARE_BYTES = 8 << 20


def change_key(directory: Path, old: Key | None, new: Key | None) -> None:
    """Encrypt (`old` None), decrypt (`new` None) or give another key to the memory at `directory`.

    Needs as much free disk space as the size of the database, whatever the budget. Raises MemoryDirError if there is less, or while another
    process uses the memory; MemoryKeyError if `old` is not its key. After encryption, blocks of the plain database may remain on the
    storage medium.
    """
    prepare(directory, create=False)
    with translated_errors(directory):
        lock = WriterLock(directory)
        try:
            rewrite(directory, old, new)
            remove_vectors(directory)
        finally:
            lock.close()


def rewrite(directory: Path, old: Key | None, new: Key | None, change: Callable[[sqlite3.Connection], object] | None = None) -> None:
    """Rewrite the database, for a caller that holds the writer's lock. `change` may alter the copy; its table names begin with "part."."""
    database = directory / schema.DATABASE
    part = directory / schema.PART
    with closing(connect_any(database, old)) as connection:
        schema.configure(connection)
        schema.version_of(connection, directory)  # raises an error if it is no memory
        _keep_out(connection, directory)
        _require_space(database)
        try:
            copy_into(connection, part, new, change)
            _verify(part, new)
            # An exclusive connection keeps its empty journal until it closes; next to the new file it would be a leftover of the old one.
            database.with_name(f"{database.name}-journal").unlink(missing_ok=True)
            part.replace(database)
            _sync(directory)
        finally:
            remove_part(part)


def copy_into(
    connection: sqlite3.Connection, file: Path, key: Key | None, change: Callable[[sqlite3.Connection], object] | None = None
) -> None:
    """Copy a whole database, row by row, into the new `file` under `key`. The connection must be one of SQLCipher."""
    remove_part(file)
    connection.execute("ATTACH ? AS part KEY ?", (str(file), "" if key is None else key.pragma(keys.new_salt())))
    try:
        connection.execute("PRAGMA part.synchronous=OFF")  # it is synced once, at the end; before that no journal is needed
        connection.execute("PRAGMA part.journal_mode=OFF")
        connection.execute(f"PRAGMA part.page_size={schema.PAGE_BYTES}")
        connection.execute("PRAGMA part.auto_vacuum=INCREMENTAL")
        connection.execute("BEGIN")  # everything is read as of one instant
        connection.execute("SELECT sqlcipher_export('part')").fetchall()
        for name in ("application_id", "user_version"):
            connection.execute(f"PRAGMA part.{name}={connection.execute(f'PRAGMA main.{name}').fetchone()[0]}")
        if change is not None:
            change(connection)
        connection.execute("COMMIT")
        connection.execute("PRAGMA part.journal_mode=WAL")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.execute("DETACH part")
    _sync(file)


def _keep_out(connection: sqlite3.Connection, directory: Path) -> None:
    """Get exclusive access to the database, with its log moved into it and deleted. Raises MemoryDirError if others still use it."""
    connection.execute(f"PRAGMA busy_timeout={round(READER_PATIENCE_S * 1000)}")
    connection.execute("PRAGMA main.locking_mode=EXCLUSIVE")
    try:
        mode = connection.execute("PRAGMA main.journal_mode=DELETE").fetchone()[0]
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")  # the lock stays
    except errors("OperationalError") as error:
        if "locked" not in str(error):
            raise
        mode = "busy"
    if mode != "delete":
        raise MemoryDirError(f"memory {directory} is in use: end what asks or searches in it, then try again")


def _require_space(database: Path) -> None:
    needed, free = database.stat().st_size + _SPARE_BYTES, shutil.disk_usage(database.parent).free
    if free < needed:
        raise MemoryDirError(
            f"memory {database.parent}: rewriting it needs {needed >> 20} MiB of disk for a while, {free >> 20} MiB are free"
        )


def _verify(file: Path, key: Key | None) -> None:
    """Raise MemoryDirError if the copy is damaged: the original is replaced only by an undamaged copy."""
    with closing(connect(file, key)) as connection:
        found = [row[0] for row in connection.execute("PRAGMA quick_check")]
    if found != ["ok"]:
        raise MemoryDirError(f"memory {file.parent}: the copy is damaged ({found[0]}); nothing was changed, run `edgemem memory check`")


def require_new_key(old: Key | None, new: Key) -> None:
    """Raise UsageError if the new key is the old key."""
    if old is not None and old.secret == new.secret:
        raise UsageError("the new key is the one in use: make another with `edgemem memory keygen FILE`")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
