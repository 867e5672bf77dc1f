"""What a source is called on the command line and in the settings, and what that tells of it."""

from __future__ import annotations

import re
from pathlib import Path

from edgemem.errors import SourceError

PICTURES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff"})
VIDEOS = frozenset({".mp4", ".mov", ".mkv", ".webm", ".avi", ".m4v", ".ts", ".mpg", ".mpeg"})
SOUNDS = frozenset({".wav", ".mp3", ".flac", ".m4a", ".ogg", ".opus", ".aac", ".wma"})
ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def is_live(spec: str) -> bool:
    """Whether it may come yet: a camera, a microphone or an address. A recording is there or it is not."""
    return spec.isdecimal() or spec.startswith(("/dev/video", "alsa:")) or "+alsa:" in spec or ADDRESS.match(spec) is not None


def require_there(spec: str) -> None:
    """Raises SourceError for a recording that is not there."""
    if not is_live(spec) and not Path(spec).expanduser().exists():
        raise SourceError(
            f"{spec}: no such file or folder; give a video, a folder of pictures, a camera such as 0, or a URL such as rtsp://host/path"
        )


def stream_name(url: str) -> str:
    """`rtsp://user:secret@host:554/cam` -> `host-cam`: no password enters the memory."""
    rest = url.partition("://")[2].partition("?")[0].rpartition("@")[2]
    host, _, path = rest.partition("/")
    return re.sub(r"[^A-Za-z0-9._-]+", "-", f"{host.partition(':')[0]}-{path}").strip("-") or "camera"
