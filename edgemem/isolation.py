"""Fault isolation: if a component or thread fails, its result is missing, the failure is counted and reported, and the run continues.

This file and `extend/guard.py` are the only places that catch every kind of exception.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from edgemem.errors import BudgetError, EdgememError, MemoryDirError

R = TypeVar("R")


class FaultIsolation:
    """Runs components; failures become notes in the report of a run. May be used from several threads."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._told = 0
        self._lock = threading.Lock()

    def attempt(self, what: str, otherwise: Any, action: Callable[..., Any], *args: Any) -> Any:
        """The result of `action`, or `otherwise` if it raises an error, which is noted under the name `what`.

        A MemoryDirError is raised again, because a run cannot continue if the memory cannot be written. A BudgetError is noted like any
        other failure.
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
        """Note one line for a person; equal lines are counted."""
        with self._lock:
            self._counts[line] = self._counts.get(line, 0) + 1

    def take_new(self) -> tuple[str, ...]:
        """Notes that came for the first time since the last call."""
        with self._lock:
            new = tuple(self._counts)[self._told :]
            self._told += len(new)
            return new

    @property
    def lines(self) -> tuple[str, ...]:
        """All notes, in the order of their first occurrence."""
        with self._lock:
            return counted_lines(self._counts)


def call_isolated(action: Callable[[], R], failed: Callable[[Exception], R]) -> R:
    """The result of `action`; after any error, the result of `failed`. For threads, which would otherwise end without a report."""
    try:
        return action()
    except Exception as error:  # noqa: BLE001 - the one place where any error of a thread is caught
        return failed(error)


def run_thread(name: str, action: Callable[[], object], failed: Callable[[Exception], object]) -> threading.Thread:
    """Run `action` in a new daemon thread with this name and return the thread; `failed` is called in it with an error."""
    thread = threading.Thread(target=call_isolated, args=(action, failed), name=name, daemon=True)
    thread.start()
    return thread


def one_line(error: BaseException) -> str:
    """The message of one of edgemem's own errors; of any other the type and the message."""
    return str(error) if isinstance(error, EdgememError) else f"{type(error).__name__}: {error}"


def counted_lines(counts: dict[str, int]) -> tuple[str, ...]:
    """Each line, with its count if that is more than one."""
    return tuple(f"{line} ({times} times)" if times > 1 else line for line, times in counts.items())
