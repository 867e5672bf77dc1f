"""What one run did."""

from __future__ import annotations

from collections.abc import Callable

from edgemem.records import Record

Progress = Callable[[int, "int | None"], None]
"""Called after every frame with its offset and the length of the stream, both in microseconds."""

INTERRUPTED = "interrupted; run the same command again to go on"
"""Note for a recording that was not seen to its end."""
STOPPED = "stopped"
"""Note for a live stream that was stopped."""
NO_HEARING = "it is only sound, and this recipe has no speech recogniser: use a recipe that hears, and install edgemem-hearing"
"""Note for sound without a recogniser."""


class IngestReport(Record, frozen=True):
    """What one run did. `notes` are lines for a person: failures, an interruption, a camera that was lost."""

    stream: str
    frames_seen: int
    moments_kept: int
    segments: int
    documents: int
    seconds_of_video: float
    seconds_spent: float
    disk_bytes: int
    dropped: dict[str, int]
    """Frames that did not become candidates, by reason."""
    interrupted: bool = False
    """A recording that was stopped before its end: the rest of it is not in the memory."""
    signal: int = 0
    """Number of the signal that stopped the run; 0 = none."""
    notes: tuple[str, ...] = ()
