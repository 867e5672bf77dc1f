"""The agent's interface for services: the same answers as for others, logged, with a note on streams that see nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from daemons import SIGNS, remember_signs, wait_until

from edgemem.device.handle import Handle
from edgemem.device.shared_store import SharedStore
from edgemem.errors import UsageError
from edgemem.events import QuestionAnswered, StreamStatus
from edgemem.extend.environment import Environment
from edgemem.extend.feed import Feed
from edgemem.extend.testing import T0_US
from edgemem.records import US
from edgemem.remember.view import View
from edgemem.serve.dispatch import Dispatcher
from edgemem.serve.messages import AgentStatus, AskRequest, Declined, Failed, StatusRequest
from edgemem.serve.questions import QuestionService
from edgemem.serve.session_log import SessionLogger


class Streams:
    """Instead of the agent: one stream sees nothing."""

    def streams(self) -> tuple[StreamStatus, ...]:
        return (StreamStatus(stream="yard", state="blind", blind="the camera is gone"), StreamStatus(stream="door", state="seeing"))


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


def test_the_agent_is_busy_while_it_answers_and_only_then(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    handle, dispatcher, _ = parts
    began, go_on = threading.Event(), threading.Event()
    answer = dispatcher._questions.ask

    def slow(request: AskRequest) -> object:
        began.set()
        go_on.wait(20.0)
        return answer(request)

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

    def broken(_: AskRequest) -> Callable[..., object]:
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
