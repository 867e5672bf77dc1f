"""Cuts sound into utterances by the probability of speech. Only the sound of an open utterance is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgemem.infer.roles import SpeechDetector
from edgemem.records import SOUND_RATE_HZ, US, Samples, Sound

if TYPE_CHECKING:
    from edgemem_hearing import RecogniserSettings

_SAME_US = 60_000
"""Sound that begins within this time of the end of the last sound continues it."""
_QUIET_S = 0.1
"""Length of the interval that is compared to find the quietest point of a long utterance."""


class Piece(NamedTuple):
    """The sound of one utterance."""

    sound: Sound
    speech: float
    """Mean probability of speech."""


class Cutter:
    """Silero's hysteresis, on a stream: speech begins above one probability and ends when it stays below another one for the length of a
    pause.

    Everything is counted in windows of the detector (32 ms) from the beginning of continuous sound.
    """

    def __init__(self, settings: RecogniserSettings, detector: SpeechDetector) -> None:
        self._settings, self._detector = settings, detector
        self._size = detector.window
        lengths = (settings.margin_s, settings.pause_s, settings.shortest_s, settings.longest_s)
        self._margin, self._pause, self._shortest, self._longest = (max(1, round(s * SOUND_RATE_HZ / self._size)) for s in lengths)
        self._first: Sound | None = None
        self._last: Sound | None = None
        self._state: object = None
        self._rest: Samples = np.empty(0, np.float32)
        """Samples that do not fill a window yet."""
        self._windows: list[Samples] = []
        """Windows of the open piece with its margin; otherwise the possible margin of the next piece."""
        self._speech: list[float] = []
        """Probabilities of the open piece, from its first window of speech."""
        self._at = 0
        """Number of windows so far."""
        self._open = False

    @property
    def until_us(self) -> int | None:
        """Later pieces begin at or after this offset; None before the first sound."""
        if self._first is None:
            return None
        return self._offset_us(self._at - (len(self._windows) if self._open else min(self._margin, self._at)))

    def add(self, sound: Sound) -> Iterator[Piece]:
        """Pieces that end with this sound. A gap before it ends an open one."""
        if self._first is None or sound.stream != self._first.stream or abs(sound.offset_us - self._due_us()) > _SAME_US:
            yield from self.flush()
            self._begin(sound)
        self._last = sound
        # A damaged packet decodes to 100,000 times full scale, a file in floats may hold NaN: either would drown the whole utterance.
        samples = np.concatenate([self._rest, np.nan_to_num(np.clip(sound.samples, -1, 1), nan=0.0)])
        whole = len(samples) // self._size * self._size
        self._rest = samples[whole:]
        probabilities, self._state = self._detector.speech(samples[:whole], self._state)
        for window, probability in zip(samples[:whole].reshape(-1, self._size), probabilities, strict=True):
            yield from self._step(window, float(probability))

    def flush(self) -> Iterator[Piece]:
        """The piece that was open at the end."""
        if self._open:
            yield from self._close(len(self._speech) - self._quiet())
        self._begin(None)

    def _begin(self, sound: Sound | None) -> None:
        self._first = self._last = sound
        self._state, self._rest, self._at = None, np.empty(0, np.float32), 0
        self._windows, self._speech, self._open = [], [], False

    def _step(self, window: Samples, probability: float) -> Iterator[Piece]:
        self._windows.append(window)
        self._at += 1
        if not self._open:
            if probability < self._settings.speech:
                del self._windows[: -self._margin]
                return
            self._open, self._speech = True, []
        self._speech.append(probability)
        quiet = self._quiet()
        if quiet >= self._pause:
            yield from self._close(len(self._speech) - quiet)
        elif len(self._speech) >= self._longest:
            yield from self._close(self._quietest_point())

    def _quiet(self) -> int:
        """Windows at the end of the open piece that were all silent."""
        loud = (back for back, probability in enumerate(reversed(self._speech)) if probability >= self._settings.silence)
        return next(loud, len(self._speech))

    def _quietest_point(self) -> int:
        """Where to cut a piece that is too long: in the quietest tenth of a second of its second half, else at its end."""
        width = max(1, round(_QUIET_S * SOUND_RATE_HZ / self._size))
        half = len(self._speech) // 2
        means = np.convolve(self._speech[half:], np.ones(width) / width, "valid")
        at = int(np.argmin(means))
        return half + at + width // 2 + 1 if means[at] < self._settings.speech else len(self._speech)

    def _close(self, count: int) -> Iterator[Piece]:
        """Return the first `count` windows of the open piece with their margins. Speech after them begins the next piece."""
        lead = len(self._windows) - len(self._speech)
        begin = self._at - len(self._windows)
        given, rest = self._windows[: lead + count + self._margin], self._windows[lead + count :]
        if count >= self._shortest:
            yield Piece(self._sound(begin, np.concatenate(given)), float(np.mean(self._speech[:count])))
        self._speech = self._speech[count:]
        self._open = any(probability >= self._settings.speech for probability in self._speech)
        self._windows = rest if self._open else rest[-self._margin :]

    def _sound(self, begin: int, samples: Samples) -> Sound:
        assert self._last is not None
        us = self._offset_us(begin)
        t_us = self._last.t_us + us - self._last.offset_us
        return Sound(stream=self._last.stream, t_us=t_us, offset_us=us, samples=samples, live=self._last.live)

    def _offset_us(self, window: int) -> int:
        assert self._first is not None
        return self._first.offset_us + window * self._size * US // SOUND_RATE_HZ

    def _due_us(self) -> int:
        return self._offset_us(self._at) + len(self._rest) * US // SOUND_RATE_HZ
