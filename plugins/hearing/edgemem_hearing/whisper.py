"""Speech recognition: Whisper with faster-whisper, for pieces of at most 30 s."""

from __future__ import annotations

import math
import os
import re
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from edgemem.errors import EngineError
from edgemem.infer.engines import DecoderParts
from edgemem.infer.roles import Phrase
from edgemem.records import Vector

if TYPE_CHECKING:
    from edgemem_hearing import WhisperSettings

_TOKENS_PER_S, _TOKENS = 10, 12
"""Most tokens of an utterance, per second and in addition: fast speech has six per second. It limits the time if the decoder is in a
loop."""


_FLAPPED = re.compile(r"\b([2-9])[cdv]([1-9])\b", re.IGNORECASE)
_LETTERED = re.compile(
    r"\b(?:code|pass\w*|pin|room|flat|plate|locker|serial|post ?code|model|key|licen[cs]e|combination)s?\b", re.IGNORECASE
)
"""How "fordy-one" or "six-ty one" is sometimes written: two of 576 numbers by five voices of eSpeak, three of about 270 utterances of life
logs. "Four D one" is written the same way (25 of 150), so a sentence about what may have letters in a number keeps them."""


_POINTED = re.compile(r"\b([2-9])\.([1-9])\b(?!\.?\d)")
_POINT = re.compile(r",|\bpoint\b")
"""A figure with a point may be "four point three" or "forty-three" heard as "for-dy three". Where no point may be written, the first
comes back with the word or a comma, the second without. Spoken by five voices of eSpeak and heard by whisper-base: of 90 decimals 89 stay,
and all 6 of 90 numbers that were written with a point lose it."""


class WhisperTranscriber:
    """Role `transcribe`. Where the language is known and no times of words are wanted, the encoder sees `window_s` of short pieces."""

    def __init__(self, settings: WhisperSettings, parts: DecoderParts) -> None:
        """Load the model in a card's folder. Raises EngineError if CTranslate2 cannot load it."""
        from edgemem_hearing.window import WindowedModel

        self._settings = settings
        threads = min(settings.threads, os.cpu_count() or 1)
        folder = str(parts.files["model"].parent)
        try:
            self._model: Any = WindowedModel(
                folder, device="cpu", compute_type=settings.compute_type, cpu_threads=threads, local_files_only=True
            )
        except (RuntimeError, ValueError, OSError) as error:
            name = parts.card.name
            raise EngineError(f"{name}: cannot be loaded ({error}); run: edgemem engines check {name}") from None

    def transcribe(self, samples: Vector, *, language: str = "", words: bool = False) -> Phrase:
        """See `roles.Transcriber`. A model for English only treats all speech as English."""
        from edgemem_hearing.window import WHOLE, frames_for

        seconds = len(samples) / 16_000
        self._model.window.frames = frames_for(seconds, self._settings.window_s) if language and not words else WHOLE
        samples = np.ascontiguousarray(samples, np.float32)

        def heard(*unwritten: int) -> Phrase:
            segments, _ = self._model.transcribe(
                samples, language=language or None, beam_size=self._settings.beam, temperature=0.0,
                condition_on_previous_text=False, without_timestamps=not words, word_timestamps=words, vad_filter=False,
                compression_ratio_threshold=None, log_prob_threshold=None, no_speech_threshold=None,
                suppress_tokens=[-1, *unwritten], max_new_tokens=_TOKENS + math.ceil(_TOKENS_PER_S * seconds),
            )  # fmt: skip
            return _phrase(list(segments))

        phrase = heard()
        if _POINTED.search(phrase.text) and not _POINT.search(heard(self._model.hf_tokenizer.token_to_id(".")).text):
            return msgspec.structs.replace(phrase, text=_POINTED.sub(r"\1\2", phrase.text))
        return phrase


def _phrase(segments: list[Any]) -> Phrase:
    """The segments of one piece as one phrase; the worst values of the segments are compared with the limits."""
    if not segments:
        return Phrase(text="", confidence=0.0, no_speech=1.0)
    text = " ".join(segment.text.strip() for segment in segments).strip()
    tokens = [max(1, len(segment.tokens)) for segment in segments]
    mean = sum(segment.avg_logprob * count for segment, count in zip(segments, tokens, strict=True)) / sum(tokens)
    return Phrase(
        text=text if _LETTERED.search(text) else _FLAPPED.sub(r"\1\2", text),
        confidence=min(1.0, math.exp(mean)),
        no_speech=max(segment.no_speech_prob for segment in segments),
        compression=max(segment.compression_ratio for segment in segments),
        words=tuple((word.word.strip(), word.start, word.end, word.probability) for s in segments for word in s.words or ()),
    )
