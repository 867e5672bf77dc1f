"""The loop against a server over HTTP: one that thinks, one that sees, one that fails half-way; what it said becomes a trajectory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
from edgemem_eventmem.settings import ReactSettings
from edgemem_eventmem.trajectory import trajectory
from edgemem_openai.chat import OpenAIChat
from edgemem_openai.settings import OpenAISettings
from edgemem_openai.testing import ScriptedCall, ScriptedReply, ScriptedServer

from edgemem.extend import View
from edgemem.remember.store import Store
from edgemem.serve.trace import log_of

SEARCH = {"thought": "Not in view.", "action": "search", "call": {"tool": "search_memory", "query": "bus"}}
ANSWER = {"thought": "Found.", "action": "answer", "answer": "A bus came by.", "cites": ["event 2"]}
Asked = Callable[..., tuple[Any, Any, list[ScriptedCall]]]


@pytest.fixture
def over_http(evm: SimpleNamespace, view: View, tmp_path: Path) -> Asked:
    """(answer, session, requests that got a reply) of a question, asked through a server that plays this script."""

    def put(script: Any, settings: ReactSettings | None = None, *, sees: bool = True, **limits: Any) -> tuple[Any, Any, list[ScriptedCall]]:
        with ScriptedServer(script, vision=sees) as server:
            chat = OpenAIChat(OpenAISettings(base_url=server.base_url, model="scripted", retries=0), tmp_path / "home", {})
            try:
                answer, session = evm.put(view, "Did a bus come by?", evm.kit(chat, settings, **limits))
            finally:
                chat.close()
            return answer, session, server.asked

    return put


def test_a_server_that_sees_gets_pictures_with_number_and_time_and_a_schema(over_http: Asked, view: View) -> None:
    answer, _, asked = over_http([SEARCH, ANSWER])
    assert (answer.status, answer.answer) == ("answered", "A bus came by.")
    assert [one.text for one in answer.evidence] == ["In view: street, bus."]
    assert len(asked[0].images) == 4  # short-term memory
    assert len(asked[1].images) == 5  # and the first frame of the event that was found
    for shown, moment_id in zip(asked[0].images, (4, 5, 6, 7), strict=True):
        stored = cv2.imdecode(np.frombuffer(view.picture(moment_id), np.uint8), cv2.IMREAD_COLOR)
        arrived = cv2.imdecode(np.frombuffer(shown.jpeg, np.uint8), cv2.IMREAD_COLOR)
        assert arrived.shape == stored.shape
        changed = np.abs(arrived.astype(int) - stored).max(axis=2) > 60
        assert changed[: len(changed) // 4].any()  # the overlay stands at the top
        assert not changed[len(changed) // 2 :].any()
    for call in asked:
        assert call.schema is not None
        assert call.body["max_tokens"] == 300


def test_a_server_that_thinks_has_room_and_its_thoughts_are_no_reply(over_http: Asked) -> None:
    thinking = [ScriptedReply(text=json.dumps(line), thinking="let me see " * 300) for line in (SEARCH, ANSWER)]
    answer, session, asked = over_http(thinking, ReactSettings(thinking_tokens=2000))
    assert (answer.status, answer.answer) == ("answered", "A bus came by.")
    assert [call.body["max_tokens"] for call in asked] == [2300, 2300]
    assert not any("let me see" in call.reply for call in session.calls)


def test_all_tokens_spent_on_thinking_is_asked_again_with_more_room(over_http: Asked) -> None:
    spent = ScriptedReply(thinking="hmm " * 50, finish="length")
    answer, _, asked = over_http([spent, SEARCH, ANSWER])
    assert answer.answer == "A bus came by."
    assert asked[1].body["max_tokens"] > asked[0].body["max_tokens"]
    assert asked[1].messages == asked[0].messages


@pytest.mark.parametrize(
    "failure",
    [ScriptedReply.failing(500), ScriptedReply.failing(401), ScriptedReply(text=json.dumps(ANSWER), cut_after=2)],
    ids=["broken", "refused", "cut"],
)
def test_a_server_that_fails_half_way_leaves_what_was_found(over_http: Asked, failure: ScriptedReply) -> None:
    answer, _, _ = over_http([SEARCH, failure])
    assert (answer.status, answer.answer) == ("answered", "In view: street, bus.")
    assert any("failed half-way" in note or "language model" in note for note in answer.notes), answer.notes


def test_a_server_that_fails_at_once_leaves_the_question_to_the_local_planner(over_http: Asked) -> None:
    answer, session, _ = over_http([ScriptedReply.failing(500)])
    assert any("local" in note for note in answer.notes), answer.notes
    assert len(session.steps) > 1


def test_what_is_sent_stays_within_the_tokens_of_a_question(over_http: Asked) -> None:
    # 2/3 of 14,000 tokens over 4 expected turns are 2,333: two pictures of 1,000 each.
    _, _, asked = over_http([SEARCH, ANSWER], tokens_per_question=14_000)
    assert len(asked[0].images) == 2


def test_what_the_server_said_is_a_trajectory_with_its_log_probabilities(over_http: Asked, view: View, tmp_path: Path) -> None:
    answer, session, asked = over_http([SEARCH, ANSWER])
    copytree(view.directory, tmp_path / "memory")
    with Store.open(tmp_path / "memory") as store:
        with store.transaction() as tx:
            tx.add_session(log_of(session, answer, "eventmem", "react"))
        with store.view() as after:
            log = after.session(after.sessions()[0].id)
    one = trajectory(log)
    assert [message.role for message in one.messages] == ["system", "user", "assistant", "user", "assistant"]
    assert [message.content for message in one.messages[:-1]] == [text for _, text in asked[1].messages]
    assert json.loads(one.messages[-1].content) == ANSWER
    assert one.messages[1].pictures == ("m4", "m5", "m6", "m7")
    assert (one.tokens_in, one.tokens_out) == (200, 40)
    assert all(call.body["logprobs"] is True for call in asked)
    pieces = sum(len(json.dumps(line).split(" ")) for line in (SEARCH, ANSWER))
    assert one.logprob == pytest.approx(pieces * np.log(0.5))  # the server gives each piece probability 1/2
