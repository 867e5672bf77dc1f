"""Shared by all commands: environment, options, output and errors."""

from __future__ import annotations

import io
import logging
import math
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from edgemem.characters import visible
from edgemem.config import load
from edgemem.errors import EdgememError
from edgemem.extend.environment import Environment
from edgemem.extend.output import json_text, note, print_json, print_line, print_lines, short, table

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

    from edgemem.serve.memory import Memory

__all__ = [
    "CommandContext", "FilePath", "NumberRange", "ProgressBars", "common_options", "fail", "guard_terminal", "json_option", "json_text",
    "memory_option", "note", "pass_environment", "print_json", "print_line", "print_lines", "progress", "short", "table",
    "with_common_options",
]  # fmt: skip

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

    @property
    def given(self) -> tuple[Path | None, tuple[str, ...]]:
        """The settings file and the overrides, for a process of its own."""
        return self._config, self._overrides

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


class FilePath(click.Path):
    """The path of a file or directory. An empty one is refused: it would be the current directory where a script's variable is not set."""

    def __init__(self, *, exists: bool = False, file_okay: bool = True, dir_okay: bool = True) -> None:
        super().__init__(exists=exists, file_okay=file_okay, dir_okay=dir_okay, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the path is empty; name a file or a directory", param, ctx)
        return super().convert(value, param, ctx)


class NumberRange(click.FloatRange):
    """A number within limits. "nan", which no limit excludes, is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


_PATH = FilePath()
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


def with_common_options(command: click.Command) -> click.Command:
    """A plugin's command with the common options that it does not have itself; those of a group get them too."""
    if isinstance(command, click.Group):
        for part in command.commands.values():
            with_common_options(part)
        return command
    own = {parameter.name for parameter in command.params}
    common = click.command()(common_options(lambda: None)).params
    command.params += [parameter for parameter in common if parameter.name not in own]
    return command


COUNT = click.IntRange(1, (1 << 63) - 1)
"""A number of something, as far as a memory counts."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
memory_option = click.option("--memory", type=FilePath(), required=True, metavar="DIR", help="The memory's directory.")


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
            self._what, self._bar = what, _bar(visible(what), total)
        if total is None:
            self._bar.label = f"{visible(what)} {self._position(done)}"
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


def fail(error: EdgememError) -> int:
    """Print an error as one line on stderr; returns its exit code."""
    note(f"edgemem: {error}")
    return error.exit_code


def guard_terminal() -> None:
    """From now on nothing that this process prints by itself drives the terminal or fails on its encoding: neither logs nor tracebacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    logging.lastResort = _LogLines(logging.WARNING)
    sys.excepthook = _print_traceback
    threading.excepthook = lambda failed: _print_traceback(failed.exc_type, failed.exc_value, failed.exc_traceback)


class _LogLines(logging.Handler):
    """Prints each record as a note: it takes the place of what Python does where nobody configured logging."""

    def emit(self, record: logging.LogRecord) -> None:
        note(self.format(record))


def _print_traceback(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    for part in traceback.format_exception(kind, error, trace):
        print_lines(part.rstrip("\n"), "  ", err=True)
