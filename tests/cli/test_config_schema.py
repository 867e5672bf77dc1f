"""The published JSON Schema: each key of the core has a description, and what it allows is what is read."""

from __future__ import annotations

import json

import msgspec
import pytest

from edgemem.boards import board_files
from edgemem.cli.config_schema import key_texts, settings_schema, structs_in
from edgemem.config import Settings
from edgemem.layers import read_layers

SCHEMA = settings_schema({}, {})
KINDS = structs_in([Settings])


def test_every_struct_of_the_settings_is_found() -> None:
    assert {"Settings", "Budget", "Hardware", "GovernorSettings", "RunSource", "TaskSettings", "KeepRule"} <= set(KINDS)
    assert set(KINDS) == set(SCHEMA["$defs"])


@pytest.mark.parametrize("name", sorted(KINDS))
def test_every_key_has_a_description(name: str) -> None:
    described = SCHEMA["$defs"][name]["properties"]
    assert described
    missing = [key for key, schema in described.items() if not schema.get("description")]
    assert not missing
    assert described[next(iter(described))]["description"].startswith(key_texts(KINDS[name])[next(iter(described))])


def test_each_key_says_whether_a_running_daemon_takes_it_over() -> None:
    keys = [
        (name, key) for name in KINDS for key, schema in SCHEMA["$defs"][name]["properties"].items() if "SIGHUP" in schema["description"]
    ]
    assert sorted(keys) == [
        ("Budget", "disk"), ("Budget", "fps"), ("Budget", "ram"), ("Budget", "watts"), ("PrivacySettings", "masks"),
        ("PrivacySettings", "streams"), ("Settings", "governor"), ("Settings", "retention"),
    ]  # fmt: skip


def test_unknown_keys_are_not_allowed_anywhere() -> None:
    assert all(part["additionalProperties"] is False for part in SCHEMA["$defs"].values())


def test_keys_of_board_files_are_in_the_schema() -> None:
    """A small walk over the schema, so that an editor that uses it accepts what ships."""

    def check(data: dict[str, object], name: str) -> None:
        properties = SCHEMA["$defs"][name]["properties"]
        for key, value in data.items():
            assert key in properties, (name, key)
            reference = properties[key].get("$ref", "") or next((one["$ref"] for one in properties[key].get("allOf", [])), "")
            if isinstance(value, dict) and reference:
                check(value, reference.rpartition("/")[2])

    for board in board_files():
        check(dict(read_layers(None, [f"board={board}"], {}).board.data), "Settings")


class Base(msgspec.Struct, frozen=True):
    """A table
    of its own."""

    one: int = 1
    """The first
    key."""
    two: int = 2


class Derived(Base, frozen=True):
    two: int = 3
    """Now described."""
    three: int = 4
    5  # noqa: B018 - no docstring
    table: Base = Base()


def test_descriptions_of_inherited_keys_of_tables_and_of_kinds_without_source() -> None:
    assert key_texts(Derived) == {"one": "The first key.", "two": "Now described.", "table": "A table of its own."}
    made = msgspec.defstruct("Made", [("key", int)])
    assert key_texts(made) == {}


def test_the_schema_is_plain_json() -> None:
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA
