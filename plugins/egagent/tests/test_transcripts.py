"""Long transcripts are read whole: in chunks, by their speaker in SQL, the newest first where the last is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from edgemem_egagent import transcript as transcript_module
from edgemem_egagent.actions import Analyse, Span, TranscriptSearch
from edgemem_egagent.analyzer import CHUNK_CHARS, Analyzer, chunked
from edgemem_egagent.transcript import TranscriptTool
from hypothesis import given
from hypothesis import strategies as st

from edgemem.answer.planner import AnswerKit, ask
from edgemem.answer.session import Session
from edgemem.config import ModelSettings
from edgemem.llm.models import Models
from edgemem.records import US, Evidence, Question
from edgemem.remember.entries import NewDocument, NewEntity
from edgemem.remember.store import Store
from edgemem.remember.view import View

from .conftest import T0_US, ScriptedChat

KitOf = Callable[..., AnswerKit]
LINES = 700
NOW_US = T0_US + 2 * LINES * 10 * US
WHOLE = (Span(T0_US, NOW_US),)


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """700 utterances, every tenth by Clara."""
    directory = tmp_path_factory.mktemp("talk") / "memory"
    with Store.open(directory) as store:
        store.ensure_stream("day", T0_US)
        for first in range(0, LINES, 20):
            with store.transaction() as tx:
                for n in range(first, first + 20):
                    who = tx.add_entity(NewEntity(kind="person", name="Clara" if n % 10 == 0 else "Ben", known_us=T0_US))
                    t_us = T0_US + 10 * n * US
                    tx.add_document(
                        NewDocument(
                            kind="utterance", text=f"sentence {n} about the garden and the weather of the day", stream="day", t0_us=t_us,
                            t1_us=t_us + US, offset_us=t_us - T0_US, known_us=t_us + US, origin="asr", speaker_id=who, confidence=0.9,
                        )
                    )  # fmt: skip
    return directory


@pytest.fixture
def talk_view(talk: Path) -> Iterator[View]:
    with View.open(talk) as opened:
        yield opened


def test_all_of_a_bounded_stretch_is_read(talk_view: View) -> None:
    found = TranscriptTool().run(TranscriptSearch(spans=WHOLE), talk_view)
    assert [one.quote.split()[1] for one in found.said] == [str(n) for n in range(LINES)]
    assert found.notes == ()


def test_a_speaker_is_filtered_before_the_limit(talk_view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_module, "READ_LINES", 50)
    found = TranscriptTool().run(TranscriptSearch(spans=WHOLE, speaker="clara"), talk_view)
    assert [one.quote.split()[1] for one in found.said] == [str(n) for n in range(0, 500, 10)]
    assert found.notes == ("only the first 50 utterances of that time were read",)


@pytest.mark.parametrize(("lines", "notes"), [(70, ()), (69, ("only the first 69 utterances of that time were read",))])
def test_as_many_as_are_read_leave_nothing_out(
    talk_view: View, monkeypatch: pytest.MonkeyPatch, lines: int, notes: tuple[str, ...]
) -> None:
    """Clara says every tenth of 700."""
    monkeypatch.setattr(transcript_module, "READ_LINES", lines)
    found = TranscriptTool().run(TranscriptSearch(spans=WHOLE, speaker="clara"), talk_view)
    assert (len(found.said), found.notes) == (lines, notes)


def test_the_last_ones_are_read_where_the_last_is_asked_for(talk_view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_module, "READ_LINES", 50)
    found = TranscriptTool().run(TranscriptSearch(spans=WHOLE, newest_first=True), talk_view)
    assert [one.quote.split()[1] for one in found.said] == [str(n) for n in range(699, 649, -1)]
    assert found.notes == ("only the last 50 utterances of that time were read",)


def test_two_stretches_are_read_without_what_lies_between(talk_view: View) -> None:
    spans = (Span(T0_US, T0_US + 10 * US), Span(T0_US + 6990 * US, NOW_US))
    found = TranscriptTool().run(TranscriptSearch(spans=spans), talk_view)
    assert [one.quote.split()[1] for one in found.said] == ["0", "1", "699"]


def reading(tokens: int = 10**6, fails: tuple[int, ...] = ()) -> tuple[ScriptedChat, Models]:
    """A model that chooses sentences 7, 350 and 699 wherever it meets them, and cannot be read for some parts."""

    def choose(prompt: Any) -> Any:
        items = msgspec.json.decode(prompt.messages[1].text)["data"]["items"]
        numbers = [int(item["text"].split()[2]) for item in items]
        if set(fails) & set(numbers):
            return "no JSON"
        chosen = [item["item"] for item, number in zip(items, numbers, strict=True) if number in {7, 350, 699}]
        return {"finding": f"read {len(items)}", "items": chosen}

    chat = ScriptedChat(analyse=choose)
    return chat, Models(chat, ModelSettings(tokens_per_question=tokens))


def analysis(view: View, *, newest_first: bool = False) -> Analyse:
    found = TranscriptTool().run(TranscriptSearch(spans=WHOLE, newest_first=newest_first), view)
    return Analyse(task="what was said", tool="transcript", items=found.evidence, question="What?")


def test_a_long_transcript_is_read_in_chunks_and_what_they_chose_is_joined(talk_view: View) -> None:
    chat, models = reading()
    judged = Analyzer(models).run(analysis(talk_view), talk_view)
    assert [one.text.split()[2] for one in judged.evidence] == ["7", "350", "699"]
    read = [len(msgspec.json.decode(p.messages[1].text)["data"]["items"]) for p in chat.prompts]
    assert sum(read) == LINES
    assert len(read) == 5
    assert judged.sure == 0.9


def test_parts_that_cannot_be_read_are_said_and_cost_only_themselves(talk_view: View) -> None:
    _, models = reading(fails=(350,))
    judged = Analyzer(models).run(analysis(talk_view), talk_view)
    assert [one.text.split()[2] for one in judged.evidence] == ["7", "699"]
    assert "1 of 5 parts could not be read" in judged.finding


def test_what_the_question_may_not_spend_is_left_unread_and_said(talk_view: View) -> None:
    """Half of the tokens, less 1,500 a call, at three characters a token: one chunk of 8,000 and its call fit into half of 30,000."""
    chat, models = reading(tokens=30_000)
    judged = Analyzer(models).run(analysis(talk_view), talk_view)
    read = sum(len(msgspec.json.decode(p.messages[1].text)["data"]["items"]) for p in chat.prompts)
    assert len(chat.prompts) == 1
    assert f"{LINES - read} more utterances were not read" in judged.finding
    assert [one.text.split()[2] for one in judged.evidence] == ["7"]
    _, models = reading(tokens=30_000)
    assert [e.text.split()[2] for e in Analyzer(models).run(analysis(talk_view, newest_first=True), talk_view).evidence] == ["699"]


def test_the_last_of_a_question_is_read_newest_first(talk_view: View, kit_of: KitOf) -> None:
    task = {"task": "what was said", "tool": "transcript", "transcript": {"from": "2026-05-04T09:00", "to": "2026-05-04T12:00"}}
    for text, newest_first in (("What did Ben say last?", True), ("What did Ben say?", False), ("What is the most recent plan?", True)):
        answer = {"answer": "?", "status": "abstained"}
        chat = ScriptedChat(plan={"sub_tasks": [task]}, analyse={"finding": "x", "items": []}, answer=answer)
        session: Session = ask(talk_view, Question(text=text, asked_us=NOW_US, as_of_us=NOW_US), kit_of(chat))[1]
        [search] = [step.action for step in session.steps if isinstance(step.action, TranscriptSearch)]
        assert search.newest_first == newest_first, text


@given(st.lists(st.integers(0, 9000), max_size=40))
def test_chunks_hold_everything_in_order_and_are_no_larger_than_one_call_takes(sizes: list[int]) -> None:
    items = [Evidence(id=f"d{n}", channel="speech", stream="s", t0_us=n, t1_us=n, offset_us=n, score=1.0, text="x" * size)
             for n, size in enumerate(sizes)]  # fmt: skip
    runs = list(chunked(items))
    assert [item for run in runs for item in run] == items
    assert all(sum(len(item.text) + 90 for item in run) <= CHUNK_CHARS or len(run) == 1 for run in runs)
    assert all(sum(len(i.text) + 90 for i in (*a, b[0])) > CHUNK_CHARS for a, b in pairwise(runs))
