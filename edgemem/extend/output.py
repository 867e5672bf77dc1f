"""What commands print, on stdout and on stderr: the only place that writes to the terminal, for plugins' commands too.

What others wrote (subtitles, names of streams and speakers, replies of models) is made harmless here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click
import msgspec

from edgemem.characters import storable, visible, visible_json


def print_line(text: str = "", *, err: bool = False) -> None:
    """One line, whatever the text holds: line breaks, control and direction characters of it show as their escapes."""
    click.echo(visible(text), err=err)


def print_lines(text: str, indent: str = "", *, err: bool = False) -> None:
    """A text with lines of its own. All but the first begin with `indent`, so that none of them passes for a line of ours."""
    first, *others = text.split("\n")
    for line in (first, *(f"{indent}{other}" for other in others)):
        print_line(line, err=err)


def print_json(data: Any) -> None:
    """One JSON object on stdout, in the order it was built."""
    click.echo(json_text(data))


def json_text(data: Any) -> str:
    """JSON on one line, as a terminal may print it."""
    try:
        encoded = msgspec.json.encode(data, order=None)
    except UnicodeEncodeError:  # the name of a file that is no UTF-8
        encoded = msgspec.json.encode(_storable(msgspec.to_builtins(data)), order=None)
    return visible_json(encoded.decode())


def _storable(data: Any) -> Any:
    if isinstance(data, dict):
        return {_storable(key): _storable(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_storable(value) for value in data]
    return storable(data) if isinstance(data, str) else data


def note(text: str) -> None:
    """One line for the person at the terminal; stdout stays for results."""
    print_line(" ".join(text.split()), err=True)


def table(rows: Iterable[tuple[str, ...]], header: tuple[str, ...]) -> None:
    """Rows in aligned columns."""
    lines = [header, *(tuple(map(visible, row)) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    for line in lines:
        print_line("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def short(text: str, limit: int) -> str:
    """The text on one line, cut to `limit` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
