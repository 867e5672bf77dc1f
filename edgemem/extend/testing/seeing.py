"""Conformance checks for sources, speech recognisers, gates and perceivers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from edgemem.extend.testing.fakes import T0_US, SyntheticCamera
from edgemem.records import SOUND_RATE_HZ, US, Sound


def check_source(make: Callable[[], Any], who: str) -> None:
    """A recorded source yields frames and sound in time order, yields the same after `skip_to`, and can be closed twice."""
    source = make()
    assert source.name.strip(), f"{who}: needs the name of its stream"
    assert isinstance(source.has_sound, bool), f"{who}: has_sound must be True or False"
    frames = list(source.frames())
    assert all(a.seq < b.seq and a.offset_us <= b.offset_us for a, b in pairwise(frames)), f"{who}: frames are out of order"
    sounds = list(source.sounds())
    assert bool(sounds) <= source.has_sound, f"{who}: has sound and says that it has none"
    assert all(a.end_us <= b.offset_us + 1 for a, b in pairwise(sounds)), f"{who}: sound is out of order"
    source.close()
    source.close()
    if len(frames) > 2:
        again = make()
        again.skip_to(frames[1].offset_us)
        rest = [frame.offset_us for frame in again.frames()]
        again.close()
        assert rest == [frame.offset_us for frame in frames[2:]], (
            f"{who}: skip_to({frames[1].offset_us}) does not yield the frames after it"
        )
    slower = make()
    slower.set_rate(0.001)
    assert len(list(slower.frames())) <= max(1, len(frames)), f"{who}: set_rate lets more frames through"
    slower.close()


def check_recogniser(make: Callable[[], Any], who: str) -> None:
    """A recogniser hears nothing in silence, reports its progress, and continues from its own state."""
    recogniser = make()
    silence = [
        Sound(stream="check", t_us=T0_US + i * US, offset_us=i * US, samples=np.zeros(SOUND_RATE_HZ, np.float32)) for i in range(4)
    ]  # fmt: skip
    reached = recogniser.until_us
    for sound in silence:
        assert recogniser.hear(sound) == [], f"{who}: heard something in silence"
        assert recogniser.until_us >= reached, f"{who}: until_us went back"
        reached = recogniser.until_us
    assert recogniser.flush() == [], f"{who}: heard something in silence"
    assert all(isinstance(times, int) for times in recogniser.notes.values()), f"{who}: notes count lines"
    make().restore(recogniser.state())


def check_gate(make: Callable[[], Any], who: str) -> None:
    """A gate gives the same verdict for the same frame, does not change the picture, and has a reason when it drops a frame."""
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


def check_perceiver(make: Callable[[], Any], who: str) -> None:
    """A perceiver does not change the picture, and fills only the spaces that it names, with unit vectors of their dimension."""
    perceiver = make()
    dims = {held.space.name: held.space.dim for held in perceiver.spaces}
    holds = {held.space.name: held.holds for held in perceiver.spaces}
    images = [frame.image for frame in SyntheticCamera(3.0).frames()]
    if perceiver.glances:
        first = perceiver.spaces[0]
        assert first.holds == "moment", f"{who}: glances, so its first space must hold moments"
        glanced = perceiver.glance(images)
        assert glanced.shape == (len(images), first.space.dim), f"{who}: glance must give [n, {first.space.dim}], got {glanced.shape}"
        for vector in glanced:
            _check_vectors({first.space.name: vector}, dims, who)
    for image in images:
        before = image.copy()
        perception = perceiver.perceive(image, ())
        assert np.array_equal(before, image), f"{who}: changed the picture"
        _check_vectors(perception.vectors, dims, who)
        assert all(holds[space] == "moment" for space in perception.vectors), f"{who}: vectors of a moment need a space that holds moments"
        for part in perception.parts:
            _check_vectors(part.vectors, dims, who)
            assert all(holds[space] != "moment" for space in part.vectors), f"{who}: a part's vectors need a space of parts or entities"
        boxes = [thing.box for thing in (*perception.observations, *perception.parts) if thing.box is not None]
        assert all(0 <= b.x0 <= b.x1 <= 1 and 0 <= b.y0 <= b.y1 <= 1 for b in boxes), f"{who}: boxes are fractions of the picture, 0..1"


def _check_vectors(vectors: Any, dims: dict[str, int], who: str) -> None:
    for space, vector in vectors.items():
        assert space in dims, f'{who}: fills the space "{space}", which it does not name in `spaces`'
        assert vector.shape == (dims[space],), f'{who}: a vector of "{space}" must have {dims[space]} numbers, got {vector.shape}'
        length = float(np.linalg.norm(vector))
        assert abs(length - 1) < 0.01, f'{who}: a vector of "{space}" has the length {length:.3f}, it must be 1'
