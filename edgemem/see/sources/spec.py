"""The address of a source, as on the command line and in the settings: its scheme, its suffix, and the name of its stream."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from edgemem.errors import SourceError

PICTURES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff"})
VIDEOS = frozenset({".mp4", ".mov", ".mkv", ".webm", ".avi", ".m4v", ".ts", ".mpg", ".mpeg"})
SOUNDS = frozenset({".wav", ".mp3", ".flac", ".m4a", ".ogg", ".opus", ".aac", ".wma"})
NETWORK = ("rtsp", "rtsps", "rtmp", "rtmps", "http", "https", "udp", "tcp", "srt", "rtp", "mms", "file")
"""Address schemes that FFmpeg opens."""
DEVICE = "device"
"""Scheme of cameras of this machine, which are named `0` or `/dev/video0`."""
FOLDER, ANY_FILE = "/", ""
"""Special suffixes that a source can register for: a folder, and a file whose suffix no other source registered."""

_SCHEME = re.compile(r"([a-z][a-z0-9.-]*):", re.IGNORECASE)


def scheme_of(spec: str, known: Collection[str]) -> str:
    """The scheme of an address (`rtsp` of `rtsp://host`, `alsa` of `0+alsa:default`); "" for a path.

    A scheme without "//" counts only if it is `known`: a file may be called `12:30.mp4`.
    """
    if spec.isdecimal() or spec.startswith("/dev/video"):
        return DEVICE
    tail = _SCHEME.match(spec.rpartition("+")[2])
    if "+" in spec and tail is not None and tail[1].lower() in known:
        return tail[1].lower()
    head = _SCHEME.match(spec)
    if head is None or not (head[1].lower() in known or spec[head.end() :].startswith("//")):
        return ""
    return head[1].lower()


def suffix_of(spec: str) -> str:
    """`.mp4` of a file, `FOLDER` of a folder. Raises SourceError if it does not exist."""
    path = Path(spec).expanduser()
    if not path.exists():
        raise SourceError(
            f"{spec}: no such file or folder; give a video, a folder of pictures, a camera such as 0, or a URL such as rtsp://host/path"
        )
    return FOLDER if path.is_dir() else path.suffix.lower()


def stream_name(url: str) -> str:
    """`rtsp://user:secret@host:554/cam` -> `host-cam`: so that no password enters the memory."""
    rest = url.partition("://")[2].partition("?")[0].rpartition("@")[2]
    host, _, path = rest.partition("/")
    return re.sub(r"[^A-Za-z0-9._-]+", "-", f"{host.partition(':')[0]}-{path}").strip("-") or "camera"
