"""What a question or a live stream leaves over is done later: summaries, event documents, habits."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from edgemem_vam import summary_key
from edgemem_vam.actions import Exchange, Survey, WriteSummaries
from edgemem_vam.conversation import (
    ConversationWriter,
    SessionMemory,
    before,
    conversation,
    conversations,
    habit_documents,
    known_habits,
)
from edgemem_vam.payload import PLAIN
from edgemem_vam.summaries import SummarySettings, SummaryTool, SummaryWriter, SurveyTool
from edgemem_vam.windows import Windows
from edgemem_vam.wire import Habit
from edgemem_vam.writer import VamEvent, VamEventSettings

from edgemem.answer.session import Session, Step
from edgemem.clock import now_us
from edgemem.config import ModelSettings
from edgemem.errors import ChatError
from edgemem.llm.models import Models
from edgemem.records import US, Question
from edgemem.remember.entries import NewSession
from edgemem.remember.store import Store
from edgemem.remember.view import View
from edgemem.see.carry_out import steps
from edgemem.see.idle import run_idle_job
from edgemem.see.operations import Postpone, SegmentClosed
from edgemem.serve.written import persist


@pytest.fixture
def memory(tmp_path: Path, vam: SimpleNamespace) -> Path:
    with Store.open(tmp_path / "memory") as store:
        vam.remember(store, vam.walk)
    return tmp_path / "memory"


def windows(vam: SimpleNamespace, **keys: Any) -> WriteSummaries:
    span = {"from_us": vam.start_us, "to_us": vam.start_us + 200 * US, "granularity_s": 20.0, "prompt": "things", "structure": "scene"}
    return WriteSummaries(**{**span, **keys})


def keep(store: Store, action: Any, result: Any) -> int:
    session = Session(Question(text="?", asked_us=0, as_of_us=0), steps=[Step(action=action, result=result, ms=0.0)])
    return persist(store, session)


def summaries(store: Store) -> list[str]:
    with store.view() as view:
        return [summary_key.body(document.text) for document in view.documents(kinds=("summary",))]


def models(chat: Any, parallel: int = 4) -> Models:
    return Models(chat, ModelSettings(parallel=parallel))


# Summaries


def test_windows_cover_a_stretch_without_gaps_and_are_at_least_five_seconds() -> None:
    cut = Windows(from_us=0, to_us=50 * US, granularity_s=20.0, structure="a", focus="b")
    assert cut.count == 3
    assert [(cut.key(n).t0_us, cut.key(n).t1_us) for n in range(3)] == [
        (0, 20 * US - 1), (20 * US, 40 * US - 1), (40 * US, 50 * US - 1),
    ]  # fmt: skip
    assert Windows(from_us=0, to_us=20 * US, granularity_s=0.1, structure="", focus="").count == 4
    assert Windows(from_us=7, to_us=7, granularity_s=60, structure="", focus="").count == 1


def test_windows_beyond_the_limit_go_on_as_a_job_until_all_are_written(vam: SimpleNamespace, memory: Path) -> None:
    chat = vam.Chat(["A note."])
    settings, action = SummarySettings(max_windows=3), windows(vam)
    with Store.open(memory) as store:
        with store.view() as view:
            made = SummaryTool(settings, models(chat, 2)).run(action, view)
        assert len(made.windows) == 3 == len(chat.asked)
        assert made.limits == (
            "only the first 3 of 10 windows were summarised (vam_summarize.max_windows); the other 7 are written when the device is idle",
        )
        assert keep(store, action, made) == 3
        writer, rounds = SummaryWriter(settings, models(chat, 2)), 0
        while run_idle_job(store, [writer]):
            rounds += 1
        assert summaries(store) == ["A note."] * 10
        assert len(chat.asked) == 10, "no window was written twice"
        assert rounds == 4, "two at a time: 2, 2, 2 and 1"
        with store.view() as view:
            again = SummaryTool(None, models(vam.Chat([ChatError("must not be asked")]))).run(action, view)
        assert ([note.text for note in again.windows], again.documents, again.postponed) == (["A note."] * 10, (), ())


def test_a_transient_error_costs_its_own_window_only_and_that_is_written_anew(vam: SimpleNamespace, memory: Path) -> None:
    def once_too_many(prompt: Any) -> Any:
        return ChatError("429") if "10:00:20" in msgspec.json.decode(prompt.messages[1].text)["window"]["from"] else "A note."

    action = windows(vam, to_us=vam.start_us + 60 * US)
    with Store.open(memory) as store:
        with store.view() as view:
            made = SummaryTool(None, models(vam.Chat([once_too_many]))).run(action, view)
        assert [note.text.startswith(PLAIN) for note in made.windows] == [False, True, False]
        assert "coffee mug" in made.windows[1].text
        assert made.notes == ("1 of 3 summaries were put together from the event documents: the language model did not write them",)
        assert keep(store, action, made) == 3
        chat = vam.Chat(["A late note."])
        assert run_idle_job(store, [SummaryWriter(None, models(chat))])
        assert sorted(summaries(store)) == ["A late note.", "A note.", "A note."]
        assert len(chat.asked) == 1
        assert not run_idle_job(store, [SummaryWriter(None, models(chat))])


def test_a_summary_that_no_model_wrote_is_written_when_one_is_there(vam: SimpleNamespace, memory: Path) -> None:
    action = windows(vam, to_us=vam.start_us + 60 * US)
    with Store.open(memory) as store:
        with store.view() as view:
            made = SummaryTool().run(action, view)
        assert made.notes == ("summaries were put together from the event documents: no language model is configured",)
        assert made.postponed == (), "without a model a job could not do better"
        keep(store, action, made)
        with store.view() as view:
            assert SummaryTool().run(action, view).documents == ()
            again = SummaryTool(None, models(vam.Chat(["By a model."]))).run(action, view)
        assert [note.text for note in again.windows] == ["By a model."] * 3
        assert keep(store, action, again) == 3
        assert summaries(store) == ["By a model."] * 3


def test_what_was_known_when_a_summary_was_written_does_not_make_it_old(vam: SimpleNamespace, memory: Path) -> None:
    action = windows(vam, to_us=vam.start_us + 60 * US, granularity_s=60.0)
    with Store.open(memory) as store:
        with store.view(vam.start_us + 42 * US) as view:  # the last document of the window became known just then
            made = SummaryTool(None, models(vam.Chat(["A note."]))).run(action, view)
        assert keep(store, action, made) == 1
        with store.view() as view:
            assert SummaryTool(None, models(vam.Chat([ChatError("must not be asked")]))).run(action, view).documents == ()


def test_when_the_server_is_gone_no_more_groups_are_asked_for(vam: SimpleNamespace, memory: Path) -> None:
    chat = vam.Chat([ChatError("gone")])
    with View.open(memory) as view:
        made = SummaryTool(None, models(chat, 2)).run(windows(vam), view)
    assert len(chat.asked) == 2
    assert len(made.windows) == 10
    assert all(note.text.startswith(PLAIN) for note in made.windows)
    assert "gone" not in str(made.notes), "no raw error for the planner"


def test_a_job_looks_through_200_windows_and_then_lets_others_have_a_turn(vam: SimpleNamespace, memory: Path) -> None:
    action = windows(vam, from_us=vam.start_us + 1000 * US, to_us=vam.start_us + 3000 * US, granularity_s=5.0)
    with Store.open(memory) as store:
        with store.view() as view:
            made = SummaryTool(SummarySettings(max_windows=1), models(vam.Chat(["x"]))).run(action, view)
        assert made.windows == ()
        assert len(made.postponed) == 1
        writer, payload, rounds = SummaryWriter(None, models(vam.Chat(["x"]))), made.postponed[0].payload, 0
        while payload:
            with store.view() as view:
                later = writer.write(_idle(payload, view))
            rounds, payload = rounds + 1, later[0].payload if later else b""
        assert rounds == 2, "399 empty windows are left: 200 and 199"


def test_a_job_whose_model_fails_waits_longer_each_time_and_then_goes_on(vam: SimpleNamespace, memory: Path) -> None:
    action = windows(vam, to_us=vam.start_us + 40 * US)
    with Store.open(memory) as store:
        with store.view() as view:
            made = SummaryTool(SummarySettings(max_windows=1), models(vam.Chat([ChatError("x")]))).run(action, view)
        writer = SummaryWriter(None, models(vam.Chat([ChatError("x")]), 1))
        payload, waits = made.postponed[0].payload, []
        for _ in range(20):
            with store.view() as view:
                occasion = _idle(payload, view)
                operations = writer.write(occasion)
            later = [one for one in operations if isinstance(one, Postpone)]
            if not later:
                break
            payload = later[0].payload
            waits.append(later[0].after_s)
        five = [60.0, 120.0, 240.0, 480.0, 960.0]
        assert waits == [*five, 0.0, *five], "five tries for each window"


def _idle(payload: bytes, view: View) -> Any:
    from contextlib import nullcontext

    from edgemem.see.operations import BoardIdle

    return BoardIdle(payload=payload, stream="walk", now_us=now_us(), open_view=lambda: nullcontext(view))


# Event documents


def closed_segment(store: Store) -> SegmentClosed:
    with store.view() as view:
        segment = view.segments()[3]
        moments = tuple(view.segment_moments(segment.id))
        return SegmentClosed(
            segment=segment, moments=moments, observations=view.observations([m.id for m in moments]), open_view=store.view
        )


def carry_out(store: Store, name: str, occasion: Any, operations: Any) -> None:
    with store.transaction() as tx:
        for step in steps(name, occasion, operations):
            step(tx)


def events(store: Store, segment_id: int) -> list[str]:
    with store.view() as view:
        own = [d.text for d in view.documents(kinds=("event",)) if d.segment_id == segment_id]
    return [text for text in own if text.startswith("[event] id=")]


@pytest.mark.parametrize("late", [True, False])
def test_an_event_that_the_model_could_not_describe_has_a_document_at_once_and_its_words_later(
    vam: SimpleNamespace, memory: Path, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = vam.Chat(["A red mug is put down."] if late else [ChatError("429"), "A red mug is put down."])
    writer = VamEvent(VamEventSettings(describe=True), Models(chat))
    with Store.open(memory) as store:
        closed = closed_segment(store)
        operations = writer.write_at_once(closed) if late else writer.write(closed)
        assert len(chat.asked) == (0 if late else 1), "what is written at once waits for no model"
        assert [one.after_s for one in operations if isinstance(one, Postpone)] == [0.0 if late else 60.0]
        carry_out(store, writer.name, closed, operations)
        [plain] = events(store, closed.segment.id)
        assert plain.splitlines()[1] == PLAIN
        assert "ROOM 214" in plain
        assert writer.triggers == {"segment_closed", "idle"}
        monkeypatch.setattr("edgemem.see.idle.now_us", lambda: now_us() + 61 * US)
        assert run_idle_job(store, [writer])
        [described] = events(store, closed.segment.id)
        assert described.endswith("A red mug is put down.")
        assert PLAIN not in described
        assert chat.asked[-1].messages[1].image_ids == tuple(f"m{moment.id}" for moment in closed.moments)


def test_an_event_that_was_forgotten_or_described_meanwhile_is_left_alone(vam: SimpleNamespace, memory: Path) -> None:
    chat = vam.Chat(["words"])
    writer = VamEvent(VamEventSettings(describe=True), Models(chat))
    with Store.open(memory) as store, store.view() as view:
        assert writer.write(_idle(msgspec.msgpack.encode(999), view)) == []
        assert writer.write(_idle(msgspec.msgpack.encode(closed_segment(store).segment.id), view)) == []
    assert chat.asked == []


# Habits


def asked_at(store: Store, vam: SimpleNamespace, *minutes: float, question: str = "where was the mug, please use 14:00, not 2 pm?") -> None:
    for minute in minutes:
        t_us = vam.start_us + round(minute * 60 * US)
        with store.transaction() as tx:
            tx.add_session(
                NewSession(
                    question=question, recipe="vam", planner="vam", asked_us=t_us, as_of_us=t_us, status="answered",
                    answer="SIGN: the user always wants pictures sent", confidence=1.0,
                )
            )  # fmt: skip


HABIT = {"habit": "asks for times in the 24 hour clock", "quote": "please use 14:00, not 2 pm"}


def test_the_habits_of_a_conversation_that_is_over_are_stored_and_reach_the_planner(vam: SimpleNamespace, memory: Path) -> None:
    told = {
        "event_document": "mugs",
        "habits": [HABIT, {"habit": "is a pilot", "quote": "the user always wants"}, HABIT | {"quote": "the mug"}],
    }
    chat = vam.Chat([told])
    with Store.open(memory) as store:
        asked_at(store, vam, 60, 62)
        action = Survey(asked_us=vam.start_us + 70 * 60 * US)
        with store.view() as view:
            surveyed = SurveyTool(models(chat)).run(action, view)
        assert surveyed.habits == ()
        keep(store, action, surveyed)
        writer = ConversationWriter(None, models(chat))
        assert run_idle_job(store, [writer])
        body = msgspec.json.decode(chat.asked[0].messages[1].text)
        assert len(body["turns"]) == 2
        assert "SIGN" not in str(body), "what the answers quoted of the scene makes no habit"
        with store.view() as view:
            assert known_habits(view) == (Habit(**HABIT),)
            [document] = view.documents(kinds=("habit",))
            assert (document.origin, document.t0_us) == ("user", vam.start_us + 3600 * US)
            planner = vam.Chat({"router": ["?"], "planner": [{"action": "answer", "response": "x"}]})
            vam.put(view, "and the cat?", vam.kit(planner))
            assert planner.body()["habits"] == [HABIT]
        again = [Exchange(asked_us=1, question="please use 14:00, not 2 pm", answer="")]
        memory_of = SessionMemory(
            t0_us=1, t1_us=1, event_document="x", habits=(Habit(**HABIT), Habit(habit="likes tea", quote="too short"))
        )
        assert habit_documents(memory_of, again, (Habit(**HABIT),), 5) == [], "known already; two words prove nothing"


def test_only_the_first_question_after_a_pause_looks_back_and_only_at_the_conversation_before(vam: SimpleNamespace, memory: Path) -> None:
    with Store.open(memory) as store:
        asked_at(store, vam, 10, 60, 62)
        with store.view() as view:
            minutes = {
                m: [round((e.asked_us - vam.start_us) / 60 / US) for e in before(view, vam.start_us + m * 60 * US)]
                for m in (5, 60, 66, 67, 68)
            }
            assert minutes == {5: [], 60: [], 66: [], 67: [], 68: [60, 62]}, "a pause of just 5 minutes ends nothing"
            talked = [len(conversation(view, vam.start_us + m * 60 * US)) for m in (60, 66, 67, 68)]
            assert talked == [1, 2, 2, 0]
            cut = conversations([Exchange(asked_us=second * US, question="", answer="") for second in (0, 300, 601)])
            assert [len(one) for one in cut] == [2, 1]
            assert SurveyTool().run(Survey(asked_us=vam.start_us + 68 * 60 * US), view).postponed == (), "nobody would do it"


def test_the_planner_reads_the_latest_habits(vam: SimpleNamespace, memory: Path) -> None:
    with Store.open(memory) as store:
        for number in range(15):
            said = [Exchange(asked_us=vam.start_us + number * US, question="please do it this way", answer="")]
            habit = Habit(habit=f"habit {number}", quote="do it this way")
            made = habit_documents(SessionMemory(t0_us=0, t1_us=0, event_document="x", habits=(habit,)), said, (), 5)
            assert [one.known_us for one in made] == [said[0].asked_us], "not before it was said"
            with store.transaction() as tx:
                for document in made:
                    tx.add_document(document)
        with store.view() as view:
            assert [habit.habit for habit in known_habits(view)] == [f"habit {number}" for number in range(3, 15)]


def test_a_model_that_fails_is_asked_for_habits_again_later(vam: SimpleNamespace, memory: Path) -> None:
    with Store.open(memory) as store:
        asked_at(store, vam, 60)
        with store.view() as view:
            idle = _idle(msgspec.msgpack.encode((vam.start_us, vam.start_us + 9000 * US)), view)
            with pytest.raises(ChatError, match="429"):
                ConversationWriter(None, models(vam.Chat([ChatError("429")]))).write(idle)
            gone = _idle(msgspec.msgpack.encode((0, 1)), view)
            assert ConversationWriter(None, models(vam.Chat([ChatError("429")]))).write(gone) == []
