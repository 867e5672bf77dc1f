"""What a source is: a video file, pictures, a camera, a microphone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from edgemem.records import BEFORE_START_US, Frame, Record, Sound

SIDE_PX = 1920
"""Longest side of a frame. Larger pictures are shrunk while they are decoded; none is enlarged."""


class SourceContext(Record, frozen=True):
    """Input of the factory of a source, together with its settings."""

    spec: str
    """The source as the user wrote it: a path, `0`, `rtsp://host/path`, `alsa:default` ..."""
    stream: str
    """Name of the stream; "" = the source chooses one."""
    rate_fps: float
    """Highest number of frames per second."""
    start_us: int | None = None
    """Wall time of a recording's first frame; None = the source finds it, or uses the present time minus its length."""
    side_px: int = SIDE_PX
    """Longest side of its frames."""


class Source(Protocol):
    """Hook `register_sources`. A recording waits until its frames are read; of a live source only the newest frame is read.

    `BaseSource` has what most sources have in common.
    """

    name: str
    """Name of its stream."""
    live: bool
    t0_us: int
    """Wall time of the first frame; for a live source, of its opening."""
    duration_us: int | None
    """Length of the recording, if known."""
    identity: str
    """Equal for equal recordings. It finds the recording of a killed run, and shows that another file of the same name is not the same. ""
    when live."""
    dropped: dict[str, int]
    """Frames that could not be read, by reason: "corrupt", "truncated", "unreadable"."""
    has_sound: bool
    """Whether `sounds` yields anything."""

    @property
    def blind(self) -> str:
        """The reason why nothing is seen; "" while the source works."""
        ...

    def skip_to(self, offset_us: int) -> None:
        """Called before `frames`: begin with the first frame later than `offset_us`. A live source ignores it."""
        ...

    def set_rate(self, rate_fps: float) -> None:
        """Set the highest number of frames per second from now on. Can be called from any thread, also while `frames` runs. Frame numbers
        still increase.
        """
        ...

    def frames(self) -> Iterator[Frame]:
        """The frames in time order, once. Raises SourceError when there is none, or when a camera does not come back."""
        ...

    def sounds(self, after_us: int = BEFORE_START_US) -> Iterator[Sound]:
        """The sound later than an offset, in time order. It is called in a separate thread. A live source yields the sound from now on."""
        ...

    def close(self) -> None:
        """Free the device or file and end `frames`, from any thread. Calling it twice does nothing."""
        ...


class BaseSource:
    """A recording with pictures and without sound. Sources override what is different."""

    live = False
    blind = ""
    identity = ""
    has_sound = False

    def skip_to(self, offset_us: int) -> None:
        """Nothing to skip."""

    def set_rate(self, rate_fps: float) -> None:
        """The rate has no meaning here."""

    def sounds(self, after_us: int = BEFORE_START_US) -> Iterator[Sound]:
        """No sound."""
        del after_us
        return iter(())

    def close(self) -> None:
        """Nothing to free."""
