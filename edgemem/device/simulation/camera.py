"""A recording as a camera: its frames come when they are due in the time of this process, from the start again after its end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from edgemem import clock
from edgemem.errors import UsageError
from edgemem.records import US, Frame, Image
from edgemem.see.sources.base import BaseSource, Source

GONE = "simulated: the camera is gone"
_LOOK_S = 0.5
"""How often a camera that is gone looks whether it is back."""


class CameraFaults(Protocol):
    """What goes wrong with the cameras now."""

    def blind(self, stream: str) -> bool: ...
    def frozen(self, stream: str) -> bool: ...
    def began(self, camera: SimulatedCamera) -> None:
        """Called in the thread of its frames, before the first one."""
        ...

    def ended(self, camera: SimulatedCamera) -> None:
        """Called when it was closed; several times."""
        ...


class SimulatedCamera(BaseSource):
    """A live source without sound, made of a recording that is opened again whenever it ends."""

    live = True
    duration_us: int | None = None

    def __init__(self, opened: Callable[[], Source], rate_fps: float, faults: CameraFaults) -> None:
        """`opened` opens the recording; at most `rate_fps` of its frames come in a second.

        Raises UsageError for a source that is live itself, and SourceError.
        """
        self._opened, self._faults = opened, faults
        self._recording = opened()
        self.name = self._recording.name
        if self._recording.live:
            self._recording.close()
            raise UsageError(f"{self.name}: a simulation takes recordings as cameras: name a video or a folder of pictures")
        self.dropped = self._recording.dropped
        self.blind = "not opened yet"
        self.shown = 0
        """Frames that it has sent."""
        self._closed = threading.Event()
        self._clock = clock.SteadyClock()
        self.t0_us, self._mono0_us, _ = self._clock.now()
        self._due_us = self._mono0_us
        self.set_rate(rate_fps)

    def set_rate(self, rate_fps: float) -> None:
        self._period_us = max(1, round(US / rate_fps))

    def frames(self) -> Iterator[Frame]:
        self._faults.began(self)
        image: Image | None = None
        for seq, recorded in enumerate(self._paced()):
            self._await_return()
            if self._closed.is_set():
                break
            if image is None or not self._faults.frozen(self.name):
                image = recorded.image
            self.blind = ""
            self.shown += 1
            t_us, mono_us, error_us = self._clock.now()
            yield msgspec.structs.replace(
                recorded, seq=seq, t_us=t_us, offset_us=mono_us - self._mono0_us, image=image, mono_us=mono_us,
                boot_id=clock.boot_id(), error_us=error_us,
            )  # fmt: skip
        self._faults.ended(self)

    def close(self) -> None:
        self._closed.set()
        self._recording.close()
        self._faults.ended(self)

    def _paced(self) -> Iterator[Frame]:
        """The frames of the recording, again and again, each when it is due. What came while the camera was gone, or too soon for its rate,
        is left out.
        """
        begins_us = clock.mono_us()
        while not self._closed.is_set():
            length_us = 0
            for frame in self._recording.frames():
                due_us, length_us = begins_us + frame.offset_us, max(length_us, frame.offset_us)
                if due_us < self._due_us or due_us < clock.mono_us() - self._period_us:
                    continue
                if clock.wait(self._closed, (due_us - clock.mono_us()) / US):
                    return
                self._due_us = max(self._due_us + self._period_us, due_us + self._period_us // 2)
                yield frame
            begins_us += self._recording.duration_us or length_us + US
            self._recording.close()
            if not self._closed.is_set():
                self._recording = self._opened()

    def _await_return(self) -> None:
        while self._faults.blind(self.name) and not self._closed.is_set():
            self.blind = GONE
            clock.wait(self._closed, _LOOK_S)
