"""The byte budget: eviction, so that the directory never becomes larger than its cap.

Before each write enough pages are made free, by these stages in this order. Each stage has a position that moves from the oldest arrival to
the newest and never passes the position of the stage before it. So moments are handled in order of age, and each stage handles a moment
once, whatever the size of the memory. The order is that of arrival, not of the clock: a wrong clock causes no eviction.

0. answers: the oldest sessions are deleted, except the latest few, which are deleted only when nothing else is left to evict.
1. recompress: recent pictures become mid ones when the recent ones take more than a quarter of the space; in the same way mid become long.
2. thin: one moment per interval of a stream is kept, the one with the highest value (value.py); the interval doubles from 2 s up to an hour
   as needed.
3. summarise: unprotected moments become stubs (no picture; observations, vectors and documents are kept), oldest first.
4. drop: unprotected stubs are deleted, oldest first. Their documents are kept.
5. last resort: representatives: pictures shrink to 256 px, then stubs, then deletion; at last segments and entities of
   which nothing is left, the oldest documents without a moment, relations without evidence, and work that writers postponed.

Pinned moments are never changed. The first and the latest moment of each stream are kept; their pictures shrink when nothing else is left.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Protocol

import msgspec

from edgemem.records import US, Tier
from edgemem.remember.budget.shrink import shrink
from edgemem.remember.budget.value import values_of
from edgemem.remember.disk.page_budget import BudgetShares
from edgemem.remember.entries import Retainable
from edgemem.remember.rows import text
from edgemem.remember.rows.ledger import PINNED
from edgemem.remember.rows.transaction import Transaction

KEY = "budget"
_WINDOW = 64
"""Moments in one step."""
_FIRST_GAP_S, _LAST_GAP_S = 2, 4096
_PICTURES: dict[str, tuple[Tier, int, int, int]] = {
    "recent": ("mid", 768, 70, 1),
    "mid": ("long", 512, 45, 2),
    "smallest": ("long", 256, 35, 3),
}
"""Tier, side, quality (VAM, Table 5) and generation that a picture gets."""

_TIERS: tuple[Tier, ...] = ("recent", "mid", "long", "stub")
_SAME = "m.blob_id = (SELECT blob_id FROM moment WHERE id = {})"
"""Moments that have the same picture as this one."""

_UNMERGED_SHARE = 4
"""The full text is merged each time that one in so many documents was deleted: it keeps the words of deleted ones, and a mark for each,
until then. Of 40,000 texts in 64 MiB at least 24,200, 21,900 and 19,000 are kept with 8, 4 and 2, written in 74, 51 and 36 s."""
_LATEST_SESSIONS = 8
"""Sessions that are kept longest. Without this a full memory could never explain an answer, because it evicts something before each
write."""
_EMPTY = (
    "NOT EXISTS (SELECT 1 FROM segment_moment WHERE segment_id = d.id) AND NOT EXISTS (SELECT 1 FROM document WHERE segment_id = d.id)"
    " AND NOT EXISTS (SELECT 1 FROM segment WHERE parent_id = d.id)"
)
_UNPROVEN = "NOT EXISTS (SELECT 1 FROM relation_evidence WHERE relation_id = d.id AND (document_id OR moment_id))"
_UNKNOWN = (
    "NOT EXISTS (SELECT 1 FROM relation WHERE source_id = d.id) AND NOT EXISTS (SELECT 1 FROM relation WHERE target_id = d.id)"
    " AND NOT EXISTS (SELECT 1 FROM mention WHERE entity_id = d.id) AND NOT EXISTS (SELECT 1 FROM utterance WHERE speaker_id = d.id)"
    " AND NOT EXISTS (SELECT 1 FROM part WHERE entity_id = d.id)"
)


class EvictionProgress(msgspec.Struct):
    """Position of each stage: the last id that it handled. Stored in the memory."""

    cap_bytes: int = 0
    at: dict[str, int] = {}
    gap_s: int = _FIRST_GAP_S
    unmerged: int = 1 << 31
    """Documents that were deleted since the full-text indexes were merged; at first it is not known."""


class EvictionStore(Protocol):
    """The part of the store that eviction uses."""

    ledger: Counter[str]

    def stream_ends(self) -> frozenset[int]: ...
    def arrivals(self, after_id: int, upto_id: int, limit: int, which: str = "1") -> list[Retainable]: ...
    def picture(self, moment_id: int) -> bytes | None: ...
    def state(self, key: str) -> bytes | None: ...
    def has_space(self, halves: int = 2) -> bool: ...
    def unbounded(self) -> AbstractContextManager[Transaction]: ...


class Eviction:
    """Frees space in one store, one bounded step at a time."""

    def __init__(self, store: EvictionStore, connection: sqlite3.Connection, division: BudgetShares) -> None:
        self._store = store
        self._connection = connection
        self._division = division
        self._share_bytes = division.share_bytes
        kept = store.state(KEY)
        self._progress = msgspec.msgpack.decode(kept, type=EvictionProgress) if kept else EvictionProgress()
        if self._progress.cap_bytes != division.cap_bytes:
            self._progress = EvictionProgress(cap_bytes=division.cap_bytes)  # with a larger cap, thin less
        self._ends: frozenset[int] = frozenset()

    def step(self, *, hard: bool) -> bool:
        """One transaction of the first stage that has work left. False if none has.

        `hard` ignores the quarters and includes everything, also the first and latest pictures.
        """
        self._ends = self._store.stream_ends()
        if self._forget_session(0 if hard else _LATEST_SESSIONS):
            return True
        newest = self._newest_id()
        self._share_bytes = 0 if hard else self._division.share_bytes
        for tier in ("recent", "mid"):
            if self._store.ledger[tier] > self._share_bytes and self._advance(tier, newest, partial(self._recode, tier)):
                return True
            newest = newest if hard else min(newest, max(self._progress.at.get(tier, 0), self._passed(tier)))
        if self._thin(newest):
            return True
        stages: dict[str, Callable[[Transaction, Sequence[Retainable]], int]] = {
            "summarise": self._summarise, "drop": self._drop, "smallest": self._shrink_all,
            "stub": self._stub, "gone": self._drop_protected,
        }  # fmt: skip
        if any(self._advance(name, newest, act) for name, act in stages.items()) or self._merge_words() or self._forget_documents():
            return True
        return hard and (self._forget_terms() or self._shrink_ends())

    def _passed(self, tier: str) -> int:
        """Id up to which no moment is in the tier any more. If they left it by age, the position of its stage may still be the
        beginning.
        """
        query = "SELECT min(id) FROM moment INDEXED BY moment_tier WHERE tier = ? AND NOT pinned"
        oldest = self._connection.execute(query, (tier,)).fetchone()[0]
        return self._newest_id() if oldest is None else oldest - 1

    def restart(self) -> None:
        """Let every stage begin at the oldest moment again, for a hard round."""
        self._progress = EvictionProgress(cap_bytes=self._division.cap_bytes, gap_s=self._progress.gap_s, unmerged=self._progress.unmerged)

    def _newest_id(self) -> int:
        newest: int = self._connection.execute("SELECT ifnull(max(id), 0) FROM moment").fetchone()[0]
        return newest

    def _advance(self, stage: str, upto: int, act: Callable[[Transaction, Sequence[Retainable]], int]) -> bool:
        """Let `act` handle the moments after the position of the stage; it returns the last id that it handled. False if the stage has no
        work left.
        """
        window = self._window(self._progress.at.get(stage, 0), upto)
        if not window:
            return False
        with self._store.unbounded() as tx:
            self._progress.at[stage] = act(tx, window)
            tx.set_state(KEY, msgspec.msgpack.encode(self._progress))
        return True

    def _window(self, after: int, upto: int) -> list[Retainable]:
        if after >= upto:
            return []
        return self._store.arrivals(after, upto, _WINDOW)

    def _each(self, tx: Transaction, window: Sequence[Retainable], act: Callable[[Retainable], bool | None]) -> int:
        """Call `act` for the moments until the transaction is full or enough is free. `act` returns False if it could not handle the
        moment.
        """
        for moment in window:
            if act(moment) is False:
                return moment.id - 1
            if tx.full or self._store.has_space(3):
                return moment.id
        return window[-1].id

    def _may_fade(self, moment: Retainable) -> bool:
        return not (moment.protected or moment.pinned or moment.id in self._ends)

    def _recode(self, tier: str, tx: Transaction, window: Sequence[Retainable]) -> int:
        """Shrink pictures only until the tier is within its share again."""
        for moment in window:
            if moment.tier == tier and not self._smaller(tx, moment, tier):
                return moment.id - 1
            if tx.full or tx.ledger[tier] <= self._share_bytes:
                return moment.id
        return window[-1].id

    def _shrink_all(self, tx: Transaction, window: Sequence[Retainable]) -> int:
        return self._each(tx, window, lambda moment: None if moment.id in self._ends else self._smaller(tx, moment, "smallest"))

    def _smaller(self, tx: Transaction, moment: Retainable, step: str) -> bool:
        """Shrink its picture, for all moments that have it; False if they are too many for one transaction.

        A picture that a later arrival or a pinned moment also has is not changed: a second, smaller copy would need more space.
        """
        if moment.pinned or step not in _PICTURES or moment.tier == "stub":
            return True
        tier, side_px, quality, generation = _PICTURES[step]
        data = None if moment.generation >= generation or self._kept(moment.id) else self._store.picture(moment.id)
        found = shrink(data, side_px, quality) if data else None
        if data and found and len(found[0]) < len(data):
            alike = self._store.arrivals(0, moment.id, _WINDOW, _SAME.format(moment.id))
            for other in alike:
                if tx.full or (other is alike[-1] and len(alike) == _WINDOW):
                    return False
                older = max(other.tier, tier, key=_TIERS.index)
                if not tx.recode_moment(other.id, found[0], older, width_px=found[1], height_px=found[2], generation=generation):
                    return False
        elif moment.tier != tier:
            tx.set_tier(moment.id, tier)
        return True

    def _kept(self, moment_id: int) -> bool:
        """Whether a later arrival or a pinned moment has the same picture."""
        which = "SELECT 1 FROM moment m WHERE " + _SAME.format(moment_id)  # noqa: S608 - integers
        later = f"EXISTS ({which} AND m.id > {moment_id})"
        pinned = f"EXISTS ({which} AND m.pinned)" if self._store.ledger[PINNED] else "0"
        kept: int = self._connection.execute(f"SELECT {later} OR {pinned}").fetchone()[0]
        return kept == 1

    def _summarise(self, tx: Transaction, window: Sequence[Retainable]) -> int:
        return self._each(tx, window, lambda m: tx.stub_moment(m.id) if self._may_fade(m) and m.tier != "stub" else None)

    def _drop(self, tx: Transaction, window: Sequence[Retainable]) -> int:
        return self._each(tx, window, lambda m: tx.drop_moment(m.id) if self._may_fade(m) else None)

    def _stub(self, tx: Transaction, window: Sequence[Retainable]) -> int:
        return self._each(tx, window, lambda m: None if m.pinned or m.id in self._ends else tx.stub_moment(m.id))

    def _drop_protected(self, tx: Transaction, window: Sequence[Retainable]) -> int:
        return self._each(tx, window, lambda m: None if m.pinned or m.id in self._ends else tx.drop_moment(m.id))

    def _thin(self, upto: int) -> bool:
        """Thin further; after the last moment, double the interval and begin again, up to an hour."""
        progress = self._progress
        while not self._advance("thin", upto, self._thin_window):
            if progress.gap_s >= _LAST_GAP_S or not upto:
                return False
            progress.gap_s *= 2
            progress.at["thin"] = 0
        return True

    def _thin_window(self, tx: Transaction, window: Sequence[Retainable]) -> int:
        buckets: defaultdict[tuple[int, int], list[Retainable]] = defaultdict(list)
        for moment in window:
            buckets[moment.stream_id, moment.t_us // (self._progress.gap_s * US)].append(moment)
        values = self._values(window)
        spared = {self._most_valuable(bucket, values) for bucket in buckets.values()}
        return self._each(tx, window, lambda m: tx.drop_moment(m.id) if self._may_fade(m) and m.id not in spared else None)

    def _values(self, window: Sequence[Retainable]) -> dict[int, float]:
        found: dict[int, float] = {}
        for stream_id in {moment.stream_id for moment in window}:
            ids = [m.id for m in sorted(window, key=lambda m: m.t_us) if m.stream_id == stream_id]
            found.update(zip(ids, values_of(self._connection, ids).tolist(), strict=True))
        return found

    def _most_valuable(self, bucket: Sequence[Retainable], values: Mapping[int, float]) -> int:
        """A moment that may not fade represents its interval; else the one with the highest value."""
        kept = next((moment for moment in bucket if not self._may_fade(moment)), None)
        return max(bucket, key=lambda moment: values[moment.id]).id if kept is None else kept.id

    def _forget_session(self, keep: int) -> bool:
        """Delete the oldest session if there are more than `keep`."""
        found = self._connection.execute("SELECT id FROM session ORDER BY id DESC LIMIT -1 OFFSET ?", (keep,)).fetchall()
        if not found:
            return False
        with self._store.unbounded() as tx:
            tx.drop_session(found[-1][0])
        return True

    def _forget_documents(self) -> bool:
        """Delete segments, relations and entities of which nothing is left; then the oldest documents without a moment, jobs."""
        oldest = (("segment", _EMPTY), ("relation", _UNPROVEN), ("entity", _UNKNOWN), ("document", "d.moment_id IS NULL"), ("job", "1"))
        found = [
            (kind, row[0])
            for kind, which in oldest
            for row in self._connection.execute(f"SELECT id FROM {kind} d WHERE {which} ORDER BY id LIMIT ?", (_WINDOW,))  # noqa: S608
        ]
        if not found:
            return False
        with self._store.unbounded() as tx:
            drop: dict[str, Callable[[int], bool | None]] = {
                "document": tx.drop_document, "relation": tx.drop_relation, "segment": tx.drop_segment, "entity": tx.drop_entity,
                "job": tx.drop_job,
            }  # fmt: skip
            for kind, row_id in found:
                if drop[kind](row_id) is False:
                    break
                self._progress.unmerged += kind == "document"
                if tx.full:
                    break
            tx.set_state(KEY, msgspec.msgpack.encode(self._progress))
        return True

    def _merge_words(self) -> bool:
        """A step of merging the full-text indexes, if many documents were deleted since the last time; only then their space is free."""
        documents = self._connection.execute("SELECT count(*) FROM document").fetchone()[0]
        if self._progress.unmerged <= documents // _UNMERGED_SHARE:
            return False
        pages = max(16, self._division.transaction_pages // 32)
        with self._store.unbounded() as tx:
            more = [text.merge_more(tx.connection, table, pages) for table in text.FULL_TEXT if tx.take(2 * pages)]
            if not any(more):
                self._progress.unmerged = 0
            tx.set_state(KEY, msgspec.msgpack.encode(self._progress))
        return True

    def _forget_terms(self) -> bool:
        """Delete names that no observation has; earlier versions left such names."""
        with self._store.unbounded() as tx:
            before = tx.connection.total_changes
            tx.drop_unused_terms()
            return tx.connection.total_changes > before

    def _shrink_ends(self) -> bool:
        """When nothing else is left, shrink the first and latest pictures too, once."""
        ids = ",".join(map(str, self._ends))
        window = [
            m for m in self._store.arrivals(0, 2**62, -1, f"m.id IN ({ids})") if m.generation < _PICTURES["smallest"][3] and not m.pinned
        ]
        if not window:
            return False
        shrunk = False
        with self._store.unbounded() as tx:
            for moment in window:
                data = self._store.picture(moment.id)
                found = shrink(data, 256, 35) if data else None
                if data and found and len(found[0]) < len(data):
                    shrunk = True
                    tx.recode_moment(moment.id, found[0], "long", width_px=found[1], height_px=found[2], generation=3)
                if tx.full:  # what did not fit is handled again
                    break
        return shrunk
