"""Where utterances begin and end, and which voice belongs to whom."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from edgemem_hearing import RecogniserSettings
from edgemem_hearing.cut import Cutter
from edgemem_hearing.voices import Voices
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemem.hear.voices import numbered_after
from edgemem.records import SOUND_RATE_HZ, US, Sound

WINDOW = 512
SPAN = st.tuples(st.booleans(), st.integers(1, 60))


class Loudness:
    """A simple detector: loud windows count as speech."""

    window = WINDOW

    def speech(self, samples, state=None):
        return (np.abs(samples.reshape(-1, WINDOW)).max(axis=1) > 0.5).astype(np.float32), state


def signal(spans):
    """Sound of (loud, windows) spans. The value of each sample shows its position."""
    return np.concatenate([np.full(count * WINDOW, 1.0 if loud else 0.1, np.float32) for loud, count in spans])


def cut(samples, sizes, **parameters):
    cutter = Cutter(RecogniserSettings(**parameters), Loudness())
    pieces, at, known_us = [], 0, -(1 << 62)
    for size in sizes:
        part = samples[at : at + size]
        found = list(cutter.add(Sound(stream="a", t_us=10**9 + at * US // SOUND_RATE_HZ, offset_us=at * US // SOUND_RATE_HZ, samples=part)))
        assert all(piece.sound.offset_us >= known_us - 2 for piece in found), "a piece began before what was said to be settled"
        known_us = max(known_us, cutter.until_us)
        pieces += found
        at += len(part)
    return pieces + list(cutter.flush())


@given(st.lists(SPAN, min_size=1, max_size=12), st.lists(st.integers(200, 9000), min_size=1, max_size=8))
@settings(max_examples=50)
def test_every_loud_stretch_is_in_a_piece_however_the_sound_is_chunked(spans, sizes):
    samples = signal(spans)
    chunks = [*sizes] * (len(samples) // sum(sizes) + 1)
    pieces = cut(samples, chunks, shortest_s=0.03, longest_s=5)
    assert all(a.sound.offset_us < b.sound.offset_us for a, b in pairwise(pieces))
    held = np.zeros(len(samples) + SOUND_RATE_HZ, bool)
    for piece in pieces:
        begin = round(piece.sound.offset_us * SOUND_RATE_HZ / US)
        assert np.array_equal(piece.sound.samples, samples[begin : begin + len(piece.sound.samples)])
        assert piece.sound.t_us - piece.sound.offset_us == pytest.approx(10**9, abs=2)
        assert len(piece.sound.samples) <= (5 + 0.5 + 1) * SOUND_RATE_HZ
        held[begin : begin + len(piece.sound.samples)] = True
    whole = len(samples) // WINDOW * WINDOW
    assert held[:whole][samples[:whole] > 0.5].all()


def test_a_pause_ends_an_utterance_and_a_breath_does_not():
    breath, pause = int(0.3 * SOUND_RATE_HZ / WINDOW), int(0.8 * SOUND_RATE_HZ / WINDOW)
    samples = signal([(False, 40), (True, 40), (False, breath), (True, 40), (False, pause), (True, 40), (False, 40)])
    pieces = cut(samples, [4000] * 100)
    assert len(pieces) == 2
    assert pieces[0].sound.offset_us / US == pytest.approx(40 * WINDOW / SOUND_RATE_HZ - 0.2, abs=0.04)


def test_a_click_is_no_utterance_and_a_long_speech_is_cut_at_its_breath():
    assert cut(signal([(False, 40), (True, 4), (False, 40)]), [4000] * 50) == []
    pieces = cut(signal([(True, 250), (False, 6), (True, 150), (False, 40)]), [4000] * 100, longest_s=10)
    assert len(pieces) == 2
    assert pieces[0].sound.duration_us / US == pytest.approx(253 * WINDOW / SOUND_RATE_HZ, abs=0.35)


def person(number, noise=0.0, seed=0):
    rng = np.random.default_rng(number)
    vector = rng.normal(size=64) + noise * np.random.default_rng(1000 + seed).normal(size=64)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def test_voices_are_between_speakers_and_known_again_after_a_restart():
    voices = Voices(RecogniserSettings(), "s")
    assert [voices.name(person(k, 0.3, i), 3) for i, k in enumerate([7, 7, 8, 7, 8])] == ["speaker 1"] * 2 + [
        "speaker 2",
        "speaker 1",
        "speaker 2",
    ]
    again = Voices(RecogniserSettings(), "s")
    again.restore(voices.state())
    assert again.name(person(8, 0.3, 9), 3) == "speaker 2"
    assert again.name(person(9), 3) == "speaker 3"


def test_a_short_utterance_makes_nobody_new():
    voices = Voices(RecogniserSettings(), "s")
    assert voices.name(person(1), 0.8) == ""
    assert voices.name(person(1), 3) == "speaker 1"
    assert voices.name(person(1, 0.2), 0.8) == "speaker 1"


def test_voices_of_another_embedder_are_refused():
    voices = Voices(RecogniserSettings(), "s")
    with pytest.raises(ValueError, match="in the space s"):
        Voices(RecogniserSettings(), "t").restore(voices.state())


def test_no_number_is_given_again_by_another_embedder_or_after_an_import():
    voices = Voices(RecogniserSettings(), "s")
    voices.name(person(1), 3)
    other = Voices(RecogniserSettings(), "t")
    with pytest.raises(ValueError, match="in the space s"):
        other.restore(voices.state())
    assert other.name(person(1), 3) == "speaker 2"
    first = Voices(RecogniserSettings(), "s")
    first.restore(numbered_after(b"", 4))
    assert first.name(person(1), 3) == "speaker 5"
    more = Voices(RecogniserSettings(), "s")
    more.restore(numbered_after(voices.state(), 4))
    assert [more.name(person(k), 3) for k in (1, 2)] == ["speaker 1", "speaker 5"]


@given(st.lists(st.integers(0, 200), max_size=120))
def test_however_many_come_there_are_never_more_than_the_bound_and_no_number_comes_back(numbers):
    voices = Voices(RecogniserSettings(max_voices=4), "s")
    given_to: dict[str, int] = {}
    for number in numbers:
        name = voices.name(person(number), 3)
        assert given_to.setdefault(name, number) == number
    assert len(voices.state()) < 4 * 300


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 8e5, -260.0])
def test_a_damaged_packet_does_not_drown_what_is_said_around_it(bad):
    """Decoded it is far beyond full scale; a recogniser would make everything else silent beside it."""
    samples = 0.9 * signal([(False, 20), (True, 60), (False, 40)])
    samples[30 * WINDOW : 32 * WINDOW] = bad
    (piece,) = cut(samples, [4096] * 16)
    assert np.isfinite(piece.sound.samples).all()
    assert np.abs(piece.sound.samples).max() <= 1.0
