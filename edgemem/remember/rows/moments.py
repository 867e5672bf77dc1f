"""Moments: a kept picture with its vectors, observations and parts. How it is stored, made smaller, protected, and deleted."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import nullcontext
from typing import NamedTuple

from edgemem.errors import BudgetError
from edgemem.records import Tier, Vector
from edgemem.remember.disk import page_budget
from edgemem.remember.entries import NewMoment
from edgemem.remember.rows import observations as packing
from edgemem.remember.rows.ledger import PINNED, Ledger
from edgemem.remember.rows.parts import PartWriting
from edgemem.remember.rows.terms import TermWriting


class _StoredPicture(NamedTuple):
    """The picture of a moment, and the space that its deletion frees: none while another moment has the same picture."""

    blob_id: int | None
    freed_bytes: int
    pinned: bool


class MomentWriting(PartWriting, TermWriting):
    """The part of `Transaction` that writes moments."""

    _ledger: Ledger

    def find_moment(self, new: NewMoment) -> int | None:
        """Id of the moment of this same frame of its stream, if it was kept before."""
        sql = "SELECT m.id FROM moment m JOIN stream s ON s.id = m.stream_id WHERE s.name = ? AND m.t_us = ? AND m.offset_us = ?"
        found = self.connection.execute(sql, (new.stream, new.t_us, new.offset_us)).fetchone()
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

    def add_moment_vector(self, moment_id: int, space: str, vector: Vector) -> None:
        """Give a kept moment its vector in a space in which it has none; nothing happens if the moment is gone.

        Raises EngineError for a space that is unknown, of another dimension or not for moments, BudgetError if it does not fit.
        """
        row = self.connection.execute("SELECT t_us, stream_id FROM moment WHERE id = ?", (moment_id,)).fetchone()
        if row is None:
            return
        self._allowance.claim(page_budget.part_pages(2 * vector.size))
        self._add_late_vector("moment", space, vector, moment_id, *row)

    def remaining(self, moment_ids: Sequence[int]) -> tuple[int, ...]:
        """Those of the moments that still exist, in the given order. Moments of an open segment may be deleted before it closes."""
        marks = ",".join(map(str, moment_ids))
        there = {row[0] for row in self.connection.execute(f"SELECT id FROM moment WHERE id IN ({marks})")}  # noqa: S608 - integers
        return tuple(moment_id for moment_id in moment_ids if moment_id in there)

    def protect(self, moment_id: int, role: str) -> None:
        """Keep this moment at any age; `role` says why."""
        self._allowance.claim(2)
        self.connection.execute("UPDATE moment SET protected = 1, role = ?, role_us = NULL WHERE id = ?", (role, moment_id))

    def unprotect(self, moment_id: int) -> None:
        """It may fade like others; its role is kept. The representative of a segment stays protected."""
        self._allowance.claim(2)
        stands = "EXISTS (SELECT 1 FROM segment WHERE representative_id = moment.id)"
        self.connection.execute(f"UPDATE moment SET protected = 0 WHERE id = ? AND NOT {stands}", (moment_id,))  # noqa: S608

    def set_role(self, moment_id: int, role: str, known_us: int | None = None) -> None:
        """Set the role of a moment from `known_us` on (default: the newest moment of its stream); earlier views show no role."""
        self._allowance.claim(2)
        newest = "(SELECT max(t_us) FROM moment n WHERE n.stream_id = moment.stream_id)"
        sql = f"UPDATE moment SET role = ?, role_us = ifnull(?, {newest}) WHERE id = ?"  # noqa: S608 - our own words
        self.connection.execute(sql, (role, known_us, moment_id))

    def pin(self, moment_id: int, *, pinned: bool = True) -> None:
        """Protection by the user, separate from roles. Raises BudgetError if pinned pictures would take more than half of the budget."""
        found = self._shown(moment_id)
        if found is None or found.pinned == pinned:
            return
        self._allowance.claim(2)
        self._set_pin(moment_id, found.blob_id, pinned)
        would, limit = self._ledger.sums[PINNED], self._allowance.pinned_bytes
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

        False, and nothing is removed, if that does not fit into this transaction, which is then full.
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
            self._drop_postings(packed, moment_id)
        with self._ledger.changing(found.blob_id, pinned=found.pinned):
            self.connection.execute("DELETE FROM moment WHERE id = ?", (moment_id,))
        return True

    def recode_moment(self, moment_id: int, jpeg: bytes, tier: Tier, *, width_px: int, height_px: int, generation: int) -> bool:
        """Replace the picture by a smaller one, and set the tier that it was made for. False as for `drop_moment`."""
        found = self._shown(moment_id)
        if found is None:
            return True
        if not self._allowance.take(page_budget.dropping_pages(found.freed_bytes, 0) + page_budget.picture_pages(len(jpeg))):
            return False
        blob_id, _ = self._blob(jpeg, generation=generation)
        if blob_id == found.blob_id:  # the same picture: no trigger reduces the number of users that was just increased
            self.connection.execute("UPDATE blob SET refs = refs - 1 WHERE id = ?", (blob_id,))
        with self._ledger.changing(*{found.blob_id, blob_id}, pinned=found.pinned):
            self.connection.execute(
                "UPDATE moment SET blob_id = ?, width_px = ?, height_px = ?, tier = ? WHERE id = ?",
                (blob_id, width_px, height_px, tier, moment_id),
            )
        return True

    def stub_moment(self, moment_id: int) -> bool:
        """Delete the picture; observations, vectors and documents are kept. False as for `drop_moment`."""
        found = self._shown(moment_id)
        if found is None:
            return True
        if not self._allowance.take(page_budget.dropping_pages(found.freed_bytes, 0)):
            return False
        with self._ledger.changing(found.blob_id, pinned=found.pinned):
            self.connection.execute("UPDATE moment SET blob_id = NULL, tier = 'stub' WHERE id = ?", (moment_id,))
        return True

    def set_tier(self, moment_id: int, tier: Tier) -> None:
        """Set the tier of a moment without changing its picture."""
        found = self._shown(moment_id)
        if found is None:
            return
        self._allowance.claim(4)
        with self._ledger.changing(found.blob_id, pinned=found.pinned):
            self.connection.execute("UPDATE moment SET tier = ? WHERE id = ?", (tier, moment_id))

    def _shown(self, moment_id: int) -> _StoredPicture | None:
        """The picture of a moment; None if the moment is gone."""
        found = self.connection.execute(
            "SELECT m.blob_id, ifnull(length(b.data), 0), ifnull(b.refs, 0), m.pinned"
            " FROM moment m LEFT JOIN blob b ON b.id = m.blob_id WHERE m.id = ?",
            (moment_id,),
        ).fetchone()
        if found is None:
            return None
        blob_id, size_bytes, refs, pinned = found
        return _StoredPicture(blob_id, size_bytes if refs == 1 else 0, pinned == 1)

    def _blob(self, data: bytes, *, generation: int) -> tuple[int, bool]:
        """Store a picture (equal ones once): its id, and whether it is new."""
        blob_id, refs = self.connection.execute(
            "INSERT INTO blob (sha256, refs, generation, data) VALUES (?, 1, ?, ?) ON CONFLICT (sha256) DO UPDATE SET refs = refs + 1"
            " RETURNING id, refs",
            (hashlib.sha256(data).digest(), generation, data),
        ).fetchone()
        return blob_id, refs == 1
