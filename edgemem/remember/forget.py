"""Forgetting on request: out of every table, the full text, the vectors and the files; what proves it afterwards is a receipt.

One transaction takes everything or nothing, and notes that the files are to be wiped. The wiping follows; where it is interrupted,
`edgemem memory check` says so and `compact` ends it. The full text is written anew rather than deleted from: FTS5 keeps deleted
words in its segments until they merge, and its `secure-delete` makes files that SQLite before 3.42, which boards ship, cannot read.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Protocol

from edgemem.clock import now_us
from edgemem.errors import MemoryDirError
from edgemem.records import Moment, Observation, Record, Segment
from edgemem.remember import schema
from edgemem.remember.directory import WriterLock, prepare
from edgemem.remember.faults import told
from edgemem.remember.observations import COLOUR_WORD
from edgemem.remember.reading import connect
from edgemem.remember.results import Spoken
from edgemem.remember.selection import Selection, Wanted, runs, select
from edgemem.remember.store import Store
from edgemem.remember.transaction import Transaction
from edgemem.remember.view import View
from edgemem.remember.wipe import wipe

__all__ = ["Receipt", "Wanted", "forget", "tidy_up"]

WIPE_DUE = "wipe_due"
"""Key in `meta`: something was forgotten, and the files still have to be wiped."""
READER_PATIENCE_S = 5.0
"""How long the wiping waits for a reader that keeps the log from being cut."""
_FTS = (
    "INSERT INTO document_fts (document_fts) VALUES ('delete-all')",
    "INSERT INTO document_squeezed_fts (document_squeezed_fts) VALUES ('delete-all')",
    "INSERT INTO document_fts (rowid, text) SELECT id, text FROM document",
    "INSERT INTO document_squeezed_fts (rowid, squeezed) SELECT id, squeezed FROM document WHERE squeezed <> ''",
)


class Receipt(Record, frozen=True, kw_only=True):
    """What was forgotten, or would be: `id` is "" for a dry run. `bytes` are of pictures, vectors, observations and texts."""

    id: str
    moments: int
    documents: int
    relations: int
    bytes: int


class Describer(Protocol):
    """Puts into words, and into the open transaction, what is left of a segment; `see.operations.anew` makes one of a recipe's writers."""

    def __call__(
        self,
        tx: Transaction,
        segment: Segment,
        moments: Sequence[Moment],
        observations: Mapping[int, tuple[Observation, ...]],
        utterances: Sequence[Spoken],
    ) -> None: ...


def forget(
    directory: Path,
    wanted: Wanted,
    *,
    dry_run: bool = False,
    describe: Describer | None = None,
    clear: Callable[[bytes], bytes] | None = None,
) -> Receipt:
    """Forget `wanted` in the memory at `directory`; a dry run only counts, and changes nothing.

    `describe` puts what is left of a segment into words. `clear` takes the pictures out of a stream's saved state (by default all of the
    state goes). Raises UsageError for what the memory does not have, MemoryDirError when it is being written or cannot be wiped.
    """
    View.open(directory).close()  # says what cannot be opened, and why
    if dry_run:
        with told(directory), closing(connect(directory)) as connection:
            return _receipt("", select(connection, wanted))
    with Store.open(directory, create=False) as store, store.view() as view, store.transaction() as tx:
        selection = select(tx.connection, wanted)
        receipt = _receipt(secrets.token_hex(6), selection)
        _note(tx.connection, receipt, wanted, selection)
        _erase(tx, selection)
        for segment in selection.trimmed:
            _put_right(tx, segment)
            if describe is not None:
                left = [moment for moment in view.segment_moments(segment.id) if moment.id not in selection.moments]
                said = view.utterances(stream=segment.stream, from_us=segment.t0_us, to_us=segment.t1_us)
                said = [spoken for spoken in said if spoken.document.id not in selection.documents]
                describe(tx, segment, left, view.observations(moment.id for moment in left), said)
        _clear_states(tx.connection, selection, clear)
        tx.settle_terms()
        # A term that no moment carries is a word of what was forgotten, or of what faded before.
        tx.connection.execute("DELETE FROM term WHERE moments = 0 AND kind <> ?", (COLOUR_WORD,))
        for statement in _FTS:
            tx.connection.execute(statement)
        tx.connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (WIPE_DUE, receipt.id))
    tidy_up(directory)
    return receipt


def tidy_up(directory: Path) -> bool:
    """Wipe the files if a forgetting left that to be done; True if it was. Raises MemoryDirError while a writer or reader is in the way."""
    prepare(directory, create=False)
    with told(directory):
        with closing(connect(directory)) as connection:
            if not connection.execute("SELECT 1 FROM meta WHERE key = ?", (WIPE_DUE,)).fetchone():
                return False
        lock = WriterLock(directory)
        try:
            _empty(directory)
            wipe(directory / schema.DATABASE)
            for path in (directory / "vectors").glob("*"):
                path.unlink()
        finally:
            lock.close()
    with Store.open(directory, create=False) as store, store.transaction() as tx:  # rebuilds the vector files
        tx.connection.execute("DELETE FROM meta WHERE key = ?", (WIPE_DUE,))
    return True


def drop_unused_terms(connection: sqlite3.Connection) -> None:
    """A term that no moment carries is a word of what was forgotten, or of what faded. For a store that has not learnt any name yet."""
    connection.execute("DELETE FROM term WHERE moments = 0 AND kind <> ?", (COLOUR_WORD,))


def digest(kinds: Iterable[tuple[str, Iterable[tuple[int, int]]]]) -> bytes:
    """SHA-256 over the kinds and runs of ids that a receipt vouches for."""
    lines = (f"{kind} {first} {last}\n" for kind, ids in sorted(kinds) for first, last in ids)
    return hashlib.sha256("".join(lines).encode()).digest()


def _receipt(key: str, selection: Selection) -> Receipt:
    return Receipt(
        id=key,
        moments=len(selection.moments),
        documents=len(selection.documents),
        relations=len(selection.relations),
        bytes=selection.bytes,
    )


def _note(connection: sqlite3.Connection, receipt: Receipt, wanted: Wanted, selection: Selection) -> None:
    """The receipt, and the tombstones that it vouches for."""
    kinds = [(kind, runs(ids)) for kind, ids in selection.ids() if ids]
    connection.execute(
        "INSERT INTO receipt (id, made_us, what, moments, documents, relations, bytes, sha256) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (receipt.id, now_us(), wanted.what, receipt.moments, receipt.documents, receipt.relations, receipt.bytes, digest(kinds)),
    )
    connection.executemany(
        "INSERT INTO tombstone (receipt_id, kind, first_id, last_id) VALUES (?, ?, ?, ?)",
        [(receipt.id, kind, first, last) for kind, ids in kinds for first, last in ids],
    )


def _erase(tx: Transaction, selection: Selection) -> None:
    """Edges before their ends, so that nothing is left that points to nothing."""

    def each(sql: str, ids: Iterable[int]) -> None:
        tx.connection.executemany(sql, [(key,) for key in ids])

    each("DELETE FROM relation WHERE id = ?", selection.relations)
    for column, ids in (("document_id", selection.documents), ("moment_id", selection.moments)):
        each(f"DELETE FROM relation_evidence WHERE {column} = ?", ids)  # noqa: S608
        each(f"DELETE FROM mention WHERE {column} = ?", ids)  # noqa: S608
    each("DELETE FROM entity WHERE id = ?", selection.entities)
    for document_id in sorted(selection.documents):
        tx.drop_document(document_id)
    for moment_id in sorted(selection.moments):
        tx.drop_moment(moment_id)
    each("DELETE FROM segment WHERE id = ?", selection.segments)


def _put_right(tx: Transaction, segment: Segment) -> None:
    """Put what is left of a segment in its place."""
    tx.connection.execute(
        "UPDATE segment SET t0_us = ?, t1_us = ?, offset_us = ?, representative_id = ? WHERE id = ?",
        (segment.t0_us, segment.t1_us, segment.offset_us, segment.representative_id, segment.id),
    )
    if segment.representative_id is not None:
        tx.connection.execute(
            "UPDATE segment_moment SET role = 'representative' WHERE segment_id = ? AND moment_id = ?",
            (segment.id, segment.representative_id),
        )
        tx.protect(segment.representative_id, "representative")


def _clear_states(connection: sqlite3.Connection, selection: Selection, clear: Callable[[bytes], bytes] | None) -> None:
    """Components keep pictures of the last frames in their saved state, and which ones cannot be told from outside: all of them go."""
    for stream in selection.streams:
        found = connection.execute("SELECT value FROM state WHERE key = ?", (f"see/{stream}",)).fetchone()
        if found and clear is not None:
            connection.execute("UPDATE state SET value = ? WHERE key = ?", (clear(found[0]), f"see/{stream}"))
        elif found:
            connection.execute("DELETE FROM state WHERE key = ?", (f"see/{stream}",))
    if selection.gone_stream:
        connection.execute("DELETE FROM state WHERE key = ?", (f"see/{selection.gone_stream}",))
        connection.execute("DELETE FROM stream WHERE name = ?", (selection.gone_stream,))


def _empty(directory: Path) -> None:
    """Give every free page back to the disk and cut the log to nothing."""
    with closing(sqlite3.connect(directory / schema.DATABASE, isolation_level=None)) as connection:
        schema.configure(connection)
        connection.execute(f"PRAGMA busy_timeout={round(READER_PATIENCE_S * 1000)}")
        connection.executescript("PRAGMA incremental_vacuum")
        busy: int = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    if busy:
        raise MemoryDirError(
            f"memory {directory}: it is forgotten, but a reader still holds old pages: end it, then run `edgemem memory compact`",
        )
