"""One transaction of the writer: rows in, ids out, and what the sidecars must follow once it is committed."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from edgemem.errors import BudgetError, EngineError, MemoryDirError
from edgemem.records import Matrix, Observation, Tier, Vector
from edgemem.remember import observations as packing
from edgemem.remember import room
from edgemem.remember.anchor import reanchor
from edgemem.remember.entries import NewDocument, NewMoment, NewSegment
from edgemem.remember.graph import GraphWriting
from edgemem.remember.text import merge, squeeze
from edgemem.remember.vectors import vec_id


@dataclass
class AppendedRows:
    """Vectors of one space added in this transaction."""

    space_id: int
    dim: int
    moment_ids: list[int] = field(default_factory=list)
    times_us: list[int] = field(default_factory=list)
    stream_ids: list[int] = field(default_factory=list)
    data: list[bytes] = field(default_factory=list)

    def matrix(self) -> Matrix:
        """float32 [n, dim] of what was stored as f16, so that a rebuilt sidecar has the same bytes."""
        return np.frombuffer(b"".join(self.data), np.float16).reshape(-1, self.dim).astype(np.float32)

    def forget(self, moment_id: int) -> bool:
        """Take back a moment that was added and dropped in one transaction."""
        if moment_id not in self.moment_ids:
            return False
        at = self.moment_ids.index(moment_id)
        for column in (self.moment_ids, self.times_us, self.stream_ids, self.data):
            del column[at]
        return True


class Transaction(GraphWriting):
    """Made by `Store.transaction`."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        known: Mapping[tuple[object, ...], int],
        ledger: Mapping[str, int],
        allowance: room.Allowance,
    ) -> None:
        super().__init__(connection, known)
        self._allowance = allowance
        self.ledger: Counter[str] = Counter(ledger)
        """Bytes of pictures by tier and under "pinned"; true for later transactions only if this one commits."""
        self._ledger_before = dict(ledger)
        self._counts: Counter[int] = Counter()
        self.appended: dict[str, AppendedRows] = {}
        self.erased: dict[str, tuple[list[int], int]] = {}
        """Per space: moments whose rows are gone, and the space's epoch after it."""
        self._erased: dict[int, list[int]] = {}
        self._written = 0
        """Documents written or removed: the full text has so much more to merge."""
        self.redated = False
        """Times have changed, so the vector files, which are in the order of time, are to be written anew."""

    @property
    def full(self) -> bool:
        """True once this transaction is as large as one should be under the budget; never without one."""
        return self._allowance.full

    def add_moment(self, new: NewMoment) -> int:
        """Store picture, vectors and observations. Raises EngineError for a space that is unknown or of another dimension."""
        vector_bytes = sum(2 * vector.size for vector in new.vectors.values())
        self._allowance.claim(room.moment_pages(len(new.jpeg), vector_bytes, len(new.observations)))
        self.ledger["recent"] += len(new.jpeg)
        stream_id = self._stream(new.stream, new.t_us - new.offset_us)
        boot_id = self._interned("boot", "name = ?", "name", (new.boot_id,)) if new.boot_id else None
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
                self._blob(new.jpeg, generation=0),
            ),
        )
        for space, vector in new.vectors.items():
            self._add_vector(space, vector, moment_id, new.t_us, stream_id)
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
        self._allowance.claim(room.segment_pages(len(new.moment_ids)))
        stream_id = self._stream(new.stream, new.t0_us - new.offset_us)
        segment_id = self._insert(
            "INSERT INTO segment (stream_id, segmenter, t0_us, t1_us, offset_us, representative_id) VALUES (?, ?, ?, ?, ?, ?)",
            (stream_id, new.segmenter, new.t0_us, new.t1_us, new.offset_us, new.representative_id),
        )
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

    def add_document(self, new: NewDocument) -> int:
        """Store a document; the full-text index follows by trigger."""
        self._allowance.claim(room.document_pages(len(new.text)))
        self._written += 1
        squeezed = squeeze(new.text) if new.origin == "ocr" or new.kind == "text" else ""
        return self._insert(
            "INSERT INTO document (kind, text, squeezed, stream_id, t0_us, t1_us, offset_us, known_us, origin, segment_id, moment_id)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                new.kind,
                new.text,
                squeezed,
                self._stream(new.stream, new.t0_us - new.offset_us),
                new.t0_us,
                new.t1_us,
                new.offset_us,
                new.known_us,
                new.origin,
                new.segment_id,
                new.moment_id,
            ),
        )

    def replace_document(self, document_id: int, new: NewDocument) -> int:
        """Store a new version; views before `new.known_us` go on seeing the old one."""
        changed = self.connection.execute(
            "UPDATE document SET until_us = ? WHERE id = ? AND until_us IS NULL",
            (new.known_us, document_id),
        ).rowcount
        if not changed:
            raise MemoryDirError(f"document d{document_id} does not exist or was replaced already")
        return self.add_document(new)

    def protect(self, moment_id: int, role: str) -> None:
        """Keep this moment whatever its age; `role` says why."""
        self.connection.execute("UPDATE moment SET protected = 1, role = ? WHERE id = ?", (role, moment_id))

    def pin(self, moment_id: int, *, pinned: bool = True) -> None:
        """The user's own protection, apart from roles. Raises BudgetError when pinned pictures would take more than half of the budget."""
        found = self._weight(moment_id)
        if found is None or found[2] == pinned:
            return
        size_bytes, limit = found[1], self._allowance.pinned_bytes
        would = self.ledger["pinned"] + (size_bytes if pinned else -size_bytes)
        if pinned and limit is not None and would > limit:
            raise BudgetError(
                f"m{moment_id} cannot be pinned: pinned pictures would take {would / 2**20:.1f} MiB and may take {limit / 2**20:.1f} MiB,"
                " half of budget.disk; unpin others or raise it"
            )
        self._allowance.claim(2)
        self.ledger["pinned"] = would
        self.connection.execute("UPDATE moment SET pinned = ? WHERE id = ?", (int(pinned), moment_id))

    def drop_moment(self, moment_id: int) -> None:
        """Remove a moment with its picture (unless another shows the same), vectors and observations."""
        found = self._weight(moment_id)
        if found is None:
            return
        tier, size_bytes, pinned = found
        self._weigh(tier, -size_bytes, pinned=pinned)
        for space_id, name in self.connection.execute(
            "SELECT s.id, s.name FROM vec v JOIN vec_space s ON s.id = v.id & 255 WHERE v.id BETWEEN ? AND ?",
            (vec_id(moment_id, 0), vec_id(moment_id + 1, 0) - 1),
        ).fetchall():
            if name not in self.appended or not self.appended[name].forget(moment_id):
                self._erased.setdefault(space_id, []).append(moment_id)
        seen = self.connection.execute("SELECT data FROM observation WHERE moment_id = ?", (moment_id,)).fetchone()
        packed = packing.decode(seen[0]) if seen else []
        self._allowance.claim(room.dropping_pages(size_bytes, len(packed)))
        if packed:
            self._counts.subtract({term_id for term_id, *_ in packed})
            self.connection.executemany(
                "DELETE FROM posting WHERE term_id = ? AND score_ppm = ? AND moment_id = ? AND ordinal = ?",
                [(term_id, score_ppm, moment_id, ordinal) for ordinal, (term_id, score_ppm, *_) in enumerate(packed)],
            )
        self.connection.execute("DELETE FROM moment WHERE id = ?", (moment_id,))

    def recode_moment(self, moment_id: int, jpeg: bytes, tier: Tier, *, width_px: int, height_px: int, generation: int) -> None:
        """Put a smaller picture in place of the old one, and note the tier that it was made for."""
        found = self._weight(moment_id)
        if found is None:
            return
        self._allowance.claim(room.dropping_pages(found[1], 0) + room.picture_pages(len(jpeg)))
        self._weigh(found[0], -found[1], pinned=found[2])
        self._weigh(tier, len(jpeg), pinned=found[2])
        self.connection.execute(
            "UPDATE moment SET blob_id = ?, width_px = ?, height_px = ?, tier = ? WHERE id = ?",
            (self._blob(jpeg, generation=generation), width_px, height_px, tier, moment_id),
        )

    def stub_moment(self, moment_id: int) -> None:
        """Let the picture go; what was seen in it, its vectors and its documents stay."""
        found = self._weight(moment_id)
        if found is None:
            return
        self._allowance.claim(room.dropping_pages(found[1], 0))
        self._weigh(found[0], -found[1], pinned=found[2])
        self.connection.execute("UPDATE moment SET blob_id = NULL, tier = 'stub' WHERE id = ?", (moment_id,))

    def set_tier(self, moment_id: int, tier: Tier) -> None:
        """Note that a moment reached a tier with its picture as it is."""
        found = self._weight(moment_id)
        if found is None:
            return
        self._allowance.claim(4)
        self._weigh(found[0], -found[1], pinned=False)
        self._weigh(tier, found[1], pinned=False)
        self.connection.execute("UPDATE moment SET tier = ? WHERE id = ?", (tier, moment_id))

    def drop_document(self, document_id: int) -> None:
        """Remove a document and its full text."""
        found = self.connection.execute("SELECT length(text) FROM document WHERE id = ?", (document_id,)).fetchone()
        if found:
            self._allowance.claim(room.document_pages(found[0]))
            self._written += 1
            self.connection.execute("DELETE FROM document WHERE id = ?", (document_id,))

    def drop_relation(self, relation_id: int) -> None:
        """Remove a relation with what it rests on."""
        self._allowance.claim(room.document_pages(0))
        self.connection.execute("DELETE FROM relation WHERE id = ?", (relation_id,))

    def drop_segment(self, segment_id: int) -> None:
        """Remove a segment; its moments and documents stay."""
        self._allowance.claim(room.segment_pages(0))
        self.connection.execute("DELETE FROM segment WHERE id = ?", (segment_id,))

    def reanchor(self, stream: str, boot_id: str, ahead_us: int) -> int:
        """Date what was seen in this boot by `mono_us + ahead_us`, now that the clocks' distance is known; how many moments moved."""
        moved = reanchor(self.connection, stream, boot_id, ahead_us)
        self.redated = self.redated or moved > 0
        return moved

    def trust_time(self, *, trusted: bool) -> None:
        """Note whether the clock can be trusted; `Store.time_trusted` tells."""
        self.set_state("clock/untrusted", b"" if trusted else b"1")

    def set_state(self, key: str, value: bytes) -> None:
        """Keep a component's state; it survives a restart together with what was written in this transaction."""
        self.connection.execute("INSERT INTO state VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", (key, value))

    def settle_terms(self) -> None:
        """Write how many moments carry each term."""
        self.connection.executemany(
            "UPDATE term SET moments = moments + ? WHERE id = ?",
            [(count, term_id) for term_id, count in self._counts.items() if count],
        )
        self._counts.clear()

    def settle(self) -> None:
        """Write the counters that were gathered; called by the store just before COMMIT."""
        self.settle_terms()
        for rows in self.appended.values():
            self.connection.execute("UPDATE vec_space SET rows = rows + ? WHERE id = ?", (len(rows.moment_ids), rows.space_id))
        for space_id, moment_ids in self._erased.items():
            self.connection.execute(
                "UPDATE vec_space SET rows = rows - ?, epoch = epoch + 1 WHERE id = ?",
                (len(moment_ids), space_id),
            )
            name, epoch = self.connection.execute("SELECT name, epoch FROM vec_space WHERE id = ?", (space_id,)).fetchone()
            self.erased[name] = (moment_ids, epoch)
        if self._written:
            merge(self.connection, room.MERGE_PAGES + 2 * self._written)
        if self.redated:
            self.connection.execute("UPDATE vec_space SET epoch = epoch + 1")
        if self.ledger != self._ledger_before:
            self.set_state(room.LEDGER, msgspec.msgpack.encode(dict(self.ledger)))

    def _weight(self, moment_id: int) -> tuple[str, int, bool] | None:
        """Tier, bytes of its picture and whether it is pinned; None for a moment that is gone."""
        found = self.connection.execute(
            "SELECT m.tier, ifnull(length(b.data), 0), m.pinned FROM moment m LEFT JOIN blob b ON b.id = m.blob_id WHERE m.id = ?",
            (moment_id,),
        ).fetchone()
        return (found[0], found[1], found[2] == 1) if found else None

    def _weigh(self, tier: str, size_bytes: int, *, pinned: bool) -> None:
        self.ledger[tier] += size_bytes
        if pinned:
            self.ledger["pinned"] += size_bytes

    def _add_vector(self, space: str, vector: Vector, moment_id: int, t_us: int, stream_id: int) -> None:
        rows = self.appended.get(space)
        if rows is None:
            known = self.connection.execute("SELECT id, dim FROM vec_space WHERE name = ?", (space,)).fetchone()
            if known is None:
                raise EngineError(f'vector space "{space}" is unknown to this memory: call Store.ensure_space first')
            rows = self.appended[space] = AppendedRows(*known)
        if vector.shape != (rows.dim,):
            raise EngineError(f'vector space "{space}" has {rows.dim} dimensions, the engine gave {vector.shape}')
        data = np.asarray(vector, np.float16).tobytes()
        self.connection.execute("INSERT INTO vec (id, data) VALUES (?, ?)", (vec_id(moment_id, rows.space_id), data))
        rows.moment_ids.append(moment_id)
        rows.times_us.append(t_us)
        rows.stream_ids.append(stream_id)
        rows.data.append(data)

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

    def _blob(self, data: bytes, *, generation: int) -> int:
        """Equal pictures are stored once."""
        return self._insert(
            "INSERT INTO blob (sha256, refs, generation, data) VALUES (?, 1, ?, ?) ON CONFLICT (sha256) DO UPDATE SET refs = refs + 1"
            " RETURNING id",
            (hashlib.sha256(data).digest(), generation, data),
        )
