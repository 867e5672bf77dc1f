"""What each tool and each model is given: arguments for every route, stretches of time on the asker's clock, the question in full."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from edgemem_egagent.actions import Day, GraphSearch, ListDays, Span, TranscriptSearch, VisualSearch
from edgemem_egagent.days import DaysTool
from edgemem_egagent.relations import GraphTool
from edgemem_egagent.spans import spans_of
from edgemem_egagent.visual import VisualTool

from edgemem.answer.planner import AnswerKit, ask
from edgemem.answer.session import Session
from edgemem.clock import from_iso, to_local
from edgemem.errors import UsageError
from edgemem.records import US, Answer, Question
from edgemem.remember.store import Store
from edgemem.remember.view import View

from .conftest import SAID, SEEN, T0_US, LabelRetriever, ScriptedChat, remember

NOW_US = T0_US + 7200 * US
KitOf = Callable[..., AnswerKit]
BERLIN, TOKYO = "Europe/Berlin", "Asia/Tokyo"


def put(view: View, kit: AnswerKit, text: str, *options: str, tz: str = BERLIN, now_us: int = NOW_US) -> tuple[Answer, Session]:
    return ask(view, Question(text=text, asked_us=now_us, as_of_us=now_us, options=options, tz=tz), kit)


def model(*tasks: dict[str, Any], **answers: Any) -> ScriptedChat:
    usual = {
        "plan": {"sub_tasks": list(tasks)}, "revise": {}, "analyse": {"finding": "as found", "items": [0]}, "grade": {"sufficient": "no"},
        "answer": {"answer": "I do not know.", "status": "abstained"},
    }  # fmt: skip
    return ScriptedChat(**{**usual, **answers})


def request(chat: ScriptedChat, task: str, number: int = 0) -> dict[str, Any]:
    body: dict[str, Any] = msgspec.json.decode(chat.asked(task)[number].messages[-1].text)
    return body["request"] | {"data": body["data"]}


def actions(session: Session, kind: type) -> list[Any]:
    return [step.action for step in session.steps if isinstance(step.action, kind)]


# Routes


@pytest.mark.parametrize(("task", "source", "target", "rows"), [
    ("find out when Ben had the wrench", "Ben", "wrench", {("Ben", "USES", "wrench"), ("Ben", "MENTIONS", "wrench")}),
    ("who needed something: did Tomas Novak", "Tomas Novak", "", {("Tomas Novak", "TALKS_TO", "me")}),
    ("did Clara talk to Ben", "Clara", "Ben", set()),
    ("where was the printer", "", "printer", {("me", "USES", "printer"), ("Clara", "MENTIONS", "printer")}),
])  # fmt: skip
def test_route_all_searches_the_graph_for_what_the_sub_task_names(
    view: View, kit_of: KitOf, task: str, source: str, target: str, rows: set[tuple[str, str, str]]
) -> None:
    chat = model({"task": task, "tool": "visual"})
    _, session = put(view, kit_of(chat, route="all"), "What happened?")
    [search] = actions(session, GraphSearch)
    found = GraphTool().run(search, view)
    hinted = {hint.id for hint in found.hints}
    strict = {(r.source, r.type, r.target) for r in found.rows if r.evidence.id not in hinted}
    assert rows <= strict if rows else not strict
    assert all((not source or r.source == source) and (not target or r.target == target) for r in found.rows if r.evidence.id not in hinted)
    assert [s.queries for s in actions(session, TranscriptSearch)] != [()]
    assert actions(session, VisualSearch)


def test_a_sub_task_that_names_nothing_of_the_graph_says_so(view: View, kit_of: KitOf) -> None:
    chat = model({"task": "find the red door", "tool": "graph"})
    put(view, kit_of(chat), "Where was the red door?")
    told = request(chat, "answer")["data"]["findings"]["EntityGraph_Search"][0]["finding"]
    assert "no person, object or place of the graph is named" in told


def test_route_all_asks_the_model_for_the_arguments_of_all_tools(view: View, kit_of: KitOf) -> None:
    chat = model({"task": "wrench", "tool": "graph"})
    put(view, kit_of(chat, route="all"), "Who used the wrench?")
    assert "arguments of all three tools" in chat.asked("plan")[0].messages[0].text
    one = model({"task": "wrench", "tool": "graph"})
    put(view, kit_of(one), "Who used the wrench?")
    assert "arguments of all three tools" not in one.asked("plan")[0].messages[0].text
    assert "{route}" not in one.asked("plan")[0].messages[0].text


# What models read


def test_analyzer_grader_and_answer_read_question_options_time_and_what_is_known(view: View, kit_of: KitOf) -> None:
    chat = model({"task": "workshop", "tool": "visual", "visual": [{"queries": ["workshop"]}]},
                 {"task": "wrench", "tool": "transcript", "transcript": {"queries": ["wrench"]}})  # fmt: skip
    put(view, kit_of(chat), "Who used the wrench?", "Anna", "Ben")
    for task in ("plan", "analyse", "grade", "answer"):
        read = request(chat, task)
        assert read["question"] == "Who used the wrench?"
        assert read["asked_at"] == "2026-05-04T13:00:00+02:00"
        assert read["options"] == [{"number": 0, "text": "Anna"}, {"number": 1, "text": "Ben"}]
    assert request(chat, "analyse", 0)["data"]["known"] == []
    assert request(chat, "analyse", 1)["data"]["known"] == ["Frame_Search, workshop: as found"]
    assert request(chat, "grade")["done"] == ["workshop"]


def test_a_sub_task_may_be_worded_anew_after_what_was_found(view: View, kit_of: KitOf) -> None:
    chat = model({"task": "workshop", "tool": "visual", "visual": [{"queries": ["workshop"]}]}, {"task": "who had it", "tool": "graph"},
                 revise={"task": "when did Ben use the wrench", "graph": {"source": "Ben", "target": "wrench"}})  # fmt: skip
    _, session = put(view, kit_of(chat), "When did the man in the workshop use the wrench?")
    [search] = actions(session, GraphSearch)
    assert (search.source, search.target, search.about) == ("Ben", "wrench", "when did Ben use the wrench")
    assert request(chat, "analyse", 1)["sub_task"] == "when did Ben use the wrench"


# Time


def test_the_planner_is_told_the_days_on_the_askers_clock(view: View, kit_of: KitOf) -> None:
    """What was seen and said from 09:00 to 10:02 UTC was before midnight in Samoa and around midnight on Kiritimati."""
    kiritimati = ["2026-05-04", "2026-05-05"]
    for tz, dates in ((BERLIN, ["2026-05-04"]), ("Pacific/Kiritimati", kiritimati), ("Pacific/Pago_Pago", ["2026-05-03"])):
        chat = model({"task": "x", "tool": "visual"})
        put(view, kit_of(chat), "What happened?", tz=tz)
        assert [day["day"] for day in request(chat, "plan")["days"]] == dates


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same hour on three days; the last is two weeks after the second."""
    directory = tmp_path_factory.mktemp("week") / "memory"
    with Store.open(directory) as store:
        for day in (0, 1, 15):
            shift = 86_400 * day
            remember(
                store, {second + shift: seen for second, seen in SEEN.items()}, [(a + shift, b + shift, *rest) for a, b, *rest in SAID]
            )
    return directory


@pytest.fixture
def week_view(week: Path) -> Iterator[View]:
    with View.open(week) as opened:
        yield opened


def test_days_that_hold_nothing_are_left_out(week_view: View) -> None:
    found = DaysTool().run(ListDays(tz=BERLIN), week_view).days
    assert [day.date for day in found] == ["2026-05-04", "2026-05-05", "2026-05-19"]
    assert [(day.first_us - T0_US) // US % 86_400 for day in found] == [1, 1, 1]
    assert [(day.last_us - T0_US) // US % 86_400 for day in found] == [3708, 3708, 3708]


def test_a_visual_sub_task_looks_at_several_days_and_times_with_queries_of_their_own(week_view: View, kit_of: KitOf) -> None:
    looks = [{"queries": ["cup"], "day": "2026-05-05", "from": "11:00", "to": "11:01"},
             {"queries": ["laptop", "office"], "day": "2026-05-19"},
             {"queries": ["kitchen"], "from": "11:00", "to": "11:00:05"}]  # fmt: skip
    chat = model({"task": "what stood there", "tool": "visual", "visual": looks})
    _, session = put(week_view, kit_of(chat), "What did I do?", now_us=T0_US + 20 * 86_400 * US)
    first, second, third = actions(session, VisualSearch)
    assert first.spans == (Span(T0_US + 86_400 * US, T0_US + 86_460 * US),)
    assert second.spans == (Span(from_iso("2026-05-18T22:00:00Z"), from_iso("2026-05-19T22:00:00Z") - 1),)
    assert third.spans == tuple(Span(T0_US + day * 86_400 * US, T0_US + (day * 86_400 + 5) * US) for day in (0, 1, 15))
    assert len(chat.asked("analyse")) == 3
    found = VisualTool(LabelRetriever()).run(third, week_view).evidence
    assert sorted((e.t0_us - T0_US) // US for e in found) == [1, 4, 86_401, 86_404, 15 * 86_400 + 1, 15 * 86_400 + 4]


def test_transcript_and_graph_recur_too(week_view: View, kit_of: KitOf) -> None:
    chat = model({"task": "password", "tool": "transcript", "transcript": {"from": "11:02", "to": "11:03"}},
                 {"task": "cup", "tool": "graph", "graph": {"source": "me", "type": "USES", "from": "11:00", "to": "11:01"}})  # fmt: skip
    put(week_view, kit_of(chat), "What was said?", now_us=T0_US + 20 * 86_400 * US)
    said = request(chat, "analyse", 0)["data"]["items"]
    assert [item["text"] for item in said] == ["Clara: The wifi password is under the printer.", "me: Thanks, Clara."] * 3
    used = request(chat, "analyse", 1)["data"]["items"]
    assert [(item["time"][:16], item.get("fails")) for item in used] == [(f"2026-05-{d}T11:00", None) for d in ("04", "05", "19")]


HELD = (Day(date="2026-05-04", first_us=0, last_us=1), Day(date="2026-05-05", first_us=0, last_us=1))
END = from_iso("2026-05-06T00:00:00Z")


@pytest.mark.parametrize(("day", "begin", "end", "spans"), [
    ("", "", "", []),
    ("soon", "later", "", []),
    ("2026-05-04", "", "", [("04 00:00:00", "04 23:59:59.999999")]),
    ("2026-05-04", "07:00", "", [("04 07:00:00", "04 23:59:59.999999")]),
    ("2026-05-04", "", "7:30", [("04 00:00:00", "04 07:30:00")]),
    ("2026-05-04", "22:00", "02:00:30", [("04 22:00:00", "05 02:00:30")]),
    ("", "07:00", "09:00", [("04 07:00:00", "04 09:00:00"), ("05 07:00:00", "05 09:00:00")]),
    ("", "2026-05-04T07:00", "09:00", [("04 07:00:00", "04 09:00:00")]),
    ("", "2026-05-04T07:00", "", [("04 07:00:00", "06 02:00:00")]),
    ("2026-05-07", "", "", []),
    ("", "2026-05-04T07:00", "2030-01-01", [("04 07:00:00", "06 02:00:00")]),
    ("", "2026-05-05T07:00", "2026-05-04T07:00", [("", "04 07:00:00")]),
])  # fmt: skip
def test_stretches_of_time_are_read_on_the_clock_of_the_one_who_asks(day: str, begin: str, end: str, spans: list[tuple[str, str]]) -> None:
    found = spans_of(day, begin, end, HELD, BERLIN, END)
    assert [(_text(span.from_us), _text(span.to_us)) for span in found] == spans


def _text(t_us: int | None) -> str:
    return "" if t_us is None else to_local(t_us, BERLIN).strftime("%d %H:%M:%S.%f").rstrip("0").rstrip(".")


def test_summer_time_ends_inside_a_day() -> None:
    """2026-10-25 has 25 hours in Berlin."""
    [span] = spans_of("2026-10-25", "", "", (), BERLIN, from_iso("2026-11-01T00:00:00Z"))
    assert span.to_us is not None
    assert span.from_us is not None
    assert span.to_us + 1 - span.from_us == 25 * 3600 * US


def test_the_table_of_relations_is_on_the_askers_clock(view: View, kit_of: KitOf) -> None:
    sql = "SELECT * FROM entity_graph_table WHERE target_id = 'wrench' AND day = '2026-05-04' AND start_t BETWEEN {} AND {}"
    for tz, low, high in (("UTC", 9000000, 9020000), (BERLIN, 11000000, 11020000), (TOKYO, 18000000, 18020000)):
        found = GraphTool().run(GraphSearch(sql=sql.format(low, high), tz=tz), view)
        assert (found.step, {row.target for row in found.rows}) == ("sql", {"wrench"})
        assert not GraphTool().run(GraphSearch(sql=sql.format(low + 40000, high + 40000), tz=tz), view).rows
    rows = GraphTool().run(GraphSearch(sql=sql.format(9000000, 9020000), target="bike"), view)
    assert (rows.step, {row.target for row in rows.rows}) == ("sql", {"wrench"})
    none = GraphTool().run(GraphSearch(sql="SELECT id FROM entity_graph_table WHERE target_id = 'violin'"), view)
    assert (none.rows, none.notes) == ((), ())
    chat = model({"task": "wrench", "tool": "graph", "graph": {"sql": sql.format(11000000, 11020000)}})
    put(view, kit_of(chat), "Who used the wrench?")
    assert request(chat, "analyse")["data"]["items"][0]["time"] == "2026-05-04T11:01:11+02:00"


def test_nobody_but_the_table_may_call_its_clock(view: View) -> None:
    with pytest.raises(UsageError, match=r"not authorized|prohibited"):
        view.select("SELECT edgemem_ahead_us(1) FROM entity_graph_table", tz=BERLIN)
    with pytest.raises(UsageError, match="is not a time zone"):
        view.select("SELECT id FROM entity_graph_table", tz="Mars/Olympus")
