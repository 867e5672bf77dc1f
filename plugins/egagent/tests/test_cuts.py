"""What planner, graph search and the answer without a model are given and give back: cuts, orders and thresholds on both sides."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec
import pytest
from edgemem_egagent.actions import Day, GraphSearch, Hint, Lines, ListDays, Span, TranscriptSearch
from edgemem_egagent.days import DaysTool
from edgemem_egagent.graph import Line, SameAs
from edgemem_egagent.memory import Finding, WorkingMemory
from edgemem_egagent.plan import Listening, Look, Relating, SubTask, asked, searches, typed
from edgemem_egagent.planner import AnswerReply, EgagentPlanner, _refused, _reply
from edgemem_egagent.relations import EDGES, GraphTool
from edgemem_egagent.settings import PlannerSettings
from edgemem_egagent.spans import spans_of
from edgemem_egagent.without_model import _nearest, _quoted
from edgemem_egagent.writers import FusedCaption, Triples, TriplesSettings, _digest

from edgemem.answer.planner import AnswerKit, ask
from edgemem.answer.session import Session, TimeSpan
from edgemem.answer.tools import Reply
from edgemem.answer.understand.people import Asked
from edgemem.answer.understand.record import Parsed
from edgemem.config import ModelSettings
from edgemem.errors import ChatError
from edgemem.llm.models import Models
from edgemem.records import US, Evidence, Question
from edgemem.remember.entries import NewEntity, NewRelation
from edgemem.remember.store import Store
from edgemem.remember.view import View
from edgemem.see.operations import BoardIdle

from .conftest import T0_US, ScriptedChat, remember

KitOf = Callable[..., AnswerKit]
LONG = "z" * 700


def item(name: str, text: str = "", second: float = 0.0) -> Evidence:
    t_us = round(second * US)
    return Evidence(id=name, channel="speech", stream="s", t0_us=t_us, t1_us=t_us, offset_us=0, score=0.5, text=text)


def session(text: str = "What?", parsed: Any = None, span: TimeSpan | None = None, **more: Any) -> Session:
    question = Question(text=text, asked_us=more.pop("asked_us", 900 * US), as_of_us=more.pop("as_of_us", 800 * US), **more)
    return Session(question=question, understood=lambda: (parsed or Parsed(kind="other"), span or TimeSpan()))


# Arguments


def made(task: SubTask, **settings: Any) -> list[Any]:
    return list(searches(task, session(), WorkingMemory(), PlannerSettings(**settings)).searches)


def test_long_names_are_cut_to_what_a_search_takes() -> None:
    [look] = made(SubTask(task="t", tool="visual", visual=(Look(queries=(" a ", " "), location="l" * 120),)))
    assert (look.queries, len(look.location)) == (("a",), 100)
    [line] = made(SubTask(task="t", tool="transcript", transcript=Listening(queries=("a",), speaker="s" * 120)))
    assert len(line.speaker) == 100
    [row] = made(SubTask(task="t", tool="graph", graph=Relating(source="s" * 120, target="t" * 120, type="USES")))
    assert (len(row.source), len(row.target), row.type) == (100, 100, "USES")
    [words] = made(SubTask(task="z" * 400, tool="visual"))
    assert words.queries == ("z" * 120,)
    [words] = made(SubTask(task="z" * 400, tool="transcript"))
    assert words.queries == ("z" * 120,)


def test_a_question_is_asked_at_the_earlier_of_its_two_times() -> None:
    assert asked(session())["asked_at"] == asked(session(asked_us=800 * US, as_of_us=900 * US))["asked_at"] == "1970-01-01T00:13:20+00:00"


@pytest.mark.parametrize(
    ("named", "span"),
    [
        (TimeSpan(), Span()),
        (TimeSpan(from_us=5), Span(5, 800 * US)),
        (TimeSpan(to_us=7), Span(None, 7)),
        (TimeSpan(from_us=5, to_us=10**15), Span(5, 800 * US)),
    ],
)
def test_without_times_of_its_own_a_search_has_those_of_the_question(named: TimeSpan, span: Span) -> None:
    work = searches(SubTask(task="t", tool="visual"), session(span=named), WorkingMemory(), PlannerSettings())
    assert work.searches[0].spans == (span,)


def test_times_of_day_are_looked_for_on_the_latest_64_days() -> None:
    days = [Day(date=f"2026-{1 + n // 28:02}-{1 + n % 28:02}", first_us=0, last_us=0) for n in range(70)]
    found = spans_of("", "07:00", "08:00", days, "UTC", 10**18)
    assert len(found) == 64
    assert found[0].from_us == spans_of(days[6].date, "07:00", "", (), "UTC", 10**18)[0].from_us


def test_what_happens_at_midnight_belongs_to_one_day(tmp_path: Path) -> None:
    midnight_s = 15 * 3600
    with Store.open(tmp_path / "memory") as store:
        remember(store, {midnight_s: (), midnight_s - 0.000001: ()}, [])
        with store.view() as view:
            found = DaysTool().run(ListDays(), view).days
    day_us = T0_US + midnight_s * US
    assert found == (
        Day(date="2026-05-04", first_us=day_us - 1, last_us=day_us - 1), Day(date="2026-05-05", first_us=day_us, last_us=day_us),
    )  # fmt: skip


def test_an_end_at_its_beginning_is_a_stretch_of_no_length_and_none_past_the_question() -> None:
    [span] = spans_of("", "2026-05-04T07:00", "2026-05-04T07:00", (), "UTC", 10**18)
    assert span.from_us == span.to_us
    [same] = spans_of("2026-05-04", "07:00", "07:00", (), "UTC", 10**18)
    assert same.from_us == same.to_us == span.from_us
    at_us = span.from_us or 0
    assert spans_of("", "2026-05-04T07:00", "", (), "UTC", at_us) == (Span(at_us, at_us),)
    assert spans_of("", "2026-05-04T07:00", "", (), "UTC", at_us - 1) == ()


# Sub-tasks without a model


def test_sub_tasks_without_a_model_are_cut_to_what_their_arguments_take() -> None:
    wanted = Asked(wanted="when", types=("USES",), source="s" * 200, target="t" * 300, about="a" * 500)
    [graph, said] = typed(session(parsed=Parsed(kind="when", asked=wanted)))
    assert graph.graph is not None
    assert said.transcript is not None
    assert (graph.graph.source, graph.graph.target, len(graph.task)) == ("s" * 120, "t" * 120, 400)
    assert (said.transcript.queries, said.transcript.speaker, len(said.task)) == (("a" * 120,), "s" * 120, 400)
    anyone = typed(session(parsed=Parsed(kind="when", asked=Asked(wanted="who", about="the wifi"))))
    assert [task.task for task in anyone] == ["what anybody said about the wifi"]
    assert [task.task for task in typed(session(parsed=Parsed(kind="when", asked=Asked(wanted="who", source="Ben", about="it"))))] == [
        "what Ben said about it"
    ]


def test_without_a_model_two_things_are_looked_for_and_what_was_said_of_them() -> None:
    parsed = Parsed(kind="where", things=("mug",), choices=("cup", "bowl", "pan"), anchors=(LONG,), place="p" * 200)
    found = typed(session(text=LONG, parsed=parsed))
    looks = [task.visual[0] for task in found if task.visual]
    assert looks[0].queries == ("z" * 120,)
    assert len(looks) == 3
    assert looks[1].location == "p" * 120
    assert len(found[0].task) == 400
    assert found[-1].transcript is not None
    assert len(typed(session(text=LONG, parsed=parsed), 2)) == 2


# Answers


def verdict(**more: Any) -> AnswerReply:
    return AnswerReply(answer="x", confidence=0.9, **more)


def test_an_answer_cites_ten_and_one_of_hints_is_half_sure_at_most() -> None:
    names = [f"d{n}" for n in range(14)]
    assert _reply(verdict(), names, doubted=False).evidence == tuple(names[:10])
    assert _reply(verdict(), names, doubted=False).confidence == 0.9
    doubted = _reply(verdict(because="why"), names, doubted=True)
    assert (doubted.confidence, doubted.notes[0], len(doubted.notes)) == (0.5, "why", 2)
    assert _reply(verdict(status="abstained"), [], doubted=True).confidence == 0.9, "what claims nothing is not doubted"
    assert _reply(verdict(), [], doubted=True).notes == ("this rests on relations of another time or type than those searched for",)


@pytest.mark.parametrize(
    ("said", "fails", "options", "why"),
    [
        (verdict(), [()], 0, ""),
        (verdict(), [], 0, "cites no evidence"),
        (verdict(status="abstained"), [], 2, ""),
        (verdict(), [("source",), ("time",)], 0, ""),
        (verdict(), [("source",), ("target", "time")], 0, "hints about somebody"),
        (verdict(option=0), [()], 2, ""),
        (verdict(option=1), [()], 2, ""),
        (verdict(option=2), [()], 2, "from 0 to 1"),
        (verdict(option=-1), [()], 2, "from 0 to 1"),
        (verdict(), [()], 2, "from 0 to 1"),
        (verdict(option=0), [()], 0, "no options"),
    ],
)
def test_why_a_reply_cannot_stand(said: AnswerReply, fails: list[tuple[str, ...]], options: int, why: str) -> None:
    refused = _refused(said, fails, options)
    assert why in refused
    assert bool(refused) == bool(why)


def remembered(*findings: Finding) -> WorkingMemory:
    memory = WorkingMemory()
    for finding in findings:
        memory.add(finding)
    return memory


def heard(sure: float, *texts: str) -> Finding:
    return Finding(tool="transcript", task="t", text="", evidence=tuple(item(f"d{n}", text) for n, text in enumerate(texts)), sure=sure)


def test_an_utterance_that_holds_three_fifths_of_the_words_is_quoted_with_200_letters() -> None:
    assert _quoted(session(), remembered(heard(0.59, "a"))) is None
    reply = _quoted(session(), remembered(heard(0.6, *[LONG] * 14), heard(0.5, "b")))
    assert reply is not None
    assert (reply.text.count("z"), reply.confidence) == (pytest.approx(200, abs=1), 0.36)
    assert reply.evidence == tuple(f"d{n}" for n in range(10))
    fine = _quoted(session(), remembered(heard(0.61728, "a")))
    assert fine is not None
    assert fine.confidence == 0.3704, "four digits of .6 x .61728 = .370368"
    surest = _quoted(session(), remembered(heard(0.7, "first"), heard(0.8, "second")))
    assert surest is not None
    assert ("second" in surest.text, surest.confidence) == (True, 0.48)


def test_of_options_the_one_that_an_utterance_names_is_chosen_and_the_earlier_of_equals() -> None:
    memory = remembered(heard(0.9, "here is the red key", "there is the blue mug"))
    reply = _quoted(session(options=("a coin", "blue mug", "red key")), memory)
    assert reply is not None
    assert (reply.option, reply.evidence) == (1, ("d1", "d0"))
    assert _quoted(session(options=("violin", "giraffe")), memory) is None
    fifths = session(options=("apple grape lemon mango peach",))
    assert _quoted(fifths, remembered(heard(0.9, "apple grape lemon"))) is not None, "three fifths of its letters"
    assert _quoted(fifths, remembered(heard(0.9, "apple grape"))) is None
    named = session(text="What did Anna say to Ben?")
    assert _quoted(named, remembered(heard(0.9, "anna likes it"))) is None
    assert _quoted(named, remembered(heard(0.9, "anna likes it", "ben and anna"))).evidence == ("d1",)  # type: ignore[union-attr]


def test_the_two_newest_hints_are_told_as_what_comes_nearest() -> None:
    rows = tuple(item(f"r{n}", f'row {n}: "quote"', n) for n in range(14))
    finding = Finding(tool="graph", task="t", text="", evidence=rows, hints=tuple(Hint(id=row.id, fails=("time",)) for row in rows[1:]))
    none = Reply(text="I do not know.", status="abstained", confidence=0.0)
    told = _nearest(none, session(), remembered(finding))
    assert "What comes nearest: row 13 at" in told.text
    assert "and row 12 at" in told.text
    assert "row 11" not in told.text
    assert "quote" not in told.text
    assert told.alternatives == tuple(f"r{n}" for n in range(13, 3, -1))
    assert _nearest(none, session(), remembered(heard(0.9, "a"))) is none


# The plan


def test_without_a_model_a_sure_finding_ends_the_plan_unless_the_question_refers_to_something_else(kit_of: KitOf) -> None:
    planner: Any = kit_of().planner
    plain, referring = session(parsed=Parsed(kind="when")), session(parsed=Parsed(kind="when", anchors=("the party",)))
    for sure, suffices in ((0.79, False), (0.8, True)):
        assert planner._suffices(plain, remembered(heard(sure, "a")), [], []) == suffices
        assert not planner._suffices(referring, remembered(heard(sure, "a")), [], [])
    assert not planner._suffices(plain, remembered(), [], [])


def test_of_a_search_that_nobody_judged_twelve_items_are_kept(tmp_path: Path, kit_of: KitOf) -> None:
    task = {"task": "what was said", "tool": "transcript", "transcript": {"from": "2026-05-04T09:00", "to": "2026-05-04T12:00"}}
    chat = ScriptedChat(plan={"sub_tasks": [task]}, analyse="no JSON", answer={"answer": "?", "status": "abstained"})
    with Store.open(tmp_path / "memory") as store:
        remember(store, {}, [(n * 20, n * 20 + 1, "Ben", f"number {n} is told") for n in range(20)])
        with store.view() as view:
            ask(view, Question(text="What?", asked_us=T0_US + 3600 * US, as_of_us=T0_US + 3600 * US), kit_of(chat))
    read = msgspec.json.decode(chat.asked("answer")[0].messages[-1].text)["data"]["findings"]["Transcript_Search"][0]
    assert (len(read["items"]), read["finding"]) == (12, "not judged")


def test_what_a_model_judged_is_quoted_as_surely_as_it_said_when_it_dies_before_the_answer(tmp_path: Path, kit_of: KitOf) -> None:
    def dies(_prompt: Any) -> str:
        raise ChatError("gone")

    task = {"task": "the number", "tool": "transcript", "transcript": {"from": "2026-05-04T09:00", "to": "2026-05-04T12:00"}}
    chat = ScriptedChat(plan={"sub_tasks": [task]}, analyse={"finding": "x", "items": [0]}, grade={"sufficient": "yes"}, answer=dies)
    with Store.open(tmp_path / "memory") as store:
        remember(store, {}, [(0, 1, "Ben", "it is number nine")])
        with store.view() as view:
            answer, _ = ask(
                view, Question(text="Quelle est la suite?", asked_us=T0_US + 3600 * US, as_of_us=T0_US + 3600 * US), kit_of(chat)
            )
    assert (answer.confidence, "it is number nine" in answer.answer) == (pytest.approx(0.6 * 0.9), True)


@pytest.mark.parametrize(("tokens", "affords"), [(5199, False), (5200, True)])
def test_four_calls_as_large_as_the_answer_must_be_left(kit_of: KitOf, tokens: int, affords: bool) -> None:
    """Nothing found yet: 1,300 tokens for an answer, four times. A finding of 3,000 letters makes it 1,000 and more each."""
    planner: Any = kit_of().planner
    models = Models(ScriptedChat(), ModelSettings(tokens_per_question=tokens))
    assert planner._affords(models, WorkingMemory()) == affords
    assert not planner._affords(models, remembered(heard(0.5, LONG)))
    full = EgagentPlanner(PlannerSettings(spare=1.0), models)
    assert not full._affords(models, WorkingMemory()), "the spare share is not spent"


def test_an_analysis_is_asked_at_the_earlier_time_and_its_task_is_cut() -> None:
    asked_of = EgagentPlanner._analysis(TranscriptSearch(), LONG, Lines(), session(), WorkingMemory())
    assert (asked_of.asked_us, asked_of.task, asked_of.tool) == (800 * US, "z" * 600, "transcript")


def test_every_task_has_room_for_its_reply(view: View, kit_of: KitOf) -> None:
    """Five sub-tasks with arguments need most; a grade is one word and its reason."""
    tasks = [{"task": "wrench", "tool": "transcript", "transcript": {"queries": ["wrench"]}}] * 2
    chat = ScriptedChat(plan={"sub_tasks": tasks}, revise={}, analyse={"finding": "x", "items": [0]}, grade={"sufficient": "no"},
                        answer={"answer": "?", "status": "abstained"})  # fmt: skip
    ask(view, Question(text="Who?", asked_us=T0_US + 7200 * US, as_of_us=T0_US + 7200 * US), kit_of(chat))
    assert {prompt.task.removeprefix("egagent_"): prompt.max_tokens for prompt in chat.prompts} == {
        "plan": 1500, "revise": 600, "analyse": 800, "grade": 200, "answer": 800,
    }  # fmt: skip


# The graph


@pytest.fixture
def uses(tmp_path: Path) -> Any:
    """Ben uses the saw 80 times, a minute apart, written in no order."""
    with Store.open(tmp_path / "uses") as store:
        store.ensure_stream("day", T0_US)
        with store.transaction() as tx:
            who, what = (tx.add_entity(NewEntity(kind=k, name=n, known_us=T0_US)) for k, n in (("person", "Ben"), ("object", "saw")))
            for n in random.Random(1).sample(range(80), 80):
                t_us = T0_US + n * 60 * US
                tx.add_relation(
                    NewRelation(type="USES", source_id=who, target_id=what, stream="day", t0_us=t_us, t1_us=t_us + US, confidence=0.9,
                                known_us=t_us + US)
                )  # fmt: skip
    with View.open(tmp_path / "uses") as view:
        yield view


def test_sixty_rows_are_given_back_the_newest_in_the_order_of_time(uses: View) -> None:
    def minutes(action: GraphSearch) -> list[int]:
        return [(row.t0_us - T0_US) // (60 * US) for row in GraphTool().run(action, uses).rows]

    halves = (Span(T0_US, T0_US + 2399 * US), Span(T0_US + 2400 * US, T0_US + 4799 * US))
    assert minutes(GraphSearch(source="Ben", spans=halves)) == list(range(20, 80))
    assert minutes(GraphSearch(source="Ben", spans=halves[:1])) == list(range(40))
    assert len(minutes(GraphSearch(sql="SELECT id FROM entity_graph_table"))) == EDGES == 60
    assert minutes(GraphSearch(sql="SELECT id FROM entity_graph_table", spans=(Span(T0_US, T0_US + 10 * US),))) in ([], [0])


def test_the_longest_name_that_the_sub_task_says_is_searched_for(view: View) -> None:
    found = GraphTool().run(GraphSearch(about="did Anna and me talk of the salt"), view)
    assert found.rows
    assert not GraphTool().run(GraphSearch(about="the assault"), view).rows, "a name is a word of its own"


# The writer of edges


def test_an_edge_is_drawn_from_the_least_confidence_on(tmp_path: Path) -> None:
    for least, count in ((0.69, 1), (0.8, 0)):
        with Store.open(tmp_path / str(least)) as store:
            remember(store, {}, [(2, 4, "Anna", "I'm using the oven.")], [Triples(TriplesSettings(min_confidence=least))])
            with store.view() as view:
                assert len(view.relations(type="USES")) == count


def test_a_window_that_was_forgotten_is_not_drawn_later(view: View) -> None:
    idle = BoardIdle(payload=msgspec.msgpack.encode(999), stream="day", now_us=T0_US, open_view=lambda: nullcontext(view))  # type: ignore[arg-type]
    for models in (Models(ScriptedChat()), None):
        assert list(Triples(None, models).write(idle)) == list(FusedCaption(None, models).write(idle)) == []


def test_512_joined_names_are_remembered_the_latest(tmp_path: Path) -> None:
    writer, old = Triples(), [bytes([n % 256, n // 256]) for n in range(512)]
    writer.restore(msgspec.msgpack.encode(old))
    with Store.open(tmp_path / "memory") as store:
        remember(store, {}, [(2, 4, "me", "I met Tomas Novak today."), (31, 33, "me", "Tomas likes the garden.")], [writer])
    kept = msgspec.msgpack.decode(writer.state())
    assert (len(kept), kept[0]) == (512, old[1])
    assert len(_digest(SameAs(other="A", name="A B"))) == 8
    assert _digest(SameAs(other="a", name="A b")) == _digest(SameAs(other="A", name="A B"))


@pytest.mark.parametrize(("pause_s", "talked"), [(7, True), (9, False)])
def test_a_talk_is_followed_into_the_window_before(tmp_path: Path, pause_s: float, talked: bool) -> None:
    with Store.open(tmp_path / "memory") as store:
        remember(store, {}, [(27, 29, "Ben", "Nice weather."), (29 + pause_s, 38.5, "Anna", "It rained.")])
        with store.view() as view:
            assert ({r.source.name for r in view.relations(type="TALKS_TO")} == {"Ben", "Anna"}) == talked


def test_twelve_lines_of_the_last_minute_are_read_again(tmp_path: Path) -> None:
    from edgemem_egagent.writers import _said_before

    lines = [(3.0 * n, 3.0 * n + 2, "Ben", f"number {n} is told") for n in range(40)]
    seen: list[list[Line]] = []

    class Watching(Triples):
        def write(self, occasion: Any) -> Any:
            seen.append([one.document.text for one in _said_before(occasion)])
            return super().write(occasion)

    with Store.open(tmp_path / "memory") as store:
        remember(store, {}, lines, [Watching()])
        sparse = [(300 + 8.0 * n, 307.5 + 8.0 * n, "Ben", f"late {n}") for n in range(16)]
        remember(store, {}, sparse, [Watching()])
    assert [len(one) for one in seen[:4]] == [0, 10, 12, 12]
    assert seen[2][-1] == "number 19 is told"
