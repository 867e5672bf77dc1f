"""Language models as planners, tools and writers meet them: counted, capped, and noted in the session that is being answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Protocol, TypeVar

import msgspec

from edgemem.config import ModelSettings, QuestionCaps
from edgemem.errors import ChatError, PluginFailure
from edgemem.infer.chat import Chat, ChatMessage, Completion, Prompt, refuses
from edgemem.infer.structured import read_reply, strict_schema
from edgemem.llm.calls import Call, recorded
from edgemem.llm.redaction import Redaction
from edgemem.records import Record

T = TypeVar("T")


class Asker(Protocol):
    """A question that is being answered (`answer.session.Session`), as far as it matters to the models that are asked for it."""

    caps: QuestionCaps
    calls: list[Call]
    """Every time a model was asked."""
    reserved_tokens: int
    """What calls that are under way may take at most."""
    unshown: dict[str, str]
    """Tasks that wanted to show pictures and could not, with the reason."""

    @property
    def steps(self) -> Sized:
        """What was done so far."""


_SESSION: ContextVar[Asker | None] = ContextVar("session", default=None)
"""The question that this thread answers. Threads of one daemon answer different ones with the same models."""

_NO_MODEL = "no language model is configured"
_CHARS_PER_TOKEN = 3
"""Of English text a token is about 4 characters; 3 errs to the safe side. A cap must hold before the server has counted."""
IMAGE_TOKENS = 1000
"""Estimate for one picture before it is sent: what servers charge for 768 to 1280 px lies between 85 and 1,600 tokens."""

_THINKING_TOKENS = 4096
"""Room that a model gets which thought until its tokens were used up; at least four times what it had."""


class Remaining(Record, frozen=True):
    """What a question may still use up of language models: tokens, and the smaller share of its tokens and seconds."""

    tokens: int
    share: float
    caps: QuestionCaps
    """The caps that hold for it."""


class Models:
    """The chat that is configured, if any, within the caps of one question."""

    def __init__(self, chat: Chat | None = None, settings: ModelSettings | None = None, why_not: str = _NO_MODEL) -> None:
        self._chat = chat
        self._settings = settings or ModelSettings()
        self._why_not = why_not
        self._redaction = Redaction(self._settings.redact)
        self._lock = threading.Lock()
        self._thinking: dict[str, int] = {}
        """By task: room that its model turned out to need."""

    @property
    def there(self) -> bool:
        """A language model is configured; whether it answers is seen when it is asked."""
        return self._chat is not None

    @property
    def parallel(self) -> int:
        """Calls at the same time, at most."""
        return self._settings.parallel

    def reads(self, language: str) -> bool:
        """Whether the model is to read questions in this language ("en" is English) for the planner `local`."""
        which = self._settings.read_questions
        return self.there and (which == "always" or (which == "other_languages" and language != "en"))

    @property
    def words_answers(self) -> bool:
        """Whether the model is to word the answers of the planner `local`."""
        return self.there and self._settings.word_answers

    @property
    def name(self) -> str:
        """Of the chat; empty where there is none."""
        return self._chat.name if self._chat is not None else ""

    def sees(self, task: str) -> bool:
        """Whether pictures can be shown for this task. Where they cannot, the answer of this thread's question will say so."""
        if self._chat is None:
            return False
        vision = self._settings.task(task).vision
        if not self._settings.send_pictures:
            return self._unseen(task, "models.send_pictures is off")
        if vision is False:
            return self._unseen(task, f"models.tasks.{task}.vision is off")
        return vision is True or self._chat.sees(task) or self._unseen(task, "its model does not see pictures")

    @staticmethod
    def _unseen(task: str, why: str) -> bool:
        session = _SESSION.get()
        if session is not None:
            session.unshown[task] = why
        return False

    @property
    def remaining(self) -> Remaining:
        """Of the question that this thread answers; everything where it answers none."""
        calls = session.calls if (session := _SESSION.get()) is not None else []
        limits = self._settings.caps(session.caps if session is not None else QuestionCaps())
        tokens = max(0, limits.tokens_per_question - sum(call.tokens_in + call.tokens_out for call in calls))
        seconds = max(0.0, limits.seconds_per_question - sum(call.ms for call in calls) / 1000)
        shares = (tokens / max(1, limits.tokens_per_question), seconds / max(1e-3, limits.seconds_per_question))
        return Remaining(tokens=tokens, share=min(shares), caps=limits)

    @contextmanager
    def answering(self, session: Asker) -> Iterator[None]:
        """Calls of this thread belong to `session` until the block ends."""
        token = _SESSION.set(session)
        try:
            yield
        finally:
            _SESSION.reset(token)

    def complete(self, prompt: Prompt) -> Completion:
        """Ask the model; once more with more room when it thought until its tokens were used up and said nothing.

        With a schema the text is the JSON that the schema describes, where the reply holds one JSON object. Raises ChatError when there is
        no model, when it fails, or when the question has used up its share.
        """
        outgoing = self._outgoing(prompt)
        completion = self._asked(outgoing)
        if _out_of_room(completion):
            room = max(_THINKING_TOKENS, 4 * (outgoing.max_tokens + outgoing.thinking_tokens))
            completion = self._asked(msgspec.structs.replace(outgoing, thinking_tokens=room))
            if _out_of_room(completion):
                wanted = f"raise models.tasks.{prompt.task}.thinking_tokens, or set its reasoning_effort"
                raise ChatError(f"the model used all {outgoing.max_tokens + room} tokens without a word: {wanted}")
            self._thinking[prompt.task] = room
        if completion.finish == "refusal" or refuses(completion.text):
            raise ChatError(f"the language model refused: {completion.text[:120] or 'without a reason'}")
        if prompt.schema is None:
            return completion
        return msgspec.structs.replace(completion, text=read_reply(completion.text, prompt.schema))

    def complete_all(self, prompts: Sequence[Prompt]) -> list[Completion | ChatError]:
        """Ask several prompts at once, at most `models.parallel` at a time: the completion of each in their order, or why there is none."""
        return self.at_once([partial(self.complete, prompt) for prompt in prompts])

    def at_once(self, calls: Sequence[Callable[[], T]]) -> list[T | ChatError]:
        """Make several calls of a model at once, at most `parallel` at a time: what each gave in their order, or why it gave nothing.

        What a call reads of the memory it must have read before: a view belongs to one thread.
        """

        def one(call: Callable[[], T]) -> T | ChatError:
            try:
                return call()
            except ChatError as error:
                return error

        with ThreadPoolExecutor(max_workers=self._settings.parallel) as pool:
            waiting = [pool.submit(copy_context().run, one, call) for call in calls]
            return [future.result() for future in waiting]

    def _asked(self, prompt: Prompt) -> Completion:
        """One call, within the caps of the question, noted in its session."""
        if self._chat is None:
            raise ChatError(self._why_not)
        session = _SESSION.get()
        if session is None:
            return self._call(self._chat, prompt, None)
        expected = _expected_tokens(prompt)
        with self._lock:
            why = self._beyond_caps(session, expected)
            if why:
                self._note(session, prompt, Completion(text="", model=""), why)
                raise ChatError(why)
            session.reserved_tokens += expected
        left_s = self._settings.caps(session.caps).seconds_per_question - sum(call.ms for call in session.calls) / 1000
        prompt = msgspec.structs.replace(prompt, silence_s=min(prompt.silence_s, max(0.1, left_s)))
        try:
            return self._call(self._chat, prompt, session)
        finally:
            with self._lock:
                session.reserved_tokens -= expected

    def _call(self, chat: Chat, prompt: Prompt, session: Asker | None) -> Completion:
        start = time.perf_counter()
        try:
            completion = chat.complete(prompt)
        except (ChatError, PluginFailure) as failed:  # a fault of the chat itself is no other case: it does not answer
            error = failed if isinstance(failed, ChatError) else ChatError(str(failed))
            self._note(session, prompt, Completion(text="", model="", ms=1000 * (time.perf_counter() - start)), str(error))
            if any(message.images for message in prompt.messages):
                self._unseen(prompt.task, str(error))
            raise error from None
        if not completion.ms:
            completion = msgspec.structs.replace(completion, ms=1000 * (time.perf_counter() - start))
        self._note(session, prompt, completion, "")
        return completion

    def _outgoing(self, prompt: Prompt) -> Prompt:
        """What really leaves: asked as the settings of the task say, no picture that may not, no text that is to be blackened."""
        settings = self._settings.task(prompt.task)
        if any(message.images for message in prompt.messages) and not self._settings.send_pictures:
            self._unseen(prompt.task, "models.send_pictures is off")
        room = settings.thinking_tokens if settings.thinking_tokens is not None else self._thinking.get(prompt.task, prompt.thinking_tokens)
        return msgspec.structs.replace(
            prompt,
            messages=tuple(self._outgoing_message(message) for message in prompt.messages),
            schema=self._redaction.schema(strict_schema(prompt.schema)) if prompt.schema is not None else None,
            max_tokens=settings.max_tokens or prompt.max_tokens,
            thinking_tokens=room,
            reasoning_effort=settings.reasoning_effort or prompt.reasoning_effort,
            extra_body=prompt.extra_body | (settings.extra_body or {}),
            silence_s=settings.silence_s or prompt.silence_s,
        )

    def _outgoing_message(self, message: ChatMessage) -> ChatMessage:
        """Plain strings are cleaned and blackened first; what is data is encoded after that, so that no escape hides a word."""
        data = "" if message.data is None else msgspec.json.encode(self._redaction.data(message.data)).decode()
        text = "\n".join(filter(None, (self._redaction.text(message.text), data)))
        cleaned = msgspec.structs.replace(message, text=text, data=None)
        return cleaned if self._settings.send_pictures else msgspec.structs.replace(cleaned, images=(), image_ids=())

    def _beyond_caps(self, session: Asker, expected: int) -> str:
        """Which cap of the question forbids one more call of so many tokens; "" where none does."""
        caps = self._settings.caps(session.caps)
        used = sum(call.tokens_in + call.tokens_out for call in session.calls) + session.reserved_tokens
        if used + expected > caps.tokens_per_question:
            return f"models.tokens_per_question = {caps.tokens_per_question} is used up; raise it for longer reasoning"
        if sum(call.ms for call in session.calls) > 1000 * caps.seconds_per_question:
            return f"models.seconds_per_question = {caps.seconds_per_question:g} is used up; raise it for slower models"
        return ""

    @staticmethod
    def _note(session: Asker | None, prompt: Prompt, completion: Completion, error: str) -> None:
        if session is None:
            return
        call = Call(
            task=prompt.task, model=completion.model, step=len(session.steps) + 1, request=recorded(prompt), reply=completion.text,
            finish=completion.finish, pictures=sum(len(message.images) for message in prompt.messages), tokens_in=completion.tokens_in,
            tokens_out=completion.tokens_out, ms=completion.ms, usd=completion.usd, error=error, logprobs=completion.logprobs,
        )  # fmt: skip
        session.calls.append(call)


def _expected_tokens(prompt: Prompt) -> int:
    """An estimate from above of what a call takes, before the server has counted."""
    asked = sum(m.chars // _CHARS_PER_TOKEN + IMAGE_TOKENS * len(m.images) for m in prompt.messages)
    return asked + prompt.max_tokens + prompt.thinking_tokens


def _out_of_room(completion: Completion) -> bool:
    return completion.finish == "length" and not completion.text.strip()
