"""One transaction of the writer: rows in, ids out, and what the sidecars must follow once it is committed."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import NamedTuple

from edgemem.errors import BudgetError, UsageError
from edgemem.records import Observation, Tier
from edgemem.remember.disk import page_budget
from edgemem.remember.entries import NewMoment, NewSegment
from edgemem.remember.rows import anchor
from edgemem.remember.rows import observations as packing
from edgemem.remember.rows.documents import DocumentWriting
from edgemem.remember.rows.graph import GraphWriting
from edgemem.remember.rows.jobs import JobWriting
from edgemem.remember.rows.ledger import PINNED, Ledger
from edgemem.remember.rows.reading import ids_list
from edgemem.remember.rows.sessions import SessionWriting

_TERMS = 256
"""Words looked up and deleted at a time; each may lie on a page of its own in the table and in its index."""
_NO_KIND = "gone"
"""Kind of the newest term once no moment carries it."""
_UNUSED = f"moments = 0 AND kind NOT IN ('{packing.COLOUR_WORD}', '{_NO_KIND}')"


class _Shown(NamedTuple):
    """A moment's picture: what letting it go makes free, which is nothing while another moment shows it too."""

    blob_id: int | None
    freed_bytes: int
    pinned: bool


class Transaction(DocumentWriting, GraphWriting, SessionWriting, JobWriting):
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
        self._counts: Counter[int] = Counter()
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

    def attempt(self, step: Callable[[Transaction], object]) -> bool:
        """Take a step; True where it wants another transaction. Raises BudgetError where it fits into none."""
        fresh = self._allowance.fresh
        try:
            step(self)
        except BudgetError:
            if fresh:
                raise
            return True
        return False

    def claim(self, pages: int) -> None:
        """Pages that are about to be touched through `connection`. Raises BudgetError when they are more than the budget allows."""
        self._allowance.claim(pages)

    def take(self, pages: int) -> bool:
        """As `claim`, for work that may be left to the next transaction: False where they do not fit into this one, which is full then."""
        return self._allowance.take(pages)

    def reserve_state(self, value_bytes: int) -> None:
        """Keep room for a state that `set_state` sets at the end."""
        self._allowance.reserve(page_budget.state_pages(value_bytes))

    def find_moment(self, new: NewMoment) -> int | None:
        """Id of this very frame of its stream, if it was kept before."""
        sql = "SELECT m.id FROM moment m JOIN stream s ON s.id = m.stream_id WHERE s.name = ? AND m.t_us = ? AND m.seq = ?"
        found = self.connection.execute(sql, (new.stream, new.t_us, new.seq)).fetchone()
        return found[0] if found else None

    def add_moment(self, new: NewMoment) -> int:
        """Store picture, vectors and observations. Raises EngineError for a space that is unknown or of another dimension."""
        vector_bytes = sum(2 * vector.size for vector in new.vectors.values())
        self._allowance.claim(
            page_budget.moment_pages(len(new.jpeg), vector_bytes, page_budget.seen_pages(o.name for o in new.observations))
        )
        stream_id = self._stream(new.stream, new.t_us - new.offset_us)
        boot_id = self._interned("boot", "name = ?", "name", (new.boot_id,)) if new.boot_id else None
        blob_id, fresh = self._blob(new.jpeg, generation=0)
        with nullcontext() if fresh else self._ledger.changing(blob_id):
            moment_id = self._insert(
                "INSERT INTO moment (stream_id, seq, t_us, offset_us, mono_us, boot_id, width_px, height_px, sharpness, role, blob_id)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    stream_id,
                    new.seq,
                    new.t_us,
                    new.offset_us,
                    new.mono_us,
                    boot_id,
                    new.width_px,
                    new.height_px,
                    new.sharpness,
                    new.role,
                    blob_id,
                ),
            )
        if fresh:
            self._ledger.add("recent", len(new.jpeg))
        for space, vector in new.vectors.items():
            self._add_vector("moment", space, vector, moment_id, new.t_us, stream_id)
        if new.observations:
            self._add_observations(new.observations, moment_id, new.t_us, stream_id)
        return moment_id

    def remaining(self, moment_ids: Sequence[int]) -> tuple[int, ...]:
        """Those of the moments that have not faded, in the order given. An open segment may outlive some of its moments."""
        marks = ",".join(map(str, moment_ids))
        there = {row[0] for row in self.connection.execute(f"SELECT id FROM moment WHERE id IN ({marks})")}  # noqa: S608 - integers
        return tuple(moment_id for moment_id in moment_ids if moment_id in there)

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

    def protect(self, moment_id: int, role: str) -> None:
        """Keep this moment whatever its age; `role` says why."""
        self._allowance.claim(2)
        self.connection.execute("UPDATE moment SET protected = 1, role = ?, role_us = NULL WHERE id = ?", (role, moment_id))

    def unprotect(self, moment_id: int) -> None:
        """It may fade like others; its role stays. One that stands for a segment stays protected."""
        self._allowance.claim(2)
        stands = "EXISTS (SELECT 1 FROM segment WHERE representative_id = moment.id)"
        self.connection.execute(f"UPDATE moment SET protected = 0 WHERE id = ? AND NOT {stands}", (moment_id,))  # noqa: S608

    def set_role(self, moment_id: int, role: str, known_us: int | None = None) -> None:
        """What a moment is to its selector from `known_us` on (default: the newest moment of its stream); views before it see no role."""
        self._allowance.claim(2)
        newest = "(SELECT max(t_us) FROM moment n WHERE n.stream_id = moment.stream_id)"
        sql = f"UPDATE moment SET role = ?, role_us = ifnull(?, {newest}) WHERE id = ?"  # noqa: S608 - our own words
        self.connection.execute(sql, (role, known_us, moment_id))

    def pin(self, moment_id: int, *, pinned: bool = True) -> None:
        """The user's own protection, apart from roles. Raises BudgetError when pinned pictures would take more than half of the budget."""
        found = self._shown(moment_id)
        if found is None or found.pinned == pinned:
            return
        self._allowance.claim(2)
        self._set_pin(moment_id, found.blob_id, pinned)
        would, limit = self.ledger[PINNED], self._allowance.pinned_bytes
        if pinned and limit is not None and would > limit:
            self._set_pin(moment_id, found.blob_id, False)
            raise BudgetError(
                f"m{moment_id} cannot be pinned: pinned pictures would take {would / 2**20:.1f} MiB and may take {limit / 2**20:.1f} MiB,"
                " half of budget.disk; unpin others or raise it"
            )

    def _set_pin(self, moment_id: int, blob_id: int | None, pinned: bool) -> None:
        with self._ledger.changing(blob_id, pinned=True):
            self.connection.execute("UPDATE moment SET pinned = ? WHERE id = ?", (int(pinned), moment_id))

    def drop_moment(self, moment_id: int) -> bool:
        """Remove a moment with its picture (unless another shows the same), vectors and observations.

        False, and nothing is removed, where that does not fit into this transaction, which is full then.
        """
        found = self._shown(moment_id)
        if found is None:
            return True
        seen = self.connection.execute("SELECT data FROM observation WHERE moment_id = ?", (moment_id,)).fetchone()
        packed = packing.decode(seen[0]) if seen else []
        pages = page_budget.dropping_pages(found.freed_bytes, len(packed)) + self._parts_pages("moment_id", moment_id)
        if not self._allowance.take(pages):
            return False
        self._note_erased("moment", moment_id)
        self._note_parts_erased("moment_id", moment_id)
        if packed:
            self._counts.subtract({term_id for term_id, *_ in packed})
            self.connection.executemany(
                "DELETE FROM posting WHERE term_id = ? AND score_ppm = ? AND moment_id = ? AND ordinal = ?",
                [(term_id, score_ppm, moment_id, ordinal) for ordinal, (term_id, score_ppm, *_) in enumerate(packed)],
            )
        with self._ledger.changing(found.blob_id, pinned=found.pinned):
            self.connection.execute("DELETE FROM moment WHERE id = ?", (moment_id,))
        return True

    def recode_moment(self, moment_id: int, jpeg: bytes, tier: Tier, *, width_px: int, height_px: int, generation: int) -> bool:
        """Put a smaller picture in place of the old one, and note the tier that it was made for. False as for `drop_moment`."""
        found = self._shown(moment_id)
        if found is None:
            return True
        if not self._allowance.take(page_budget.dropping_pages(found.freed_bytes, 0) + page_budget.picture_pages(len(jpeg))):
            return False
        blob_id, _ = self._blob(jpeg, generation=generation)
        if blob_id == found.blob_id:  # the same picture: no trigger takes back the user just counted
            self.connection.execute("UPDATE blob SET refs = refs - 1 WHERE id = ?", (blob_id,))
        with self._ledger.changing(*{found.blob_id, blob_id}, pinned=found.pinned):
            self.connection.execute(
                "UPDATE moment SET blob_id = ?, width_px = ?, height_px = ?, tier = ? WHERE id = ?",
                (blob_id, width_px, height_px, tier, moment_id),
            )
        return True

    def stub_moment(self, moment_id: int) -> bool:
        """Let the picture go; what was seen in it, its vectors and its documents stay. False as for `drop_moment`."""
        found = self._shown(moment_id)
        if found is None:
            return True
        if not self._allowance.take(page_budget.dropping_pages(found.freed_bytes, 0)):
            return False
        with self._ledger.changing(found.blob_id, pinned=found.pinned):
            self.connection.execute("UPDATE moment SET blob_id = NULL, tier = 'stub' WHERE id = ?", (moment_id,))
        return True

    def set_tier(self, moment_id: int, tier: Tier) -> None:
        """Note that a moment reached a tier with its picture as it is."""
        found = self._shown(moment_id)
        if found is None:
            return
        self._allowance.claim(4)
        with self._ledger.changing(found.blob_id, pinned=found.pinned):
            self.connection.execute("UPDATE moment SET tier = ? WHERE id = ?", (tier, moment_id))

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

    def settle_terms(self) -> None:
        """Write how many moments carry each term. What none carries any more goes: words read off signs would fill the smallest disk."""
        changed = [(count, term_id) for term_id, count in self._counts.items() if count]
        if changed:
            self.connection.executemany("UPDATE term SET moments = moments + ? WHERE id = ?", changed)
        fewer = [term_id for term_id, count in self._counts.items() if count <= 0]
        if fewer:
            self._drop_terms(f"id IN {ids_list(fewer)}")
        self._counts.clear()

    def drop_unused_terms(self) -> bool:
        """Some terms that no moment carries, as earlier versions left them; True while more may be there."""
        if not self.take(_TERMS // 2):
            return True
        some = f"id IN (SELECT id FROM term WHERE {_UNUSED} LIMIT {_TERMS})"  # noqa: S608 - our own words
        return self._drop_terms(some) == _TERMS

    def _drop_terms(self, which: str) -> int:
        """Those of them that no moment carries. The newest only loses its name: its id would be given again, and views remember ids."""
        found = self.connection.execute(f"SELECT id, kind, name FROM term WHERE {which} AND {_UNUSED}").fetchall()  # noqa: S608
        if not found:
            return 0
        newest: int = self.connection.execute("SELECT max(id) FROM term").fetchone()[0]
        ids = [row[0] for row in found]
        if newest in ids:
            self.connection.execute("UPDATE term SET kind = ?, name = id WHERE id = ?", (_NO_KIND, newest))
        gone = f"id IN {ids_list(ids)} OR kind = '{_NO_KIND}'"
        self.connection.execute(f"DELETE FROM term WHERE ({gone}) AND id < {newest}")  # noqa: S608 - integers and our own words
        for _, kind, name in found:
            self._unlearn(("term", kind, name))
        return len(found)

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

    def _shown(self, moment_id: int) -> _Shown | None:
        """None for a moment that is gone."""
        found = self.connection.execute(
            "SELECT m.blob_id, ifnull(length(b.data), 0), ifnull(b.refs, 0), m.pinned"
            " FROM moment m LEFT JOIN blob b ON b.id = m.blob_id WHERE m.id = ?",
            (moment_id,),
        ).fetchone()
        if found is None:
            return None
        blob_id, size_bytes, refs, pinned = found
        return _Shown(blob_id, size_bytes if refs == 1 else 0, pinned == 1)

    def _add_observations(self, seen: Sequence[Observation], moment_id: int, t_us: int, stream_id: int) -> None:
        packed = packing.pack(seen, self._term)
        self.connection.execute("INSERT INTO observation VALUES (?, ?)", (moment_id, packing.encode(packed)))
        self.connection.executemany(
            "INSERT INTO posting VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (term_id, score_ppm, moment_id, ordinal, t_us, stream_id, colour_id, packing.area_ppm(box))
                for ordinal, (term_id, score_ppm, colour_id, box) in enumerate(packed)
            ],
        )
        self._counts.update({term_id for term_id, *_ in packed})

    def _blob(self, data: bytes, *, generation: int) -> tuple[int, bool]:
        """Equal pictures are stored once: its id, and whether it is new."""
        blob_id, refs = self.connection.execute(
            "INSERT INTO blob (sha256, refs, generation, data) VALUES (?, 1, ?, ?) ON CONFLICT (sha256) DO UPDATE SET refs = refs + 1"
            " RETURNING id, refs",
            (hashlib.sha256(data).digest(), generation, data),
        ).fetchone()
        return blob_id, refs == 1
