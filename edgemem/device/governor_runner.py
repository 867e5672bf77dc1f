"""The thread of the governor: reads the board, lets the governor decide, has the decision applied, and says it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from edgemem import clock
from edgemem.config import Settings
from edgemem.device.board import Board
from edgemem.device.governor import Decision, Governor, Step
from edgemem.device.log import Report
from edgemem.events import Health
from edgemem.extend.feed import Feed
from edgemem.isolation import call_isolated, one_line

Apply = Callable[[Step], None]
"""Brings the agent to a step. Called in the thread of the governor; if it raises an error, it is called again after the next reading."""


class GovernorRunner(threading.Thread):
    """Calls `tick` every `governor.check_s` seconds, until `stop`. A failure is reported once, and the next reading is taken."""

    def __init__(self, board: Board, settings: Settings, apply: Apply, feed: Feed, report: Report) -> None:
        super().__init__(name="edgemem-governor", daemon=True)
        self._board = board
        self._governor = Governor(settings)
        self._settings = settings
        self._next = settings
        """Those of the last `use`."""
        self._woken = threading.Event()
        """Set when there is no need to wait for the next reading: other settings, or the end."""
        self._apply = apply
        self._feed = feed
        self._report = report
        self._stopped = threading.Event()
        self._applied: Step | None = self._governor.step
        self._lost: frozenset[str] = frozenset()
        self._failed = ""

    @property
    def step(self) -> Step:
        """The present step."""
        return self._governor.step

    @property
    def postpones(self) -> bool:
        """Whether background work has to wait."""
        return not self._governor.step.background

    def run(self) -> None:
        while not self._stopped.is_set():
            call_isolated(self._tick_now, self._report_failure)
            clock.wait(self._woken, self._settings.governor.check_s)

    def use(self, settings: Settings) -> None:
        """Take over other settings before the next reading, which comes at once. For any thread."""
        self._next = settings
        self._woken.set()

    def stop(self, within_s: float) -> None:
        """End after the current reading; wait at most this long for it."""
        self._stopped.set()
        self._woken.set()
        if self.ident is not None:
            self.join(within_s)

    def _tick_now(self) -> None:
        self.tick(clock.monotonic_s())
        self._failed = ""

    def tick(self, t_s: float) -> Decision | None:
        """One reading at a monotonic time: decide, apply, and say what changed and why."""
        self._take_over()
        decision = self._governor.decide(self._board.readings(t_s)) if self._settings.governor.enabled else None
        self._report_lost()
        if decision is not None:
            line = f"{'less' if decision.less else 'more'} work: {decision.step.name}, because {decision.reason}"
            self._report(f"governor: {line}", level="notice")
            self._feed.publish(Health(kind="board", name=self._board.name, well=not decision.number, t_us=clock.now_us(), why=line))
        if self._applied is not self.step:
            self._apply(self.step)
            self._applied = self.step
        return decision

    def _take_over(self) -> None:
        """Use the settings of `use`. A governor that is switched off lets all work be done."""
        self._woken.clear()
        if self._stopped.is_set():
            self._woken.set()
        settings = self._next
        if settings is self._settings:
            return
        self._settings, self._applied = settings, None
        if settings.governor.enabled:
            self._governor.follow(settings)
        else:
            self._governor = Governor(settings)

    def _report_lost(self) -> None:
        lost = self._governor.lost
        for group in sorted(lost - self._lost):
            self._report(f"governor: the {group} cannot be read any more; there is no more work until it can be", level="warning")
        self._lost = lost

    def _report_failure(self, error: Exception) -> None:
        line = one_line(error)
        if line != self._failed:
            self._report(f"governor: {line}", level="warning")
        self._failed = line
