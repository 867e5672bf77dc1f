"""The agent's interface for services: the same answers as for others, logged, with a note on streams that see nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from daemons import SIGNS, remember_signs, wait_until

from edgemem.device.handle import Handle
from edgemem.device.shared_store import SharedStore
from edgemem.errors import UsageError
from edgemem.events import QuestionAnswered, QuestionStep, StreamStatus
from edgemem.extend.environment import Environment
from edgemem.extend.feed import Feed
from edgemem.extend.testing import T0_US
from edgemem.records import US
from edgemem.remember.view import View
from edgemem.serve.dispatch import Dispatcher
from edgemem.serve.messages import AgentStatus, AskRequest, Declined, Failed, Reply, StatusRequest, StepDone
from edgemem.serve.questions import QuestionService
from edgemem.serve.session_log import SessionLogger


class Streams:
    """Instead of the agent: one stream sees nothing."""

    def streams(self) -> tuple[StreamStatus, ...]:
        return (StreamStatus(stream="yard", state="blind", blind="the camera is gone"), StreamStatus(stream="door", state="seeing"))

    def notes(self) -> tuple[str, ...]:
        return ("transcribe is served by small for now",)


Parts = tuple[Handle, Dispatcher, Path]


@pytest.fixture
def parts(tmp_path: Path, home: Path) -> Iterator[Parts]:
    assert home.parent == tmp_path
    memory = tmp_path / "memory"
    remember_signs(memory)
    (tmp_path / "plain.toml").write_text("")
    environment, feed, streams = Environment.load(None, [f"recipe={tmp_path / 'plain.toml'}"]), Feed(), Streams()
    with SharedStore.open(memory) as store:
        session_log = SessionLogger(store)
        dispatcher = Dispatcher(QuestionService(memory, environment, feed), session_log, environment.digest, streams)  # type: ignore[arg-type]
        yield Handle(feed, dispatcher, environment, streams), dispatcher, memory  # type: ignore[arg-type]
        session_log.close()


def test_it_asks_and_searches(parts: Parts) -> None:
    handle, _, memory = parts
    events = handle.feed.subscribe(QuestionAnswered)
    answer = handle.ask("What did the sign say?", as_of_us=T0_US + 90 * US)
    assert (answer.status, {hit.text for hit in answer.evidence}) == ("answered", set(SIGNS[:2]))
    assert "yard sees nothing now: the camera is gone" in answer.notes
    assert not any("door" in note for note in answer.notes)
    assert handle.ask("Which room was it?", options=["ROOM 214", "ROOM 215"]).option == 0
    assert [hit.text for hit in handle.search("exit", top_k=1)] == [SIGNS[0]]
    assert handle.search("exit", from_us=T0_US + 30 * US) == ()
    assert [status.stream for status in handle.streams()] == ["yard", "door"]
    published = events.get(1.0)
    assert isinstance(published, QuestionAnswered)
    assert published.answer.answer == answer.answer

    def logged() -> int:
        with View.open(memory) as view:
            return len(view.sessions(10))

    wait_until(lambda: logged() == 2)
    with pytest.raises(UsageError):
        handle.ask("Which?", options=[" "])


def test_an_answer_says_which_engine_serves_while_the_governor_has_stepped_down(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    handle, dispatcher, _ = parts
    note = "transcribe is served by tiny for now: the governor has stepped it down"
    assert note not in handle.ask("Which room was it?").notes
    monkeypatch.setattr(dispatcher._questions._environment.context.engines, "_preferred", {"transcribe": "tiny"})
    assert note in handle.ask("Which room was it?").notes


def test_each_step_of_a_question_is_on_the_feed_before_its_answer(parts: Parts) -> None:
    handle, dispatcher, _ = parts
    events = handle.feed.subscribe(QuestionStep, QuestionAnswered)
    answer = handle.ask("What did the sign say?", as_of_us=T0_US + 90 * US)
    published = [events.get(1.0) for _ in range(answer.steps)]
    assert [type(event) for event in published] == [QuestionStep] * (answer.steps - 1) + [QuestionAnswered]
    first = published[0]
    assert isinstance(first, QuestionStep)
    assert (first.number, first.planner, first.question.text) == (1, "local", "What did the sign say?")
    assert SIGNS[0][:10] in first.line or "found" in first.line
    sent: list[Reply] = []
    request = AskRequest(
        question="What did the sign say?", asked_us=T0_US + 90 * US, recipe=handle._settings.recipe, settings=dispatcher._digest
    )
    dispatcher.reply(request, sent.append)
    assert sent == [], "a client that did not wish the steps gets none"
    dispatcher.reply(msgspec.structs.replace(request, steps=True), sent.append)
    assert [type(one) for one in sent] == [StepDone] * (answer.steps - 1)


def test_the_agent_is_busy_while_it_answers_and_only_then(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    handle, dispatcher, _ = parts
    began, go_on = threading.Event(), threading.Event()
    answer = dispatcher._questions.ask

    def slow(request: AskRequest, on_step: Any) -> object:
        began.set()
        go_on.wait(20.0)
        return answer(request, on_step)

    monkeypatch.setattr(dispatcher._questions, "ask", slow)
    thread = threading.Thread(target=handle.ask, args=("What did the sign say?",))
    assert not dispatcher.busy
    thread.start()
    began.wait(20.0)
    assert dispatcher.busy
    go_on.set()
    thread.join()
    assert not dispatcher.busy
    with pytest.raises(UsageError):
        handle.ask("Which?", options=[" "])
    assert not dispatcher.busy, "an error ends a question, too"


def test_errors_of_ours_are_passed_on_and_any_other_is_left_to_the_client(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    handle, dispatcher, _ = parts
    asked = AskRequest(question="where?", asked_us=0, recipe="defalt", settings=dispatcher._digest)
    failed = dispatcher.reply(asked)
    assert isinstance(failed, Failed)
    assert (failed.error, "no recipe is called" in failed.text) == ("UsageError", True)

    def broken(_request: AskRequest, _on_step: object) -> Callable[..., object]:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(dispatcher._questions, "ask", broken)
    declined = dispatcher.reply(asked)
    assert isinstance(declined, Declined)
    assert declined.why == "it failed (ZeroDivisionError: oh)"
    assert not declined.expected
    status = dispatcher.reply(StatusRequest())
    assert isinstance(status, AgentStatus)
    assert status.answered == 2
    assert status.streams == handle.streams()
    assert status.notes == ("transcribe is served by small for now",)
