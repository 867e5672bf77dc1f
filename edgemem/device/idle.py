"""Work for when nothing else is to be done: writers that are slow, jobs that wait. It runs in short slices between frames and questions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from edgemem.errors import EdgememError
from edgemem.isolation import call_isolated

IdleWork = Callable[[float], bool]
"""Works until `time.monotonic()` reaches the given deadline, at the latest. True when there is more to do now."""

SLICE_S = 0.5
"""How long one call may take: at one frame a second the next frame waits no longer than it would for a slow one."""
_TICK_S = 0.1
"""How often it looks whether the agent is idle."""
_NOTHING_S = 5.0
"""After a call that found nothing to do."""
_FAILED_S = 60.0
"""After a call that failed."""


class IdleRunner(threading.Thread):
    """Calls `work` whenever `busy()` is false, until `stop`. A call that fails is reported and tried again a minute later."""

    def __init__(self, work: IdleWork, busy: Callable[[], bool], report: Callable[[str], object]) -> None:
        super().__init__(name="edgemem-idle", daemon=True)
        self._work = work
        self._busy = busy
        self._report = report
        self._stopped = threading.Event()
        self._working = threading.Lock()
        """Held during a call."""

    def run(self) -> None:
        wait_s = 0.0
        while not self._stopped.wait(wait_s):
            wait_s = _TICK_S
            if not self._busy():
                with self._working:
                    wait_s = call_isolated(self._slice, self._failed)

    def stop(self, within_s: float) -> None:
        """End after the present call, which is waited for so long."""
        self._stopped.set()
        if self.ident is not None:
            self.join(within_s)

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """No call runs meanwhile; waits for the present one."""
        with self._working:
            yield

    def _slice(self) -> float:
        return _TICK_S if self._work(time.monotonic() + SLICE_S) else _NOTHING_S

    def _failed(self, error: Exception) -> float:
        why = str(error) if isinstance(error, EdgememError) else f"{type(error).__name__}: {error}"
        self._report(f"idle work: {why}")
        return _FAILED_S
