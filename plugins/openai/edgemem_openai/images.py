"""Fits pictures to the limits of servers."""

from __future__ import annotations

import base64

from edgemem.errors import ChatError

QUALITIES = (90, 80, 70, 60, 50, 40, 30, 20)
SHRINK = 0.85
"""Qualities are tried in this order, then with a picture that is smaller by this factor, and so on (VAM appendix B.5)."""


def fit_jpeg(jpeg: bytes, side_px: int = 1280, limit_bytes: int = 5_000_000) -> bytes:
    """A JPEG of at most `limit_bytes` whose longer side is at most `side_px`; the same bytes if it fits already.

    Raises ChatError if it is no JPEG, or if not even one pixel fits.
    """
    import simplejpeg

    from edgemem.see.pixels import shrink

    try:
        height, width, _, _ = simplejpeg.decode_jpeg_header(jpeg)
        if max(width, height) <= side_px and len(jpeg) <= limit_bytes:
            return jpeg
        image = simplejpeg.decode_jpeg(jpeg, colorspace="BGR")
    except ValueError as error:
        raise ChatError(f"a picture could not be prepared for the language model: {error}") from None
    while side_px >= 1:
        image = shrink(image, side_px, smooth=True)
        for quality in QUALITIES:
            smaller: bytes = simplejpeg.encode_jpeg(image, quality=quality, colorspace="BGR")
            if len(smaller) <= limit_bytes:
                return smaller
        side_px = int(SHRINK * max(image.shape[:2]))
    raise ChatError(f"openai.image_bytes = {limit_bytes} is too small for any picture")


def data_uri(jpeg: bytes) -> str:
    """The picture as a data URI."""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"
