"""Shared by all commands: environment, options, output and errors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from edgemem.config import load
from edgemem.errors import EdgememError
from edgemem.extend.environment import Environment

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

    from edgemem.serve.memory import Memory

F = TypeVar("F", bound=Callable[..., Any])


class CommandContext(Environment):
    """The environment of one command, from its options."""

    def __init__(self, config: Path | None, overrides: tuple[str, ...], plugins_dirs: tuple[Path, ...] = ()) -> None:
        super().__init__(lambda: load(self._config, self._overrides), plugins_dirs)
        self._config = config
        self._overrides = overrides

    def add(self, option: str, value: Any) -> None:
        """Add a common option that was given after the command's name."""
        if option == "config":
            self._config = value
        elif option == "overrides":
            self._overrides += tuple(value)
        else:
            self._plugins_dirs += tuple(value)

    def memory(self, directory: Path) -> Memory:
        """The memory in this directory; its messages are printed as notes on stderr."""
        from edgemem.serve.memory import Memory

        return Memory(directory, self, lambda text: note(f"note: {text}"))


pass_environment = click.make_pass_decorator(CommandContext)


def common_options(command: F) -> F:
    """`--config`, `--set` and `--plugins-dir`, which every command has (they may also come before its name)."""
    for option in reversed(_COMMON):
        command = option(command)
    return command


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Add options that come after the command to those before it. Options are read before any command runs, so nothing was made yet."""
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
    """Print one JSON object on stdout, with its keys in their order."""
    click.echo(msgspec.json.encode(data, order=None).decode())


class ProgressBars:
    """One progress bar per task, one after the other; nothing if stderr is no terminal."""

    def __init__(self, position: Callable[[int], str] = str) -> None:
        """`position` formats the progress of a task without an end."""
        self._position = position
        self._shown = sys.stderr.isatty()
        self._what = ""
        self._bar: ProgressBar[int] | None = None

    def __call__(self, what: str, done: int, total: int | None) -> None:
        """Show the progress of a task: `done` of `total` (None: it has no end)."""
        if not self._shown:
            return
        if self._bar is None or what != self._what:
            self.end()
            self._what, self._bar = what, _bar(what, total)
        if total is None:
            self._bar.label = f"{what} {self._position(done)}"
            self._bar.render_progress()
        else:
            self._bar.update(max(0, min(done, max(total, 1)) - self._bar.pos))

    def end(self) -> None:
        """End the line of the current bar, so that other lines may follow."""
        if self._bar is not None:
            self._bar.render_finish()
        self._bar = None


def _bar(label: str, total: int | None) -> ProgressBar[int]:
    if total is None:
        endless: Iterator[int] = (number for number in range(0))  # an iterator of unknown length gives a bar without a length
        return click.progressbar(endless, label=label, file=sys.stderr, bar_template="%(label)s", show_eta=False)
    return click.progressbar(length=max(total, 1), label=label, file=sys.stderr)


@contextmanager
def progress(position: Callable[[int], str] = str) -> Iterator[ProgressBars]:
    """Progress bars; the last line ends with the block."""
    bars = ProgressBars(position)
    try:
        yield bars
    finally:
        bars.end()


def note(text: str) -> None:
    """Print one line for a person on stderr; stdout is for results."""
    click.echo(text, err=True)


def table(rows: Iterable[tuple[str, ...]], header: tuple[str, ...]) -> None:
    """Print rows in aligned columns."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    for line in lines:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def short(text: str, limit: int) -> str:
    """The text on one line, cut to `limit` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def fail(error: EdgememError) -> int:
    """Print an error as one line on stderr; returns its exit code."""
    click.echo(f"edgemem: {' '.join(str(error).split())}", err=True)
    return error.exit_code
