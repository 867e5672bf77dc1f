"""A record of one question to a language model: all that is needed to serve it again, without the bytes of pictures."""

from __future__ import annotations

import hashlib
from typing import Literal

import msgspec

from edgemem.infer.chat import ChatMessage, Prompt, TokenLogprob
from edgemem.records import Record

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
    finish: Literal["stop", "length", "refusal"] = "stop"
    pictures: int = 0
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


def recorded(prompt: Prompt) -> Prompt:
    """The prompt with ids in the place of pictures. Those that the prompt does not name are named by the SHA-256 of their bytes."""
    return msgspec.structs.replace(prompt, messages=tuple(_without_bytes(message) for message in prompt.messages))


def _without_bytes(message: ChatMessage) -> ChatMessage:
    named = len(message.image_ids) >= len(message.images)
    ids = message.image_ids if named else tuple(hashlib.sha256(image).hexdigest()[:_ID_DIGITS] for image in message.images)
    return msgspec.structs.replace(message, images=(), image_ids=ids)
