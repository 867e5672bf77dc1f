"""The recogniser with its real models, on real speech."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import wave
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError

import edgemem_hearing
import numpy as np
import pytest
from edgemem_hearing import RecogniserSettings
from edgemem_hearing.recogniser import WhisperRecogniser, accepted_text
from edgemem_hearing.whisper import _phrase
from faster_whisper.transcribe import Segment

from edgemem.errors import EngineError
from edgemem.infer.engines import Engines
from edgemem.infer.large_run import LARGE_RUN
from edgemem.infer.roles import Phrase
from edgemem.records import SOUND_RATE_HZ, US, Sound

PAUSE = np.zeros(SOUND_RATE_HZ, np.float32)


@pytest.fixture(scope="module")
def recogniser(session):
    return WhisperRecogniser(RecogniserSettings(), session.engines)


def heard(recogniser, parts, *, offset_us=0, live=False, step=4000):
    """What is heard in the parts, one after the other, given in chunks of a quarter of a second."""
    samples = np.concatenate(parts)
    found = []
    for at in range(0, len(samples), step):
        us = offset_us + at * US // SOUND_RATE_HZ
        found += recogniser.hear(Sound(stream="a", t_us=10**15 + us, offset_us=us, samples=samples[at : at + step], live=live))
    return found + recogniser.flush()


def words(text):
    return re.findall(r"[a-z']+", text.lower().replace("mr.", "mister"))


def test_sentences_are_heard_apart_where_they_were_said_by_whom_they_were_said(session, clips):
    recogniser = WhisperRecogniser(RecogniserSettings(), session.engines)
    names = ["0870", "0930", "card", "0920"]
    begins = np.cumsum([0] + [len(clips[name][0]) + len(PAUSE) for name in names[:-1]]) / SOUND_RATE_HZ
    found = heard(recogniser, [part for name in names for part in (clips[name][0], PAUSE)])
    assert len(found) == 4
    for one, name, begin in zip(found, names, begins, strict=True):
        assert one.offset_us / US == pytest.approx(begin, abs=0.3)
        assert one.t0_us - one.offset_us == 10**15
        assert one.t1_us - one.t0_us == pytest.approx(len(clips[name][0]) * US / SOUND_RATE_HZ, abs=0.5 * US)
    wanted = words(clips["0870"][1])
    assert sum(a == b for a, b in zip(words(found[0].text), wanted, strict=False)) >= 0.8 * len(wanted)
    assert found[0].confidence > 0.6
    assert [one.speaker for one in found] == ["speaker 1", "speaker 1", "speaker 2", "speaker 1"]
    again = WhisperRecogniser(RecogniserSettings(), session.engines)
    again.restore(recogniser.state())
    assert heard(again, [clips["0890"][0], PAUSE])[0].speaker == "speaker 1"  # after a restart, with words never heard before


def test_the_encoder_waits_for_its_turn(session, clips):
    transcriber = session.engines.role("transcribe")
    with ThreadPoolExecutor() as pool:
        with LARGE_RUN:
            heard_words = pool.submit(transcriber.transcribe, clips["card"][0])
            with pytest.raises(FutureTimeoutError):
                heard_words.result(2)
        assert heard_words.result(60).text


def test_silence_noise_and_music_say_nothing_and_silence_needs_no_recogniser(session):
    recogniser = WhisperRecogniser(RecogniserSettings(), _without_transcriber(session))
    assert heard(recogniser, [np.zeros(20 * SOUND_RATE_HZ, np.float32)]) == []
    assert recogniser.until_us == pytest.approx(20 * US, abs=0.3 * US)
    rng = np.random.default_rng(0)
    assert heard(recogniser, [rng.normal(0, 0.05, 5 * SOUND_RATE_HZ).astype(np.float32)], offset_us=30 * US) == []
    t = np.arange(8 * SOUND_RATE_HZ) / SOUND_RATE_HZ
    notes = 220 * 2 ** (np.array([0, 4, 7, 12, 7, 4, 2, 5])[(t % 8).astype(int)] / 12)
    music = sum(0.2 / k * np.sin(2 * np.pi * k * np.cumsum(notes) / SOUND_RATE_HZ) for k in (1, 2, 3, 5)).astype(np.float32)
    assert heard(WhisperRecogniser(RecogniserSettings(), session.engines), [music]) == []


def _without_transcriber(session):
    class Deaf(Engines):
        def of_card(self, name):
            raise AssertionError(f"{name} was loaded")

    return Deaf(session.engines.cards, session.plugins.components("runtimes"), session.plugins.components("decoders"), session.home)


def test_beyond_its_budget_live_speech_is_left_out_and_said(session, clips):
    ticks = iter(range(10**9))
    recogniser = WhisperRecogniser(RecogniserSettings(max_rtf=0.1, language="en"), session.engines, clock=lambda: float(next(ticks) * 30))
    found = heard(recogniser, [clips["0880"][0], PAUSE] * 3, live=True, step=8000)
    assert len(found) < 3
    assert any("left out" in line for line in recogniser.notes)


def test_a_recording_may_take_its_time(session, clips):
    recogniser = WhisperRecogniser(RecogniserSettings(max_rtf=0.01), session.engines)
    assert len(heard(recogniser, [clips["0880"][0], PAUSE] * 2)) == 2
    assert recogniser.notes == {}


def test_a_gap_ends_what_was_being_said(recogniser, clips):
    samples, _ = clips["0930"]
    half = len(samples) // 2
    first = recogniser.hear(Sound(stream="b", t_us=0, offset_us=0, samples=samples[:half]))
    later = recogniser.hear(Sound(stream="b", t_us=60 * US, offset_us=60 * US, samples=samples[half:]))
    assert first == []
    assert [one.offset_us < 2 * US for one in later + recogniser.flush()][:1] == [True]


def test_words_have_times_when_asked_for(session, clips):
    recogniser = WhisperRecogniser(RecogniserSettings(words=True), session.engines)
    (one,) = heard(recogniser, [clips["0930"][0], PAUSE], offset_us=100 * US)
    assert " ".join(word.text for word in one.words) == one.text
    assert all(one.offset_us <= word.t0_us <= word.t1_us <= one.offset_us + one.t1_us - one.t0_us + US // 2 for word in one.words)


def test_a_missing_model_says_what_to_fetch(session, tmp_path):
    engines = Engines(session.cards, session.plugins.components("runtimes"), session.plugins.components("decoders"), tmp_path)
    with pytest.raises(EngineError, match="edgemem engines fetch"):
        WhisperRecogniser(RecogniserSettings(), engines)


@pytest.mark.parametrize(
    ("text", "confidence", "no_speech", "compression", "speech", "believed"),
    [
        ("I will bring the key.", 0.8, 0.05, 1.0, 0.9, "I will bring the key."),
        ("(sighs) I will [Music] bring it ♪", 0.8, 0.05, 1.0, 0.9, "I will bring it"),
        ("[Music]", 0.9, 0.05, 1.0, 0.9, ""),
        ("...", 0.9, 0.05, 1.0, 0.9, ""),
        ("Thank you.", 0.8, 0.3, 1.0, 0.5, ""),
        ("Thank you.", 0.8, 0.1, 1.0, 0.95, "Thank you."),
        ("no no no no no no", 0.9, 0.05, 1.5, 0.9, ""),
        ("I am here. I am here. I am here. I am here. I am here.", 0.9, 0.05, 2.0, 0.9, ""),
        ("over and over and over again", 0.9, 0.05, 3.0, 0.9, ""),
        ("a murmur", 0.3, 0.8, 1.0, 0.9, ""),
        ("a murmur", 0.1, 0.1, 1.0, 0.9, ""),
    ],
)
def test_invented_text_is_not_believed(text, confidence, no_speech, compression, speech, believed):
    phrase = Phrase(text=text, confidence=confidence, no_speech=no_speech, compression=compression)
    assert accepted_text(phrase, speech, "", RecogniserSettings()) == believed


@pytest.mark.parametrize(
    ("heard", "meant"),
    [
        ("My shoe size is 4d1.", "My shoe size is 41."),
        ("Size 4v1, please.", "Size 41, please."),
        ("8d5 and 2D9", "85 and 29"),
        ("The size is 4V1, or 6C1.", "The size is 41, or 61."),
        ("The Code is 5d2.", "The Code is 5d2."),
        ("seat 4D, row 4d", "seat 4D, row 4d"),
        ("1d1, 4d0, 24d1, 4d12 and 4b1", "1d1, 4d0, 24d1, 4d12 and 4b1"),
    ],
)
def test_a_flapped_t_is_no_letter_of_a_number(heard, meant):
    segment = Segment(
        id=1, seek=0, start=0.0, end=1.0, text=f" {heard}", tokens=[1], avg_logprob=-0.5, compression_ratio=1.0, no_speech_prob=0.1,
        words=None, temperature=0.0,
    )  # fmt: skip
    assert _phrase([segment]).text == meant


@pytest.mark.skipif(
    shutil.which("espeak-ng") is None, reason="espeak-ng is not installed, so nothing can be spoken: apt-get install espeak-ng"
)
@pytest.mark.parametrize(("said", "written"), [("forty three", False), ("sixty three", False), ("four point three", True)])
def test_a_point_is_written_only_where_it_was_said(session, said, written):
    command = ["espeak-ng", "-v", "en-gb", "-s", "165", "-g", "3", "--stdout", f"My brother's shoe size is {said}."]
    with wave.open(io.BytesIO(subprocess.run(command, capture_output=True, check=True).stdout)) as sound:
        rate, samples = sound.getframerate(), np.frombuffer(sound.readframes(sound.getnframes()), "<i2").astype(np.float32) / 32768
    at = np.arange(0, len(samples), rate / SOUND_RATE_HZ)
    heard = np.concatenate([np.zeros(4000), np.interp(at, np.arange(len(samples)), samples), np.zeros(4000)]).astype(np.float32)
    assert bool(re.search(r"\d\.\d", session.engines.role("transcribe").transcribe(heard, language="en").text)) is written


def test_the_plugin_keeps_the_contract():
    from edgemem.extend.testing import check_plugin

    check_plugin(edgemem_hearing)
