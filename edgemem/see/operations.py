"""Writers: on which occasions they are called, and which operations they may return."""

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
"""Observations by moment id."""
Trigger = Literal["segment_closed", "moment_evicted", "every_n", "ended", "idle"]
OpenView = Callable[[], AbstractContextManager["View"]]
"""Opens the memory as of the last commit, for writers that continue what is stored there."""


class Node(Record, frozen=True):
    """One end of a relation: the kind (as in `records.Entity`) and the name of an entity."""

    kind: str
    name: str


class ReplaceDocument(Record, frozen=True):
    """`document` replaces a stored one from its `known_us` on; views before that time still show the old one."""

    document_id: int
    document: NewDocument


class RetireDocument(Record, frozen=True):
    """The document is no longer valid from the time of the occasion on; views before that time still show it."""

    document_id: int


class Triple(Record, frozen=True):
    """`source` has the relation `type` to `target` in one interval.

    A quote that names neither a document nor a moment gets the document that the same writer wrote before it.
    """

    source: Node
    type: str
    target: Node
    t0_us: int
    t1_us: int
    confidence: float = 1.0
    quotes: tuple[Quote, ...] = ()


class EndRelation(Record, frozen=True):
    """The relation is no longer valid from `t_us` on; views before that time still show it."""

    relation_id: int
    t_us: int


class Mentioned(Record, frozen=True):
    """The document that the same writer wrote before this mentions an entity."""

    node: Node
    score: float = 1.0


class Same(Record, frozen=True):
    """`short` is another name of `full` ("Tom" of "Tom Baker"). `Split` reverses it; what was reversed is not done again."""

    short: Node
    full: Node


class Split(Record, frozen=True):
    """`short` is a separate name after all: reverses the last `Same` about it. Does nothing if there is none."""

    short: Node


class Postpone(Record, frozen=True):
    """Call this writer again when the board is idle, with this payload (`BoardIdle`). The writer needs the trigger "idle".

    It survives a restart. `edgemem run` makes the call between frames and questions. `edgemem ingest` makes such calls after a recording
    was seen to its end, for at most 10 s; the rest waits for the next of these commands. The call goes to a separate instance of the
    writer: all that it needs must be in the payload and in the memory, not in its state. After an error the call is tried again later, five
    times.
    """

    payload: bytes
    after_s: float = 0.0
    """Least waiting time from now, in seconds."""


Operation = NewDocument | ReplaceDocument | RetireDocument | Triple | EndRelation | Mentioned | Same | Split | Postpone


class SegmentClosed(Record, frozen=True):
    """A segment closed; everything that is known about it."""

    segment: Segment
    moments: tuple[Moment, ...] = ()
    """In time order; empty if something was only heard."""
    observations: Observations = msgspec.field(default_factory=dict)
    utterances: tuple[Spoken, ...] = ()
    """What was said since the previous segment, in time order. No utterance is in two segments of one chain and level."""
    open_view: OpenView | None = None

    @property
    def stream(self) -> str:
        return self.segment.stream

    @property
    def known_us(self) -> int:
        """Nothing that is written becomes known before this time."""
        return self.segment.t1_us

    @property
    def origins(self) -> frozenset[Origin]:
        """Origins of the text that the writer reads."""
        said: set[Origin] = {spoken.document.origin for spoken in self.utterances}
        return frozenset(said | _read(*self.observations.values()))


class MomentEvicted(Record, frozen=True):
    """The selector evicts a moment; it is deleted after this call."""

    moment: Moment
    observations: tuple[Observation, ...] = ()
    picture: bytes | None = None
    """JPEG; None if it was deleted already."""
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
    """`every_n` segments of the lowest level closed since the last occasion of this type."""

    segments: tuple[Segment, ...]
    shown: frozenset[Origin] = frozenset()
    """Origins of the text in them."""
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
    """A recording was seen and heard to its end, or a live source ended on its own. A stream that was stopped by a user has not ended."""

    stream: str
    t_us: int
    """When it ended."""
    segments: tuple[Segment, ...] = ()
    """For a writer with the trigger "every_n": the segments of the lowest level since the last `SegmentsClosed`."""
    shown: frozenset[Origin] = frozenset()
    open_view: OpenView | None = None

    @property
    def known_us(self) -> int:
        return self.t_us

    @property
    def origins(self) -> frozenset[Origin]:
        return self.shown


class BoardIdle(Record, frozen=True):
    """The board has nothing else to do: a call with a payload that the writer postponed (`Postpone`)."""

    payload: bytes
    stream: str
    now_us: int
    shown: frozenset[Origin] = frozenset()
    """Origins of the text that the writer had read when it postponed the call."""
    open_view: OpenView | None = None

    @property
    def known_us(self) -> int:
        return self.now_us

    @property
    def origins(self) -> frozenset[Origin]:
        return self.shown

    def segment_closed(self, segment_id: int) -> SegmentClosed | None:
        """A segment as it is remembered now, for a writer that postponed it when it closed; None if it was forgotten."""
        if self.open_view is None:
            return None
        with self.open_view() as view:
            segment = view.segment(segment_id)
            if segment is None:
                return None
            moments = tuple(view.segment_moments(segment.id))
            said = view.utterances(stream=segment.stream, from_us=segment.t0_us, to_us=segment.t1_us)
            seen = view.observations([moment.id for moment in moments])
        return SegmentClosed(segment=segment, moments=moments, observations=seen, utterances=tuple(said), open_view=self.open_view)


Occasion = SegmentClosed | MomentEvicted | SegmentsClosed | StreamEnded | BoardIdle


class Writer(Protocol):
    """Hook `register_writers`. `BaseWriter` has what most writers have in common."""

    name: str

    @property
    def triggers(self) -> frozenset[Trigger]:
        """The occasions on which `write` is called."""
        ...

    @property
    def every_n(self) -> int:
        """For the trigger "every_n": the number of segments."""
        ...

    @property
    def slow(self) -> bool:
        """Whether it is slow, for example because it asks a language model. It is then called in a separate thread."""
        ...

    def write(self, occasion: Occasion) -> Iterable[Operation]:
        """The operations to carry out. None may be about a later time than that of the occasion."""
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
    """Called when a segment closes, not slow, without state. Writers override what is different."""

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
    """The origin of text in pictures, if there is any."""
    return {"ocr"} if any(o.kind == "text" for observations in seen for o in observations) else set()
