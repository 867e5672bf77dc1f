"""The protocol: what is sent, in the dialect that a server knows, and what comes back, piece by piece."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from edgemem.errors import ChatError
from edgemem.infer.chat import ChatMessage, Prompt
from edgemem_openai.images import data_uri

REPLY_BYTES = 4_000_000
"""More is no reply."""
CHARS_PER_TOKEN = 12
"""Beyond so many characters per token that was allowed, a server does not count (English has about 4)."""
CHARS_PER_TOKEN_LOW = 3
"""For estimates that must not be too low, where a server states no usage."""


class Dialect(msgspec.Struct, frozen=True):
    """What a server was found to know. It begins with everything and is taken back one by one when the server says 400."""

    structured: Literal["json_schema", "json_object", "text"] = "json_schema"
    tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True
    usage: bool = True

    def without(self, complaint: str, *, structured: bool) -> Dialect | None:
        """The dialect after a complaint that names a parameter (of structured output only if that was asked for); None = it names none."""
        words = complaint.lower()
        if "stream_options" in words and self.usage:
            return msgspec.structs.replace(self, usage=False)
        if "max_completion_tokens" in words and self.tokens == "max_tokens":
            return msgspec.structs.replace(self, tokens="max_completion_tokens")
        if (
            "max_completion_tokens" not in words
            and "max_tokens" in words
            and re.search(r"unsupported|unknown|unrecognized|not supported", words)
        ):
            return msgspec.structs.replace(self, tokens="max_completion_tokens") if self.tokens == "max_tokens" else None
        if "temperature" in words and self.temperature:
            return msgspec.structs.replace(self, temperature=False)
        if (
            structured
            and self.structured != "text"
            and re.search(r"response_format|json_schema|json_object|schema|grammar|structured", words)
        ):
            return msgspec.structs.replace(self, structured="json_object" if self.structured == "json_schema" else "text")
        return None


def parameters(prompt: Prompt, model: str, dialect: Dialect, image_side_px: int, image_bytes: int) -> dict[str, Any]:
    """The request. Pictures are brought within the limits; where a server keeps no schema, the schema stands in the text."""
    messages = [_message(message, image_side_px, image_bytes) for message in _with_schema(prompt, dialect)]
    wanted: dict[str, Any] = {"model": model, "messages": messages, "stream": True, dialect.tokens: prompt.max_tokens}
    if dialect.temperature:
        wanted["temperature"] = prompt.temperature
    if dialect.usage:
        wanted["stream_options"] = {"include_usage": True}
    if prompt.schema is not None and dialect.structured == "json_schema":
        name = re.sub(r"[^A-Za-z0-9_-]", "_", prompt.schema_name)[:64]
        described = {"name": name, "schema": prompt.schema, "strict": keeps_strict_rules(prompt.schema)}
        wanted["response_format"] = {"type": "json_schema", "json_schema": described}
    elif prompt.schema is not None and dialect.structured == "json_object":
        wanted["response_format"] = {"type": "json_object"}
    return wanted


def keeps_strict_rules(schema: object) -> bool:
    """Every object names all its keys as required and allows no others: what OpenAI asks of `strict` schemas. Others ignore the word."""
    if isinstance(schema, list):
        return all(keeps_strict_rules(item) for item in schema)
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object" or "properties" in schema:
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != set(properties):
            return False
    return all(keeps_strict_rules(value) for value in schema.values())


def _with_schema(prompt: Prompt, dialect: Dialect) -> tuple[ChatMessage, ...]:
    if prompt.schema is None or dialect.structured == "json_schema":
        return prompt.messages
    schema = msgspec.json.encode(prompt.schema).decode()
    rule = f"Reply with one JSON object and nothing else. It keeps this JSON Schema:\n{schema}"
    first, rest = prompt.messages[0], prompt.messages[1:]
    if first.role == "system":
        return (msgspec.structs.replace(first, text=f"{first.text}\n\n{rule}"), *rest)
    return (ChatMessage(role="system", text=rule), *prompt.messages)


def _message(message: ChatMessage, side_px: int, limit_bytes: int) -> dict[str, Any]:
    if not message.images:
        return {"role": message.role, "content": message.text}
    from edgemem_openai.images import fit_jpeg

    pictures = [{"type": "image_url", "image_url": {"url": data_uri(fit_jpeg(jpeg, side_px, limit_bytes))}} for jpeg in message.images]
    return {"role": message.role, "content": [{"type": "text", "text": message.text}, *pictures]}


class _Said(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Said | None = None
    message: _Said | None = None
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Chunk(msgspec.Struct):
    """A whole completion, or a piece of one."""

    choices: list[_Choice] = []
    usage: _Usage | None = None
    model: str | None = None
    error: Any = None


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model] = []


class Heard:
    """What came of a reply so far, whatever becomes of it."""

    def __init__(self, prompt: Prompt) -> None:
        self._max_tokens = prompt.max_tokens
        self.model = ""
        self.text = ""
        self.refusal = ""
        self.finish = ""
        self.charged = False
        """The server has worked on it, whether or not anything was heard."""
        self._usage: _Usage | None = None
        self._thought = 0
        self._pieces = 0

    @property
    def any(self) -> bool:
        """The server has begun to answer."""
        return bool(self._pieces or self.finish or self._usage)

    @property
    def too_long(self) -> bool:
        """More than was allowed: the server does not count. A piece is at least a token."""
        said = len(self.text) + len(self.refusal) + self._thought
        return self._pieces > self._max_tokens + 8 or said > CHARS_PER_TOKEN * self._max_tokens + 200

    def tokens(self, prompt_tokens: int) -> tuple[int, int]:
        """(in, out) as stated, else estimated from above; (0, 0) when the server did no work."""
        if self._usage is not None:
            return self._usage.prompt_tokens, self._usage.completion_tokens
        said = len(self.text) + len(self.refusal) + self._thought
        return (prompt_tokens, max(self._pieces, said // CHARS_PER_TOKEN_LOW)) if self.any or self.charged else (0, 0)

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
            said = choice.delta or choice.message or _Said()
            self._pieces += bool(said.content or said.refusal or said.reasoning_content)
            self.text += said.content or ""
            self.refusal += said.refusal or ""
            self._thought += len(said.reasoning_content or "")
            self.finish = choice.finish_reason or self.finish


def events(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The data of server-sent events out of bytes as they arrive, up to the word that it is over; comments are passed over."""
    buffer, data = b"", list[bytes]()
    for chunk in chunks:
        *lines, buffer = (buffer + chunk).split(b"\n")
        for line in (line.rstrip(b"\r") for line in lines):
            if line.startswith(b"data:"):
                data.append(line[5:].strip())
            elif not line and data:
                if data == [b"[DONE]"]:
                    return
                yield b"\n".join(data)
                data = []
    if data and data != [b"[DONE]"]:
        yield b"\n".join(data)


def model_names(body: bytes) -> list[str]:
    """What a server says it serves; empty when it says nothing of the kind."""
    try:
        return [model.id for model in msgspec.json.decode(body, type=_Models).data]
    except (msgspec.MsgspecError, RecursionError):
        return []


def error_text(body: object) -> str:
    """The sentence in an error as servers send it, in one line."""
    while isinstance(body, Mapping):
        body = body.get("error") or body.get("message") or body.get("detail") or "without a reason"
    return " ".join(str(body).split())[:200]


def plain(text: str, *, json: bool) -> str:
    """A reply without what some models put around it: their thoughts, and a fence around JSON."""
    text = re.sub(r"^\s*<think>.*?</think>", "", text, count=1, flags=re.DOTALL).strip()
    fenced = re.fullmatch(r"```[a-zA-Z]*\s*\n(.*?)\n?```", text, flags=re.DOTALL) if json else None
    return fenced[1].strip() if fenced else text
