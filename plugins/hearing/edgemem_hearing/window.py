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
_FULL = 0.5
"""Speech may fill this part of a window. In fuller ones more words were wrong (docs/benchmarks.md, window)."""


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
    """Columns for speech of this length: the window where it is short enough for it, else 30 s.

    An even number, because the second convolution has a stride of 2.
    """
    return 2 * round(window_s * FRAMES_PER_S / 2) if speech_s <= _FULL * window_s else WHOLE
