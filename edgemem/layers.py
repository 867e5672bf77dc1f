"""Layers of settings: defaults, board, deployment, environment, `--set`. Each upper layer replaces single keys of those below it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from edgemem import boards
from edgemem.boards import BoardFile
from edgemem.errors import UsageError
from edgemem.toml import read_toml, value_of

VARIABLE = "EDGEMEM__"
"""Prefix of environment variables that set a key: `EDGEMEM__BUDGET__DISK=64MiB` is `budget.disk`."""
DEFAULT = "default"
"""Origin of a value that no layer sets."""


class Layer(NamedTuple):
    """Settings from one place. `origin` is shown to people."""

    origin: str
    data: dict[str, Any]


class Layers(NamedTuple):
    """All layers from the lowest to the highest, and the board whose file is the lowest."""

    board: BoardFile
    layers: tuple[Layer, ...]

    def merged(self) -> dict[str, Any]:
        """One table: tables are merged key by key; any other value, a list too, is replaced."""
        whole: dict[str, Any] = {}
        for layer in self.layers:
            whole = merge(whole, layer.data)
        return whole

    def origin(self, key: str) -> str:
        """Where the value of a key such as "budget.disk" comes from: the highest layer that has it, or something in it."""
        names = key.split(".")
        return next((layer.origin for layer in reversed(self.layers) if _has(layer.data, names)), DEFAULT)


def read_layers(path: Path | None, overrides: Iterable[str] = (), variables: Mapping[str, str] | None = None) -> Layers:
    """The layers of a settings file (None: `EDGEMEM_CONFIG`, else none), of environment variables and `KEY=VALUE` overrides, on the file
    of the board. Raises UsageError.
    """
    variables = os.environ if variables is None else variables
    path = path or (Path(variables["EDGEMEM_CONFIG"]) if variables.get("EDGEMEM_CONFIG") else None)
    upper = [
        *([Layer(str(path), read_toml(path))] if path else []),
        *_of_variables(variables),
        *_of_overrides(overrides),
    ]
    named, root = _text(upper, ("board",), boards.AUTO), _text(upper, ("hardware", "root"), "/")
    board = boards.find(named, Path(root))
    lowest = [Layer(f"board {board.name}", dict(board.data))] if board.path else []
    return Layers(board, (*lowest, *upper))


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """A new table with the keys of both; where both have one, that of `above`, unless both are tables, which are merged."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        merged[key] = merge(under, value) if isinstance(under, dict) and isinstance(value, dict) else value
    return merged


def _of_variables(variables: Mapping[str, str]) -> Iterator[Layer]:
    """One layer for each variable with the prefix, in alphabetical order."""
    for name in sorted(variables):
        if name.startswith(VARIABLE):
            keys = name[len(VARIABLE) :].lower().split("__")
            if not all(keys):
                raise UsageError(f"environment {key_like(name)}: write it like {VARIABLE}BUDGET__DISK")
            yield Layer(f"environment {key_like(name)}", _nested(keys, value_of(variables[name].strip())))


def _of_overrides(overrides: Iterable[str]) -> Iterator[Layer]:
    for item in overrides:
        name, equals, value = item.partition("=")
        key = name.strip()
        if not equals or not key:
            raise UsageError(f'--set "{key_like(item)}": write it as KEY=VALUE, such as budget.disk=64MiB')
        yield Layer(f"--set {key_like(key)}", _nested(key.split("."), value_of(value.strip())))


def _nested(keys: list[str], value: Any) -> dict[str, Any]:
    for key in reversed(keys):
        value = {key: value}
    return value  # type: ignore[no-any-return]


def key_like(text: str) -> str:
    """The beginning of an override that may be the name of a key: what follows may be a secret."""
    return (re.match(r"[\w.-]*", text) or [""])[0][:80]


def _has(data: object, names: list[str]) -> bool:
    """Whether a table has a key, or something in it."""
    for name in names:
        if not isinstance(data, dict) or name not in data:
            return False
        data = data[name]
    return True


def _text(layers: Iterable[Layer], names: tuple[str, ...], otherwise: str) -> str:
    """The text that the highest layer gives a key; a value of another type is refused later, with the others."""
    found = otherwise
    for layer in layers:
        value: Any = layer.data
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        found = value if isinstance(value, str) else found
    return found
