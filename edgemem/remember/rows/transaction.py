"""One transaction of the writer: rows in, ids out, and what the sidecars must follow once it is committed."""

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
    """Made by `Store.transaction`."""

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
        """Times change, so the vector files, which are in the order of time, do not fit until they are written anew."""

    @property
    def ledger(self) -> Counter[str]:
        """Bytes of pictures by tier and under "pinned"; true for later transactions only if this one commits."""
        return self._ledger.sums

    @property
    def full(self) -> bool:
        """True once this transaction is as large as one should be under the budget; never without one."""
        return self._allowance.full

    def claim(self, pages: int) -> None:
        """Pages that are about to be touched through `connection`. Raises BudgetError when they are more than the budget allows."""
        self._allowance.claim(pages)

    def take(self, pages: int) -> bool:
        """As `claim`, for work that may be left to the next transaction: False where they do not fit into this one, which is full then."""
        return self._allowance.take(pages)

    def reserve_state(self, value_bytes: int) -> None:
        """Keep room for a state that `set_state` sets at the end, when it can no longer be refused."""
        self._allowance.reserve(page_budget.state_pages(value_bytes))

    def add_segment(self, new: NewSegment) -> int:
        """Store a segment. Its moments point to it unless another segmenter was first; its representative is protected."""
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
        """These segments lie in that one, which views see once it is closed. Raises UsageError unless its level is above theirs."""
        self._allowance.claim(2 * len(segment_ids))
        among = ids_list(segment_ids)
        sql = f"SELECT 1 FROM segment WHERE id IN {among} AND level >= ifnull((SELECT level FROM segment WHERE id = ?), level)"  # noqa: S608
        if self.connection.execute(sql, (parent_id,)).fetchone():
            raise UsageError(f"segment s{parent_id} holds none of {among}: it is not there, or it is not of a higher level")
        self.connection.execute(f"UPDATE segment SET parent_id = ? WHERE id IN {among}", (parent_id,))  # noqa: S608 - integers

    def drop_segment(self, segment_id: int) -> None:
        """Remove a segment; its moments and documents stay."""
        self._allowance.claim(page_budget.segment_pages(0))
        self.connection.execute("DELETE FROM segment WHERE id = ?", (segment_id,))

    def reanchor(self, stream: str, boot_id: str, ahead_us: int) -> int:
        """Date what was seen in this boot by `mono_us + ahead_us`, now that the clocks' distance is known; how many moments move.

        They do in steps of their own, once this transaction is committed; the store ends them before it writes anything else.
        """
        moved = anchor.note(self.connection, stream, boot_id, ahead_us)
        self.redated = self.redated or moved > 0
        return moved

    def trust_time(self, *, trusted: bool) -> None:
        """Note whether the clock can be trusted; `Store.time_trusted` tells."""
        self.set_state("clock/untrusted", b"" if trusted else b"1")

    def set_state(self, key: str, value: bytes) -> None:
        """Keep a component's state; it survives a restart together with what was written in this transaction. Raises BudgetError."""
        self._allowance.claim_reserved(page_budget.state_pages(len(value)))
        self.connection.execute("INSERT INTO state VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", (key, value))

    def settle(self) -> None:
        """Write the counters that were gathered; called by the store just before COMMIT."""
        self.settle_terms()
        self._settle_vectors()
        self._settle_text()
        if self.redated:
            self.connection.execute("UPDATE vec_space SET epoch = epoch + 1")
        kept = self._ledger.encoded()
        if kept is not None:
            self.set_state(*kept)
