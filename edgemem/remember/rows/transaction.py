"""One transaction of the writer: it writes rows and returns ids, and collects the changes for the sidecars after the commit."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence

from edgemem.errors import UsageError
from edgemem.remember.disk import page_budget
from edgemem.remember.entries import NewSegment
from edgemem.remember.rows import anchor
from edgemem.remember.rows.documents import DocumentWriting
from edgemem.remember.rows.graph import GraphWriting
from edgemem.remember.rows.jobs import JobWriting
from edgemem.remember.rows.ledger import Ledger
from edgemem.remember.rows.moments import MomentWriting
from edgemem.remember.rows.reading import ids_list
from edgemem.remember.rows.sessions import SessionWriting


class Transaction(MomentWriting, DocumentWriting, GraphWriting, SessionWriting, JobWriting):
    """One transaction; `Store.transaction` creates it."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        known: Mapping[tuple[object, ...], int],
        sums: Mapping[str, int],
        allowance: page_budget.PageBudget,
    ) -> None:
        super().__init__(connection, known, allowance)
        self._ledger = Ledger(connection, sums)
        self.redated = False
        """Whether times changed: the vector files, which are in time order, are then invalid until they are rewritten."""

    @property
    def ledger(self) -> Counter[str]:
        """Bytes of pictures by tier and under "pinned"; valid for later transactions only if this one commits."""
        return self._ledger.sums

    @property
    def full(self) -> bool:
        """Whether this transaction has the largest size that the budget allows; never without a budget."""
        return self._allowance.full

    def claim(self, pages: int) -> None:
        """Claim pages that will be changed through `connection`. Raises BudgetError if the budget does not allow so many."""
        self._allowance.claim(pages)

    def take(self, pages: int) -> bool:
        """As `claim`, for work that may wait for the next transaction: False if the pages do not fit into this one, which is then full."""
        return self._allowance.take(pages)

    def reserve_state(self, value_bytes: int) -> None:
        """Reserve space for a state that `set_state` sets at the end, when it can no longer be refused."""
        self._allowance.reserve(page_budget.state_pages(value_bytes))

    def add_segment(self, new: NewSegment) -> int:
        """Store a segment. Its moments refer to it, unless they refer to one of another segmenter; its representative is protected."""
        self._allowance.claim(page_budget.segment_pages(len(new.moment_ids)))
        stream_id = self._stream(new.stream, new.t0_us - new.offset_us)
        segment_id = self._insert(
            "INSERT INTO segment (stream_id, segmenter, t0_us, t1_us, offset_us, representative_id, level) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (stream_id, new.segmenter, new.t0_us, new.t1_us, new.offset_us, new.representative_id, new.level),
        )
        if new.parent_id is not None:
            self.set_parent([segment_id], new.parent_id)
        self.connection.executemany(
            "INSERT INTO segment_moment (segment_id, moment_id, role) VALUES (?, ?, ?)",
            [(segment_id, moment_id, "representative" if moment_id == new.representative_id else "") for moment_id in new.moment_ids],
        )
        self.connection.executemany(
            "UPDATE moment SET segment_id = ? WHERE id = ? AND segment_id IS NULL",
            [(segment_id, moment_id) for moment_id in new.moment_ids],
        )
        if new.representative_id is not None:
            self.protect(new.representative_id, "representative")
        return segment_id

    def set_parent(self, segment_ids: Sequence[int], parent_id: int) -> None:
        """Set the parent of these segments; views show it when the parent is closed. Raises UsageError unless its level is higher than
        theirs.
        """
        self._allowance.claim(2 * len(segment_ids))
        among = ids_list(segment_ids)
        sql = f"SELECT 1 FROM segment WHERE id IN {among} AND level >= ifnull((SELECT level FROM segment WHERE id = ?), level)"  # noqa: S608
        if self.connection.execute(sql, (parent_id,)).fetchone():
            raise UsageError(
                f"segment s{parent_id} cannot be the parent of any of {among}: it does not exist, or it is not of a higher level"
            )
        self.connection.execute(f"UPDATE segment SET parent_id = ? WHERE id IN {among}", (parent_id,))  # noqa: S608 - integers

    def drop_segment(self, segment_id: int) -> None:
        """Remove a segment; its moments and documents are kept."""
        self._allowance.claim(page_budget.segment_pages(0))
        self.connection.execute("DELETE FROM segment WHERE id = ?", (segment_id,))

    def reanchor(self, stream: str, boot_id: str, ahead_us: int) -> int:
        """Set the dates of this boot to `mono_us + ahead_us`, because the difference of the clocks is now known; returns how many moments
        move.

        They move in separate steps after this transaction is committed; the store finishes them before any other write.
        """
        moved = anchor.note(self.connection, stream, boot_id, ahead_us)
        self.redated = self.redated or moved > 0
        return moved

    def trust_time(self, *, trusted: bool) -> None:
        """Store whether the clock can be trusted; see `Store.time_trusted`."""
        self.set_state("clock/untrusted", b"" if trusted else b"1")

    def set_state(self, key: str, value: bytes) -> None:
        """Save a component's state, in the same transaction as its results. Raises BudgetError."""
        self._allowance.claim_reserved(page_budget.state_pages(len(value)))
        self.connection.execute("INSERT INTO state VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", (key, value))

    def settle(self) -> None:
        """Write the collected counters; called by the store just before COMMIT."""
        self.settle_terms()
        self._settle_vectors()
        self._settle_text()
        if self.redated:
            self.connection.execute("UPDATE vec_space SET epoch = epoch + 1")
        kept = self._ledger.encoded()
        if kept is not None:
            self.set_state(*kept)
