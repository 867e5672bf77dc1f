"""Segmenters decide where segments of a stream begin and end. They get the moments in order, one at a time."""

from __future__ import annotations

from typing import Protocol

import msgspec
import numpy as np

from edgemem.records import US, Image, Record, Vector


class Mark(Record, frozen=True):
    """A moment as input of a segmenter. `offset_us` comes from a clock that never jumps: durations are measured with it, not with
    `t_us`.
    """

    moment_id: int
    t_us: int
    offset_us: int
    vector: Vector
    """Whole-picture vector, unit length; empty if no perceiver has one."""
    role: str = ""
    """The role that the selector gave it."""
    small: Image | None = None
    """The 320 px copy; None after a restart."""


class Cut(Record, frozen=True):
    """A finished segment: its moments in order and the one that represents it."""

    marks: tuple[Mark, ...]
    representative_id: int
    level: int = 0
    """0 is the lowest. It becomes the parent of the segments one level below that lie within its time and have no parent yet."""

    @property
    def t0_us(self) -> int:
        """Time of its first moment."""
        return min(mark.t_us for mark in self.marks)

    @property
    def t1_us(self) -> int:
        """Time of its last moment."""
        return max(mark.t_us for mark in self.marks)

    @property
    def offset_us(self) -> int:
        """Offset of its first moment."""
        return self.marks[0].offset_us


class Segmenter(Protocol):
    """Hook `register_segmenters`. `BaseSegmenter` has one level."""

    name: str

    @property
    def levels(self) -> int:
        """The number of levels of its segments: 1, or 2 for clips in scenes, and so on."""
        ...

    def observe(self, mark: Mark) -> list[Cut]:
        """The segments that this moment closes, oldest first; at the same time, lower levels first.

        The moment may belong to the last of them or begin the next.
        """
        ...

    def flush(self) -> list[Cut]:
        """The stream ended: the segments that were still open and have a moment."""
        ...

    def state(self) -> bytes:
        """Everything needed to continue after a restart; `StoredMark` packs a mark without its picture."""
        ...

    def restore(self, state: bytes) -> None:
        """Continue from `state`. Raises ValueError or msgspec.DecodeError when it is not one."""
        ...


class BaseSegmenter:
    """A segmenter with one level."""

    @property
    def levels(self) -> int:
        """One."""
        return 1


class StoredMark(Record, frozen=True, array_like=True):
    """A mark in a saved state; the vector is float32 bytes."""

    moment_id: int
    t_us: int
    offset_us: int
    vector: bytes
    role: str = ""

    @classmethod
    def of(cls, mark: Mark) -> StoredMark:
        """For saving."""
        vector = mark.vector.astype(np.float32).tobytes()
        return cls(moment_id=mark.moment_id, t_us=mark.t_us, offset_us=mark.offset_us, vector=vector, role=mark.role)

    def mark(self) -> Mark:
        """The mark, without the picture."""
        vector = np.frombuffer(self.vector, np.float32)
        return Mark(moment_id=self.moment_id, t_us=self.t_us, offset_us=self.offset_us, vector=vector, role=self.role)


class FixedWindowSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Length of the windows."""

    seconds: float = 30.0
    """HOMER's clips and EventMemAgent's baseline have 30 s."""


class FixedWindow(BaseSegmenter):
    """Segments of a fixed length, counted from the start of the stream: a moment at exactly 30 s begins the second segment.

    A window without a moment is no segment. The moment nearest to the middle represents its window.
    """

    name = "fixed_window"

    def __init__(self, settings: FixedWindowSettings | None = None) -> None:
        self._length_us = max(1, round((settings or FixedWindowSettings()).seconds * US))
        self._open: list[Mark] = []

    def observe(self, mark: Mark) -> list[Cut]:
        closed = []
        if self._open and mark.offset_us // self._length_us != self._open[0].offset_us // self._length_us:
            closed = self.flush()
        self._open.append(mark)
        return closed

    def flush(self) -> list[Cut]:
        if not self._open:
            return []
        marks, self._open = tuple(self._open), []
        middle = (marks[0].offset_us + marks[-1].offset_us) / 2
        nearest = min(marks, key=lambda mark: abs(mark.offset_us - middle))
        return [Cut(marks=marks, representative_id=nearest.moment_id)]

    def state(self) -> bytes:
        return msgspec.msgpack.encode([StoredMark.of(mark) for mark in self._open])

    def restore(self, state: bytes) -> None:
        self._open = [stored.mark() for stored in msgspec.msgpack.decode(state, type=list[StoredMark])]
