"""A language model that answers a prompt, wherever it runs. Plugins bring them; nothing in edgemem needs one."""

from __future__ import annotations

import re
from typing import Any, Literal, Protocol

import msgspec

from edgemem.records import Record


class ChatMessage(Record, frozen=True):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    text: str = ""
    data: Any = None
    """Records and plain data that follow the text as JSON. Whatever was seen, heard or named by others belongs here: it stays quoted, and
    its strings are redacted before they are encoded. A chat never gets any: it stands in the text by then."""
    images: tuple[bytes, ...] = ()
    """JPEG files, in the order in which the text speaks of them."""
    image_ids: tuple[str, ...] = ()
    """Evidence id of each picture, such as "m12": a record of the call names them and keeps no pictures."""

    @property
    def chars(self) -> int:
        """Length of the text, with the data in it."""
        return len(self.text) + (0 if self.data is None else len(msgspec.json.encode(self.data).decode()))


class Prompt(Record, frozen=True):
    """What is asked of a model, and how."""

    task: str
    """What it is for: "router", "planner", "inspector" ... A chat may choose its model by it, and the trace names it."""
    messages: tuple[ChatMessage, ...]
    temperature: float = 0.0
    max_tokens: int = 500
    """Of the answer. What a model thinks before it comes on top: `thinking_tokens`."""
    schema: dict[str, Any] | None = None
    """JSON Schema that the reply must keep. A server without structured output may still break it: the caller checks."""
    schema_name: str = "reply"
    logprobs: int = 0
    """So many most likely tokens are wanted at every place of the reply, with their log-probabilities; 0 = none. Servers give up to 20."""
    thinking_tokens: int = 0
    reasoning_effort: str = ""
    """Such as "low", for models that think; empty = the server's default."""
    extra_body: dict[str, Any] = msgspec.field(default_factory=dict)
    """Further keys of the request, as the server knows them."""
    silence_s: float = 240.0
    """Longest silence of the server, before the reply or within it."""


Finish = Literal["stop", "length", "refusal"]
"""Why a reply ended."""


class TokenLogprob(Record, frozen=True):
    """One token of a reply."""

    token: str
    logprob: float
    """Natural logarithm of its probability."""
    top: tuple[tuple[str, float], ...] = ()
    """The most likely tokens at this place, with theirs, the most likely first."""


class Completion(Record, frozen=True):
    """What came back, and what it cost."""

    text: str
    model: str
    tokens_in: int = 0
    tokens_out: int = 0
    ms: float = 0.0
    usd: float = 0.0
    finish: Finish = "stop"
    logprobs: tuple[TokenLogprob, ...] = ()
    """Of the reply's tokens, where they were asked for and the server gives them."""


class Chat(Protocol):
    """Hook `register_chats`. Safe to call from several threads."""

    name: str

    def sees(self, task: str) -> bool:
        """Whether the model that answers this task can be shown pictures; True where nobody knows yet. Never raises."""
        ...

    def complete(self, prompt: Prompt) -> Completion:
        """Answer once. Raises ChatError when nothing useful came: server gone, time-out, key refused, a cap was reached."""
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
    """Whether a reply in plain words declines to do what was asked ("I'm sorry, but I can't help with that"), as servers say it in English.

    What says that something was not found, or cannot be seen, is an answer and no refusal.
    """
    return _REFUSAL.match(text) is not None
