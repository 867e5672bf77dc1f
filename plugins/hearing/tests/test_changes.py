"""Another voice inside unbroken speech, and voices that turn out to be one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from edgemem_hearing import RecogniserSettings
from edgemem_hearing.changes import STEP_S, WINDOW_S, between_speakers, find_changes, quietest
from edgemem_hearing.recogniser import WhisperRecogniser
from edgemem_hearing.voices import Voices
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemem.records import SOUND_RATE_HZ, US, Sound

RATE = SOUND_RATE_HZ


def tone(kind, seconds, rng=None):
    """Sound whose voice is its mean: person 1 is 0.1, person 2 is 0.2 ... with a little noise."""
    noise = (rng or np.random.default_rng(0)).normal(0, 0.01, round(seconds * RATE))
    return (kind / 10 + noise).astype(np.float32)


def by_mean(samples):
    """A voice for each tenth, blended where a window holds two."""
    shares = [np.mean(np.abs(samples - kind / 10) < 0.05) for kind in range(1, 6)]
    vector = np.array([*shares, 1e-3], np.float32)
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize(
    ("parts", "cuts"),
    [
        ([(1, 6)], []),
        ([(1, 4), (2, 4)], [4]),
        ([(1, 3), (2, 3), (1, 3)], [3, 6]),
        ([(1, 2), (2, 2), (3, 2), (1, 4)], [2, 4, 6]),
        ([(1, 1.5), (2, 1.5)], []),  # shorter than two windows
        ([(1, 6), (2, 0.5), (1, 6)], []),  # a word in between says too little of a voice
    ],
)
def test_a_change_is_found_where_another_voice_goes_on(parts, cuts):
    sound = np.concatenate([tone(kind, seconds) for kind, seconds in parts])
    found = [at / RATE for at in find_changes(sound, by_mean, 0.5)]
    assert found == pytest.approx(cuts, abs=STEP_S / 2 + 0.31)


@given(st.lists(st.tuples(st.integers(1, 5), st.floats(0.5, 5)), min_size=1, max_size=6))
@settings(max_examples=40)
def test_changes_are_in_order_and_leave_a_voice_its_time(parts):
    sound = np.concatenate([tone(kind, seconds) for kind, seconds in parts])
    found = find_changes(sound, by_mean, 0.5)
    gaps = np.diff([0, *found, len(sound)]) / RATE
    assert found == sorted(found)
    assert all(gap >= WINDOW_S - 2 * 0.31 for gap in gaps) or not found


@pytest.mark.parametrize(
    ("parts", "kept"),
    [
        ("a4 a4", []),
        ("a4 b4", [4]),
        ("a4 b4 b4 a1", [4, 12]),
        ("a4 -1 a4", []),
        ("a4 -1 b4", [5]),
        ("-1 b4", []),
        ("-1 b4 b4 c1", [9]),
        ("-4 -4", [4]),
        ("-2 a4", [2]),
        ("a4 -2", [4]),
        ("a4 -1", []),
        ("-1 -1 -1", []),
        ("-1 -1 -2", [2]),
        ("a1 b1", [1]),
        ("a4", []),
    ],
)
def test_only_cuts_that_tell_somebody_apart_are_kept(parts, kept):
    """Letters are known voices, "-" is none; the number is the length of a part, and 2 is enough for a new voice."""
    sound = np.concatenate([np.full(int(part[1:]), ord(part[0]), np.float32) for part in parts.split()])
    cuts = np.cumsum([int(part[1:]) for part in parts.split()])[:-1].tolist()
    assert between_speakers(sound, cuts, lambda samples: chr(int(samples[0])).strip("-"), 2) == kept


def test_the_likely_voice_is_the_nearest_known_one_and_nothing_is_remembered():
    voices = Voices(RecogniserSettings(same_voice=0.95, new_voice=0.9), "s")
    assert voices.likely(person(1, 0, 0)) == ""
    voices.name(person(1, 0, 0), 6)
    voices.name(person(0, 1, 0), 6)
    state = voices.state()
    assert [voices.likely(one) for one in (person(0.91, 0.41, 0), person(0.3, 1, 0), person(0.89, 0.456, 0))] == [
        "speaker 1",
        "speaker 2",
        "",
    ]
    assert voices.state() == state


def test_a_cut_is_moved_to_the_quietest_place_and_no_further_than_a_third_of_a_second():
    sound = np.ones(4 * RATE, np.float32)
    sound[2 * RATE + 3200 : 2 * RATE + 3360] = 0
    assert quietest(sound, 2 * RATE) == 2 * RATE + 3200
    sound[:] = 1
    sound[2 * RATE + 8000 : 2 * RATE + 9000] = 0
    assert abs(quietest(sound, 2 * RATE) - 2 * RATE) <= 160
    assert quietest(np.ones(50, np.float32), 20) == 20


def person(*shares):
    vector = np.array(shares, np.float32)
    return vector / np.linalg.norm(vector)


def test_voices_that_come_to_be_alike_are_united_under_the_older_number():
    voices = Voices(RecogniserSettings(same_voice=0.95, new_voice=0.95), "s")
    for vector in (person(1, 0, 0), person(0.9, 0.43, 0), person(0, 0, 1)):
        voices.name(vector, 6)
    assert voices.unite() == [("speaker 2", "speaker 1")]
    assert voices.unite() == []
    assert voices.name(person(0.97, 0.22, 0), 3) == "speaker 1"
    assert voices.name(person(0, 0, 1), 3) == "speaker 3"
    assert voices.name(person(0, 1, 0), 3) == "speaker 4", "the number 2 is not given again"


def test_a_voice_that_is_hardly_known_is_not_united():
    voices = Voices(RecogniserSettings(same_voice=0.95, new_voice=0.95), "s")
    voices.name(person(1, 0, 0), 6)
    voices.name(person(0.9, 0.43, 0), 4.9)
    assert voices.unite() == []
    voices = Voices(RecogniserSettings(same_voice=0.95, new_voice=0.95, one_voice=0.92), "s")
    voices.name(person(1, 0, 0), 6)
    voices.name(person(0.9, 0.43, 0), 6)
    assert voices.unite() == [], "cosine 0.90"


def test_the_longer_heard_voice_weighs_more():
    voices = Voices(RecogniserSettings(same_voice=0.999, new_voice=0.999, one_voice=0.79), "s")
    voices.name(person(1, 0, 0), 45)
    voices.name(person(0.8, 0.6, 0), 15)
    assert voices.unite() == [("speaker 2", "speaker 1")]
    again = Voices(RecogniserSettings(same_voice=0.999, new_voice=0.999), "s")
    again.restore(voices.state())
    mean = person(45 + 15 * 0.8, 15 * 0.6, 0)
    assert again.name(mean, 3) == "speaker 1"


def trimmed(samples):
    loud = np.flatnonzero(np.abs(samples) > 0.02)
    return samples[loud[0] : loud[-1] + 1]


def test_two_readers_without_a_pause_are_two_utterances(session, clips):
    """Real speech: the last word of one is followed at once by the first of the other."""
    recogniser = WhisperRecogniser(RecogniserSettings(), session.engines)
    first, second = (trimmed(clips[name][0]) for name in ("0920", "card"))
    sound = np.concatenate([first, second, np.zeros(RATE, np.float32)])
    found = []
    for at in range(0, len(sound), 4000):
        us = at * US // RATE
        found += recogniser.hear(Sound(stream="a", t_us=10**15 + us, offset_us=us, samples=sound[at : at + 4000]))
    found += recogniser.flush()
    assert len({one.speaker for one in found} - {""}) == 2
    assert found[0].speaker != found[-1].speaker
    assert found[-1].offset_us / US == pytest.approx(len(first) / RATE, abs=1.0)
    assert all(a.offset_us + a.t1_us - a.t0_us <= b.offset_us + 1000 for a, b in pairwise(found))
