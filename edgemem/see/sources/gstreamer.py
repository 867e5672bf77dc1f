"""A camera behind a GStreamer pipeline, such as a CSI camera of a Jetson board, through the program gst-launch-1.0.

OpenCV's wheels are built without GStreamer, and its Python bindings are in no wheel; the program is on every board that has such a camera.
"""

from __future__ import annotations

import os
import re
import select
import shlex
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

import numpy as np

from edgemem.errors import SourceError
from edgemem.records import MOST_PIXELS, Image
from edgemem.see import pixels

if TYPE_CHECKING:
    import numpy.typing as npt

SCHEME = "gstreamer"
_PROGRAM = "gst-launch-1.0"
_SINK = "queue leaky=downstream max-size-buffers=2 ! videoconvert ! video/x-raw,format=I420 ! y4menc ! fdsink fd=1"
"""Drops pictures that nobody reads in time, and writes the others as YUV4MPEG2 (man yuv4mpeg)."""
_HEADER = re.compile(rb"YUV4MPEG2 (?=.*\bW(?P<width>\d+))(?=.*\bH(?P<height>\d+)).*")
_TIMEOUT_S = 10.0
"""A pipeline that sends nothing for this time counts as lost."""
_MOST_LINE_BYTES = 256


def is_pipeline(spec: str) -> bool:
    """Whether an address names a pipeline."""
    return spec.startswith(f"{SCHEME}:")


class Pipeline:
    """A running pipeline. The last element of `spec` must give raw video."""

    def __init__(self, spec: str) -> None:
        """Raises SourceError if it does not start, with what the program says."""
        program = shutil.which(_PROGRAM)
        if program is None:
            raise SourceError(f"{spec}: {_PROGRAM} is not installed; run: apt install gstreamer1.0-tools gstreamer1.0-plugins-good")
        try:
            words = [*shlex.split(spec.partition(":")[2]), "!", *_SINK.split()]
        except ValueError as error:
            raise SourceError(f"{spec}: not a pipeline ({error})") from None
        self._process = subprocess.Popen(
            [program, "-q", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
        header = _HEADER.fullmatch(self._line())
        size = (int(header["width"]), int(header["height"])) if header else (0, 0)
        if not 0 < size[0] * size[1] <= MOST_PIXELS:
            why = self._complaint()
            self.close()
            raise SourceError(f"{spec}: cannot be opened ({why})")
        self._layout = _Layout(*size)
        self._picture = b""

    def grab(self) -> bool:
        """Wait for the next picture. False if there is none any more."""
        if not self._line().startswith(b"FRAME"):
            return False
        self._picture = self._bytes(self._layout.size)
        return len(self._picture) == self._layout.size

    def picture(self, side_px: int) -> Image | None:
        """The picture of the last `grab`, BGR, at most `side_px` long."""
        return pixels.shrink(self._layout.bgr(self._picture), side_px, smooth=True)

    def close(self) -> None:
        """End the program."""
        self._end()

    def _end(self) -> tuple[bytes, bytes]:
        """What it still wrote. One that hangs in its driver does not answer SIGTERM."""
        self._process.terminate()
        try:
            return self._process.communicate(timeout=2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.communicate()

    def _line(self) -> bytes:
        """One line without its end; b"" if the program ended or is silent."""
        line = b""
        while len(line) < _MOST_LINE_BYTES and (one := self._bytes(1)) not in {b"", b"\n"}:
            line += one
        return line

    def _bytes(self, count: int) -> bytes:
        """So many bytes; fewer if the program ended or is silent."""
        assert self._process.stdout is not None
        descriptor, got, until_s = self._process.stdout.fileno(), bytearray(), time.monotonic() + _TIMEOUT_S
        while len(got) < count:
            ready, _, _ = select.select([descriptor], [], [], max(0.0, until_s - time.monotonic()))
            part = os.read(descriptor, count - len(got)) if ready else b""
            if not part:
                break
            got += part
        return bytes(got)

    def _complaint(self) -> str:
        """The first line of the program's errors."""
        _, said = self._end()
        lines = said[:4096].decode("utf-8", "replace").splitlines()
        return next((line.strip() for line in lines if line.strip()), "it sends no pictures")


class _Layout:
    """Where the planes of a picture are: GStreamer pads rows of I420 to 4 bytes and the number of rows to 2 (gst-plugins-base, part "raw
    video media types").
    """

    def __init__(self, width: int, height: int) -> None:
        self._width, self._height = width - width % 2, height - height % 2
        rows, half_rows = _up(height, 2), _up(height, 2) // 2
        self._planes = [(rows, _up(width, 4)), *[(half_rows, _up(_up(width, 2) // 2, 4))] * 2]
        self.size = sum(count * stride for count, stride in self._planes)

    def bgr(self, data: bytes) -> Image:
        """The picture in colours; an odd last row or column is cut off."""
        import cv2

        planes: list[npt.NDArray[np.uint8]] = []
        start = 0
        for number, (rows, stride) in enumerate(self._planes):
            part = 1 if number == 0 else 2
            plane = np.frombuffer(data, np.uint8, rows * stride, start).reshape(rows, stride)
            planes.append(plane[: self._height // part, : self._width // part].reshape(-1))
            start += rows * stride
        picture: Image = cv2.cvtColor(np.concatenate(planes).reshape(self._height * 3 // 2, self._width), cv2.COLOR_YUV2BGR_I420)
        return picture


def _up(number: int, step: int) -> int:
    return -(-number // step) * step
