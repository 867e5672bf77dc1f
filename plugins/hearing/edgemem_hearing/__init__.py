"""Hearing: voice activity first, then Whisper on each piece, then whose voice it is."""

from __future__ import annotations

from typing import Any

import msgspec

from edgemem.extend.hookspecs import Component, Components, hookimpl


class WhisperSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of the recogniser; a card's `[parameters]`."""

    threads: int = 2
    beam: int = 1
    """Hypotheses that are followed. On ten clips five took twice as long and gained nothing with the base model."""
    compute_type: str = "int8"


class RecogniserSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of the recogniser; a recipe's `hear = {use = "whisper", ...}`."""

    language: str = "en"
    """ISO 639-1 code of what is spoken; "" = found out for each utterance, which goes wrong on short ones."""
    words: bool = False
    """Also the time of every word, for about a fifth more work."""
    speech: float = 0.5
    """Probability above which speech begins; it ends below `silence`."""
    silence: float = 0.35
    pause_s: float = 0.5
    """Silence that ends an utterance."""
    shortest_s: float = 0.25
    """What is shorter is a cough or a click."""
    longest_s: float = 15.0
    """What is longer is cut at its deepest pause."""
    margin_s: float = 0.2
    """Sound kept before and after: voice activity is noticed late."""
    max_no_speech: float = 0.6
    min_confidence: float = 0.35
    max_compression: float = 2.4
    """Guards against invented text: with `no_speech` above and `confidence` below, or either alone far out, it is dropped (the
    thresholds of Whisper's own decoding, section 4.5 of Radford et al. 2022; exp(-1) = 0.37)."""
    max_rtf: float = 0.7
    """Live sound: seconds of work per second of sound that hearing may take. Above it a lighter model is taken, then speech is left out."""
    max_rtf_recorded: float = 0.0
    """The same for recordings, which can wait: 0 = no limit, nothing of them is left out."""
    same_voice: float = 0.78
    """Cosine to a known speaker above which it is the same (see `voices.py` for the measurement)."""
    new_voice: float = 0.72
    """Cosine to all known speakers below which it is somebody new; between the two it is the nearest."""
    other_voice: float = 0.68
    """Cosine of the voices before and after a place inside an utterance below which somebody else goes on (`changes.py`); 0 = not looked
    for. Measured by `tools/eval/diarisation.py`."""
    one_voice: float = 0.86
    """Cosine of two known voices above which they are one person's, looked at every `recluster` utterances."""
    recluster: int = 20
    new_voice_s: float = 1.6
    """Shorter utterances never make a new speaker."""
    max_voices: int = 64

    def __post_init__(self) -> None:
        if not 0 <= self.silence <= self.speech <= 1:
            raise ValueError("silence must not be above speech, both between 0 and 1")
        if not 1 <= self.longest_s <= 29 or self.pause_s <= 0 or self.max_voices < 1:
            raise ValueError("longest_s must be 1 to 29, pause_s above 0, max_voices at least 1")


def _whisper(settings: WhisperSettings, parts: Any) -> Any:
    from edgemem_hearing.whisper import WhisperTranscriber

    return WhisperTranscriber(settings, parts)


def _recogniser(settings: RecogniserSettings, context: Any) -> Any:
    from edgemem_hearing.recogniser import WhisperRecogniser

    return WhisperRecogniser(settings, context.engines)


@hookimpl
def register_decoders() -> Components:
    """The decoder `faster_whisper`."""
    return (Component("faster_whisper", _whisper, WhisperSettings, "what is said, as Whisper understands it"),)


@hookimpl
def register_ears() -> Components:
    """The speech recogniser `whisper`."""
    return (Component("whisper", _recogniser, RecogniserSettings, "who said what and when: Silero VAD, Whisper, Resemblyzer"),)
