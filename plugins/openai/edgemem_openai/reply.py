"""A reply as it arrives, in pieces or complete."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from edgemem.errors import ChatError
from edgemem.infer.chat import Prompt, TokenLogprob

CHARS_PER_TOKEN = 12
"""With more characters per allowed token, the server does not respect the token limit (English has about 4)."""
MOST_TOKENS = 1 << 32
"""No call takes more: a larger or a negative number would spoil what the ledger and the memory count."""
CHARS_PER_TOKEN_LOW = 3
"""For upper estimates if a server reports no usage."""


class _Delta(msgspec.Struct):
    content: Any = None
    """A text, or a list of parts."""
    refusal: str | None = None
    reasoning_content: str | None = None
    """Thoughts of the model; the name in llama.cpp, DeepSeek and vLLM."""
    reasoning: Any = None
    """The same; the name in OpenRouter, Ollama and newer vLLM."""


class _TopLogprob(msgspec.Struct):
    token: str
    logprob: float


class _Logprob(msgspec.Struct):
    token: str
    logprob: float
    top_logprobs: list[_TopLogprob] = []


class _Logprobs(msgspec.Struct):
    content: list[_Logprob] | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Chunk(msgspec.Struct):
    """A complete completion, or a piece of one."""

    choices: list[_Choice] = []
    usage: _Usage | None = None
    model: str | None = None
    error: Any = None


class Reply:
    """The part of a reply that has arrived."""

    def __init__(self, prompt: Prompt) -> None:
        self._max_tokens = prompt.max_tokens
        self.model = ""
        self.text = ""
        self.refusal = ""
        self.finish = ""
        self.logprobs: list[TokenLogprob] = []
        self.charged = False
        """Whether the server has worked on it, even if nothing arrived."""
        self._usage: _Usage | None = None
        self._thought_chars = 0
        self._thoughts = 0
        self._pieces = 0

    @property
    def any(self) -> bool:
        """Whether the server has begun to answer."""
        return bool(self._pieces or self._thoughts or self.finish or self._usage)

    @property
    def too_long(self) -> bool:
        """Whether the answer is longer than allowed: the server does not respect the limit. A piece has at least one token; the server
        limits thoughts.
        """
        said = len(self.text) + len(self.refusal)
        return self._pieces > self._max_tokens + 8 or said > CHARS_PER_TOKEN * self._max_tokens + 200

    def tokens(self, prompt_tokens: int) -> tuple[int, int]:
        """(in, out) as reported, else an upper estimate; (0, 0) if the server did no work."""
        usage = self._usage
        if usage is not None and 0 <= usage.prompt_tokens <= MOST_TOKENS and 0 <= usage.completion_tokens <= MOST_TOKENS:
            return usage.prompt_tokens, usage.completion_tokens
        said = len(self.text) + len(self.refusal) + self._thought_chars
        worked = self.any or self.charged
        return (prompt_tokens, max(self._pieces + self._thoughts, said // CHARS_PER_TOKEN_LOW)) if worked else (0, 0)

    def add(self, data: bytes) -> None:
        """Add one event, or one complete completion. Raises ChatError if it is neither."""
        try:
            chunk = msgspec.json.decode(data, type=_Chunk)
        except (msgspec.MsgspecError, RecursionError):
            raise ChatError(f"sent something that is no completion: {data[:80].decode(errors='replace')!r}") from None
        if chunk.error:
            raise ChatError(f"ended with an error: {error_text(chunk.error)}")
        self.model = chunk.model or self.model
        self._usage = chunk.usage or self._usage
        for choice in chunk.choices[:1]:
            self._add_choice(choice)

    def _add_choice(self, choice: _Choice) -> None:
        delta = choice.delta or choice.message or _Delta()
        text, thought = _text(delta.content), _text(delta.reasoning_content or delta.reasoning)
        self._pieces += bool(text or delta.refusal)
        self._thoughts += bool(thought)
        self._thought_chars += len(thought)
        self.text += text
        self.refusal += delta.refusal or ""
        self.finish = choice.finish_reason or self.finish
        for one in (choice.logprobs.content if choice.logprobs is not None else None) or ():
            top = tuple((other.token, other.logprob) for other in one.top_logprobs)
            self.logprobs.append(TokenLogprob(token=one.token, logprob=one.logprob, top=top))


def _text(content: Any) -> str:
    """The text of a message: a string, or the texts of its parts."""
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in content if isinstance(part, dict) and part.get("type", "text") == "text")
    return content if isinstance(content, str) else ""


def error_text(body: object) -> str:
    """The message in an error of a server, in one line."""
    while isinstance(body, dict):
        body = body.get("error") or body.get("message") or body.get("detail") or "without a reason"
    return " ".join(str(body).split())[:200]


def without_thoughts(text: str) -> str:
    """A reply without the thoughts that some models write before it."""
    return re.sub(r"^\s*<think>.*?</think>", "", text, count=1, flags=re.DOTALL).strip()
