"""What every command shares: settings, plugins, recipes and engines (each made when first needed), output and errors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from edgemem.config import Settings, home_dir, load
from edgemem.errors import EdgememError
from edgemem.remember.disk import keys

if TYPE_CHECKING:
    from edgemem.device.agent import Environment
    from edgemem.extend.context import PluginContext
    from edgemem.extend.hookspecs import Component
    from edgemem.extend.plugins import Plugins
    from edgemem.extend.recipe import Recipes
    from edgemem.infer.card import EngineCard
    from edgemem.infer.engines import Engines

F = TypeVar("F", bound=Callable[..., Any])


class CommandContext:
    """One run of the command line. Everything dear is made once, when a command first asks for it."""

    def __init__(self, config: Path | None, overrides: tuple[str, ...], plugins_dirs: tuple[Path, ...] = ()) -> None:
        self._config = config
        self._overrides = overrides
        self._plugins_dirs = plugins_dirs
        keys.follow(lambda: self.settings.store)

    def add(self, option: str, value: Any) -> None:
        """Take a common option that stood behind the command's name."""
        if option == "config":
            self._config = value
        elif option == "overrides":
            self._overrides += tuple(value)
        else:
            self._plugins_dirs += tuple(value)

    @cached_property
    def _loaded(self) -> Settings:
        return load(self._config, self._overrides)

    @cached_property
    def settings(self) -> Settings:
        """The configuration file with its overrides, plugins' tables checked. Raises UsageError."""
        if self._loaded.tables or self._loaded.engines.runtimes:
            self.plugins.tables(self._loaded)
        return self._loaded

    @cached_property
    def home(self) -> Path:
        """The data directory for built things."""
        return home_dir(self.settings)

    @cached_property
    def plugins(self) -> Plugins:
        """All plugins, refused here if one is bad."""
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
        from edgemem.infer.engines import Engines

        runtimes, decoders = self.plugins.components("runtimes"), self.plugins.components("decoders")
        return Engines(self.cards, runtimes, decoders, self.home, self.settings.engines)

    @property
    def converters(self) -> dict[str, Component]:
        """What turns fetched weights into ONNX, by name."""
        return dict(self.plugins.components("converters"))

    @cached_property
    def context(self) -> PluginContext:
        """What factories of components get."""
        from edgemem.extend.assembly import make_context

        return make_context(self.plugins, self.settings, self.home, self.engines)

    @cached_property
    def digest(self) -> str:
        """Of the settings that bear on answers: the agent of a memory answers for us only if it has the same."""
        from edgemem.serve.messages import digest

        return digest(self.settings, self.home, self._plugins_dirs)

    @cached_property
    def workshop(self) -> Environment:
        """What the daemon is made from."""
        from edgemem.device.agent import Environment

        return Environment(self.settings, self.home, self.recipes, self.plugins, self.context, self.digest)


pass_session = click.make_pass_decorator(CommandContext)


def common_options(command: F) -> F:
    """`--config`, `--set` and `--plugins-dir`, which every command takes (also in front of it)."""
    for option in reversed(_COMMON):
        command = option(command)
    return command


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Options given after the command are added to those before it. Nothing dear was made yet: options are read before any body runs."""
    if value and isinstance(context.obj, CommandContext):
        context.obj.add(parameter.name or "", value)
    return value


_PATH = click.Path(path_type=Path)
_COMMON = (
    click.option("--config", type=_PATH, expose_value=False, callback=_remember, help="Settings file (default: $EDGEMEM_CONFIG)."),
    click.option(
        "--set", "overrides", multiple=True, metavar="KEY=VALUE", expose_value=False, callback=_remember,
        help="Override one setting, such as budget.disk=64MiB. Repeatable.",
    ),
    click.option(
        "--plugins-dir", type=_PATH, multiple=True, expose_value=False, callback=_remember,
        help="Also load plugins from this folder. Repeatable.",
    ),
)  # fmt: skip

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
memory_option = click.option("--memory", type=click.Path(path_type=Path), required=True, metavar="DIR", help="The memory's directory.")


def print_json(data: Any) -> None:
    """One JSON object on stdout, in the order it was built."""
    click.echo(msgspec.json.encode(data, order=None).decode())


@contextmanager
def progress(total: int | None, label: str) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal, nothing when piped. Yields `advance(by)`."""
    if not sys.stderr.isatty():
        yield lambda _by: None
        return
    with click.progressbar(length=total or 0, label=label, file=sys.stderr, show_eta=bool(total)) as bar:
        yield bar.update


def note(text: str) -> None:
    """One line for the person at the terminal; stdout stays for results."""
    click.echo(text, err=True)


def table(rows: Iterable[tuple[str, ...]], header: tuple[str, ...]) -> None:
    """Rows in aligned columns."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    for line in lines:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def fail(error: EdgememError) -> int:
    """Say an error in one line on stderr; returns its exit code."""
    click.echo(f"edgemem: {' '.join(str(error).split())}", err=True)
    return error.exit_code
