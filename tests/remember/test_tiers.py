"""Old moments become fewer and smaller; representatives are kept."""

from __future__ import annotations

import numpy as np
import pytest
import simplejpeg
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemem.errors import MemoryDirError, UsageError
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
@settings(max_examples=25)
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


def glimpse(store, making, at, count=12, **more):
    """Ordinary moments of one scene, two seconds apart, and one that is unlike them."""
    scene = making.unit(1)
    for i in range(count):
        vector = making.unit(2) if i == at else scene + 0.05 * making.unit(10 + i)
        add(store, making, [1000 + 2 * i], vector=vector / np.linalg.norm(vector), **(more if i == at else {}))
    add(store, making, [10_000])


@pytest.mark.parametrize("at", [0, 1, 5, 6, 10])
def test_best_keeps_the_glimpse_of_a_stretch_and_last_the_last(store, making, at):
    add(store, making, [0])
    glimpse(store, making, at)
    tiers = (TierRule("recent", 10), TierRule("long", None, gap_s=24))
    fade(store, AgeTiers(AgeTiersSettings(tiers=tiers, keep="best")))
    assert 1000 + 2 * at in times(store)
    assert len(times(store)) <= 5


def test_best_keeps_what_was_seen_once(store, making):
    scene = making.unit(1)
    for i in range(12):
        seen = (making.label("street", 0.9), *([making.label("red fox", 0.5)] if i == 3 else []))
        add(store, making, [1000 + i], vector=scene, seen=seen)
    add(store, making, [10_000])
    tiers = (TierRule("recent", 10), TierRule("long", None, gap_s=2000))
    fade(store, AgeTiers(AgeTiersSettings(tiers=tiers, keep="best")))
    assert times(store) == [1000, 1003, 10_000]


def test_best_without_anything_to_tell_them_apart_is_the_last(store, making):
    for i in range(12):
        add(store, making, [1000 + i], vector=making.unit(1))
    add(store, making, [10_000])
    tiers = (TierRule("recent", 10), TierRule("long", None, gap_s=2000))
    fade(store, AgeTiers(AgeTiersSettings(tiers=tiers, keep="best")))
    assert times(store) == [1000, 1011, 10_000]


def test_the_last_tier_may_be_stubs_that_keep_everything_but_the_picture(store, making):
    """The stub rule alone: old moments have no picture and are still found; protected moments never become stubs."""
    ids = add(store, making, range(0, 60, 10), jpeg=jpeg(64, 64), seen=(making.label("cat", 0.9),))
    with store.transaction() as tx:
        tx.add_segment(making.segment(ids[1:3], 10 * US, 20 * US, representative_id=ids[1]))
        tx.pin(ids[2])
    add(store, making, [1000])
    tiers = (TierRule("recent", 10), TierRule("stub", None))
    steps = fade(store, AgeTiers(AgeTiersSettings(tiers=tiers, step_moments=2)))
    assert len(steps) == 2  # three loose moments, two a step
    with store.view() as view:
        found = {m.t_us // US: m.tier for m in view.moments()}
        assert found == {0: "recent", 10: "recent", 20: "recent", 30: "stub", 40: "stub", 50: "stub", 1000: "recent"}
        assert all(view.picture(moment_id) for moment_id in ids[:3])
        with pytest.raises(MemoryDirError, match="faded"):
            view.picture(ids[4])
        assert {posting.moment_id for posting in view.postings(["cat"])} == set(ids)
        assert {moment_id for moment_id, _ in view.vector_search(making.space.name, making.unit(0), 20)} >= set(ids)
    assert [step.recoded for step in fade(store, AgeTiers(AgeTiersSettings(tiers=tiers)))] == [0]


def test_an_empty_memory_fades_to_nothing(store):
    assert fade(store)[0].dropped == 0


def test_tiers_that_make_no_sense_are_refused():
    with pytest.raises(UsageError, match="until_s"):
        AgeTiersSettings(tiers=(TierRule("recent", 10), TierRule("mid", 5), TierRule("long", None)))
    with pytest.raises(UsageError, match="until_s"):
        AgeTiersSettings(tiers=(TierRule("recent", 10),))
    with pytest.raises(UsageError, match="once"):
        AgeTiersSettings(tiers=(TierRule("recent", 10), TierRule("recent", None)))
