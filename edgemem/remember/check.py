"""Checks a memory for damage: everything that can be verified from its files. Nothing is changed."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import msgspec

from edgemem.remember.budget import eviction
from edgemem.remember.disk.contents import VECTORS, leftovers, survey
from edgemem.remember.disk.database import is_cipher
from edgemem.remember.disk.error_translation import translated_errors
from edgemem.remember.forget import digest
from edgemem.remember.forgetting.finish import WIPE_DUE
from edgemem.remember.possible import IMPOSSIBLE, impossible_packed, impossible_vectors
from edgemem.remember.rows import ledger, text
from edgemem.remember.rows.anchor import is_due
from edgemem.remember.rows.reading import connect
from edgemem.remember.vectors.sidecar import Sidecar
from edgemem.remember.view import View

_COUNTS = (
    (
        "pictures whose number of users is wrong",
        "SELECT count(*) FROM blob WHERE refs <> (SELECT count(*) FROM moment WHERE blob_id = blob.id)",
    ),
    (
        "vectors of moments that are gone",
        (
            "SELECT count(*) FROM vec v LEFT JOIN vec_space s ON s.id = v.id & 255"
            " WHERE ifnull(s.holds, 'moment') = 'moment' AND v.id / 256 NOT IN (SELECT id FROM moment)"
        ),
    ),
    (
        "vectors of passages that are gone",
        (
            "SELECT count(*) FROM vec v JOIN vec_space s ON s.id = v.id & 255"
            " WHERE s.holds = 'passage' AND v.id / 256 NOT IN (SELECT id FROM passage)"
        ),
    ),
    (
        "vectors of entities that are gone",
        (
            "SELECT count(*) FROM vec v JOIN vec_space s ON s.id = v.id & 255"
            " WHERE s.holds = 'entity' AND v.id / 256 NOT IN (SELECT id FROM entity)"
        ),
    ),
    (
        "vectors of parts that are gone",
        (
            "SELECT count(*) FROM vec v JOIN vec_space s ON s.id = v.id & 255"
            " WHERE s.holds = 'part' AND v.id / 256 NOT IN (SELECT id FROM part)"
        ),
    ),
    (
        "spaces whose number of vectors is wrong",
        (
            "SELECT count(*) FROM vec_space s LEFT JOIN (SELECT id & 255 AS space_id, count(*) AS found FROM vec GROUP BY 1) v"
            " ON v.space_id = s.id WHERE s.rows <> ifnull(v.found, 0)"
        ),
    ),
    (
        "segments whose parent has no higher level",
        "SELECT count(*) FROM segment g JOIN segment h ON h.id = g.parent_id WHERE h.level <= g.level",
    ),
    ("jobs that were given up and still have a payload", "SELECT count(*) FROM job WHERE given_up AND length(payload) > 0"),
    (
        "passages outside their document",
        (
            "SELECT count(*) FROM passage p JOIN document d ON d.id = p.document_id WHERE p.text IS NULL"
            " AND (p.start < 0 OR p.length < 0 OR p.start + p.length > length(CAST(d.text AS BLOB)))"
        ),
    ),
    (
        "utterances that are no documents of that kind",
        (
            "SELECT (SELECT count(*) FROM utterance u JOIN document d ON d.id = u.document_id WHERE d.kind <> 'utterance')"
            " + (SELECT count(*) FROM document WHERE kind = 'utterance' AND id NOT IN (SELECT document_id FROM utterance))"
        ),
    ),
    ("documents that were replaced before they were known", "SELECT count(*) FROM document WHERE until_us < known_us"),
)


def check_memory(directory: Path) -> list[str]:
    """One line for every problem of the memory at `directory`; empty if there is none.

    It reads every page and every picture, which takes about as long as copying the directory. Raises MemoryDirError if the memory cannot be
    opened.
    """
    View.open(directory).close()  # raises a clear error if it cannot be opened
    with translated_errors(directory), closing(connect(directory)) as connection:
        found, left = check_pages(connection), list(_left_over(directory))
        if found and is_cipher(connection):
            return found + left  # what follows would meet that page and end
        found += left
        found += check_rows(connection)
        if not _reads(partial(is_due, connection)):
            found.append("the note of dates that are to be corrected cannot be read")
        elif is_due(connection):
            found.append("the clock was corrected, but some dates of it are not corrected yet: run `edgemem memory compact`")
        found += list(_sidecars(connection, directory))
        found += [
            f"{name} is not edgemem's: its {size} bytes count in budget.disk; move it away" for name, size in survey(directory).foreign
        ]
    return found


def _left_over(directory: Path) -> Iterator[str]:
    """Copies that were not completed. Nobody writes one now: while that is done no reader is let in."""
    for name, size in leftovers(directory):
        yield (
            f"{name} ({size} bytes) is left from a change of the key or a restore that was interrupted, and may contain memories without"
            " a key: `edgemem memory compact` removes it"
        )


def check_pages(connection: sqlite3.Connection) -> list[str]:
    """What is wrong with the pages of a database, and with nothing that stands in them."""
    if is_cipher(connection) and (found := [f"memory.db: {row[0]}" for row in connection.execute("PRAGMA cipher_integrity_check")]):
        return found
    lines = [line for row in connection.execute("PRAGMA integrity_check") for line in row[0].splitlines()]
    return [line for line in lines if line != "ok" and not line.startswith("***")]


def check_rows(connection: sqlite3.Connection) -> list[str]:
    """What is wrong with the rows of a database of the present schema."""
    found = [
        f"table {row[0]}, row {row[1]}: refers to {row[2]}, which has no such row" for row in connection.execute("PRAGMA foreign_key_check")
    ]
    found += [f"{number} {what}" for what, query in (*_COUNTS, *IMPOSSIBLE) if (number := connection.execute(query).fetchone()[0])]
    found += impossible_packed(connection)
    found += impossible_vectors(connection)
    found += [f"the full-text index {table} is damaged: `edgemem memory compact` makes it anew" for table in text.damaged(connection)]
    found += list(_states(connection))
    found += list(_pictures(connection))
    found += list(_forgotten(connection))
    return found


def _states(connection: sqlite3.Connection) -> Iterator[str]:
    """The saved states of edgemem itself. Those of plugins are begun anew where they cannot be read."""
    for key, form in ((ledger.KEY, dict[str, int]), (eviction.KEY, eviction.EvictionProgress)):
        found = connection.execute("SELECT value FROM state WHERE key = ?", (key,)).fetchone()
        if found and not _reads(partial(msgspec.msgpack.decode, found[0], type=form)):
            yield f'the saved state "{key}" cannot be read'


def _reads(read: Callable[[], object]) -> bool:
    try:
        read()
    except msgspec.MsgspecError:
        return False
    return True


def _pictures(connection: sqlite3.Connection) -> Iterator[str]:
    for blob_id, sha256, data in connection.execute("SELECT id, sha256, data FROM blob"):
        if hashlib.sha256(data).digest() != sha256:
            yield f"picture {blob_id} is damaged"


def _forgotten(connection: sqlite3.Connection) -> Iterator[str]:
    """Every receipt must match its tombstones, and no row may have an id of a tombstone: ids are never used twice."""
    for key, sha256 in connection.execute("SELECT id, sha256 FROM receipt ORDER BY made_us, id").fetchall():
        runs: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        sql = "SELECT kind, first_id, last_id FROM tombstone WHERE receipt_id = ? ORDER BY kind, first_id"
        for kind, first, last in connection.execute(sql, (key,)).fetchall():
            runs[kind].append((first, last))
            back = connection.execute(f"SELECT id FROM {kind} WHERE id BETWEEN ? AND ?", (first, last)).fetchall()  # noqa: S608
            yield from (f"{kind} {kind[0]}{row[0]} exists, but receipt {key} says that it was forgotten" for row in back)
        if digest(runs.items()) != sha256:
            yield f"receipt {key} does not match its tombstones: one of them was changed"
    if connection.execute("SELECT 1 FROM meta WHERE key = ?", (WIPE_DUE,)).fetchone():
        yield "something was forgotten, but the files were not wiped: run `edgemem memory compact`"


def _sidecars(connection: sqlite3.Connection, directory: Path) -> Iterator[str]:
    """A wrong vector file loses no data: the next ingest rebuilds it, and until then searches read SQLite. Encrypted memories have none."""
    if is_cipher(connection):
        if (directory / VECTORS).is_dir():
            yield "vectors of an encrypted memory lie in plain files: the next ingest removes them"
        return
    memory_id = bytes.fromhex(connection.execute("SELECT value FROM meta WHERE key = 'memory_id'").fetchone()[0])
    for name, dim, rows in connection.execute("SELECT name, dim, rows FROM vec_space").fetchall():
        mapped = Sidecar(directory, name, dim, memory_id).map()
        if mapped is None:
            yield f'vectors of "{name}": the files beside memory.db are missing or damaged; the next ingest rebuilds them'
        elif mapped.header.live != rows:
            yield f'vectors of "{name}": the files contain {mapped.header.live} of {rows}; the next ingest rebuilds them'
