"""A language model without a network, and all cases in which it is missing."""

from __future__ import annotations

import json
import threading
import time

import pytest
from edgemem_gguf.chat import GgufChat

from edgemem.cli.app import CommandContext
from edgemem.errors import ChatError, UsageError
from edgemem.infer.chat import ChatMessage, Prompt
from edgemem.infer.fetch import ensure

SCHEMA = {
    "type": "object",
    "properties": {"action": {"enum": ["search", "answer"]}, "words": {"type": "string", "maxLength": 20}},
    "required": ["action", "words"],
    "additionalProperties": False,
}


def asking(text="Where is my red mug?", **fields):
    return Prompt(**{"task": "planner", "messages": (ChatMessage(role="user", text=text),), "max_tokens": 50, **fields})


@pytest.fixture(scope="module")
def session():
    session = CommandContext(None, ("gguf.model=smollm2-135m", "gguf.context_tokens=1024", "gguf.threads=1", "models.chat=gguf"))
    ensure(session.cards["smollm2-135m"], session.home, session.converters)
    return session


@pytest.fixture(scope="module")
def models(session):
    return session.context.models


@pytest.mark.slow
def test_it_says_only_what_the_schema_allows(models):
    completion = models.complete(asking(schema=SCHEMA))
    assert set(json.loads(completion.text)) == {"action", "words"}
    assert completion.model.startswith("smollm2")
    assert (completion.tokens_in > 5, completion.tokens_out > 5, completion.usd) == (True, True, 0.0)


@pytest.mark.slow
def test_a_schema_that_is_none_is_said(models):
    with pytest.raises(ChatError, match="unrecognized type"):
        models.complete(asking(schema={"type": "object", "properties": {"a": {"type": "nonsense"}}, "required": ["a"]}))


@pytest.mark.slow
def test_length_and_time_are_limits(models, session):
    assert models.complete(asking("Tell me a long story.", max_tokens=4)).finish == "length"
    with pytest.raises(ChatError, match=r"raise gguf\.context_tokens"):
        models.complete(asking("word " * 2000))
    weights = ensure(session.cards["smollm2-135m"], session.home, session.converters)["model"]
    with pytest.raises(ChatError, match=r"gguf\.call_s"):
        GgufChat(lambda: weights, 1024, 1, 0.001).complete(asking("Count to one thousand.", max_tokens=500))


def test_pictures_are_refused(tmp_path):
    prompt = asking(messages=(ChatMessage(role="user", text="what is this?", images=(b"jpeg",)),))
    with pytest.raises(ChatError, match="accepts only text"):
        GgufChat(lambda: tmp_path / "none.gguf", 1024, 1, 10).complete(prompt)


def test_a_model_that_is_not_there_or_is_none_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("EDGEMEM_HOME", str(tmp_path))
    (tmp_path / "text.gguf").write_text("this is no model")
    for model, words in (
        (tmp_path / "none.gguf", "no such file"),
        (tmp_path / "text.gguf", "is it a GGUF file"),
        ("smollm2-135m", "engines fetch"),
    ):
        models = CommandContext(None, (f"gguf.model={model}",)).context.models
        with pytest.raises(ChatError, match=words):
            models.complete(asking())
    with pytest.raises(UsageError, match='did you mean "smollm2-135m"'):
        CommandContext(None, ("gguf.model=smolm2-135m",)).context.models.complete(asking())


def test_nothing_is_configured_unless_a_model_is_named():
    assert not CommandContext(None, ()).context.models.there


@pytest.mark.slow
def test_log_probabilities_come_with_every_token(models):
    completion = models.complete(asking("Say yes.", max_tokens=5, logprobs=3))
    assert completion.logprobs
    for one in completion.logprobs:
        assert one.logprob <= 0
        assert len(one.top) == 3
        assert [value for _, value in one.top] == sorted((value for _, value in one.top), reverse=True)
        assert (one.token, pytest.approx(one.logprob)) in one.top, "at temperature 0 the likeliest token is said"
    assert models.complete(asking(max_tokens=2)).logprobs == ()


def test_a_reply_has_its_time_from_when_it_is_its_turn(tmp_path, monkeypatch):
    """Four may be asked at once, and the model answers one after the other."""
    chat, started = GgufChat(lambda: tmp_path / "model.gguf", 1024, 1, 10.0), []
    monkeypatch.setattr(chat, "_loaded", lambda: None)
    monkeypatch.setattr(chat, "_asked", lambda _server, _prompt, start: started.append(start))
    with chat._lock:
        waiting = threading.Thread(target=chat.complete, args=(asking(),))
        waiting.start()
        time.sleep(0.3)
        its_turn = time.monotonic()
    waiting.join(20.0)
    assert started[0] >= its_turn
