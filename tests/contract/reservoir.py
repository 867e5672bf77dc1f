"""A proof plugin: a reservoir of moments, segments by colour, and a document for every moment that leaves the reservoir.

It uses only the public contract.
"""

from __future__ import annotations

import random

import msgspec
import numpy as np

from edgemem.extend import (
    BaseSegmenter,
    BaseSelector,
    BaseWriter,
    Candidate,
    Component,
    Cut,
    Decision,
    Keep,
    Mark,
    MomentEvicted,
    NewDocument,
    Occasion,
    Operation,
    Pin,
    Replace,
    StoredMark,
    StreamEnded,
    Unpin,
    hookimpl,
)


class ReservoirSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Size of the sample."""

    size: int = 4
    seed: int = 0


class _Sample(msgspec.Struct):
    """What survives a restart."""

    seen: int = 0
    sharpest: str = ""
    sharpness: float = -1.0


class Reservoir(BaseSelector):
    """A uniform sample of all frames so far (Vitter 1985, algorithm R); the sharpest of those in it is pinned."""

    name = "reservoir"

    def __init__(self, settings: ReservoirSettings) -> None:
        self._settings, self._sample = settings, _Sample()

    def observe(self, candidate: Candidate) -> list[Decision]:
        seen, size = self._sample.seen, self._settings.size
        self._sample.seen += 1
        place = seen if seen < size else random.Random(f"{self._settings.seed} {seen}").randint(0, seen)
        if place >= size:
            return []
        slot = f"place {place}"
        taken: Decision = Keep(candidate=candidate, role="reservoir", slot=slot)
        if seen >= size:
            taken = Replace(slot=slot, candidate=candidate, role="reservoir")
        return [taken, *self._pinned(slot, candidate.sharpness)]

    def _pinned(self, slot: str, sharpness: float) -> list[Decision]:
        before = self._sample.sharpest
        if slot != before and sharpness <= self._sample.sharpness:
            return []
        self._sample.sharpest, self._sample.sharpness = slot, sharpness
        return [*([Unpin(slot=before)] if before not in {"", slot} else []), Pin(slot=slot)]

    def state(self) -> bytes:
        return msgspec.msgpack.encode(self._sample)

    def restore(self, state: bytes) -> None:
        self._sample = msgspec.msgpack.decode(state, type=_Sample)


class Colours(BaseSegmenter):
    """Clips with similar colours, from the histograms of the 320 px copies; four clips are a scene."""

    name = "colours"
    clips_of_scene = 4

    def __init__(self) -> None:
        self._open: list[Mark] = []
        self._histogram: list[float] = []
        self._scene: list[Mark] = []
        self._clips = 0

    @property
    def levels(self) -> int:
        return 2

    def observe(self, mark: Mark) -> list[Cut]:
        histogram = self._of(mark)
        closed = self._close() if self._open and histogram and self._apart(histogram) > 0.5 else []
        self._histogram = histogram or self._histogram
        self._open.append(mark)
        return closed

    def flush(self) -> list[Cut]:
        clip = self._close() if self._open else []
        return [*clip, *self._end_scene()]

    def _close(self) -> list[Cut]:
        clip = Cut(marks=tuple(self._open), representative_id=self._open[0].moment_id)
        self._scene, self._open, self._clips = [*self._scene, *self._open], [], self._clips + 1
        return [clip, *(self._end_scene() if self._clips == self.clips_of_scene else [])]

    def _end_scene(self) -> list[Cut]:
        marks, self._scene, self._clips = tuple(self._scene), [], 0
        return [Cut(marks=marks, representative_id=marks[0].moment_id, level=1)] if marks else []

    def _of(self, mark: Mark) -> list[float]:
        if mark.small is None:
            return []
        counts = np.histogramdd(mark.small.reshape(-1, 3), bins=(4, 4, 4), range=[(0, 256)] * 3)[0].ravel()
        return [float(share) for share in counts / counts.sum()]

    def _apart(self, histogram: list[float]) -> float:
        return 1 - sum(min(a, b) for a, b in zip(histogram, self._histogram, strict=True)) if self._histogram else 0.0

    def state(self) -> bytes:
        opened, scene = [StoredMark.of(mark) for mark in self._open], [StoredMark.of(mark) for mark in self._scene]
        return msgspec.msgpack.encode((opened, self._histogram, scene, self._clips))

    def restore(self, state: bytes) -> None:
        kind = tuple[list[StoredMark], list[float], list[StoredMark], int]
        opened, self._histogram, scene, self._clips = msgspec.msgpack.decode(state, type=kind)
        self._open, self._scene = [mark.mark() for mark in opened], [mark.mark() for mark in scene]


class Farewell(BaseWriter):
    """What a moment showed, when it is evicted; at the end, how many were."""

    name = "farewell"
    triggers = frozenset({"moment_evicted", "ended"})

    def __init__(self) -> None:
        self._left = 0

    def write(self, occasion: Occasion) -> list[Operation]:
        if isinstance(occasion, MomentEvicted):
            self._left += 1
            moment = occasion.moment
            shown = ", ".join(dict.fromkeys(o.name for o in occasion.observations)) or "nothing that was named"
            size = len(occasion.picture or b"")
            read = any(o.kind == "text" for o in occasion.observations)
            return [
                NewDocument(
                    kind="farewell", text=f"m{moment.id} showed {shown} ({size} bytes)", stream=moment.stream, t0_us=moment.t_us,
                    t1_us=moment.t_us, offset_us=moment.offset_us, known_us=moment.t_us, origin="ocr" if read else "caption",
                )
            ]  # fmt: skip
        if isinstance(occasion, StreamEnded):
            return [
                NewDocument(
                    kind="summary", text=f"{self._left} moments left", stream=occasion.stream, t0_us=occasion.t_us, t1_us=occasion.t_us,
                    offset_us=0, known_us=occasion.t_us, origin="system",
                )
            ]  # fmt: skip
        return []

    def state(self) -> bytes:
        return str(self._left).encode()

    def restore(self, state: bytes) -> None:
        self._left = int(state)


@hookimpl
def register_selectors():
    yield Component("reservoir", lambda settings, _context: Reservoir(settings), ReservoirSettings, "a uniform sample of a few moments")


@hookimpl
def register_segmenters():
    yield Component("colours", lambda _settings, _context: Colours(), summary="clips of like colours, in scenes")


@hookimpl
def register_writers():
    yield Component("farewell", lambda _settings, _context: Farewell(), summary="a document for every moment that is evicted")
