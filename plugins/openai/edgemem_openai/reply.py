"""A reply as it arrives, piece by piece or whole."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from edgemem.errors import ChatError
from edgemem.infer.chat import Prompt, TokenLogprob

CHARS_PER_TOKEN = 12
"""Beyond so many characters per token that was allowed, a server does not count (English has about 4)."""
CHARS_PER_TOKEN_LOW = 3
"""For estimates that must not be too low, where a server states no usage."""


class _Delta(msgspec.Struct):
    content: Any = None
    """A text, or a list of parts."""
    refusal: str | None = None
    reasoning_content: str | None = None
    """What the model thinks, as llama.cpp, DeepSeek and vLLM name it."""
    reasoning: Any = None
    """The same as OpenRouter, Ollama and newer vLLM name it."""


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
    """A whole completion, or a piece of one."""

    choices: list[_Choice] = []
    usage: _Usage | None = None
    model: str | None = None
    error: Any = None


class Reply:
    """What came of a reply so far, whatever becomes of it."""

    def __init__(self, prompt: Prompt) -> None:
        self._max_tokens = prompt.max_tokens
        self.model = ""
        self.text = ""
        self.refusal = ""
        self.finish = ""
        self.logprobs: list[TokenLogprob] = []
        self.charged = False
        """The server has worked on it, whether or not anything arrived."""
        self._usage: _Usage | None = None
        self._thought_chars = 0
        self._thoughts = 0
        self._pieces = 0

    @property
    def any(self) -> bool:
        """The server has begun to answer."""
        return bool(self._pieces or self._thoughts or self.finish or self._usage)

    @property
    def too_long(self) -> bool:
        """More answer than was allowed: the server does not count. A piece is at least a token; thoughts are the server's to limit."""
        said = len(self.text) + len(self.refusal)
        return self._pieces > self._max_tokens + 8 or said > CHARS_PER_TOKEN * self._max_tokens + 200

    def tokens(self, prompt_tokens: int) -> tuple[int, int]:
        """(in, out) as stated, else estimated from above; (0, 0) when the server did no work."""
        if self._usage is not None:
            return self._usage.prompt_tokens, self._usage.completion_tokens
        said = len(self.text) + len(self.refusal) + self._thought_chars
        worked = self.any or self.charged
        return (prompt_tokens, max(self._pieces + self._thoughts, said // CHARS_PER_TOKEN_LOW)) if worked else (0, 0)

    def add(self, data: bytes) -> None:
        """Take in one event, or one whole completion. Raises ChatError when it is neither."""
        try:
            chunk = msgspec.json.decode(data, type=_Chunk)
        except (msgspec.MsgspecError, RecursionError):
            raise ChatError(f"sent what is no completion: {data[:80].decode(errors='replace')!r}") from None
        if chunk.error:
            raise ChatError(f"broke off with an error: {error_text(chunk.error)}")
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
    """The text of a message: itself, or that of its parts."""
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in content if isinstance(part, dict) and part.get("type", "text") == "text")
    return content if isinstance(content, str) else ""


def error_text(body: object) -> str:
    """The sentence in an error as servers send it, in one line."""
    while isinstance(body, dict):
        body = body.get("error") or body.get("message") or body.get("detail") or "without a reason"
    return " ".join(str(body).split())[:200]


def without_thoughts(text: str) -> str:
    """A reply without the thoughts that some models put before it."""
    return re.sub(r"^\s*<think>.*?</think>", "", text, count=1, flags=re.DOTALL).strip()
