"""Simulated time for the threads of one process: it stands still while anything works, and jumps ahead when all of them wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from collections.abc import Set as AbstractSet
from typing import Protocol

from edgemem.records import US

_POLL_S = 0.02
"""How often a wait looks for its event, in real time: whoever sets an event does not know of this clock."""
_SETTLE_S = 0.0005
"""How often it is checked, in real time, whether everything waits."""
PATIENCE_S = 30.0
"""Real time after which the clock moves on although something still works: a thread may wait for another one that waits for the clock."""
_ERROR_US = 5000
"""Error bound while a time server confirms the clock."""


class Others(Protocol):
    """Those who say themselves whether they work."""

    @property
    def threads(self) -> AbstractSet[int]:
        """Their threads; others must wait in simulated time before it moves on."""
        ...

    def at_rest(self, waiting: Collection[int]) -> bool:
        """Whether they have nothing to do before time moves on. `waiting`: the threads that wait for that."""
        ...


class SimulatedTime:
    """A `clock.TimeSource`. Threads wait in it; one thread, the driver, moves it."""

    def __init__(self, start_us: int) -> None:
        """`start_us`: the wall time at the start."""
        self.synchronised = True
        """Whether a time server confirms the clock."""
        self._start_us = self._mono_us = time.monotonic_ns() // 1000
        self._ahead_us = start_us - self._mono_us
        self._changed = threading.Condition()
        self._threads: dict[int, threading.Thread] = {}
        """Threads that have waited here."""
        self._waiting: dict[int, tuple[int, threading.Event]] = {}
        """Until when each waits, and for what."""
        self._over = False

    def now_us(self) -> int:
        return self._mono_us + self._ahead_us

    def mono_us(self) -> int:
        return self._mono_us

    def kernel_error_us(self) -> int | None:
        return _ERROR_US if self.synchronised else None

    @property
    def passed_s(self) -> float:
        """Seconds since the start."""
        return (self._mono_us - self._start_us) / US

    def jump(self, seconds: float) -> None:
        """Set the wall clock forward or back."""
        self._ahead_us += round(seconds * US)

    def take_part(self) -> None:
        """From now on time stands still while this thread works."""
        with self._changed:
            self._threads[threading.get_ident()] = threading.current_thread()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait until the event is set, or until this many simulated seconds have passed. Time stands still while this thread works."""
        me = threading.get_ident()
        self.take_part()
        with self._changed:
            until_us = self._mono_us + round(seconds * US)
            self._waiting[me] = until_us, event
            try:
                while not (event.is_set() or self._over or self._mono_us >= until_us):
                    self._changed.wait(_POLL_S)
            finally:
                del self._waiting[me]
        if self._over:
            event.wait(min(seconds, _POLL_S))
        return event.is_set()

    def settle(self, others: Others, patience_s: float = PATIENCE_S) -> bool:
        """Wait, in real time, until every thread waits and the `others` are at rest. False if that takes too long, or if time is over."""
        limit = time.monotonic() + patience_s
        with self._changed:
            while not self._over:
                waiting = self._asleep()
                working = {one for one, thread in self._threads.items() if one not in waiting and thread.is_alive()}
                if working <= others.threads and others.at_rest(waiting):
                    return True
                if time.monotonic() > limit:
                    return False
                self._changed.wait(_SETTLE_S)
        return False

    def advance(self, until_s: float) -> None:
        """Move on to the end of the next wait, but not beyond this time. Called by the driver, after `settle`."""
        with self._changed:
            ends = [until_us for until_us, _ in self._waiting.values() if until_us > self._mono_us]
            self._mono_us = min([*ends, self._start_us + round(until_s * US)])
            self._threads = {one: thread for one, thread in self._threads.items() if thread.is_alive()}
            self._changed.notify_all()

    def end(self) -> None:
        """Time is over: nobody waits here any more."""
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def _asleep(self) -> set[int]:
        """Threads whose wait goes on."""
        return {one for one, (until_us, event) in self._waiting.items() if until_us > self._mono_us and not event.is_set()}
