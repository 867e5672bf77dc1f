"""Schemas in the form that servers enforce, and replies in all their forms."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgemem.infer.structured import WRAPPED, find_object, is_wrapped, read_reply, strict_schema


class Place(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    floor: int | None
    """Required, and null if unknown."""


class Search(msgspec.Struct, forbid_unknown_fields=True, tag_field="action", tag="search"):
    query: str
    top_k: Annotated[int, msgspec.Meta(ge=1, le=20)] = 5
    channel: Literal["frame", "text"] | None = None
    places: list[Place] = []


class Answer(msgspec.Struct, forbid_unknown_fields=True, tag_field="action", tag="answer"):
    text: str
    sure: float = 1.0


def objects(schema):
    if isinstance(schema, list):
        for part in schema:
            yield from objects(part)
    elif isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for key, value in schema.items():
            yield from objects(value) if key != "enum" else ()


@pytest.mark.parametrize("kind", [Search, Answer, Search | Answer, list[Search], Search | None])
def test_the_root_is_an_object_and_every_object_is_strict(kind):
    strict = strict_schema(msgspec.json.schema(kind))
    assert strict["type"] == "object"
    assert "anyOf" not in strict
    for one in objects(strict):
        assert one["additionalProperties"] is False
        assert one["required"] == list(one["properties"])
    text = json.dumps(strict)
    assert not any(f'"{word}"' in text for word in ("discriminator", "default", "oneOf"))


def test_what_may_be_left_out_may_be_null_and_what_may_not_may_not():
    strict = strict_schema(msgspec.json.schema(Search))
    root = strict["properties"]
    assert root["query"] == {"type": "string"}
    assert root["top_k"] == {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 20}, {"type": "null"}]}
    assert {"type": "null"} in root["places"]["anyOf"] or None in root["places"].get("enum", ())
    place = strict["$defs"]["Place"]["properties"]
    assert place["name"] == {"type": "string"}
    assert sum(part == {"type": "null"} for part in place["floor"]["anyOf"]) == 1


def test_a_schema_that_is_no_object_is_wrapped_and_read_back():
    schema = msgspec.json.schema(Search | Answer)
    assert is_wrapped(schema)
    assert list(strict_schema(schema)["properties"]) == [WRAPPED]
    said = json.dumps({WRAPPED: {"action": "answer", "text": "on the desk", "sure": None}})
    assert msgspec.json.decode(read_reply(said, schema), type=Search | Answer) == Answer(text="on the desk")
    plain = '{"action": "answer", "text": "x"}'
    assert msgspec.json.decode(read_reply(plain, schema), type=Search | Answer) == Answer(text="x"), "a model may leave the wrapping off"
    assert not is_wrapped(msgspec.json.schema(Search))


def test_nulls_are_dropped_where_the_key_may_be_left_out_and_kept_where_they_are_meant():
    said = {"action": "search", "query": "mug", "top_k": None, "channel": None, "places": [{"name": "hall", "floor": None}]}
    found = msgspec.json.decode(read_reply(json.dumps(said), msgspec.json.schema(Search)), type=Search)
    assert found == Search(query="mug", places=[Place(name="hall", floor=None)])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('Sure! Here it is: {"a": {"b": [1, {"c": 2}]}} Anything else?', {"a": {"b": [1, {"c": 2}]}}),
        ('The set {x} is meant. {"a": 1}', {"a": 1}),
        ('{"a": 1} or {"a": 2}', None),
        ('{"action": "search", "queries": [{"q": "mug"}', None),
        ('{"action": "search", "query": {"q": "mug"}, "why": "it is', None),
        ("[1, 2]", None),
        ("no JSON at all", None),
        ("", None),
    ],
)
def test_one_object_is_found_in_whatever_stands_around_it(text, found):
    assert find_object(text) == found


def test_what_holds_no_single_object_is_left_to_whoever_asked():
    schema = msgspec.json.schema(Answer)
    for text in ("I do not know.", '{"text": "a"} {"text": "b"}', '{"text": "cut'):
        assert read_reply(text, schema) == text
    assert read_reply('{"text":  "as it is"}', schema) == '{"text":  "as it is"}'


@given(st.text(alphabet='{}[]",:a1 \\n', max_size=60))
def test_any_text_is_read_without_an_error(text):
    read_reply(text, msgspec.json.schema(Search | Answer))


@given(
    st.builds(Search, query=st.text(), top_k=st.integers(1, 20), channel=st.sampled_from([None, "frame", "text"]))
    | st.builds(Answer, text=st.text())
)
def test_what_is_said_in_the_strict_form_comes_back_as_it_was_meant(value):
    schema = msgspec.json.schema(Search | Answer)
    assert msgspec.json.decode(read_reply(json.dumps({WRAPPED: msgspec.to_builtins(value)}), schema), type=Search | Answer) == value
