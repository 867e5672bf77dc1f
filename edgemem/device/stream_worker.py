"""One stream of the agent: its source is opened, seen, and opened again for as long as the agent runs."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, Protocol

from edgemem.errors import EdgememError, SourceError
from edgemem.events import StreamStatus
from edgemem.remember.store import Store
from edgemem.see.pipeline import INTERRUPTED, STOPPED, IngestReport, Pipeline
from edgemem.see.resume import seen_whole, state_of
from edgemem.see.sources.base import Source

_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 60.0
"""Waits between attempts to open a source double from the first to the longest. A camera that vanishes while it is seen calls again by
itself (`see.sources.camera`) before it is given up and comes here."""

_NAP_S = 0.05
"""A rest is over for an eye so long after it is over for all."""
_YIELDS = 5
"""Steps of niceness by which seeing yields to asking: a person waits for an answer, a frame has its slot until the next one comes."""


class SourceSetup(Protocol):
    """Makes what an eye needs anew for every attempt. Both raise EdgememError; SourceError means: try again later."""

    def source(self) -> Source: ...
    def pipeline(self, source: Source, store: Store) -> tuple[Pipeline, list[str]]: ...


class StreamWorker(threading.Thread):
    """Sees one source until `stop`, or a recording once to its end. `failed` is what ended it otherwise, such as a full disk."""

    def __init__(self, label: str, looks: SourceSetup, store: Store, say: Callable[[str], None]) -> None:
        super().__init__(name=f"edgemem-see-{label}", daemon=True)
        self.label = label
        """Name of the stream, once the source was open."""
        self.failed: EdgememError | None = None
        self._looks = looks
        self._store = store
        self._say = say
        self._stopped = threading.Event()
        self._resting = False
        self._attempt = threading.Lock()
        """Held while it sees."""
        self._recording = ""
        """The stream in which a rest interrupted a recording."""
        self._source: Source | None = None
        self._pipeline: Pipeline | None = None
        self._state: Literal["starting", "seeing", "seen"] = "starting"
        self._away = ""
        """Why the source could not be opened."""
        self._said_blind = ""
        self._frames = 0
        self._moved_s = time.monotonic()

    def run(self) -> None:
        with contextlib.suppress(OSError):  # threads made from here on inherit it, those of the models too
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), os.getpriority(os.PRIO_PROCESS, 0) + _YIELDS)
        wait_s = _FIRST_WAIT_S
        while not self._stopped.is_set():
            if self._resting:
                self._stopped.wait(_NAP_S)
                continue
            before, rested = self._frames, False
            try:
                with self._attempt:
                    if self._see():
                        self._state = "seen"
                        return
                    rested = self._resting
            except SourceError as error:
                self._away = "" if self._resting else str(error)
            except EdgememError as error:
                self.failed = error
                return
            except Exception as error:  # noqa: BLE001 - a thread that dies in silence would be a camera that nobody misses
                self.failed = EdgememError(f"{self.label}: {type(error).__name__}: {error}")
                return
            if rested:
                continue
            wait_s = _FIRST_WAIT_S if self._frames > before else wait_s
            self._stopped.wait(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)

    def stop(self) -> None:
        """End after the current frame; what was seen is committed. Returns at once: `join` waits."""
        self._stopped.set()
        pipeline = self._pipeline
        if pipeline is not None:
            pipeline.stop()

    @contextmanager
    def resting(self, within_s: float) -> Iterator[None]:
        """It sees nothing meanwhile, and all that it saw is committed; then it goes on there, a camera with what comes by then.

        Raises EdgememError when it does not come to rest within this time.
        """
        self._resting = True
        try:
            pipeline = self._pipeline
            if pipeline is not None:
                pipeline.stop()
            if not self._attempt.acquire(timeout=within_s):
                raise EdgememError(f"{self.label} did not pause within {within_s:.0f} s: nothing was done; try again")
            try:
                yield
            finally:
                self._attempt.release()
        finally:
            self._moved_s = time.monotonic()
            self._resting = False

    @property
    def blind(self) -> str:
        """Why nothing is seen, or ""."""
        source = self._source
        return self._away or (source.blind if source is not None and source.live else "")

    @property
    def fares(self) -> StreamStatus:
        """For who asks how the agent fares."""
        blind = self.blind
        return StreamStatus(stream=self.label, state="blind" if blind else self._state, blind=blind, frames=self._frames)

    def moves(self, within_s: float) -> bool:
        """False when it neither saw a frame for so long nor knows a reason: it hangs."""
        idle = bool(self.blind) or self._state != "seeing" or self._resting
        return idle or time.monotonic() - self._moved_s < within_s

    def say_changes(self) -> None:
        """Say when it became blind, why, and when it sees again; once each."""
        blind = self.blind
        if self._state == "starting" and not self._away:
            return
        if blind and not self._said_blind:
            self._say(f"{self.label}: blind: {blind}")
        elif self._said_blind and not blind:
            self._say(f"{self.label}: sees again")
        self._said_blind = blind

    def _see(self) -> bool:
        """One attempt; True when there is nothing more to see."""
        source = self._looks.source()
        self.label = source.name
        try:
            done = self._done_with(source)
            if done:
                self._away = ""
                self._say(f"{self.label}: {done}")
                return True
            pipeline, notes = self._looks.pipeline(source, self._store)
            for note in notes:
                self._say(f"{self.label}: {note}")
            self._source, self._pipeline = source, pipeline
            if self._stopped.is_set() or self._resting:
                return self._stopped.is_set()
            report = pipeline.run(self._progress)
            rested = self._resting and not self._stopped.is_set()
            known = rested and not source.live and state_of(self._store, report.stream) is not None
            self._recording = report.stream if known else ""
            self._say_report(report, rested=rested)
            return not source.live and not rested
        finally:
            self._source = self._pipeline = None
            source.close()

    def _done_with(self, source: Source) -> str:
        """Why a recording need not be seen (any more), or ""."""
        if self._recording and state_of(self._store, self._recording) is None:
            return "is forgotten; the rest of it is not seen"
        return "was seen to its end before" if seen_whole(self._store, source) else ""

    def _progress(self, _done_us: int, _total_us: int | None) -> None:
        self._frames += 1
        self._moved_s = time.monotonic()
        self._away, self._state = "", "seeing"

    def _say_report(self, report: IngestReport, *, rested: bool) -> None:
        dropped = "".join(f", {reason} {count}" for reason, count in sorted(report.dropped.items()))
        self._say(
            f"{report.stream}: {report.frames_seen} frames seen, {report.moments_kept} kept{dropped and '; dropped' + dropped[1:]}"
            f" in {report.seconds_spent:.0f} s"
        )
        for note in report.notes:
            if not (rested and note in {INTERRUPTED, STOPPED}):
                self._say(f"{report.stream}: {note}")
