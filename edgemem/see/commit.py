"""Commits the results of a run: moments, evictions, segments, utterances, and the state from which a later run continues."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgemem import clock
from edgemem.errors import BudgetError
from edgemem.events import SegmentStored, UtteranceHeard
from edgemem.isolation import FaultIsolation
from edgemem.records import AFTER_END_US, Image, Moment, Segment, Utterance, Vector
from edgemem.remember.entries import NewMoment
from edgemem.remember.results import Spoken
from edgemem.see.chains import Chains
from edgemem.see.entities import PartWriter
from edgemem.see.parts import PipelineParts
from edgemem.see.perceive import HeldSpace, Part
from edgemem.see.segment import Mark
from edgemem.see.select import Evict, Pin, Unpin
from edgemem.see.taught import TaughtThings
from edgemem.see.teaching import SpokenLessons
from edgemem.see.write import text_document

if TYPE_CHECKING:
    from edgemem.remember.store import Store, Transaction
    from edgemem.see.hearing import Hearing
    from edgemem.see.resume import StreamRun

COMMIT_S = 1.0
"""Time between commits when moments were kept."""
SAVE_S = 10.0
"""Time between commits when nothing was kept. If power fails, a live stream loses what it showed since the last commit."""
MOST_BYTES, MOST_MOMENTS = 1 << 20, 10
"""When pictures of this size, or this many moments, wait, they are stored. Under the smallest budget (64 MiB) a transaction may change
1,600 pages: a moment needs about 80 and those of its picture, a relation 16."""
_STATE_SLACK_BYTES = 128 << 10
"""Space reserved for growth of the saved state from one commit to the next."""


@dataclass(frozen=True)
class KeptMoment:
    """A moment that waits for the next transaction."""

    new: NewMoment
    vector: Vector
    """Whole-picture vector; segmenters use it."""
    small: Image
    parts: tuple[Part, ...] = ()
    slot: str = ""
    replaces: bool = False
    """The moment that was in the slot is evicted."""


SlotChange = Evict | Pin | Unpin


class Committer:
    """Writes one transaction per second, which holds everything of that second."""

    def __init__(
        self, parts: PipelineParts, spaces: tuple[HeldSpace, ...], store: Store, run: StreamRun, isolation: FaultIsolation
    ) -> None:
        self._parts, self._store, self._run, self._isolation = parts, store, run, isolation
        self.chains = Chains(parts.chains, store, run.stream, isolation, parts.embedder)
        self._part_writer = PartWriter(spaces, store)
        self._things = TaughtThings.of(store, spaces)
        by_voice = self._things is not None and parts.taught_by_voice
        self._spoken_lessons = SpokenLessons(store, self._things, run.stream) if self._things is not None and by_voice else None
        self._waiting: deque[KeptMoment | SlotChange] = deque()
        self._waiting_bytes = 0
        self._undropped: list[int] = []
        """Evicted moments whose writers were called, but whose deletion did not fit into the transaction."""
        self._slots = run.saved.slots.setdefault(parts.selector.name, {})
        """Moment ids by slot."""
        self._heard: list[Spoken] = []
        self._to_flush = False
        self._seen_us = -1
        self._trusted = store.time_trusted
        self._committed_s = self._saved_s = clock.monotonic_s()
        self.counts: Counter[str] = Counter()
        """How many "moments" and "documents" were stored."""

    @property
    def waiting(self) -> bool:
        """Whether something is kept that is not committed yet."""
        return bool(self._waiting)

    @property
    def due(self) -> bool:
        """Whether it is time to commit."""
        now = clock.monotonic_s()
        waited = now - self._committed_s >= COMMIT_S or self.full
        return (bool(self._waiting) and waited) or now - self._saved_s >= SAVE_S

    @property
    def full(self) -> bool:
        """Whether what waits fills a transaction."""
        return self._waiting_bytes >= MOST_BYTES or len(self._waiting) >= MOST_MOMENTS

    def add(self, change: KeptMoment | SlotChange) -> None:
        """Add something to the next transaction."""
        self._waiting.append(change)
        if isinstance(change, KeptMoment):
            self._waiting_bytes += len(change.new.jpeg)

    def seen(self, offset_us: int) -> None:
        """Note that frames were handled up to this offset of the stream; `AFTER_END_US` when there are no more."""
        self._seen_us = offset_us

    def store_waiting(self) -> None:
        """Store the waiting moments without saving a state. Needed when so many are kept at once that one transaction cannot hold them and
        what is written about them.

        After a crash the same frames are handled again; `Transaction.find_moment` finds that they are stored.
        """
        while self._waiting:
            with self._store.transaction() as tx:
                self._run.save_first(tx)
                self._store_all(tx)
            self._part_writer.committed()

    def commit(self, hearing: Hearing | None, encode_state: Callable[[bool], bytes], *, ending: bool = False) -> None:
        """Commit everything that waits, and the state that belongs to it. Then run retention and maintenance.

        `encode_state(last)` gives the state to save; `last` is True when no further transaction follows. One transaction is enough unless
        many moments, segments or utterances come at once.
        """
        self.chains.calls.limit_backlog(live=self._run.live)
        if self.full:
            self.store_waiting()
        self._to_flush = ending
        while self._write(hearing, encode_state, ending=ending):
            pass
        self._committed_s = self._saved_s = clock.monotonic_s()
        if self._spoken_lessons is not None:
            self._isolation.attempt("what was said to be in view", None, self._learn_spoken, self._spoken_lessons, ending)
        self._announce(self.chains.take_closed())
        self._store.maintain()

    def _write(self, hearing: Hearing | None, encode_state: Callable[[bool], bytes], *, ending: bool) -> bool:
        """Write one transaction; True if another must follow."""
        with self._store.transaction() as tx:
            tx.reserve_state(self._run.state_bytes + _STATE_SLACK_BYTES)
            self._store_all(tx)
            if self._waiting:
                self._run.save_first(tx)
                return True
            if self._to_flush:
                self.chains.flush()
                self._to_flush = False
            heard_us, waiting = AFTER_END_US, False
            if hearing is not None:
                heard_us, self._run.saved.heard_us = hearing.write(tx, self._utterance)
                waiting = hearing.waiting
            more = self.chains.write(tx, heard_us, self._seen_us, ending=ending and not waiting) or waiting
            self._date(tx)
            if ending and not more and self._run.saved.finished:
                self.chains.ended(tx, self._run.saved.t_us)
            tx.set_state(self._run.key, encode_state(not more))
        self._run.saved_first()
        self._part_writer.committed()
        return more

    def _store_all(self, tx: Transaction) -> None:
        self._undropped = [moment_id for moment_id in self._undropped if not tx.drop_moment(moment_id)]
        first = True
        while self._waiting:
            change = self._waiting[0]
            if not isinstance(change, KeptMoment):
                self._change_slot(change, tx)
            elif not self._isolation.attempt("a moment", True, self._store_or_leave, change, tx, first):
                return
            first = False
            self._waiting.popleft()
        self._waiting_bytes = 0

    def _store_or_leave(self, kept: KeptMoment, tx: Transaction, first: bool) -> bool:
        """False if the moment has to wait for the next transaction. Raises BudgetError if it fits into no transaction."""
        try:
            self._store_moment(kept, tx)
        except BudgetError:
            if first:
                raise
            return False
        return True

    def _store_moment(self, kept: KeptMoment, tx: Transaction) -> None:
        new = kept.new
        known = tx.find_moment(new) if self._run.resumed else None
        moment_id = tx.add_moment(new) if known is None else known
        moment = Moment(
            id=moment_id, stream=new.stream, seq=new.seq, t_us=new.t_us, offset_us=new.offset_us, width_px=new.width_px,
            height_px=new.height_px, sharpness=new.sharpness, tier="recent", role=new.role,
        )  # fmt: skip
        if known is None:
            self.counts["moments"] += 1
            text = text_document(moment, new.observations)
            if text is not None and self._isolation.attempt("text", None, tx.add_document, text) is not None:
                self.counts["documents"] += 1
            self._isolation.attempt("parts", None, self._part_writer.write, tx, moment_id, new.t_us, kept.parts)
            if self._things is not None:
                self._isolation.attempt("taught things", None, self._things.arrived, tx, moment, new.jpeg, kept.parts)
            if self._spoken_lessons is not None:
                self._spoken_lessons.seen(new.t_us)
        if kept.replaces:
            self._evict(kept.slot, tx, spare=moment_id)
        if kept.slot:
            self._slots[kept.slot] = moment_id
        mark = Mark(
            moment_id=moment_id, t_us=new.t_us, offset_us=new.offset_us, vector=kept.vector, role=new.role, small=kept.small
        )  # fmt: skip
        self.chains.see(moment, new.observations, mark)

    def _change_slot(self, change: SlotChange, tx: Transaction) -> None:
        if isinstance(change, Evict):
            self._evict(change.slot, tx)
            return
        moment_id = self._slots.get(change.slot)
        if moment_id is None or not tx.remaining([moment_id]):
            return
        if isinstance(change, Pin):
            tx.protect(moment_id, self.chains.role_of(moment_id) or "pinned")
        else:
            tx.unprotect(moment_id)

    def _evict(self, slot: str, tx: Transaction, *, spare: int | None = None) -> None:
        """Evict the moment in the slot, unless it is the new one itself (`spare`), which happens when a frame is handled again after a
        crash.
        """
        moment_id = self._slots.pop(slot, None)
        if moment_id in {None, spare} or not self.chains.evict(tx, moment_id):
            return
        if not tx.drop_moment(moment_id):
            self._undropped.append(moment_id)

    def _utterance(self, spoken: Spoken) -> None:
        self._heard.append(spoken)
        self.chains.hear(spoken)
        if self._spoken_lessons is not None:
            self._spoken_lessons.heard(spoken)

    def _learn_spoken(self, lessons: SpokenLessons, ending: bool) -> None:
        for taught in lessons.learn(ending=ending):
            self._isolation.note(f"learnt from what was said: m{taught.moment_id} shows {taught.entity.name}")

    def _date(self, tx: Transaction) -> None:
        """Store whether the clock can be trusted. If it was corrected, correct the dates of this boot's moments."""
        if self._run.trusted != self._trusted:
            tx.trust_time(trusted=self._run.trusted)
            self._trusted = self._run.trusted
        if self._run.corrected:
            moved = tx.reanchor(self._run.stream, self._run.saved.boot_id, self._run.clocks_us)
            self._run.corrected = False
            self._isolation.note(f"the clock was corrected: {moved} moments of this boot got new dates")

    def _announce(self, closed: list[Segment]) -> None:
        heard, self._heard = self._heard, []
        for spoken in heard:
            self._isolation.attempt("events", None, self._parts.publish, UtteranceHeard(utterance=_utterance_of(spoken)))
        for segment in closed:
            self._isolation.attempt("events", None, self._parts.publish, SegmentStored(segment=segment))
            self._isolation.attempt("observer", None, self._parts.segment_closed, segment)
        if closed and self._parts.retainer is not None:
            self._isolation.attempt("retention", None, self._parts.retainer.apply, self._store)


def _utterance_of(spoken: Spoken) -> Utterance:
    document = spoken.document
    return Utterance(
        stream=document.stream, seq=document.id, t_us=document.t0_us, end_us=document.t1_us, text=document.text,
        speaker=spoken.speaker.name if spoken.speaker is not None else "", confidence=spoken.confidence, origin=document.origin,
    )  # fmt: skip
