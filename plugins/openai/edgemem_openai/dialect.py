"""The parameters that a server supports: all are tried, and they are left out one by one when the server replies 400."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

_UNKNOWN = re.compile(r"unsupported|unknown|unrecognized|not supported|not permitted|does not support")
_STRUCTURED = re.compile(r"response_format|json_schema|json_object|schema|grammar|structured")
_ONE_SCHEMA = re.compile(r"invalid[ _](json[ _])?schema|in context|is required to be supplied|is not permitted|failed to (parse|convert)")
"""Messages about this schema, not about structured output in general, from OpenAI, vLLM and llama.cpp."""
_NO_PICTURES = re.compile(
    r"mmproj|not a multimodal|no support for image|image[ _]?(url|input|content)?s?\b[^.]{0,40}\b(not supported|unsupported)"
    r"|(not|n't) (support|accept|process|handle) (any )?(image|vision|picture|multimodal)"
    r"|(unsupported|unknown|invalid)[^.]{0,40}\bimage_url|support image input"
)
"""Messages that a model accepts only text (llama.cpp, vLLM, Ollama, OpenRouter, OpenAI)."""

Structured = Literal["json_schema", "json_object", "text"]
WEAKER: dict[Structured, Structured] = {"json_schema": "json_object", "json_object": "text"}


class Dialect(msgspec.Struct, frozen=True):
    """The parameters that a server accepts."""

    structured: Structured = "json_schema"
    tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True
    usage: bool = True
    logprobs: bool = True
    reasoning_effort: bool = True
    images: bool = True

    def without(self, complaint: str, *, structured: bool, images: bool = False) -> Dialect | None:
        """The dialect without the parameter that an error message names; None = it names none that was used."""
        words = complaint.lower()
        if images and self.images and refuses_pictures(words):
            return msgspec.structs.replace(self, images=False)
        changed = self._other_tokens(words)
        if changed is not None:
            return changed
        for key, named in (("usage", "stream_options"), ("logprobs", "logprobs"), ("reasoning_effort", "reasoning_effort")):
            if named in words and getattr(self, key):
                return msgspec.structs.replace(self, **{key: False})
        if "temperature" in words and self.temperature:
            return msgspec.structs.replace(self, temperature=False)
        if structured and self.structured in WEAKER and _STRUCTURED.search(words):
            return msgspec.structs.replace(self, structured=WEAKER[self.structured])
        return None

    def _other_tokens(self, words: str) -> Dialect | None:
        """With the other name of the token limit, if the message asks for it or does not know the used one."""
        wanted = "max_completion_tokens" in words or ("max_tokens" in words and _UNKNOWN.search(words))
        return msgspec.structs.replace(self, tokens="max_completion_tokens") if wanted and self.tokens == "max_tokens" else None


def refuses_pictures(words: str) -> bool:
    """Whether an error message says that the model does not accept pictures."""
    return _NO_PICTURES.search(words.lower()) is not None


def about_one_schema(words: str) -> bool:
    """Whether an error message is about the schema that was sent, not about structured output in general."""
    return _ONE_SCHEMA.search(words.lower()) is not None
