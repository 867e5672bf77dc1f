"""Limits at their edges: what waits, what is counted, what is nothing, and what a command takes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from edgemem_vam import context as contexts
from edgemem_vam import wire
from edgemem_vam import writer as writers
from edgemem_vam.actions import Adjudicate, HybridSearch, ResultRow, Target, VisualInspection, WriteSummaries
from edgemem_vam.context import RetrievalContext, TurnResult
from edgemem_vam.conversation import ConversationWriter
from edgemem_vam.events import OtsuEvents
from edgemem_vam.look import AdjudicateTool, InspectTool
from edgemem_vam.reply import answer, from_hits
from edgemem_vam.search import ScoredResult, _merged, _picture
from edgemem_vam.summaries import SummarySettings, SummaryTool, SummaryWriter
from edgemem_vam.writer import VamEvent

from edgemem.answer.retrieve import as_evidence
from edgemem.answer.session import Session, Step
from edgemem.cli.main import main
from edgemem.errors import MemoryDirError
from edgemem.llm.models import Models
from edgemem.records import US, Evidence, Moment, Question, Segment
from edgemem.remember.entries import NewSession
from edgemem.remember.store import Store
from edgemem.remember.view import View
from edgemem.see.idle import run_idle_job
from edgemem.see.operations import BoardIdle, SegmentClosed, StreamEnded
from edgemem.see.segment import Mark
from edgemem.serve.written import persist

# Events


def marks(*angles_and_seconds: tuple[float, float]) -> list[Mark]:
    return [
        Mark(moment_id=n, t_us=round(second * US), offset_us=round(second * US),
             vector=np.asarray([math.cos(angle), math.sin(angle)], np.float32))
        for n, (angle, second) in enumerate(angles_and_seconds, 1)
    ]  # fmt: skip


def sizes(stream: list[Mark]) -> list[int]:
    segmenter = OtsuEvents()
    closed = [cut for mark in stream for cut in segmenter.observe(mark)] + segmenter.flush()
    return [len(cut.marks) for cut in closed]


def test_the_first_and_the_last_distance_can_be_peaks_also_after_a_pause() -> None:
    """1 - cos .9 is .378: beyond .20, and less than one."""
    assert sizes(marks((0, 0), (0.9, 1), (0.9, 2))) == [1, 2]
    assert sizes(marks((0, 0), (0, 1), (0.9, 2))) == [2, 1]
    assert sizes(marks((0, 0), (0, 400), (0.9, 401), (0.9, 402))) == [1, 1, 2]


# Waiting


def test_pictures_of_an_event_are_waited_for_three_seconds_and_looked_for_every_fifth_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(ms=0, waits=[])
    clock.monotonic = lambda: clock.ms / 1000

    def sleep(seconds: float) -> None:
        clock.waits.append(seconds)
        clock.ms += round(1000 * seconds)

    clock.sleep = sleep
    monkeypatch.setattr(writers, "time", clock)

    class Faded:
        def __enter__(self) -> Any:
            raise MemoryDirError("not committed")

        def __exit__(self, *_: object) -> None:
            pass

    moment = Moment(id=1, stream="s", seq=1, t_us=0, offset_us=0, width_px=8, height_px=8, sharpness=1.0, tier="recent")
    segment = Segment(id=1, stream="s", segmenter="e", t0_us=0, t1_us=US, offset_us=0, representative_id=1)
    closed = SegmentClosed(segment=segment, moments=(moment,), open_view=Faded)  # type: ignore[arg-type]
    assert writers._pictures(closed, [moment]) == ()
    assert clock.waits == [0.2] * 16


def test_a_writer_does_nothing_where_it_is_not_its_turn() -> None:
    ended, idle = StreamEnded(stream="walk", t_us=0), BoardIdle(payload=b"", stream="walk", now_us=0)
    for writer in (SummaryWriter(), ConversationWriter(), VamEvent()):
        assert list(writer.write(ended)) == list(writer.write(idle)) == []
    assert list(VamEvent().write_at_once(ended)) == []


def test_without_a_model_a_job_writes_one_window_at_a_time(vam: SimpleNamespace, tmp_path: Path) -> None:
    action = WriteSummaries(from_us=vam.start_us, to_us=vam.start_us + 200 * US, granularity_s=20.0, prompt="p", structure="s")
    with Store.open(tmp_path / "memory") as store:
        vam.remember(store, vam.walk)
        with store.view() as view:
            made = SummaryTool(SummarySettings(max_windows=3)).run(action, view)
        persist(store, Session(Question(text="?", asked_us=0, as_of_us=0), steps=[Step(action=action, result=made, ms=0.0)]))
        rounds = 0
        while run_idle_job(store, [SummaryWriter()]):
            rounds += 1
    assert rounds == 7, "seven of ten windows were left"


# Nothing


def row(name: str, score: float) -> TurnResult:
    evidence = Evidence(id=name, channel="event", stream="walk", t0_us=0, t1_us=0, offset_us=0, score=score, text="")
    return TurnResult(
        row=ResultRow(id=name, source="event", score=score, text=name, by="words", origin="caption"), evidence=evidence
    )  # fmt: skip


def turn(*results: TurnResult) -> RetrievalContext:
    made = RetrievalContext(0, 600 * US)
    made.begin(wire.SearchAction(queries=[wire.SubQuery(q="x")])).results = list(results)
    return made


def test_what_claims_nothing_is_sure_of_nothing() -> None:
    for context in (turn(), turn(row("d1", 0.1))):
        reply = from_hits(context, "why")
        assert (reply.status, reply.confidence, reply.evidence) == ("abstained", 0.0, ())
    missing = answer(wire.AnswerAction(response="I could not find it."), turn(row("d1", 0.9)), ())
    assert (missing.status, missing.confidence) == ("abstained", 0.0)


def test_the_best_text_counts_as_found_from_012_on() -> None:
    assert from_hits(turn(row("d1", 0.12)), "why").status == "answered"
    assert pytest.approx(from_hits(turn(row("d1", contexts.SUMMARY_SCORE)), "why").confidence * 2) == contexts.SUMMARY_SCORE


# Searches


def test_of_one_result_found_twice_the_better_stays_and_of_equals_the_first() -> None:
    def found(name: str, score: float, text: str, ahead: bool = False) -> ScoredResult:
        one = row(name, score)
        return ScoredResult(row=msgspec.structs.replace(one.row, text=text, look_ahead=ahead), evidence=one.evidence)

    merged = _merged([found("d1", 0.5, "a"), found("d2", 0.9, "b"), found("d1", 0.5, "c", True), found("d2", 0.8, "d")])
    assert [(one.row.id, one.row.text, one.row.look_ahead) for one in merged] == [("d2", "b", False), ("d1", "a", True)]
    assert [one.row.text for one in _merged([found("d1", 0.5, "a"), found("d1", 0.6, "c")])] == ["c"]


def test_a_picture_is_shown_with_what_was_recognised_in_it(vam: SimpleNamespace, walk: Path) -> None:
    with View.open(walk) as view:
        found = vam.search_tool().run(HybridSearch(queries=(wire.SubQuery(q="coffee mug"),), sources=("frame",)), view)
    assert [one.text for one in found.evidence] == [one.text for one in found.rows]
    assert "desk" in found.evidence[0].text


def test_a_picture_with_text_in_it_is_trusted_as_what_was_read(vam: SimpleNamespace, tmp_path: Path) -> None:
    with Store.open(tmp_path / "memory") as store:
        vam.remember(store, {0: (vam.label("mug"),), 30: (vam.label("mug"), vam.text("ROOM 4")), 60: (vam.text("ROOM 5"),)})
        with store.view() as view:
            moments = view.moments()
            made = [_picture(view, as_evidence(moment, "frame", 0.5, ""), "picture") for moment in moments]
    assert [one.row.origin for one in made] == ["caption", "ocr", "ocr"]


def test_a_look_shows_six_pictures_and_of_what_was_not_kept_nobody_is_sure(vam: SimpleNamespace, tmp_path: Path) -> None:
    with Store.open(tmp_path / "dense") as store:
        vam.remember(store, {second: (vam.label("thing"),) for second in range(40)})
    whole = Target(id="t", stream="walk", from_us=vam.start_us, to_us=vam.start_us + 40 * US)
    later = Target(id="late", stream="walk", from_us=vam.start_us + 900 * US, to_us=vam.start_us + 901 * US)
    with View.open(tmp_path / "dense") as view:
        chat = vam.Chat(["x"])
        InspectTool(None, Models(chat)).run(VisualInspection(targets=(whole,), prompt="?"), view)
        assert [len(prompt.messages[1].images) for prompt in chat.asked] == [6]
        judge = AdjudicateTool(None, Models(vam.Chat(["no verdict"])))
        judged = judge.run(Adjudicate(targets=(whole, later), event="e"), view).judgements
    assert [(one.target, one.match, one.confidence) for one in judged] == [("t", False, 0.0), ("late", False, 0.0)]


def test_what_is_verified_is_the_event_unless_something_else_is_named(vam: SimpleNamespace, walk: Path) -> None:
    target = Target(id="t", stream="walk", from_us=vam.start_us, to_us=vam.start_us + 40 * US)
    with View.open(walk) as view:
        for named, focus in (("", "e"), ("the handle", "the handle")):
            chat = vam.Chat(["no verdict"] * 3)
            AdjudicateTool(None, Models(chat)).run(Adjudicate(targets=(target,), event="e", verification_prompt=named), view)
            assert json.loads(chat.asked[0].messages[1].text)["request"] == {"target_event": "e", "verification_focus": focus}


# The command


def talk(store: Store, start_us: int, count: int) -> None:
    for minute in range(count):
        at_us = start_us + minute * 60 * US
        with store.transaction() as tx:
            tx.add_session(
                NewSession(question=f"question {minute}", recipe="vam", planner="vam", asked_us=at_us, as_of_us=at_us, status="answered",
                           answer="a", confidence=1.0)
            )  # fmt: skip


def habits(memory: Path, capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    capsys.readouterr()
    code: Any = 0
    try:
        main(["habits", "--memory", str(memory), *args])
    except SystemExit as leave:
        code = leave.code
    return code or 0, capsys.readouterr().out


def test_habits_are_of_the_last_three_conversations_or_as_many_as_wanted(
    vam: SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = tmp_path / "memory"
    with Store.open(memory) as store:
        vam.remember(store, vam.walk)
        talk(store, vam.start_us, 30)
    one = json.loads(habits(memory, capsys, "--last", "1", "--json")[1])["conversations"]
    assert [len(said["event_document"].splitlines()) for said in one] == [20], "twenty questions for each conversation"
    with Store.open(memory) as store:
        for number in range(1, 6):
            talk(store, vam.start_us + number * 7200 * US, 1)
    assert len(json.loads(habits(memory, capsys, "--json")[1])["conversations"]) == 3
    assert len(json.loads(habits(memory, capsys, "--last", "100", "--json")[1])["conversations"]) == 6
    assert [habits(memory, capsys, "--last", number)[0] for number in ("0", "101")] == [2, 2]
    assert "default: 3" in habits(memory, capsys, "--help")[1]
