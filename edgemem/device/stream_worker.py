"""One stream of the agent: its source is opened, seen, and opened again while the agent runs."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Literal, Protocol

from edgemem import clock
from edgemem.device.log import Level, Report
from edgemem.errors import EdgememError, SourceError
from edgemem.events import Health, StreamStatus
from edgemem.extend.feed import Feed
from edgemem.isolation import call_isolated
from edgemem.remember.store import Store
from edgemem.see.pipeline import Pipeline
from edgemem.see.report import INTERRUPTED, STOPPED, IngestReport
from edgemem.see.resume import seen_whole, state_of
from edgemem.see.sources.base import Source

_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 60.0
"""The wait between attempts to open a source doubles from the first value up to the second. A camera that is lost first reconnects on its
own (`see.sources.camera`); only if that fails, this applies. A recording that does not exist is waited for in the same way."""

_SUSPENDED_S = 0.05
"""How often a suspended worker checks whether it may continue."""
_LONGEST_REST_S = 2.0
"""The longest rest after a frame of a recording: a suspension waits for it."""
_NICENESS = 5
"""Seeing gets a lower priority than answering: a person waits for an answer, but a frame can wait until the next one comes."""


class SourceSetup(Protocol):
    """Makes the source and the pipeline again for every attempt. Both methods raise EdgememError; SourceError means: try again later."""

    rate_fps: float
    """Frames per second of the recipe."""

    def source(self) -> Source: ...
    def pipeline(self, source: Source, store: Store) -> tuple[Pipeline, list[str]]: ...


class StreamWorker(threading.Thread):
    """Sees one source until `stop`, or a recording once to its end. `failed` is the error that ended it, such as a full disk."""

    def __init__(self, label: str, setup: SourceSetup, store: Store, feed: Feed, report: Report) -> None:
        super().__init__(name=f"edgemem-see-{label}", daemon=True)
        self.label = label
        """Name of the stream, after the source was opened."""
        self.failed: EdgememError | None = None
        self._setup = setup
        self._store = store
        self._feed = feed
        self._report = report
        self._stopped = threading.Event()
        self._suspended = False
        self._part = 1.0
        """The part of its rate, or of the time, that it gets."""
        self._opening = False
        self._refused = ""
        """Why nothing of this stream may be seen now."""
        self._attempt = threading.Lock()
        """Held while it sees."""
        self._recording = ""
        """The stream of a recording that a suspension interrupted."""
        self._source: Source | None = None
        self._pipeline: Pipeline | None = None
        self._state: Literal["starting", "seeing", "seen"] = "starting"
        self._closed_why = ""
        """Why the source could not be opened."""
        self._reported_blind = ""
        self._frames = 0
        self._progress_s = clock.monotonic_s()

    def run(self) -> None:
        with contextlib.suppress(OSError):  # threads that are started later inherit it, including those of models
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), os.getpriority(os.PRIO_PROCESS, 0) + _NICENESS)
        wait_s = _FIRST_WAIT_S
        while not self._stopped.is_set():
            if self._suspended or self._refused:
                self._stopped.wait(_SUSPENDED_S)
                continue
            before = self._frames
            outcome = call_isolated(self._try, self._attempt_failed)
            if outcome == "over":
                return
            if outcome == "suspended":
                continue
            wait_s = _FIRST_WAIT_S if self._frames > before else wait_s
            clock.wait(self._stopped, wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)

    def stop(self) -> None:
        """End after the current frame; everything seen is committed. Returns at once: `join` waits."""
        self._stopped.set()
        self._stop_pipeline()

    @property
    def rate_fps(self) -> float:
        """Frames per second of its recipe."""
        return self._setup.rate_fps

    def slow_down(self, part: float) -> None:
        """From now on a live source gives this part (above 0, at most 1) of its frames; a recording keeps all of them and takes longer."""
        self._part = part
        source = self._source
        if source is not None and source.live:
            source.set_rate(self.rate_fps * part)

    @contextmanager
    def suspended(self, within_s: float) -> Iterator[None]:
        """Within the block it sees nothing, and everything seen is committed. Then a recording continues there; a camera continues with its
        next frame.

        Raises EdgememError if it does not pause within this time.
        """
        self._suspended = True
        try:
            self._stop_pipeline()
            if not self._attempt.acquire(timeout=within_s):
                raise EdgememError(f"{self.label} did not pause within {within_s:.0f} s: nothing was done; try again")
            try:
                yield
            finally:
                self._attempt.release()
        finally:
            self._progress_s = clock.monotonic_s()
            self._suspended = False

    def refuse(self, why: str) -> None:
        """From now on nothing is seen, for this reason; "" = it may see again. Called while it is suspended."""
        self._refused = why

    @property
    def blind(self) -> str:
        """Why nothing is seen, or ""."""
        source = self._source
        return self._refused or self._closed_why or (source.blind if source is not None and source.live else "")

    def at_rest(self, waiting: Collection[int]) -> bool:
        """Whether it has nothing to do before time goes on. `waiting`: the threads that wait for that."""
        pipeline = self._pipeline
        held = self._suspended or bool(self._refused)
        return not self.is_alive() or self.ident in waiting or held or (pipeline is not None and not pipeline.busy)

    @property
    def to_await(self) -> bool:
        """Whether a stop must wait for it. While a source is opened, which may take long, it has nothing that was seen."""
        return self.is_alive() and not self._opening

    @property
    def busy(self) -> bool:
        """Whether a frame is being processed now."""
        pipeline = self._pipeline
        return pipeline is not None and pipeline.busy

    @property
    def status(self) -> StreamStatus:
        """Status of the stream."""
        blind = self.blind
        return StreamStatus(stream=self.label, state="blind" if blind else self._state, blind=blind, frames=self._frames)

    def responsive(self, within_s: float) -> bool:
        """False if it saw no frame within this time and has no reason for that: it hangs."""
        pipeline = self._pipeline
        hears_rest = pipeline is not None and pipeline.hears_rest
        idle = bool(self.blind) or self._state != "seeing" or self._suspended or hears_rest
        return idle or clock.monotonic_s() - self._progress_s < within_s

    def report_changes(self) -> None:
        """Report once when it stops seeing, with the reason, and once when it sees again; and what fails while it sees."""
        blind, pipeline = self.blind, self._pipeline
        for line in pipeline.take_new_notes() if pipeline is not None else ():
            if line not in {INTERRUPTED, STOPPED}:
                self._report(line, level="warning", stream=self.label)
        if self._state == "starting" and not self._closed_why:
            return
        if bool(blind) != bool(self._reported_blind):
            level: Level = "warning" if blind else "notice"
            self._report(f"blind: {blind}" if blind else "sees again", level=level, stream=self.label)
            self._feed.publish(Health(kind="stream", name=self.label, well=not blind, t_us=clock.now_us(), why=blind))
        self._reported_blind = blind

    def _try(self) -> str:
        """One attempt to see the source to its end: "over", "suspended" or "again"."""
        with self._attempt:
            if self._see():
                self._state = "seen"
                return "over"
            return "suspended" if self._suspended else "again"

    def _attempt_failed(self, error: Exception) -> str:
        """A source that cannot be opened is tried again; any other error ends the worker, and the agent reports it."""
        if isinstance(error, SourceError):
            self._closed_why = "" if self._suspended else str(error)
            return "again"
        self.failed = error if isinstance(error, EdgememError) else EdgememError(f"{self.label}: {type(error).__name__}: {error}")
        return "over"

    def _stop_pipeline(self) -> None:
        pipeline = self._pipeline
        if pipeline is not None:
            pipeline.stop()

    def _see(self) -> bool:
        """One attempt; True if there is nothing more to see."""
        source = self._open()
        self.label = source.name
        try:
            if self._stopped.is_set():
                return True
            done = self._done_with(source)
            if done:
                self._closed_why = ""
                self._report(done, stream=self.label)
                return True
            pipeline, notes = self._setup.pipeline(source, self._store)
            for note in notes:
                self._report(note, level="notice", stream=self.label)
            self._source, self._pipeline = source, pipeline
            self.slow_down(self._part)
            if self._stopped.is_set() or self._suspended:
                return self._stopped.is_set()
            report = pipeline.run(self._progress)
            goes_on = not self._stopped.is_set()  # also after a suspension that was given up before this frame was done
            known = goes_on and report.interrupted and state_of(self._store, report.stream) is not None
            self._recording = report.stream if known else ""
            self._report_run(report, goes_on=goes_on)
            return not source.live and not report.interrupted
        finally:
            self._source = self._pipeline = None
            source.close()

    def _open(self) -> Source:
        self._opening = True
        try:
            return self._setup.source()
        finally:
            self._opening = False

    def _done_with(self, source: Source) -> str:
        """Why a recording need not be seen (any more), or ""."""
        if self._recording and state_of(self._store, self._recording) is None:
            return "is forgotten; the rest of it is not seen"
        return "was seen to its end before" if seen_whole(self._store, source) else ""

    def _progress(self, _done_us: int, _total_us: int | None) -> None:
        self._frames += 1
        self._rest(clock.monotonic_s() - self._progress_s)
        self._progress_s = clock.monotonic_s()
        self._closed_why, self._state = "", "seeing"

    def _rest(self, worked_s: float) -> None:
        """After a frame of a recording that took so long: rest, so that the work takes its part of the time."""
        source = self._source
        if source is not None and not source.live and self._part < 1:
            clock.wait(self._stopped, min(worked_s * (1 / self._part - 1), _LONGEST_REST_S))

    def _report_run(self, report: IngestReport, *, goes_on: bool) -> None:
        dropped = "".join(f", {reason} {count}" for reason, count in sorted(report.dropped.items()))
        self._report(
            f"{report.frames_seen} frames seen, {report.moments_kept} kept{dropped and '; dropped' + dropped[1:]}"
            f" in {report.seconds_spent:.0f} s",
            stream=report.stream,
        )
        for note in report.notes:
            if not (goes_on and note in {INTERRUPTED, STOPPED}):
                self._report(note, level="notice", stream=report.stream)
