"""Work for idle time: slow writers and waiting jobs. It runs in short slices between frames and questions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from edgemem import clock
from edgemem.errors import EdgememError
from edgemem.isolation import call_isolated

IdleWork = Callable[[float], bool]
"""Works at most until `time.monotonic()` reaches the given deadline. True if there is more to do now."""

SLICE_S = 0.5
"""Time limit of one call: at one frame per second, the next frame waits no longer than for a slow frame."""
_TICK_S = 0.1
"""How often it checks whether the agent is idle."""
_NOTHING_S = 5.0
"""Wait after a call that found nothing to do."""
_FAILED_S = 60.0
"""Wait after a call that failed."""


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
        while not clock.wait(self._stopped, wait_s):
            wait_s = _TICK_S
            if not self._busy():
                with self._working:
                    wait_s = call_isolated(self._slice, self._failed)

    def stop(self, within_s: float) -> None:
        """End after the current call; wait at most this long for it."""
        self._stopped.set()
        if self.ident is not None:
            self.join(within_s)

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """No call runs within the block; waits for the current one."""
        with self._working:
            yield

    def _slice(self) -> float:
        return _TICK_S if self._work(time.monotonic() + SLICE_S) else _NOTHING_S

    def _failed(self, error: Exception) -> float:
        why = str(error) if isinstance(error, EdgememError) else f"{type(error).__name__}: {error}"
        self._report(f"idle work: {why}")
        return _FAILED_S
