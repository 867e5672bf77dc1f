"""A language model that answers a prompt. Plugins provide them; edgemem works without one."""

from __future__ import annotations

import re
from typing import Any, Literal, Protocol

import msgspec

from edgemem.records import Record


class ChatMessage(Record, frozen=True):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    text: str
    images: tuple[bytes, ...] = ()
    """JPEG files, in the order in which the text mentions them."""
    image_ids: tuple[str, ...] = ()
    """Evidence id of each picture, such as "m12": the record of the call contains these ids and no pictures."""


class Prompt(Record, frozen=True):
    """A request to a model, and its parameters."""

    task: str
    """Its purpose: "router", "planner", "inspector" ... A chat may choose its model by it, and the trace contains it."""
    messages: tuple[ChatMessage, ...]
    temperature: float = 0.0
    max_tokens: int = 500
    """Limit for the answer. Tokens of thinking before the answer are not included: see `thinking_tokens`."""
    schema: dict[str, Any] | None = None
    """JSON Schema of the reply. A server without structured output may not follow it: the caller must check."""
    schema_name: str = "reply"
    logprobs: int = 0
    """Number of most probable tokens to return for every token of the reply, with log-probabilities; 0 = none. Servers allow up to 20."""
    thinking_tokens: int = 0
    reasoning_effort: str = ""
    """For models that think, such as "low"; empty = the server's default."""
    extra_body: dict[str, Any] = msgspec.field(default_factory=dict)
    """Further keys of the request to the server."""
    silence_s: float = 240.0
    """Longest time without data from the server, before or during the reply."""


Finish = Literal["stop", "length", "refusal"]
"""Why a reply ended."""


class TokenLogprob(Record, frozen=True):
    """One token of a reply."""

    token: str
    logprob: float
    """Natural logarithm of its probability."""
    top: tuple[tuple[str, float], ...] = ()
    """The most probable tokens at this position with their log-probabilities, the most probable first."""


class Completion(Record, frozen=True):
    """The reply, its tokens and its cost."""

    text: str
    model: str
    tokens_in: int = 0
    tokens_out: int = 0
    ms: float = 0.0
    usd: float = 0.0
    finish: Finish = "stop"
    logprobs: tuple[TokenLogprob, ...] = ()
    """Of the tokens of the reply, if requested and if the server returns them."""


class Chat(Protocol):
    """Hook `register_chats`. Safe to call from several threads."""

    name: str

    def sees(self, task: str) -> bool:
        """Whether the model for this task accepts pictures; True if this is not known yet. Never raises."""
        ...

    def complete(self, prompt: Prompt) -> Completion:
        """Answer once. Raises ChatError without a usable reply: server not reachable, time-out, key refused, a limit was reached."""
        ...


_REFUSAL = re.compile(
    r"""^\W*
    (?:(?:(?:i['’]?m|i\ am|we['’]?re|we\ are)(?:\ \w+)?\ sorry|sorry|(?:my\ )?apologies|i\ apologi[sz]e|unfortunately|but)\b\W*)*
    (?:as\ an?\ (?:ai|(?:large\ )?language\ model|assistant)\b[^,.!?]{0,60},\W*)?
    (?:i|we)
    (?:\ (?:cannot|can\ ?not|can['’]?t|won['’]?t|will\ not)
      |(?:['’]m|['’]re|\ am|\ are)\ (?:unable|not\ able|not\ going|not\ allowed)\ to)
    \ (?:help|assist|comply|fulfil+|engage|participate|(?:do|process|provide|continue\ with|answer|respond\ to)\ (?:that|this))\b
    |^\W*(?:(?:i['’]m|i\ am)(?:\ \w+)?\ sorry\W+(?:but\ )?)?i(?:['’]ll)?(?:\ (?:must|will|need\ to|have\ to|am\ going\ to\ have\ to))*
    \ (?:respectfully\ )?(?:decline|refuse)\b""",
    re.IGNORECASE | re.VERBOSE,
)


def refuses(text: str) -> bool:
    """Whether a reply is a refusal in words ("I'm sorry, but I can't help with that"), in the English phrases that servers use.

    A reply that something was not found, or cannot be seen, is an answer and not a refusal.
    """
    return _REFUSAL.match(text) is not None
