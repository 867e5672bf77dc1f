"""Chooses the runtime of a card: the first of `engines.runtime` that is installed and can load it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from edgemem.config import convert
from edgemem.errors import EngineError, UsageError, nearest
from edgemem.infer.card import EngineCard
from edgemem.infer.fetch import Progress
from edgemem.infer.roles import Engine
from edgemem.infer.runtime import Factory, Runtime, RuntimeContext
from edgemem.records import Record

_log = logging.getLogger(__name__)


class BuildResult(Record, frozen=True):
    """Result of building one model of a card with one runtime."""

    card: str
    model: str
    runtime: str
    seconds: float
    problem: str = ""
    """Why it failed; empty = it is built, or needs no build."""


class RuntimeOrder:
    """Loads each model with the first runtime that can, and records which one that was and why earlier ones could not. Thread-safe."""

    def __init__(
        self, registered: Mapping[str, Factory], order: Sequence[str], settings: Mapping[str, Mapping[str, Any]], context: RuntimeContext
    ) -> None:
        """Raises UsageError for settings of a runtime that is not installed, and for an unknown key."""
        self._registered = registered
        self._order = tuple(order)
        self._settings = runtime_settings(registered, settings)
        self._context = context
        self._made: dict[str, Runtime | EngineError] = {}
        self._served: dict[str, dict[str, str]] = {}
        self._passed: dict[str, dict[str, str]] = {}
        self._lock = threading.RLock()

    def problem(self, card: EngineCard) -> str:
        """Why no runtime can load the card's models, and what to do; empty if one may be able to."""
        problems = dict(self._try_each(card))
        if "" in problems.values():
            return ""
        if not any(name in self._registered for name in self._order):
            wanted = ", ".join(self._order)
            return f"{card.name}: no runtime of engines.runtime ({wanted}) is installed; run: pip install edgemem-{self._order[0]}"
        reasons = [f"{name}: {why}" for name, why in problems.items()]
        others = [name for name in self._registered if name not in self._order and self._takes(name, card)]
        if others:
            reasons.append(f'{others[0]} does: add it to engines.runtime, as in --set engines.runtime=["{self._order[0]}","{others[0]}"]')
        return f"{card.name}: no runtime can load it: {'; '.join(reasons)}"

    def _takes(self, name: str, card: EngineCard) -> bool:
        try:
            return card.format in self._runtime(name).formats
        except EngineError:
            return False

    def first(self, card: EngineCard) -> str:
        """The runtime that is tried first; empty if there is none."""
        return next((name for name, problem in self._try_each(card) if not problem), "")

    def load(self, card: EngineCard, model: str, path: Path) -> Engine:
        """Load a model with the first runtime that can. If none can, raises EngineError with the reason of every runtime."""
        passed: dict[str, str] = {}
        for name, problem in self._try_each(card):
            if problem:
                passed[name] = problem
                continue
            try:
                engine = self._runtime(name).load(card, model, path)
            except EngineError as error:
                passed[name] = str(error)
                continue
            self._note(card, model, name, {other: why for other, why in passed.items() if why != _foreign(card)})
            return engine
        if len(passed) == 1:
            raise EngineError(next(iter(passed.values())))
        raise EngineError(f"{card.name}: no runtime can load it: {'; '.join(f'{name}: {why}' for name, why in passed.items())}")

    def load_on(self, name: str, card: EngineCard, model: str, path: Path) -> Engine:
        """Load a model with this runtime and no other, in the order or not. Raises EngineError if it cannot.

        It is meant for comparing runtimes, so `served` and `notes` do not show it.
        """
        runtime = self._runtime(name)
        if card.format not in runtime.formats:
            raise EngineError(f'{name} does not load models of the format "{card.format}"')
        return runtime.load(card, model, path)

    def runtime(self, name: str) -> Runtime:
        """A runtime by name, in the order or not. Raises EngineError if it is not installed or does not work on this machine."""
        return self._runtime(name)

    def build(
        self, card: EngineCard, files: Mapping[str, Path], progress: Progress, order: Sequence[str] | None = None
    ) -> list[BuildResult]:
        """Let every runtime of the order (or of another one) that supports the card's models build what it needs.

        A failure is in the result, not raised.
        """
        return [
            self._build_one(card, model, files.get(described.file, Path()), name, problem, progress)
            for name, problem in self._try_each(card, order)
            for model, described in card.models.items()
        ]

    def served(self) -> dict[str, str]:
        """By card with a loaded model: the runtime in use; "a + b" if its models have different ones."""
        with self._lock:
            return {card: " + ".join(sorted(set(names.values()))) for card, names in sorted(self._served.items())}

    def notes(self) -> tuple[str, ...]:
        """One line for every card with a model that was not loaded by the first runtime of the order: which one was used, and why."""
        with self._lock:
            return tuple(
                f"{card} runs on {self.served()[card]}: {'; '.join(f'{name}: {why}' for name, why in passed.items())}"
                for card, passed in sorted(self._passed.items())
            )

    def describe(self) -> list[tuple[str, str, str]]:
        """(runtime, its library and hardware, why it cannot be used) for every runtime that is installed or in the settings, in order."""
        names = dict.fromkeys((*self._order, *self._registered))
        return [(name, *self._described(name)) for name in names]

    def _described(self, name: str) -> tuple[str, str]:
        try:
            return self._runtime(name).describe(), ""
        except EngineError as error:
            return "", str(error)

    def _build_one(self, card: EngineCard, model: str, path: Path, name: str, problem: str, progress: Progress) -> BuildResult:
        started = time.monotonic()
        if not problem:
            try:
                self._runtime(name).build(card, model, path, progress)
            except EngineError as error:
                problem = str(error)
        return BuildResult(card=card.name, model=model, runtime=name, seconds=time.monotonic() - started, problem=problem)

    def _try_each(self, card: EngineCard, order: Sequence[str] | None = None) -> Iterator[tuple[str, str]]:
        """(runtime of the order, why it cannot load the card; empty if it may be able to)."""
        for name in self._order if order is None else order:
            try:
                runtime = self._runtime(name)
            except EngineError as error:
                yield name, str(error)
                continue
            takes = card.format in runtime.formats
            yield name, "" if takes else _foreign(card)

    def _runtime(self, name: str) -> Runtime:
        """Raises EngineError if it is not installed or does not work on this machine; the latter is checked once."""
        with self._lock:
            if name not in self._made:
                self._made[name] = self._make(name)
            made = self._made[name]
        if isinstance(made, EngineError):
            raise EngineError(str(made))
        return made

    def _make(self, name: str) -> Runtime | EngineError:
        if name not in self._registered:
            hint = nearest(name, self._registered)
            return EngineError(f"it is not installed{hint}; run: pip install edgemem-{name}")
        try:
            runtime: Runtime = self._registered[name].factory(self._settings[name], self._context)
        except (EngineError, ImportError) as error:
            return EngineError(str(error))
        return runtime

    def _note(self, card: EngineCard, model: str, name: str, passed: dict[str, str]) -> None:
        with self._lock:
            self._served.setdefault(card.name, {})[model] = name
            if passed:
                self._passed.setdefault(card.name, {}).update(passed)
        for other, why in passed.items():
            _log.warning("%s is loaded by %s, not by %s: %s", card.name, name, other, why)


def _foreign(card: EngineCard) -> str:
    """Of a runtime for other models. It is no fallback when such a one is passed over."""
    return f'does not load models of the format "{card.format}"'


def runtime_settings(registered: Mapping[str, Factory], tables: Mapping[str, Mapping[str, Any]]) -> dict[str, msgspec.Struct]:
    """The settings of every runtime: `[engines.runtimes.<name>]`, checked, else its defaults.

    Raises UsageError, which names the nearest runtime or key, if a table or a key in it is unknown.
    """
    for name in tables:
        if name not in registered:
            raise UsageError(f'settings: engines.runtimes: no runtime is called "{name}"{nearest(name, registered)}')
    return {
        name: convert(dict(tables.get(name, {})), component.settings, f"settings: engines.runtimes.{name}")
        for name, component in registered.items()
    }
