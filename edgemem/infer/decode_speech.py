"""Decoders of speech models: voice activity detection and voice embedding."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from edgemem.errors import EngineError
from edgemem.infer.engines import DecoderParts
from edgemem.records import Matrix, Vector

if TYPE_CHECKING:
    import numpy.typing as npt

    from edgemem.infer.decode_settings import VoiceSettings

    _Scale = npt.NDArray[np.float64]

RATE_HZ = 16_000


class SileroDetector:
    """Role `detect_speech`: Silero VAD v6. Each window includes the 64 samples before it."""

    window = 512
    _CONTEXT = 64

    def __init__(self, parts: DecoderParts) -> None:
        self._engine = parts.engines["model"]

    def speech(self, samples: Vector, state: object = None) -> tuple[Vector, object]:
        """See `roles.SpeechDetector`."""
        if not isinstance(state, tuple):
            still = np.zeros((1, 1, 128), np.float32)
            state = (still, still, np.zeros(self._CONTEXT, np.float32))
        h, c, before = state
        if not len(samples):
            return np.empty(0, np.float32), state
        windows = np.ascontiguousarray(samples, np.float32).reshape(-1, self.window)
        contexts = np.concatenate([before[None], windows[:-1, -self._CONTEXT :]])
        out = self._engine.infer({"input": np.concatenate([contexts, windows], axis=1), "h": h, "c": c})
        return np.asarray(out["speech_probs"], np.float32).reshape(-1), (out["hn"], out["cn"], windows[-1, -self._CONTEXT :].copy())


class MelVoiceEmbedder:
    """Role `embed_voice`: windows of a mel spectrogram, each embedded, their mean at unit length (Resemblyzer `embed_utterance`)."""

    def __init__(self, settings: VoiceSettings, parts: DecoderParts) -> None:
        if parts.card.space is None:
            raise EngineError(f"{parts.card.name}: its card needs a [space]")
        self.space = parts.card.space
        self._settings, self._engine = settings, parts.engines["model"]

    def embed_voice(self, samples: Vector) -> Vector:
        """See `roles.VoiceEmbedder`. Sound shorter than a window (1.6 s) is repeated to fill one."""
        spectrum = mel_spectrogram(self._loud(samples), self._settings.bands)
        frames, step = self._settings.frames, self._settings.step
        if len(spectrum) < frames:
            spectrum = np.tile(spectrum, (-(-frames // len(spectrum)), 1))[:frames]
        starts = range(0, len(spectrum) - frames + 1, step)
        # A few seconds of a long utterance are enough: more windows need time and change little.
        chosen = [starts[round(i)] for i in np.linspace(0, len(starts) - 1, min(len(starts), self._settings.max_windows))]
        out = self._engine.infer({"mel": np.stack([spectrum[at : at + frames] for at in chosen])})
        mean: Vector = np.asarray(out["embedding"], np.float32).mean(axis=0)
        return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-9), np.float32)

    def _loud(self, samples: Vector) -> Vector:
        """Raise quiet sound to the loudness of the training data, -30 dBFS (Resemblyzer `normalize_volume`); loud sound is not changed."""
        rms = float(np.sqrt(np.mean(np.square(samples, dtype=np.float64)))) if len(samples) else 0.0
        wanted = 10 ** (self._settings.loudness_dbfs / 20)
        return np.asarray(samples * (wanted / rms), np.float32) if 0 < rms < wanted else samples


def mel_spectrogram(samples: Vector, bands: int = 40) -> Matrix:
    """Power in mel bands, float32 [frames, bands]: windows of 25 ms every 10 ms, centred, as `librosa.feature.melspectrogram`."""
    window, hop = RATE_HZ * 25 // 1000, RATE_HZ * 10 // 1000
    padded = np.pad(np.asarray(samples, np.float32), window // 2)
    if len(padded) < window:
        padded = np.pad(padded, (0, window - len(padded)))
    frames = np.lib.stride_tricks.sliding_window_view(padded, window)[::hop]
    hann = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / window)).astype(np.float32)
    power = np.abs(np.fft.rfft(frames * hann, axis=1)) ** 2
    return np.asarray(power @ _filters(window, bands).T, np.float32)


@lru_cache(maxsize=4)
def _filters(window: int, bands: int) -> Matrix:
    """Triangles of equal area on Slaney's mel scale: float32 [bands, window // 2 + 1] (Auditory Toolbox, Slaney 1998)."""
    hertz = np.linspace(0, RATE_HZ / 2, window // 2 + 1)
    edges = _from_mel(np.linspace(0.0, float(_to_mel(np.array(RATE_HZ / 2))), bands + 2))
    rising = (hertz - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - hertz) / (edges[2:] - edges[1:-1])[:, None]
    area = 2.0 / (edges[2:] - edges[:-2])
    return np.asarray(np.maximum(0, np.minimum(rising, falling)) * area[:, None], np.float32)


_LINEAR_HZ, _KNEE_HZ, _LOG_STEP = 200 / 3, 1000.0, np.log(6.4) / 27
"""Slaney's scale: linear below 1 kHz, logarithmic above."""


def _to_mel(hertz: _Scale) -> _Scale:
    knee = _KNEE_HZ / _LINEAR_HZ
    return np.where(hertz >= _KNEE_HZ, knee + np.log(np.maximum(hertz, 1e-9) / _KNEE_HZ) / _LOG_STEP, hertz / _LINEAR_HZ)


def _from_mel(mel: _Scale) -> _Scale:
    knee = _KNEE_HZ / _LINEAR_HZ
    return np.where(mel >= knee, _KNEE_HZ * np.exp(_LOG_STEP * (mel - knee)), mel * _LINEAR_HZ)
