"""The loop around a planner: checks, steps, what an answer keeps of a reply, sessions that go on, planners as generators."""

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from edgemem.answer.check import BaseCheck, CitesEvidence, ValidOption, WithinAsOf, WithinQuestion
from edgemem.answer.gather import Pool
from edgemem.answer.generator_planner import Thinking, Thought
from edgemem.answer.planner import AnswerKit, ask
from edgemem.answer.session import Session, Step, turns_before
from edgemem.answer.tool_base import BasePlanner, BaseTool, ToolResult
from edgemem.answer.tools import Action, Count, Found, Inspect, Refused, Reply, Search
from edgemem.answer.understand import Parsed
from edgemem.answer.understand.timespan import TimeSpan
from edgemem.errors import ChatError, PluginError, UsageError
from edgemem.llm.calls import Call
from edgemem.records import US, Answer, Question
from edgemem.remember.entries import NewSession
from edgemem.remember.store import Store
from edgemem.remember.view import View
from tests.answer.conftest import START_US
from tests.answer.test_limits import evidence

NOW_US, DAY_US = START_US + 300 * US, 86_400 * US


def asked(options: tuple[str, ...] = (), *, calls: int = 1, **span: Any) -> Session:
    question = Question(text="?", asked_us=1000, as_of_us=1000, options=options)
    session = Session(question, lambda: (Parsed(kind="other"), TimeSpan(**span)))
    session.calls += [Call(task="plan", model="m", step=1)] * calls
    return session


# ---------------------------------------------------------------------------------------------------------------------------- checks


@pytest.mark.parametrize(
    ("span", "action", "window"),
    [
        ({}, (None, None), (None, None)),
        ({}, (5, 9), (5, 9)),
        ({"from_us": 10, "to_us": 20}, (None, None), (10, 20)),
        ({"from_us": 10, "to_us": 20}, (5, 15), (10, 15)),
        ({"from_us": 10, "to_us": 20}, (12, 30), (12, 20)),
        ({"from_us": 10, "to_us": 20, "fell_back": True}, (5, 30), (5, 30)),
        ({"from_us": 10, "to_us": 20, "at_us": 15}, (None, None), (15 - DAY_US, 15 + DAY_US)),
    ],
)
def test_a_language_model_looks_only_where_the_question_points(span: Any, action: Any, window: Any) -> None:
    check, look = WithinQuestion(), Search(query="x", from_us=action[0], to_us=action[1])
    found = check.rewrite(BaseCheck().rewrite(look, asked()), asked(**span))
    assert (found.from_us, found.to_us) == window  # type: ignore[union-attr]
    assert check.rewrite(look, asked(calls=0, **span)) is look, "no model has read anything"
    for other in (Reply(text="x"), Count(name="x")):
        assert isinstance(check.rewrite(other, asked(**span)), type(other))
    assert check.rewrite(Reply(text="x"), asked(from_us=1)) == Reply(text="x")


@pytest.mark.parametrize(
    ("from_us", "to_us", "why"),
    [(1000, 1000, ""), (1001, None, "begins after"), (5, 4, "ends before"), (5, 5, ""), (None, 4, ""), (None, None, ""), (4, None, "")],
)
def test_no_look_past_the_as_of_time_or_backwards(from_us: Any, to_us: Any, why: str) -> None:
    said = WithinAsOf().before_action(Search(query="x", from_us=from_us, to_us=to_us), asked())
    assert why in said
    assert bool(said) is bool(why)
    assert WithinAsOf().before_action(Reply(text="x"), asked()) == ""


def test_an_answer_cites_what_came_up_and_an_option_that_was_given() -> None:
    session = asked(("a", "b"))
    session.steps.append(Step(action=Search(query="x"), result=Found(evidence=(evidence(1),)), ms=1.0))
    cites, valid = CitesEvidence(), ValidOption()
    assert cites.before_action(Reply(text="x", evidence=("m1000000",)), session) == ""
    assert "m2" in cites.before_action(Reply(text="x", evidence=("m1000000", "m2", "m3")), session)
    assert "must cite" in cites.before_action(Reply(text="x"), session)
    assert cites.before_action(Reply(text="x", status="abstained"), session) == ""
    assert cites.before_action(Search(query="x"), session) == ""
    for option, right in ((None, True), (0, True), (1, True), (2, False), (-1, False)):
        assert (valid.before_action(Reply(text="x", option=option), session) == "") is right
    assert valid.before_action(Search(query="x"), session) == ""


# ------------------------------------------------------------------------------------------------------------------------- the loop


class Does(BasePlanner):
    """Takes these actions one after another, the last again and again."""

    name = "does"

    def __init__(self, *actions: Any) -> None:
        self._actions = actions

    def next(self, session: Session) -> Any:
        action = self._actions[min(len(session.steps), len(self._actions) - 1)]
        if isinstance(action, Exception):
            raise action
        return action


class Brings(BaseTool):
    """Brings the same for every search."""

    name = "brings"
    action = Search

    def __init__(self, result: Any) -> None:
        self._result = result

    def run(self, _action: Any, _view: View) -> Any:
        if isinstance(self._result, Exception):
            raise self._result
        return self._result


def loop(view: View, kit: AnswerKit, *actions: Any, brings: Any = None, text: str = "where is it", **more: Any) -> tuple[Answer, Session]:
    kit.planner = Does(*actions)
    if brings is not None:
        kit.tools = (*kit.tools, Brings(brings))
    return ask(view, Question(text=text, asked_us=NOW_US, as_of_us=NOW_US, **more), kit)


def test_at_most_a_hundred_options(view: View, kit: AnswerKit) -> None:
    silent = Reply(text="no", status="abstained")
    loop(view, kit, silent, options=("x",) * 100)
    for options in (("x",) * 101, ("x", " ")):
        with pytest.raises(UsageError, match="between 0 and 100 options"):
            loop(view, kit, silent, options=options)
    with pytest.raises(UsageError, match="the question is empty"):
        loop(view, kit, silent, text="?!")


def test_an_answer_keeps_ten_of_each_and_nothing_twice(view: View, kit: AnswerKit) -> None:
    many = tuple(msgspec.structs.replace(evidence(n), t0_us=0, t1_us=0) for n in range(30))
    ids = tuple(one.id for one in many)
    reply = Reply(text="there", evidence=(*ids[:12], ids[0]), alternatives=(ids[3], "m77", *ids[12:29], ids[13]), confidence=0.123456)
    answer, session = loop(view, kit, Search(query="x"), reply, brings=Found(evidence=many))
    assert [one.id for one in answer.evidence] == list(ids[:10])
    assert [one.id for one in answer.alternatives] == list(ids[12:22])
    assert (answer.confidence, answer.steps, len(session.steps)) == (0.1235, 2, 1)


def test_why_a_channel_was_silent_is_noted_unless_words_answered(view: View, kit: AnswerKit) -> None:
    seen, heard = evidence(1), evidence(2, channel="speech")
    for first, noted in ((seen, True), (heard, False)):
        pool = Pool(evidence=(msgspec.structs.replace(first, t0_us=0),), notes=("no engine",), by_words="by words alone")
        answer, _ = loop(view, kit, Search(query="x"), Reply(text="x", evidence=(first.id,), notes=("mine",)), brings=pool)
        assert answer.notes == (("mine", "no engine", "by words alone") if noted else ("mine", "by words alone"))
    pool = Pool(evidence=(msgspec.structs.replace(heard, t0_us=0),), notes=("no engine",))
    answer, _ = loop(view, kit, Search(query="x"), Reply(text="x", status="abstained"), brings=pool)
    assert answer.notes == ("no engine",)
    found = Found(evidence=(msgspec.structs.replace(heard, t0_us=0),), notes=("no engine",))
    answer, _ = loop(view, kit, Search(query="x"), Reply(text="x", evidence=(heard.id,)), brings=found)
    assert answer.notes == ("no engine",)


def test_a_tool_that_fails_changes_something_or_looks_ahead_is_refused(view: View, kit: AnswerKit) -> None:
    end = Reply(text="no", status="abstained")
    late = Found(evidence=(msgspec.structs.replace(evidence(1), t0_us=view.as_of_us + 1),))
    now = Found(evidence=(msgspec.structs.replace(evidence(1), t0_us=view.as_of_us),))
    for brings, why, failed in ((ChatError("away"), "away", True), (late, "later than the as-of time", False)):
        result = loop(view, kit, Search(query="x"), end, brings=brings)[1].steps[0].result
        assert isinstance(result, Refused)
        assert (why in result.why, result.failed) == (True, failed)
    assert loop(view, kit, Search(query="x"), end, brings=now)[1].steps[0].result == now

    class Writes(Brings):
        effect = True

    kit.tools = (*kit.tools, Writes(now))
    result = loop(view, kit, Search(query="x"), end)[1].steps[0].result
    assert isinstance(result, Refused)
    assert "has an effect" in result.why
    kit.tools = ()
    with pytest.raises(PluginError, match='"does" asked for "Search"'):
        loop(view, kit, Search(query="x"), end)


def test_the_local_planner_answers_where_another_one_fails(view: View, kit: AnswerKit) -> None:
    answer, _ = loop(view, kit, ChatError("no model"), text="Where was the rocket?")
    assert "museum" in answer.answer
    assert answer.notes[0] == "planner does: no model; the local planner answered"
    late, session = loop(view, kit, Search(query="cat"), ChatError("no model"), text="Where was the rocket?")
    assert (late.answer, session.steps[0].action) == (answer.answer, Search(query="cat")), "also after a step of the other one"
    kit.fallback = kit.planner = Does(ChatError("no model"))
    with pytest.raises(ChatError):
        ask(view, Question(text="where", asked_us=NOW_US, as_of_us=NOW_US), kit)


def test_each_step_is_watched_and_measured(view: View, kit: AnswerKit) -> None:
    watched: list[tuple[str, Action, bool]] = []
    kit.planner = Does(Search(query="cat"), Search(query="dog"), Reply(text="no", status="abstained"))
    began = time.perf_counter()
    answer, session = ask(
        view, Question(text="where", asked_us=NOW_US, as_of_us=NOW_US), kit,
        watch=lambda name, step: watched.append((name, step.action, step.ms > 0)),
    )  # fmt: skip
    spent_ms = 1000 * (time.perf_counter() - began)
    assert watched == [("does", Search(query="cat"), True), ("does", Search(query="dog"), True)]
    assert 0 < session.steps[0].ms <= answer.usage.ms <= spent_ms
    assert (answer.usage.tokens_in, answer.usage.tokens_out) == (0, 0)


class OnlyCats(BaseCheck):
    """Lets nothing be looked for but cats."""

    name = "only_cats"

    def rewrite(self, action: Action, _session: Session) -> Action:
        return action if isinstance(action, Reply) else Search(query="cat")


def test_checks_rewrite_what_another_planner_asks_for_and_not_what_the_local_one_does(view: View, kit: AnswerKit) -> None:
    local, kit.checks = kit.planner, (OnlyCats(),)
    _, session = loop(view, kit, Search(query="dog"), Reply(text="no", status="abstained"))
    assert session.steps[0].action == Search(query="cat")
    kit.planner = local
    answer, session = ask(view, Question(text="Where was the rocket?", asked_us=NOW_US, as_of_us=NOW_US), kit)
    assert "museum" in answer.answer
    assert not any(isinstance(step.action, Search) for step in session.steps)


def test_the_steps_are_used_up(view: View, kit: AnswerKit) -> None:
    answer, session = loop(view, kit, Search(query="cat"))
    assert (answer.status, answer.confidence, len(session.steps)) == ("abstained", 0.0, 140)
    assert answer.notes == ("step limit reached",)


def test_a_number_beyond_every_time_is_answered(view: View, kit: AnswerKit) -> None:
    for text in ("what did I see 99999999999999 years ago", "what did I see at minute 99999999999999999", "9999999999999 days ago"):
        answer = ask(view, Question(text=text, asked_us=NOW_US, as_of_us=NOW_US), kit)[0]
        assert answer.answer in {
            "A number in the question is beyond every time and count that this memory could hold.",
            "This memory does not reach back that far.",
            f'No stream in this memory is long enough for "{text.removeprefix("what did I see ")}".',
        }  # fmt: skip


# ------------------------------------------------------------------------------------------------------------------------- sessions


def test_a_step_in_one_line_and_the_first_evidence_of_an_id() -> None:
    session, first = asked(), evidence(1, score=0.5)
    again = msgspec.structs.replace(first, score=0.9)
    session.steps += [
        Step(action=Search(query="cat"), result=Found(evidence=(first, evidence(2))), ms=1.0),
        Step(action=Count(name="cat"), result=Refused(why="no"), ms=1.0),
        Step(action=Inspect(from_us=0, to_us=1), result=ToolResult(evidence=(again,)), ms=1.0),  # type: ignore[arg-type]
    ]
    assert [step.summary for step in session.steps] == ["search cat: 2 hits", "count cat: refused, no", "inspect: 1 hits"]
    assert session.evidence()["m1000000"].score == 0.5


def test_a_task_that_showed_no_picture_is_noted() -> None:
    session = asked(calls=0)
    session.unshown = {"plan": "no model sees", "check": "it has faded", "write": "too large"}
    session.calls += [
        Call(task="plan", model="m", step=1, pictures=2), Call(task="check", model="m", step=1, pictures=0),
        Call(task="write", model="m", step=1, pictures=1, error="away"),
    ]  # fmt: skip
    assert session.picture_notes == ("no picture was shown to the check: it has faded", "no picture was shown to the write: too large")


def test_which_session_a_question_goes_on_about(tmp_path: Path) -> None:
    follow = "and the one before?"
    with Store.open(tmp_path / "memory") as store:
        for number, text in enumerate(("where is the mug?", *[follow] * 8)):
            with store.transaction() as tx:
                tx.add_session(
                    NewSession(
                        question=text, recipe="default", planner="local", asked_us=START_US + 600 * US * number, as_of_us=START_US,
                        status="answered", answer="", option=None, confidence=0.5, tokens_in=0, tokens_out=0, usd=0.0, ms=1.0,
                    )
                )  # fmt: skip
            if number == 7:
                with View.open(tmp_path / "memory") as view:
                    assert turns_before(view, "last")[0].question == "where is the mug?", "the eighth from the end"
    with View.open(tmp_path / "memory") as view:
        assert [turn.question for turn in turns_before(view, "last")] == [follow] * 8, "only the last eight are read"
        assert [turn.question for turn in turns_before(view, "1")] == ["where is the mug?"]
        for unknown in ("9" * 18, "9" * 19, "-1"):
            with pytest.raises(UsageError, match="has no session"):
                turns_before(view, unknown)


class Slow(Thinking):
    """Looks once and answers with what it found."""

    name = "slow"

    def think(self, _session: Session) -> Thought:
        found = yield Search(query="x")
        yield Reply(text=f"{len(found.evidence)} hits", status="abstained")


def test_a_planner_as_a_generator_answers_several_questions_at_once() -> None:
    planner, sessions = Slow(), [asked() for _ in range(5)]
    for session in sessions:
        assert isinstance(planner.next(session), Search)
    for session in sessions:
        session.steps.append(Step(action=Search(query="x"), result=Found(evidence=(evidence(1),)), ms=1.0))
    assert planner.next(sessions[0]) == Reply(text="1 hits", status="abstained")
    assert planner.next(sessions[2]) == Reply(text="1 hits", status="abstained")
    for refused in (asked(problem="Not yet."), asked()):
        refused.empty = not refused.span.problem
        said = refused.span.problem or "This memory is empty."
        assert planner.next(refused) == Reply(text=said, status="abstained", confidence=0.0)
    sessions[3].steps.append(Step(action=Reply(text="x"), result=Refused(why="cites nothing"), ms=1.0))
    given_up = Reply(text="I found nothing that proves an answer.", status="abstained", confidence=0.0, notes=("cites nothing",))
    assert planner.next(sessions[3]) == given_up
