"""Fading with age: fewer old moments are kept, and their pictures get smaller (VAM, Table 5 and section B.3).

The order is VAM's: first select the moments that are kept, then compress the rest. Unlike in VAM's code, protection is a separate column,
so that a later pass that changes the tier cannot undo it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from edgemem.errors import UsageError
from edgemem.records import US, Record, Tier
from edgemem.remember.budget.shrink import shrink
from edgemem.remember.store import Retainable, Store


class RetentionStep(Record, frozen=True, kw_only=True):
    """Result of one step of a retainer. `done` is false if another step has more to do."""

    dropped: int = 0
    recoded: int = 0
    done: bool = True


class Retainer(Protocol):
    """Deletes or shrinks old moments. A step is bounded, so that seeing can continue between two steps."""

    name: str

    def apply(self, store: Store, now_us: int | None = None) -> RetentionStep:
        """Do one step as of `now_us` (default: the newest moment of the memory)."""
        ...


class TierRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tier: its largest age, the distance between its moments, and the size of their pictures."""

    tier: Tier
    until_s: float | None = None
    """Largest age; the last tier has none."""
    gap_s: float = 0
    """One moment is kept per interval of this length; 0 = all are kept."""
    side_px: int = 0
    """Longest side of the pictures; 0 = unchanged."""
    quality: int = 70
    """JPEG quality of the smaller pictures."""


class AgeTiersSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """VAM's Table 5 by default."""

    tiers: tuple[TierRule, ...] = (
        TierRule("recent", 3600, gap_s=1),
        TierRule("mid", 86400, gap_s=20, side_px=768, quality=70),
        TierRule("long", None, gap_s=120, side_px=512, quality=45),
    )
    keep: Literal["last", "best"] = "last"
    """Which moment of an interval is kept. VAM keeps the last. "best" is the one with the highest value (value.py): rare observations, then
    difference from its neighbours, then sharpness. So something shown briefly is kept, if it is the only such moment in its interval."""
    step_moments: int = 64
    """Moments in one step: about 0.2 s if each is a 1080p picture to shrink."""

    def __post_init__(self) -> None:
        ages = [rule.until_s for rule in self.tiers]
        inner = [age for age in ages[:-1] if age is not None]
        if not ages or ages[-1] is not None or len(inner) != len(ages) - 1 or inner != sorted(set(inner)):
            raise UsageError("age tiers: until_s must grow from tier to tier, and only the last tier has none")
        if len({rule.tier for rule in self.tiers}) != len(self.tiers):
            raise UsageError("age tiers: each tier may appear once")


class AgeTiers:
    """Thins each stream by age and shrinks the pictures that are kept.

    Always kept: the first and the latest moment of each stream, protected moments (a segment's representative) and pinned ones; pinned
    pictures are not shrunk either. A moment takes each step of compression once, because its tier is stored. Ages are counted from the
    newest moment; while the clock cannot be trusted, nothing ages. A moment never returns to a younger tier. In the tier "stub" it has no
    picture; moments that are always kept never get this tier.
    """

    name = "age_tiers"

    def __init__(self, settings: AgeTiersSettings | None = None) -> None:
        self._settings = settings or AgeTiersSettings()

    def apply(self, store: Store, now_us: int | None = None) -> RetentionStep:
        """Do one step over at most `step_moments` moments that are older than their tier."""
        now = store.newest_us() if now_us is None else now_us
        if now is None or (now_us is None and not store.time_trusted):
            return RetentionStep()
        ends = store.stream_ends()
        left, younger, dropped, recoded = self._settings.step_moments, list[Tier](), 0, 0
        high = 2**63 - 1
        for rank, rule in enumerate(self._settings.tiers):
            low = -(2**63) if rule.until_s is None else now - round(rule.until_s * US)
            # No tier is younger than the first: thin its new moments, in a window of bounded length.
            bounds = {"from_us": low, "to_us": high, "limit": left if younger else -1}
            lagging = store.retainable(tiers=younger or [rule.tier], unprotected=rule.tier == "stub", **bounds)
            drop, keep = self._divide(store, rule, lagging, low, high, ends)
            keep = [moment for moment in keep if moment.tier in younger]
            if rule.tier == "stub":
                keep = [moment for moment in keep if not (moment.protected or moment.pinned or moment.id in ends)]
            self._write(store, rule, rank, drop, keep)
            dropped, recoded = dropped + len(drop), recoded + len(keep)
            if younger and len(lagging) >= left:
                return RetentionStep(dropped=dropped, recoded=recoded, done=False)
            left -= len(lagging) if younger else 0
            younger.append(rule.tier)
            high = low - 1
        return RetentionStep(dropped=dropped, recoded=recoded)

    def _divide(
        self,
        store: Store,
        rule: TierRule,
        lagging: Sequence[Retainable],
        low: int,
        high: int,
        ends: frozenset[int],
    ) -> tuple[list[Retainable], list[Retainable]]:
        """(moments to delete, moments to keep) of every bucket with one of `lagging`. Kept: the chosen, the protected, and a stream's first
        and latest.
        """
        gap_us = round(rule.gap_s * US)
        if not lagging or gap_us <= 0:
            return [], list(lagging)
        touched = {(moment.stream_id, moment.t_us // gap_us) for moment in lagging}
        times = [moment.t_us // gap_us for moment in lagging]
        around = store.retainable(from_us=max(low, min(times) * gap_us), to_us=min(high, (max(times) + 1) * gap_us - 1))
        buckets: defaultdict[tuple[int, int], list[Retainable]] = defaultdict(list)
        for moment in around:
            buckets[moment.stream_id, moment.t_us // gap_us].append(moment)
        drop: list[Retainable] = []
        keep: list[Retainable] = []
        crowded = [buckets[key] for key in touched if len(buckets[key]) > 1]
        values = self._values(store, around) if crowded and self._settings.keep == "best" else {}
        for bucket in (buckets[key] for key in touched):
            chosen = max(reversed(bucket), key=lambda moment: values.get(moment.id, 0.0))  # the last of equal ones
            for moment in bucket:
                stays = moment is chosen or moment.protected or moment.pinned or moment.id in ends
                (keep if stays else drop).append(moment)
        return drop, keep

    @staticmethod
    def _values(store: Store, around: Sequence[Retainable]) -> dict[int, float]:
        """Value by moment. `around` is in time order; neighbours are moments of the same stream."""
        found: dict[int, float] = {}
        for stream_id in {moment.stream_id for moment in around}:
            ids = [moment.id for moment in around if moment.stream_id == stream_id]
            found.update(zip(ids, store.values_of(ids).tolist(), strict=True))
        return found

    @staticmethod
    def _write(store: Store, rule: TierRule, rank: int, drop: Sequence[Retainable], keep: Sequence[Retainable]) -> None:
        if not drop and not keep:
            return
        goes = frozenset(moment.id for moment in drop)
        left = [*keep, *drop][::-1]
        while left:  # under a budget in as many transactions as needed
            with store.transaction() as tx:
                while left and not tx.full:
                    moment = left.pop()
                    if moment.id in goes:
                        fitted = tx.drop_moment(moment.id)
                    elif rule.tier == "stub":
                        fitted = tx.stub_moment(moment.id)
                    elif picture := _smaller(store, rule, rank, moment):
                        data, width_px, height_px = picture
                        fitted = tx.recode_moment(moment.id, data, rule.tier, width_px=width_px, height_px=height_px, generation=rank)
                    else:
                        tx.set_tier(moment.id, rule.tier)
                        fitted = True
                    if not fitted:
                        left.append(moment)


def _smaller(store: Store, rule: TierRule, rank: int, moment: Retainable) -> tuple[bytes, int, int] | None:
    """The picture of a moment for this tier; None if it is not changed."""
    if not rule.side_px or moment.pinned or moment.generation >= rank:
        return None
    data = store.picture(moment.id)
    smaller = None if data is None else shrink(data, rule.side_px, rule.quality)
    return smaller if data and smaller and len(smaller[0]) < len(data) else None
