"""Writers: on which occasions they are called, and what they may ask to have written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from edgemem.records import Moment, Observation, Origin, Quote, Record, Segment
from edgemem.remember.entries import NewDocument
from edgemem.remember.results import Spoken

if TYPE_CHECKING:
    from edgemem.remember.view import View

Observations = Mapping[int, tuple[Observation, ...]]
"""What was observed, by moment id."""
Trigger = Literal["segment_closed", "moment_evicted", "every_n", "ended", "idle"]
OpenView = Callable[[], AbstractContextManager["View"]]
"""Opens the memory as it was committed last, for writers that continue what stands there."""


class Node(Record, frozen=True):
    """An end of an edge: kind as in `records.Entity` and name."""

    kind: str
    name: str


class ReplaceDocument(Record, frozen=True):
    """`document` takes the place of a stored one, from its `known_us` on; views before that go on showing the old one."""

    document_id: int
    document: NewDocument


class RetireDocument(Record, frozen=True):
    """The document no longer holds from the time of the occasion on; views before that go on showing it."""

    document_id: int


class Triple(Record, frozen=True):
    """`source` did `type` to `target` in one interval.

    A quote that names neither document nor picture rests on the document that the same writer wrote before it.
    """

    source: Node
    type: str
    target: Node
    t0_us: int
    t1_us: int
    confidence: float = 1.0
    quotes: tuple[Quote, ...] = ()


class EndRelation(Record, frozen=True):
    """The relation no longer holds from `t_us` on; views before that go on showing it."""

    relation_id: int
    t_us: int


class Mentioned(Record, frozen=True):
    """Someone or something came up in the document that the same writer wrote before this."""

    node: Node
    score: float = 1.0


class Same(Record, frozen=True):
    """`short` is another name of `full` ("Tom" of "Tom Baker"). `Split` takes it back."""

    short: Node
    full: Node


class Split(Record, frozen=True):
    """`short` is a name of its own after all: takes the last `Same` about it back. Does nothing where there is none."""

    short: Node


class Postpone(Record, frozen=True):
    """Ask this writer again when the board is idle, with this payload (`BoardIdle`). The writer needs the trigger "idle".

    It survives a restart. `edgemem run` asks between frames and questions. `edgemem ingest` asks when a recording was seen to its end, for
    at most 10 s; what is left then waits for the next of these commands. The writer that is asked is one of its own: what it is to know
    stands in the payload and in the memory, not in its state. An error is tried again later, five times.
    """

    payload: bytes
    after_s: float = 0.0
    """Not before so many seconds from now."""


Operation = NewDocument | ReplaceDocument | RetireDocument | Triple | EndRelation | Mentioned | Same | Split | Postpone


class SegmentClosed(Record, frozen=True):
    """A segment closed; all that is known of it."""

    segment: Segment
    moments: tuple[Moment, ...] = ()
    """In time order; none where only something was heard."""
    observations: Observations = msgspec.field(default_factory=dict)
    utterances: tuple[Spoken, ...] = ()
    """What was said since the segment before, in time order: no utterance is in two segments of one chain and level."""
    open_view: OpenView | None = None

    @property
    def stream(self) -> str:
        return self.segment.stream

    @property
    def known_us(self) -> int:
        """Before this nothing that is written becomes known."""
        return self.segment.t1_us

    @property
    def origins(self) -> frozenset[Origin]:
        """Of the words that the writer is shown."""
        said: set[Origin] = {spoken.document.origin for spoken in self.utterances}
        return frozenset(said | _read(*self.observations.values()))


class MomentEvicted(Record, frozen=True):
    """The selector lets a moment go; it is deleted after this."""

    moment: Moment
    observations: tuple[Observation, ...] = ()
    picture: bytes | None = None
    """JPEG; None where it has faded already."""
    open_view: OpenView | None = None

    @property
    def stream(self) -> str:
        return self.moment.stream

    @property
    def known_us(self) -> int:
        return self.moment.t_us

    @property
    def origins(self) -> frozenset[Origin]:
        return frozenset(_read(self.observations))


class SegmentsClosed(Record, frozen=True):
    """`every_n` segments of the lowest level closed since the last such occasion."""

    segments: tuple[Segment, ...]
    shown: frozenset[Origin] = frozenset()
    """Origins of the words in them."""
    open_view: OpenView | None = None

    @property
    def stream(self) -> str:
        return self.segments[-1].stream

    @property
    def known_us(self) -> int:
        return max(segment.t1_us for segment in self.segments)

    @property
    def origins(self) -> frozenset[Origin]:
        return self.shown


class StreamEnded(Record, frozen=True):
    """A recording was seen and heard to its end, or a live source ended by itself. A stream that is stopped has not ended."""

    stream: str
    t_us: int
    """When it ended."""
    segments: tuple[Segment, ...] = ()
    """For a writer that is called every n segments too: those of the lowest level since the last `SegmentsClosed`."""
    shown: frozenset[Origin] = frozenset()
    open_view: OpenView | None = None

    @property
    def known_us(self) -> int:
        return self.t_us

    @property
    def origins(self) -> frozenset[Origin]:
        return self.shown


class BoardIdle(Record, frozen=True):
    """The board has nothing else to do: a payload that the writer postponed comes back."""

    payload: bytes
    stream: str
    now_us: int
    shown: frozenset[Origin] = frozenset()
    """Origins of the words that the writer was shown when it postponed."""
    open_view: OpenView | None = None

    @property
    def known_us(self) -> int:
        return self.now_us

    @property
    def origins(self) -> frozenset[Origin]:
        return self.shown


Occasion = SegmentClosed | MomentEvicted | SegmentsClosed | StreamEnded | BoardIdle


class Writer(Protocol):
    """Hook `register_writers`. `BaseWriter` has what most writers have in common."""

    name: str

    @property
    def triggers(self) -> frozenset[Trigger]:
        """On which occasions `write` is called."""
        ...

    @property
    def every_n(self) -> int:
        """For the trigger "every_n": after how many segments."""
        ...

    @property
    def slow(self) -> bool:
        """Whether it takes its time, such as one that asks a language model: it is called in a thread of its own then."""
        ...

    def write(self, occasion: Occasion) -> Iterable[Operation]:
        """What is to be written. None of it may be about a later time than the occasion's."""
        ...

    def write_at_once(self, occasion: Occasion) -> Iterable[Operation]:
        """Of a slow writer that is behind a live stream: what can be written of this occasion without waiting, such as a document without
        the words of a language model, and a `Postpone` to write it anew. Called instead of `write`, in the frame's path.
        """
        ...

    def state(self) -> bytes:
        """Everything needed to continue after a restart."""
        ...

    def restore(self, state: bytes) -> None:
        """Continue from `state`. Raises ValueError or msgspec.DecodeError when it is not one."""
        ...


class BaseWriter:
    """Called when a segment closes, quick, without state; writers override what they do otherwise."""

    triggers: frozenset[Trigger] = frozenset({"segment_closed"})
    every_n = 0
    slow = False

    def write_at_once(self, _occasion: Occasion) -> Iterable[Operation]:
        """Nothing: the occasion is left without its words."""
        return ()

    def state(self) -> bytes:
        """Empty."""
        return b""

    def restore(self, state: bytes) -> None:
        """Nothing to restore."""


def _read(*seen: Iterable[Observation]) -> set[Origin]:
    """The origin of text that was read, where there is any."""
    return {"ocr"} if any(o.kind == "text" for observations in seen for o in observations) else set()
