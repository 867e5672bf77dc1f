"""Live sources: a camera of this machine or a network stream. They reconnect on their own and report when they see nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from edgemem import clock
from edgemem.errors import SourceError
from edgemem.records import BEFORE_START_US, US, Frame, Image, Sound
from edgemem.secret import address
from edgemem.see import pixels
from edgemem.see.sources import gstreamer
from edgemem.see.sources.base import SIDE_PX, BaseSource

if TYPE_CHECKING:
    from edgemem.see.sources.sound import Microphone

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 30.0
"""The wait between attempts to reconnect doubles from the first value up to the second."""
_TIMEOUT_S = 10.0
"""A network stream that sends nothing for this time counts as lost."""


class _Capture(Protocol):
    """An open camera: `grab` waits for the next picture, `picture` converts it."""

    def grab(self) -> bool: ...
    def picture(self, side_px: int) -> Image | None: ...
    def close(self) -> None: ...


class Camera(BaseSource):
    """A camera (`0`, `/dev/video0`), network stream (RTSP, HTTP ...) or GStreamer pipeline at `rate_fps`.

    If it cannot be opened at the start, SourceError is raised. If it is lost later, it is opened again and again for `patience_s` (None =
    for ever), then SourceError is raised; meanwhile `blind` has the reason. Offsets are monotonic time since the opening.
    """

    live = True
    duration_us: int | None = None

    def __init__(self, spec: str, *, rate_fps: float, stream: str, side_px: int = SIDE_PX, patience_s: float | None = 60.0) -> None:
        self.name = stream
        self.dropped: dict[str, int] = {}
        self.blind = "not opened yet"
        self._spec = address(spec)
        self._label = str(self._spec)
        self.has_sound = "://" in spec and not gstreamer.is_pipeline(spec)
        self.set_rate(rate_fps)
        self._side_px = side_px
        self._patience_s = patience_s
        self._closed = threading.Event()
        self._clock = clock.SteadyClock()
        self.t0_us, self._mono0_us, _ = self._clock.now()
        self._capture: _Capture | None = self._open()
        self._microphone: Microphone | None = None

    def set_rate(self, rate_fps: float) -> None:
        self._period_us = max(1, round(US / rate_fps))

    def frames(self) -> Iterator[Frame]:
        seq = 0
        due_us = 0
        while not self._closed.is_set():
            if self._capture is None:
                self._capture = self._reconnect()
                continue
            if not self._capture.grab():
                self._lose("it stopped sending pictures")
                continue
            t_us, mono_us, error_us = self._clock.now()
            if mono_us < due_us:
                continue
            image = self._capture.picture(self._side_px)
            if image is None:
                self.dropped["corrupt"] = self.dropped.get("corrupt", 0) + 1
                continue
            self.blind = ""
            due_us = max(due_us + self._period_us, mono_us + self._period_us // 2)
            offset_us = mono_us - self._mono0_us
            boot_id = clock.boot_id()
            yield Frame(
                stream=self.name,
                seq=seq,
                t_us=t_us,
                offset_us=offset_us,
                image=image,
                mono_us=mono_us,
                boot_id=boot_id,
                error_us=error_us,
            )
            seq += 1
        self._release()

    def sounds(self, after_us: int = BEFORE_START_US) -> Iterator[Sound]:
        """The sound of a network stream, over a separate connection, with the same clock. A camera of this machine has none."""
        if self.has_sound:
            microphone = self._microphone_opened()
            if microphone is None:
                return
            self._microphone = microphone
            if self._closed.is_set():  # while it was opened
                microphone.close()
            yield from microphone.sounds(after_us)

    def _microphone_opened(self) -> Microphone | None:
        """Its sound, tried again until it can be opened; None if it was closed in the meantime. Raises NoSoundError if it has none."""
        from edgemem.see.sources.sound import Microphone, NoSoundError

        wait_s = _FIRST_WAIT_S
        while not self._closed.is_set():
            try:
                return Microphone(self._spec, stream=self.name, mono0_us=self._mono0_us)
            except NoSoundError:
                raise
            except SourceError:
                self._closed.wait(wait_s)
                wait_s = min(wait_s * 2, _LONGEST_WAIT_S)
        return None

    def _open(self) -> _Capture:
        if gstreamer.is_pipeline(self._spec):
            return gstreamer.Pipeline(self._spec)
        opened: _Capture = _Url(self._spec) if "://" in self._spec else _Device(self._spec)
        return opened

    def _lose(self, why: str) -> None:
        self.blind = why
        self._release()

    def _reconnect(self) -> _Capture | None:
        """The camera, opened again; None if it was closed in the meantime. Raises SourceError after `patience_s`."""
        wait_s, waited_s = _FIRST_WAIT_S, 0.0
        while not self._closed.wait(wait_s):
            waited_s += wait_s
            try:
                return self._open()
            except SourceError as error:
                self.blind = str(error)
            if self._patience_s is not None and waited_s >= self._patience_s:
                raise SourceError(f"{self._label}: gone for {waited_s:.0f} s ({self.blind}); what was seen before is kept")
            wait_s = min(wait_s * 2, _LONGEST_WAIT_S)
        return None

    def _release(self) -> None:
        capture, self._capture = self._capture, None
        if capture is not None:
            capture.close()

    @property
    def mono0_us(self) -> int:
        """Monotonic time of its opening; offsets count from it."""
        return self._mono0_us

    def close(self) -> None:
        self._closed.set()
        if self._microphone is not None:
            self._microphone.close()


_DIGITS = 9
"""Of a camera's number: longer ones do not fit what OpenCV takes (32 bits)."""


class _Device:
    """A camera of this machine through OpenCV."""

    def __init__(self, spec: str) -> None:
        import cv2

        cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)  # else it prints its own lines about a missing camera
        if spec.isdecimal() and len(spec) > _DIGITS:
            raise SourceError(f"camera {spec[:_DIGITS]}...: there is no camera with such a number")
        self._camera = cv2.VideoCapture(int(spec) if spec.isdecimal() else spec)
        if not self._camera.isOpened():
            raise SourceError(f"camera {spec}: cannot be opened; check that it is plugged in and that this user may read it (group video)")

    def grab(self) -> bool:
        return bool(self._camera.grab())

    def picture(self, side_px: int) -> Image | None:
        good, image = self._camera.retrieve()
        return pixels.shrink(image, side_px, smooth=True) if good and image is not None and image.size else None

    def close(self) -> None:
        self._camera.release()


class _Url:
    """A network stream through FFmpeg; RTSP over TCP, because lost UDP packets damage pictures."""

    def __init__(self, url: str) -> None:
        import av

        from edgemem.see.sources.container import open_container, reason

        label = str(url)
        options = {"rtsp_transport": "tcp"} if url.lower().startswith("rtsp") else {}
        try:
            self._container = open_container(url, options=options, timeout=_TIMEOUT_S)
        except (av.error.FFmpegError, OSError, ValueError) as error:
            why = reason(error, url)
            raise SourceError(f"{label}: cannot be opened ({why}); check the address and that the camera is on") from None
        if not self._container.streams.video:
            raise SourceError(f"{label}: sends no pictures")
        self._pictures = self._container.decode(video=0)
        self._picture: Any = None

    def grab(self) -> bool:
        import av

        try:
            self._picture = next(self._pictures, None)
        except (av.error.FFmpegError, OSError):
            self._picture = None
        return self._picture is not None

    def picture(self, side_px: int) -> Image | None:
        width, height = pixels.fitted(self._picture.width, self._picture.height, side_px)
        image: Image = self._picture.to_ndarray(format="bgr24", width=width, height=height)
        return None if self._picture.is_corrupt else pixels.rotated(image, self._picture.rotation)

    def close(self) -> None:
        self._container.close()
