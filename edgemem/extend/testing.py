"""For plugin authors: fakes that are honest about being fakes, and one conformance check per protocol.

A plugin's test file is three lines: import the plugin, import `check_plugin`, call it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from edgemem.config import Settings
from edgemem.extend.context import PluginContext
from edgemem.extend.hookspecs import HookSpecs
from edgemem.extend.plugins import Plugins, import_file
from edgemem.extend.scripted import ReplayChat, ScriptedChat
from edgemem.infer.roles import Sight, Space
from edgemem.records import US, Frame, Image, Matrix, Moment, Observation, Segment, Vector
from edgemem.see.sources.base import BaseSource

if TYPE_CHECKING:
    from edgemem.infer.roles import Arrays

__all__ = [
    "CHECKS",
    "T0_US",
    "FakeClock",
    "FakeEngine",
    "FakeJointEmbedder",
    "Make",
    "ReplayChat",
    "ScriptedChat",
    "SyntheticCamera",
    "check_gate",
    "check_plugin",
    "check_segmenter",
    "check_selector",
    "check_source",
    "check_writer",
    "load_file",
]

T0_US = 1_777_881_600 * US
"""2026-05-04T08:00:00Z, when the synthetic camera was switched on."""


class SyntheticCamera(BaseSource):
    """A source of deterministic pictures: scenes of `scene_s` seconds, each with its own pattern, a moving square and sensor noise."""

    identity = "synthetic"

    def __init__(
        self,
        seconds: float = 30.0,
        rate_fps: float = 1.0,
        *,
        scene_s: float = 10.0,
        side_px: int = 240,
        seed: int = 0,
        stream: str = "synthetic",
    ) -> None:
        self.name = stream
        self.t0_us = T0_US
        self.duration_us: int | None = round(seconds * US)
        self.dropped: dict[str, int] = {}
        self.set_rate(rate_fps)
        self._scene_us = round(scene_s * US)
        self._side_px = side_px
        self._seed = seed
        self._from_us = -1

    def skip_to(self, offset_us: int) -> None:
        """Begin with the first frame later than `offset_us`."""
        self._from_us = offset_us

    def set_rate(self, rate_fps: float) -> None:
        self._period_us = round(US / rate_fps)

    def frames(self) -> Iterator[Frame]:
        """The frames in time order. The same arguments always give the same pixels."""
        seq = offset_us = 0
        while offset_us < (self.duration_us or 0):
            if offset_us > self._from_us:
                yield Frame(
                    stream=self.name,
                    seq=seq,
                    t_us=T0_US + offset_us,
                    offset_us=offset_us,
                    mono_us=offset_us,
                    image=self._picture(seq, offset_us),
                )
            seq, offset_us = seq + 1, offset_us + self._period_us

    def _picture(self, seq: int, offset_us: int) -> Image:
        scene = np.random.default_rng([self._seed, offset_us // self._scene_us])
        coarse = scene.integers(30, 225, (6, 8, 3))
        height, width = self._side_px * 3 // 4, self._side_px
        picture = np.repeat(np.repeat(coarse, -(-height // 6), axis=0), -(-width // 8), axis=1)[:height, :width]
        left = seq * 7 % (width - 20)
        picture[height // 3 : height // 3 + 20, left : left + 20] = scene.integers(0, 255, 3)
        noise = np.random.default_rng([self._seed, seq, 1]).normal(0, 3, picture.shape)
        return np.clip(picture + noise, 0, 255).astype(np.uint8)


class FakeClock:
    """The clocks of a board, set by a test: `wall`, `mono` and `kernel` are what `clock.SteadyClock` asks for."""

    def __init__(self, wall_us: int, mono_us: int = 0) -> None:
        self._wall_us, self._mono_us = wall_us, mono_us
        self.error_us: int | None = None
        """What a time server vouches for; None = nothing."""

    def wall(self) -> int:
        """Wall time in microseconds."""
        return self._wall_us

    def mono(self) -> int:
        """Monotonic time in microseconds."""
        return self._mono_us

    def kernel(self) -> int | None:
        """The kernel's bound on the error."""
        return self.error_us

    def tick(self, seconds: float) -> None:
        """Time passes."""
        self._wall_us += round(seconds * US)
        self._mono_us += round(seconds * US)

    def jump(self, seconds: float) -> None:
        """Somebody sets the wall clock."""
        self._wall_us += round(seconds * US)


class FakeEngine:
    """An engine that computes nothing: `answer(arrays)` gives the outputs. For decoders' tests; says nothing about a model."""

    def __init__(self, answer: Callable[[Arrays], dict[str, Any]]) -> None:
        self._answer = answer
        self.calls = 0
        self.closed = False

    def infer(self, arrays: Arrays) -> dict[str, Any]:
        """Count the call and give the scripted outputs."""
        assert not self.closed, "infer after close"
        self.calls += 1
        return self._answer(arrays)

    def close(self) -> None:
        """Twice is allowed."""
        self.closed = True


class FakeJointEmbedder:
    """Pictures by their colours, texts by their words: a real, useless joint space of 64 dimensions that needs no weights."""

    space = Space(name="fake-colours", dim=64)

    def glance(self, images: Sequence[Image]) -> Matrix:
        """Colour histograms of 4 x 4 x 4 bins, unit length."""
        return np.stack([_unit(np.histogramdd(image.reshape(-1, 3), bins=(4, 4, 4), range=[(0, 256)] * 3)[0].ravel()) for image in images])

    def look(self, image: Image) -> Sight:
        """The same vector, and the picture's brightness as its only label."""
        name = "bright" if float(image.mean()) > 127 else "dark"
        return Sight(vector=self.glance([image])[0], observations=(Observation(kind="label", name=name, score=0.9),))

    def embed_text(self, texts: Sequence[str]) -> Matrix:
        """Bags of letters, unit length."""
        return np.stack([_unit(np.bincount([ord(c) % 64 for c in text.lower()] or [0], minlength=64)) for text in texts])


def _unit(values: np.ndarray[Any, np.dtype[Any]]) -> Vector:
    vector = values.astype(np.float32)
    return vector / max(float(np.linalg.norm(vector)), 1e-9)


def load_file(path: str | Path) -> ModuleType:
    """A plugin that is one file, as `--plugins-dir` would load it."""
    return import_file(Path(path).stem, Path(path))


def check_plugin(module: ModuleType, parameters: Mapping[tuple[str, str], Mapping[str, Any]] | None = None) -> list[str]:
    """Make everything that `module` registers and check that it keeps its protocol; returns what was checked.

    `parameters` gives settings by (place, name) to components whose defaults do not stand alone. Raises AssertionError naming the
    component and what it broke, or PluginError when the plugin would be refused at the start.
    """
    plugins = Plugins.of(module)
    checked = []
    with tempfile.TemporaryDirectory() as home:
        context = PluginContext(Settings(), Path(home))
        for place in (name.removeprefix("register_") for name in vars(HookSpecs) if name.startswith("register_")):
            check = CHECKS.get(place)
            for name in plugins.own(place) if check else ():
                assert check is not None
                given = (parameters or {}).get((place, name), {})

                def make(place: str = place, name: str = name, given: Mapping[str, Any] = given) -> Any:
                    return plugins.make(place, name, given, context, "check_plugin")

                check(make, f"{place[:-1]} {name}")
                checked.append(f"{place}/{name}")
    return checked


Make = Callable[[], Any]


def check_gate(make: Make, who: str) -> None:
    """A gate judges the same frame alike, leaves the picture alone, and names a reason when it drops."""
    from edgemem.see.gate import Look

    first, second = make(), make()
    for frame in SyntheticCamera(12.0).frames():
        before = frame.image.copy()
        looks = Look.at(frame), Look.at(frame)
        verdicts = first.judge(looks[0]), second.judge(looks[1])
        assert verdicts[0] == verdicts[1], f"{who}: two gates with the same history judged one frame differently"
        assert first.judge(looks[0]) == verdicts[0], f"{who}: judging a frame twice changed the verdict; remember frames in accepted()"
        assert np.array_equal(before, frame.image), f"{who}: changed the picture"
        assert verdicts[0].keep or verdicts[0].reason, f"{who}: dropped a frame without a reason"
        if verdicts[0].keep:
            first.accepted(looks[0])
            second.accepted(looks[1])


def check_selector(make: Make, who: str) -> None:
    """A selector keeps frames at most once and in time order, and a restart changes nothing."""
    candidates = _candidates()
    whole = make()
    expected = [kept.candidate.frame.seq for candidate in candidates for kept in whole.observe(candidate)]
    expected += [kept.candidate.frame.seq for kept in whole.flush()]
    assert expected == sorted(set(expected)), f"{who}: keeps frames twice or out of order: {expected}"
    assert not whole.flush(), f"{who}: flush must leave nothing behind"
    for cut in (0, 1, len(candidates) // 2, len(candidates) - 1):
        before, after = make(), make()
        seen = [kept.candidate.frame.seq for candidate in candidates[:cut] for kept in before.observe(candidate)]
        after.restore(before.state())
        seen += [kept.candidate.frame.seq for candidate in candidates[cut:] for kept in after.observe(candidate)]
        seen += [kept.candidate.frame.seq for kept in after.flush()]
        assert seen == expected, f"{who}: a restart after {cut} frames changes what is kept: {seen} instead of {expected}"


def check_segmenter(make: Make, who: str) -> None:
    """A segmenter puts every moment in exactly one segment, in order, and a restart changes nothing."""
    from edgemem.see.segment import Mark

    marks = [Mark(moment_id=c.frame.seq + 1, t_us=c.frame.t_us, offset_us=c.frame.offset_us, vector=c.vector) for c in _candidates()]
    whole = make()
    cuts = [cut for mark in marks for cut in whole.observe(mark)] + whole.flush()
    covered = [mark.moment_id for cut in cuts for mark in cut.marks]
    assert covered == [mark.moment_id for mark in marks], f"{who}: moments are lost, doubled or out of order"
    for cut in cuts:
        assert cut.representative_id in {mark.moment_id for mark in cut.marks}, f"{who}: the representative is not of the segment"
    for at in (0, 1, len(marks) // 2, len(marks) - 1):
        before, after = make(), make()
        seen = [cut for mark in marks[:at] for cut in before.observe(mark)]
        after.restore(before.state())
        seen += [cut for mark in marks[at:] for cut in after.observe(mark)] + after.flush()
        assert [c.representative_id for c in seen] == [c.representative_id for c in cuts], (
            f"{who}: a restart after {at} moments changes the segments"
        )


def check_writer(make: Make, who: str) -> None:
    """A writer stays within its segment's time, says where its words come from, and copes with a segment of which nothing is known."""
    from edgemem.remember.entries import NewDocument
    from edgemem.see.operations import SegmentClosed

    writer = make()
    moments, segment = _stored_segment()
    seen = {
        moments[0].id: (Observation(kind="object", name="cup", score=0.8, colour="red"), Observation(kind="text", name="EXIT", score=0.9)),
        moments[1].id: (Observation(kind="label", name="coffee mug", score=0.7),),
    }
    for observations in (seen, {}):
        closed = SegmentClosed(segment=segment, moments=tuple(moments), observations=observations)
        for document in (operation for operation in writer.write(closed) if isinstance(operation, NewDocument)):
            assert segment.t0_us <= document.t0_us <= document.t1_us <= segment.t1_us, f"{who}: writes about a time outside its segment"
            assert document.known_us >= segment.t0_us, f"{who}: a document cannot be known before its segment"
            assert document.text.strip(), f"{who}: writes an empty document"
            assert "EXIT" not in document.text or document.origin == "ocr", f"{who}: text that was read needs the origin ocr"


def check_source(make: Make, who: str) -> None:
    """A source's frames come in time order with growing numbers, and `close` may be called twice."""
    source = make()
    frames = list(source.frames())
    assert all(a.seq < b.seq and a.offset_us <= b.offset_us for a, b in pairwise(frames)), f"{who}: frames are out of order"
    source.close()
    source.close()


CHECKS: dict[str, Callable[[Make, str], None]] = {
    "gates": check_gate,
    "selectors": check_selector,
    "segmenters": check_segmenter,
    "writers": check_writer,
}
"""By place. Places that are not here need models, a memory or a network; their checks are called by hand, such as `check_source`."""


def _candidates() -> list[Any]:
    from edgemem.see.gate import Look
    from edgemem.see.select import Candidate

    embedder = FakeJointEmbedder()
    frames = list(SyntheticCamera(60.0, scene_s=12.0).frames())
    looks = [Look.at(frame) for frame in frames]
    vectors = embedder.glance([frame.image for frame in frames])
    return [
        Candidate(frame=f, vector=v, sharpness=look.sharpness, small=look.small) for f, v, look in zip(frames, vectors, looks, strict=True)
    ]


def _stored_segment() -> tuple[list[Moment], Segment]:
    moments = [
        Moment(
            id=i + 1, stream="synthetic", seq=i, t_us=T0_US + i * US, offset_us=i * US, width_px=320, height_px=240,
            sharpness=50.0, tier="recent", segment_id=1,
        )
        for i in range(3)
    ]  # fmt: skip
    segment = Segment(id=1, stream="synthetic", segmenter="test", t0_us=T0_US, t1_us=T0_US + 2 * US, offset_us=0, representative_id=2)
    return moments, segment
