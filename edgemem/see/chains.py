"""The segments of a stream: each chain has a segmenter of its own notion and the writers that put its segments into words.

A segment is written once the ear, where there is one, has heard past its end. What is said while nothing is seen makes a segment without
moments, so that no word is lost. A writer that takes its time (`slow = True`, such as one that asks a language model) works beside: what it
brings is written with a later transaction.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from edgemem.isolation import FaultIsolation
from edgemem.records import US, Moment, Observation, Record, Segment
from edgemem.remember.entries import NewSegment
from edgemem.remember.results import Spoken
from edgemem.see.operations import Closing, Operation, Writer, steps
from edgemem.see.segment import Cut, Mark, Segmenter, StoredMark

if TYPE_CHECKING:
    from edgemem.infer.roles import TextEmbedder
    from edgemem.remember.store import Store, Transaction

SPOKEN_ALONE_US = 60 * US
"""So long words wait for a moment that shares their segment: the default recipe keeps one a minute of a still scene."""
SPOKEN_US = 30 * US
"""Words without a picture are told in stretches of at most this: an hour of talk is not one paragraph (EGAgent, appendix E: 30 s)."""
_REMEMBERED = 4000
"""Moments whose observations are kept at hand for their segments; older ones are read from the store."""
_SLOW_AHEAD = 8
"""Segments that may wait for slow writers."""

Known = tuple[Moment, tuple[Observation, ...]]


class _Waiting(Record, frozen=True, array_like=True):
    """A cut that waits for the ear."""

    marks: tuple[StoredMark, ...]
    representative_id: int

    @classmethod
    def of(cls, cut: Cut) -> _Waiting:
        return cls(marks=tuple(StoredMark.of(mark) for mark in cut.marks), representative_id=cut.representative_id)

    def cut(self) -> Cut:
        return Cut(marks=tuple(mark.mark() for mark in self.marks), representative_id=self.representative_id)


class _State(msgspec.Struct):
    """What a restart needs of one chain."""

    segmenter: bytes
    waiting: list[_Waiting]
    told_us: int


@dataclass
class Chain:
    """One notion of segments, and what is written about them."""

    segmenter: Segmenter
    writers: Sequence[Writer] = ()
    waiting: deque[Cut] = field(default_factory=deque, init=False)
    untold: deque[Spoken] = field(default_factory=deque, init=False)
    """Utterances that no segment of this chain was given yet, in time order."""
    seen_us: int = field(default=-1, init=False)
    """Offset of the last moment."""
    told_us: int = field(default=-1, init=False)
    """Offset of the last utterance that was given to a segment."""

    def take(self, until_us: int) -> tuple[Spoken, ...]:
        """The utterances that began before this offset; each is given once."""
        taken = []
        while self.untold and self.untold[0].document.offset_us <= until_us:
            taken.append(self.untold.popleft())
        if taken:
            self.told_us = taken[-1].document.offset_us
        return tuple(taken)


class Chains:
    """All tracks of one stream."""

    def __init__(self, chains: Sequence[Chain], store: Store, stream: str, care: FaultIsolation, embedder: TextEmbedder | None) -> None:
        self._chains, self._store, self._stream, self._care, self._embedder = tuple(chains), store, stream, care, embedder
        self._known: dict[int, Known] = {}
        self._beside = ThreadPoolExecutor(1, "writer")
        self._slow: deque[tuple[str, Closing, Future[list[Operation]]]] = deque()
        self._words: deque[tuple[str, deque[Callable[[Transaction], int]]]] = deque()
        """Of writers, by name, the steps of what they wrote that are left."""
        self.segments = self.documents = 0
        self._closed: list[Segment] = []

    def restore(self, states: dict[str, bytes]) -> None:
        """Go on where an earlier run stopped."""
        for name, chain in self._named():
            if name in states:
                self._care.attempt(f"segmenter {chain.segmenter.name} starts afresh", None, self._restore, chain, states[name])

    def _restore(self, chain: Chain, state: bytes) -> None:
        saved = msgspec.msgpack.decode(state, type=_State)
        chain.segmenter.restore(saved.segmenter)
        chain.waiting.extend(waiting.cut() for waiting in saved.waiting)
        chain.told_us = saved.told_us
        with self._store.view() as view:
            chain.untold.extend(s for s in view.utterances(stream=self._stream) if s.document.offset_us > saved.told_us)

    def states(self) -> dict[str, bytes]:
        """By name of the chain, for the next run."""
        return {name: self._care.attempt("segmenter", b"", self._state, chain) for name, chain in self._named()}

    @staticmethod
    def _state(chain: Chain) -> bytes:
        waiting = [_Waiting.of(cut) for cut in chain.waiting]
        return msgspec.msgpack.encode(_State(chain.segmenter.state(), waiting, chain.told_us))

    def _named(self) -> Iterator[tuple[str, Chain]]:
        """Two tracks may use one kind of segmenter."""
        seen: dict[str, int] = {}
        for chain in self._chains:
            number = seen[chain.segmenter.name] = seen.get(chain.segmenter.name, 0) + 1
            yield f"segmenter/{chain.segmenter.name}" + (f"#{number}" if number > 1 else ""), chain

    def see(self, moment: Moment, observations: tuple[Observation, ...], mark: Mark) -> None:
        """A moment that was just stored."""
        self._known[moment.id] = (moment, observations)
        if len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]
        for chain in self._chains:
            chain.seen_us = mark.offset_us
            chain.waiting.extend(self._care.attempt("segmenter", [], chain.segmenter.observe, mark))

    def hear(self, spoken: Spoken) -> None:
        """An utterance that was just stored."""
        for chain in self._chains:
            chain.untold.append(spoken)

    def flush(self) -> None:
        """The stream ended: what is open closes."""
        for chain in self._chains:
            chain.waiting.extend(self._care.attempt("segmenter", [], chain.segmenter.flush))

    def write(self, tx: Transaction, heard_us: float, *, ending: bool = False) -> bool:
        """Write the segments whose end the ear has passed, and what slow writers brought; True where the rest wants another transaction.

        Words that are left for `tell` are in no state: a crash before it loses them.
        """
        for chain in self._chains:
            while chain.waiting and (ending or chain.waiting[0].marks[-1].offset_us <= heard_us):
                if self.telling or tx.full:
                    return True
                self._close(tx, chain, chain.waiting.popleft())
            while chain.untold and (ending or chain.seen_us < chain.untold[0].document.offset_us < heard_us - SPOKEN_ALONE_US):
                if self.telling or tx.full:
                    return True
                self._close_spoken(tx, chain)
        self._take_slow()
        self.tell(tx)
        return False

    @property
    def telling(self) -> bool:
        """Words wait for `tell`: under a budget those of one segment may take several transactions."""
        return bool(self._words)

    def tell(self, tx: Transaction) -> None:
        """Write words that wait, as many as fit. A step that fails takes the rest of its writer's with it, which may rest on it."""
        while self._words and not tx.full:
            name, left = self._words[0]
            if left and self._care.attempt(f"writer {name}", False, self._step, left[0], tx):
                left.popleft()
            else:
                self._words.popleft()

    def _step(self, step: Callable[[Transaction], int], tx: Transaction) -> bool:
        self.documents += step(tx)
        return True

    def _close(self, tx: Transaction, chain: Chain, cut: Cut) -> None:
        ids = tx.remaining([mark.moment_id for mark in cut.marks])
        if not ids:
            return
        representative = min(ids, key=lambda moment_id: (abs(moment_id - cut.representative_id), moment_id))
        span = {"t0_us": cut.t0_us, "t1_us": cut.t1_us, "offset_us": cut.offset_us, "representative_id": representative}
        segment = self._care.attempt("segment", None, self._add, tx, chain, ids, span)
        if segment is None:
            return
        found = [pair for pair in map(self._recall, ids) if pair is not None]
        said = chain.take(cut.marks[-1].offset_us)
        self._tell(tx, chain, segment, [moment for moment, _ in found], {moment.id: seen for moment, seen in found}, said)

    def _close_spoken(self, tx: Transaction, chain: Chain) -> None:
        """Words without a picture: a segment from the first to the last of them that began within `SPOKEN_US`."""
        said = chain.take(chain.untold[0].document.offset_us + SPOKEN_US - 1)
        first, last = said[0].document, max((s.document for s in said), key=lambda document: document.t1_us)
        span = {"t0_us": first.t0_us, "t1_us": last.t1_us, "offset_us": first.offset_us, "representative_id": None}
        self._tell(tx, chain, self._add(tx, chain, (), span), [], {}, said)

    def _add(self, tx: Transaction, chain: Chain, ids: tuple[int, ...], span: dict[str, Any]) -> Segment:
        segmenter = chain.segmenter.name
        segment_id = tx.add_segment(NewSegment(stream=self._stream, segmenter=segmenter, moment_ids=ids, **span))
        segment = Segment(id=segment_id, stream=self._stream, segmenter=segmenter, **span)
        self.segments += 1
        self._closed.append(segment)
        return segment

    def _tell(
        self, tx: Transaction, chain: Chain, segment: Segment, moments: list[Moment],
        observations: dict[int, tuple[Observation, ...]], said: tuple[Spoken, ...],
    ) -> None:  # fmt: skip
        closing = Closing(
            segment=segment, moments=tuple(moments), observations=observations, utterances=said, open_view=self._store.view
        )  # fmt: skip
        for writer in chain.writers:
            if getattr(writer, "slow", False):
                self._slow.append((writer.name, closing, self._beside.submit(_written, writer, closing)))
                continue
            operations = self._care.attempt(f"writer {writer.name}", [], _written, writer, closing)
            self._words.append((writer.name, deque(steps(closing, operations, self._embedder))))
        self.tell(tx)

    def _take_slow(self) -> None:
        while self._slow and self._slow[0][2].done():
            name, closing, future = self._slow.popleft()
            operations = self._care.attempt(f"writer {name}", [], future.result)
            self._words.append((name, deque(steps(closing, operations, self._embedder))))

    def take_closed(self) -> list[Segment]:
        """Segments written since the last call, for observers."""
        closed, self._closed = self._closed, []
        return closed

    def make_room(self, *, live: bool) -> None:
        """Outside of a transaction: a recording waits for slow writers that fall behind; a live one goes on without their words."""
        behind = len(self._slow) - _SLOW_AHEAD
        if not live:
            for _, _, future in list(self._slow)[: max(0, behind)]:
                future.exception()
            return
        for _ in range(behind):
            name, _, future = self._slow.pop()
            future.cancel()
            self._care.note(f"writer {name} is behind the stream: a segment was left without its words")

    def finish(self) -> bool:
        """Outside of a transaction: wait until every slow writer is done. Returns True if there is something to write."""
        for _, _, future in self._slow:
            future.exception()
        return bool(self._slow)

    def close(self) -> None:
        """No further segments."""
        self._beside.shutdown(wait=False, cancel_futures=True)

    def _recall(self, moment_id: int) -> Known | None:
        """A moment of the open segment: from this run, else as an earlier one committed it; None when it has faded since."""
        known = self._known.get(moment_id)
        if known is not None:
            return known
        with self._store.view() as view:
            moment = view.moment(moment_id)
            return (moment, view.observations([moment_id]).get(moment_id, ())) if moment is not None else None


def _written(writer: Writer, closing: Closing) -> list[Operation]:
    """All of it at once, so that a writer that fails half-way writes nothing."""
    return list(writer.write(closing))
