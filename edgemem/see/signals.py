"""Signals that ask a run for something: SIGINT and SIGTERM for a clean stop, SIGHUP for whatever the caller chooses."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class Caught:
    """The signal that came."""

    number: int = 0
    """0 = none."""


def _apart(action: Callable[[], object]) -> None:
    """Run this in a thread of its own. Python handles a signal in the main thread, between any two of its steps: there that thread may hold
    the lock that the action needs (of an Event that it is about to wait for), and would wait for itself.
    """
    threading.Thread(target=action, name="edgemem-signal", daemon=True).start()


@contextmanager
def stop_on_signals(stop: Callable[[], object], patience_s: float | None = None) -> Iterator[Caught]:
    """The first SIGINT or SIGTERM within the block calls `stop` in another thread, a second one does as before. Only the main thread takes
    signals.

    Where the block has not ended `patience_s` after a SIGTERM, the process gets it a second time: a decoder may be stuck in one call.
    """
    caught = Caught()
    if threading.current_thread() is not threading.main_thread():
        yield caught
        return
    before = {int(number): signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    ended = threading.Event()

    def repeat(number: int) -> None:
        if not ended.wait(patience_s):
            os.kill(os.getpid(), number)

    def handle(number: int, _: FrameType | None) -> None:
        caught.number = number
        signal.signal(number, before[number])
        if number == signal.SIGTERM and patience_s is not None:
            _apart(lambda: repeat(number))
        _apart(stop)

    for number in before:
        signal.signal(number, handle)
    try:
        yield caught
    finally:
        ended.set()
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def on_hangup(action: Callable[[], object]) -> Iterator[None]:
    """A SIGHUP within the block calls `action` in another thread. Only the main thread takes signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGHUP, lambda *_: _apart(action))
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)
