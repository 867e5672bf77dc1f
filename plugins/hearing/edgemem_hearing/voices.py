"""Identifies voices online, without knowing how many there are. Names are numbers that are never used twice.

Measured with Resemblyzer on 27 clips of eight voices (three readers of pocketsphinx-testdata, five synthetic voices), single clips: the
same voice 0.67 to 0.95, mostly above 0.8; different ones up to 0.75. So there are two thresholds. Between them an utterance gets the
nearest voice, which is not changed; a short utterance never creates a new voice. Over 60 random orders of the 27 clips, the thresholds 0.78
and 0.72 find 7.1 of the eight voices, give 2.2 clips a wrong one and leave 1.2 without a voice; 0.75 and 0.66 find 5.4 voices and give 6.5
wrong clips.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from edgemem.hear.voices import VoicePrint, VoicesState
from edgemem.records import Vector

if TYPE_CHECKING:
    from edgemem_hearing import RecogniserSettings

_KNOWN_S = 5.0
"""A voice with less speech than this is not united with another: its vector may still turn."""
_SETTLED_S = 60.0
"""A voice's vector is a mean over at most this much speech, so that it slowly follows changes (a cold, another microphone)."""


class Voices:
    """Online clustering by cosine to the mean of each voice. At most `max_voices`; then the voice that was heard longest ago is removed."""

    def __init__(self, settings: RecogniserSettings, space: str) -> None:
        self._settings, self._space = settings, space
        self._voices: list[VoicePrint] = []
        self._count = self._last = 0
        self._lock = threading.Lock()

    def name(self, vector: Vector, seconds: float) -> str:
        """The name (`speaker 3`) for an utterance of `seconds` seconds; "" if it is too short."""
        with self._lock:
            self._count += 1
            scores = [float(vector @ _unpacked(voice.vector)) for voice in self._voices]
            best = int(np.argmax(scores)) if scores else -1
            if best >= 0 and scores[best] >= self._settings.same_voice:
                return self._heard_again(self._voices[best], vector, seconds)
            if best >= 0 and scores[best] >= self._settings.new_voice:
                self._voices[best].heard = self._count
                return self._voices[best].name
            return self._somebody_new(vector, seconds) if seconds >= self._settings.new_voice_s else ""

    def likely(self, vector: Vector) -> str:
        """The name of the known voice that an utterance would get; "" for none. Nothing is remembered of it."""
        with self._lock:
            scores = {voice.name: float(vector @ _unpacked(voice.vector)) for voice in self._voices}
            best = max(scores, key=scores.__getitem__, default="")
            return best if best and scores[best] >= self._settings.new_voice else ""

    def unite(self) -> list[tuple[str, str]]:
        """Voices that turn out to be one: (the name that goes, the name that stays). To be asked at times, not at every utterance.

        A voice that was met in a bad moment gets a number of its own; as both are heard for longer their vectors meet.
        """
        with self._lock:
            found = []
            while (pair := self._closest()) is not None:
                kept, gone = pair
                mean = _unpacked(kept.vector) * kept.seconds + _unpacked(gone.vector) * gone.seconds
                kept.vector = _packed(mean / np.linalg.norm(mean))
                kept.seconds, kept.heard = min(_SETTLED_S, kept.seconds + gone.seconds), max(kept.heard, gone.heard)
                self._voices.remove(gone)
                found.append((gone.name, kept.name))
            return found

    def _closest(self) -> tuple[VoicePrint, VoicePrint] | None:
        """The two voices that are most alike, the older first, where they are alike enough."""
        settled = sorted((voice for voice in self._voices if voice.seconds >= _KNOWN_S), key=lambda voice: voice.number)
        vectors = [_unpacked(voice.vector) for voice in settled]
        pairs = [(float(vectors[i] @ vectors[j]), i, j) for i in range(len(settled)) for j in range(i + 1, len(settled))]
        best, i, j = max(pairs, default=(0.0, 0, 0))
        return (settled[i], settled[j]) if best >= self._settings.one_voice else None

    def _heard_again(self, voice: VoicePrint, vector: Vector, seconds: float) -> str:
        mean = _unpacked(voice.vector) * voice.seconds + vector * seconds
        voice.vector = _packed(mean / np.linalg.norm(mean))
        voice.seconds = min(_SETTLED_S, voice.seconds + seconds)
        voice.heard = self._count
        return voice.name

    def _somebody_new(self, vector: Vector, seconds: float) -> str:
        if len(self._voices) >= self._settings.max_voices:
            self._voices.remove(min(self._voices, key=lambda voice: voice.heard))
        self._last += 1
        self._voices.append(VoicePrint(self._last, seconds, self._count, _packed(vector)))
        return self._voices[-1].name

    def state(self) -> bytes:
        """The state: about 600 bytes per voice."""
        with self._lock:
            return msgspec.msgpack.encode(VoicesState(self._space, self._count, self._last, self._voices))

    def restore(self, state: bytes) -> None:
        """Restore a state. Raises ValueError for a state of another embedder: voices of two spaces cannot be compared.

        Its numbers are not given again in either case.
        """
        found = msgspec.msgpack.decode(state, type=VoicesState)
        with self._lock:
            self._last = max(self._last, found.last)
        if found.space not in {"", self._space}:
            raise ValueError(f"the voices are in the space {found.space}, the embedder has {self._space}")
        with self._lock:
            self._count, self._voices = found.count, found.voices


def _packed(vector: Vector) -> bytes:
    return np.asarray(vector, np.float16).tobytes()


def _unpacked(data: bytes) -> Vector:
    return np.frombuffer(data, np.float16).astype(np.float32)
