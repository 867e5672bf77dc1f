"""Deletes from every table what a receipt covers, in steps, so that a memory with a cap never exceeds it while it forgets.

The receipt and its tombstones are written before anything is deleted: after a crash they show what is left to delete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from edgemem.remember.budget.batches import Step
from edgemem.remember.forgetting.finish import ERASE_DUE
from edgemem.remember.rows.text import FULL_TEXT
from edgemem.remember.rows.transaction import Transaction

_WINDOW = 64
_MERGE_PAGES = 16
_Drop = Callable[[Transaction, int], bool | None]
"""Deletes one row; False if it does not fit into this transaction."""


def erasing(receipt_id: str) -> Iterator[Step]:
    """Steps that delete everything that this receipt covers and that still exists; running them again changes nothing.

    Relations are deleted before their entities, so that no reference is left without its target.
    """
    for kind, drop in _DROPS.items():
        yield partial(_drop_some, receipt_id, kind, drop)
    yield partial(_drop_empty_streams, receipt_id)
    yield Transaction.drop_unused_terms
    yield from merging()
    yield _done


def merging() -> list[Step]:
    """Merge each full-text index into one segment: then it contains no deleted word any more.

    FTS5 keeps deleted words until a merge. Its `secure-delete` makes files that SQLite before 3.42, which boards ship, cannot read.
    """
    return [partial(_merge, table) for table in FULL_TEXT]


def _done(tx: Transaction) -> None:
    tx.connection.execute("DELETE FROM meta WHERE key = ?", (ERASE_DUE,))


def _drop_some(receipt_id: str, kind: str, drop: _Drop, tx: Transaction) -> bool:
    """Delete as many rows as fit into the transaction; True while there are more."""
    found = tx.connection.execute(
        f"SELECT k.id FROM tombstone t JOIN {kind} k ON k.id BETWEEN t.first_id AND t.last_id"  # noqa: S608 - our own names
        " WHERE t.receipt_id = ? AND t.kind = ? ORDER BY t.first_id, k.id LIMIT ?",
        (receipt_id, kind, _WINDOW),
    ).fetchall()
    for (row_id,) in found:
        if drop(tx, row_id) is False or tx.full:
            return True
    return len(found) == _WINDOW


def _drop_vectors_of_shown(column: str, tx: Transaction, row_id: int) -> None:
    """Delete the vectors of entities that were seen here and are kept: a vector may come from any place where the entity was seen."""
    shown = f"SELECT entity_id FROM mention WHERE {column} = :id UNION SELECT entity_id FROM part WHERE {column} = :id"  # noqa: S608
    for (entity_id,) in tx.connection.execute(shown, {"id": row_id}).fetchall():
        if entity_id is not None:
            tx.drop_entity_vectors(entity_id)


def _unmention(column: str, tx: Transaction, row_id: int) -> None:
    """Delete quotes of relations that are kept, and mentions of entities that are kept."""
    for table in ("relation_evidence", "mention"):
        tx.claim(tx.connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (row_id,)).rowcount)  # noqa: S608 - our own names


def _drop_document(tx: Transaction, row_id: int) -> bool:
    _drop_vectors_of_shown("document_id", tx, row_id)
    _unmention("document_id", tx, row_id)
    return tx.drop_document(row_id)


def _drop_moment(tx: Transaction, row_id: int) -> bool:
    _drop_vectors_of_shown("moment_id", tx, row_id)
    _unmention("moment_id", tx, row_id)
    return tx.drop_moment(row_id)


_DROPS: dict[str, _Drop] = {
    "session": Transaction.drop_session,
    "relation": Transaction.drop_relation,
    "document": _drop_document,
    "moment": _drop_moment,
    "entity": Transaction.drop_entity,
    "segment": Transaction.drop_segment,
}


def _drop_empty_streams(receipt_id: str, tx: Transaction) -> None:
    """Delete the name of a stream together with the stream."""
    if not tx.connection.execute("SELECT 1 FROM receipt WHERE id = ? AND what = 'stream'", (receipt_id,)).fetchone():
        return
    used = " UNION ".join(f"SELECT stream_id FROM {table}" for table in ("moment", "segment", "document", "relation"))  # noqa: S608
    tx.connection.execute(f"DELETE FROM stream WHERE id NOT IN ({used})")  # noqa: S608 - our own names


def _merge(table: str, tx: Transaction) -> bool:
    """Merge a few pages."""
    tx.claim(2 * _MERGE_PAGES)
    before = tx.connection.total_changes
    tx.connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", (-_MERGE_PAGES,))  # noqa: S608 - our own names
    return tx.connection.total_changes - before > 1
