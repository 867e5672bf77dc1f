"""Where events end."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from edgemem_vam.events import EventSettings, OtsuEvents
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemem.records import US
from edgemem.see.segment import Mark


def mark(i, angle, offset_s):
    vector = np.array([np.cos(angle), np.sin(angle)], np.float32)
    return Mark(moment_id=i + 1, t_us=1_000 * US + round(offset_s * US), offset_us=round(offset_s * US), vector=vector)


def cuts(segmenter, marks):
    closed = [cut for m in marks for cut in segmenter.observe(m)] + segmenter.flush()
    return [[m.moment_id for m in cut.marks] for cut in closed]


def test_a_boundary_falls_where_the_scene_changes():
    angles = [0.0] * 6 + [1.2] * 5 + [0.3] * 4
    assert cuts(OtsuEvents(), [mark(i, a, 5 * i) for i, a in enumerate(angles)]) == [
        [1, 2, 3, 4, 5, 6],
        [7, 8, 9, 10, 11],
        [12, 13, 14, 15],
    ]


def test_a_boundary_is_told_one_moment_later():
    segmenter = OtsuEvents()
    assert [len(segmenter.observe(mark(i, a, i))) for i, a in enumerate([0, 0, 0, 1.5, 1.5])] == [0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("angles", "expected"), [([], []), ([0.5], [[1]]), ([0, 0], [[1, 2]]), ([0, 1.5], [[1], [2]]), ([0, 1.5, 1.5], [[1], [2, 3]])]
)
def test_short_streams(angles, expected):
    assert cuts(OtsuEvents(), [mark(i, a, i) for i, a in enumerate(angles)]) == expected


def test_a_still_scene_is_one_event_until_the_cap():
    assert cuts(OtsuEvents(), [mark(i, 0.0, 10 * i) for i in range(31)]) == [list(range(1, 32))]
    assert len(cuts(OtsuEvents(), [mark(i, 0.0, 10 * i) for i in range(100)])) == 4


def test_a_long_event_is_split_where_it_changed_most():
    lively = [float(scene) for scene in range(8) for _ in range(3)]
    quiet = [8.0] * 20 + [8.2] * 15  # below the threshold that the lively part taught, but the largest change there is
    closed = cuts(OtsuEvents(EventSettings(floor=0.005)), [mark(i, a, 10 * i) for i, a in enumerate(lively + quiet)])
    assert [len(cut) for cut in closed] == [3] * 8 + [20, 15]


def test_a_pause_longer_than_the_cap_ends_the_event():
    marks = [mark(i, 0.0, s) for i, s in enumerate([0, 5, 10, 400, 405])]
    assert cuts(OtsuEvents(), marks) == [[1, 2, 3], [4, 5]]


def test_a_clock_that_jumps_back_changes_nothing():
    marks = [mark(i, a, 5 * i) for i, a in enumerate([0.0] * 6 + [1.2] * 6)]
    jumped = [
        Mark(moment_id=m.moment_id, t_us=m.t_us - (86_400 * US if i > 3 else 0), offset_us=m.offset_us, vector=m.vector)
        for i, m in enumerate(marks)
    ]
    segmenter = OtsuEvents()
    closed = [cut for m in jumped for cut in segmenter.observe(m)] + segmenter.flush()
    assert [len(cut.marks) for cut in closed] == [6, 6]
    assert all(cut.t0_us <= cut.t1_us for cut in closed)


def test_without_vectors_only_the_cap_cuts():
    marks = [Mark(moment_id=i, t_us=i * US, offset_us=i * 50 * US, vector=np.empty(0, np.float32)) for i in range(12)]
    assert [len(cut) for cut in cuts(OtsuEvents(), marks)] == [7, 5]


steps = st.lists(st.tuples(st.floats(0, 3, width=32), st.integers(1, 200)), max_size=50)


@given(steps, st.lists(st.integers(1, 9), min_size=1, max_size=50))
@settings(max_examples=80)
def test_any_stream_is_covered_once_within_the_cap_and_restarts_change_nothing(drawn, sizes):
    offset, marks = 0, []
    for i, (angle, seconds) in enumerate(drawn):
        marks.append(mark(i, angle, offset))
        offset += seconds
    whole = OtsuEvents()
    closed = [cut for m in marks for cut in whole.observe(m)] + whole.flush()
    assert [m.moment_id for cut in closed for m in cut.marks] == [m.moment_id for m in marks]
    assert all(cut.marks[-1].offset_us - cut.marks[0].offset_us <= 300 * US for cut in closed)
    found, at, segmenter = [], 0, OtsuEvents()
    for size in sizes * 50:
        batch, at = marks[at : at + size], at + size
        found += [cut for m in batch for cut in segmenter.observe(m)]
        state, segmenter = segmenter.state(), OtsuEvents()
        segmenter.restore(state)
    found += segmenter.flush()
    assert [[m.moment_id for m in c.marks] for c in found] == [[m.moment_id for m in c.marks] for c in closed]


@pytest.mark.parametrize("before", [0, 3], ids=["no engine", "another engine"])
def test_another_engine_since_the_last_run_ends_an_event_and_begins_anew(before):
    old, new = OtsuEvents(), OtsuEvents()
    for i in range(4):
        old.observe(msgspec.structs.replace(mark(i, 0, 5 * i), vector=np.full(before, 0.5, np.float32)))
    new.restore(old.state())
    angles = [0.0] * 6 + [1.2] * 5 + [0.3] * 4
    found = cuts(new, [mark(4 + i, a, 20 + 5 * i) for i, a in enumerate(angles)])
    assert found == [[1, 2, 3, 4], [5, 6, 7, 8, 9, 10], [11, 12, 13, 14, 15], [16, 17, 18, 19]]


def test_distances_that_are_none_leave_no_trace():
    bare, fresh = OtsuEvents(), OtsuEvents()
    for i in range(9):
        bare.observe(msgspec.structs.replace(mark(i, 0, i), vector=np.empty(0, np.float32)))
    bare.flush()
    assert bare.threshold() == fresh.threshold()
