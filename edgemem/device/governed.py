"""What the governor can do in the agent: the rate of the streams, and lighter engines. Background work asks the governor itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from edgemem.device.governor import Step
from edgemem.device.log import Report
from edgemem.device.stream_worker import StreamWorker

if TYPE_CHECKING:
    import threading

    from edgemem.config import Settings
    from edgemem.infer.engines import Engines

_SUSPEND_S = 20.0
"""Time limit for a stream to pause, so that it can continue with other engines."""


def part_of(settings: Settings, rates_fps: Sequence[float], step_rate: float) -> list[float]:
    """The part of its own rate that each stream gets: that of the step and of `budget.fps`, which all share, but at least
    `governor.least_fps`.
    """
    total, cap, least = sum(rates_fps), settings.budget.fps, settings.governor.least_fps
    shared = min(1.0, cap / total) if cap and total else 1.0
    return [max(shared * step_rate, min(1.0, least / rate_fps)) for rate_fps in rates_fps]


class GovernedStreams:
    """Applies steps to the streams of an agent. One thread uses it."""

    def __init__(
        self, workers: Sequence[StreamWorker], settings: Callable[[], Settings], engines: Callable[[], Engines], turn: threading.Lock,
        report: Report,
    ) -> None:  # fmt: skip
        """`settings`: those in use now; `turn` is held while all streams are suspended."""
        self._workers, self._settings, self._engines = workers, settings, engines
        self._turn, self._report = turn, report
        self._light: Mapping[str, str] = {}

    def apply(self, step: Step) -> None:
        """Bring the streams to a step. Raises EdgememError if one does not pause: then its engines stay as they are until the next step."""
        settings = self._settings()
        parts = part_of(settings, [worker.rate_fps for worker in self._workers], step.rate)
        for worker, part in zip(self._workers, parts, strict=True):
            worker.slow_down(part)
        light = settings.governor.light if step.light else {}
        if light != self._light:
            self._switch(light)

    def _switch(self, light: Mapping[str, str]) -> None:
        """Pause all streams, change the engines, and let the streams continue with new pipelines."""
        with self._turn, ExitStack() as stack:
            for worker in self._workers:
                stack.enter_context(worker.suspended(_SUSPEND_S))
            engines = self._engines()
            problems = engines.prefer(light)
            self._light = light
        for line in engines.stepped_down:
            self._report(f"governor: {line}", level="notice")
        if not light:
            self._report("governor: the engines of the settings serve again", level="notice")
        for problem in problems:
            self._report(f"governor: no lighter engine: {problem}", level="warning")
