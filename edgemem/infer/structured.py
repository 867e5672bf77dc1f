"""Structured output: converts schemas to the form that servers enforce, and reads replies in the different forms that servers return.

Servers that enforce a schema need the subset that OpenAI documents as `strict`: an object at the root, every key of every object required,
no further keys, no discriminators and no defaults. An optional key becomes a key that may be null.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

WRAPPED = "reply"
"""The key for a schema that is not an object."""

_DROPPED = frozenset({"discriminator", "default", "examples"})
_NULL = {"type": "null"}

Schema = Mapping[str, Any]


def strict_schema(schema: Schema) -> dict[str, Any]:
    """`schema` in the strict form. Objects with free keys are not changed: the strict form does not allow them."""
    root = _inlined_root(schema)
    definitions = {name: _strict(part) for name, part in schema.get("$defs", {}).items()}
    own = {key: value for key, value in root.items() if key != "$defs"}
    if own.get("type") != "object":
        own = {"type": "object", "properties": {WRAPPED: own}, "required": [WRAPPED], "additionalProperties": False}
    strict: dict[str, Any] = _strict(own)
    return {**strict, "$defs": definitions} if definitions else strict


def is_wrapped(schema: Schema) -> bool:
    """Whether `strict_schema` puts this schema under the key WRAPPED."""
    return _inlined_root(schema).get("type") != "object"


def read_reply(text: str, schema: Schema) -> str:
    """A reply in the form that `schema` describes; a text without exactly one JSON object is returned unchanged.

    The object may be within prose or a code block. A null is removed if its key is optional in the schema.
    """
    found = find_object(text)
    if found is None:
        return text
    whole = found[WRAPPED] if is_wrapped(schema) and set(found) == {WRAPPED} else found
    meant = _without_nulls(whole, _nullable_keys(schema))
    return text if meant == found and text.startswith("{") and text.endswith("}") else json.dumps(meant, ensure_ascii=False)


def find_object(text: str) -> dict[str, Any] | None:
    """The one JSON object in a text; None if there is none or more than one."""
    objects = list(_objects(text))
    return objects[0] if len(objects) == 1 else None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    decoder, start = json.JSONDecoder(), text.find("{")
    while start >= 0:
        end = start + 1
        try:
            found, end = decoder.raw_decode(text, start)
            yield found
        except json.JSONDecodeError as error:
            if error.msg.startswith("Unterminated") or error.pos >= len(text.rstrip()):
                return  # the reply was cut off: an inner object is not the intended one
        except RecursionError:
            return
        start = text.find("{", end)


def _inlined_root(schema: Schema) -> Schema:
    """The schema; if it is only a reference, the schema that it refers to."""
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    inlined: Schema = schema.get("$defs", {}).get(name, schema) if name else schema
    return inlined


def _strict(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_strict(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    plain = {"anyOf" if key == "oneOf" else key: value for key, value in schema.items() if key not in _DROPPED}
    properties = plain.pop("properties", None)
    strict = {key: value if key in {"enum", "const", "required"} else _strict(value) for key, value in plain.items()}
    if properties is None:
        return strict
    required = set(schema.get("required", ()))
    parts = {name: _strict(part) if name in required else _or_null(_strict(part)) for name, part in properties.items()}
    return {**strict, "properties": parts, "required": list(parts), "additionalProperties": False}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    if schema.get("type") == "null" or _NULL in schema.get("anyOf", ()) or None in schema.get("enum", ()):
        return schema
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], _NULL]}
    return {"anyOf": [schema, _NULL]}


def _nullable_keys(schema: Any) -> frozenset[str]:
    """Keys that an object of the schema requires and that may be null: their nulls have a meaning."""
    if isinstance(schema, list):
        return frozenset[str]().union(*map(_nullable_keys, schema))
    if not isinstance(schema, Mapping):
        return frozenset()
    properties = schema.get("properties", {})
    own = {name for name in schema.get("required", ()) if name in properties and _or_null(dict(properties[name])) == dict(properties[name])}
    return frozenset(own).union(*(_nullable_keys(value) for value in schema.values()))


def _without_nulls(value: Any, kept: frozenset[str]) -> Any:
    if isinstance(value, list):
        return [_without_nulls(part, kept) for part in value]
    if not isinstance(value, dict):
        return value
    return {key: _without_nulls(part, kept) for key, part in value.items() if part is not None or key in kept}
