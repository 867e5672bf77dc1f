"""What a source is: a video file, pictures, a camera, each gives frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from edgemem.records import Frame

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
