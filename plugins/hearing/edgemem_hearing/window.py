"""Whisper with a shorter window of its encoder than the 30 s it was trained with."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from faster_whisper import WhisperModel

from edgemem.infer.large_run import LARGE_RUN

FRAMES_PER_S = 100
"""Columns of the log-mel spectrogram (Radford et al. 2022, section 2.2: a stride of 10 ms)."""
WHOLE = 30 * FRAMES_PER_S
_AFTER_S = 2.0
"""Padding after the speech, at least."""


class _Window(threading.local):
    """Columns that the encoder sees, in each thread of its own: streams share a model."""

    frames = WHOLE


class WindowedModel(WhisperModel):  # type: ignore[misc]
    """A `WhisperModel` whose encoder sees only the first part of the padded spectrogram. Its cost grows with the square of that part."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.window = _Window()

    def encode(self, features: Any) -> Any:
        """Called by faster-whisper with [80, 3000] or [1, 80, 3000]. It needs up to 90 MB."""
        with LARGE_RUN:
            return super().encode(np.ascontiguousarray(features[..., : self.window.frames]))


def frames_for(speech_s: float, window_s: float) -> int:
    """Columns for speech of this length: the window, or the speech and its padding if that is longer; at most 30 s.

    An even number, because the second convolution has a stride of 2.
    """
    frames = round(max(window_s, speech_s + _AFTER_S) * FRAMES_PER_S)
    return min(WHOLE, frames + frames % 2)
