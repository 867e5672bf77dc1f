"""SIGINT and SIGTERM as a request for a clean stop."""

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


@contextmanager
def stop_on_signals(stop: Callable[[], object], patience_s: float | None = None) -> Iterator[Caught]:
    """The first SIGINT or SIGTERM within the block calls `stop`, a second one does as before. Only the main thread takes signals.

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
            threading.Thread(target=repeat, args=(number,), name="edgemem-stop", daemon=True).start()
        stop()

    for number in before:
        signal.signal(number, handle)
    try:
        yield caught
    finally:
        ended.set()
        for number, handler in before.items():
            signal.signal(number, handler)
