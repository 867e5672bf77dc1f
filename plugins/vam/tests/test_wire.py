"""What a language model may write: every bound of Table 6, unknown keys refused, the schema it is shown."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from edgemem_vam import wire
from hypothesis import given
from hypothesis import strategies as st


def action(**keys: Any) -> wire.PlannerAction:
    return wire.decode_action(json.dumps(keys))


def search(**query: Any) -> wire.SubQuery:
    made = action(action="search", queries=[{"q": "mug", **query}])
    assert isinstance(made, wire.SearchAction)
    return made.queries[0]


def anchor(**keys: Any) -> wire.Anchor:
    made = action(action="search", queries=[{"q": "x"}], time_range={"anchor": {"query": "door", **keys}})
    assert isinstance(made, wire.SearchAction)
    assert made.time_range is not None
    assert made.time_range.anchor is not None
    return made.time_range.anchor


BOUNDS = [
    (search, "top_k", (1, 200), (0, 201)),
    (search, "inspect_k", (0, 50), (-1, 51)),
    (search, "threshold", (0.0, 3.0), (-0.1,)),
    (anchor, "before_seconds", (0, 604_800), (-1, 604_801)),
    (anchor, "after_seconds", (0, 604_800), (-1, 604_801)),
    (anchor, "top_k", (1, 50), (0, 51)),
    (anchor, "inspect_k", (0, 20), (-1, 21)),
    (anchor, "occurrence_index", (1, 100), (0, 101)),
    (anchor, "verification_prompt", ("v" * 400,), ("v" * 401, "")),
    (anchor, "threshold", (0.0,), (-1,)),
]


@pytest.mark.parametrize(("make", "key", "good", "bad"), BOUNDS, ids=[f"{make.__name__}.{key}" for make, key, *_ in BOUNDS])
def test_a_number_outside_its_bounds_is_refused_by_name(make: Any, key: str, good: tuple[Any, ...], bad: tuple[Any, ...]) -> None:
    extra = {"top_k": 200 if make is search else 50} if key == "inspect_k" else {}
    for value in good:
        assert getattr(make(**{key: value}, **extra), key) == value
    for value in bad:
        with pytest.raises(wire.WireError, match=key):
            make(**{key: value}, **extra)


def test_an_inspection_takes_1_to_16_frames_and_needs_a_time_or_a_result() -> None:
    ref = {"turn_idx": 1, "result_idx": 0}
    for count in (1, 16):
        made = action(action="inspect", prompt="?", ref=ref, max_frames=count)
        assert isinstance(made, wire.InspectAction)
        assert made.max_frames == count
    for count in (0, 17):
        with pytest.raises(wire.WireError, match="max_frames"):
            action(action="inspect", prompt="?", ref=ref, max_frames=count)
    with pytest.raises(wire.WireError, match="needs time_range or ref"):
        action(action="inspect", prompt="?")


def test_a_summary_has_windows_of_at_most_a_day_and_a_short_structure() -> None:
    keys = {"action": "summarize", "time_range": {"min": 0}, "prompt": "x"}
    action(**keys, granularity_seconds=86_400, summary_structure="s" * 64)
    for broken in ({"granularity_seconds": 0}, {"granularity_seconds": 86_401}, {"granularity_seconds": 60, "summary_structure": "s" * 65}):
        with pytest.raises(wire.WireError):
            action(**keys, **broken)


def test_what_is_left_out_has_the_defaults_of_the_paper() -> None:
    query, made = search(), anchor()
    assert (query.top_k, query.inspect_k, query.threshold) == (5, 5, 0.65)
    assert (made.top_k, made.inspect_k, made.before_seconds, made.after_seconds, made.occurrence_index) == (5, 3, 0.0, 0.0, None)


def test_a_whole_number_may_be_written_with_a_point_a_part_of_one_may_not() -> None:
    assert search(top_k=7.0, inspect_k=2.0) == wire.SubQuery(q="mug", top_k=7, inspect_k=2)
    assert anchor(occurrence_index=2.0).occurrence_index == 2
    with pytest.raises(wire.WireError, match="top_k"):
        search(top_k=7.5)


def test_an_empty_reference_is_none_and_a_blank_thought_is_no_fault() -> None:
    made = action(action="search", queries=[{"q": "x"}], visual_ref={}, time_range={}, thought=" ", inspection_prompt=" ")
    assert isinstance(made, wire.SearchAction)
    assert made.visual_ref is None
    with pytest.raises(wire.WireError, match="needs time_range or ref"):
        action(action="inspect", prompt="?", ref={})


def test_inspect_k_is_clipped_to_top_k() -> None:
    assert search(top_k=2, inspect_k=40).inspect_k == 2
    assert anchor(top_k=1).inspect_k == 1


@pytest.mark.parametrize(
    "broken",
    [
        {"action": "answer", "response": "x", "confidence": 1},
        {"action": "search", "queries": [{"q": "x", "k": 3}]},
        {"action": "search", "queries": [{"q": "x"}], "time_range": {"min": 0, "stream": "y"}},
        {"action": "search", "queries": [{"q": "x"}], "time_range": {"anchor": {"query": "d", "when": 1}}},
        {"action": "search", "queries": [{"q": "x"}], "sources": ["frame", "web"]},
        {"action": "search", "queries": []},
        {"action": "search", "queries": [{"q": "  "}]},
        {"action": "answer", "response": ""},
        {"action": "answer", "response": "x", "best_ref": {"turn_idx": 0, "result_idx": 0}},
        {"action": "answer", "response": "x", "best_ref": {"turn_idx": 1, "result_idx": -1}},
        {"action": "delete", "response": "x"},
        {"response": "x"},
    ],
)
def test_unknown_keys_empty_texts_and_other_actions_are_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(wire.WireError):
        wire.decode_action(json.dumps(broken))


@pytest.mark.parametrize(
    ("time_range", "why"),
    [
        ({"anchor": {"query": "a"}, "start_anchor": {"query": "b"}, "end_anchor": {"query": "c"}}, "mix"),
        ({"start_anchor": {"query": "b"}}, "both"),
        ({"end_anchor": {"query": "b"}}, "both"),
        ({"min": 9, "max": 8}, "below"),
        ({"anchor": {}}, "needs query"),
        ({"min": 1, "mode": "sideways"}, "mode"),
    ],
)
def test_a_stretch_of_time_is_one_thing(time_range: dict[str, Any], why: str) -> None:
    with pytest.raises(wire.WireError, match=why):
        action(action="search", queries=[{"q": "x"}], time_range=time_range)


def test_an_anchor_may_be_a_result_and_its_queries_stand_once() -> None:
    made = action(
        action="search", queries=[{"q": "x"}], time_range={"anchor": {"ref": {"turn_idx": 2, "result_idx": 0}, "after_seconds": 5}}
    )
    assert isinstance(made, wire.SearchAction)
    assert made.time_range is not None
    assert made.time_range.anchor is not None
    assert made.time_range.anchor.queries == ()
    assert anchor(query_variants=["Door", "gate", " "]).queries == ("door", "gate")


ROUTES = [
    {"type": "final", "text": "hello"},
    {"type": "tool", "name": "retrieve", "args": {"question": "where?"}},
    {"type": "tool", "name": "summarize",
     "args": {"min_time": 0, "max_time": 60, "time_mode": "relative", "granularity_seconds": 60, "prompt": "p"}},
]  # fmt: skip


@pytest.mark.parametrize("route", ROUTES)
def test_the_router_chooses_one_of_three(route: dict[str, Any]) -> None:
    made = wire.decode_route(json.dumps(route))
    assert msgspec.to_builtins(made)["type"] == route["type"]
    for broken in (route | {"extra": 1}, {**route, "type": "tools"}, {"type": "tool", "name": "delete", "args": {}}):
        with pytest.raises(wire.WireError):
            wire.decode_route(json.dumps(broken))


def test_a_router_cannot_ask_for_a_time_that_ends_before_it_begins() -> None:
    with pytest.raises(wire.WireError, match="max_time"):
        wire.decode_route(json.dumps(ROUTES[2] | {"args": ROUTES[2]["args"] | {"min_time": 90}}))


@pytest.mark.parametrize(
    "text",
    ["", "no", "[]", "{", '{"action":"answer","response":"x"} and more', "null", '"x"', '{"a":1e999}', '{"a":' * 9999 + "1" + "}" * 9999],
    ids=lambda text: text[:12],
)
def test_what_is_no_single_object_is_refused(text: str) -> None:
    with pytest.raises(wire.WireError):
        wire.decode_action(text)


def test_a_code_fence_is_taken_off() -> None:
    assert wire.decode_answer('```json\n{"action":"answer","response":"x"}\n```').response == "x"


@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda raw: raw.decode("latin-1")))
def test_no_reply_ever_raises_anything_else(text: str) -> None:
    for decode in (wire.decode_action, wire.decode_route, wire.decode_adjudication, wire.decode_session_note):
        try:
            decode(text)
        except wire.WireError:
            continue


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["action", "q", "queries", "min", "ref", "prompt"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(["action", "queries", "time_range", "prompt", "response", "ref"]), _JSON))
def test_any_object_is_an_action_or_refused(raw: dict[str, Any]) -> None:
    try:
        made = wire.decode_action(json.dumps(raw))
    except wire.WireError:
        return
    assert wire.decode_action(msgspec.json.encode(made).decode()) == made


def test_the_schema_that_a_server_gets_refuses_unknown_keys_everywhere() -> None:
    for schema in (wire.ACTION_SCHEMA, wire.ANSWER_SCHEMA, wire.ROUTE_SCHEMA, wire.ADJUDICATION_SCHEMA, wire.SESSION_SCHEMA):
        objects = [part for part in (schema, *schema.get("$defs", {}).values()) if part.get("type") == "object"]
        assert objects
        assert all(part["additionalProperties"] is False for part in objects)
    assert set(wire.ACTION_SCHEMA["$defs"]) >= {"AnswerAction", "SearchAction", "InspectAction", "SummarizeAction", "Anchor", "TimeRange"}
    assert wire.ANSWER_SCHEMA["type"] == "object"
