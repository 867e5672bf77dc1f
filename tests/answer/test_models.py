"""Language models are counted, capped and told no more than they may be; a question is never lost with its model."""

from __future__ import annotations

import pytest

from edgemem.answer.check import WithinQuestion
from edgemem.answer.models import Models
from edgemem.answer.session import Session
from edgemem.answer.tools import Search
from edgemem.answer.understand import understand as parse
from edgemem.answer.understand.timespan import TimeSpan
from edgemem.config import ModelSettings, load
from edgemem.errors import ChatError, UsageError
from edgemem.infer.chat import ChatMessage, Completion, Prompt
from edgemem.records import US, Question


class Parrot:
    """Says what it is told."""

    name, vision = "parrot", True

    def __init__(self, **changes):
        self.prompts, self._changes = [], changes

    def complete(self, prompt):
        self.prompts.append(prompt)
        return Completion(**({"text": prompt.messages[-1].text, "model": "parrot", "tokens_in": 100, "tokens_out": 50} | self._changes))


def prompt(text="hello", images=()):
    return Prompt(task="planner", messages=(ChatMessage(role="user", text=text, images=images),), max_tokens=50)


def session(span=TimeSpan()):  # noqa: B008 - frozen
    return Session(Question(text="where?", asked_us=0, as_of_us=10**18), lambda: (parse("where?"), span))


def test_calls_are_noted_in_the_session_of_their_question_only():
    models, one = Models(Parrot()), session()
    with models.answering(one):
        models.complete(prompt("first"))
    models.complete(prompt("beside it"))
    assert [(call.task, call.prompt, call.reply, call.tokens_in) for call in one.calls] == [("planner", "first", "first", 100)]


def test_a_question_may_use_up_its_share_and_no_more():
    models, one = Models(Parrot(), ModelSettings(tokens_per_question=400)), session()
    with models.answering(one):
        models.complete(prompt())
        models.complete(prompt())
        with pytest.raises(ChatError, match="tokens_per_question = 400 is used up"):
            models.complete(prompt("a long text " * 50))


def test_what_is_left_shrinks_with_every_call_of_the_question():
    models, one = Models(Parrot(ms=9000.0), ModelSettings(tokens_per_question=1000, seconds_per_question=10)), session()
    whole = models.left
    with models.answering(one):
        models.complete(prompt())
        left = models.left
    assert (whole.tokens, whole.share, left.tokens, left.share) == (1000, 1.0, 850, pytest.approx(0.1))
    assert models.left == whole, "no question is being answered now"


def test_a_refusal_is_an_error_that_quotes_it():
    with pytest.raises(ChatError, match="refused: I would rather not"):
        Models(Parrot(text="I would rather not", finish="refusal")).complete(prompt())


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.", "I’m sorry, I can’t assist with that request.", "Sorry, I cannot comply.",
        "I won't do that.",
        "As an AI language model, I am unable to help with that.", "Unfortunately, I'm not able to fulfill this request.", "I refuse.",
        "I apologize, but I cannot provide that information.", "I'm sorry, but I must respectfully decline.",
        "We are unable to process this.",
    ],
)  # fmt: skip
def test_a_refusal_in_plain_words_is_one_too(text):
    with pytest.raises(ChatError, match="the language model refused"):
        Models(Parrot(text=text)).complete(prompt())


@pytest.mark.parametrize(
    "text",
    [
        "I could not find it.", "I can't see a mug.", "I'm sorry, I couldn't find any cup.", "Not found: x", "I helped Anna at 10:00.",
        "I can help: the mug is on the desk.", "I cannot provide an exact time, but it was at ten.",
        '{"action": "answer"}', "Sorry", "", "I",
        "Anna said: I can't help with that.",
    ],
)  # fmt: skip
def test_what_is_not_found_or_quoted_is_no_refusal(text):
    assert Models(Parrot(text=text)).complete(prompt()).text == text


def test_what_may_not_leave_does_not_leave():
    parrot = Parrot()
    models = Models(parrot, ModelSettings(send_pictures=False, redact=[r"\b\d{4} \d{4}\b"]))
    models.complete(prompt("card 1234 5678\u200b\u202e\U000e0041 of Tom", images=(b"\xff\xd8",)))
    sent = parrot.prompts[0].messages[0]
    assert (sent.text, sent.images) == ("card █ of Tom", ())
    assert not models.vision


def test_a_broken_expression_is_refused_at_the_start():
    with pytest.raises(UsageError, match="redact"):
        load(None, ['models.redact=["(unclosed"]'])


def test_what_a_model_asks_for_stays_within_the_time_of_the_question():
    asked = session(TimeSpan(from_us=100 * US, to_us=200 * US))
    wide, none = Search(query="mug", from_us=0, to_us=10**15), Search(query="mug")
    assert WithinQuestion().rewrite(wide, asked) == wide, "without a model nothing is changed"
    with Models(Parrot()).answering(asked):
        Models(Parrot()).complete(prompt())
    for action in (wide, none):
        narrowed = WithinQuestion().rewrite(action, asked)
        assert (narrowed.from_us, narrowed.to_us) == (100 * US, 200 * US)
    inner = Search(query="mug", from_us=120 * US, to_us=130 * US)
    assert WithinQuestion().rewrite(inner, asked) == inner
