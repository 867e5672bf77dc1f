"""Online event segmentation (VAM section 3.3 and table 4): boundaries at local peaks of the distance between moments."""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Mapping

import msgspec

from edgemem.records import US
from edgemem.see.segment import BaseSegmenter, Cut, Mark, StoredMark
from edgemem_vam.otsu import HISTORY, distance, otsu


class EventSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where an event ends."""

    fallback: float | None = None
    """Threshold until 5 distances are known; default: the vector space's `event_fallback`, else 0.20 (VAM: 1 - 0.80)."""
    floor: float | None = None
    """Least threshold; default: the space's `dedup_floor`, else 0.02. Without one, a still scene is cut at every moment."""
    relax: float = 0.6
    """The threshold lies at median + relax * (Otsu - median) (VAM)."""
    cap_s: float = 300.0
    """Longest event (VAM table 4)."""


class _State(msgspec.Struct):
    """What survives a restart."""

    marks: list[StoredMark]
    distances: list[float]
    before: float
    history: list[float]


class OtsuEvents(BaseSegmenter):
    """Events between local peaks of distance.

    A distance is a boundary when it is at least both neighbours and at least the threshold, so it is decided one moment later. At the
    ends the missing neighbour counts as 0: the first distance can be a peak, and `flush` decides the last one. A pause between two
    moments longer than the cap ends the event there; a longer event is split at its last peak, else at its largest distance, so that no
    event exceeds the cap. A single moment is an event. The last moment stands for its event (VAM). Clock jumps do not matter: offsets
    are monotonic.
    """

    name = "otsu_events"

    def __init__(self, settings: EventSettings | None = None, calibration: Mapping[str, float] | None = None) -> None:
        self._settings = settings = settings or EventSettings()
        own = calibration or {}
        self._fallback = settings.fallback if settings.fallback is not None else own.get("event_fallback", 0.20)
        self._floor = settings.floor if settings.floor is not None else own.get("dedup_floor", 0.02)
        self._cap_us = round(settings.cap_s * US)
        self._marks: list[Mark] = []
        self._distances: list[float] = []
        self._before = 0.0
        self._history: deque[float] = deque(maxlen=HISTORY)

    def observe(self, mark: Mark) -> list[Cut]:
        if not self._marks:
            self._marks.append(mark)
            return []
        if mark.offset_us - self._marks[-1].offset_us > self._cap_us:
            closed = self.flush()
            self._marks.append(mark)
            return closed
        if mark.vector.size != self._marks[-1].vector.size:  # another engine since the last run: nothing can be compared across it
            closed = self.flush()
            self._history.clear()
            self._marks.append(mark)
            return closed
        apart = distance(self._marks[-1].vector, mark.vector) if mark.vector.size else 0.0
        if mark.vector.size:
            self._history.append(apart)
        self._marks.append(mark)
        self._distances.append(apart)
        closed = []
        last_decided = len(self._distances) - 2
        if last_decided >= 0 and self._is_boundary(last_decided):
            closed.append(self._cut_after(last_decided))
        while self._marks[-1].offset_us - self._marks[0].offset_us > self._cap_us:
            closed.append(self._cut_after(self._split()))
        return closed

    def threshold(self) -> float:
        """The distance from which a peak is a boundary."""
        if len(self._history) < 5:
            return max(self._floor, self._fallback)
        middle = statistics.median(self._history)
        split, _ = otsu(self._history)
        relaxed = middle + self._settings.relax * (split - middle)
        return max(self._floor, min(max(relaxed, 0.0), split))

    def _is_boundary(self, index: int) -> bool:
        here = self._distances[index]
        left = self._distances[index - 1] if index else self._before
        right = self._distances[index + 1] if index + 1 < len(self._distances) else 0.0
        return here >= left and here >= right and here >= self.threshold()

    def _split(self) -> int:
        """Where to cut an event that is too long: its last peak, else its largest distance, else (a still scene) at the cap."""
        start_us = self._marks[0].offset_us
        inside = [i for i in range(len(self._distances)) if self._marks[i].offset_us - start_us <= self._cap_us]
        peaks = [i for i in inside if i + 1 < len(self._distances) and self._is_boundary(i)]
        if peaks:
            return peaks[-1]
        largest = max(inside, key=lambda i: self._distances[i])
        return largest if self._distances[largest] >= self._floor else inside[-1]

    def _cut_after(self, index: int) -> Cut:
        marks = tuple(self._marks[: index + 1])
        self._before = self._distances[index]
        self._marks, self._distances = self._marks[index + 1 :], self._distances[index + 1 :]
        return Cut(marks=marks, representative_id=marks[-1].moment_id)

    def flush(self) -> list[Cut]:
        closed = []
        if self._distances and self._is_boundary(len(self._distances) - 1):
            closed.append(self._cut_after(len(self._distances) - 1))
        if self._marks:
            closed.append(Cut(marks=tuple(self._marks), representative_id=self._marks[-1].moment_id))
        self._marks, self._distances, self._before = [], [], 0.0
        return closed

    def state(self) -> bytes:
        marks = [StoredMark.of(mark) for mark in self._marks]
        return msgspec.msgpack.encode(_State(marks, self._distances, self._before, list(self._history)))

    def restore(self, state: bytes) -> None:
        saved = msgspec.msgpack.decode(state, type=_State)
        self._marks = [stored.mark() for stored in saved.marks]
        self._distances = saved.distances
        self._before = saved.before
        self._history = deque(saved.history, maxlen=HISTORY)
