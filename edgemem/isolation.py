"""Fault isolation: a component or thread that fails costs its part, the failure is counted and reported, and seeing goes on.

This file and `extend/guard.py` are the only places that catch every kind of exception.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from edgemem.errors import BudgetError, EdgememError, MemoryDirError

R = TypeVar("R")


class FaultIsolation:
    """Runs components so that their failures become notes in the report of a run. May be used from several threads."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._lock = threading.Lock()

    def attempt(self, what: str, otherwise: Any, action: Callable[..., Any], *args: Any) -> Any:
        """The result of `action`, or `otherwise` where it raises, which is noted under the name `what`.

        A MemoryDirError is raised on, because a memory that cannot be written ends the run. What exceeds the byte budget (BudgetError)
        is left out like any other failure.
        """
        try:
            return action(*args)
        except BudgetError as error:
            self.failed(what, error)
        except MemoryDirError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it was, the next frame comes
            self.failed(what, error)
        return otherwise

    def failed(self, what: str, error: BaseException) -> None:
        """Note a failure that happened elsewhere, such as in another thread."""
        self.note(f"{what}: {one_line(error)}")

    def note(self, line: str) -> None:
        """One line for a person; the same line again is counted."""
        with self._lock:
            self._counts[line] = self._counts.get(line, 0) + 1

    @property
    def lines(self) -> tuple[str, ...]:
        """All notes in the order in which they first came."""
        with self._lock:
            return counted_lines(self._counts)


def call_isolated(action: Callable[[], R], failed: Callable[[Exception], R]) -> R:
    """The result of `action`, or what `failed` makes of any error of it. For threads, which would otherwise end without a report."""
    try:
        return action()
    except Exception as error:  # noqa: BLE001 - the one place where any error of a thread is caught
        return failed(error)


def run_thread(name: str, action: Callable[[], object], failed: Callable[[Exception], object]) -> threading.Thread:
    """Run `action` in a new daemon thread of this name, which is returned; an error of it goes to `failed`, in that thread."""
    thread = threading.Thread(target=call_isolated, args=(action, failed), name=name, daemon=True)
    thread.start()
    return thread


def one_line(error: BaseException) -> str:
    """The message of one of edgemem's own errors; of any other the type and the message."""
    return str(error) if isinstance(error, EdgememError) else f"{type(error).__name__}: {error}"


def counted_lines(counts: dict[str, int]) -> tuple[str, ...]:
    """Each line, with how often it came where that was more than once."""
    return tuple(f"{line} ({times} times)" if times > 1 else line for line, times in counts.items())
