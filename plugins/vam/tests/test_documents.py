"""Documents: of events, of windows, of conversations; who wrote them, where their words come from, what is kept of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from edgemem_vam import summary_key
from edgemem_vam.actions import Exchange, Survey, WriteSummaries
from edgemem_vam.conversation import GAP_US, conversation, conversations, summarise
from edgemem_vam.payload import PLAIN
from edgemem_vam.summaries import SummarySettings, SummaryTool, SurveyTool
from edgemem_vam.writer import VamEvent, VamEventSettings

from edgemem.answer.session import Session, Step
from edgemem.errors import ChatError
from edgemem.infer.roles import Space
from edgemem.llm.models import Models
from edgemem.records import US, Document, Matrix, Moment, Observation, Question, Segment
from edgemem.remember.entries import NewDocument, NewSession
from edgemem.remember.forget import Wanted, forget
from edgemem.remember.results import Spoken
from edgemem.remember.store import Store
from edgemem.remember.view import View
from edgemem.see.operations import SegmentClosed
from edgemem.serve.written import persist


@pytest.fixture
def memory(tmp_path: Path, vam: SimpleNamespace) -> Path:
    """A walk of its own, to be written to."""
    with Store.open(tmp_path / "memory") as store:
        vam.remember(store, vam.walk)
    return tmp_path / "memory"


def windows(vam: SimpleNamespace, **keys: Any) -> WriteSummaries:
    return WriteSummaries(
        **{
            "from_us": vam.start_us,
            "to_us": vam.start_us + 120 * US,
            "granularity_s": 60.0,
            "prompt": "things",
            "structure": "minute",
            **keys,
        }
    )


def models(vam: SimpleNamespace, *lines: Any) -> Models:
    return Models(vam.Chat(list(lines)))


def kept(store: Store, action: Any, result: Any, embedder: Any = None) -> int:
    """As the core keeps what a question wrote."""
    question = Question(text="?", asked_us=0, as_of_us=0)
    session = Session(question, steps=[Step(action=action, result=result, ms=0.0)])
    return persist(store, session, embedder)


# Summaries


def test_each_window_gets_a_document_from_its_pictures_and_event_documents(vam: SimpleNamespace, memory: Path) -> None:
    chat = vam.Chat(["The first minute.", "The second minute."])
    with View.open(memory) as view:
        made = SummaryTool(None, Models(chat)).run(windows(vam), view)
    assert [note.text for note in made.windows] == ["The first minute.", "The second minute."]
    body = msgspec.json.decode(chat.asked[0].messages[1].text)
    assert body["request"] == "things"
    assert len(body["event_documents"]) == 3
    assert len(chat.asked[0].messages[1].images) == 3 == body["pictures_shown"]
    assert [document.kind for document in made.documents] == ["summary", "summary"]
    assert made.documents[0].moment_id is not None


def test_pictures_that_are_still_there_are_shown_when_another_has_faded(vam: SimpleNamespace, memory: Path) -> None:
    with Store.open(memory) as store, store.transaction() as tx:
        tx.stub_moment(1)
    chat = vam.Chat(["The first minute.", "The second minute."])
    with View.open(memory) as view:
        pictures = [view.picture(moment_id) for moment_id in (2, 3)]
        SummaryTool(None, Models(chat)).run(windows(vam), view)
    body = msgspec.json.decode(chat.asked[0].messages[1].text)
    assert chat.asked[0].messages[1].images == tuple(pictures)
    assert body["pictures_shown"] == 2
    assert [(note["picture"], note["time"][17:19]) for note in body["pictures"]] == [(1, "20"), (2, "40"), (3, "05")]


def test_what_was_only_heard_is_summarised_and_proved_by_the_words(vam: SimpleNamespace, tmp_path: Path) -> None:
    directory, said = tmp_path / "talk", "The wifi password is under the printer."
    with Store.open(directory) as store:
        store.ensure_stream("talk", vam.start_us)
        with store.transaction() as tx:
            tx.add_document(
                NewDocument(
                    kind="utterance", text=said, stream="talk", t0_us=vam.start_us + 70 * US, t1_us=vam.start_us + 74 * US,
                    offset_us=70 * US, known_us=vam.start_us + 74 * US, origin="asr",
                )
            )  # fmt: skip
    minute = {"min_time": 0, "max_time": 60, "time_mode": "relative", "granularity_seconds": 60, "prompt": "all"}
    chat = vam.Chat({"router": [{"type": "tool", "name": "summarize", "args": minute}], "summary_writer": ["About a password."]})
    with View.open(directory) as view:
        answer, _ = vam.put(view, "summarise what was said", vam.kit(chat))
    assert (answer.status, answer.answer) == ("answered", "About a password."), "seconds count from the first word"
    assert [(evidence.channel, evidence.text) for evidence in answer.evidence] == [("speech", said)]


def test_a_summary_is_of_one_stream_and_is_forgotten_with_it(vam: SimpleNamespace, tmp_path: Path) -> None:
    directory = tmp_path / "two"
    with Store.open(directory) as store:
        vam.remember(store, {5: (vam.label("street"),), 20: (vam.label("mug"),)}, "door")
        vam.remember(store, {10: (vam.text("PLAN 42"),)}, "desk")
        with store.view() as view:
            made = SummaryTool().run(windows(vam, to_us=vam.start_us + 60 * US), view)
        assert [("PLAN 42" in note.text, note.evidence[0].stream) for note in made.windows] == [(True, "desk"), (False, "door")]
        assert kept(store, windows(vam), made) == 2
        with store.view() as view:
            again = SummaryTool().run(windows(vam, to_us=vam.start_us + 60 * US), view)
        assert [note.text for note in again.windows] == [note.text for note in made.windows]
        assert again.documents == ()
    forget(directory, Wanted(stream="desk"))
    with View.open(directory) as view:
        assert [document.stream for document in view.documents(kinds=("summary",))] == ["door"]
        assert not view.search_text("PLAN 42", 5)


def test_stored_summaries_are_found_again_and_not_written_twice(vam: SimpleNamespace, memory: Path) -> None:
    with Store.open(memory) as store:
        with store.view() as view:
            made = SummaryTool(None, models(vam, "one", "two")).run(windows(vam), view)
        assert kept(store, windows(vam), made) == 2
        with store.view() as view:
            again = SummaryTool(None, models(vam, ChatError("must not be asked"))).run(windows(vam), view)
            listed = SurveyTool().run(Survey(asked_us=0), view).structures
        assert [note.text for note in again.windows] == ["one", "two"]
        assert again.documents == ()
        assert [(s.name, s.granularity_s, s.windows, s.focus) for s in listed] == [("minute", 60.0, 2, "things")]


def test_another_granularity_structure_or_focus_is_another_summary(vam: SimpleNamespace, memory: Path) -> None:
    with Store.open(memory) as store:
        for other in ({}, {"granularity_s": 120.0}, {"structure": "scene"}, {"prompt": "people"}):
            with store.view() as view:
                made = SummaryTool(None, models(vam, "text")).run(windows(vam, **other), view)
            assert kept(store, windows(vam), made) == len(made.windows) > 0
        with store.view() as view:
            assert len(view.documents(kinds=("summary",))) == 7


def test_what_became_known_since_has_a_summary_written_anew_and_the_second_writing_is_kept(vam: SimpleNamespace, memory: Path) -> None:
    with Store.open(memory) as store:
        with store.view(vam.start_us + 300 * US) as view:
            made = SummaryTool(None, models(vam, "old")).run(windows(vam, to_us=vam.start_us + 60 * US), view)
        kept(store, windows(vam), made)
        late = NewDocument(
            kind="event", text="[event] a late caption", stream="walk", t0_us=vam.start_us, t1_us=vam.start_us + US, offset_us=0,
            known_us=vam.start_us + 400 * US, origin="caption",
        )  # fmt: skip
        with store.transaction() as tx:
            tx.add_document(late)
        with store.view(vam.start_us + 500 * US) as view:
            again = SummaryTool(None, models(vam, "new")).run(windows(vam, to_us=vam.start_us + 60 * US), view)
        assert kept(store, windows(vam), again) == 1
        for as_of_s, text in ((300, "old"), (500, "new")):
            with store.view(vam.start_us + as_of_s * US) as view:
                found = view.documents(kinds=("summary",))
                assert [summary_key.body(document.text) for document in found] == [text]


def test_a_summary_shows_nothing_from_after_the_time_of_the_question(vam: SimpleNamespace, memory: Path) -> None:
    chat = vam.Chat(["x"])
    with View.open(memory, vam.start_us + 30 * US) as view:
        made = SummaryTool(None, Models(chat)).run(windows(vam, to_us=vam.start_us + 60 * US), view)
    body = msgspec.json.decode(chat.asked[0].messages[1].text)
    assert "tabby cat" not in str(body)
    assert made.documents[0].known_us == vam.start_us + 30 * US


def test_a_model_that_fails_leaves_a_summary_of_the_documents_and_that_is_said(vam: SimpleNamespace, memory: Path) -> None:
    chat = vam.Chat([ChatError("gone")])
    with View.open(memory) as view:
        made = SummaryTool(None, Models(chat)).run(windows(vam), view)
    assert len(made.windows) == 2
    assert "coffee mug" in made.windows[0].text
    assert made.notes == ("2 of 2 summaries were put together from the event documents: the language model did not write them",)
    assert all(note.text.startswith(PLAIN) for note in made.windows)


def test_a_summary_is_trusted_as_little_as_what_it_was_made_of(vam: SimpleNamespace, memory: Path) -> None:
    with View.open(memory) as view:
        made = SummaryTool(None, models(vam, "plain words")).run(windows(vam), view)
    assert [document.origin for document in made.documents] == ["caption", "ocr"], "the second minute holds a sign"


def test_windows_are_at_least_five_seconds_empty_ones_are_left_out_and_there_are_not_too_many(vam: SimpleNamespace, memory: Path) -> None:
    tool = SummaryTool(SummarySettings(max_windows=10), models(vam, "x"))
    with View.open(memory) as view:
        made = tool.run(windows(vam, granularity_s=0.5), view)
    assert [(note.t1_us - note.t0_us + 1) / US for note in made.windows] == [5.0] * len(made.windows)
    assert len(made.windows) == 3, "of the first 50 seconds only three windows hold a picture"
    assert any("first 10 of 24" in note for note in made.limits)


class Embedder:
    """A text space of two dimensions, for passages."""

    space = Space(name="two", dim=2)

    def embed_text(self, texts: Sequence[str]) -> Matrix:
        return np.stack([np.asarray((1.0, 0.0) if "mug" in text else (0.0, 1.0), np.float32) for text in texts])


def test_what_is_kept_can_be_found_by_meaning(vam: SimpleNamespace, memory: Path) -> None:
    with Store.open(memory) as store:
        with store.view() as view:
            made = SummaryTool(None, models(vam, "a mug", "a door")).run(windows(vam), view)
        kept(store, windows(vam), made, Embedder())
        with store.view() as view:
            hits = view.search_passages("two", np.asarray((1, 0), np.float32), 3, kinds=("summary",))
        assert hits[0].score == pytest.approx(1, abs=1e-3)
        assert "a mug" in hits[0].document.text


# Event documents


def closing(observations: dict[int, tuple[Observation, ...]], *, said: str = "", pictures: dict[int, bytes] | None = None) -> SegmentClosed:
    moments = tuple(
        Moment(id=n, stream="s", seq=n, t_us=n * US, offset_us=n * US, width_px=8, height_px=8, sharpness=1.0, tier="recent")
        for n in range(1, 13)
    )
    segment = Segment(id=7, stream="s", segmenter="otsu_events", t0_us=US, t1_us=12 * US, offset_us=US, representative_id=12)
    spoken = Document(
        id=1, kind="utterance", text=said, stream="s", t0_us=US, t1_us=2 * US, offset_us=US, known_us=2 * US, origin="asr"
    )  # fmt: skip

    @contextmanager
    def opened() -> Any:
        yield SimpleNamespace(picture=lambda moment_id: (pictures or {})[moment_id])

    heard = (Spoken(document=spoken, speaker=None, confidence=1.0),) if said else ()
    view = opened if pictures else None
    return SegmentClosed(segment=segment, moments=moments, observations=observations, utterances=heard, open_view=view)


MUG = dict.fromkeys((3, 4), (Observation(kind="label", name="coffee mug", score=0.9),))


def test_an_event_document_names_its_event_its_frames_and_stands_for_the_last() -> None:
    document = VamEvent().write(closing(MUG))[0]
    head = document.text.splitlines()[0]
    assert head.startswith("[event] id=s7 | frames=m1,")
    assert head.count("m") == 8 + 1, "eight frames, and the word frames"
    assert (document.moment_id, document.kind, document.origin) == (12, "event", "caption")
    assert "coffee mug" in document.text
    assert {passage.kind for passage in document.passages} >= {"document", "field"}


def test_a_model_describes_the_event_from_at_most_eight_pictures_only_where_that_is_wanted(vam: SimpleNamespace) -> None:
    chat = vam.Chat(["A mug is put down.\nSomeone leaves."])
    pictures = dict.fromkeys(range(1, 13), b"jpeg")
    wanted = VamEvent(VamEventSettings(describe=True), Models(chat))
    document = wanted.write(closing(MUG, pictures=pictures))[0]
    assert document.text.endswith("Someone leaves.")
    assert len(chat.asked[0].messages[1].images) == 8
    assert (chat.asked[0].task, chat.asked[0].temperature, chat.asked[0].max_tokens) == ("event_writer", 0.1, 700)
    assert wanted.slow
    silent = vam.Chat(["must not be asked"])
    assert not VamEvent(None, Models(silent)).slow
    VamEvent(None, Models(silent)).write(closing(MUG, pictures=pictures))
    assert silent.asked == []


@pytest.mark.parametrize("said", [ChatError("the server is gone"), "I'm sorry, but I can't help with that."])
def test_a_model_that_fails_leaves_the_document_without_it_and_that_is_said(vam: SimpleNamespace, said: Any, caplog: Any) -> None:
    document = VamEvent(VamEventSettings(describe=True), models(vam, said)).write(closing(MUG))[0]
    assert "coffee mug" in document.text
    assert "sorry" not in document.text
    assert "without the language model: the" in caplog.text


def test_an_event_of_which_nothing_is_known_still_has_its_time() -> None:
    document = VamEvent().write(closing({}))[0]
    assert document.text.startswith("[event] id=s7")
    assert document.text.endswith("0:01 to 0:12")


def test_what_was_read_or_heard_decides_the_origin(vam: SimpleNamespace) -> None:
    assert VamEvent().write(closing({3: (Observation(kind="text", name="EXIT", score=0.9),)}))[0].origin == "ocr"
    heard = VamEvent().write(closing(MUG, said="mind the step"))[0]
    assert heard.origin == "asr"
    assert 'Heard: "mind the step"' in heard.text
    pictured = VamEvent(VamEventSettings(describe=True), models(vam, "a sign")).write(
        closing(MUG, pictures=dict.fromkeys(range(1, 13), b"x"))
    )
    assert pictured[0].origin == "ocr", "a model that saw pictures may have read them"


# Conversations


def exchanges(*seconds: int) -> list[Exchange]:
    return [Exchange(asked_us=s * US, question=f"question {s}, please use metres", answer=f"answer {s}: I like feet") for s in seconds]


def test_a_pause_of_more_than_five_minutes_ends_a_conversation() -> None:
    assert [[e.asked_us // US for e in one] for one in conversations(exchanges(0, 300, 601, 0))] == [[0, 0, 300], [601]]
    assert GAP_US == 300 * US
    assert conversations([]) == []


def test_habits_need_the_users_own_words(vam: SimpleNamespace) -> None:
    note = {
        "event_document": "asked for distances",
        "habits": [
            {"habit": "wants metres", "quote": "Please use metres"},
            {"habit": "likes feet", "quote": "I like feet"},
            {"habit": "invented", "quote": "never said"},
            {"habit": "is a part of a word", "quote": "met"},
        ],
    }
    made = summarise(exchanges(0, 60), models(vam, note))
    assert [habit.habit for habit in made.habits] == ["wants metres"]
    assert (made.event_document, made.t1_us) == ("asked for distances", 60 * US)


def test_without_a_readable_reply_the_questions_are_listed_and_no_habit_is_claimed(vam: SimpleNamespace) -> None:
    for own in (models(vam, "no JSON"), models(vam, ChatError("the server is gone")), Models()):
        made = summarise(exchanges(0, 60), own)
        assert made.habits == ()
        assert made.note
        assert "question 60" in made.event_document
    chat = vam.Chat([{"event_document": "x", "habits": []}])
    summarise(exchanges(0), Models(chat))
    assert (chat.asked[0].temperature, chat.asked[0].max_tokens) == (0.2, 500)


def test_the_planner_sees_the_last_eight_messages_of_its_conversation(vam: SimpleNamespace, memory: Path) -> None:
    with Store.open(memory) as store, store.transaction() as tx:
        for second in (0, 1000, 1060, 1120, 1180, 1240):
            tx.add_session(
                NewSession(
                    question=f"q{second}", recipe="vam", planner="vam",
                    asked_us=vam.start_us + second * US, as_of_us=vam.start_us + second * US,
                    status="answered", answer=f"a{second}", confidence=1.0,
                )
            )  # fmt: skip
    with View.open(memory) as view:
        assert [e.question for e in conversation(view, vam.start_us + 1300 * US)] == ["q1060", "q1120", "q1180", "q1240"]
        assert [e.question for e in conversation(view, vam.start_us + 1100 * US)] == ["q1000", "q1060"]
        assert conversation(view, vam.start_us + 9000 * US) == ()
        chat = vam.Chat({"router": ["?"], "planner": [{"action": "answer", "response": "x"}]})
        vam.put(view, "and then?", vam.kit(chat))
    assert "conversation" not in chat.body()
