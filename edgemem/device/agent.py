"""The daemon: two threads per stream (one captures, one does the rest), one store, one socket. It stops cleanly and reports every
problem.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from edgemem import clock
from edgemem.allocation import bound_heap
from edgemem.characters import visible
from edgemem.config import RunSource, parse_bytes
from edgemem.device import notify
from edgemem.device.board import Board
from edgemem.device.governed import GovernedStreams
from edgemem.device.governor_runner import GovernorRunner
from edgemem.device.handle import Handle
from edgemem.device.idle import IdleRunner
from edgemem.device.log import Report
from edgemem.device.peripherals import Peripherals
from edgemem.device.reload import Reloads
from edgemem.device.shared_store import LockedRetainer, SharedStore
from edgemem.device.stream_worker import StreamWorker
from edgemem.device.sysfs import SysfsBoard
from edgemem.errors import SourceError, UsageError
from edgemem.events import StreamStatus
from edgemem.extend.feed import Feed
from edgemem.extend.services import ServiceRunner
from edgemem.extend.sources import open_source, source_for
from edgemem.extend.stats import save_stats
from edgemem.remember.disk.directory import is_paused
from edgemem.remember.rules import KeepRules
from edgemem.remember.store import Store
from edgemem.see.pipeline import Pipeline
from edgemem.see.signals import on_hangup, stop_on_signals
from edgemem.see.sources.base import Source
from edgemem.serve import admin, taught
from edgemem.serve.dispatch import Dispatcher
from edgemem.serve.ingest import end_forgetting, equip
from edgemem.serve.messages import (
    ForgetReply,
    ForgetRequest,
    MergeReply,
    MergeRequest,
    NameReply,
    NameRequest,
    NameThingRequest,
    ThingReply,
)
from edgemem.serve.postponed import PostponedWork
from edgemem.serve.questions import QuestionService
from edgemem.serve.session_log import SessionLogger
from edgemem.serve.socket_server import SocketServer
from edgemem.serve.waiting import WaitingPictures

if TYPE_CHECKING:
    from edgemem.extend.environment import Environment

_TICK_S = 1.0
"""How often the agent checks its streams and reports to the service manager."""
_STOP_S = 30.0
"""Time limit for the streams to end, and for one to pause. Usually less than a second passes; a slow disk or a large model takes longer."""
_JOIN_S = 0.05
"""How often a stream that ends is looked at."""
_IDLE_STOP_S = 5.0
"""Time limit for a slice of idle work to end."""
_RULES_S = 3600.0
"""Retention rules are applied at least this often, also to streams in which nothing happens."""


class _SourceSetup:
    """Opens one configured source and builds its pipeline, again for every attempt."""

    def __init__(
        self, spec: RunSource, memory: Path, environment: Environment, feed: Feed, peripherals: Peripherals, names: dict[str, RunSource]
    ) -> None:
        """`names`: whose stream has which name; all setups of an agent share it."""
        self._names = names
        self._spec, self._memory, self._environment, self._feed, self._peripherals = spec, memory, environment, feed, peripherals
        self._recipe = environment.recipe(spec.recipe)
        self.rate_fps = self._recipe.rate_fps

    def source(self) -> Source:
        """Raises SourceError if it does not exist (yet)."""
        source = self._peripherals.camera(self._open, self._recipe.rate_fps)
        if self._names.setdefault(source.name, self._spec) is not self._spec:
            source.close()
            raise SourceError(f'another source has the name "{source.name}" too; give each its own stream in run.sources')
        return source

    def _open(self) -> Source:
        spec, recipe, plugins = self._spec, self._recipe, self._environment.plugins
        return open_source(spec.source, plugins=plugins, rate_fps=recipe.rate_fps, stream=spec.stream, settings=recipe.source)

    def pipeline(self, source: Source, store: Store) -> tuple[Pipeline, list[str]]:
        """The pipeline of the source, and notes on what is missing. Raises UsageError if nothing of it may be kept."""
        parts, notes = equip(self._environment, self._recipe, source, self._memory, self._feed)
        if parts.privacy is not None:
            parts.privacy.require_consent()
        if parts.retainer is not None:
            parts.retainer = LockedRetainer(parts.retainer)
        return Pipeline(source, parts, store), notes


def check_sources(environment: Environment) -> tuple[str, ...]:
    """One line for each recording of `run.sources` that does not exist; the daemon waits for it.

    Raises UsageError for errors that waiting cannot solve: two streams with one name, a recipe or a lighter engine that does not exist.
    """
    if light := environment.settings.governor.light:
        environment.engines.check_names(light, "governor.light")
    sources, missing = environment.settings.run.sources, []
    if len({_label(spec) for spec in sources}) < len(sources):
        raise UsageError("run.sources: two streams have one name; give each source its own stream")
    for spec in sources:
        environment.recipe(spec.recipe)
        try:
            source_for(spec.source, environment.plugins)
        except SourceError as error:
            missing.append(f"run.sources: {error}")
    return tuple(missing)


class Agent:
    """Sees every source of `settings.run` into the memory and answers questions on its socket, until SIGTERM or SIGINT. Run it in the main
    thread.

    `report` is called with messages for a person. Between frames and questions the agent does work that writers postponed.
    """

    def __init__(
        self, environment: Environment, report: Report, peripherals: Peripherals | None = None, board: Board | None = None
    ) -> None:
        """`peripherals`: cameras and disk, `board`: what the governor reads; None = those of this machine."""
        run = environment.settings.run
        if not run.memory:
            raise UsageError("run.memory is not set: name the memory's directory in the settings file")
        if not run.sources:
            raise UsageError('run.sources is empty: name a camera in the settings file, such as [[run.sources]] source = "/dev/video0"')
        check_sources(environment)
        self._services = environment.services()
        self._board = board or SysfsBoard(environment.settings.hardware.name or "board", environment.settings.hardware)
        self._memory = Path(run.memory).expanduser()
        self._environment = environment
        self._report = report
        self._feed = Feed()
        self._peripherals = peripherals or Peripherals()
        names: dict[str, RunSource] = {}
        self._setups = {
            _label(spec): _SourceSetup(spec, self._memory, environment, self._feed, self._peripherals, names) for spec in run.sources
        }
        self._stop = threading.Event()
        self.running = True
        """Whether `run` has not ended."""
        self._reloads = Reloads(environment, self._memory, report, _STOP_S)
        self._workers: list[StreamWorker] = []
        self._store: SharedStore | None = None
        self._idle_runner: IdleRunner | None = None
        self._governor: GovernorRunner | None = None
        self._forgetting = threading.Lock()
        """Held while all streams are suspended."""
        self._naming = threading.Lock()
        """Held while a thing is taught: two at once would search for each other's."""

    def run(self) -> None:
        """Run until stopped. Raises MemoryDirError if the memory cannot be written (any more), and UsageError."""
        bound_heap()
        try:
            self._run()
        finally:
            self.running = False

    def _run(self) -> None:
        hangup = self._stop.set if sys.stderr.isatty() else self._reloads.request  # where its terminal is closed, it ends
        with stop_on_signals(self._stop.set), on_hangup(hangup), ExitStack() as stack:
            if not self._wait_while_paused():
                return
            store = self._open_store(stack)
            self._workers = [StreamWorker(label, setup, store, self._feed, self._report) for label, setup in self._setups.items()]
            self._serve(stack, store)
            for worker in self._workers:
                worker.start()
            notify.send("READY=1")
            self._report(f"remembers {', '.join(self._setups)} in {self._memory}")
            self._watch(store)
            notify.send("STOPPING=1")

    def _wait_while_paused(self) -> bool:
        """Wait while the memory is paused; nothing is opened, not even the store. False if stopped in the meantime."""
        if is_paused(self._memory):
            self._report(f"{self._memory} is paused: waits for `edgemem memory resume --memory {self._memory}`")
            notify.send("READY=1\nSTATUS=paused")
        while is_paused(self._memory) and not clock.wait(self._stop, _TICK_S):
            self._notify_watchdog()
        return not self._stop.is_set()

    def _open_store(self, stack: ExitStack) -> SharedStore:
        settings = self._environment.settings
        end_forgetting(self._memory, self._report)
        store = self._peripherals.store(self._memory, parse_bytes(settings.budget.disk), settings.store.durability)
        self._store = stack.enter_context(store)
        stack.callback(save_stats, self._environment.home, self._environment.plugins)
        return store

    def _serve(self, stack: ExitStack, store: SharedStore) -> None:
        """Run the streams and everything around them. They end in reverse order: socket and idle work, streams, services, session log."""
        session_log = SessionLogger(store)
        stack.callback(session_log.close)
        questions = QuestionService(self._memory, self._environment, self._feed)
        dispatcher = Dispatcher(questions, session_log, self._environment.digest, self)
        services = ServiceRunner(self._services, Handle(self._feed, dispatcher, self._environment, self), self._report)
        stack.callback(services.stop)
        services.start()
        stack.callback(self._end_workers)
        work = PostponedWork(self._environment, store, self._recipes)
        waiting = WaitingPictures(self._environment, store, self._report)
        self._idle_runner = IdleRunner(
            lambda deadline_s: self._idle_work(work, waiting, store, deadline_s), lambda: self._busy(dispatcher), self._report
        )
        stack.callback(self._idle_runner.stop, _IDLE_STOP_S)
        self._idle_runner.start()
        self._govern(stack)
        self._open_socket(stack, dispatcher)

    def _govern(self, stack: ExitStack) -> None:
        """The governor, and the rates that `budget.fps` allows from the start."""
        environment = self._environment
        streams = GovernedStreams(self._workers, lambda: environment.settings, lambda: environment.engines, self._forgetting, self._report)
        self._governor = GovernorRunner(self._board, environment.settings, streams.apply, self._feed, self._report)
        streams.apply(self._governor.step)
        stack.callback(self._governor.stop, _IDLE_STOP_S)
        self._governor.start()

    def _open_socket(self, stack: ExitStack, dispatcher: Dispatcher) -> None:
        server = SocketServer(self._memory, dispatcher.reply)
        try:
            server.open()
        except OSError as error:
            self._report(f"no socket in {self._memory} ({error.strerror or error}): questions are answered by the commands themselves")
            return
        stack.callback(server.close)

    def _watch(self, store: SharedStore) -> None:
        """Until a stop or a failure: report streams that see nothing, apply the retention rules, notify the service manager."""
        rules_due_s, steady = clock.monotonic_s() + _RULES_S, clock.SteadyClock()
        while not clock.wait(self._stop, _TICK_S):
            for worker in self._workers:
                worker.report_changes()
                if (failed := store.lost or worker.failed) is not None:
                    raise failed
            if self._reloads.requested:
                with self._forgetting:
                    self._reloads.run(store, self._workers, self._governor)
            if clock.monotonic_s() > rules_due_s and not is_paused(self._memory) and not self._forgetting.locked():
                rules_due_s = clock.monotonic_s() + _RULES_S
                LockedRetainer(KeepRules(self._environment.settings.retention, steady)).apply(store)
            self._notify_watchdog()

    def stop(self) -> None:
        """End `run`, from any thread."""
        self._stop.set()

    @property
    def stream_threads(self) -> set[int]:
        """The threads that see: `at_rest` says whether they work."""
        return {worker.ident for worker in self._workers if worker.ident is not None}

    def at_rest(self, waiting: Collection[int]) -> bool:
        """Whether no stream has anything to do before time goes on. `waiting`: the threads that wait for that."""
        return all(worker.at_rest(waiting) for worker in self._workers)

    def streams(self) -> tuple[StreamStatus, ...]:
        """Status of each stream."""
        return tuple(worker.status for worker in self._workers)

    def notes(self) -> tuple[str, ...]:
        """What is not as the settings say: less work, lighter engines, another runtime than the first."""
        engines = self._environment.engines
        step = self._governor.step if self._governor is not None else None
        less = () if step is None or (step.background and step.rate == 1) else (f"the governor allows {step.name}",)
        return (*less, *engines.stepped_down, *engines.runtimes.notes())

    def name_voice(self, request: NameRequest) -> NameReply:
        """Name a voice between two writes of the streams. Raises UsageError."""
        assert self._store is not None
        return admin.name_voice(self._store, request, self._feed)

    def merge_entities(self, request: MergeRequest) -> MergeReply:
        """Between two writes of the streams. Raises UsageError."""
        assert self._store is not None
        return admin.merge_entities(self._store, request, self._feed)

    def name_thing(self, request: NameThingRequest) -> ThingReply:
        """Between two writes of the streams; what takes long is done when the board is idle. Raises EdgememError."""
        assert self._store is not None
        with self._naming:
            return taught.name_thing(self._store, request, self._environment, self._feed, seconds=taught.AGENT_S)

    def forget(self, request: ForgetRequest) -> ForgetReply:
        """Forget while all streams are suspended: otherwise they would write forgotten data again. Raises EdgememError."""
        assert self._store is not None
        admin.check(self._memory, request, self._environment)
        with self._forgetting, ExitStack() as stack:
            self._report("forgetting: the streams are suspended until it is done")
            stack.callback(self._report, "the streams go on")
            for worker in self._workers:
                stack.enter_context(worker.suspended(_STOP_S))
            if self._idle_runner is not None:
                stack.enter_context(self._idle_runner.suspended())
            with self._store.released(self._environment.settings.store.durability):
                return admin.forget(self._memory, request, self._environment)

    def _idle_work(self, postponed: PostponedWork, waiting: WaitingPictures, store: SharedStore, deadline_s: float) -> bool:
        """First what writers postponed, then what taught things wait for, then pictures that wait for the vectors of a server."""
        return postponed(deadline_s) or taught.catch_up(self._environment, store, deadline_s) or waiting(deadline_s)

    def _recipes(self) -> dict[str, str]:
        """The recipe of each stream."""
        return {worker.label: spec.recipe for worker, spec in zip(self._workers, self._environment.settings.run.sources, strict=True)}

    def _busy(self, dispatcher: Dispatcher) -> bool:
        """Whether a frame or a question is being processed, the governor postpones other work, or nothing may be written."""
        postponed = self._governor is not None and self._governor.postpones
        return postponed or dispatcher.busy or any(worker.busy for worker in self._workers) or is_paused(self._memory)

    def _notify_watchdog(self) -> None:
        """Notify the watchdog, unless a stream hangs: then the service manager restarts the agent."""
        limit_s = notify.watchdog_s()
        if limit_s is None or all(worker.responsive(limit_s / 2) for worker in self._workers):
            blind = [f"{worker.label} is blind" for worker in self._workers if worker.blind]
            status = "; ".join(blind) or "sees " + ", ".join(self._setups)
            if self._governor is not None and self._governor.step.rate < 1:
                status += f" ({self._governor.step.name})"
            notify.send(f"WATCHDOG=1\nSTATUS={visible(status)}")  # a name must not make a line of its own

    def _end_workers(self) -> None:
        """Stop all streams, and wait until everything seen is committed. One that is just being opened has seen nothing."""
        for worker in self._workers:
            worker.stop()
        deadline = time.monotonic() + _STOP_S
        for worker in self._workers:
            while worker.to_await and time.monotonic() < deadline:
                worker.join(_JOIN_S)
            if worker.to_await:
                self._report(f"did not end within {_STOP_S:.0f} s; its last second is lost", level="warning", stream=worker.label)


def _label(spec: RunSource) -> str:
    """The name of the stream if given, else the source without a password."""
    return spec.stream or Path(spec.source.rpartition("@")[2]).name or spec.source
