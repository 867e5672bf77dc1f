"""Small recordings with sound for these tests, encoded by them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np

RATE = 44_100


def beeps(path: Path, at_s, *, seconds: float = 6.0, video_from_s: float | None = 0.0, sound_from_s: float = 0.0, gap=None, codec="aac"):
    """A recording with a beep of 0.2 s at each of the times `at_s` of its sound; `gap` = (from_s, length_s) of sound that is missing."""
    with av.open(str(path), "w") as out:
        video = None
        if video_from_s is not None:
            video = out.add_stream("libx264", rate=10, options={"preset": "ultrafast"})
            video.width = video.height = 64
            video.pix_fmt = "yuv420p"
            video.time_base = video.codec_context.time_base = Fraction(1, 1000)
        sound = out.add_stream(codec, rate=RATE, layout="stereo")
        if video is not None:
            for i in range(round(seconds * 10)):
                picture = av.VideoFrame.from_ndarray(np.full((64, 64, 3), i % 250, np.uint8), format="bgr24")
                picture.pts, picture.time_base = round(1000 * (video_from_s + i / 10)), Fraction(1, 1000)
                out.mux(video.encode(picture))
            out.mux(video.encode(None))
        times = np.arange(round(seconds * RATE)) / RATE
        wave = np.zeros(len(times), np.float32)
        for t in at_s:
            wave[(times >= t) & (times < t + 0.2)] = 0.5
        wave *= np.sin(2 * np.pi * 1000 * times).astype(np.float32)
        for start in range(0, len(wave) - 1023, 1024):
            t = start / RATE + (gap[1] if gap and start / RATE >= gap[0] else 0.0)
            block = np.stack([wave[start : start + 1024]] * 2)
            if codec != "aac":
                block = (block.T.reshape(1, -1) * 32767).astype(np.int16)
            frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(block), format="fltp" if codec == "aac" else "s16", layout="stereo")
            frame.sample_rate, frame.time_base, frame.pts = RATE, Fraction(1, RATE), round((sound_from_s + t) * RATE)
            out.mux(sound.encode(frame))
        out.mux(sound.encode(None))
    return path


def heard_beeps(sounds) -> list[float]:
    """Offsets in seconds at which beeps begin."""
    found, quiet_until = [], -1e9
    for sound in sounds:
        for index in np.flatnonzero(np.abs(sound.samples) > 0.2):
            t = sound.offset_us / 1e6 + index / 16_000
            if t > quiet_until:
                found.append(t)
            quiet_until = t + 0.1
    return found
