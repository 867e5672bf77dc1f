"""Language models are counted, capped and told no more than they may be; a question is never lost with its model."""

from __future__ import annotations

import hashlib
import threading
import time
from contextvars import copy_context

import msgspec
import pytest

from edgemem.answer.check import WithinQuestion
from edgemem.answer.session import Session, Step
from edgemem.answer.tools import Refused, Search
from edgemem.answer.understand import understand as parse
from edgemem.answer.understand.timespan import TimeSpan
from edgemem.config import ModelSettings, TaskSettings, load
from edgemem.errors import ChatError, PluginFailure, UsageError
from edgemem.extend.scripted import ReplayChat, ScriptedChat
from edgemem.infer.chat import ChatMessage, Completion, Prompt, TokenLogprob
from edgemem.llm.calls import Call
from edgemem.llm.models import Models
from edgemem.records import US, Question


class Parrot:
    """Says what it is told."""

    name = "parrot"

    def sees(self, _task):
        return True

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
    whole = models.remaining
    with models.answering(one):
        models.complete(prompt())
        left = models.remaining
    assert (whole.tokens, whole.share, left.tokens, left.share) == (1000, 1.0, 850, pytest.approx(0.1))
    assert models.remaining == whole, "no question is being answered now"


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
    models.complete(prompt("card 1234 5678\u200b\u202e\U000e0041 of T\xadom", images=(b"\xff\xd8",)))
    sent = parrot.prompts[0].messages[0]
    assert (sent.text, sent.images) == ("card █ of Tom", ())
    assert not models.sees("planner")


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


class Answer(msgspec.Struct, tag_field="action", tag="answer"):
    text: str
    sure: float = 1.0


def thinks_first(asked):
    """A model that needs 1,000 tokens of thought before it says a word."""
    return Completion(text="", model="m", tokens_out=asked.max_tokens, finish="length") if asked.thinking_tokens < 1000 else "in the hall"


def test_a_model_that_thought_until_its_tokens_were_used_up_gets_more_room_once_and_keeps_it():
    chat = ScriptedChat(thinks_first)
    models, one = Models(chat), session()
    with models.answering(one):
        assert models.complete(prompt()).text == "in the hall"
        assert models.complete(prompt()).text == "in the hall"
    assert [asked.thinking_tokens for asked in chat.asked] == [0, 4096, 4096]
    assert [(call.finish, call.reply) for call in one.calls] == [("length", ""), ("stop", "in the hall"), ("stop", "in the hall")]
    silent = ScriptedChat(lambda _: Completion(text=" ", model="m", finish="length"))
    with pytest.raises(ChatError, match=r"used all 4146 tokens without a word: raise models\.tasks\.planner\.thinking_tokens"):
        Models(silent).complete(prompt())
    assert len(silent.asked) == 2
    cut = ScriptedChat([Completion(text="in the", model="m", finish="length")])
    assert Models(cut).complete(prompt()).text == "in the", "a reply that was begun is no reason to ask again"


def test_every_task_is_asked_as_its_settings_say():
    settings = load(
        None,
        [
            "models.tasks.planner={max_tokens=700, thinking_tokens=9000, reasoning_effort='low', silence_s=9, extra_body={a=1}}",
            "models.tasks.default={max_tokens=20, silence_s=30}",
        ],
    ).models
    chat = ScriptedChat(["a", "b"])
    models = Models(chat, settings)
    models.complete(prompt())
    models.complete(msgspec.structs.replace(prompt(), task="inspector"))
    first, second = chat.asked
    assert (first.max_tokens, first.thinking_tokens, first.reasoning_effort, first.silence_s) == (700, 9000, "low", 9)
    assert first.extra_body == {"a": 1}
    assert (second.max_tokens, second.thinking_tokens, second.reasoning_effort, second.silence_s) == (20, 0, "", 30)
    assert prompt().silence_s == 240
    with pytest.raises(UsageError, match=r'unknown key "max_token" .*did you mean "max_tokens"'):
        load(None, ["models.tasks.planner={max_token=700}"])


def test_room_for_thinking_counts_against_the_cap_of_the_question():
    models = Models(ScriptedChat(["a"]), ModelSettings(tokens_per_question=5000, tasks={"planner": TaskSettings(thinking_tokens=6000)}))
    with models.answering(session()), pytest.raises(ChatError, match="tokens_per_question"):
        models.complete(prompt())


def test_a_schema_goes_out_strict_and_the_reply_comes_back_as_it_was_meant():
    schema = msgspec.json.schema(Answer | None)
    chat = ScriptedChat(['Here you are: {"reply": {"action": "answer", "text": "x", "sure": null}}'])
    text = Models(chat).complete(msgspec.structs.replace(prompt(), schema=schema)).text
    assert msgspec.json.decode(text, type=Answer) == Answer(text="x")
    assert chat.asked[0].schema["required"] == ["reply"]


def test_an_answer_made_without_pictures_says_so_and_names_the_task_and_the_reason():
    seeing, blind = ScriptedChat(["a"]), ScriptedChat(["a"], vision=False)
    for chat, changes, why in (
        (blind, {}, "its model does not see pictures"),
        (seeing, {"send_pictures": False}, "models.send_pictures is off"),
        (seeing, {"tasks": {"inspector": TaskSettings(vision=False)}}, "models.tasks.inspector.vision is off"),
    ):
        models, one = Models(chat, ModelSettings(**changes)), session()
        with models.answering(one):
            assert not models.sees("inspector")
        assert one.picture_notes == (f"no picture was shown to the inspector: {why}",)
    assert Models(blind, ModelSettings(tasks={"inspector": TaskSettings(vision=True)})).sees("inspector"), "the settings decide"
    models, one = Models(seeing), session()
    with models.answering(one):
        assert models.sees("inspector")
    assert one.picture_notes == ()


def test_a_refused_picture_is_said_unless_another_was_shown():
    shown = msgspec.structs.replace(prompt(images=(b"\xff\xd8",)), task="inspector")
    models, one = Models(ScriptedChat([ChatError("m reads words only"), "a mug"])), session()
    with models.answering(one):
        with pytest.raises(ChatError):
            models.complete(shown)
        assert one.picture_notes == ("no picture was shown to the inspector: m reads words only",)
        models.complete(shown)
    assert one.picture_notes == ()


def test_a_record_of_a_call_names_pictures_and_keeps_none():
    jpeg = b"\xff\xd8 a picture"
    messages = (
        ChatMessage(role="system", text="be brief"),
        ChatMessage(role="user", text="this?", images=(jpeg,), image_ids=("m12",)),
        ChatMessage(role="user", text="that?", images=(jpeg,)),
    )
    probabilities = (TokenLogprob(token="a", logprob=-0.5, top=(("a", -0.5), ("b", -2.0))),)
    models, one = Models(ScriptedChat([Completion(text="a", model="m", logprobs=probabilities, usd=0.25)])), session()
    with models.answering(one):
        models.complete(Prompt(task="inspector", messages=messages, logprobs=2, schema={"type": "object", "properties": {}}))
    (call,) = one.calls
    assert [message.image_ids for message in call.request.messages] == [(), ("m12",), (hashlib.sha256(jpeg).hexdigest()[:16],)]
    assert [message.text for message in call.request.messages] == ["be brief", "this?", "that?"]
    assert jpeg not in msgspec.msgpack.encode(call)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(call), type=Call) == call
    assert (call.logprobs, call.usd, call.pictures, call.request.logprobs) == (probabilities, 0.25, 2, 2)
    assert call.request.schema == {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def test_a_recorded_session_is_served_again_errors_included():
    replies = ["one", ChatError("the server is gone"), "three"]
    models, first = Models(ScriptedChat(list(replies))), session()

    def conversation(models, noted):
        said = []
        with models.answering(noted):
            for text in ("a", "b", "a"):
                try:
                    said.append(models.complete(prompt(text, images=(text.encode(),))).text)
                except ChatError as error:
                    said.append(str(error))
        return said

    told = conversation(models, first)
    assert told == ["one", "the server is gone", "three"]
    replay, second = Models(ReplayChat(first.calls)), session()
    assert conversation(replay, second) == told
    assert [msgspec.structs.replace(call, ms=0) for call in second.calls] == [msgspec.structs.replace(call, ms=0) for call in first.calls]
    with pytest.raises(ChatError, match="no such call of the task planner"):
        replay.complete(prompt("a", images=(b"a",)))
    with pytest.raises(ChatError, match="no such call"):
        Models(ReplayChat(first.calls)).complete(prompt("a", images=(b"another picture",)))
    assert Models(ReplayChat(first.calls)).sees("planner")
    assert not Models(ReplayChat(first.calls)).sees("inspector")


def test_the_time_of_a_question_is_used_up_by_what_was_waited():
    models, one = Models(ScriptedChat([Completion(text="a", model="m", ms=6000.0)] * 3), ModelSettings(seconds_per_question=10)), session()
    with models.answering(one):
        models.complete(prompt())
        models.complete(prompt())
        with pytest.raises(ChatError, match="seconds_per_question = 10 is used up"):
            models.complete(prompt())


def test_a_call_is_waited_for_no_longer_than_its_question_has_left():
    parrot = Parrot(ms=6000.0)
    models = Models(parrot, ModelSettings(seconds_per_question=10))
    with models.answering(session()):
        models.complete(msgspec.structs.replace(prompt(), silence_s=240.0))
        models.complete(msgspec.structs.replace(prompt(), silence_s=240.0))
    assert [asked.silence_s for asked in parrot.prompts] == [10.0, 4.0]
    with models.answering(session()):
        models.complete(msgspec.structs.replace(prompt(), silence_s=3.0))
    assert parrot.prompts[-1].silence_s == 3.0


def test_a_chat_that_fails_in_an_unforeseen_way_does_not_answer():
    """Its plugin's guard says so; the rules answer then."""

    def broken(_prompt):
        raise PluginFailure("chat of plugin p failed: ImportError: no socks")

    chat, one = Parrot(), session()
    chat.complete = broken
    models = Models(chat)
    with models.answering(one), pytest.raises(ChatError, match="chat of plugin p failed: ImportError"):
        models.complete(prompt())
    assert [call.error for call in one.calls] == ["chat of plugin p failed: ImportError: no socks"]


def test_a_picture_counts_as_1000_tokens_before_it_is_sent():
    shown = prompt("look", images=(b"\xff\xd8", b"\xff\xd8"))
    for cap, fits in ((2051, True), (2050, False)):
        models = Models(ScriptedChat(["a mug"]), ModelSettings(tokens_per_question=cap))
        with models.answering(session()):
            if fits:
                assert models.complete(shown).text == "a mug"
                continue
            with pytest.raises(ChatError, match="tokens_per_question"):
                models.complete(shown)


def test_independent_prompts_are_asked_together_in_bounds_and_one_failure_leaves_the_others():
    together, most, lock = [0], [0], threading.Lock()
    full = threading.Barrier(3, timeout=10)

    def reply(asked):
        with lock:
            together[0] += 1
            most[0] = max(most[0], together[0])
        full.wait()  # breaks unless three are under way at once
        with lock:
            together[0] -= 1
        text = asked.messages[0].text
        return ChatError("gone") if text == "2" else text

    models, one = Models(ScriptedChat(reply), ModelSettings(parallel=3)), session()
    with models.answering(one):
        said = models.complete_all([prompt(str(number)) for number in range(6)])
    assert [got.text if isinstance(got, Completion) else str(got) for got in said] == ["0", "1", "gone", "3", "4", "5"]
    assert most == [3]
    assert sorted(call.prompt for call in one.calls) == list("012345"), "they belong to the question"
    assert one.reserved_tokens == 0


def test_calls_under_way_count_against_the_cap():
    models, one = Models(ScriptedChat(lambda _: "x"), ModelSettings(tokens_per_question=400)), session()
    full = threading.Barrier(2, timeout=10)

    def slow(_):
        full.wait()
        return "x"

    held = Models(ScriptedChat(slow), ModelSettings(tokens_per_question=400))
    with held.answering(one):
        worker = threading.Thread(target=copy_context().run, args=(held.complete, prompt("word " * 150)))  # 250 tokens and 50
        worker.start()
        while not one.reserved_tokens:
            time.sleep(0.001)
        with models.answering(one), pytest.raises(ChatError, match="tokens_per_question"):
            models.complete(prompt("word " * 60))  # 100 tokens and 50
        full.wait()
        worker.join()


def test_a_call_stands_before_the_step_it_is_for_and_has_the_time_it_took():
    def slow(asked):
        time.sleep(0.05)
        return ChatError("gone") if asked.messages[0].text == "bad" else "x"

    models, one = Models(ScriptedChat(slow)), session()
    one.steps += [Step(action=Search(query="mug"), result=Refused(why="no"), ms=1.0)] * 2
    with models.answering(one):
        models.complete(prompt("good"))
        with pytest.raises(ChatError):
            models.complete(prompt("bad"))
    assert [call.step for call in one.calls] == [3, 3]
    assert all(call.ms >= 50 for call in one.calls)


def test_much_room_is_four_times_what_was_too_little():
    chat = ScriptedChat([Completion(text="", model="m", finish="length"), "x"])
    Models(chat).complete(msgspec.structs.replace(prompt(), max_tokens=2000, thinking_tokens=500))
    assert [asked.thinking_tokens for asked in chat.asked] == [500, 10_000]
