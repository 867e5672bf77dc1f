"""Asking EGAgent: with a scripted language model, and without one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from edgemem_egagent.actions import GraphSearch, TranscriptSearch, VisualSearch
from edgemem_egagent.analyzer import Analyzer
from edgemem_egagent.plan import Listening, Look, Relating
from edgemem_egagent.planner import EgagentPlanner
from edgemem_egagent.settings import PlannerSettings

from edgemem.answer.planner import AnswerKit, ask
from edgemem.answer.session import Session
from edgemem.config import ModelSettings
from edgemem.errors import ChatError
from edgemem.llm.models import Models
from edgemem.records import US, Answer, Question
from edgemem.remember.view import View

from .conftest import T0_US, ScriptedChat

NOW_US = T0_US + 7200 * US
KitOf = Callable[..., AnswerKit]
PLAN = {
    "sub_tasks": [
        {"task": "when was the workshop in view", "tool": "visual", "visual": [{"queries": ["workshop"]}]},
        {"task": "who used a tool there", "tool": "graph", "graph": {"target": "wrench", "type": "USES"}},
        {"task": "what was said about it", "tool": "transcript", "transcript": {"queries": ["wrench", "bike"]}},
    ]
}


def put(view: View, kit: AnswerKit, text: str, *options: str) -> tuple[Answer, Session]:
    return ask(view, Question(text=text, asked_us=NOW_US, as_of_us=min(NOW_US, view.as_of_us), options=options), kit)


def model(**answers: Any) -> ScriptedChat:
    usual = {
        "plan": PLAN, "revise": {}, "analyse": {"finding": "as found", "items": [0]}, "grade": {"sufficient": "no"},
        "answer": lambda prompt: {"answer": "Ben used the wrench.", "evidence": cited(prompt), "confidence": 0.9, "option": None},
    }  # fmt: skip
    return ScriptedChat(**{**usual, **answers})


def cited(prompt: Any) -> list[str]:
    import re

    return re.findall(r'"id":"([dmr]\d+)"', prompt.messages[-1].text)[-1:]


def searched(session: Session) -> list[type]:
    return [type(s.action) for s in session.steps if isinstance(s.action, VisualSearch | TranscriptSearch | GraphSearch)]


def test_sub_tasks_are_carried_out_judged_remembered_and_cited(view: View, kit_of: KitOf) -> None:
    chat = model(
        revise=lambda p: (
            {"graph": {"target": "wrench"}} if '"tool":"graph"' in p.messages[-1].text else {"transcript": {"queries": ["wrench"]}}
        )
    )
    answer, session = put(view, kit_of(chat), "Who used the wrench in the workshop?")
    assert (answer.status, answer.answer) == ("answered", "Ben used the wrench.")
    assert searched(session) == [VisualSearch, GraphSearch, TranscriptSearch]
    assert "fixing the bike" in answer.evidence[0].text
    memory = chat.asked("answer")[0].messages[-1].text
    assert all(section in memory for section in ("Frame_Search", "EntityGraph_Search", "Transcript_Search"))
    assert "Frame_Search" in chat.asked("revise")[0].messages[-1].text
    assert answer.usage.tokens_in == 10 * len(chat.prompts)
    assert {call.task for call in session.calls} >= {"egagent_plan", "egagent_analyse", "egagent_grade", "egagent_answer"}


def test_the_grader_ends_the_plan_as_soon_as_it_suffices(view: View, kit_of: KitOf) -> None:
    chat = model(grade={"sufficient": "yes", "why": "the workshop is named"})
    _, session = put(view, kit_of(chat), "Who used the wrench?")
    assert searched(session) == [VisualSearch]
    _, whole = put(view, kit_of(model(grade={"sufficient": "yes"}), early_exit=False), "Who used the wrench?")
    assert len(searched(whole)) == 3


def test_nothing_found_is_never_graded_as_enough(view: View, kit_of: KitOf) -> None:
    chat = model(
        grade={"sufficient": "yes"},
        plan={"sub_tasks": [{"task": "moon", "tool": "visual", "visual": [{"queries": ["moon"]}]}, PLAN["sub_tasks"][2]]},
    )
    _, session = put(view, kit_of(chat, revise=False), "Who used the wrench?")
    assert searched(session) == [VisualSearch, TranscriptSearch]


def test_route_all_asks_every_tool(view: View, kit_of: KitOf) -> None:
    plan = {"sub_tasks": [{"task": "who used the wrench", "tool": "graph"}]}
    _, session = put(view, kit_of(model(plan=plan), route="all"), "Who used the wrench?")
    assert searched(session) == [VisualSearch, GraphSearch, TranscriptSearch]


def test_a_plan_with_more_than_five_steps_is_given_back(view: View, kit_of: KitOf) -> None:
    chat = model(plan=[{"sub_tasks": [PLAN["sub_tasks"][0]] * 6}, PLAN])
    answer, session = put(view, kit_of(chat), "Who used the wrench?")
    assert len(chat.asked("plan")) == 2
    assert len(searched(session)) == 3
    assert answer.status == "answered"


def test_options_are_chosen_by_number_with_retries_at_temperature_zero(view: View, kit_of: KitOf) -> None:
    def choose(prompt: Any) -> dict[str, Any]:
        tries.append(prompt)
        option = (None, 7, 1)[min(len(tries) - 1, 2)]
        return {"answer": "Ben.", "option": option, "evidence": cited(prompt), "because": "Transcript_Search"}

    tries: list[Any] = []
    answer, _ = put(view, kit_of(model(answer=choose)), "Who used the wrench?", "Anna", "Ben")
    assert (answer.status, answer.option, len(tries)) == ("answered", 1, 3)
    assert all(prompt.temperature == 0 for prompt in tries)
    assert "Transcript_Search" in answer.notes


def test_an_answer_without_proof_is_asked_for_again_and_then_dropped(view: View, kit_of: KitOf) -> None:
    chat = model(answer={"answer": "Zoe.", "evidence": ["d999"]})
    answer, _ = put(view, kit_of(chat), "Who used the wrench?")
    assert (answer.status, len(chat.asked("answer"))) == ("abstained", 4)


def test_a_model_that_is_gone_is_replaced_by_the_local_planner(view: View, kit_of: KitOf) -> None:
    answer, _ = put(view, kit_of(model(plan="no json at all")), "When did I last use the printer?")
    assert answer.status == "answered"
    assert "printer" in answer.answer
    assert any("the local planner answered" in note for note in answer.notes)


@pytest.mark.parametrize("task", ["grade", "revise", "analyse"])
def test_a_step_on_the_way_that_cannot_be_read_costs_that_step_only(view: View, kit_of: KitOf, task: str) -> None:
    answer, session = put(view, kit_of(model(**{task: "no JSON"})), "Who used the wrench in the workshop?")
    assert (answer.status, answer.answer) == ("answered", "Ben used the wrench.")
    assert len(searched(session)) == 3


def test_answers_that_cannot_be_read_leave_the_question_to_the_local_planner(view: View, kit_of: KitOf) -> None:
    chat = model(answer="no JSON")
    answer, _ = put(view, kit_of(chat), "When did I last use the printer?")
    assert (answer.status, len(chat.asked("answer"))) == ("answered", 4)
    assert any("no valid answer" in note and "the local planner answered" in note for note in answer.notes)


@pytest.mark.parametrize("task", ["grade", "revise", "answer"])
def test_a_model_that_dies_half_way_leaves_an_answer_from_what_was_found(view: View, kit_of: KitOf, task: str) -> None:
    def dies(_prompt: Any) -> str:
        raise ChatError("the server is gone")

    said = {"task": "the wifi password", "tool": "transcript", "transcript": {"from": "2026-05-04T09:00", "to": "2026-05-04T10:00"}}
    other = {"task": "the printer", "tool": "graph", "graph": {"target": "printer"}}
    chat = model(plan={"sub_tasks": [said, other]}, **{task: dies})
    answer, session = put(view, kit_of(chat), "Ou est le mot de passe?")
    assert chat.prompts[-1].task == f"egagent_{task}", "nobody is asked after that"
    assert answer.status == "answered"
    assert any("the server is gone; the local planner answered from what was found" in note for note in answer.notes)
    assert answer.evidence[0].id in {e.id for step in session.steps[:3] for e in getattr(step.result, "evidence", ())}


def test_enough_is_left_for_the_answer_however_dear_the_pictures_are(view: View, kit_of: KitOf) -> None:
    """A picture may cost more than it was thought to; the plan is cut short then, the answer is not lost."""
    visual = {"task": "where was I", "tool": "visual", "visual": [{"queries": ["kitchen", "office", "workshop"]}]}
    chat = model(plan={"sub_tasks": [visual] * 5}, answer=lambda p: {"answer": "In the kitchen.", "evidence": cited(p)})
    chat.vision, chat.picture_tokens = True, 1600
    models = Models(chat, ModelSettings(tokens_per_question=20_000))
    kit = kit_of(chat, revise=False)
    kit.planner = EgagentPlanner(PlannerSettings(revise=False), models)
    kit.models, kit.tools = models, tuple(Analyzer(models) if tool.name == "analyzer" else tool for tool in kit.tools)
    answer, session = put(view, kit, "Where was I?")
    assert (answer.status, answer.answer) == ("answered", "In the kitchen.")
    assert 1 <= len(searched(session)) < 5
    assert len(chat.asked("analyse")[0].messages[-1].images) > len(chat.asked("analyse")[-1].messages[-1].images) > 0


def test_a_bounded_stretch_without_queries_is_read_as_a_whole(view: View, kit_of: KitOf) -> None:
    """EGAgent's better transcript search: a model reads all that was said in a stretch of time."""
    wifi = {"task": "what was said", "tool": "transcript"}
    wifi["transcript"] = {"from": "2026-05-04T11:02:00+02:00", "to": "2026-05-04T09:03:00Z"}
    chat = model(plan={"sub_tasks": [wifi]})
    put(view, kit_of(chat), "What happened then?")
    [asked] = chat.asked("analyse")
    texts = [item["text"] for item in msgspec.json.decode(asked.messages[-1].text)["data"]["items"]]
    assert texts == ["Clara: The wifi password is under the printer.", "me: Thanks, Clara."]


def test_the_model_is_told_every_argument_that_it_may_give(view: View, kit_of: KitOf) -> None:
    chat = model()
    put(view, kit_of(chat), "Who used the wrench in the workshop?")
    for task in ("plan", "revise"):
        told = chat.asked(task)[0].messages[0].text
        assert all(f'"{field.encode_name}"' in told for kind in (Look, Listening, Relating) for field in msgspec.structs.fields(kind))
        assert "{" not in told.replace('{"', "")
        assert all(column in told for column in view.select("SELECT * FROM entity_graph_table LIMIT 0").columns)


def test_relations_are_those_of_the_recipe(view: View, kit_of: KitOf) -> None:
    def types(**settings: Any) -> list[str]:
        graph = {"task": "who used it", "tool": "graph", "graph": {"target": "wrench", "type": "GIVES"}}
        chat = model(plan={"sub_tasks": [graph]})
        _, session = put(view, kit_of(chat, **settings), "Who gave me the wrench?")
        assert ("GIVES" in chat.asked("plan")[0].messages[0].text) == bool(settings)
        return [s.action.type for s in session.steps if isinstance(s.action, GraphSearch)]

    assert (types(), types(relations=("GIVES",))) == ([""], ["GIVES"])


def test_the_model_reads_the_clock_of_the_one_who_asks(view: View, kit_of: KitOf) -> None:
    chat = model()
    question = Question(text="Who used the wrench after 11:01 today?", asked_us=NOW_US, as_of_us=NOW_US, tz="Europe/Berlin")
    ask(view, question, kit_of(chat))
    body = msgspec.json.decode(chat.asked("plan")[0].messages[-1].text)["request"]
    assert (body["asked_at"], body["time_named"]["from"]) == ("2026-05-04T13:00:00+02:00", "2026-05-04T11:01:00+02:00")
    assert '"time":"2026-05-04T11:01:11+02:00"' in chat.asked("answer")[0].messages[-1].text


def test_the_question_stands_apart_from_what_was_seen_and_heard(view: View, kit_of: KitOf) -> None:
    chat = model()
    put(view, kit_of(chat), "Who used the wrench in the workshop?")
    for task in ("plan", "revise", "grade", "answer"):
        body = msgspec.json.decode(chat.asked(task)[0].messages[-1].text)
        assert body["request"]["question"] == "Who used the wrench in the workshop?"
        assert set(body["data"]) <= {"findings"}
    body = msgspec.json.decode(chat.asked("analyse")[-1].messages[-1].text)
    assert set(body["request"]) == {"question", "options", "asked_at", "sub_task", "tool"}
    assert set(body["data"]) == {"items", "known"}


@pytest.mark.parametrize("task", ["plan", "answer"])
def test_a_model_that_refuses_in_plain_words_is_done_without(view: View, kit_of: KitOf, task: str) -> None:
    sorry = "I'm sorry, but I can't help with that."
    said = {"answer": sorry, "evidence": []} if task == "answer" else sorry
    chat = model(**{task: said})
    answer, _ = put(view, kit_of(chat), "When did I last use the printer?")
    assert answer.status == "answered"
    assert "printer" in answer.answer
    assert any("the language model refused: I'm sorry" in note for note in answer.notes)
    assert len(chat.asked(task)) == 1


def test_nothing_after_the_question_reaches_the_model(day: Path, kit_of: KitOf) -> None:
    password = {"task": "password", "tool": "transcript", "transcript": {"queries": ["password"], "to": "2030-01-01T00:00:00Z"}}
    chat = model(plan={"sub_tasks": [password]}, answer={"answer": "I do not know.", "status": "abstained"})  # fmt: skip
    with View.open(day, T0_US + 60 * US) as early:
        question = Question(text="Where is the password?", asked_us=T0_US + 60 * US, as_of_us=T0_US + 60 * US)
        answer, session = ask(early, question, kit_of(chat))
    assert answer.status == "abstained"
    [search] = [s.action for s in session.steps if isinstance(s.action, TranscriptSearch)]
    assert all(span.to_us is None or span.to_us <= T0_US + 60 * US for span in search.spans)
    assert not any("wifi" in m.text for p in chat.prompts for m in p.messages)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("When did I last use the printer?", "10:01:41"),
        ("Who did I talk to today?", "Anna"),
        ("Who was with me when Ben fixed the bike?", "Ben"),
        ("What did Clara say about the wifi?", "under the printer"),
        ("When did I see the laptop?", "10:01:40"),
        ("Where is the wifi password?", "under the printer"),
    ],
)
def test_without_a_model_the_typed_form_answers(view: View, kit_of: KitOf, text: str, said: str) -> None:
    answer, session = put(view, kit_of(), text)
    assert answer.status == "answered", answer.answer
    assert said in answer.answer
    assert answer.evidence
    assert searched(session)


def test_without_a_model_options_are_chosen_too(view: View, kit_of: KitOf) -> None:
    answer, _ = put(view, kit_of(), "What is under the printer?", "the keys", "the wifi password", "a coin")
    assert (answer.status, answer.option) == ("answered", 1)


def test_without_a_model_what_is_not_known_is_not_claimed(view: View, kit_of: KitOf) -> None:
    assert put(view, kit_of(), "When did I last use the chainsaw?")[0].status == "abstained"
    assert put(view, kit_of(), "What did Zoe say?")[0].status == "abstained"


def test_two_questions_at_once_do_not_disturb_each_other(view: View, kit_of: KitOf) -> None:
    kit = kit_of()
    first, second = (put(view, kit, text)[0].answer for text in ("When did I last use the printer?", "What did Clara say?"))
    assert (first, second) == tuple(put(view, kit, text)[0].answer for text in ("When did I last use the printer?", "What did Clara say?"))


def test_every_step_can_be_written_down(view: View, kit_of: KitOf) -> None:
    for kit in (kit_of(), kit_of(model())):
        for step in put(view, kit, "Who used the wrench?")[1].steps:
            assert msgspec.json.decode(msgspec.json.encode(step.action))
            assert msgspec.json.decode(msgspec.json.encode(step.result)) is not None


@pytest.mark.parametrize(
    ("question", "task"),
    [
        ("What was said between 10:00 and 10:05 about the password?",
         {"task": "password", "tool": "transcript",
          "transcript": {"queries": ["password"], "from": "2026-05-04T09:00", "to": "2026-05-04T09:10"}}),
        ("What did I see between 10:00 and 10:05?",
         {"task": "kitchen", "tool": "visual", "visual": [{"queries": ["kitchen"], "day": "2026-05-04"}]}),
    ],
)  # fmt: skip
def test_the_model_looks_at_no_other_time_than_the_question_names(view: View, kit_of: KitOf, question: str, task: Any) -> None:
    """It has read words of the scene, which may tell it to."""
    _, session = put(view, kit_of(model(plan={"sub_tasks": [task]})), question)
    (spans,) = [step.action.spans for step in session.steps if isinstance(step.action, VisualSearch | TranscriptSearch)]
    assert [(span.from_us, span.to_us) for span in spans] == [(T0_US + 3600 * US, T0_US + 3900 * US)]
