"""Hearing: voice activity detection, then Whisper for each piece, then identification of the voice."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from edgemem.extend.hookspecs import Component, Components, hookimpl


class WhisperSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of the recogniser; a card's `[parameters]`."""

    threads: int = 2
    beam: Annotated[int, msgspec.Meta(ge=1, le=20)] = 5
    """Width of the beam search. Of 1,029 words read or spoken by a voice program 88 were wrong with 5 and 104 with 1, of 962 of the life
    logs 46 and 51, for the same processor time: the encoder takes most of it (`tools/eval/window.py`)."""
    compute_type: str = "int8"
    window_s: Annotated[float, msgspec.Meta(ge=1, le=30)] = 30.0
    """What the encoder sees of pieces of at most half of this length, in seconds; Whisper was trained with 30.

    With 15 such pieces take a third of the processor time and have as many wrong words, but other ones: on the life logs four answers were
    lost and two won. With 10 some texts repeat themselves (docs/benchmarks.md, window).
    """


class RecogniserSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of the recogniser; a recipe's `hear = {use = "whisper", ...}`."""

    language: str = "en"
    """ISO 639-1 code of the language; "" = detect it for each utterance, which is often wrong for short ones."""
    words: bool = False
    """Whether to return the time of every word, for about a fifth more work."""
    speech: float = 0.5
    """Probability above which speech begins; it ends below `silence`."""
    silence: float = 0.35
    pause_s: float = 0.5
    """Length of silence that ends an utterance."""
    shortest_s: float = 0.25
    """Shorter pieces are ignored, such as a cough or a click."""
    longest_s: float = 15.0
    """Longer pieces are cut at their quietest point."""
    margin_s: float = 0.2
    """Sound that is added before and after a piece, because voice activity is detected late."""
    max_no_speech: float = 0.6
    min_confidence: float = 0.35
    max_compression: float = 2.4
    """Limits against invented text: a text is dropped if `no_speech` is above and `confidence` below its limit, or if one of them is far
    beyond it (the thresholds of Whisper's own decoding, section 4.5 of Radford et al. 2022; exp(-1) = 0.37)."""
    max_rtf: float = 0.7
    """Live sound: most seconds of work per second of sound. Above this, a smaller model is used; if that is not enough, speech is left
    out."""
    max_rtf_recorded: float = 0.0
    """The same for recordings, which can wait: 0 = no limit, nothing of them is left out."""
    same_voice: float = 0.78
    """An utterance with a larger cosine to a known speaker is from that speaker (measured in `voices.py`)."""
    new_voice: float = 0.72
    """An utterance with a smaller cosine to all known speakers is from a new speaker; between the two values it is from the nearest."""
    other_voice: float = 0.68
    """A smaller cosine between the voices before and after a place inside an utterance means that another speaker continues there, and the
    utterance is cut (`changes.py`); 0 = not checked. Measured by `tools/eval/diarisation.py`."""
    one_voice: float = 0.86
    """Two known voices with a larger cosine are one speaker; checked every `recluster` utterances."""
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
    return (Component("faster_whisper", _whisper, WhisperSettings, "speech recognition by Whisper"),)


@hookimpl
def register_ears() -> Components:
    """The speech recogniser `whisper`."""
    return (Component("whisper", _recogniser, RecogniserSettings, "utterances with times and speakers: Silero VAD, Whisper, Resemblyzer"),)
