"""Segments are the events that short-term memory tells apart."""

from __future__ import annotations

import msgspec
import numpy as np

from edgemem.extend import BaseSegmenter, Cut, Mark, StoredMark
from edgemem_eventmem.short_term import event_of

_NO_VECTOR = np.zeros(0, np.float32)
"""Nothing is compared here, and the state is saved with every commit."""


class Events(BaseSegmenter):
    """Closes an event when a moment of the next one comes. Its first frame represents it; it lasts until the next event begins.

    Moments that another selector kept have no event: they all belong to one.
    """

    name = "events"

    def __init__(self) -> None:
        self._open: list[Mark] = []

    def observe(self, mark: Mark) -> list[Cut]:
        ended = bool(self._open) and event_of(mark.role) != event_of(self._open[-1].role)
        cuts = self._close(mark.t_us - 1) if ended else []
        self._open.append(msgspec.structs.replace(mark, vector=_NO_VECTOR, small=None))
        return cuts

    def flush(self) -> list[Cut]:
        return self._close(None) if self._open else []

    def _close(self, end_us: int | None) -> list[Cut]:
        marks, self._open = tuple(self._open), []
        return [Cut(marks=marks, representative_id=marks[0].moment_id, end_us=end_us)]

    def state(self) -> bytes:
        return msgspec.msgpack.encode([StoredMark.of(mark) for mark in self._open])

    def restore(self, state: bytes) -> None:
        self._open = [stored.mark() for stored in msgspec.msgpack.decode(state, type=list[StoredMark])]
