"""Small videos and pictures for these tests, encoded by them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np


def scene(kind: int, width: int = 320, height: int = 180) -> np.ndarray:
    """A sharp picture; each `kind` differs from the others everywhere."""
    rng = np.random.default_rng(kind)
    coarse = rng.integers(0, 255, (9, 16, 3), dtype=np.uint8)
    picture = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_NEAREST)
    cv2.putText(picture, f"{kind}", (width // 3, height // 2), cv2.FONT_HERSHEY_SIMPLEX, 2, (255, 255, 255), 3)
    return picture


def encode(
    path: Path, frames, *, rate: int = 10, gop: int = 10, times=None, codec: str = "libx264", pixels: str = "yuv420p", **options
) -> Path:
    """Write `frames` (BGR) as a video; `times`: presentation times in seconds, if they are not regular."""
    with av.open(str(path), "w") as out:
        stream = out.add_stream(codec, rate=rate, options={"preset": "ultrafast", "sc_threshold": "0", **options})
        stream.time_base = Fraction(1, 1000)
        stream.codec_context.time_base = Fraction(1, 1000)
        stream.gop_size = gop
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else pixels
        for i, picture in enumerate(frames):
            if i == 0:
                stream.height, stream.width = picture.shape[:2]
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="bgr24")
            frame.pts = round(1000 * (times[i] if times is not None else i / rate))
            frame.time_base = Fraction(1, 1000)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return path


def scenes(count: int, seconds: float, rate: int = 10):
    """`count` scenes of `seconds` each."""
    return [scene(kind) for kind in range(count) for _ in range(round(seconds * rate))]
