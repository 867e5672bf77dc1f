"""Finds plugins, refuses bad ones at the start, and makes the objects that a recipe names."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import pluggy

from edgemem.config import Settings, convert
from edgemem.errors import EdgememError, PluginError, UsageError, nearest
from edgemem.extend.guard import Guard, guarded, importing
from edgemem.extend.hookspecs import Component, HookSpecs, SettingsTable

if TYPE_CHECKING:
    import click


T = TypeVar("T")

GROUP = "edgemem"
"""The entry point group of installed plugins."""

PLACES = tuple(sorted(name.removeprefix("register_") for name in vars(HookSpecs) if name.startswith("register_")))
"""The kinds of components that hooks register, in the plural: gates, selectors ..."""

_COMPONENT_PLACES = tuple(place for place in PLACES if place not in {"commands", "recipes", "settings", "tasks"})


@dataclass
class Loaded:
    """One plugin that was accepted."""

    name: str
    module: Any
    version: str
    origin: str
    hooks: list[str] = field(default_factory=list)


class Plugins:
    """All accepted plugins and their components. Create it with `load`."""

    def __init__(self) -> None:
        self._manager = pluggy.PluginManager(GROUP)
        self._manager.add_hookspecs(HookSpecs)
        self.loaded: list[Loaded] = []
        self._observers: dict[tuple[str, str], Guard] = {}
        self._collected: dict[str, dict[str, tuple[Component, str]]] = {}
        self._guards: dict[tuple[str, str], Guard] = {}

    @classmethod
    def load(cls, directories: Iterable[Path] = (), *, installed: bool = True) -> Plugins:
        """Load the built-ins, installed plugins, and those in `directories` (a `.py` file or a package each).

        Raises PluginError, which names the plugin, the hook or key, and the nearest valid one.
        """
        from edgemem.extend import builtin

        plugins = cls()
        plugins._add("builtin", builtin, "", "built in")
        for entry in sorted(entry_points(group=GROUP), key=lambda e: e.name) if installed else ():
            version = entry.dist.version if entry.dist else ""
            with importing(f'plugin "{entry.name}"', "; uninstall or repair it"):
                module = entry.load()
            plugins._add(entry.name, module, version, entry.dist.name if entry.dist else entry.value)
        for directory in directories:
            for name, path in _modules_in(directory):
                plugins._add(name, import_file(name, path), "", str(path))
        return plugins

    @classmethod
    def of(cls, module: ModuleType) -> Plugins:
        """The built-ins and one plugin, for its tests. The built-ins' own module may be given too."""
        from edgemem.extend import builtin

        plugins = cls()
        plugins._add("builtin", builtin, "", "built in")
        if module is not builtin:
            plugins._add(module.__name__.removeprefix("edgemem_"), module, "", "under test")
        return plugins

    @classmethod
    def builtin(cls) -> Plugins:
        """Only the built-ins."""
        from edgemem.extend import builtin

        return cls.of(builtin)

    def own(self, place: str) -> list[str]:
        """Names that the plugin loaded last registered for `place`."""
        return [name for name, (_, plugin) in self._of(place).items() if plugin == self.loaded[-1].name]

    def _add(self, name: str, module: Any, version: str, origin: str) -> None:
        if any(other.name == name for other in self.loaded):
            raise PluginError(f'plugin "{name}" ({origin}) has the name of a plugin that is loaded already; rename it')
        _refuse_unmarked_hooks(name, module)
        self._manager.register(module, name)
        self._refuse_unknown_hooks(name, module)
        hooks = [caller.name for caller in self._manager.get_hookcallers(module) or ()]
        self.loaded.append(Loaded(name, module, version, origin, sorted(hooks)))

    def _refuse_unknown_hooks(self, name: str, module: Any) -> None:
        try:
            self._manager.check_pending()
        except pluggy.PluginValidationError:
            known = [n for n in vars(HookSpecs) if not n.startswith("_")]
            for hook in (n for n in dir(module) if n not in known and self._manager.parse_hookimpl_opts(module, n) is not None):
                raise PluginError(f'plugin "{name}": unknown hook "{hook}"{nearest(hook, known)}') from None
            raise

    def _of(self, place: str) -> dict[str, tuple[Component, str]]:
        """The components of one place with their plugins; collected at first use, so that a command imports no other components."""
        if place in self._collected:
            return self._collected[place]
        found: dict[str, tuple[Component, str]] = {}
        for plugin, component in self._registered(f"register_{place}", Component):
            if component.name in found:
                other = found[component.name][1]
                raise PluginError(f'plugin "{plugin}": {place} "{component.name}" is registered already by plugin "{other}"; rename one')
            found[component.name] = (component, plugin)
        self._collected[place] = found
        return found

    def _registered(self, hook: str, kind: type[T]) -> list[tuple[str, T]]:
        """What plugins register, with their names. Raises PluginError where a hook fails or returns something else."""
        found = list[tuple[str, T]]()
        for plugin in self.loaded:
            if hook not in plugin.hooks:
                continue
            with importing(f'plugin "{plugin.name}": what {hook} registers'):
                declared = list(getattr(plugin.module, hook)() or ())
            for one in declared:
                if not isinstance(one, kind):
                    raise PluginError(f'plugin "{plugin.name}": {hook} must return {kind.__name__}s, got {type(one).__name__}')
                found.append((plugin.name, one))
        return found

    def _guard(self, place: str, name: str) -> Guard:
        return self._guards.setdefault((place, name), Guard(self._of(place)[name][1], name))

    @property
    def guards(self) -> dict[tuple[str, str], Guard]:
        """The guard of every component, by place and name."""
        return {(place, name): self._guard(place, name) for place in _COMPONENT_PLACES for name in self._of(place)}

    def check(self) -> Plugins:
        """Make all checks now instead of at first use. Raises PluginError."""
        for place in _COMPONENT_PLACES:
            self._of(place)
        for registered in (self.claimed_tables, self.commands, self.tasks, self.recipe_packages):
            registered()
        return self

    def components(self, place: str) -> Mapping[str, Component]:
        """All components of a place such as `gates`, by name."""
        return {name: component for name, (component, _) in self._of(place).items()}

    def has(self, place: str, name: str) -> bool:
        """Whether a plugin registered `name` for `place`."""
        return name in self._of(place)

    def make(self, place: str, name: str, parameters: Mapping[str, Any], context: object, where: str) -> Any:
        """The object `name` of `place`, wrapped by its guard. `context` is passed to its factory.

        Raises UsageError, which names `where` and the nearest valid name or key.
        """
        settings, component = self.settings_for(place, name, parameters, where), self._of(place)[name][0]
        made, guard = component.factory(settings, context), self._guard(place, name)
        if place == "planners":  # its own tools are part of the plugin too
            made.tools = tuple(guarded(tool, guard) for tool in made.tools)
        return None if made is None else guarded(made, guard)

    def settings_for(self, place: str, name: str, parameters: Mapping[str, Any], where: str) -> msgspec.Struct:
        """The checked parameters of a component. Raises UsageError naming `where` and the nearest valid name or key."""
        if not self.has(place, name):
            raise UsageError(f'{where}: no {place[:-1]} is called "{name}"{nearest(name, self._of(place))}')
        component, plugin = self._of(place)[name]
        return convert(dict(parameters), component.settings, f'{where}: {place[:-1]} "{name}" of plugin "{plugin}"')

    def claimed_tables(self) -> dict[str, type[msgspec.Struct]]:
        """The settings tables that plugins declare, by name. Raises PluginError if two use one name, or that of a core table."""
        claimed: dict[str, type[msgspec.Struct]] = {}
        for plugin, table in self._registered("register_settings", SettingsTable):
            if table.name in claimed or table.name in Settings.__struct_fields__:
                raise PluginError(f'plugin "{plugin}": settings table "{table.name}" is taken already; rename it')
            claimed[table.name] = table.type
        return claimed

    def tables(self, settings: Settings) -> tuple[msgspec.Struct, ...]:
        """Every plugin's settings table, checked. Raises UsageError for a table that no plugin has, and for an unknown key."""
        from edgemem.infer.runtime_order import runtime_settings

        claimed = self.claimed_tables()
        for name in settings.tables:
            if name not in claimed:
                own = [key for key in Settings.__struct_fields__ if key != "tables"]
                raise UsageError(f'settings: unknown key "{name}"{nearest(name, [*own, *claimed])}')
        if settings.engines.runtimes:
            runtime_settings(self.components("runtimes"), settings.engines.runtimes)
        return tuple(convert(settings.tables.get(name, {}), kind, f"settings {name}") for name, kind in claimed.items())

    def commands(self) -> list[click.Command]:
        """Commands of plugins for the command line."""
        import click

        return [command for _, command in self._registered("register_commands", click.Command)]

    def tasks(self) -> tuple[str, ...]:
        """Tasks of plugins for language models."""
        return tuple(task for _, task in self._registered("register_tasks", str))

    def recipe_packages(self) -> list[str]:
        """Import paths of packages with recipes."""
        return [package for _, package in self._registered("register_recipes", str)][::-1]

    def notify(self, hook: str, **facts: Any) -> list[str]:
        """Call an observing hook of every plugin under its guard; returns one line per failure."""
        failures = []
        for caller in getattr(self._manager.hook, hook).get_hookimpls():
            guard = self._observers.setdefault((hook, caller.plugin_name), Guard(caller.plugin_name, hook))
            try:
                guard.call(caller.function, *[facts[name] for name in caller.argnames])
            except EdgememError as error:  # an observer must never disturb the caller
                failures.append(str(error))
        return failures


def _modules_in(directory: Path) -> list[tuple[str, Path]]:
    if not directory.is_dir():
        raise UsageError(f"--plugins-dir {directory}: no such directory")
    files = [(path.stem, path) for path in sorted(directory.glob("*.py")) if not path.name.startswith("_")]
    packages = [(path.parent.name, path) for path in sorted(directory.glob("*/__init__.py"))]
    return files + packages


def import_file(name: str, path: Path) -> ModuleType:
    """Import a module from a file outside the import path. Raises PluginError, which names it."""
    qualified = f"edgemem_plugins_dir_{name}"
    spec = importlib.util.spec_from_file_location(qualified, path)
    if spec is None or spec.loader is None:
        raise PluginError(f'plugin "{name}": {path} cannot be imported')
    module = importlib.util.module_from_spec(spec)
    sys.modules[qualified] = module
    try:
        with importing(f'plugin "{name}": {path}'):
            spec.loader.exec_module(module)
    except PluginError:
        del sys.modules[qualified]
        raise
    return module


def _refuse_unmarked_hooks(name: str, module: Any) -> None:
    """Refuse a function with the name of a hook but without `@hookimpl`: pluggy would ignore it."""
    for hook, value in vars(module).items():
        if (
            hook.startswith("register_")
            and inspect.isfunction(value)
            and value.__module__ == module.__name__
            and not hasattr(value, f"{GROUP}_impl")
        ):
            raise PluginError(f'plugin "{name}": {hook} is not marked with @hookimpl')
