"""Language models as planners, tools and writers meet them: counted, capped, and noted in the session that is being answered."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec

from edgemem.answer.session import Call, Session
from edgemem.config import ModelSettings
from edgemem.errors import ChatError
from edgemem.infer.chat import Chat, ChatMessage, Completion, Prompt, refuses
from edgemem.records import Record

_SESSION: ContextVar[Session | None] = ContextVar("session", default=None)
"""The question that this thread answers. Threads of one daemon answer different ones with the same models."""

_CHARS_PER_TOKEN = 3
"""Of English text a token is about 4 characters; 3 errs to the safe side. A cap must hold before the server has counted."""
IMAGE_TOKENS = 1000
"""Estimate for one picture before it is sent: what servers charge for 768 to 1280 px lies between 85 and 1,600 tokens."""


_INVISIBLE = dict.fromkeys(
    (*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), 0x7F, 0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070),
     0xFEFF, *range(0xE0000, 0xE0080))
)  # fmt: skip
"""Control characters, zero-width and direction marks, Unicode tags: text that a model reads and a person does not."""


class Left(Record, frozen=True):
    """What a question may still use up of language models: tokens, and the smaller share of its tokens and seconds."""

    tokens: int
    share: float


class Models:
    """The chat that is configured, if any, within the caps of one question."""

    def __init__(
        self, chat: Chat | None = None, settings: ModelSettings | None = None, why_not: str = "no language model is configured"
    ) -> None:
        self._chat = chat
        self._settings = settings or ModelSettings()
        self._why_not = why_not

    @property
    def there(self) -> bool:
        """A language model is configured; whether it answers is seen when it is asked."""
        return self._chat is not None

    @property
    def name(self) -> str:
        """Of the chat; empty where there is none."""
        return self._chat.name if self._chat is not None else ""

    @property
    def vision(self) -> bool:
        """It can be shown pictures."""
        return self._chat is not None and self._chat.vision and self._settings.send_pictures

    @property
    def left(self) -> Left:
        """Of the question that this thread answers; everything where it answers none."""
        calls = session.calls if (session := _SESSION.get()) is not None else []
        limits = self._settings
        tokens = max(0, limits.tokens_per_question - sum(call.tokens_in + call.tokens_out for call in calls))
        seconds = max(0.0, limits.seconds_per_question - sum(call.ms for call in calls) / 1000)
        shares = (tokens / max(1, limits.tokens_per_question), seconds / max(1e-3, limits.seconds_per_question))
        return Left(tokens=tokens, share=min(shares))

    @contextmanager
    def answering(self, session: Session) -> Iterator[None]:
        """Calls of this thread belong to `session` until the block ends."""
        token = _SESSION.set(session)
        try:
            yield
        finally:
            _SESSION.reset(token)

    def complete(self, prompt: Prompt) -> Completion:
        """Ask the model. Raises ChatError when there is none, when it fails, or when the question has used up its share."""
        if self._chat is None:
            raise ChatError(self._why_not)
        session, prompt = _SESSION.get(), self._outgoing(prompt)
        if session is not None:
            self._refuse_beyond_caps(session, prompt)
        start = time.perf_counter()
        try:
            completion = self._chat.complete(prompt)
        except ChatError as error:
            self._note(session, prompt, Completion(text="", model="", ms=1000 * (time.perf_counter() - start)), str(error))
            raise
        if not completion.ms:
            completion = msgspec.structs.replace(completion, ms=1000 * (time.perf_counter() - start))
        self._note(session, prompt, completion, "")
        if completion.finish == "refusal" or refuses(completion.text):
            raise ChatError(f"the language model refused: {completion.text[:120] or 'without a reason'}")
        return completion

    def _outgoing(self, prompt: Prompt) -> Prompt:
        """What really leaves: no picture that may not, no text that is to be blackened, no letters that nobody sees."""
        messages = tuple(
            ChatMessage(role=m.role, text=self._clean(m.text), images=m.images if self._settings.send_pictures else ())
            for m in prompt.messages
        )
        return msgspec.structs.replace(prompt, messages=messages)

    def _clean(self, text: str) -> str:
        for pattern in self._settings.redact:
            text = re.sub(pattern, "█", text)
        return text.translate(_INVISIBLE)

    def _refuse_beyond_caps(self, session: Session, prompt: Prompt) -> None:
        used = sum(call.tokens_in + call.tokens_out for call in session.calls)
        wanted = sum(len(m.text) // _CHARS_PER_TOKEN + IMAGE_TOKENS * len(m.images) for m in prompt.messages) + prompt.max_tokens
        if used + wanted > self._settings.tokens_per_question:
            raise ChatError(f"models.tokens_per_question = {self._settings.tokens_per_question} is used up; raise it for longer reasoning")
        if sum(call.ms for call in session.calls) > 1000 * self._settings.seconds_per_question:
            raise ChatError(f"models.seconds_per_question = {self._settings.seconds_per_question:g} is used up; raise it for slower models")

    @staticmethod
    def _note(session: Session | None, prompt: Prompt, completion: Completion, error: str) -> None:
        if session is None:
            return
        session.calls.append(
            Call(
                task=prompt.task,
                model=completion.model,
                step=len(session.steps) + 1,
                prompt=prompt.messages[-1].text if prompt.messages else "",
                pictures=sum(len(message.images) for message in prompt.messages),
                reply=completion.text,
                tokens_in=completion.tokens_in,
                tokens_out=completion.tokens_out,
                ms=completion.ms,
                usd=completion.usd,
                error=error,
            )
        )
