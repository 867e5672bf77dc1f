"""Passes frames from the capture thread (A) to the thread that handles them (B)."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator

from edgemem.isolation import call_isolated
from edgemem.records import Frame
from edgemem.see.sources.base import Source

_END_S = 1.0
"""How long a source may take to end after it was closed. A camera that hangs is left alone: it has nothing that was seen."""
_IDLE_S = 1.0
"""Without a frame for so long, `idle` is called."""
_AHEAD = 1
"""Frames of a recorded source that wait while the next is decoded, so that decoding and inference overlap. Each is 6 MB at 1080p."""


class FrameSlot:
    """Runs a source in a separate thread.

    A live source never waits: there is one slot, a newer frame overwrites an older one, and `missed` counts the overwritten frames. A
    recorded source waits while the slot is full: nothing is lost.
    """

    def __init__(self, source: Source, idle: Callable[[], object] = lambda: None) -> None:
        """`idle` is called about every second while no frame comes."""
        self.missed = 0
        self._idle = idle
        self._unhandled = 0
        self._source = source
        self._room = 1 if source.live else _AHEAD
        self._frames: deque[Frame] = deque()
        self._changed = threading.Condition()
        self._ended = False
        self._stopped = False
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._capture, name="edgemem-capture", daemon=True)

    def frames(self) -> Generator[Frame, None, None]:
        """Start capturing; ends with the source or after `stop`. An error of the source is raised here after all frames before it."""
        self._thread.start()
        try:
            while (frame := self._take()) is not None:
                yield frame
        finally:
            self.stop()
            self._thread.join(timeout=_END_S)
        if self._error is not None:
            raise self._error

    def handled(self) -> None:
        """The last frame is done with."""
        with self._changed:
            self._unhandled -= 1

    @property
    def busy(self) -> bool:
        """Whether a frame waits or is not done with."""
        return self._unhandled > 0

    def stop(self) -> None:
        """End the frames, from any thread. Calling it twice does nothing."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self._source.close()

    def _take(self) -> Frame | None:
        while True:
            with self._changed:
                if not (self._frames or self._ended or self._stopped):
                    self._changed.wait(_IDLE_S)
                if self._stopped or (self._ended and not self._frames):
                    return None
                if self._frames:
                    frame = self._frames.popleft()
                    self._changed.notify_all()
                    return frame
            self._idle()

    def _capture(self) -> None:
        call_isolated(self._fill, self._fail)
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _fail(self, error: Exception) -> None:
        self._error = error

    def _fill(self) -> None:
        for frame in self._source.frames():
            with self._changed:
                if self._source.live and self._frames:
                    self._unhandled -= len(self._frames)
                    self._frames.clear()
                    self.missed += 1
                while len(self._frames) >= self._room and not self._stopped:
                    self._changed.wait()
                self._frames.append(frame)
                self._unhandled += 1
                self._changed.notify_all()
            if self._stopped:
                return
