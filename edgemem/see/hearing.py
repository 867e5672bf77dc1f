"""What the pipeline needs from hearing. `hear` implements it and `extend` connects the two: neither package imports the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

from edgemem.records import Sound

if TYPE_CHECKING:
    from edgemem.remember.results import Spoken
    from edgemem.remember.store import Store, Transaction


class Hearing(Protocol):
    """Hears the stream of one run in its own threads."""

    @property
    def utterances(self) -> int:
        """How many utterances were stored."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines for a person."""
        ...

    def take_new_notes(self) -> tuple[str, ...]:
        """What failed for the first time since the last call. From any thread."""
        ...

    @property
    def waiting(self) -> bool:
        """Whether utterances are left for the next `write`."""
        ...

    def start(self, position_us: int) -> None:
        """Begin where an earlier run stopped: the `position_us` of its last `write`, or `BEFORE_START_US`."""
        ...

    def seen(self, offset_us: int) -> None:
        """Note that frames were handled up to this offset of the stream."""
        ...

    def finish(self, commit: Callable[[], object], stopped: Callable[[], bool]) -> None:
        """There are no more frames: hear a recording to its end. Once `stopped()` is true, hear only what was said so far.

        `commit` is called about every second.
        """
        ...

    def write(self, tx: Transaction, stored: Callable[[Spoken], object]) -> tuple[int, int]:
        """Store utterances in this transaction, calling `stored` for each. Returns (until_us, position_us).

        No further utterance will begin before the offset `until_us` of the stream; it is `AFTER_END_US` once everything was heard.
        A later run continues at `position_us`, an offset of the source.
        """
        ...


class Stamps(Protocol):
    """Converts the times of a source into those of its stream in the memory."""

    @property
    def stream(self) -> str:
        """Name of the stream."""
        ...

    def stamp(self, t_us: int, offset_us: int) -> tuple[int, int]:
        """(wall time, offset) in the stream for these of the source."""
        ...


class SoundSource(Protocol):
    """The sound of a source; a `see.sources.base.Source` is one."""

    @property
    def live(self) -> bool: ...

    def sounds(self, after_us: int) -> Iterator[Sound]: ...


HearingFactory = Callable[[SoundSource, Stamps, "Store", Callable[[], bool]], Hearing]
"""(source, stamps, store, whether the memory is paused) -> the hearing of this source."""
