"""How many pictures the decoder of a stream keeps, as the stream's own headers say."""

from __future__ import annotations

import contextlib
import re
import threading
from typing import Any

_KEPT = re.compile(r"\b(?:max_num_ref_frames|sps_max_dec_pic_buffering_minus1\[\d+\])\s.*= (\d+)")
"""H.264 (ITU-T H.264, 7.4.2.1.1) and H.265 (ITU-T H.265, 7.4.3.2.1)."""
_SLOTS = 8
"""Where no header says it: VP9 and AV1 have this many slots, older formats fewer."""
_LEVEL = threading.Lock()


def reference_frames(video: Any) -> int:
    """The largest number of pictures that the headers of a PyAV video stream allow to be kept for the decoding of others."""
    found = [int(match[1]) for line in _headers(video) if (match := _KEPT.search(line))]
    return max(found, default=_SLOTS)


def _headers(video: Any) -> list[str]:
    """FFmpeg's trace of the headers that the container holds, line by line; none for a format that it cannot trace."""
    import av.logging
    from av.bitstream import BitStreamFilterContext

    lines: list[tuple[int, str, str]] = []
    with _LEVEL, contextlib.suppress(av.error.FFmpegError, ValueError):
        before = av.logging.get_level()
        av.logging.set_level(av.logging.INFO)
        try:
            with av.logging.Capture(local=True) as lines:
                BitStreamFilterContext("trace_headers", video)
        finally:
            av.logging.set_level(before)
    return [line for _, _, line in lines]
