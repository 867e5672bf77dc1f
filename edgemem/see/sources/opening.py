"""`open_source` tells sources apart by what is given."""

from __future__ import annotations

import re
from pathlib import Path

from edgemem.errors import SourceError
from edgemem.see.sources.base import SIDE_PX, Source
from edgemem.see.sources.camera import Camera
from edgemem.see.sources.pictures import Pictures
from edgemem.see.sources.sound import Microphone, SoundFile, WithSound
from edgemem.see.sources.spec import ADDRESS, PICTURES, SOUNDS, VIDEOS, require_there, stream_name
from edgemem.see.sources.video import NoPictureTrackError, VideoFile


def open_source(spec: str, *, rate_fps: float, stream: str = "", start_us: int | None = None, side_px: int = SIDE_PX) -> Source:
    """The source that `spec` names: a video file, a folder of pictures, one picture, a camera (`0`, `/dev/video0`) or a URL (`rtsp://...`).

    Sound alone: a recording (`.wav`, `.mp3` ...) or a microphone (`alsa:default`). A camera with a microphone: `0+alsa:default`.

    `rate_fps` bounds how many frames per second it gives; `start_us` is the wall time of a recording's first frame (default: now minus its
    length). Raises SourceError with one line that says what is wrong with `spec`.
    """
    if spec.startswith("alsa:"):
        return Microphone(spec, stream=stream or "microphone")
    if "+alsa:" in spec:
        seen, _, heard = spec.rpartition("+alsa:")
        camera = open_source(seen, rate_fps=rate_fps, stream=stream, side_px=side_px)
        if not isinstance(camera, Camera):
            camera.close()
            raise SourceError(f"{spec}: a microphone goes with a camera, such as 0+alsa:default")
        return WithSound(camera, f"alsa:{heard}")
    path = Path(spec).expanduser()
    is_url = ADDRESS.match(spec) is not None
    if spec.isdecimal() or spec.startswith("/dev/video"):
        return Camera(spec, rate_fps=rate_fps, stream=stream or "camera" + re.sub(r"\D", "", spec), side_px=side_px)
    if is_url and Path(spec.partition("?")[0]).suffix.lower() not in VIDEOS:
        return Camera(spec, rate_fps=rate_fps, stream=stream or stream_name(spec), side_px=side_px)
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
