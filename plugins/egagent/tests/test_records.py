"""Records: frozen, named, and strict about what people and models write; every length and number has its bounds."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

import edgemem_egagent
import msgspec
import pytest
from edgemem_egagent.actions import (
    Analyse,
    Edges,
    GraphSearch,
    Pictures,
    Span,
    TranscriptSearch,
    VisualSearch,
)
from edgemem_egagent.analyzer import AnalyzerSettings, Judgement
from edgemem_egagent.extract import Drawing
from edgemem_egagent.plan import Arguments, Listening, Look, Plan, Relating, Revision, SubTask
from edgemem_egagent.planner import AnswerReply, Grade
from edgemem_egagent.settings import PlannerSettings
from edgemem_egagent.summaries import SummarySettings
from edgemem_egagent.writers import FusedCaptionSettings, TriplesSettings

from edgemem.records import Record


def own_kinds() -> set[Any]:
    kinds = set()
    for module in pkgutil.walk_packages(edgemem_egagent.__path__, "edgemem_egagent."):
        kinds |= {kind for kind in vars(import_module(module.name)).values() if isinstance(kind, type) and issubclass(kind, msgspec.Struct)}
    return {kind for kind in kinds if kind.__module__.startswith("edgemem_egagent")}


def test_every_record_is_frozen_and_what_people_and_models_write_knows_no_other_keys() -> None:
    own = own_kinds()
    assert len(own) > 40
    assert all(kind.__struct_config__.frozen for kind in own)
    written = {kind for kind in own if not issubclass(kind, Record) and kind.__name__ != "_Stretch"}
    assert all(kind.__struct_config__.forbid_unknown_fields for kind in written), written


def test_what_is_left_out_of_a_plan_is_left_out_when_a_model_reads_it() -> None:
    task = SubTask(task="look", tool="visual", visual=(Look(queries=("cup",)),), transcript=Listening(), graph=Relating(type="USES"))
    assert msgspec.to_builtins(task) == {
        "task": "look", "tool": "visual", "visual": ({"queries": ("cup",)},), "transcript": {}, "graph": {"type": "USES"},
    }  # fmt: skip
    assert msgspec.to_builtins(Revision()) == msgspec.to_builtins(Arguments()) == {}
    assert msgspec.to_builtins(Look(from_="07:00")) == {"from": "07:00"}


def test_a_stretch_of_time_holds_both_its_ends() -> None:
    span = Span(10, 20)
    assert [span.overlaps(*of) for of in ((0, 9), (0, 10), (12, 13), (20, 30), (21, 30))] == [False, True, True, True, False]
    assert Span(None, 20).overlaps(-5, -4)
    assert Span(10, None).overlaps(10**18, 10**18)
    assert not Span(10, None).overlaps(0, 9)
    assert not Span(None, 20).overlaps(21, 22)


def test_what_a_search_leaves_out_is_100_pictures_a_query_of_which_50_are_shown_and_one_row() -> None:
    assert (VisualSearch(queries=("a",)).per_query, VisualSearch(queries=("a",)).shown) == (100, 50)
    assert (TranscriptSearch().per_query, TranscriptSearch().newest_first, GraphSearch().min_rows) == (100, False, 1)
    assert (Pictures().confidence, Edges().evidence, Analyse(task="t", tool="graph", items=()).asked_us) == (0.0, (), 0)


def numbered(kind: Any, key: str, value: Any, **needed: Any) -> Any:
    return msgspec.convert({**needed, key: value}, kind)


@pytest.mark.parametrize(
    ("kind", "key", "least", "most", "needed"),
    [
        (VisualSearch, "per_query", 1, 500, {"action": "visual", "queries": ["a"]}),
        (VisualSearch, "shown", 1, 100, {"action": "visual", "queries": ["a"]}),
        (TranscriptSearch, "per_query", 1, 500, {"action": "transcript"}),
        (GraphSearch, "min_rows", 1, 100, {"action": "graph"}),
        (AnalyzerSettings, "images", 0, 50, {}),
        (PlannerSettings, "max_steps", 1, 5, {}),
        (PlannerSettings, "min_rows", 1, 100, {}),
        (PlannerSettings, "retries", 0, 10, {}),
        (PlannerSettings, "spare", 0, 1, {}),
        (SummarySettings, "windows", 2, 120, {}),
        (FusedCaptionSettings, "frames", 0, 30, {}),
        (TriplesSettings, "frames", 0, 30, {}),
        (AnswerReply, "confidence", 0, 1, {"answer": "x"}),
    ],
)  # fmt: skip
def test_a_number_has_a_least_and_a_most(kind: Any, key: str, least: int, most: int, needed: dict[str, Any]) -> None:
    assert [getattr(numbered(kind, key, value, **needed), key) for value in (least, most)] == [least, most]
    for value in (least - 1, most + 1):
        with pytest.raises(msgspec.ValidationError, match=key):
            numbered(kind, key, value, **needed)


VISUAL, GRAPH, LINES = {"action": "visual", "queries": ["a"]}, {"action": "graph"}, {"action": "transcript"}
ANALYSE = {"action": "analyse", "task": "t", "tool": "graph", "items": []}


@pytest.mark.parametrize(
    ("kind", "key", "most", "needed"),
    [
        (VisualSearch, "location", 100, VISUAL), (TranscriptSearch, "speaker", 100, LINES), (GraphSearch, "source", 100, GRAPH),
        (GraphSearch, "target", 100, GRAPH), (GraphSearch, "type", 100, GRAPH), (GraphSearch, "tz", 100, GRAPH),
        (GraphSearch, "sql", 2000, GRAPH), (GraphSearch, "about", 600, GRAPH), (Analyse, "task", 600, ANALYSE),
        (Judgement, "finding", 2000, {}), (Grade, "why", 400, {"sufficient": "no"}), (AnswerReply, "answer", 2000, {}),
        (AnswerReply, "because", 1000, {"answer": "x"}), (Look, "location", 120, {}), (Listening, "speaker", 120, {}),
        (Relating, "source", 120, {}), (Relating, "target", 120, {}), (Relating, "type", 120, {}), (Relating, "sql", 2000, {}),
        (Look, "day", 40, {}), (Look, "from", 40, {}), (Look, "to", 40, {}), (Revision, "task", 400, {}),
        (SubTask, "task", 400, {"tool": "visual"}),
    ],
)  # fmt: skip
def test_a_text_has_a_greatest_length(kind: Any, key: str, most: int, needed: dict[str, Any]) -> None:
    numbered(kind, key, "x" * most, **needed)
    with pytest.raises(msgspec.ValidationError, match="length"):
        numbered(kind, key, "x" * (most + 1), **needed)


@pytest.mark.parametrize(
    ("kind", "key", "least", "most", "one", "needed"),
    [
        (VisualSearch, "queries", 1, 3, "a", {"action": "visual"}), (VisualSearch, "spans", 1, 64, {}, VISUAL),
        (TranscriptSearch, "queries", 0, 3, "a", LINES), (Look, "queries", 0, 3, "a", {}), (Listening, "queries", 0, 3, "a", {}),
        (SubTask, "visual", 0, 8, {}, {"task": "t", "tool": "visual"}), (Plan, "sub_tasks", 1, 5, {"task": "t", "tool": "visual"}, {}),
        (Drawing, "edges", 0, 200, {"source": {"kind": "person", "name": "A"}, "type": "USES", "target": {"kind": "object", "name": "b"},
                                    "confidence": 1.0}, {}),
    ],
)  # fmt: skip
def test_a_list_has_a_least_and_a_greatest_length(kind: Any, key: str, least: int, most: int, one: Any, needed: dict[str, Any]) -> None:
    for count in (least, most):
        numbered(kind, key, [one] * count, **needed)
    for count in {least - 1, most + 1} - {-1}:
        with pytest.raises(msgspec.ValidationError, match="length"):
            numbered(kind, key, [one] * count, **needed)


@pytest.mark.parametrize("text", ["", "x" * 121])
def test_a_query_is_neither_empty_nor_longer_than_120_letters(text: str) -> None:
    msgspec.convert({**VISUAL, "queries": ["x" * 120]}, VisualSearch)
    for kind, needed in ((VisualSearch, VISUAL), (TranscriptSearch, LINES)):
        with pytest.raises(msgspec.ValidationError, match="length"):
            msgspec.convert({**needed, "queries": [text]}, kind)


def edge(**changed: Any) -> dict[str, Any]:
    one = {"source": {"kind": "person", "name": "A"}, "type": "USES", "target": {"kind": "object", "name": "b"}, "confidence": 1.0}
    return {"edges": [{**one, **changed}]}


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (edge(confidence=0), edge(confidence=-0.01)), (edge(confidence=1), edge(confidence=1.01)),
        (edge(explanation="x" * 400), edge(explanation="x" * 401)),
        (edge(source={"kind": "person", "name": "x" * 80}), edge(source={"kind": "person", "name": "x" * 81})),
        (edge(source={"kind": "person", "name": "x"}), edge(source={"kind": "person", "name": ""})),
    ],
)  # fmt: skip
def test_an_edge_by_a_model_keeps_to_its_bounds(good: dict[str, Any], bad: dict[str, Any]) -> None:
    msgspec.convert(good, Drawing)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(bad, Drawing)


def test_what_settings_leave_out_is_as_published() -> None:
    def plain(settings: msgspec.Struct) -> dict[str, Any]:
        return {key: value for key, value in msgspec.structs.asdict(settings).items() if key not in {"relations", "nodes"}}

    assert plain(PlannerSettings()) == {
        "max_steps": 5, "route": "one", "early_exit": True, "revise": True, "min_rows": 1, "retries": 3, "spare": 0.15,
    }  # fmt: skip
    assert plain(AnalyzerSettings()) == {"images": 50}
    assert plain(SummarySettings()) == {"windows": 10}
    assert plain(FusedCaptionSettings()) == {"model": True, "frames": 10, "wearer": ""}
    assert plain(TriplesSettings()) == {"extractor": "auto", "frames": 10, "wearer": "", "egocentric": True, "min_confidence": 0.3}
    assert AnswerReply(answer="x").confidence == 0.5, "a model that says nothing of it is half sure"
