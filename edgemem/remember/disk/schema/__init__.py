"""The tables of memory.db, made by named migrations in `.sql` files, and the pragmas that every connection sets.

All data of a memory is in this one SQLite file; everything else in the directory can be rebuilt from it. Scores are stored as integer
millionths and boxes as four 16-bit fractions: an observation then takes about 50 bytes. With full reals in a separate table and a covering
index it would take 76. Every picture has about 25 observations.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from edgemem.errors import MemoryDirError, OldSchemaError

if TYPE_CHECKING:
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

DATABASE = "memory.db"
PART = f"{DATABASE}-part"
"""Name of memory.db before it is complete."""
APPLICATION_ID = 0x45444D4D
"""ASCII "EDMM": by this number `file` and edgemem recognise a memory among SQLite databases."""
PAGE_BYTES = 4096
SPACE_BITS = 8
"""Low bits of a vector's key that contain its space: at most 255 spaces per memory."""
JOURNAL_LIMIT_BYTES = 16 << 20
"""The WAL is cut to this size after a checkpoint. It counts in the byte budget."""

_PRAGMAS = (
    "PRAGMA busy_timeout=5000",
    "PRAGMA foreign_keys=ON",
    "PRAGMA mmap_size=0",
    "PRAGMA temp_store=MEMORY",
    "PRAGMA synchronous=NORMAL",
    f"PRAGMA journal_size_limit={JOURNAL_LIMIT_BYTES}",
    # Deleted data is overwritten with zeros, however this SQLite was built (Debian's does it by default).
    "PRAGMA secure_delete=ON",
)

_MIGRATIONS = (
    "v1_moments_segments_documents",
    "v2_entities_relations_receipts",
    "v3_passages_utterances_sessions_merges",
    "v4_levels_parts_entity_vectors_jobs_calls",
)
"""Names of the `.sql` files in this folder. A memory stores the names of those that it has; a file is never changed after its release."""
VERSION = len(_MIGRATIONS)
"""Schema version = number of migrations; kept in `PRAGMA user_version`."""


def configure(connection: sqlite3.Connection, *, cache_bytes: int = 8 << 20) -> None:
    """Set the pragmas; called for every connection."""
    for pragma in _PRAGMAS:
        connection.execute(pragma)
    connection.execute(f"PRAGMA cache_size={-(cache_bytes >> 10)}")


def is_empty(connection: sqlite3.Connection) -> bool:
    """Whether nothing was ever stored in this database, also if its file has no byte."""
    marks = [connection.execute(f"PRAGMA {mark}").fetchone()[0] for mark in ("application_id", "user_version")]
    # The table that lists migrations is created before the first one: if that failed, it is the only table.
    others = "SELECT count(*) FROM sqlite_schema WHERE tbl_name <> '_sqlite_migrations'"
    return not any(marks) and connection.execute(others).fetchone()[0] == 0


def version_of(connection: sqlite3.Connection, directory: Path) -> int:
    """Schema version of an open memory.db. Raises MemoryDirError if it is empty, another program's or a newer one's."""
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if is_empty(connection):
        raise MemoryDirError(
            f"memory {directory} is damaged: {DATABASE} is empty; restore a backup as a new memory with"
            f" `edgemem memory import BACKUP --memory DIR`, or delete {DATABASE} to begin anew"
        )
    if application != APPLICATION_ID:
        raise MemoryDirError(f"{directory} is not a memory: {DATABASE} belongs to another program; name another directory")
    if version > VERSION:
        raise MemoryDirError(
            f"memory {directory} was written by a newer edgemem (schema {version}, this one knows {VERSION}): upgrade edgemem-agent",
        )
    return version


def require_current(connection: sqlite3.Connection, directory: Path) -> None:
    """Raise OldSchemaError unless the schema is the one that readers expect; only a writer may migrate."""
    if version_of(connection, directory) < VERSION:
        raise OldSchemaError(f"memory {directory} has an older schema: update it with `edgemem memory compact`")


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Migrate an open, locked memory.db from `version` to `VERSION`. Each migration is one transaction.

    Raises DatabaseError where no migration leads from the version to that: the number in the file's header is damaged.
    """
    if version == VERSION:
        return
    from sqlite_utils import Database  # only if there is something to migrate, so that reading stays fast

    if version == 0:
        connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        connection.execute("PRAGMA journal_mode=WAL")
    _migrations().apply(Database(connection))
    if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
        raise sqlite3.DatabaseError("malformed: the version of the schema is none that its migrations lead to")


def _migrations() -> Migrations:
    from sqlite_utils.migrations import Migrations

    migrations = Migrations("edgemem")
    for number, name in enumerate(_MIGRATIONS, 1):
        migrations(name=name)(partial(_run, number, name))
    return migrations


def _run(number: int, name: str, db: Database) -> None:
    """One migration, inside the transaction that notes its name."""
    db.conn.create_function("casefold", 1, str.casefold, deterministic=True)
    db.conn.create_function("msgpack_map", 2, lambda key, value: msgspec.msgpack.encode({key: value}), deterministic=True)
    for statement in _statements((resources.files(__package__) / f"{name}.sql").read_text(encoding="utf-8")):
        db.conn.execute(statement)
    db.conn.execute(f"PRAGMA application_id={APPLICATION_ID}")
    db.conn.execute(f"PRAGMA user_version={number}")


def _statements(script: str) -> Iterator[str]:
    """The statements, one by one: `executescript` would commit the transaction before the first."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += "" if line.startswith("--") else line
        if sqlite3.complete_statement(statement):
            yield statement.strip()
            statement = ""
