"""Short-term memory: at most K frames of the latest events, each event a uniform sample of its frames (EventMemAgent section 3.2.1).

What the paper leaves open, and what is done here:

- The first frame of an event is what long-term memory shows of it, so it never leaves the sample. It counts in K: the other K - 1 places
  hold a uniform sample of the event's other frames (Vitter 1985, algorithm R).
- An event that ended stays until the places are needed; then the oldest one leaves as a whole, all but its first frame.
- The mean histogram is that of the frames that were admitted to the event, also where their place was given away since.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from edgemem.extend import US, BaseSelector, Candidate, Decision, Evict, Keep, Pin, Replace, Unpin
from edgemem_eventmem.histogram import correlation, grey_histogram

if TYPE_CHECKING:
    from edgemem_eventmem.histogram import Histogram


class ShortTermSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Size of the short-term memory, and where an event ends."""

    frames: int = 32
    """K: most frames over all events (EventMemAgent section 4.1)."""
    delta: float = 0.2
    """An event ends where a frame's histogram correlates less than this with the mean of the event (section 4.1)."""
    min_frames: int = 8
    """Only an event with more frames than this can end (appendix A.1)."""
    bins: int = 256
    """Of the histograms; the paper does not say how many."""
    fixed_s: float = 0.0
    """Above 0: events of this length instead, the baseline of table 3 (30 s)."""
    seed: int = 0
    """Of the sample."""

    def __post_init__(self) -> None:
        if self.frames < 1 or self.bins < 2 or self.min_frames < 0 or self.fixed_s < 0:
            raise ValueError("frames must be at least 1, bins at least 2, min_frames and fixed_s at least 0")


class HeldEvent(msgspec.Struct):
    """An event of which frames are in short-term memory."""

    number: int
    """From 1, in the order of time."""
    start_us: int
    """Offset of its first frame in the stream."""
    seen: int = 1
    """Frames that belong to it."""
    held: int = 1
    """Frames of it that are held; the first of them in place 0."""


class _State(msgspec.Struct):
    """What survives a restart."""

    events: list[HeldEvent] = []
    """Oldest first; the last is the active one."""
    count: int = 0
    """Events so far."""
    histogram: bytes = b""
    """Sum of the histograms admitted to the active event: float64 [bins]."""
    admitted: int = 0


def slot(event: int, place: int) -> str:
    """The name of a place in the sample of an event; place 0 is its first frame."""
    return f"{event}.{place}"


def role(event: int, *, first: bool = False) -> str:
    """What a moment is: a frame of the event with this number."""
    return f"event {event}, first" if first else f"event {event}"


def event_of(moment_role: str) -> int | None:
    """The number in a role; None for what another selector kept."""
    word, _, rest = moment_role.partition(" ")
    number = rest.partition(",")[0]
    return int(number) if word == "event" and number.isdecimal() else None


class ShortTermMemory(BaseSelector):
    """Keeps at most K frames of the latest events, and the first frame of every event."""

    name = "short_term"

    def __init__(self, settings: ShortTermSettings | None = None) -> None:
        self._settings = settings or ShortTermSettings()
        self._state = _State()

    @property
    def events(self) -> tuple[HeldEvent, ...]:
        """The events of which frames are held, oldest first."""
        return tuple(self._state.events)

    def observe(self, candidate: Candidate) -> list[Decision]:
        histogram = grey_histogram(candidate.small, self._settings.bins)
        if self._ends(candidate, histogram):
            return self._begin(candidate, histogram)
        return self._continue(candidate, histogram)

    def _ends(self, candidate: Candidate, histogram: Histogram) -> bool:
        """Whether the active event, where there is one, ends before this frame."""
        if not self._state.events:
            return True
        active, length_us = self._state.events[-1], round(self._settings.fixed_s * US)
        if length_us:
            return candidate.frame.offset_us // length_us != active.start_us // length_us
        if active.seen <= self._settings.min_frames:
            return False
        return correlation(self._mean(), histogram) < self._settings.delta

    def _begin(self, candidate: Candidate, histogram: Histogram) -> list[Decision]:
        released = self._make_room(len(self._state.events))
        self._state.count += 1
        number = self._state.count
        self._state.events.append(HeldEvent(number=number, start_us=candidate.frame.offset_us))
        self._state.histogram, self._state.admitted = histogram.tobytes(), 1
        first = slot(number, 0)
        return [*released, Keep(candidate=candidate, role=role(number, first=True), slot=first), Pin(slot=first)]

    def _continue(self, candidate: Candidate, histogram: Histogram) -> list[Decision]:
        active = self._state.events[-1]
        active.seen += 1
        if active.held < self._settings.frames:
            released = self._make_room(len(self._state.events) - 1)
            self._admit(histogram)
            active.held += 1
            place = slot(active.number, active.held - 1)
            return [*released, Keep(candidate=candidate, role=role(active.number), slot=place)]
        drawn = random.Random(f"{self._settings.seed} {active.number} {active.seen}").randrange(active.seen - 1)  # noqa: S311 - a sample
        if drawn >= self._settings.frames - 1:
            return []
        self._admit(histogram)
        return [Replace(slot=slot(active.number, drawn + 1), candidate=candidate, role=role(active.number))]

    def _make_room(self, oldest: int) -> list[Decision]:
        """Let whole events go, oldest first, until one more frame fits; at most the `oldest` ones."""
        decisions: list[Decision] = []
        for _ in range(oldest):
            if sum(event.held for event in self._state.events) < self._settings.frames:
                break
            gone = self._state.events.pop(0)
            decisions += [Evict(slot=slot(gone.number, place)) for place in range(1, gone.held)]
            decisions.append(Unpin(slot=slot(gone.number, 0)))
        return decisions

    def _mean(self) -> Histogram:
        return np.frombuffer(self._state.histogram, np.float64) / self._state.admitted

    def _admit(self, histogram: Histogram) -> None:
        total = np.frombuffer(self._state.histogram, np.float64) + histogram
        self._state.histogram, self._state.admitted = total.tobytes(), self._state.admitted + 1

    def state(self) -> bytes:
        return msgspec.msgpack.encode(self._state)

    def restore(self, state: bytes) -> None:
        restored = msgspec.msgpack.decode(state, type=_State)
        if restored.events and len(restored.histogram) != 8 * self._settings.bins:
            raise ValueError(f"the saved histogram has {len(restored.histogram) // 8} bins, not {self._settings.bins}")
        self._state = restored
