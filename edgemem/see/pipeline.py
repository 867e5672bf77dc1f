"""Takes frames from a source through gates, selector and perceivers, and commits the results once a second."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing

from edgemem.allocation import give_back
from edgemem.errors import SourceError
from edgemem.isolation import FaultIsolation
from edgemem.records import AFTER_END_US, US, Frame
from edgemem.remember.entries import NewMoment
from edgemem.remember.store import Store
from edgemem.see import pixels
from edgemem.see.commit import Committer, KeptMoment
from edgemem.see.frame_slot import FrameSlot
from edgemem.see.gate import Look
from edgemem.see.parts import PipelineParts
from edgemem.see.perceivers import Perceivers
from edgemem.see.privacy import PAUSED
from edgemem.see.report import INTERRUPTED, NO_HEARING, STOPPED, IngestReport, Progress
from edgemem.see.resume import StreamRun, without_pictures
from edgemem.see.select import Candidate, Decision, Keep, Replace
from edgemem.see.signals import stop_on_signals
from edgemem.see.sources.base import Source

__all__ = ["Pipeline", "PipelineParts"]

STOP_S = 1.0
"""After SIGTERM, for what was seen to be committed. What a longer call was busy with is lost then: a recording is continued before it."""
JPEG_QUALITY = 90
"""JPEG quality of kept pictures (VAM)."""


class Pipeline:
    """Sees one source to its end. If a component fails, its result for one frame is missing; the failure is counted and reported, and the
    run goes on.
    """

    def __init__(self, source: Source, parts: PipelineParts, store: Store) -> None:
        self._source, self._parts, self._store = source, parts, store
        self._run = StreamRun(store, source)
        self._isolation = FaultIsolation()
        self._perceivers = Perceivers(parts.perceivers, self._isolation)
        self._committer = Committer(parts, self._perceivers.spaces, store, self._run, self._isolation)
        self._hearing = parts.hearing(source, self._run, store, self._off) if parts.hearing is not None else None
        self._frames = FrameSlot(source, self._commit_if_due)  # what is heard does not wait for a frame
        self._stop = threading.Event()
        self.hears_rest = False
        """Whether the pictures are over and the sound is still heard, which may take as long as it does."""
        self._accepted: Look | None = None
        """The last frame that passed the gates."""
        self._private = False
        """Whether the last kept picture showed a place that is never stored."""
        self._dropped: Counter[str] = Counter()
        self._count = 0
        self._first_us: int | None = None
        self._before_us = self._run.saved.offset_us
        """Offset of the previous frame."""
        self._again_until_us = -1
        """Frames up to this offset were handled by an earlier run. Those that its selector held are given to the selector again."""

    @property
    def busy(self) -> bool:
        """Whether a frame waits or is being processed now."""
        return self._frames.busy

    def take_new_notes(self) -> tuple[str, ...]:
        """What failed for the first time since the last call. From any thread."""
        return (*self._isolation.take_new(), *(self._hearing.take_new_notes() if self._hearing is not None else ()))

    def stop(self) -> None:
        """End after the current frame; everything seen so far is flushed and committed. From any thread."""
        self._stop.set()
        self._frames.stop()

    def run(self, progress: Progress | None = None) -> IngestReport:
        """See the whole source. Raises SourceError when no frame came or the camera was lost (everything before is committed), and
        MemoryDirError.
        """
        started_s = time.monotonic()
        self._begin()
        lost: SourceError | None = None
        try:
            with stop_on_signals(self.stop, STOP_S) as caught:
                try:
                    self._see_all(progress)
                except SourceError as error:
                    lost = error
                self._end(finished=not (self._stop.is_set() or lost or self._source.live))
        finally:
            self._perceivers.close()
            self._committer.chains.calls.close()
        if lost is not None:
            raise lost
        return self._report(time.monotonic() - started_s, caught.number)

    def _begin(self) -> None:
        parts, saved = self._parts, self._run.saved
        self._perceivers.prepare(self._store)
        if parts.embedder is not None:
            self._store.ensure_space(parts.embedder.space, holds="passage")
        state = saved.states.get(f"selector/{parts.selector.name}")
        restored = state and self._isolation.attempt(
            f"selector {parts.selector.name} starts without its saved state", False, self._restore, state
        )
        if saved.held and not self._source.live:
            self._before_us, self._again_until_us = saved.again_us, saved.offset_us
        if not restored:
            saved.held = []
            saved.slots.setdefault(parts.selector.name, {}).clear()
        self._committer.chains.restore(saved.states)
        self._committer.seen(AFTER_END_US if self._source.live else -1)
        if self._hearing is not None:
            self._hearing.start(saved.heard_us)
        if saved.accepted and not self._source.live:
            accepted = Look(pixels.decode(saved.accepted), saved.accepted_us)
            for gate in parts.gates:
                gate.accepted(accepted)

    def _restore(self, state: bytes) -> bool:
        self._parts.selector.restore(state)
        return True

    def _off(self) -> bool:
        """Whether the memory is paused: frames are dropped unseen, earlier results wait, and nothing is written."""
        return self._parts.privacy is not None and self._parts.privacy.paused

    def _see_all(self, progress: Progress | None) -> None:
        with closing(self._frames.frames()) as frames:
            for frame in frames:
                self._see(self._run.stamped(frame))
                give_back()
                if progress is not None:
                    progress(self._run.saved.offset_us, self._source.duration_us)
                self._frames.handled()

    def _see(self, frame: Frame) -> None:
        if frame.offset_us <= self._again_until_us:
            self._see_again(frame)
            return
        self._count += 1
        if self._off():
            self._dropped[PAUSED] += 1
            return
        frame = self._masked(frame)
        if self._run.corrected:
            self._finish_misdated()
        saved = self._run.saved
        self._first_us = frame.offset_us if self._first_us is None else self._first_us
        saved.offset_us, saved.t_us, saved.seq = frame.offset_us, frame.t_us, frame.seq
        look = Look.at(frame)
        reason = self._refusal(look)
        if reason:
            self._dropped[reason] += 1
        else:
            self._consider(frame, look)
        self._before_us = frame.offset_us
        if self._hearing is not None:
            self._hearing.seen(frame.offset_us)
        if not self._source.live:
            self._committer.seen(frame.offset_us)
        self._commit_if_due()

    def _masked(self, frame: Frame) -> Frame:
        return self._parts.privacy.masked(frame) if self._parts.privacy is not None else frame

    def _see_again(self, frame: Frame) -> None:
        """Handle a frame that an earlier run handled: the selector gets it again if it had not decided on it."""
        if frame.offset_us in self._run.saved.held:
            frame = self._masked(frame)
            candidate = self._candidate(frame, Look.at(frame))
            if candidate is not None:
                self._isolation.attempt("selector", None, self._parts.selector.give_back, candidate)
        self._before_us = frame.offset_us

    def _commit_if_due(self) -> None:
        if self._committer.due:
            self._commit()

    def _refusal(self, look: Look) -> str:
        """The reason of the first gate that drops the frame, or "" if none does. A gate that fails lets the frame pass."""
        for gate in self._parts.gates:
            verdict = self._isolation.attempt(f"gate {gate.name}", None, gate.judge, look)
            if verdict is not None and not verdict.keep:
                return str(verdict.reason)
        for gate in self._parts.gates:
            self._isolation.attempt(f"gate {gate.name}", None, gate.accepted, look)
        self._accepted = Look(look.small, look.offset_us)
        return ""

    def _consider(self, frame: Frame, look: Look) -> None:
        candidate = self._candidate(frame, look)
        if candidate is None:
            self._dropped["engine"] += 1
            return
        self._decide(self._isolation.attempt("selector", [Keep(candidate=candidate)], self._parts.selector.observe, candidate))

    def _candidate(self, frame: Frame, look: Look) -> Candidate | None:
        """None if its whole-picture vector cannot be computed."""
        vector = self._perceivers.glance(frame.image)
        if vector is None:
            return None
        return Candidate(frame=frame, vector=vector, sharpness=look.sharpness, small=look.small, after_us=self._before_us)

    def _decide(self, decisions: Sequence[Decision]) -> None:
        for decision in decisions:
            if self._committer.full and not self._off():
                self._committer.store_waiting()
            if isinstance(decision, Keep | Replace):
                self._keep(decision)
            else:
                self._committer.add(decision)

    def _keep(self, decision: Keep | Replace) -> None:
        """The slow part: run the perceivers and encode the picture."""
        candidate, frame = decision.candidate, decision.candidate.frame
        perceived = self._perceivers.perceive(frame.image, candidate.vector)
        self._private = self._parts.privacy is not None and self._parts.privacy.refuses(perceived.observations)
        if self._private:
            self._dropped["place"] += 1
            return
        height, width = frame.image.shape[:2]
        new = NewMoment(
            stream=frame.stream, seq=frame.seq, t_us=frame.t_us, offset_us=frame.offset_us, mono_us=frame.mono_us, boot_id=frame.boot_id,
            width_px=width, height_px=height, sharpness=candidate.sharpness, jpeg=pixels.encode_jpeg(frame.image, JPEG_QUALITY),
            vectors=perceived.vectors, observations=perceived.observations, role=decision.role,
        )  # fmt: skip
        replaces = isinstance(decision, Replace)
        self._committer.add(KeptMoment(new, candidate.vector, candidate.small, perceived.parts, decision.slot, replaces))

    def _finish_misdated(self) -> None:
        """The clock is correct from this frame on. Close and commit what the wrong clock dated first, so that no segment mixes both."""
        self._decide(self._isolation.attempt("selector", [], self._parts.selector.flush))
        self._commit(ending=True)

    def _commit(self, *, ending: bool = False) -> None:
        if not self._off():
            self._committer.commit(self._hearing, self._state, ending=ending)

    def _state(self, last: bool) -> bytes:
        """The state for a later run. Only the last transaction marks a recording as finished; then no component's state is needed any
        more.
        """
        selector, saved = self._parts.selector, self._run.saved
        if self._accepted is not None and (self._accepted.offset_us != saved.accepted_us or not saved.accepted):
            saved.accepted, saved.accepted_us = pixels.encode_png(self._accepted.small), self._accepted.offset_us
        held = self._isolation.attempt("selector", (), lambda: selector.held)
        saved.held = [candidate.frame.offset_us for candidate in held]
        saved.again_us = min((candidate.after_us for candidate in held), default=-1)
        saved.states = {
            f"selector/{selector.name}": self._isolation.attempt("selector", b"", selector.state),
            **self._committer.chains.states(),
        }
        if self._private:
            saved.accepted, saved.accepted_us, saved.held = b"", 0, []
            del saved.states[f"selector/{selector.name}"]
        if saved.finished and last:
            return without_pictures(self._run.encode())
        finished, saved.finished = saved.finished, False
        state = self._run.encode()
        saved.finished = finished
        return state

    def _end(self, *, finished: bool) -> None:
        self._decide(self._isolation.attempt("selector", [], self._parts.selector.flush))
        self._note_nothing_kept()
        self._committer.seen(AFTER_END_US)
        if self._hearing is not None:
            self.hears_rest = True
            self._hearing.finish(self._commit_if_due, self._stop.is_set)
            self.hears_rest = False
        if self._stop.is_set():
            self._isolation.note(STOPPED if self._source.live else INTERRUPTED)
        self._run.saved.finished = finished and not self._stop.is_set()  # only after everything was heard: a killed run continues hearing
        if self._count or self._run.resumed or self._hearing is not None:
            self._commit(ending=True)
            if self._committer.chains.calls.finish():
                self._commit()

    def _note_nothing_kept(self) -> None:
        if self._count and not self._committer.counts["moments"] and not self._committer.waiting:
            reason, times = next(iter(self._dropped.most_common(1)), ("too little new", self._count))
            self._isolation.note(f"nothing was kept: {times} of {self._count} frames were dropped as {reason}")
        if self._hearing is None and self._source.has_sound and not self._count:
            self._isolation.note(NO_HEARING)

    def _report(self, seconds_spent: float, signal: int) -> IngestReport:
        dropped = self._dropped + Counter(self._source.dropped)
        if self._frames.missed:
            dropped["busy"] += self._frames.missed
        chains, hearing, saved = self._committer.chains, self._hearing, self._run.saved
        whole = saved.finished and not self._run.resumed and "truncated" not in dropped
        whole_us = self._source.duration_us if whole else None
        seen_us = saved.offset_us - self._first_us if self._first_us is not None else 0
        written = self._committer.counts["documents"] + chains.calls.documents
        return IngestReport(
            stream=self._run.stream,
            frames_seen=self._count,
            moments_kept=self._committer.counts["moments"],
            segments=chains.segments,
            documents=written + (hearing.utterances if hearing is not None else 0),
            seconds_of_video=(whole_us or seen_us) / US,
            seconds_spent=seconds_spent,
            disk_bytes=self._store.disk_bytes(),
            dropped=dict(dropped),
            interrupted=self._stop.is_set() and not self._source.live,
            signal=signal,
            notes=(*self._isolation.lines, *(hearing.notes if hearing is not None else ())),
        )
