"""Is a memory sound? Every promise that the files can keep by themselves is looked at; nothing is changed."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from edgemem.remember.faults import told
from edgemem.remember.reading import connect
from edgemem.remember.sidecar import Sidecar
from edgemem.remember.view import View

_COUNTS = (
    (
        "pictures whose number of users is wrong",
        "SELECT count(*) FROM blob WHERE refs <> (SELECT count(*) FROM moment WHERE blob_id = blob.id)",
    ),
    ("vectors of moments that are gone", "SELECT count(*) FROM vec WHERE id / 256 NOT IN (SELECT id FROM moment)"),
    ("documents that the full text does not know", "SELECT (SELECT count(*) FROM document) <> (SELECT count(*) FROM document_fts)"),
    ("documents that were replaced before they were known", "SELECT count(*) FROM document WHERE until_us < known_us"),
)


def check_memory(directory: Path) -> list[str]:
    """One line for everything that is wrong with the memory at `directory`; empty when it is sound.

    Reads every page and every picture, about as long as copying the directory. Raises MemoryDirError when it cannot be opened at all.
    """
    View.open(directory).close()  # says what cannot be opened, and why
    with told(directory), closing(connect(directory)) as connection:
        found = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
        found += [
            f"table {row[0]}, row {row[1]}: refers to {row[2]}, which has no such row"
            for row in connection.execute("PRAGMA foreign_key_check")
        ]
        found += [f"{number} {what}" for what, query in _COUNTS if (number := connection.execute(query).fetchone()[0])]
        found += list(_pictures(connection))
        found += list(_sidecars(connection, directory))
    return found


def _pictures(connection: sqlite3.Connection) -> Iterator[str]:
    for blob_id, sha256, data in connection.execute("SELECT id, sha256, data FROM blob"):
        if hashlib.sha256(data).digest() != sha256:
            yield f"picture {blob_id} is damaged"


def _sidecars(connection: sqlite3.Connection, directory: Path) -> Iterator[str]:
    """A sidecar that is wrong is no loss: the next ingest rebuilds it; until then searches read SQLite."""
    memory_id = bytes.fromhex(connection.execute("SELECT value FROM meta WHERE key = 'memory_id'").fetchone()[0])
    for name, dim, rows in connection.execute("SELECT name, dim, rows FROM vec_space").fetchall():
        mapped = Sidecar(directory, name, dim, memory_id).map()
        if mapped is None:
            yield f'vectors of "{name}": the files beside memory.db are missing or damaged; the next ingest rebuilds them'
        elif mapped.header.live != rows:
            yield f'vectors of "{name}": the files hold {mapped.header.live} of {rows}; the next ingest rebuilds them'
