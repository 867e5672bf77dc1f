"""Takes out of every table what a receipt vouches for, in steps, so that a capped memory forgets without outgrowing its cap.

The receipt and its tombstones are written before anything goes: what a crash interrupts is found again by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from edgemem.remember.budget.batches import Step
from edgemem.remember.forgetting.finish import ERASE_DUE
from edgemem.remember.rows.transaction import Transaction

_WINDOW = 64
_MERGE_PAGES = 16
_Drop = Callable[[Transaction, int], bool | None]
"""False: it does not fit into this transaction."""


def erasing(receipt_id: str) -> Iterator[Step]:
    """Steps that erase everything this receipt vouches for and that is still there; running them again changes nothing.

    Edges go before their ends, so that nothing is left that points to nothing.
    """
    for kind, drop in _DROPS.items():
        yield partial(_drop_some, receipt_id, kind, drop)
    yield partial(_drop_empty_streams, receipt_id)
    yield Transaction.drop_unused_terms
    yield from merging()
    yield _done


def merging() -> list[Step]:
    """Bring each full text together into one segment: then no word is left of what was deleted from it.

    FTS5 keeps deleted words until then, and its `secure-delete` makes files that SQLite before 3.42, which boards ship, cannot read.
    """
    return [partial(_merge, table) for table in ("document_fts", "document_squeezed_fts")]


def _done(tx: Transaction) -> None:
    tx.connection.execute("DELETE FROM meta WHERE key = ?", (ERASE_DUE,))


def _drop_some(receipt_id: str, kind: str, drop: _Drop, tx: Transaction) -> bool:
    """As many as the transaction may take; True while more are there."""
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
    """Drop the vectors of entities that were seen here and stay: a vector may come from any of the sightings."""
    shown = f"SELECT entity_id FROM mention WHERE {column} = :id UNION SELECT entity_id FROM part WHERE {column} = :id"  # noqa: S608
    for (entity_id,) in tx.connection.execute(shown, {"id": row_id}).fetchall():
        if entity_id is not None:
            tx.drop_entity_vectors(entity_id)


def _unmention(column: str, tx: Transaction, row_id: int) -> None:
    """What a relation that stays rests on, and where an entity that stays was met."""
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
    """The name of a stream goes with the stream."""
    if not tx.connection.execute("SELECT 1 FROM receipt WHERE id = ? AND what = 'stream'", (receipt_id,)).fetchone():
        return
    used = " UNION ".join(f"SELECT stream_id FROM {table}" for table in ("moment", "segment", "document", "relation"))  # noqa: S608
    tx.connection.execute(f"DELETE FROM stream WHERE id NOT IN ({used})")  # noqa: S608 - our own names


def _merge(table: str, tx: Transaction) -> bool:
    """A few pages of it."""
    tx.claim(2 * _MERGE_PAGES)
    before = tx.connection.total_changes
    tx.connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", (-_MERGE_PAGES,))  # noqa: S608 - our own names
    return tx.connection.total_changes - before > 1
