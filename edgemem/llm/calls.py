"""A record of one question to a language model: all that is needed to serve it again, without the bytes of pictures."""

from __future__ import annotations

import hashlib

import msgspec

from edgemem.infer.chat import ChatMessage, Finish, Prompt, TokenLogprob
from edgemem.records import Record
from edgemem.remember.entries import NewCall

_ID_DIGITS = 16
"""Hex digits of the SHA-256 that names a picture nobody named: two of 10^6 pictures meet with a chance of 3e-8."""


class Call(Record, frozen=True):
    """One question to a language model: before which step, what was asked, what it said and what it cost."""

    task: str
    model: str
    step: int
    request: Prompt | None = None
    """What was sent, as `recorded` keeps it; None in memories that an older edgemem wrote."""
    reply: str = ""
    finish: Finish = "stop"
    pictures: int = 0
    """So many were shown."""
    tokens_in: int = 0
    tokens_out: int = 0
    ms: float = 0.0
    usd: float = 0.0
    error: str = ""
    logprobs: tuple[TokenLogprob, ...] = ()

    @property
    def prompt(self) -> str:
        """The last message."""
        return self.request.messages[-1].text if self.request is not None and self.request.messages else ""


def stored(call: Call) -> NewCall:
    """The call as the memory keeps it."""
    return NewCall(
        step=call.step, task=call.task, model=call.model, request=msgspec.msgpack.encode(call.request), reply=call.reply,
        finish=call.finish, tokens_in=call.tokens_in, tokens_out=call.tokens_out, ms=call.ms, usd=call.usd, error=call.error,
        logprobs=msgspec.msgpack.encode(call.logprobs) if call.logprobs else b"",
    )  # fmt: skip


def restored(kept: NewCall) -> Call:
    """The call as it was; what an older edgemem kept has its last message only, and cannot be served again."""
    try:
        request = msgspec.msgpack.decode(kept.request, type=Prompt | None)
    except msgspec.MsgspecError:
        request = None
    return Call(
        task=kept.task, model=kept.model, step=kept.step, request=request, reply=kept.reply,
        finish=msgspec.convert(kept.finish or "stop", Finish), tokens_in=kept.tokens_in, tokens_out=kept.tokens_out, ms=kept.ms,
        usd=kept.usd, error=kept.error, pictures=sum(len(message.image_ids) for message in request.messages) if request is not None else 0,
        logprobs=msgspec.msgpack.decode(kept.logprobs, type=tuple[TokenLogprob, ...]) if kept.logprobs else (),
    )  # fmt: skip


def recorded(prompt: Prompt) -> Prompt:
    """The prompt with ids in the place of pictures. Those that the prompt does not name are named by the SHA-256 of their bytes."""
    return msgspec.structs.replace(prompt, messages=tuple(_without_bytes(message) for message in prompt.messages))


def _without_bytes(message: ChatMessage) -> ChatMessage:
    named = len(message.image_ids) >= len(message.images)
    ids = message.image_ids if named else tuple(hashlib.sha256(image).hexdigest()[:_ID_DIGITS] for image in message.images)
    return msgspec.structs.replace(message, images=(), image_ids=ids)
