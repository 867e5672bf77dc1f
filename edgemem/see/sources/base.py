"""What a source is: a video file, pictures, a camera, a microphone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from edgemem.records import BEFORE_START_US, Frame, Record, Sound

SIDE_PX = 1920
"""Longest side of a frame. Larger pictures are shrunk while they are decoded, none is ever enlarged."""


class SourceContext(Record, frozen=True):
    """What the factory of a source gets beside its settings."""

    spec: str
    """What the user named: a path, `0`, `rtsp://host/path`, `alsa:default` ... Of an address it shows no user, password or query: whoever
    opens it calls `edgemem.secret.reveal` then."""
    stream: str
    """Name of the stream; "" = the source chooses one."""
    rate_fps: float
    """Most frames per second that it gives."""
    start_us: int | None = None
    """Wall time of a recording's first frame; None = the source finds out, or takes now minus its length."""
    side_px: int = SIDE_PX
    """Longest side of its frames."""


class Source(Protocol):
    """Hook `register_sources`. A recording waits for whoever takes its frames; of a live source the newest frame is taken.

    `BaseSource` has what most sources have in common.
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
    dropped: dict[str, int]
    """Frames that could not be given, by reason: "corrupt", "truncated", "unreadable"."""
    has_sound: bool
    """Whether `sounds` yields anything."""

    @property
    def blind(self) -> str:
        """Why nothing is seen; "" while it sees."""
        ...

    def skip_to(self, offset_us: int) -> None:
        """Before `frames`: begin with the first frame later than `offset_us`. A live source has nothing to skip."""
        ...

    def set_rate(self, rate_fps: float) -> None:
        """Give at most so many frames per second from now on; from any thread, also while `frames` runs. Numbers go on growing."""
        ...

    def frames(self) -> Iterator[Frame]:
        """The frames in time order, once. Raises SourceError when there is none, or when a camera stays away."""
        ...

    def sounds(self, after_us: int = BEFORE_START_US) -> Iterator[Sound]:
        """The sound later than an offset, in time order; called from a thread of its own. A live source yields what comes from now on."""
        ...

    def close(self) -> None:
        """Free the device or file and end `frames`, from any thread. Calling it twice does nothing."""
        ...


class BaseSource:
    """A recording without sound that sees; sources override what they do otherwise."""

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
