"""Seeing goes on whatever a model or a plugin does: what fails costs its part, is counted and said."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from edgemem.errors import BudgetError, EdgememError, MemoryDirError


class FaultIsolation:
    """Runs components so that their failures become notes."""

    def __init__(self) -> None:
        self._notes: dict[str, int] = {}

    def attempt(self, what: str, otherwise: Any, action: Callable[..., Any], *args: Any) -> Any:
        """The result of a component, or `otherwise` where it fails, which the notes tell. Only an unwritable memory ends the run.

        What is too much for the budget at once costs its part as well: where no room is left at all, the next transaction ends the run.
        """
        try:
            return action(*args)
        except BudgetError as error:
            self.failed(what, error)
            return otherwise
        except MemoryDirError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it was, the next frame comes
            self.failed(what, error)
            return otherwise

    def failed(self, what: str, error: BaseException) -> None:
        """Note a failure that happened elsewhere, such as in another thread."""
        line = str(error) if isinstance(error, EdgememError) else f"{type(error).__name__}: {error}"
        self.note(f"{what}: {line}")

    def note(self, line: str) -> None:
        """One line for a person; the same line again is counted."""
        self._notes[line] = self._notes.get(line, 0) + 1

    @property
    def lines(self) -> tuple[str, ...]:
        """All notes in the order in which they first came."""
        return tuple(f"{line} ({times} times)" if times > 1 else line for line, times in self._notes.items())


R = TypeVar("R")


def call_isolated(action: Callable[[], R], failed: Callable[[Exception], R]) -> R:
    """The result of `action`, or what `failed` makes of any error of it. For threads, which would otherwise die without a word."""
    try:
        return action()
    except Exception as error:  # noqa: BLE001 - the one place where any error of a thread is caught
        return failed(error)


def run_thread(name: str, action: Callable[[], object], failed: Callable[[Exception], object]) -> threading.Thread:
    """Run `action` in a new daemon thread of this name, which is returned; an error of it goes to `failed`, in that thread."""
    thread = threading.Thread(target=call_isolated, args=(action, failed), name=name, daemon=True)
    thread.start()
    return thread
