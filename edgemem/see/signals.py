"""SIGINT and SIGTERM as a request for a clean stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_on_signals(stop: Callable[[], object]) -> Iterator[None]:
    """The first SIGINT or SIGTERM within the block calls `stop`; a second one has its usual effect. Only the main thread gets signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {int(number): signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def handle(number: int, _: FrameType | None) -> None:
        signal.signal(number, before[number])
        stop()

    for number in before:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
