"""Old moments get rarer and smaller; what stands for something stays."""

from __future__ import annotations

import numpy as np
import pytest
import simplejpeg
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemem.errors import UsageError
from edgemem.records import US
from edgemem.remember.tiers import AgeTiers, AgeTiersSettings, TierRule, shrink

HOUR = 3600
SMALL = AgeTiersSettings(
    tiers=(TierRule("recent", 10, gap_s=1), TierRule("mid", 100, gap_s=4), TierRule("long", None, gap_s=20)), step_moments=7
)


def fade(store, tiers=None, now_us=None):
    tiers = tiers or AgeTiers()
    steps = []
    while not steps or not steps[-1].done:
        steps.append(tiers.apply(store, now_us))
        assert len(steps) < 1000
    return steps


def add(store, making, seconds, **more):
    with store.transaction() as tx:
        return [tx.add_moment(making.moment(round(second * US), **more)) for second in seconds]


def times(store, **filters):
    with store.view() as view:
        return [m.t_us / US for m in view.moments(**filters)]


def jpeg(width=1280, height=720, seed=0):
    picture = (
        np.random.default_rng(seed)
        .integers(0, 256, (-(-height // 40), -(-width // 40), 3), np.uint8)
        .repeat(40, 0)
        .repeat(40, 1)[:height, :width]
    )
    return simplejpeg.encode_jpeg(np.ascontiguousarray(picture), 80, "BGR")


def test_the_three_tiers_of_table_5(store, making):
    add(store, making, np.arange(0, 30 * HOUR, 10))
    fade(store)
    kept = np.array(times(store))
    newest = 30 * HOUR - 10
    long = kept[kept < newest - 24 * HOUR]
    mid = kept[(kept >= newest - 24 * HOUR) & (kept < newest - HOUR)]
    recent = kept[kept >= newest - HOUR]
    assert set(np.diff(long[2:-1])) == {120}
    assert set(np.diff(mid[1:-1])) == {20}
    assert set(np.diff(recent)) == {10}
    assert list(long[:2]) == [0, 110]
    assert kept[-1] == newest


def test_seconds_with_many_frames_keep_the_last_of_each(store, making):
    add(store, making, [0, 0.1, 0.5, 0.9, 1.0, 1.2, 1.9, 2.0])
    fade(store)
    assert times(store) == [0, 0.9, 1.9, 2.0]


def test_first_latest_protected_and_pinned_stay(store, making):
    ids = add(store, making, range(100))
    other = add(store, making, [3.25, 3.5], stream="door")
    with store.transaction() as tx:
        tx.add_segment(making.segment(ids[30:40], 30 * US, 39 * US, representative_id=ids[33]))
        tx.protect(ids[41], "last")
        tx.pin(ids[45])
    add(store, making, [10_000])
    fade(store, AgeTiers(SMALL))
    with store.view() as view:
        left = {m.id: m for m in view.moments()}
    assert {ids[0], ids[33], ids[41], ids[45], other[0], other[1]} <= set(left)
    assert left[ids[33]].role == "representative"
    assert left[ids[45]].pinned
    assert ids[34] not in left
    assert {m.tier for m in left.values() if m.t_us < 1000 * US} == {"long"}


def test_pictures_shrink_once_per_tier_and_never_grow(store, making):
    (moment_id, small_id, _) = [
        *add(store, making, [0], jpeg=jpeg()),
        *add(store, making, [100], jpeg=jpeg(64, 64)),
        *add(store, making, [200]),
    ]
    original = store.picture(moment_id)
    tiny = store.picture(small_id)
    assert [step.recoded for step in fade(store, now_us=2 * HOUR * US)] == [3]
    with store.view() as view:
        moment = view.moment(moment_id)
        mid = view.picture(moment_id)
        assert (moment.tier, moment.width_px, moment.height_px) == ("mid", 640, 360)
        assert simplejpeg.decode_jpeg_header(mid)[:2] == (360, 640)
    assert len(mid) < len(original)
    assert len(store.picture(small_id)) <= len(tiny)
    assert [step.recoded for step in fade(store, now_us=2 * HOUR * US)] == [0]
    assert store.picture(moment_id) == mid
    fade(store, now_us=48 * HOUR * US)
    with store.view() as view:
        assert (view.moment(moment_id).tier, view.moment(moment_id).width_px) == ("long", 480)
    fade(store, now_us=2 * HOUR * US)
    with store.view() as view:
        assert view.moment(moment_id).tier == "long"


def test_a_pinned_picture_is_not_touched(store, making):
    (moment_id,) = add(store, making, [0], jpeg=jpeg())
    with store.transaction() as tx:
        tx.pin(moment_id)
    before = store.picture(moment_id)
    fade(store, now_us=48 * HOUR * US)
    assert store.picture(moment_id) == before


def test_two_moments_that_share_a_picture_share_the_smaller_one(store, making):
    picture = jpeg()
    first, second = add(store, making, [0, 500], jpeg=picture)
    fade(store, now_us=2 * HOUR * US)
    assert store.picture(first) == store.picture(second)
    assert len(store.picture(first)) < len(picture)
    assert store._connection.execute("SELECT refs FROM blob").fetchall() == [(2,)]


def test_a_picture_that_cannot_be_decoded_stays_as_it_is(store, making):
    (moment_id,) = add(store, making, [0], jpeg=b"not a picture")
    fade(store, now_us=48 * HOUR * US)
    assert store.picture(moment_id) == b"not a picture"


@pytest.mark.parametrize("size", [(1, 1), (8, 3000), (1919, 1081), (512, 512)])
def test_shrinking_keeps_the_shape_and_the_limit(size):
    width, height = size
    picture = simplejpeg.encode_jpeg(np.full((height, width, 3), 128, np.uint8), 80, "BGR")
    _, new_width, new_height = shrink(picture, 512, 45)
    assert max(new_width, new_height) <= 512
    assert abs(new_width / new_height - width / height) * min(new_width, new_height) <= max(1.0, width / height) * 1.01


@given(
    arrivals=st.lists(st.lists(st.integers(0, 400_000), max_size=30), min_size=1, max_size=5),
    pins=st.sets(st.integers(0, 30)),
    breaks=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_however_often_it_runs_the_same_is_kept(making, arrivals, pins, breaks):
    """One stream, in order: fading after each batch or once at the end keeps the same moments."""
    stream = sorted({t for batch in arrivals for t in batch})
    if not stream:
        return
    cuts = [stream[i : i + 11] for i in range(0, len(stream), 11)]
    with making.store() as often, making.store() as once:
        for batch in cuts:
            for store in (often, once):
                ids = add(store, making, [t / 1000 for t in batch])
                with store.transaction() as tx:
                    for i in pins & set(range(len(ids))):
                        tx.pin(ids[i])
            if breaks:
                fade(often, AgeTiers(SMALL))
        for store in (often, once):
            add(store, making, [10**6])
            fade(store, AgeTiers(SMALL))
        assert times(often) == times(once)
        kept = times(once)
        assert kept[0] == stream[0] / 1000
        assert kept[-1] == 10**6


def test_an_empty_memory_fades_to_nothing(store):
    assert fade(store)[0].dropped == 0


def test_tiers_that_make_no_sense_are_refused():
    with pytest.raises(UsageError, match="until_s"):
        AgeTiersSettings(tiers=(TierRule("recent", 10), TierRule("mid", 5), TierRule("long", None)))
    with pytest.raises(UsageError, match="until_s"):
        AgeTiersSettings(tiers=(TierRule("recent", 10),))
    with pytest.raises(UsageError, match="once"):
        AgeTiersSettings(tiers=(TierRule("recent", 10), TierRule("recent", None)))
