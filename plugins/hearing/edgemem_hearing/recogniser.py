"""The speech recogniser `whisper`: cuts sound at silence, transcribes each piece, identifies voices.

For silence only voice activity detection runs.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from edgemem.errors import EngineError
from edgemem.hear.listen import Heard, Word
from edgemem.hear.work_budget import WorkBudget
from edgemem.infer.roles import Phrase, Transcriber
from edgemem.records import BEFORE_START_US, SOUND_RATE_HZ, US, Samples, Sound, Vector
from edgemem_hearing.changes import between_speakers, find_changes
from edgemem_hearing.cut import Cutter, Piece
from edgemem_hearing.voices import Voices

if TYPE_CHECKING:
    from edgemem.infer.engines import Engines
    from edgemem_hearing import RecogniserSettings

_NOISES = re.compile(r"\[[^\]]*\]|\([^)]*\)|\*[^*]*\*|[♪♫]+")
"""Text of Whisper for sounds that are not speech: [Music], (laughs), *sighs*."""
_INVENTED = frozenset({"you", "thank you", "thanks for watching", "thank you for watching", "bye", "so", "the end", "okay", "oh"})
"""Most frequent texts of Whisper for silence and music; accepted only if the speech is clear."""
_CLEAR_SPEECH = 0.85
"""Such texts are accepted above this mean probability of speech."""
_MUSIC_SPEECH = 0.6
"""Below this mean probability of speech, doubtful words count as music or noise."""


class WhisperRecogniser:
    """A `hear.listen.SpeechRecogniser`. Models are loaded with the first sound or speech, in the thread of the recogniser."""

    name = "whisper"

    def __init__(self, settings: RecogniserSettings, engines: Engines | None, clock: Callable[[], float] = time.perf_counter) -> None:
        """Raises EngineError if a model is missing; the message says what to do."""
        if engines is None:
            raise EngineError("hearing needs engines")
        for role in ("detect_speech", "transcribe"):
            if problem := engines.missing(role):
                raise EngineError(problem)
        self.notes: dict[str, int] = {}
        self._settings, self._engines, self._clock = settings, engines, clock
        limits = {True: settings.max_rtf, False: settings.max_rtf_recorded}
        self._budgets = {live: WorkBudget(limit or math.inf) for live, limit in limits.items()}
        """Key: whether the sound is live."""
        self._until_us = BEFORE_START_US
        self._cutter: Cutter | None = None
        self._transcribers: list[tuple[str, Transcriber | None, float]] = [(name, None, 0.0) for name in engines.ready("transcribe")]
        self._embedder: Any = None
        self._voices: Voices | None = None
        self._state = b""
        self._last_text = ""
        self._named = 0
        if problem := engines.missing("embed_voice"):
            self._note(f"speakers are not distinguished: {problem}")
        else:
            self._voices = Voices(settings, engines.card("embed_voice").name)

    @property
    def until_us(self) -> int:
        """See `SpeechRecogniser.until_us`."""
        return self._until_us

    def hear(self, sound: Sound) -> list[Heard]:
        """See `SpeechRecogniser.hear`."""
        if self._cutter is None:
            self._cutter = Cutter(self._settings, self._engines.role("detect_speech"))
        started = self._clock()
        self._budgets[sound.live].heard(len(sound.samples) / SOUND_RATE_HZ)
        pieces = list(self._cutter.add(sound))
        self._budgets[sound.live].spent(self._clock() - started)
        heard = self._understood(pieces)
        self._until_us = max(self._until_us, self._cutter.until_us if self._cutter.until_us is not None else sound.end_us)
        return heard

    def flush(self) -> list[Heard]:
        """See `SpeechRecogniser.flush`."""
        return self._understood(self._cutter.flush()) if self._cutter is not None else []

    def state(self) -> bytes:
        """The voices."""
        return self._voices.state() if self._voices is not None else b""

    def restore(self, state: bytes) -> None:
        """Raises ValueError for voices of another embedder."""
        if self._voices is not None:
            self._voices.restore(state)

    def _understood(self, pieces: Iterable[Piece]) -> list[Heard]:
        found = (self._understand(part) for piece in pieces for part in self._by_speaker(piece))
        return [heard for heard in found if heard is not None]

    def _by_speaker(self, piece: Piece) -> Iterator[Piece]:
        """The piece, cut where somebody else goes on."""
        sound, budget = piece.sound, self._budgets[piece.sound.live]
        if self._voices is None or not self._settings.other_voice:
            yield piece
            return
        started = self._clock()
        cuts = find_changes(sound.samples, self._voice_of, self._settings.other_voice)
        known = partial(self._known_voice, self._voices)
        cuts = between_speakers(sound.samples, cuts, known, round(self._settings.new_voice_s * SOUND_RATE_HZ)) if cuts else []
        budget.spent(self._clock() - started)
        for begin, end in pairwise([0, *cuts, len(sound.samples)]):
            after_us = begin * US // SOUND_RATE_HZ
            yield piece._replace(
                sound=msgspec.structs.replace(
                    sound, t_us=sound.t_us + after_us, offset_us=sound.offset_us + after_us, samples=sound.samples[begin:end]
                )
            )

    def _understand(self, piece: Piece) -> Heard | None:
        sound, budget = piece.sound, self._budgets[piece.sound.live]
        index = self._affordable(budget)
        if index is None:
            self._note("an utterance was left out: speech recognition is too slow here (max_rtf)")
            return None
        transcriber = self._transcriber(index)
        started = self._clock()
        try:
            phrase = transcriber.transcribe(sound.samples, language=self._settings.language, words=self._settings.words)
            text = accepted_text(phrase, piece.speech, self._last_text, self._settings)
            if not text:
                return None
            self._last_text = text
            speaker, united = self._speaker(sound)
        finally:
            self._spent(index, budget, self._clock() - started)
        words = tuple(
            Word(text=text, t0_us=sound.offset_us + round(a * US), t1_us=sound.offset_us + round(b * US), probability=p)
            for text, a, b, p in phrase.words
        )
        return Heard(
            t0_us=sound.t_us, t1_us=sound.t_us + sound.duration_us, offset_us=sound.offset_us, text=text, speaker=speaker,
            confidence=round(phrase.confidence, 3), words=words, united=united,
        )  # fmt: skip

    def _speaker(self, sound: Sound) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Whose voice it is, and at times which voices turn out to be one."""
        if self._voices is None:
            return "", ()
        name = self._voices.name(self._voice_of(sound.samples), sound.duration_us / US)
        self._named += 1
        united = tuple(self._voices.unite()) if self._named % self._settings.recluster == 0 else ()
        return dict(united).get(name, name), united

    def _known_voice(self, voices: Voices, samples: Samples) -> str:
        return voices.likely(self._voice_of(samples))

    def _voice_of(self, samples: Samples) -> Vector:
        if self._embedder is None:
            self._embedder = self._engines.role("embed_voice")
        vector: Vector = self._embedder.embed_voice(samples)
        return vector

    def _affordable(self, budget: WorkBudget) -> int | None:
        """Index of the best recogniser that the budget allows, by the recent time of each."""
        for index, (name, _, took_s) in enumerate(self._transcribers):
            if budget.afford(took_s):
                if index:
                    self._note(f"{name} was used because the time limit did not allow a better model (max_rtf)")
                return index
        return None

    def _transcriber(self, index: int) -> Transcriber:
        name, transcriber, took_s = self._transcribers[index]
        if transcriber is None:
            transcriber = self._engines.of_card(name)
            self._transcribers[index] = (name, transcriber, took_s)
        return transcriber

    def _spent(self, index: int, budget: WorkBudget, took_s: float) -> None:
        budget.spent(took_s)
        name, transcriber, before_s = self._transcribers[index]
        self._transcribers[index] = (name, transcriber, took_s if not before_s else 0.7 * before_s + 0.3 * took_s)

    def _note(self, line: str) -> None:
        self.notes[line] = self.notes.get(line, 0) + 1


def accepted_text(phrase: Phrase, speech: float, before: str, settings: RecogniserSettings) -> str:
    """The text of a phrase without marks of noises, or "" if it is probably invented. `speech`: mean probability of speech in the piece."""
    text = " ".join(_NOISES.sub(" ", phrase.text).split())
    plain = re.sub(r"[^\w ]", "", text).strip().lower()
    if not plain:
        return ""
    doubtful = phrase.confidence < settings.min_confidence
    invented = (
        phrase.compression > settings.max_compression
        or (phrase.no_speech > settings.max_no_speech and (doubtful or speech < _MUSIC_SPEECH))
        or (doubtful and speech < _MUSIC_SPEECH)
        or phrase.confidence < settings.min_confidence / 2
        or (plain in _INVENTED and speech < _CLEAR_SPEECH)
        or (text == before and speech < _CLEAR_SPEECH)
        or _repeats(plain.split())
    )
    return "" if invented else text


def _repeats(words: list[str]) -> bool:
    """Whether one to four words are repeated five times or more: the decoder is in a loop."""
    for width in range(1, 5):
        run = 1
        for at in range(width, len(words) - width + 1, width):
            run = run + 1 if words[at : at + width] == words[at - width : at] else 1
            if run >= 5:
                return True
    return False
