"""Factories of the built-in sources. Each is for some address schemes or file suffixes (`extend/builtin.py` registers them)."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from edgemem.characters import storable
from edgemem.errors import SourceError
from edgemem.secret import split_last
from edgemem.see.sources.base import Source, SourceContext
from edgemem.see.sources.camera import Camera
from edgemem.see.sources.camera_with_sound import CameraWithSound
from edgemem.see.sources.gstreamer import is_pipeline
from edgemem.see.sources.pictures import Pictures
from edgemem.see.sources.sound import Microphone, SoundFile
from edgemem.see.sources.spec import VIDEOS, stream_name
from edgemem.see.sources.video import NoPictureTrackError, VideoFile


class CameraSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of cameras."""

    patience_s: float = 60.0
    """For this time a lost camera is opened again and again; then the source fails."""


def camera(settings: CameraSettings, context: SourceContext) -> Source:
    """A camera of this machine: `0`, `/dev/video0`."""
    return _camera(settings, context, context.spec)


def network(settings: CameraSettings, context: SourceContext) -> Source:
    """An address: a recording if it ends like the name of a video file, else a live stream."""
    if Path(context.spec.partition("?")[0]).suffix.lower() in VIDEOS:
        return _video(context, context.spec, Path(context.spec.partition("?")[0]).stem)
    return _camera(settings, context, context.spec)


def pipeline(settings: CameraSettings, context: SourceContext) -> Source:
    """A GStreamer pipeline: `gstreamer:nvarguscamerasrc ! nvvidconv`."""
    return _camera(settings, context, context.spec)


def microphone(settings: CameraSettings, context: SourceContext) -> Source:
    """A microphone (`alsa:default`), or a camera with one (`0+alsa:default`)."""
    seen, heard = split_last(context.spec, "+alsa:")
    if not seen:
        return Microphone(context.spec, stream=context.stream or "microphone")
    if not (seen.isdecimal() or seen.startswith("/dev/") or "://" in seen):
        raise SourceError(f"{context.spec}: a microphone can only be added to a camera, such as 0+alsa:default")
    return CameraWithSound(_camera(settings, context, seen), f"alsa:{heard}")


def pictures(_settings: object, context: SourceContext) -> Source:
    """A folder of pictures, or one picture."""
    path = Path(context.spec).expanduser()
    return Pictures(path, rate_fps=context.rate_fps, stream=_name(context), start_us=context.start_us, side_px=context.side_px)


def sound(_settings: object, context: SourceContext) -> Source:
    """A recording of sound only."""
    return SoundFile(str(Path(context.spec).expanduser()), stream=_name(context), start_us=context.start_us)


def video(_settings: object, context: SourceContext) -> Source:
    """A video file, or any other file that has pictures or sound."""
    return _video(context, str(Path(context.spec).expanduser()), _name(context))


def _camera(settings: CameraSettings, context: SourceContext, spec: str) -> Camera:
    named = "camera" if is_pipeline(spec) else stream_name(spec) if "://" in spec else "camera" + re.sub(r"\D", "", spec)
    return Camera(
        spec, rate_fps=context.rate_fps, stream=context.stream or named, side_px=context.side_px, patience_s=settings.patience_s
    )  # fmt: skip


def _video(context: SourceContext, path: str, name: str) -> Source:
    stream = context.stream or name or "pictures"
    try:
        return VideoFile(path, rate_fps=context.rate_fps, stream=stream, start_us=context.start_us, side_px=context.side_px)
    except NoPictureTrackError:
        return SoundFile(path, stream=stream, start_us=context.start_us)


def _name(context: SourceContext) -> str:
    return context.stream or storable(Path(context.spec).expanduser().resolve().stem) or "pictures"
