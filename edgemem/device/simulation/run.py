"""Runs the agent in simulated time: everything but the clock, the cameras, the disk's speed and the board's files is the real thing."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec

from edgemem import clock
from edgemem.device.agent import Agent
from edgemem.device.log import Level
from edgemem.device.simulation.board import SimulatedBoard, write_zones
from edgemem.device.simulation.faults import Faults
from edgemem.device.simulation.time import SimulatedTime
from edgemem.device.sysfs import SysfsBoard
from edgemem.errors import UsageError
from edgemem.isolation import run_thread
from edgemem.records import Record
from edgemem.remember.view import View

if TYPE_CHECKING:
    from edgemem.extend.environment import Environment

_SLOW_DISK_PATIENCE_S = 0.5
"""Real time that others get while a transaction is delayed: they may wait for it, and it waits for the clock."""


class LogLine(Record, frozen=True):
    """What the agent reported, and when: seconds since the start."""

    at_s: float
    level: Level
    text: str
    stream: str = ""


class StreamReport(Record, frozen=True):
    """What became of one stream."""

    stream: str
    shown: int
    """Frames that its camera sent."""
    seen: int
    """Frames that were handled; the others were overwritten by newer ones."""
    moments: int
    """Moments that are in the memory."""


class SimulationReport(Record, frozen=True):
    """The result of a simulation."""

    seconds: float
    """How long it was, in simulated time."""
    took_s: float
    """In real time."""
    streams: tuple[StreamReport, ...]
    log: tuple[LogLine, ...]
    root: str = ""
    """The directory with the board's files."""


class _Driver:
    """Moves the clock, until the end or until the agent has ended."""

    def __init__(self, agent: Agent, board: SimulatedBoard, seconds: float, root: Path) -> None:
        self._agent, self._board, self._time, self._seconds, self._root = agent, board, board.time, seconds, root
        self.frames: dict[str, int] = {}
        """Handled frames, by stream."""

    def run(self) -> None:
        """Called in a thread of its own."""
        self._time.settle(self)
        while self._time.passed_s < self._seconds and self._agent.running:
            self._step()
        self.frames = {one.stream: one.frames for one in self._agent.streams()}
        self._agent.stop()
        self._time.end()

    def _step(self) -> None:
        at_s = self._time.passed_s
        until_s = min([self._seconds, *(change for change in self._board.faults.changes() if change > at_s)])
        self._time.advance(until_s)
        for jump in self._board.faults.jumps(at_s, self._time.passed_s):
            self._time.jump(jump.by_s)
            self._time.synchronised = jump.synchronised
        write_zones(self._root, self._board.faults, self._time.passed_s)
        slow = self._board.faults.delay_s(self._time.passed_s) > 0
        self._time.settle(self, *([_SLOW_DISK_PATIENCE_S] if slow else []))

    @property
    def threads(self) -> AbstractSet[int]:
        """The threads of the streams: `at_rest` says whether they work."""
        return self._agent.stream_threads

    def at_rest(self, waiting: Collection[int]) -> bool:
        """Whether the agent has begun, and no stream and no camera has anything to do."""
        return bool(waiting) and not self._board.opening and self._agent.at_rest(waiting)


def simulate(
    environment: Environment,
    faults: Faults,
    *,
    seconds: float,
    start_us: int,
    root: Path | None = None,
    report: Callable[[LogLine], object] = lambda _: None,
) -> SimulationReport:
    """Run the agent of these settings for so many simulated seconds. Its `run.sources` must be recordings, which serve as cameras.

    `start_us`: the wall time at the start; `root`: where the board's files are written and read by the governor, None = in a directory that
    is gone after; `report` gets each line of its log. Call it in the main thread to end it by SIGINT. Raises EdgememError.
    """
    with ExitStack() as stack:
        files = root or Path(stack.enter_context(TemporaryDirectory(prefix="edgemem-sim-")))
        made = _simulate(environment, faults, seconds, start_us, files, report)
    return msgspec.structs.replace(made, root=str(root or ""))


def _simulate(
    environment: Environment, faults: Faults, seconds: float, start_us: int, root: Path, report: Callable[[LogLine], object]
) -> SimulationReport:
    if seconds <= 0:
        raise UsageError("a simulation must be longer than 0 seconds")
    time_source = SimulatedTime(start_us)
    time_source.synchronised = faults.synchronised
    board = SimulatedBoard(faults, time_source)
    log: list[LogLine] = []

    def note(text: str, /, *, level: Level = "info", stream: str = "") -> None:
        log.append(LogLine(at_s=round(time_source.passed_s, 3), level=level, text=text, stream=stream))
        report(log[-1])

    write_zones(root, faults, 0.0)
    files = SysfsBoard("simulated", msgspec.structs.replace(environment.settings.hardware, root=str(root)))
    began_s = time.monotonic()
    with clock.time_from(time_source):
        agent = Agent(environment, note, peripherals=board, board=files)
        driver = _Driver(agent, board, seconds, root)
        time_source.take_part()  # time begins when the agent has begun
        thread = run_thread("edgemem-simulation", driver.run, partial(_failed, note, agent, time_source))
        try:
            agent.run()
        finally:
            time_source.end()
            thread.join()
    streams = tuple(_stream_report(environment, board, name, frames) for name, frames in driver.frames.items())
    return SimulationReport(seconds=time_source.passed_s, took_s=time.monotonic() - began_s, streams=streams, log=tuple(log))


def _failed(note: Callable[..., None], agent: Agent, time_source: SimulatedTime, error: Exception) -> None:
    note(f"the simulation failed: {type(error).__name__}: {error}", level="error")
    agent.stop()
    time_source.end()


def _stream_report(environment: Environment, board: SimulatedBoard, name: str, frames: int) -> StreamReport:
    with View.open(Path(environment.settings.run.memory).expanduser()) as view:
        moments = sum(stream.moments for stream in view.streams() if stream.name == name)
    return StreamReport(stream=name, shown=board.frames_shown(name), seen=frames, moments=moments)
