"""The objects that a command, a daemon or a program uses: settings, plugins, recipes, cards, engines."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from edgemem import __version__, layers
from edgemem.config import EngineSettings, Settings, dump, home_dir, load
from edgemem.errors import UsageError
from edgemem.remember.disk import keys

if TYPE_CHECKING:
    from edgemem.answer.planner import AnswerKit
    from edgemem.extend.context import PluginContext
    from edgemem.extend.hookspecs import Component
    from edgemem.extend.plugins import Plugins
    from edgemem.extend.recipe import Recipe, Recipes
    from edgemem.extend.services import Service
    from edgemem.infer.card import EngineCard
    from edgemem.infer.engines import Around, Engines
    from edgemem.see.chains import Chain
    from edgemem.see.pipeline import PipelineParts

_KITS = 32
"""Most cached kits; a question may name any recipe file."""
_WRITING = ("board", "hardware", "budget", "governor", "store", "privacy", "retention", "run")
"""Settings that affect what is stored, but not the answers."""
_TRAVELS = ("recipe", "timezone", "home", "plugins_dirs")
"""Settings that are part of a request, or that are in the digest in resolved form."""
_VARIABLES = ("EDGEMEM_", "OPENAI_")
"""Prefixes of the environment variables that edgemem's plugins read."""
_RESOLVED = ("EDGEMEM_CONFIG", "EDGEMEM_HOME")
"""The values of these variables, and of those that set a key, are part of the settings and of `home`."""


class Environment:
    """Each object is made once, at its first use. Several threads may request recipes, kits and parts at the same time.

    A process has one key for its memories: that of the last environment (see `remember.disk.keys`).
    """

    def __init__(self, read: Callable[[], Settings] = Settings, plugins_dirs: Sequence[Path] = ()) -> None:
        """`read` returns the settings at their first use; `plugins_dirs` are folders of plugins in addition to those of the settings."""
        self._read = read
        self._plugins_dirs = tuple(plugins_dirs)
        self._lock = threading.RLock()
        self._known_recipes: dict[Path, tuple[tuple[int, int], Recipe]] = {}
        self._kits: dict[tuple[Path, str], tuple[Recipe, AnswerKit]] = {}
        keys.follow(lambda: self.settings.store)

    @classmethod
    def load(cls, config: Path | None = None, overrides: Iterable[str] = (), plugins_dirs: Sequence[Path] = ()) -> Environment:
        """From a settings file (None: `EDGEMEM_CONFIG`, else the defaults) and overrides such as "budget.disk=64MiB"."""
        return cls(lambda: load(config, tuple(overrides)), plugins_dirs)

    @cached_property
    def _loaded(self) -> Settings:
        return self._read()

    @cached_property
    def settings(self) -> Settings:
        """The settings, plugins' tables checked. Raises UsageError."""
        if self._loaded.tables or self._loaded.engines.runtimes:
            self.plugins.tables(self._loaded)
        return self._loaded

    def read_again(self) -> Settings:
        """The settings as their file says now, checked. Those in use stay. Raises UsageError."""
        read = self._read()
        if read.tables or read.engines.runtimes:
            self.plugins.tables(read)
        return read

    def use(self, settings: Settings) -> None:
        """Use these settings from now on. Objects that were made already keep theirs: change only what is read anew for each use."""
        with self._lock:
            self._loaded = self.settings = settings

    @cached_property
    def home(self) -> Path:
        """The directory for engines and other built data."""
        return home_dir(self.settings)

    @cached_property
    def plugins(self) -> Plugins:
        """All plugins. Raises PluginError if one is bad."""
        from edgemem.extend.plugins import Plugins

        named = [Path(folder).expanduser() for folder in self._loaded.plugins_dirs]
        return Plugins.load([*named, *self._plugins_dirs])

    @cached_property
    def recipes(self) -> Recipes:
        """All recipes of the plugins and of the configured folders."""
        from edgemem.extend.recipe import Recipes

        return Recipes(self.plugins, [Path(folder).expanduser() for folder in self.settings.recipes_dirs])

    @cached_property
    def cards(self) -> dict[str, EngineCard]:
        """Engine cards by name; later folders replace earlier ones."""
        from edgemem.infer.card import cards_dir, load_cards

        own = [Path(folder).expanduser() for folder in self.settings.engines.cards]
        return load_cards([cards_dir(), self.home / "cards", *own])

    @cached_property
    def engines(self) -> Engines:
        """Models by role, loaded when first used."""
        return self.make_engines(self.settings.engines)

    def make_engines(self, settings: EngineSettings, around: Around | None = None) -> Engines:
        """Models by role with other settings, and with something in the place of each loaded model. Whoever makes them closes them."""
        from edgemem.infer.engines import Engines

        runtimes, decoders = self.plugins.components("runtimes"), self.plugins.components("decoders")
        more = {} if around is None else {"around": around}
        return Engines(self.cards, runtimes, decoders, self.home, settings, models=self.settings.models, **more)

    @property
    def converters(self) -> dict[str, Component]:
        """Converters of fetched weights to ONNX, by name."""
        return dict(self.plugins.components("converters"))

    @cached_property
    def context(self) -> PluginContext:
        """The context for factories of components."""
        from edgemem.extend.assembly import make_context

        return make_context(self.plugins, self.settings, self.home, self.engines)

    @cached_property
    def digest(self) -> str:
        """Digest of the settings that affect answers: the agent of a memory answers only if it has the same digest."""
        return digest(self.settings, self.home, self._plugins_dirs)

    def recipe(self, name: str = "") -> Recipe:
        """The recipe with this name or file ("": that of the settings). A file is read again when its time or size changed. Raises
        UsageError.
        """
        with self._lock:
            return self._recipe(name)[1]

    def kit(self, recipe: str = "", planner: str = "") -> AnswerKit:
        """The kit of a recipe ("": that of the settings) and a planner ("": that of the recipe). Made once, and again when the recipe
        changed.

        Several threads may use one kit: the state of a planner is in the session. Raises UsageError.
        """
        from edgemem.extend.assembly import make_kit

        with self._lock:
            path, read = self._recipe(recipe)
            made = self._kits.get((path, planner))
            if made is None or made[0] is not read:
                made = self._kits[path, planner] = read, make_kit(self.recipes, read, self.context, planner or None)
                if len(self._kits) > _KITS:
                    del self._kits[next(iter(self._kits))]
            return made[1]

    def parts(self, recipe: Recipe) -> tuple[PipelineParts, list[str]]:
        """(parts of the pipeline, notes on missing engines). New ones for each call: they contain the state of their stream."""
        from edgemem.extend.assembly import make_parts

        with self._lock:
            return make_parts(self.recipes, recipe, self.context, self.plugins)

    def chains(self, recipe: Recipe) -> list[Chain]:
        """The recipe's segmenters with their writers, new ones for each call. Raises UsageError."""
        from edgemem.extend.assembly import make_chains

        with self._lock:
            return make_chains(self.recipes, recipe, self.context)

    def services(self) -> dict[str, Service]:
        """The services in `run.services`, by name. Raises UsageError for one that no plugin registers, or that is named twice."""
        made: dict[str, Service] = {}
        for part in self.settings.run.services:
            parameters = dict(part)
            name = parameters.pop("use", None)
            if not isinstance(name, str):
                raise UsageError('run.services: each service needs use = "NAME"')
            if name in made:
                raise UsageError(f'run.services: "{name}" is named twice')
            made[name] = self.plugins.make("services", name, parameters, self.context, "run.services")
        return made

    def _recipe(self, name: str) -> tuple[Path, Recipe]:
        path = self.recipes.path(name or self.settings.recipe).absolute()
        stamp = _stamp(path)
        known = self._known_recipes.get(path)
        if known is None or stamp is None or known[0] != stamp:
            read = self.recipes.read(name or self.settings.recipe)
            known = self._known_recipes[path] = stamp or (0, 0), read
        return path, known[1]


def _stamp(path: Path) -> tuple[int, int] | None:
    """Time and size of a file, which show changes; None if it cannot be read."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def digest(settings: Settings, home: Path, plugins_dirs: Iterable[Path] = (), variables: Mapping[str, str] | None = None) -> str:
    """Equal digests mean equal answers to a request. It covers settings that affect answers, resolved paths, and edgemem's version.

    `variables`: default = the environment variables of the process.
    """
    plain = {key: value for key, value in dump(settings).items() if key not in (*_WRITING, *_TRAVELS)}
    plain["engines"] = {key: value for key, value in plain["engines"].items() if key != "threads"}
    plain["recipes_dirs"] = [_absolute(folder) for folder in settings.recipes_dirs]
    variables = os.environ if variables is None else variables
    facts: dict[str, Any] = {
        "version": __version__,
        "home": _absolute(home),
        "plugins": [*map(_absolute, settings.plugins_dirs), *map(_absolute, plugins_dirs)],
        "settings": plain,
        "environment": {name: value for name, value in variables.items() if _affects(name)},
    }
    return hashlib.sha256(msgspec.json.encode(facts, order="deterministic")).hexdigest()


def _affects(variable: str) -> bool:
    """Whether answers may depend on an environment variable in a way that the settings do not show."""
    return variable.startswith(_VARIABLES) and not variable.startswith(layers.VARIABLE) and variable not in _RESOLVED


def _absolute(folder: str | Path) -> str:
    return str(Path(folder).expanduser().resolve())
