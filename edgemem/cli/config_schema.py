"""The JSON Schema of the settings, with the docstring of each key as its description."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, get_args, get_type_hints

import msgspec

from edgemem.config import Settings
from edgemem.device.reload import SAFE
from edgemem.secret import schema_of_secret

Struct = type[msgspec.Struct]
_RELOADED = "A running daemon takes it over with SIGHUP."


def settings_schema(tables: Mapping[str, Struct], runtimes: Mapping[str, Struct]) -> dict[str, Any]:
    """The schema of a settings file, in which plugins have their tables and runtimes theirs below `engines.runtimes`."""
    kinds: list[Struct] = [Settings, *tables.values(), *runtimes.values()]
    (own, *others), parts = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}", schema_hook=schema_of_secret)
    _describe(parts, structs_in(kinds))
    _say_what_is_reloaded(parts)
    properties = parts[own["$ref"].rpartition("/")[2]]["properties"]
    del properties["tables"]
    properties |= dict(zip(tables, others, strict=False))
    known = dict(zip(runtimes, others[len(tables) :], strict=True))
    parts["EngineSettings"]["properties"]["runtimes"] |= {"type": "object", "properties": known, "additionalProperties": False}
    return {**own, "$defs": parts}


def structs_in(kinds: Iterable[Struct]) -> dict[str, Struct]:
    """These structs and all that their fields contain, by name."""
    found: dict[str, Struct] = {}
    waiting = list(kinds)
    while waiting:
        kind = waiting.pop()
        if found.setdefault(kind.__name__, kind) is kind:
            waiting += [inner for hint in get_type_hints(kind).values() for inner in _structs_of(hint) if inner.__name__ not in found]
    return found


def key_texts(kind: Struct) -> dict[str, str]:
    """The docstring of each key of a struct, as one line; of a table without one, that of its struct. Without source there is none."""
    hints = get_type_hints(kind).items()
    texts = {
        key: " ".join((hint.__doc__ or "").split()) for key, hint in hints if isinstance(hint, type) and issubclass(hint, msgspec.Struct)
    }
    for base in reversed(kind.__mro__):
        if issubclass(base, msgspec.Struct) and base is not msgspec.Struct:
            texts |= dict(_documented(base))
    return texts


def _describe(parts: Mapping[str, dict[str, Any]], kinds: Mapping[str, Struct]) -> None:
    """Add the description of each key in place."""
    for name, part in parts.items():
        texts = key_texts(kinds[name]) if name in kinds else {}
        for key, schema in part.get("properties", {}).items():
            if key in texts:
                schema["description"] = texts[key]


def _say_what_is_reloaded(parts: Mapping[str, dict[str, Any]]) -> None:
    """Add to the description of each key that a running daemon takes over, that it does."""
    for key in SAFE:
        table, _, name = key.partition(".")
        schema = parts[get_type_hints(Settings)[table].__name__ if name else "Settings"]["properties"][name or table]
        schema["description"] = f"{schema.get('description', '')} {_RELOADED}".strip()


def _structs_of(hint: Any) -> Iterator[Struct]:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
    for inner in get_args(hint):
        yield from _structs_of(inner)


def _documented(kind: type) -> Iterator[tuple[str, str]]:
    """(field, text) of each annotated name that a docstring follows."""
    try:
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except (OSError, SyntaxError):
        return
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    for field, after in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(after, ast.Expr):
            text = ast.literal_eval(after.value) if isinstance(after.value, ast.Constant) else None
            if isinstance(text, str):
                yield field.target.id, " ".join(text.split())
