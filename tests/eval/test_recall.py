"""recall@W, and the dialogue of a composed stream: they do what the table states."""

import itertools
import random

import pytest
from compose import plan, start_time
from recall import WINDOWS_S, hits, recall_at, table
from script import PEOPLE, TOOLS, dialogue, questions, srt
from world import Truth, World


def test_recall_grows_with_the_window():
    asked = [([(100.0, 100.0), (500.0, 505.0)], [(104.0, 104.0), (530.0, 530.0)])]
    assert [recall_at(asked, w) for w in (10, 40, 60)] == [0.5, 0.5, 1.0]
    values = [recall_at(asked, w) for w in WINDOWS_S]
    assert values == sorted(values)


def test_the_window_is_centred_on_the_true_moment():
    assert hits([(100.0, 100.0)], [(95.0, 95.0)], 10) == 1
    assert hits([(100.0, 100.0)], [(94.9, 94.9)], 10) == 0
    assert hits([(100.0, 110.0)], [(105.0, 105.0)], 0) == 1


def test_questions_without_a_true_moment_do_not_count_and_nothing_selected_is_nothing_hit():
    assert recall_at([([], [(1.0, 1.0)]), ([(1.0, 1.0)], [])], 3600) == 0.0
    assert recall_at([], 10) == 0.0
    assert "transcript" in table([([(1.0, 1.0)], {"transcript": [(1.0, 1.0)]})])


@pytest.fixture
def spoken(catalog):
    segments = plan(random.Random(3), catalog, 600)
    return segments, dialogue(random.Random(4), segments)


def test_everything_is_said_while_something_is_in_view(spoken):
    segments, said = spoken
    assert len(said) > 6
    assert all(any(s.t0 <= one.t0 and one.t1 <= s.t1 for s in segments) for one in said)
    assert all(a.t1 < b.t0 for a, b in itertools.pairwise(said))


def test_the_truth_of_a_question_is_where_it_was_said(spoken):
    segments, said = spoken
    start = start_time(random.Random(5), 101, 600)
    truth = Truth(101, "stream.mp4", start.isoformat().replace("+00:00", "Z"), segments[-1].t1, (640, 360), segments, [])
    asked = questions(truth, World(segments, start, []), said)
    assert asked
    for question in asked:
        named = [word for word in (*PEOPLE, *TOOLS) if word in question.text]
        inside = [s for s in said if any(t0 <= s.t0 and s.t1 <= t1 for t0, t1 in question.spans)]
        assert inside
        if named and named[0] in TOOLS:
            assert all(named[0] in s.text for s in inside)


def test_subtitles_carry_the_speaker(spoken):
    text = srt(spoken[1])
    assert text.startswith("1\n00:0")
    assert all(f"{one.speaker.capitalize()}: {one.text}" in text for one in spoken[1])
