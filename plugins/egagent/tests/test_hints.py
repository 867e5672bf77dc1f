"""What a relaxed graph search brings is a hint: told as such, never as an answer, and never as a bare triple."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from edgemem_egagent.actions import Edges, GraphSearch, Span
from edgemem_egagent.relations import GraphTool
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemem.answer.planner import AnswerKit, ask
from edgemem.answer.tools_graph import relation_text
from edgemem.records import US, Answer, Question
from edgemem.remember.view import View

from .conftest import T0_US, ScriptedChat

NOW_US = T0_US + 7200 * US
KitOf = Callable[..., AnswerKit]
TRIPLE = re.compile(r"\b(?:TALKS_TO|INTERACTS_WITH|MENTIONS|USES)\b")
graph = GraphTool()
OTHERS = st.sampled_from(["Anna", "Clara", "Tomas"])
FORMS = st.sampled_from(
    ["When did {} use the wrench?", "When did {} last use the wrench?", "Did {} use the wrench?", "How often has {} used the wrench?",
     "When was {} using the wrench?", "At what time did {} use the wrench today?"]
)  # fmt: skip


def put(view: View, kit: AnswerKit, text: str, *options: str) -> Answer:
    return ask(view, Question(text=text, asked_us=NOW_US, as_of_us=NOW_US, options=options), kit)[0]


def test_only_bens_use_is_recorded_and_nobody_elses_is_claimed(day: Path, kit_of: KitOf) -> None:
    kit = kit_of()

    @given(OTHERS, FORMS)
    @settings(max_examples=18)
    def drawn(name: str, form: str) -> None:
        with View.open(day) as view:
            answer = put(view, kit, form.format(name))
        assert answer.status == "abstained" or answer.answer.startswith("No") or " 0 times" in answer.answer, answer.answer
        assert not TRIPLE.search(answer.answer)
        assert "11:" not in answer.answer

    drawn()


def test_the_abstention_says_what_comes_nearest(view: View, kit_of: KitOf) -> None:
    answer = put(view, kit_of(), "When did Anna use the wrench?")
    assert answer.status == "abstained"
    assert "What comes nearest: Ben used the wrench at 09:01:11" in answer.answer
    assert [one.text.split(":")[0] for one in answer.alternatives] == ["Ben used the wrench"]
    assert not answer.evidence


def test_who_did_use_it_is_answered(view: View, kit_of: KitOf) -> None:
    answer = put(view, kit_of(), "When did Ben use the wrench?")
    assert (answer.status, "09:01:11" in answer.answer) == ("answered", True)
    assert not TRIPLE.search(answer.answer + " ".join(one.text for one in answer.evidence))


def test_a_quote_about_somebody_else_is_no_answer(view: View, kit_of: KitOf) -> None:
    """The utterance holds every word but the name."""
    assert put(view, kit_of(), "What did Felix say: is the wifi password under the printer?").status == "abstained"


@pytest.mark.parametrize(
    ("action", "fails"),
    [
        (GraphSearch(source="Ben", target="wrench", type="USES"), ()),
        (GraphSearch(source="Anna", target="wrench", type="USES"), ("source",)),
        (GraphSearch(source="Ben", target="big wrench", type="USES"), ()),
        (GraphSearch(source="Ben", target="torque tool", type="USES"), ("target",)),
        (GraphSearch(source="Clara", target="printer", type="TALKS_TO"), ("type",)),
        (GraphSearch(source="Ben", target="wrench", spans=(Span(T0_US + 900 * US, T0_US + 999 * US),)), ("time",)),
        (GraphSearch(source="Ben", target="wrench", spans=(Span(T0_US + 900 * US, None), Span(T0_US, T0_US + 74 * US))), ()),
        (GraphSearch(source="Anna", target="wrench", type="TALKS_TO", spans=(Span(T0_US + 900 * US, T0_US + 999 * US),)),
         ("time", "source", "type")),
    ],
)  # fmt: skip
def test_a_row_tells_which_conditions_it_fails(view: View, action: GraphSearch, fails: tuple[str, ...]) -> None:
    found = graph.run(action, view)
    if not found.evidence:
        assert fails == ("target",)
        return
    told = {hint.id: hint.fails for hint in found.hints}
    assert [told.get(one.id, ()) for one in found.evidence] == [fails] * len(found.evidence)


def test_evidence_that_meets_all_conditions_by_one_of_its_rows_is_no_hint(view: View) -> None:
    """Ben's one sentence proves USES and MENTIONS of the wrench: a search for USES that takes in both is answered by it."""
    found = graph.run(GraphSearch(source="Ben", target="wrench", type="USES", min_rows=2), view)
    assert {row.type for row in found.rows} == {"USES", "MENTIONS"}
    assert found.hints == ()
    assert "spoke of" not in found.evidence[0].text, "only what was asked for is told"


def model(**answers: Any) -> ScriptedChat:
    graph_task = {"task": "when did Anna use the wrench", "tool": "graph", "graph": {"source": "Anna", "target": "wrench", "type": "USES"}}
    usual = {
        "plan": {"sub_tasks": [graph_task]}, "analyse": {"finding": "Only Ben used it.", "items": [0]}, "grade": {"sufficient": "yes"},
        "answer": lambda p: {"answer": "At 11:01.", "evidence": re.findall(r'"id":"([dmr]\d+)"', p.messages[-1].text), "confidence": 0.9},
    }  # fmt: skip
    return ScriptedChat(**{**usual, **answers})


def test_a_model_that_cites_only_somebody_elses_relation_is_asked_again_and_then_dropped(view: View, kit_of: KitOf) -> None:
    chat = model()
    answer = put(view, kit_of(chat), "When did Anna use the wrench?")
    assert answer.status == "abstained"
    assert len(chat.asked("answer")) == 4
    assert "hints about somebody or something else" in chat.asked("answer")[1].messages[-1].text
    [item] = msgspec.json.decode(chat.asked("analyse")[0].messages[-1].text)["data"]["items"]
    assert item["fails"] == ["source"]
    assert item["text"] == 'Ben used the wrench: "I\'m fixing the bike with the wrench."'


def test_a_relation_of_another_type_may_answer_with_doubt(view: View, kit_of: KitOf) -> None:
    graph_task = {
        "task": "did Clara talk about the printer",
        "tool": "graph",
        "graph": {"source": "Clara", "target": "printer", "type": "USES"},
    }
    answer = put(view, kit_of(model(plan={"sub_tasks": [graph_task]})), "Did Clara speak of the printer?")
    assert (answer.status, answer.confidence) == ("answered", 0.5)
    assert any("another time or type" in note for note in answer.notes)


def test_hints_alone_never_end_a_plan(view: View, kit_of: KitOf) -> None:
    plan = {"sub_tasks": [{"task": "wrench", "tool": "graph", "graph": {"source": "Anna", "target": "wrench"}},
                          {"task": "wrench", "tool": "transcript", "transcript": {"queries": ["wrench"]}}]}  # fmt: skip
    chat = model(plan=plan, revise={})
    put(view, kit_of(chat), "When did Anna use the wrench?")
    assert len(chat.asked("analyse")) == 2
    assert not chat.asked("grade")


def test_both_ends_and_the_type_are_told_in_words() -> None:
    assert relation_text("me", "USES", "coffee mug", "object") == "you used the coffee mug"
    assert relation_text("Ben", "TALKS_TO", "me", "person") == "Ben talked to you"
    assert relation_text("speaker 3", "INTERACTS_WITH", "kitchen", "location") == "speaker 3 was in the kitchen"
    assert relation_text("someone", "INTERACTS_WITH", "Anna", "person") == "someone did something with Anna"
    assert relation_text("Ben", "INTERACTS_WITH", "bike", "object") == "Ben handled the bike"
    assert relation_text("Ben", "MENTIONS", "Lisbon", "location") == "Ben spoke of Lisbon"
    assert relation_text("Ben", "GIVES_TO", "Anna", "person") == "Ben gives to Anna"


def test_no_row_or_evidence_is_a_bare_triple(view: View) -> None:
    for action in (GraphSearch(source="me"), GraphSearch(target="printer"), GraphSearch(source="Ben", min_rows=40)):
        found: Edges = graph.run(action, view)
        assert found.evidence
        assert not any(TRIPLE.search(one.text) for one in found.evidence)
