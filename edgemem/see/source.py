"""Sources yield frames: a video file, pictures, a camera. `open_source` tells them apart by what is given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from edgemem.errors import SourceError
from edgemem.records import Frame

PICTURES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff"})
VIDEOS = frozenset({".mp4", ".mov", ".mkv", ".webm", ".avi", ".m4v", ".ts", ".mpg", ".mpeg"})
SOUNDS = frozenset({".wav", ".mp3", ".flac", ".m4a", ".ogg", ".opus", ".aac", ".wma"})
SIDE_PX = 1920
"""Longest side a frame is given; larger pictures are shrunk while they are decoded, none is ever enlarged."""


class Source(Protocol):
    """Hook `register_sources`. Recorded sources wait for whoever takes their frames; from live ones the newest frame is taken.

    A source that can be heard also has `sounds(after_us) -> Iterator[hear.Sound]` (see `sound.sounds_of`), read by a thread of its own.
    """

    name: str
    """Name of its stream."""
    live: bool
    t0_us: int
    """Wall time of the first frame; for a live source, of its opening."""
    duration_us: int | None
    """Length of the recording where it is known."""
    identity: str
    """Equal for equal recordings, so that a killed run is continued and another file of the same name is not taken for it; "" when live."""
    blind: str
    """"" while it sees, else why not."""
    dropped: dict[str, int]
    """Frames that could not be given, by reason: "corrupt", "truncated", "unreadable"."""

    def skip_to(self, offset_us: int) -> None:
        """Before `frames`: begin with the first frame later than `offset_us`. A live source has nothing to skip."""
        ...

    def frames(self) -> Iterator[Frame]:
        """The frames in time order, once. Raises SourceError when there is none, or when a camera stays away."""
        ...

    def close(self) -> None:
        """Free the device or file and end `frames`, from any thread. Calling it twice does nothing."""
        ...


def is_live(spec: str) -> bool:
    """Whether it may come yet: a camera, a microphone or an address. A recording is there or it is not."""
    return spec.isdecimal() or spec.startswith(("/dev/video", "alsa:")) or "+alsa:" in spec or _ADDRESS.match(spec) is not None


def require_there(spec: str) -> None:
    """Raises SourceError for a recording that is not there."""
    if not is_live(spec) and not Path(spec).expanduser().exists():
        raise SourceError(
            f"{spec}: no such file or folder; give a video, a folder of pictures, a camera such as 0, or a URL such as rtsp://host/path"
        )


_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def open_source(spec: str, *, rate_fps: float, stream: str = "", start_us: int | None = None, side_px: int = SIDE_PX) -> Source:
    """The source that `spec` names: a video file, a folder of pictures, one picture, a camera (`0`, `/dev/video0`) or a URL (`rtsp://...`).

    Sound alone: a recording (`.wav`, `.mp3` ...) or a microphone (`alsa:default`). A camera with a microphone: `0+alsa:default`.

    `rate_fps` bounds how many frames per second it gives; `start_us` is the wall time of a recording's first frame (default: now minus its
    length). Raises SourceError with one line that says what is wrong with `spec`.
    """
    from edgemem.see.camera import Camera
    from edgemem.see.pictures import Pictures
    from edgemem.see.sound import Microphone, SoundFile, WithSound
    from edgemem.see.video import NoPictureTrackError, VideoFile

    if spec.startswith("alsa:"):
        return Microphone(spec, stream=stream or "microphone")
    if "+alsa:" in spec:
        seen, _, heard = spec.rpartition("+alsa:")
        camera = open_source(seen, rate_fps=rate_fps, stream=stream, side_px=side_px)
        return WithSound(camera, f"alsa:{heard}")
    path = Path(spec).expanduser()
    is_url = _ADDRESS.match(spec) is not None
    if spec.isdecimal() or spec.startswith("/dev/video"):
        return Camera(spec, rate_fps=rate_fps, stream=stream or "camera" + re.sub(r"\D", "", spec), side_px=side_px)
    if is_url and Path(spec.partition("?")[0]).suffix.lower() not in VIDEOS:
        return Camera(spec, rate_fps=rate_fps, stream=stream or _url_name(spec), side_px=side_px)
    require_there(spec)
    name = stream or path.resolve().stem or "pictures"
    if not is_url and (path.is_dir() or path.suffix.lower() in PICTURES):
        return Pictures(path, rate_fps=rate_fps, stream=name, start_us=start_us, side_px=side_px)
    if not is_url and path.suffix.lower() in SOUNDS:
        return SoundFile(str(path), stream=name, start_us=start_us)
    try:
        return VideoFile(spec if is_url else str(path), rate_fps=rate_fps, stream=name, start_us=start_us, side_px=side_px)
    except NoPictureTrackError:
        return SoundFile(spec if is_url else str(path), stream=name, start_us=start_us)


def _url_name(url: str) -> str:
    """`rtsp://user:secret@host:554/cam` -> `host-cam`: no password enters the memory."""
    rest = url.partition("://")[2].partition("?")[0].rpartition("@")[2]
    host, _, path = rest.partition("/")
    return re.sub(r"[^A-Za-z0-9._-]+", "-", f"{host.partition(':')[0]}-{path}").strip("-") or "camera"
