"""The segments of a stream. A chain is one segmenter and the writers that are called for its segments.

A segment is written when the sound up to its end was heard, if there is sound. Speech during which nothing is seen becomes a segment
without moments, so that no word is lost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from edgemem.isolation import FaultIsolation
from edgemem.records import US, Moment, Observation, Origin, Record, Segment
from edgemem.remember.entries import NewSegment
from edgemem.remember.results import Spoken
from edgemem.see.calling_writers import WriterCalls
from edgemem.see.operations import MomentEvicted, SegmentClosed, SegmentsClosed, StreamEnded, Trigger, Writer
from edgemem.see.segment import Cut, Mark, Segmenter, StoredMark

if TYPE_CHECKING:
    from edgemem.infer.roles import TextEmbedder
    from edgemem.remember.store import Store, Transaction

SPOKEN_ALONE_US = 60 * US
"""Utterances wait this long for a moment in the same segment. The default recipe keeps one moment per minute of a still scene."""
SPOKEN_US = 30 * US
"""Longest segment of speech without a picture, so that an hour of talk becomes many paragraphs (EGAgent, appendix E: 30 s)."""
_REMEMBERED = 4000
"""How many moments are held in memory with their observations until their segments close; older ones are read from the store."""
Known = tuple[Moment, tuple[Observation, ...]]


class _Waiting(Record, frozen=True, array_like=True):
    """A cut that waits for hearing."""

    marks: tuple[StoredMark, ...]
    representative_id: int
    level: int = 0
    end_us: int | None = None

    @classmethod
    def of(cls, cut: Cut) -> _Waiting:
        marks = tuple(map(StoredMark.of, cut.marks))
        return cls(marks=marks, representative_id=cut.representative_id, level=cut.level, end_us=cut.end_us)

    def cut(self) -> Cut:
        marks = tuple(mark.mark() for mark in self.marks)
        return Cut(marks=marks, representative_id=self.representative_id, level=self.level, end_us=self.end_us)


class SegmentBacklog(msgspec.Struct):
    """Segments of the lowest level since a writer with the trigger "every_n" was called for them, and the origins of their words."""

    segments: list[Segment] = []
    shown: set[Origin] = set()

    def clear(self) -> None:
        """Start again from zero, after a call of the writer."""
        self.segments, self.shown = [], set()


class _State(msgspec.Struct):
    """Saved state of one chain."""

    segmenter: bytes
    waiting: list[_Waiting]
    used_us: int = msgspec.field(name="told_us")
    """Offset of the last utterance that is in a segment of the lowest level."""
    used_above_us: list[int] = msgspec.field(name="told_above_us", default_factory=list)
    """The same for the levels above."""
    orphans: list[Segment] = []
    writers: dict[str, bytes] = {}
    since: dict[str, SegmentBacklog] = {}


@dataclass
class Chain:
    """One segmenter, and the writers that are called for its segments."""

    segmenter: Segmenter
    writers: Sequence[Writer] = ()
    name: str = field(default="", init=False)
    """Unique in a run."""
    waiting: deque[Cut] = field(default_factory=deque, init=False)
    unused: list[deque[Spoken]] = field(init=False)
    """By level: utterances that are in no segment yet, in time order."""
    used_us: list[int] = field(init=False)
    """By level: offset of the last utterance that is in a segment."""
    seen_us: int = field(default=-1, init=False)
    """Offset of the last moment."""
    orphans: list[Segment] = field(default_factory=list, init=False)
    """Segments without a parent; a later segment of a higher level may become it."""
    since: dict[str, SegmentBacklog] = field(default_factory=dict, init=False)
    """By name of the writers that are called every n segments."""

    def __post_init__(self) -> None:
        self.unused = [deque() for _ in range(self.segmenter.levels)]
        self.used_us = [-1] * self.segmenter.levels

    def take(self, until_us: int, level: int = 0) -> tuple[Spoken, ...]:
        """The utterances that began up to this offset; each is returned once per level."""
        taken, unused = [], self.unused[level]
        while unused and unused[0].document.offset_us <= until_us:
            taken.append(unused.popleft())
        if taken:
            self.used_us[level] = taken[-1].document.offset_us
        return tuple(taken)

    def children_of(self, segment: Segment) -> list[int]:
        """Ids of the segments one level below that lie in this one and have no parent. They are removed from `orphans`."""
        found = [s for s in self.orphans if s.level == segment.level - 1 and segment.t0_us <= s.t0_us and s.t1_us <= segment.t1_us]
        self.orphans = [s for s in self.orphans if s not in found]
        return [s.id for s in found]


class Chains:
    """All chains of one stream."""

    def __init__(
        self, chains: Sequence[Chain], store: Store, stream: str, isolation: FaultIsolation, embedder: TextEmbedder | None
    ) -> None:
        self._chains, self._store, self._stream, self._isolation = tuple(chains), store, stream, isolation
        self.calls = WriterCalls(isolation, embedder)
        self._known: dict[int, Known] = {}
        self.segments = 0
        self._closed: list[Segment] = []
        numbers: dict[str, int] = {}
        for chain in self._chains:  # two chains may use one kind of segmenter
            number = numbers[chain.segmenter.name] = numbers.get(chain.segmenter.name, 0) + 1
            chain.name = f"segmenter/{chain.segmenter.name}" + (f"#{number}" if number > 1 else "")

    def restore(self, states: dict[str, bytes]) -> None:
        """Continue where an earlier run stopped."""
        for chain in self._chains:
            if chain.name in states:
                self._isolation.attempt(
                    f"segmenter {chain.segmenter.name} starts without its saved state", None, self._restore, chain, states[chain.name]
                )

    def _restore(self, chain: Chain, state: bytes) -> None:
        saved = msgspec.msgpack.decode(state, type=_State)
        chain.segmenter.restore(saved.segmenter)
        chain.waiting.extend(waiting.cut() for waiting in saved.waiting)
        chain.orphans, chain.since = saved.orphans, saved.since
        chain.used_us[:] = [saved.used_us, *saved.used_above_us, *chain.used_us][: len(chain.used_us)]
        for key, writer in self._writers(chain):
            self.calls.restore(key, writer, saved.writers.get(writer.name, b""))
        with self._store.view() as view:
            said = view.utterances(stream=self._stream)
        for unused, used_us in zip(chain.unused, chain.used_us, strict=True):
            unused.extend(spoken for spoken in said if spoken.document.offset_us > used_us)

    def states(self) -> dict[str, bytes]:
        """The states to save, by name of the chain."""
        return {chain.name: self._isolation.attempt("segmenter", b"", self._state, chain) for chain in self._chains}

    def _state(self, chain: Chain) -> bytes:
        writers = {writer.name: self.calls.states[key] for key, writer in self._writers(chain) if key in self.calls.states}
        return msgspec.msgpack.encode(
            _State(
                chain.segmenter.state(), [_Waiting.of(cut) for cut in chain.waiting], chain.used_us[0], chain.used_us[1:], chain.orphans,
                writers, chain.since,
            )
        )  # fmt: skip

    @staticmethod
    def _writers(chain: Chain, *triggers: Trigger) -> Iterator[tuple[str, Writer]]:
        """Writers that have any of these triggers (default: all), with their keys."""
        for writer in chain.writers:
            if not triggers or not writer.triggers.isdisjoint(triggers):
                yield f"{chain.name}/{writer.name}", writer

    def see(self, moment: Moment, observations: tuple[Observation, ...], mark: Mark) -> None:
        """Add a moment that was just stored."""
        self._known[moment.id] = (moment, observations)
        if len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]
        for chain in self._chains:
            chain.seen_us = mark.offset_us
            chain.waiting.extend(self._isolation.attempt("segmenter", [], chain.segmenter.observe, mark))

    def evict(self, tx: Transaction, moment_id: int) -> bool:
        """Call the writers for a moment that the selector evicts. False if it must not be deleted: it is gone already, or a user pinned
        it.
        """
        known = self._recall(moment_id)
        if known is None or not tx.remaining([moment_id]) or self._pinned(moment_id):
            return False
        moment, observations = known
        picture = self._store.picture(moment_id)
        occasion = MomentEvicted(moment=moment, observations=observations, picture=picture, open_view=self._store.view)
        for chain in self._chains:
            for key, writer in self._writers(chain, "moment_evicted"):
                self.calls.call(tx, key, writer, occasion)
        self._known.pop(moment_id, None)
        return True

    def role_of(self, moment_id: int) -> str:
        """The role that the selector gave a moment."""
        known = self._recall(moment_id)
        return known[0].role if known is not None else ""

    def hear(self, spoken: Spoken) -> None:
        """Add an utterance that was just stored."""
        for chain in self._chains:
            for unused in chain.unused:
                unused.append(spoken)

    def flush(self) -> None:
        """The stream ended: close the open segments."""
        for chain in self._chains:
            chain.waiting.extend(self._isolation.attempt("segmenter", [], chain.segmenter.flush))

    def write(self, tx: Transaction, heard_us: int, seen_us: int, *, ending: bool = False) -> bool:
        """Write one segment whose sound was heard to its end, or the operations of one slow writer. True if there is more to write.

        One per call: under the smallest budget a transaction holds about 40 relations between new entities, and the writers of one segment
        may fill it. `heard_us` and `seen_us`: offsets before which every utterance was heard and every frame was handled.
        """
        due = self._due(heard_us, seen_us, ending=ending)
        if self.calls.take_slow(tx):
            return self.calls.ready or next(due, None) is not None
        close = next(due, None)
        if close is not None:
            close(tx)
        return next(self._due(heard_us, seen_us, ending=ending), None) is not None

    def _due(self, heard_us: int, seen_us: int, *, ending: bool) -> Iterator[Callable[[Transaction], None]]:
        """Functions that write a segment, one for each chain that has one ready."""
        for chain in self._chains:
            # an utterance may still begin at `heard_us` itself, and one that begins as the segment ends belongs to it
            if chain.waiting and (ending or chain.waiting[0].end_offset_us < heard_us):
                yield partial(self._close, chain)
            alone_us = min(heard_us, seen_us) - SPOKEN_ALONE_US
            if chain.unused[0] and (ending or chain.seen_us < chain.unused[0][0].document.offset_us < alone_us):
                yield partial(self._close_spoken, chain)

    def ended(self, tx: Transaction, t_us: int) -> None:
        """Call the writers when the stream was seen and heard to its end."""
        for chain in self._chains:
            for key, writer in self._writers(chain, "ended"):
                since = chain.since.pop(writer.name, SegmentBacklog())
                occasion = StreamEnded(
                    stream=self._stream, t_us=t_us, segments=tuple(since.segments), shown=frozenset(since.shown), open_view=self._store.view
                )
                self.calls.call(tx, key, writer, occasion)

    def take_closed(self) -> list[Segment]:
        """Segments written since the last call of this function."""
        closed, self._closed = self._closed, []
        return closed

    def _close(self, chain: Chain, tx: Transaction) -> None:
        """Write the segment that has waited longest."""
        cut = chain.waiting.popleft()
        ids = tx.remaining([mark.moment_id for mark in cut.marks])
        if not ids:
            return
        representative = min(ids, key=lambda moment_id: (abs(moment_id - cut.representative_id), moment_id))
        span = {
            "t0_us": cut.t0_us, "t1_us": cut.t1_us, "offset_us": cut.offset_us, "representative_id": representative, "level": cut.level
        }  # fmt: skip
        segment = self._isolation.attempt("segment", None, self._add, tx, chain, ids, span)
        if segment is None:
            return
        found = [pair for pair in map(self._recall, ids) if pair is not None]
        said = chain.take(cut.end_offset_us, cut.level)
        observations = {moment.id: seen for moment, seen in found}
        self._call(tx, chain, segment, tuple(moment for moment, _ in found), observations, said)

    def _close_spoken(self, chain: Chain, tx: Transaction) -> None:
        """Write a segment of speech without a picture: all utterances that began within `SPOKEN_US` of the first."""
        said = chain.take(chain.unused[0][0].document.offset_us + SPOKEN_US - 1)
        first, last = said[0].document, max((s.document for s in said), key=lambda document: document.t1_us)
        span = {"t0_us": first.t0_us, "t1_us": last.t1_us, "offset_us": first.offset_us, "representative_id": None, "level": 0}
        segment = self._isolation.attempt("segment", None, self._add, tx, chain, (), span)
        if segment is not None:
            self._call(tx, chain, segment, (), {}, said)

    def _add(self, tx: Transaction, chain: Chain, ids: tuple[int, ...], span: dict[str, Any]) -> Segment:
        segmenter = chain.segmenter.name
        segment_id = tx.add_segment(NewSegment(stream=self._stream, segmenter=segmenter, moment_ids=ids, **span))
        segment = Segment(id=segment_id, stream=self._stream, segmenter=segmenter, **span)
        if segment.level and (children := chain.children_of(segment)):
            tx.set_parent(children, segment_id)
        if segment.level < chain.segmenter.levels - 1:
            chain.orphans.append(segment)
        self.segments += 1
        self._closed.append(segment)
        return segment

    def _call(
        self, tx: Transaction, chain: Chain, segment: Segment, moments: tuple[Moment, ...],
        observations: dict[int, tuple[Observation, ...]], said: tuple[Spoken, ...],
    ) -> None:  # fmt: skip
        view = self._store.view
        closed = SegmentClosed(segment=segment, moments=moments, observations=observations, utterances=said, open_view=view)
        for key, writer in self._writers(chain, "segment_closed"):
            self.calls.call(tx, key, writer, closed)
        for key, writer in self._writers(chain, "every_n") if segment.level == 0 else ():
            since = chain.since.setdefault(writer.name, SegmentBacklog())
            since.segments.append(segment)
            since.shown |= closed.origins
            if len(since.segments) >= max(1, writer.every_n):
                occasion = SegmentsClosed(segments=tuple(since.segments), shown=frozenset(since.shown), open_view=view)
                since.clear()
                self.calls.call(tx, key, writer, occasion)

    def _pinned(self, moment_id: int) -> bool:
        with self._store.view() as view:
            moment = view.moment(moment_id)
        return moment is not None and moment.pinned

    def _recall(self, moment_id: int) -> Known | None:
        """A moment of this run, or one that an earlier run committed; None if it was deleted since."""
        known = self._known.get(moment_id)
        if known is not None:
            return known
        with self._store.view() as view:
            moment = view.moment(moment_id)
            return (moment, view.observations([moment_id]).get(moment_id, ())) if moment is not None else None
