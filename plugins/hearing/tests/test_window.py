"""How much of Whisper's 30 s the encoder sees."""

from __future__ import annotations

import faster_whisper
import msgspec
import numpy as np
import pytest
from edgemem_hearing.window import frames_for


@pytest.mark.parametrize(
    ("speech_s", "window_s", "frames"),
    [
        (3.0, 15.0, 1500),
        (7.5, 15.0, 1500),
        (7.6, 15.0, 3000),
        (40.0, 15.0, 3000),
        (3.0, 30.0, 3000),
        (5.0, 10.0, 1000),
        (5.0, 10.01, 1000),
    ],
)
def test_speech_fills_at_most_half_of_the_window(speech_s: float, window_s: float, frames: int) -> None:
    """100 columns a second, an even number of them."""
    assert frames_for(speech_s, window_s) == frames


def test_a_shorter_window_is_for_a_known_language_without_times(session, clips, monkeypatch):
    seen = []
    whole = faster_whisper.WhisperModel.encode

    def encode(model, features):
        seen.append(features.shape[-1])
        return whole(model, features)

    monkeypatch.setattr(faster_whisper.WhisperModel, "encode", encode)
    transcriber, (samples, text) = session.engines.role("transcribe"), clips["0930"]
    transcriber.transcribe(samples, language="en")
    assert seen == [3000], "the window that it was trained with, by default"
    seen.clear()
    monkeypatch.setattr(transcriber, "_settings", msgspec.structs.replace(transcriber._settings, window_s=15.0))
    phrases = [
        transcriber.transcribe(samples, language="en"),
        transcriber.transcribe(np.concatenate([samples, np.zeros(16 * 16_000 - len(samples), np.float32)]), language="en"),
        transcriber.transcribe(samples, language="en", words=True),
        transcriber.transcribe(samples),
        transcriber.transcribe(samples, language="en"),
    ]
    assert seen == [1500, 3000, 3000, 3000, 1500]
    assert phrases[0].text == phrases[4].text
    assert phrases[2].words
    assert len(phrases[0].text.split()) == len(text.split())
