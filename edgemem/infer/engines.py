"""Makes objects for roles from engine cards: a runtime loads the models of a card, and its decoder turns their arrays into records."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgemem.config import EngineSettings, ModelSettings, convert
from edgemem.errors import EngineError, UsageError, nearest
from edgemem.infer.card import EngineCard
from edgemem.infer.fetch import installed
from edgemem.infer.roles import Engine
from edgemem.infer.runtime import Factory, RuntimeContext
from edgemem.infer.runtime_order import BuildResult, RuntimeOrder

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Self

    from edgemem.infer.fetch import Progress
    from edgemem.infer.roles import Arrays

Around = Callable[[EngineCard, str, Engine], Engine]
"""`around(card, model, engine)`: what is used in the place of a model that was just loaded."""
MAX_THREADS = 4
"""More threads make small models slower: the work per layer takes only a millisecond."""


@dataclass(frozen=True)
class DecoderParts:
    """Input of the factory of a decoder, together with its settings."""

    card: EngineCard
    files: Mapping[str, Path]
    engines: Mapping[str, Engine]
    """The loaded `models` of the card."""
    uses: Mapping[str, Any]
    """The objects that the card needs, by role. Those that it only `may_use` are missing if they are not available."""
    cache_dir: Path
    """For data that is computed once, such as label vectors. Created at first use; safe to delete."""


class _LazyEngine:
    """A model that is loaded at its first use. A question often needs only the labels of a classifier, not its weights."""

    def __init__(self, name: str, load: Callable[[], Engine]) -> None:
        self._name = name
        self._load = load
        self._engine: Engine | None = None
        self._closed = False
        self._users = 0
        self._unloaded: list[Engine] = []
        """Models that were unloaded while they were used."""
        self._lock = threading.RLock()

    @property
    def name(self) -> str:
        """Name of the card."""
        return self._name

    @property
    def metadata(self) -> Mapping[str, str]:
        return self.loaded().metadata

    def infer(self, arrays: Arrays) -> dict[str, npt.NDArray[np.generic]]:
        with self._using() as engine:
            return engine.infer(arrays)

    def loaded(self) -> Engine:
        """The model itself. Raises EngineError when it cannot be loaded."""
        with self._lock:
            if self._engine is None:
                if self._closed:
                    raise EngineError(f"{self._name} was closed")
                self._engine = self._load()
            return self._engine

    def unload(self) -> None:
        """Free the model as soon as nobody uses it. It is loaded again at its next use."""
        with self._lock:
            engine, self._engine = self._engine, None
            if engine is not None and self._users:
                self._unloaded.append(engine)
            elif engine is not None:
                engine.close()

    @contextmanager
    def _using(self) -> Iterator[Engine]:
        """The model, which is not freed within the block."""
        with self._lock:
            engine = self.loaded()
            self._users += 1
        try:
            yield engine
        finally:
            with self._lock:
                self._users -= 1
                while not self._users and self._unloaded:
                    self._unloaded.pop().close()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._engine is not None:
                self._engine.close()


class Engines:
    """Objects by role, made at the first request. Thread-safe; a model is loaded once, even if several roles use it."""

    def __init__(
        self,
        cards: Mapping[str, EngineCard],
        runtimes: Mapping[str, Factory],
        decoders: Mapping[str, Factory],
        home: Path,
        settings: EngineSettings | None = None,
        *,
        models: ModelSettings | None = None,
        around: Around = lambda _card, _model, engine: engine,
    ) -> None:
        """`models`: what may leave this device, for runtimes that send data."""
        self.cards = cards
        self.home = home
        self.settings = settings or EngineSettings()
        self._decoders = decoders
        self._around = around
        self.runtimes = RuntimeOrder(
            runtimes, self.settings.runtime, self.settings.runtimes, RuntimeContext(home, self.threads, models or ModelSettings())
        )
        self._objects: dict[str, Any] = {}
        self._engines: list[_LazyEngine] = []
        self._lock = threading.RLock()
        self._preferred: Mapping[str, str] = {}
        self.check_names(self.settings.roles, "engines.roles")

    @property
    def threads(self) -> int:
        """Threads per model."""
        return self.settings.threads or min(os.cpu_count() or 1, MAX_THREADS)

    def has(self, role: str) -> bool:
        """Whether `role` is available without fetching anything."""
        return not self.missing(role)

    def card(self, role: str) -> EngineCard:
        """The card for `role`. Raises EngineError if none is ready; the message says what to do."""
        problem = self.missing(role)
        if problem:
            raise EngineError(problem)
        return self._chosen(role)

    def missing(self, role: str) -> str:
        """One line on why `role` is not available and what to do; empty if it is available. Of several cards, it names one that needs no
        hub.
        """
        candidates = self._candidates(role)
        if not candidates:
            known = {card.role for card in self.cards.values()}
            return f'no engine card has the role "{role}"{nearest(role, known)}'
        candidates.sort(key=lambda card: any(source.kind == "hub" for source in card.source))
        problems = [self._problem(card, ()) for card in candidates]
        return "" if "" in problems else problems[0]

    def role(self, role: str, *, now: bool = False) -> Any:
        """The object for `role`. Raises EngineError if it is not available; the message says what to do.

        A model is loaded at its first use. `now` loads all models of the returned objects at once, so that a damaged file is found before
        work begins.
        """
        card = self.card(role)
        with self._lock:
            found = self._object(card)
            for engine in self._engines if now else ():
                engine.loaded()
            return found

    def ready(self, role: str) -> list[str]:
        """Every card that is available for `role`, the preferred first. If the settings name a card, only that one."""
        return [card.name for card in self._candidates(role) if not self._problem(card, ())]

    def check_names(self, roles: Mapping[str, str], where: str) -> None:
        """Raise UsageError for a card, by role, that does not exist or has another role; `where` is the setting."""
        for role, name in roles.items():
            if problem := _misnamed(self.cards, role, name):
                raise UsageError(f"{where}.{role}: {problem}")

    def prefer(self, roles: Mapping[str, str]) -> tuple[str, ...]:
        """From now on use these cards, by role, before those of the settings and in place of those of earlier calls. `check_names` refuses
        wrong ones.

        The models of replaced cards are freed. Objects that were returned before stay as they are. Returns one line for each card that
        cannot be used; it is left out.
        """
        with self._lock:
            before = {role: self._chosen(role).name for role in {*roles, *self._preferred} if self.has(role)}
            problems = {role: self._problem(self.cards[name], ()) for role, name in roles.items()}
            self._preferred = {role: name for role, name in roles.items() if not problems[role]}
            after = {self._chosen(role).name for role in before}
            for engine in self._engines:
                if engine.name in set(before.values()) - after:
                    engine.unload()
            return tuple(problem for problem in problems.values() if problem)

    @property
    def stepped_down(self) -> tuple[str, ...]:
        """One line for every role that a card of `prefer` serves."""
        return tuple(f"{role} is served by {name} for now: the governor has stepped it down" for role, name in self._preferred.items())

    def of_card(self, name: str) -> Any:
        """The object of one card, as `ready` names it."""
        with self._lock:
            return self._object(self.cards[name])

    def served(self) -> dict[str, str]:
        """The runtime that serves each card whose models are loaded, by card."""
        return self.runtimes.served()

    def build(self, card: EngineCard, progress: Progress, runtimes: Sequence[str] | None = None) -> list[BuildResult]:
        """Let the runtimes (of the settings, or those named) build what they need from a fetched card, such as plans for this device.

        Raises EngineError if the card is not fetched. If a runtime cannot build a model, its result says why.
        """
        files = installed(card, self.home)
        if files is None:
            raise EngineError(f"{card.name} is not fetched; run: edgemem engines fetch {card.name}")
        return self.runtimes.build(card, files, progress, runtimes)

    def close(self) -> None:
        """Free every model. Returned objects must not be used afterwards."""
        with self._lock:
            for engine in self._engines:
                engine.close()
            self._engines.clear()
            self._objects.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _candidates(self, role: str) -> list[EngineCard]:
        """Cards for a role, the preferred first. If the settings name a card, only that one."""
        named = self._preferred.get(role) or self.settings.roles.get(role)
        if named:
            return [self.cards[named]]
        return sorted((card for card in self.cards.values() if card.role == role), key=self._rank)

    def _rank(self, card: EngineCard) -> tuple[int, int, str]:
        """The lowest is preferred: first by `engines.precision`, in its order, then by priority."""
        wanted = self.settings.precision
        return (wanted.index(card.precision) if card.precision in wanted else len(wanted), -card.priority, card.name)

    def _chosen(self, role: str) -> EngineCard:
        return next(card for card in self._candidates(role) if not self._problem(card, ()))

    def _problem(self, card: EngineCard, above: tuple[str, ...]) -> str:
        """Why a card cannot be loaded; "" if it can."""
        if card.name in above:
            return f"{card.origin}: uses contains a cycle: {' -> '.join((*above, card.name))}"
        if card.decoder not in self._decoders:
            return f'{card.name}: no decoder is called "{card.decoder}"{nearest(card.decoder, self._decoders)}; is its plugin installed?'
        if card.models and (problem := self.runtimes.problem(card)):
            return problem
        if installed(card, self.home) is None:
            return f"{card.name} is not fetched; run: edgemem engines fetch {card.name}"
        for role, name in card.uses.items():
            problem = self._part_problem(card, role, name, above)
            if problem:
                return f"{card.name} needs {role}: {problem}"
        return ""

    def _part_problem(self, card: EngineCard, role: str, name: str, above: tuple[str, ...]) -> str:
        parts = [self.cards[name]] if name else [part for part in self._candidates(role) if part.name != card.name]
        problems = [self._problem(part, (*above, card.name)) for part in parts] or ["no card has that role"]
        return "" if "" in problems else problems[0]

    def notes(self, role: str) -> tuple[str, ...]:
        """The optional parts that `role` lacks: one line each, with what to do."""
        if not self.has(role):
            return ()
        card = self._chosen(role)
        lacks = ((wanted, self._part_problem(card, wanted, name, ())) for wanted, name in card.may_use.items())
        return tuple(f"{card.name} works without {wanted}: {problem}" for wanted, problem in lacks if problem)

    def _object(self, card: EngineCard) -> Any:
        if card.name not in self._objects:
            self._objects[card.name] = self._make(card)
        return self._objects[card.name]

    def _make(self, card: EngineCard) -> Any:
        wanted = {**card.uses, **{role: name for role, name in card.may_use.items() if not self._part_problem(card, role, name, ())}}
        uses = {role: self._object(self.cards[name]) if name else self.role(role) for role, name in wanted.items()}
        files = installed(card, self.home)
        assert files is not None
        decoder = self._decoders[card.decoder]
        settings = convert(card.parameters, decoder.settings, f"{card.origin}: parameters")
        engines = {name: self._load(card, name, files.get(model.file, Path())) for name, model in card.models.items()}
        return decoder.factory(settings, DecoderParts(card, files, engines, uses, self.home / "cache" / card.name))

    def _load(self, card: EngineCard, model: str, path: Path) -> Engine:
        engine = _LazyEngine(card.name, lambda: self._around(card, model, self.runtimes.load(card, model, path)))
        self._engines.append(engine)
        return engine


def _misnamed(cards: Mapping[str, EngineCard], role: str, name: str) -> str:
    """Why a card cannot be the one of a role, by its name alone; "" if it can."""
    if name not in cards:
        return f'no card is called "{name}"{nearest(name, cards)}'
    return "" if cards[name].role == role else f'card "{name}" has the role "{cards[name].role}"'
