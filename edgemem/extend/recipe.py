"""A recipe names one component per place with its parameters. `--recipe vam` runs the one called vam."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from edgemem.characters import is_storable
from edgemem.config import QuestionCaps, convert
from edgemem.errors import UsageError, nearest
from edgemem.extend.context import PluginContext
from edgemem.extend.plugins import Plugins
from edgemem.toml import read_toml

RecipePart = dict[str, Any]
"""`use` names a component, or a list from which the first installed one is used; the other keys are its parameters.

With `optional = true` a component that is not installed is left out instead of refused.
"""

_EMPTY: RecipePart = {}
SLOWEST_FPS, FASTEST_FPS = 0.0001, 1000


class ChainPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A segmenter, and the writers for its segments."""

    segment: RecipePart
    write: list[RecipePart] = []


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The components that see a stream, keep moments, write texts and answer questions."""

    name: str
    summary: str = ""
    rate_fps: float = 1.0
    """Frames per second that are processed."""
    embed_text: bool = True
    """Whether to embed passages of documents and utterances, so that they are found by meaning too."""
    source: dict[str, RecipePart] = {}
    """Settings of sources by their name, such as `[source.camera]`."""
    gate: list[RecipePart] = []
    select: RecipePart = msgspec.field(default_factory=lambda: {"use": "keep_all"})
    perceive: list[RecipePart] = []
    """Perceivers of kept moments; without any, frames are found only by time and by speech."""
    segment: RecipePart = msgspec.field(default_factory=lambda: {"use": "fixed_window"})
    write: list[RecipePart] = []
    chain: list[ChainPart] = []
    """Further segmenters in addition to `segment` and `write`, each with its own writers."""
    hear: RecipePart = msgspec.field(default_factory=lambda: dict(_EMPTY))
    """The speech recogniser."""
    retain: RecipePart = msgspec.field(default_factory=lambda: dict(_EMPTY))
    retrieve: list[RecipePart] = []
    tools: list[RecipePart] = []
    """Tools for the planner in addition to those of the core."""
    plan: RecipePart = msgspec.field(default_factory=lambda: {"use": "local"})
    check: list[RecipePart] = []
    models: QuestionCaps = QuestionCaps()
    """What one question may spend on language models; the settings of the same name go before it."""


class Recipes:
    """All recipes that can be found; each is read when requested."""

    def __init__(self, plugins: Plugins, directories: Iterable[Path] = ()) -> None:
        self.plugins = plugins
        self.files: dict[str, Path] = {}
        folders = [Path(str(import_module(package).__path__[0])) for package in plugins.recipe_packages()]
        for folder in [*folders, *directories]:
            if not folder.is_dir():
                raise UsageError(f"recipes directory {folder}: no such directory")
            self.files.update({path.stem: path for path in sorted(folder.glob("*.toml"))})

    def names(self) -> list[str]:
        """Names in alphabetical order."""
        return sorted(self.files)

    def path(self, name: str) -> Path:
        """The file of the recipe `name`, or the file with the path `name`. Raises UsageError, which names the nearest valid name."""
        path = Path(name) if re.search(r"[/.]", name) else self.files.get(name)
        if path is None:
            raise UsageError(f'no recipe is called "{name}"{nearest(name, self.files)}; see: edgemem recipes')
        return path

    def read(self, name: str) -> Recipe:
        """The recipe `name`, or the one in the file `name`. Raises UsageError, which names file, key and the nearest valid one."""
        path = self.path(name)
        data = read_toml(path)
        data.setdefault("name", path.stem)
        recipe = convert(data, Recipe, f"recipe {path}")
        if not SLOWEST_FPS <= recipe.rate_fps <= FASTEST_FPS:
            raise UsageError(f"recipe {path}: rate_fps must be above 0: from {SLOWEST_FPS} (a frame in three hours) to {FASTEST_FPS}")
        if not is_storable(recipe.name):
            raise UsageError(f"recipe {path}: its name is not UTF-8")
        return recipe

    def check(self, recipe: Recipe) -> None:
        """Refuse what no installed plugin has and parameters that it does not take, without making anything. Raises UsageError."""
        for place, part in _parts_of(recipe):
            chosen = self._chosen(recipe, place, part)
            if chosen is not None:
                self.plugins.settings_for(place, *chosen, f'recipe "{recipe.name}"')
        for name, parameters in recipe.source.items():
            self.plugins.settings_for("sources", name, parameters, f'recipe "{recipe.name}"')

    def make(self, recipe: Recipe, place: str, part: RecipePart, context: PluginContext) -> Any:
        """The object of one place, or None where the part is empty or all its alternatives are optional and absent."""
        chosen = self._chosen(recipe, place, part)
        return None if chosen is None else self.plugins.make(place, *chosen, context, f'recipe "{recipe.name}"')

    def _chosen(self, recipe: Recipe, place: str, part: RecipePart) -> tuple[str, RecipePart] | None:
        """The component that a part names, and its parameters; None where nothing is to be made."""
        if not part:
            return None
        where = f'recipe "{recipe.name}"'
        use = part.get("use")
        names = [use] if isinstance(use, str) else use
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            raise UsageError(f'{where}: each {place[:-1]} needs use = "NAME"')
        chosen = next((name for name in names if self.plugins.has(place, name)), None)
        if chosen is None and part.get("optional") is True:
            return None
        chosen = chosen or names[0]
        own = part.get(chosen)
        parameters = {key: value for key, value in part.items() if key not in {"use", "optional", *names}}
        if isinstance(own, dict):
            parameters |= own
        return chosen, parameters

    def make_all(self, recipe: Recipe, place: str, parts: Iterable[RecipePart], context: PluginContext) -> list[Any]:
        """The objects of a place with several parts, in order, without optional ones that are not installed."""
        return [made for part in parts if (made := self.make(recipe, place, part, context)) is not None]


def _parts_of(recipe: Recipe) -> Iterator[tuple[str, RecipePart]]:
    """Every part of a recipe with its place."""
    single = {
        "selectors": recipe.select, "segmenters": recipe.segment, "ears": recipe.hear, "retainers": recipe.retain, "planners": recipe.plan,
    }  # fmt: skip
    several = {
        "gates": recipe.gate, "perceivers": recipe.perceive, "writers": recipe.write, "retrievers": recipe.retrieve, "tools": recipe.tools,
        "checks": recipe.check,
    }  # fmt: skip
    yield from single.items()
    for place, parts in several.items():
        yield from ((place, part) for part in parts)
    for chain in recipe.chain:
        yield "segmenters", chain.segment
        yield from (("writers", part) for part in chain.write)
