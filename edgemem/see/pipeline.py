"""A frame's way: source, gates, engines, selector, segmenter, writers, and one transaction a second into the store."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np

from edgemem.errors import SourceError
from edgemem.infer.roles import JointEmbedder, Reader, TextEmbedder
from edgemem.isolation import FaultIsolation
from edgemem.records import AFTER_END_US, US, Frame, Moment, Observation, Record, Segment, Vector
from edgemem.remember.entries import NewMoment
from edgemem.remember.store import Store, Transaction
from edgemem.remember.tiers import Retainer
from edgemem.see import pixels
from edgemem.see.chains import Chain, Chains
from edgemem.see.frame_slot import FrameSlot
from edgemem.see.gate import Gate, Look
from edgemem.see.hearing import HearingFactory
from edgemem.see.privacy import PAUSED, Privacy
from edgemem.see.resume import StreamRun, without_pictures
from edgemem.see.segment import Mark
from edgemem.see.select import Candidate, Kept, Selector
from edgemem.see.signals import stop_on_signals
from edgemem.see.sources.base import Source
from edgemem.see.write import text_document

Progress = Callable[[int, "int | None"], None]
"""Called after every frame with the offset reached and the length of the stream, both in microseconds."""

COMMIT_S = 1.0
"""Moments are committed together this often."""
SAVE_S = 10.0
"""Where nothing is kept, the state is still saved this often: so much of a live stream may be looked at in vain when power fails."""
COMMIT_BYTES = 2 << 20
"""Pictures that wait are committed sooner when they come to this much: a third of what the smallest budget takes at once."""
JPEG_QUALITY = 90
"""Of kept pictures (VAM)."""
INTERRUPTED = "interrupted; run the same command again to go on"
"""Note on a recording that was not seen to its end."""
STOPPED = "stopped"
"""Note on a live stream."""
_NOTHING: Vector = np.empty(0, np.float32)


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
    notes: tuple[str, ...] = ()


@dataclass
class PipelineParts:
    """What a recipe names. Only a selector and a track are required; without a joint embedder all vectors are empty."""

    selector: Selector
    chains: Sequence[Chain]
    gates: Sequence[Gate] = ()
    hearing: HearingFactory | None = None
    """Makes what hears the source."""
    embedder: TextEmbedder | None = None
    """Of passages: without it documents and speech are found by their words alone."""
    joint: JointEmbedder | None = None
    reader: Reader | None = None
    retainer: Retainer | None = None
    privacy: Privacy | None = None
    segment_closed: Callable[[Segment], object] = field(default=lambda _: None)
    """Observers; called after the commit."""


@dataclass
class _Ready:
    """A moment on its way into the next transaction."""

    new: NewMoment
    vector: Vector
    """Whole-picture vector, for the segmenter."""


class Pipeline:
    """Sees one source to its end. A failing component costs its part of one frame, is counted and said, and never ends the seeing."""

    def __init__(self, source: Source, parts: PipelineParts, store: Store) -> None:
        self._source, self._parts, self._store = source, parts, store
        self._run = StreamRun(store, source)
        self._care = FaultIsolation()
        self._chains = Chains(parts.chains, store, self._run.stream, self._care, parts.embedder)
        self._hearing = parts.hearing(source, self._run, store, self._off) if parts.hearing is not None else None
        self._handover = FrameSlot(source)
        self._beside = ThreadPoolExecutor(1, "reader")
        self._stop = threading.Event()
        self._ready: deque[_Ready] = deque()
        self._accepted: Look | None = None
        self._dropped: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._veiled = False
        """The last picture showed a place that is never kept."""
        self._committed_s = self._saved_s = time.monotonic()
        self._span_us: tuple[int, int] | None = None
        self._trusted = store.time_trusted

    def stop(self) -> None:
        """End after the current frame: what was seen is flushed and committed. Safe in a signal handler."""
        self._stop.set()
        self._handover.stop()

    def run(self, progress: Progress | None = None) -> IngestReport:
        """See everything. Raises SourceError when nothing came or the camera was lost (what came before is committed), MemoryDirError."""
        started = time.monotonic()
        self._begin()
        lost: SourceError | None = None
        with stop_on_signals(self.stop), self._beside:
            try:
                with closing(self._handover.frames()) as frames:
                    for frame in frames:
                        self._see(self._run.stamped(frame))
                        if progress is not None:
                            progress(self._run.saved.offset_us, self._source.duration_us)
            except SourceError as error:
                lost = error
            self._end(finished=not (self._stop.is_set() or lost or self._source.live))
        if lost is not None:
            raise lost
        return self._report(time.monotonic() - started)

    def _begin(self) -> None:
        parts, saved = self._parts, self._run.saved
        if parts.joint is not None:
            self._store.ensure_space(parts.joint.space)
        if parts.embedder is not None:
            self._store.ensure_space(parts.embedder.space, holds="passage")
        state = saved.states.get(f"selector/{parts.selector.name}")
        if state:
            self._care.attempt(f"selector {parts.selector.name} starts afresh", None, parts.selector.restore, state)
        self._chains.restore(saved.states)
        if self._hearing is not None:
            self._hearing.start(saved.heard_us)
        if saved.accepted and not self._source.live:
            accepted = Look(pixels.decode(saved.accepted), saved.accepted_us)
            for gate in parts.gates:
                gate.accepted(accepted)

    def _off(self) -> bool:
        """Paused: what comes is dropped unseen, what was seen before waits, and not a byte is written."""
        return self._parts.privacy is not None and self._parts.privacy.paused

    def _see(self, frame: Frame) -> None:
        if self._off():
            self._counts["frames"] += 1
            self._dropped[PAUSED] += 1
            return
        if self._parts.privacy is not None:
            frame = self._parts.privacy.masked(frame)
        if self._run.corrected:
            self._set_right()
        saved = self._run.saved
        first_us = self._span_us[0] if self._span_us else frame.offset_us
        self._span_us = (first_us, frame.offset_us)
        self._counts["frames"] += 1
        saved.offset_us, saved.t_us, saved.seq = frame.offset_us, frame.t_us, frame.seq
        look = Look.at(frame)
        reason = self._refusal(look)
        if reason:
            self._dropped[reason] += 1
        else:
            self._consider(frame, look)
        if self._hearing is not None:
            self._hearing.seen(frame.offset_us)
        self._commit_if_due()

    def _commit_if_due(self) -> None:
        now = time.monotonic()
        due = now - self._committed_s >= COMMIT_S or sum(len(ready.new.jpeg) for ready in self._ready) > COMMIT_BYTES
        if (self._ready and due) or now - self._saved_s >= SAVE_S:
            self._commit()

    def _refusal(self, look: Look) -> str:
        """Why the first gate that refuses the frame does, or ""; a gate that fails lets it pass."""
        for gate in self._parts.gates:
            verdict = self._care.attempt(f"gate {gate.name}", None, gate.judge, look)
            if verdict is not None and not verdict.keep:
                return str(verdict.reason)
        for gate in self._parts.gates:
            self._care.attempt(f"gate {gate.name}", None, gate.accepted, look)
        self._accepted = Look(look.small, look.offset_us)
        return ""

    def _consider(self, frame: Frame, look: Look) -> None:
        vector = _NOTHING
        if self._parts.joint is not None:
            vectors = self._care.attempt("embedding", None, self._parts.joint.glance, [frame.image])
            if vectors is None:
                self._dropped["engine"] += 1
                return
            vector = vectors[0]
        candidate = Candidate(frame=frame, vector=vector, sharpness=look.sharpness, small=look.small)
        for kept in self._care.attempt("selector", [Kept(candidate=candidate)], self._parts.selector.observe, candidate):
            self._keep(kept)

    def _keep(self, kept: Kept) -> None:
        """The dear part: look closely, read (beside it, on the other core), encode."""
        candidate, frame = kept.candidate, kept.candidate.frame
        vector, observations = candidate.vector, tuple[Observation, ...]()
        vectors = {}
        reading = self._beside.submit(self._parts.reader.read, frame.image) if self._parts.reader is not None else None
        if self._parts.joint is not None:
            sight = self._care.attempt("looking closely", None, self._parts.joint.look, frame.image)
            if sight is not None:
                vector, observations = sight.vector, sight.observations
            vectors[self._parts.joint.space.name] = vector
        if reading is not None:
            observations += tuple(self._care.attempt("reading text", [], reading.result))
        self._veiled = self._parts.privacy is not None and self._parts.privacy.refuses(observations)
        if self._veiled:
            self._dropped["place"] += 1
            return
        height, width = frame.image.shape[:2]
        new = NewMoment(
            stream=frame.stream,
            seq=frame.seq,
            t_us=frame.t_us,
            offset_us=frame.offset_us,
            mono_us=frame.mono_us,
            boot_id=frame.boot_id,
            width_px=width,
            height_px=height,
            sharpness=candidate.sharpness,
            jpeg=pixels.encode_jpeg(frame.image, JPEG_QUALITY),
            vectors=vectors,
            observations=observations,
            role=kept.role,
        )
        self._ready.append(_Ready(new, candidate.vector))

    def _commit(self, *, ending: bool = False) -> None:
        """Everything that is ready, and the state that belongs to it, in one transaction; then upkeep.

        Where a budget is too small for that, it takes several. Moments that go ahead are in no state yet: after a crash they come again and
        are known. Every later transaction saves a state that has what is left.
        """
        if self._off():
            return
        self._chains.make_room(live=self._source.live)
        more = self._write(ending=ending, flush=ending)
        while more or self._chains.telling:
            while self._chains.telling:
                with self._store.transaction() as tx:
                    self._chains.tell(tx)
            more = more and self._write(ending=ending)
        self._committed_s = self._saved_s = time.monotonic()
        closed = self._chains.take_closed()
        for segment in closed:
            self._care.attempt("observer", None, self._parts.segment_closed, segment)
        if closed and self._parts.retainer is not None:
            self._care.attempt("retention", None, self._parts.retainer.apply, self._store)
        self._store.maintain()

    def _write(self, *, ending: bool, flush: bool = False) -> bool:
        """One transaction of a commit; True where another has to follow."""
        with self._store.transaction() as tx:
            while self._ready:
                self._care.attempt("a picture", None, self._add, self._ready.popleft(), tx)
            if flush:
                self._chains.flush()
            heard_us, waiting = AFTER_END_US, False
            if self._hearing is not None:
                heard_us, self._run.saved.heard_us = self._hearing.write(tx, self._chains.hear)
                waiting = self._hearing.waiting
            more = self._chains.write(tx, heard_us, ending=ending and not waiting)
            if self._run.trusted != self._trusted:
                tx.trust_time(trusted=self._run.trusted)
                self._trusted = self._run.trusted
            if self._run.corrected:
                moved = tx.reanchor(self._run.stream, self._run.saved.boot_id, self._run.clocks_us)
                self._run.corrected = False
                self._care.note(f"the clock was set right: {moved} moments of this boot were dated anew")
            tx.set_state(self._run.key, self._state(last=not (more or waiting)))
        return more or waiting

    def _set_right(self) -> None:
        """The clock is right from the next frame on: what the wrong one dated is finished first, so that nothing spans both."""
        for kept in self._care.attempt("selector", [], self._parts.selector.flush):
            self._keep(kept)
        self._commit(ending=True)

    def _add(self, ready: _Ready, tx: Transaction) -> None:
        new = ready.new
        known = tx.find_moment(new) if self._run.resumed else None
        moment_id = tx.add_moment(new) if known is None else known
        moment = Moment(
            id=moment_id,
            stream=new.stream,
            seq=new.seq,
            t_us=new.t_us,
            offset_us=new.offset_us,
            width_px=new.width_px,
            height_px=new.height_px,
            sharpness=new.sharpness,
            tier="recent",
            role=new.role,
        )
        text = text_document(moment, new.observations)
        if known is None:
            self._counts["moments"] += 1
            if text is not None and self._care.attempt("text", None, tx.add_document, text) is not None:
                self._counts["documents"] += 1
        mark = Mark(moment_id=moment_id, t_us=new.t_us, offset_us=new.offset_us, vector=ready.vector)
        self._chains.see(moment, new.observations, mark)

    def _state(self, *, last: bool) -> bytes:
        """What a later run needs. A recording is finished with the last transaction only; then nothing is needed any more."""
        parts, saved = self._parts, self._run.saved
        if self._accepted is not None and (self._accepted.offset_us != saved.accepted_us or not saved.accepted):
            saved.accepted, saved.accepted_us = pixels.encode_png(self._accepted.small), self._accepted.offset_us
        saved.states = {
            f"selector/{parts.selector.name}": self._care.attempt("selector", b"", parts.selector.state),
            **self._chains.states(),
        }
        if self._veiled:
            saved.accepted, saved.accepted_us = b"", 0
            del saved.states[f"selector/{parts.selector.name}"]
        if saved.finished and last:
            return without_pictures(self._run.encode())
        finished, saved.finished = saved.finished, False
        state = self._run.encode()
        saved.finished = finished
        return state

    def _end(self, *, finished: bool) -> None:
        for kept in self._care.attempt("selector", [], self._parts.selector.flush):
            self._keep(kept)
        if self._counts["frames"] and not self._counts["moments"] and not self._ready:
            reason, times = next(iter(self._dropped.most_common(1)), ("too little new", self._counts["frames"]))
            self._care.note(f"nothing was kept: {times} of {self._counts['frames']} frames were dropped as {reason}")
        if self._hearing is None and self._source.has_sound and not self._counts["frames"]:
            self._care.note("it is sound alone, and nothing hears here: take a recipe with an ear, and install edgemem-hearing")
        if self._hearing is not None:
            self._hearing.finish(self._commit_if_due, self._stop.is_set)
        if self._stop.is_set():
            self._care.note(INTERRUPTED if not self._source.live else STOPPED)
        self._run.saved.finished = finished and not self._stop.is_set()  # not before all was heard: a killed run goes on hearing
        if self._counts["frames"] or self._run.resumed or self._hearing is not None:
            self._commit(ending=True)
            if self._chains.finish():
                self._commit()

    def _report(self, seconds_spent: float) -> IngestReport:
        dropped = self._dropped + Counter(self._source.dropped)
        if self._handover.missed:
            dropped["busy"] += self._handover.missed
        first_us, last_us = self._span_us or (0, 0)
        whole = self._run.saved.finished and not self._run.resumed and "truncated" not in dropped
        whole_us = self._source.duration_us if whole else None
        return IngestReport(
            stream=self._run.stream,
            frames_seen=self._counts["frames"],
            moments_kept=self._counts["moments"],
            segments=self._chains.segments,
            documents=self._counts["documents"] + self._chains.documents + (self._hearing.utterances if self._hearing else 0),
            seconds_of_video=(whole_us or last_us - first_us) / US,
            seconds_spent=seconds_spent,
            disk_bytes=self._store.disk_bytes(),
            dropped=dict(dropped),
            notes=(*self._care.lines, *(self._hearing.notes if self._hearing is not None else ())),
        )
