"""Every plugin object is called through a guard: it measures time, counts failures, and switches the component off after repeated failures
(circuit breaker).

This is the only place where all errors of a plugin are caught.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from edgemem.errors import EdgememError, PluginError, PluginFailure

MAX_CONSECUTIVE_FAILURES = 5
"""After this number of failures in a row a component is switched off until the next start, so that a broken one does not slow seeing
down."""


class GuardStats(msgspec.Struct):
    """Calls, time and failures of a component so far."""

    calls: int = 0
    failures: int = 0
    seconds: float = 0.0
    last_failure: str = ""


class Guard:
    """Counters of one component; `guarded` wraps its objects."""

    def __init__(self, plugin: str, component: str) -> None:
        self.plugin = plugin
        self.component = component
        self.stats = GuardStats()
        self._in_a_row = 0

    @property
    def open(self) -> bool:
        """Whether the circuit breaker is open: calls are refused at once."""
        return self._in_a_row >= MAX_CONSECUTIVE_FAILURES

    def call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call `function`. Raises PluginFailure for any other error; edgemem's own errors are passed on."""
        if self.open:
            raise PluginFailure(f"{self.component} of plugin {self.plugin} is switched off after {self._in_a_row} failures in a row")
        started = time.perf_counter()
        try:
            result = function(*args, **kwargs)
        except EdgememError:
            raise
        except Exception as error:
            self._failed(error)
            raise PluginFailure(f"{self.component} of plugin {self.plugin} failed: {type(error).__name__}: {error}") from error
        finally:
            self.stats.calls += 1
            self.stats.seconds += time.perf_counter() - started
        self._in_a_row = 0
        return result

    def _failed(self, error: Exception) -> None:
        self._in_a_row += 1
        self.stats.failures += 1
        self.stats.last_failure = f"{type(error).__name__}: {error}"[:200]


class _Guarded:
    """A wrapper of a plugin's object that calls its public methods through the guard. Generators are returned unchanged."""

    def __init__(self, target: Any, guard: Guard) -> None:
        self.__dict__["_target"] = target
        self.__dict__["_guard"] = guard

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if name.startswith("_") or not inspect.ismethod(value) or inspect.isgeneratorfunction(value):
            return value
        call = self._guard.call

        def guarded_method(*args: Any, **kwargs: Any) -> Any:
            return call(value, *args, **kwargs)

        self.__dict__[name] = guarded_method  # looked up once, later found without __getattr__
        return guarded_method

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._target, name, value)


@contextmanager
def importing(plugin: str, advice: str = "") -> Iterator[None]:
    """Converts every error during the import of a plugin's module to a PluginError that names the plugin."""
    try:
        yield
    except Exception as error:
        raise PluginError(f"{plugin} cannot be imported: {type(error).__name__}: {error}{advice}") from error


def guarded(target: Any, guard: Guard) -> Any:
    """`target` with its methods called through `guard`. Attributes are those of `target`."""
    return _Guarded(target, guard)
