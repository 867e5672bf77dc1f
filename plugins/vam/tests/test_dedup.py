"""What adaptive deduplication promises about any stream."""

from __future__ import annotations

import itertools

import msgspec
import numpy as np
import pytest
from edgemem_vam.dedup import AdaptiveDedup, DedupSettings
from edgemem_vam.otsu import bimodal, distance, otsu
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemem.records import US, Frame
from edgemem.see.select import Candidate

DIM = 32


def unit(values):
    vector = np.asarray(values, np.float32)
    return vector / np.linalg.norm(vector)


def candidate(seq, vector, gray=128, period_us=2 * US):
    image = np.full((36, 64, 3), gray, np.uint8)
    frame = Frame(stream="s", seq=seq, t_us=1_000 * US + seq * period_us, offset_us=seq * period_us, image=image)
    return Candidate(frame=frame, vector=unit(vector), sharpness=50.0, small=image)


def kept(selector, candidates):
    found = [k.candidate.frame.seq for c in candidates for k in selector.observe(c)]
    return found + [k.candidate.frame.seq for k in selector.flush()]


def scenes(count, length, noise, seed=0):
    """`count` scenes of `length` frames: one random direction each, with noise of relative size `noise` per frame."""
    rng = np.random.default_rng(seed)
    centres = [unit(rng.normal(size=DIM)) for _ in range(count)]
    return [
        candidate(scene * length + i, centres[scene] + noise * rng.normal(size=DIM) / np.sqrt(DIM))
        for scene in range(count)
        for i in range(length)
    ]


def test_400_identical_frames_keep_two():
    assert kept(AdaptiveDedup(), scenes(1, 400, 0.0)) == [0, 399]


@pytest.mark.parametrize("noise", [0.02, 0.05, 0.1, 0.2])
@pytest.mark.parametrize("seed", range(5))
def test_a_static_scene_with_noise_keeps_under_five_percent(noise, seed):
    assert len(kept(AdaptiveDedup(), scenes(1, 400, noise, seed))) < 0.05 * 400


def test_the_floor_of_a_jittery_space_holds_a_static_scene_together():
    jittery = scenes(1, 400, 0.4)
    assert len(kept(AdaptiveDedup(), jittery)) > 0.05 * 400
    assert len(kept(AdaptiveDedup(None, {"dedup_floor": 0.3}), jittery)) == 2


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.15])
@pytest.mark.parametrize("seed", range(5))
def test_both_ends_of_every_scene_are_kept_and_little_else(noise, seed):
    found = kept(AdaptiveDedup(), scenes(16, 25, noise, seed))
    assert {end for scene in range(16) for end in (scene * 25, scene * 25 + 24)} <= set(found)
    assert len(found) <= 40


def test_noise_is_learnt_when_it_is_larger_than_the_fallback():
    """Scenes whose jitter exceeds the fallback are still told apart by the two modes of the history."""
    found = kept(AdaptiveDedup(DedupSettings(fallback=0.01, floor=0.005)), scenes(40, 12, 0.25, seed=3))
    late = [seq for seq in found if seq >= 240]
    assert {end for scene in range(20, 40) for end in (scene * 12, scene * 12 + 11)} <= set(late)
    assert len(late) <= 50


frames = st.lists(st.tuples(st.integers(0, 5), st.floats(0, 0.5, width=32), st.integers(0, 255)), max_size=60)


def candidates_from(drawn):
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(6, DIM))
    return [candidate(seq, directions[scene] + noise * rng.normal(size=DIM), gray) for seq, (scene, noise, gray) in enumerate(drawn)]


@given(frames, st.lists(st.integers(1, 17), min_size=1, max_size=60), st.booleans())
@settings(max_examples=60)
def test_result_depends_neither_on_the_size_of_batches_nor_on_restarts(drawn, sizes, local):
    stream = candidates_from(drawn)
    options = DedupSettings(local_change=20.0 if local else 0.0, keep_every_s=30.0 if local else 0.0)
    expected = kept(AdaptiveDedup(options), stream)
    found, selector, at = [], AdaptiveDedup(options), 0
    for size in sizes * 60:
        batch, at = stream[at : at + size], at + size
        found += [k.candidate.frame.seq for c in batch for k in selector.observe(c)]
        before, selector = selector, AdaptiveDedup(options)
        selector.restore(before.state())
        for held in before.held:
            selector.give_back(held)
    found += [k.candidate.frame.seq for k in selector.flush()]
    assert found == expected


@given(frames)
@settings(max_examples=60)
def test_first_and_last_frame_of_any_stream_are_kept_in_order_and_once(drawn):
    stream = candidates_from(drawn)
    found = kept(AdaptiveDedup(), stream)
    assert found == sorted(set(found))
    assert not stream or (found[0], found[-1]) == (0, len(stream) - 1)


def test_the_pending_frame_is_held_and_not_in_the_state():
    before = AdaptiveDedup()
    first, second = candidate(0, np.ones(DIM), 90), candidate(1, np.ones(DIM), 97)
    assert [k.candidate.frame.seq for c in (first, second) for k in before.observe(c)] == [0]
    assert before.held == (second,)
    after = AdaptiveDedup()
    after.restore(before.state())
    assert (after.held, after.flush()) == ((), [])
    after.restore(before.state())
    after.give_back(second)
    (endpoint,) = after.flush()
    assert (endpoint.role, endpoint.candidate) == ("endpoint", second)
    rng = np.random.default_rng(0)
    detailed = msgspec.structs.replace(second.frame, image=rng.integers(0, 255, (720, 1280, 3), dtype=np.uint8))
    before.observe(msgspec.structs.replace(second, frame=detailed))
    assert len(before.state()) < 1000


def test_a_state_that_is_none_is_refused():
    with pytest.raises(msgspec.DecodeError):
        AdaptiveDedup().restore(b"\x00garbage")


def test_a_small_change_is_kept_at_most_once_per_gap():
    """A block that changes in every frame must not keep every frame."""
    selector = AdaptiveDedup(DedupSettings(local_change=12.0, local_gap_s=2.0))
    stream = []
    for seq in range(40):
        one = candidate(seq, np.ones(DIM), period_us=US // 2)
        picture = one.small.copy()
        picture[8:24, 1 + seq : 17 + seq] = 250
        stream.append(msgspec.structs.replace(one, small=picture))
    found = kept(selector, stream)
    assert 8 <= len(found) <= 12
    assert all(b - a >= 4 for a, b in itertools.pairwise(found[:-1]))


@pytest.mark.parametrize(("change", "kept_too"), [(47, False), (48, True), (49, True)])
def test_a_small_change_is_the_mean_of_a_block_of_sixteen_pixels(change, kept_too):
    """An eighth by eighth of a picture of 64 x 32: a quarter of one block, so that 48 levels there are 12 in the mean."""
    first, second, third = (candidate(seq, np.ones(DIM), period_us=3 * US) for seq in range(3))
    pictures = [np.full((32, 64, 3), 128, np.uint8) for _ in range(3)]
    pictures[1][16:24, 32:40] += change
    stream = [msgspec.structs.replace(one, small=picture) for one, picture in zip((first, second, third), pictures, strict=True)]
    found = kept(AdaptiveDedup(DedupSettings(local_change=12.0, local_gap_s=2.0)), stream[:2])
    selector = AdaptiveDedup(DedupSettings(local_change=12.0, local_gap_s=2.0))
    assert [len(selector.observe(one)) for one in stream[:2]] == [1, int(kept_too)]
    assert found == [0, 1]


def test_a_still_stream_keeps_a_frame_now_and_then_when_asked():
    found = kept(AdaptiveDedup(DedupSettings(keep_every_s=60.0)), scenes(1, 400, 0.0))
    assert found == [*range(0, 400, 30), 399]


def test_thresholds_come_from_the_space_unless_the_recipe_says_otherwise():
    calibration = {"dedup_fallback": 0.4, "dedup_floor": 0.3}
    assert AdaptiveDedup(None, calibration).threshold() == 0.4
    assert AdaptiveDedup(DedupSettings(fallback=0.1), calibration).threshold() == 0.3
    assert AdaptiveDedup(DedupSettings(fallback=0.1, floor=0.0), calibration).threshold() == 0.1


def test_a_zero_vector_is_new_to_everything():
    assert distance(np.zeros(3, np.float32), unit([1, 0, 0])) == 1.0


def test_otsu_tells_two_modes_from_one():
    rng = np.random.default_rng(1)
    one = list(rng.normal(0.1, 0.02, 200))
    split, separability = otsu(one + list(rng.normal(0.6, 0.05, 20)))
    assert 0.15 < split < 0.55
    assert bimodal(separability, 220)
    assert not bimodal(otsu(one)[1], 200)
    assert otsu([0.3] * 10) == (0.3, 0.0)


@pytest.mark.parametrize("before", [0, 2 * DIM], ids=["no engine", "another engine"])
def test_another_engine_since_the_last_run_begins_anew(before):
    """A live stream goes on from its saved state; vectors of another size cannot be compared, and their distances say nothing."""
    old, new = AdaptiveDedup(), AdaptiveDedup()
    for i in range(300):
        one = candidate(i, np.eye(2 * DIM)[i % 9])
        old.observe(msgspec.structs.replace(one, vector=one.vector[:before]))
    new.restore(old.state())
    later = [msgspec.structs.replace(c, frame=msgspec.structs.replace(c.frame, seq=300 + c.frame.seq)) for c in scenes(5, 20, 0.05)]
    found = kept(new, later)
    fresh = [300 + seq for seq in kept(AdaptiveDedup(), scenes(5, 20, 0.05))]
    assert [seq for seq in found if seq >= 300] == fresh
