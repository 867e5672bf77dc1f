"""Searching: what each tool finds, in which order, and that nothing comes back that became known after the question's time."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from edgemem_egagent.actions import Analyse, GraphSearch, Span, TranscriptSearch, VisualSearch
from edgemem_egagent.analyzer import Analyzer, AnalyzerSettings
from edgemem_egagent.fusion import best_rank_first
from edgemem_egagent.relations import GraphTool
from edgemem_egagent.transcript import TranscriptTool
from edgemem_egagent.visual import VisualTool
from hypothesis import given
from hypothesis import strategies as st

from edgemem.answer.planner import AnswerKit, ask
from edgemem.answer.retrieve import Hits, Query, as_evidence
from edgemem.config import ModelSettings
from edgemem.infer.chat import Prompt
from edgemem.llm.models import Models
from edgemem.records import US, Evidence, Question
from edgemem.remember.entries import NewEntity, NewRelation
from edgemem.remember.store import Store
from edgemem.remember.view import View

from .conftest import T0_US, LabelRetriever, ScriptedChat, _moment, label

visual, transcript, graph = VisualTool(LabelRetriever()), TranscriptTool(), GraphTool()


# Ranking


@given(st.lists(st.permutations(range(120)), min_size=1, max_size=3))
def test_the_best_16_of_each_of_three_queries_are_always_shown(rankings: list[list[int]]) -> None:
    shown = best_rank_first([ranking[:100] for ranking in rankings], 50)
    assert len(shown) == len(set(shown)) <= 50
    assert all(set(ranking[:16]) <= set(shown) for ranking in rankings)


def test_counting_votes_instead_loses_most_of_them() -> None:
    """What EGAgent's code does: number of queries that hit, ties in the order of the index."""
    recalls = []
    for seed in range(20):
        rankings = [random.Random(100 * seed + i).sample(range(5000), 100) for i in range(3)]
        votes = {key: sum(key in ranking for ranking in rankings) for ranking in rankings for key in ranking}
        shown = set(sorted(votes, key=lambda key: (-votes[key], key))[:50])
        recalls.append(sum(len(shown & set(ranking[:16])) for ranking in rankings) / 48)
    assert sum(recalls) / len(recalls) < 0.35


def test_more_votes_decide_between_equals_only() -> None:
    assert best_rank_first([["a", "x", "b"], ["c", "y", "b"]], 6) == ["a", "c", "x", "y", "b"]
    assert best_rank_first([["a", "b"], ["b", "a"], ["b"]], 1) == ["b"]


# Visual


def test_pictures_of_all_queries_come_back(view: View) -> None:
    found = visual.run(VisualSearch(queries=("kitchen", "bicycle")), view)
    assert {e.text for e in found.evidence} == {"kitchen", "bicycle"}
    assert found.evidence[0].id.startswith("m")


def test_time_and_place_narrow_the_pictures(view: View) -> None:
    late = visual.run(VisualSearch(queries=("office",), spans=(Span(T0_US + 3600 * US),)), view)
    assert {e.t0_us for e in late.evidence} == {T0_US + 3700 * US, T0_US + 3704 * US}
    assert [e.text for e in visual.run(VisualSearch(queries=("laptop", "cup"), location="office"), view).evidence] == ["laptop"] * 2
    somewhere = visual.run(VisualSearch(queries=("cup",), location="moon"), view)
    assert somewhere.evidence
    assert "moon" in somewhere.notes[0]


class EagerRetriever(LabelRetriever):
    """Ranks every picture for every query, as retrievers by likeness do: what does not fit with a low score."""

    def retrieve(self, query: Query, view: View, k: int) -> Hits:
        fitting = super().retrieve(query, view, k).evidence
        others = [as_evidence(m, "frame", 0.01, "?") for m in view.moments() if f"m{m.id}" not in {e.id for e in fitting}]
        return Hits(evidence=(*fitting, *others)[:k], confidence=0.7 if fitting else 0.0)


def test_a_picture_that_hardly_shows_the_place_was_not_taken_there(view: View) -> None:
    eager = VisualTool(EagerRetriever())
    found = eager.run(VisualSearch(queries=("laptop", "cup"), location="office"), view).evidence
    assert {e.text for e in found if e.score > 0.1} == {"laptop"}
    assert min(e.t0_us for e in found) >= T0_US + 100 * US, "the office was first seen at 130 s"
    assert "moon" in eager.run(VisualSearch(queries=("cup",), location="moon"), view).notes[0]


def test_at_most_so_many_are_shown(view: View) -> None:
    assert len(visual.run(VisualSearch(queries=("kitchen", "office", "workshop"), shown=3), view).evidence) == 3


# Transcript


def test_utterances_of_all_queries_in_the_order_of_time(view: View) -> None:
    found = transcript.run(TranscriptSearch(queries=("printer", "wrench")), view)
    assert [one.source for one in found.said] == ["Ben", "Clara", "me"]
    assert found.evidence[0].id.startswith("d")


def test_a_speaker_narrows_and_an_unknown_one_finds_nothing(view: View) -> None:
    assert [s.source for s in transcript.run(TranscriptSearch(queries=("printer",), speaker="clara"), view).said] == ["Clara"]
    assert not transcript.run(TranscriptSearch(queries=("printer",), speaker="Zoe"), view).said


def test_a_bounded_stretch_is_read_as_a_whole_an_unbounded_one_is_not(view: View) -> None:
    span = Span(T0_US + 120 * US, T0_US + 180 * US)
    assert [s.quote for s in transcript.run(TranscriptSearch(spans=(span,)), view).said] == [
        "The wifi password is under the printer.",
        "Thanks, Clara.",
    ]
    for half in (Span(), Span(T0_US, None), Span(None, T0_US + 999 * US)):
        assert not transcript.run(TranscriptSearch(spans=(half,)), view).said
    assert not transcript.run(TranscriptSearch(), view).said


# Graph


@pytest.mark.parametrize(
    ("action", "step", "first"),
    [
        (GraphSearch(source="Ben", target="wrench", type="USES", spans=(Span(T0_US, T0_US + 100 * US),)), "a", "wrench"),
        (GraphSearch(source="Ben", target="wrench", type="USES", spans=(Span(T0_US + 900 * US, T0_US + 999 * US),)), "b", "wrench"),
        (GraphSearch(source="Ben", target="wrench", type="USES", spans=(Span(T0_US + 86_400 * US, T0_US + 90_000 * US),)), "c", "wrench"),
        (GraphSearch(source="Ben", target="big wrench", type="USES"), "d", "wrench"),
        (GraphSearch(source="Clara", target="printer", type="TALKS_TO"), "e", "printer"),
        (GraphSearch(source="Zoe", target="salt"), "target", "salt"),
    ],
)
def test_the_ladder_goes_from_strict_to_relaxed(view: View, action: GraphSearch, step: str, first: str) -> None:
    found = graph.run(action, view)
    assert (found.step, found.rows[0].target) == (step, first)
    assert found.evidence[0].id[0] in "dm"


def test_where_nothing_is_found_no_step_is_named(view: View) -> None:
    for nothing in (GraphSearch(source="Zoe", target="violin", type="USES"), GraphSearch(source="Zoe")):
        found = graph.run(nothing, view)
        assert (found.step, found.rows) == ("", ())


def test_more_rows_than_one_may_be_asked_for(view: View) -> None:
    one = graph.run(GraphSearch(source="me", target="printer", type="USES"), view)
    four = graph.run(GraphSearch(source="me", target="printer", type="USES", min_rows=2), view)
    assert (one.step, len(one.rows)) == ("a", 1)
    assert len(four.rows) > 1


def test_one_utterance_that_proves_several_relations_tells_them_all(view: View) -> None:
    found = graph.run(GraphSearch(source="Ben", target="bike"), view)
    assert {row.type for row in found.rows} == {"INTERACTS_WITH", "MENTIONS"}
    [proof] = found.evidence
    assert "Ben handled the bike" in proof.text
    assert "Ben spoke of the bike" in proof.text
    assert proof.text.count("I'm fixing the bike with the wrench.") == 1
    assert proof.score == max(row.confidence for row in found.rows)


def test_sql_of_a_model_is_read_only_and_the_ladder_steps_in(view: View) -> None:
    good = "SELECT * FROM entity_graph_table WHERE target_id = 'wrench' AND rel_type = 'USES'"
    assert (graph.run(GraphSearch(sql=good), view).step, graph.run(GraphSearch(sql=good), view).rows[0].source) == ("sql", "Ben")
    for bad in ("DELETE FROM relation", "SELECT * FROM document", "DROP TABLE entity_graph_table", "nonsense"):
        found = graph.run(GraphSearch(sql=bad, target="wrench"), view)
        assert found.step == "a"
        assert "not run" in found.notes[0]


# As of


def test_no_tool_looks_past_the_time_of_the_question(day: Path) -> None:
    with View.open(day, T0_US + 100 * US) as early:
        assert not visual.run(VisualSearch(queries=("office",)), early).evidence
        assert not transcript.run(TranscriptSearch(queries=("password",)), early).said
        assert not transcript.run(TranscriptSearch(spans=(Span(T0_US + 120 * US, T0_US + 4000 * US),)), early).said
        assert not graph.run(GraphSearch(target="laptop"), early).rows
        assert not graph.run(GraphSearch(sql="SELECT * FROM entity_graph_table WHERE target_id = 'laptop'"), early).rows


# Analyzer


def items(view: View) -> tuple[Evidence, ...]:
    return transcript.run(TranscriptSearch(spans=(Span(T0_US, T0_US + 4000 * US),)), view).evidence


def test_without_a_model_the_words_choose(view: View) -> None:
    judged = Analyzer().run(Analyse(task="who mentioned the wifi password", tool="transcript", items=items(view)), view)
    assert [e.text for e in judged.evidence] == ["Clara: The wifi password is under the printer."]
    assert "password" in judged.finding


def test_a_model_reads_every_line_of_a_bounded_stretch(view: View) -> None:
    one = items(view)[0]
    many = tuple(msgspec.structs.replace(one, id=f"d{n}", t0_us=one.t0_us + 10 * n * US, text=f"line {n}") for n in range(200))
    chat = ScriptedChat(analyse={"finding": "The last one.", "items": [199]})
    judged = Analyzer(Models(chat)).run(Analyse(task="which came last", tool="transcript", items=many), view)
    assert [e.text for e in judged.evidence] == ["line 199"]


def test_what_says_the_same_is_said_once(view: View) -> None:
    one = items(view)[0]
    judged = Analyzer().run(Analyse(task="salt", tool="graph", items=(one, one, *items(view)[:1])), view)
    assert len(judged.evidence) == 1


def test_a_model_chooses_items_and_sees_pictures_with_their_times(view: View) -> None:
    chat = ScriptedChat(vision=True, analyse={"finding": "A kitchen with a cup.", "items": [1, 1, 99]})
    found = visual.run(VisualSearch(queries=("kitchen", "cup")), view)
    judged = Analyzer(Models(chat), AnalyzerSettings(images=2)).run(Analyse(task="where was I", tool="visual", items=found.evidence), view)
    assert judged.evidence == (found.evidence[1],)
    message = chat.prompts[0].messages[-1]
    assert len(message.images) == 2
    assert message.text.count('"picture"') == 2
    assert "2026-05-04T09:00" in message.text


def test_fewer_pictures_are_shown_when_all_are_more_than_the_question_may_spend(view: View, kit_of: Callable[..., AnswerKit]) -> None:
    plan = {"sub_tasks": [{"task": "where was I", "tool": "visual", "visual": [{"queries": ["kitchen", "office", "workshop"]}]}]}
    found = {"finding": "A kitchen.", "items": [0]}
    chat = ScriptedChat(vision=True, plan=plan, analyse=found, grade={"sufficient": "yes"}, answer=_first)
    kit = kit_of(chat)
    kit.models = Models(chat, ModelSettings(tokens_per_question=8000))
    kit.tools = tuple(Analyzer(kit.models) if tool.name == "analyzer" else tool for tool in kit.tools)
    now_us = T0_US + 7200 * US
    answer, _ = ask(view, Question(text="Where was I?", asked_us=now_us, as_of_us=now_us), kit)
    assert answer.status == "answered"
    assert [len(p.messages[-1].images) for p in chat.asked("analyse")] == [3], "half of what is left, at 1,000 tokens each"


def _first(prompt: Prompt) -> dict[str, object]:
    return {"answer": "In the kitchen.", "evidence": re.findall(r'"id":"(m\d+)"', prompt.messages[-1].text)[:1]}


def test_what_was_seen_at_a_place_is_found_however_long_one_was_there(tmp_path: Path) -> None:
    """One relation for every 30 s: more than are read at once after two hours."""
    with Store.open(tmp_path / "memory") as store:
        with store.transaction() as tx:
            me = tx.add_entity(NewEntity(kind="person", name="me", known_us=T0_US))
            kitchen = tx.add_entity(NewEntity(kind="location", name="kitchen", known_us=T0_US))
        for hour in range(8):
            with store.transaction() as tx:
                for window in range(40):
                    t_us = T0_US + (3600 * hour + 30 * window) * US
                    span = {"stream": "day", "t0_us": t_us, "t1_us": t_us + 29 * US, "known_us": t_us + 30 * US}
                    tx.add_relation(NewRelation(source_id=me, type="INTERACTS_WITH", target_id=kitchen, confidence=0.7, **span))
                for second in (600, 3000):  # there, and elsewhere
                    tx.add_moment(_moment(3600.0 * hour + second, (label("kettle"),)))
    with View.open(tmp_path / "memory") as view:
        found = VisualTool(LabelRetriever()).run(VisualSearch(queries=("kettle",), location="kitchen"), view)
    assert sorted((one.t0_us - T0_US) // US for one in found.evidence) == [3600 * hour + 600 for hour in range(8)]
