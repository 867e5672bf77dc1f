"""A recipe names one component per place with its parameters. `--recipe vam` runs the one called vam."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from edgemem.config import QuestionCaps, convert, read_toml
from edgemem.errors import UsageError, nearest
from edgemem.extend.context import PluginContext
from edgemem.extend.plugins import Plugins

Part = dict[str, Any]
"""`use` names a component, or a list of which the first installed one is taken; the other keys are its parameters.

With `optional = true` a component that no installed plugin has is left out instead of refused.
"""

_EMPTY: Part = {}


class ChainPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One notion of a segment, and what is written about each."""

    segment: Part
    write: list[Part] = []


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a stream is seen, what is kept and written, and how questions are answered."""

    name: str
    summary: str = ""
    rate_fps: float = 1.0
    """Frames per second that are looked at."""
    embed_text: bool = True
    """Embed passages of documents and what was said, so that they are found by meaning too."""
    source: dict[str, Part] = {}
    """Settings of sources by their name, such as `[source.camera]`."""
    gate: list[Part] = []
    select: Part = msgspec.field(default_factory=lambda: {"use": "keep_all"})
    perceive: list[Part] = []
    """What looks at kept moments; without any, frames are found by time and by what was said only."""
    segment: Part = msgspec.field(default_factory=lambda: {"use": "fixed_window"})
    write: list[Part] = []
    chain: list[ChainPart] = []
    """More notions of a segment beside `segment` and `write`, each with writers of its own."""
    hear: Part = msgspec.field(default_factory=lambda: dict(_EMPTY))
    """What turns the sound of a stream into utterances."""
    retain: Part = msgspec.field(default_factory=lambda: dict(_EMPTY))
    retrieve: list[Part] = []
    tools: list[Part] = []
    """What a planner may call beside the tools of the core."""
    plan: Part = msgspec.field(default_factory=lambda: {"use": "local"})
    check: list[Part] = []
    models: QuestionCaps = QuestionCaps()
    """What one question may spend on language models; the settings of the same name go before it."""


class Recipes:
    """Every recipe that can be found, read when asked for."""

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
        """The file of the recipe `name`, or the file that `name` is the path of. Raises UsageError naming the nearest valid name."""
        path = Path(name) if re.search(r"[/.]", name) else self.files.get(name)
        if path is None:
            raise UsageError(f'no recipe is called "{name}"{nearest(name, self.files)}; see: edgemem recipes')
        return path

    def read(self, name: str) -> Recipe:
        """The recipe `name`, or the file it is the path of. Raises UsageError naming file, key and the nearest valid one."""
        path = self.path(name)
        data = read_toml(path)
        data.setdefault("name", path.stem)
        recipe = convert(data, Recipe, f"recipe {path}")
        if recipe.rate_fps <= 0:
            raise UsageError(f"recipe {path}: rate_fps must be above 0")
        return recipe

    def make(self, recipe: Recipe, place: str, part: Part, context: PluginContext) -> Any:
        """The object of one place, or None where the part is empty or all its alternatives are optional and absent."""
        if not part:
            return None
        where = f'recipe "{recipe.name}"'
        use = part.get("use")
        names = [use] if isinstance(use, str) else use
        if not names or not all(isinstance(name, str) for name in names):
            raise UsageError(f'{where}: each {place[:-1]} needs use = "NAME"')
        chosen = next((name for name in names if self.plugins.has(place, name)), None)
        if chosen is None and part.get("optional") is True:
            return None
        chosen = chosen or names[0]
        own = part.get(chosen)
        parameters = {key: value for key, value in part.items() if key not in {"use", "optional", *names}}
        if isinstance(own, dict):
            parameters |= own
        return self.plugins.make(place, chosen, parameters, context, where)

    def make_all(self, recipe: Recipe, place: str, parts: Iterable[Part], context: PluginContext) -> list[Any]:
        """The objects of a place that takes several, in order, without those that are optional and absent."""
        return [made for part in parts if (made := self.make(recipe, place, part, context)) is not None]
