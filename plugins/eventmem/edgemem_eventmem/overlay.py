"""Pictures as a model gets them: small, with the frame number and the time at the top left (EventMemAgent section 4.1, appendix C.1)."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from edgemem.extend import Image

SIDE_PX = 640
"""Longer side of a picture that is shown: a label is still read, and 32 of them fit into a model's window."""
_QUALITY = 80


def decode(jpeg: bytes) -> Image:
    """uint8 [height, width, 3] in BGR order."""
    from PIL import Image as Pillow

    with Pillow.open(io.BytesIO(jpeg)) as picture:
        return np.ascontiguousarray(np.asarray(picture.convert("RGB"))[..., ::-1])


def frame_label(index: int, seconds: float) -> str:
    """Such as "Frame 3 - 12.5s"."""
    return f"Frame {index} - {seconds:.1f}s"


def event_label(event_id: int, start_s: float, end_s: float) -> str:
    """Such as "Event 12 - 4.0s to 31.0s"."""
    return f"Event {event_id} - {start_s:.1f}s to {end_s:.1f}s"


def labelled(jpeg: bytes, label: str, side_px: int = SIDE_PX) -> bytes:
    """A JPEG of at most `side_px` with the label burned in at the top left: white on black, a twentieth of the height."""
    from PIL import Image as Pillow
    from PIL import ImageDraw, ImageFont

    with Pillow.open(io.BytesIO(jpeg)) as opened:
        opened.draft("RGB", (side_px, side_px))
        picture = opened.convert("RGB")
    picture.thumbnail((side_px, side_px))
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(size=max(10, picture.height // 20))
    _, _, right, bottom = draw.textbbox((4, 2), label, font=font)
    draw.rectangle((0, 0, right + 4, bottom + 2), fill="black")
    draw.text((4, 2), label, fill="white", font=font)
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=_QUALITY)
    return out.getvalue()
