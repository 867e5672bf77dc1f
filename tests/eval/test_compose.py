import itertools
import random

import av
import msgspec
import numpy as np
import pytest
from compose import compose, plan, start_time, write_video
from questions import make_questions
from segment import Segment
from world import NEVER, Truth, World

SIZE = (320, 180)


def read(path):
    return msgspec.json.decode(path.read_bytes(), type=Truth)


def pictures(path):
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="gray") for frame in container.decode(video=0)]


def test_a_seed_names_one_stream(catalog, tmp_path):
    first, again = (compose(7, 1 / 3, tmp_path / name, SIZE, questions=20, catalog=catalog) for name in "ab")
    other = compose(8, 1 / 3, tmp_path / "c", SIZE, questions=20, catalog=catalog)
    assert first.read_bytes() == again.read_bytes()
    assert first.read_bytes() != other.read_bytes()
    ours, theirs = pictures(tmp_path / "a/stream.mp4"), pictures(tmp_path / "b/stream.mp4")
    assert len(ours) == len(theirs) == round(read(first).seconds * 10)
    assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_truth_agrees_with_the_frames(catalog, tmp_path):
    """Black stretches are black, frozen ones do not move, blurred ones have no edges, a scene shows its things."""
    mug, meadow = (next(item for item in catalog if item.name == name) for name in ("mug", "meadow"))
    whats = ["scene", "frozen", "black", "blurred"]
    segments = [Segment(2.0 * n, 2.0 * n + 2, what, (mug,) if n < 2 else (), meadow) for n, what in enumerate(whats)]
    write_video(tmp_path / "stream.mp4", segments, SIZE, 9)
    write_video(tmp_path / "bare.mp4", [Segment(0, 2, "scene", (), meadow)], SIZE, 9)
    shown = pictures(tmp_path / "stream.mp4")
    scene, frozen, black, blurred = (shown[round(segment.t0 * 10) : round(segment.t1 * 10)] for segment in segments)
    assert max(picture.max() for picture in black) < 24
    assert np.abs(frozen[1] - frozen[-1].astype(int)).mean() < 1.5 < np.abs(scene[1] - scene[-1].astype(int)).mean()
    assert np.abs(np.diff(blurred[10].astype(int))).mean() < np.abs(np.diff(scene[10].astype(int))).mean()
    assert np.abs(scene[10] - pictures(tmp_path / "bare.mp4")[10].astype(int)).mean() > 5


def test_segments_cover_the_stream_without_gaps(catalog):
    segments = plan(random.Random(3), catalog, 600)
    assert segments[0].t0 == 0
    assert all(a.t1 == b.t0 for a, b in itertools.pairwise(segments))
    assert segments[-1].t1 == pytest.approx(600, abs=4)
    assert all(not segment.tags for segment in segments if segment.what in ("black", "blurred"))


def test_questions_of_every_kind_with_true_answers(catalog):
    rng = random.Random(4)
    segments = plan(rng, catalog, 900)
    world = World(segments, start_time(rng, 4, 900), catalog)
    asked = make_questions(rng, segments, world.start, catalog, 200)
    answerable = [question for question in asked if question.answerable]
    assert {question.check for question in answerable} == {"text", "place", "time", "count", "yesno", "option"}
    assert len(asked) - len(answerable) == 30
    assert len({(question.text, question.options) for question in asked}) == 200
    for question in answerable:
        assert question.spans or question.yes is False
        assert all(0 <= t0 < t1 <= world.end for t0, t1 in question.spans)
        if question.check == "count":
            assert question.count == len(question.spans)
        if question.check == "option":
            assert len(set(question.options)) == len(question.options) > 2


def test_what_is_asked_as_never_shown_was_never_shown(catalog):
    segments = plan(random.Random(5), catalog, 300)
    world = World(segments, start_time(random.Random(5), 5, 300), catalog)
    shown = {word for segment in segments for tag in segment.tags for word in tag.split()}
    for _ in range(200):
        assert world.never(random.Random()).words.lower().split()[-1] not in shown


def test_no_never_shown_name_is_in_the_catalogue():
    from media import load_catalog

    tags = {tag for item in load_catalog() for tag in item.tags}
    assert not tags & {name.strip() for name in NEVER.split("|")}


def test_a_touching_freeze_is_one_showing(catalog):
    mug = next(item for item in catalog if item.name == "mug")
    segments = [Segment(0, 5, "scene", (mug,)), Segment(5, 9, "frozen", (mug,)), Segment(9, 12, "black"), Segment(12, 15, "scene", (mug,))]
    world = World(segments, start_time(random.Random(1), 1, 15), catalog)
    assert world.spans("Mug") == ((0, 9), (12, 15))
    assert world.spans("white mug") == world.spans("dishes") == world.spans("mug")
