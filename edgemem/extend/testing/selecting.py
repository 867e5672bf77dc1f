"""Conformance checks for selectors and segmenters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from edgemem.extend.testing.fakes import FakeJointEmbedder, SyntheticCamera
from edgemem.see.gate import Look
from edgemem.see.segment import Cut, Mark
from edgemem.see.select import Candidate, Decision, Evict, Keep, Replace

_STATE_BYTES = 512 << 10
"""Largest state: it is saved with every commit. A full picture would be larger."""


def check_selector(make: Callable[[], Any], who: str) -> None:
    """A selector keeps frames at most once and in time order, names only slots that are taken, and a restart changes nothing."""
    candidates = check_candidates()
    whole = make()
    expected = [decision for candidate in candidates for decision in whole.observe(candidate)] + whole.flush()
    kept = [decision.candidate.frame.seq for decision in expected if isinstance(decision, Keep | Replace)]
    assert kept == sorted(set(kept)), f"{who}: keeps frames twice or out of order: {kept}"
    assert not whole.flush(), f"{who}: flush must leave nothing behind"
    assert not whole.held, f"{who}: holds candidates after flush"
    _check_slots(expected, who)
    for at in (0, 1, len(candidates) // 2, len(candidates) - 1):
        before, after = make(), make()
        seen = [decision for candidate in candidates[:at] for decision in before.observe(candidate)]
        state = before.state()
        assert len(state) < _STATE_BYTES, f"{who}: its state has {len(state)} bytes: it may contain no full pictures"
        after.restore(state)
        for candidate in before.held:
            after.give_back(candidate)
        seen += [decision for candidate in candidates[at:] for decision in after.observe(candidate)] + after.flush()
        assert _in_short(seen) == _in_short(expected), f"{who}: a restart after {at} frames changes its decisions"


def _in_short(decisions: Sequence[Decision]) -> list[tuple[str, ...]]:
    short: list[tuple[str, ...]] = []
    for decision in decisions:
        frame = str(decision.candidate.frame.seq) if isinstance(decision, Keep | Replace) else ""
        role = decision.role if isinstance(decision, Keep | Replace) else ""
        short.append((type(decision).__name__, decision.slot, frame, role))
    return short


def _check_slots(decisions: Sequence[Decision], who: str) -> None:
    taken: set[str] = set()
    for decision in decisions:
        if isinstance(decision, Keep):
            assert decision.slot not in taken, f'{who}: keeps a frame in the slot "{decision.slot}", which is taken; use Replace'
            taken |= {decision.slot} - {""}
            continue
        assert decision.slot in taken, f'{who}: {type(decision).__name__} names the slot "{decision.slot}", which is empty'
        if isinstance(decision, Evict):
            taken.discard(decision.slot)


def check_segmenter(make: Callable[[], Any], who: str) -> None:
    """On its lowest level a segmenter puts every moment in exactly one segment, in order. Segments of higher levels contain complete ones
    of the level below. A restart changes nothing.
    """
    marks = check_marks()
    whole = make()
    cuts = [cut for mark in marks for cut in whole.observe(mark)] + whole.flush()
    covered = [mark.moment_id for cut in cuts if cut.level == 0 for mark in cut.marks]
    assert covered == [mark.moment_id for mark in marks], f"{who}: moments are lost, doubled or out of order"
    for cut in cuts:
        assert 0 <= cut.level < whole.levels, f"{who}: a segment of level {cut.level}, but levels is {whole.levels}"
        assert cut.representative_id in {mark.moment_id for mark in cut.marks}, f"{who}: the representative is not of the segment"
    for at in (0, 1, len(marks) // 2, len(marks) - 1):
        before, after = make(), make()
        seen = [cut for mark in marks[:at] for cut in before.observe(mark)]
        after.restore(before.state())
        seen += [cut for mark in marks[at:] for cut in after.observe(mark)] + after.flush()
        assert _ids(seen) == _ids(cuts), f"{who}: a restart after {at} moments changes the segments"


def _ids(cuts: Sequence[Cut]) -> list[tuple[int, int, tuple[int, ...]]]:
    return [(cut.level, cut.representative_id, tuple(mark.moment_id for mark in cut.marks)) for cut in cuts]


def check_candidates() -> list[Candidate]:
    """A minute of the synthetic camera, with a scene every 12 s."""
    embedder = FakeJointEmbedder()
    frames = list(SyntheticCamera(60.0, scene_s=12.0).frames())
    looks = [Look.at(frame) for frame in frames]
    vectors = embedder.glance([frame.image for frame in frames])
    return [
        Candidate(frame=f, vector=v, sharpness=look.sharpness, small=look.small) for f, v, look in zip(frames, vectors, looks, strict=True)
    ]


def check_marks() -> list[Mark]:
    """The same minute as moments."""
    return [
        Mark(moment_id=c.frame.seq + 1, t_us=c.frame.t_us, offset_us=c.frame.offset_us, vector=c.vector, small=c.small)
        for c in check_candidates()
    ]
