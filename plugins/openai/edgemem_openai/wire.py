"""The protocol: makes requests with the parameters that a server supports, and reads events and lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from edgemem.infer.chat import ChatMessage, Prompt
from edgemem_openai.dialect import Dialect
from edgemem_openai.images import data_uri

REPLY_BYTES = 4_000_000
"""Largest size of a reply."""
MOST_LOGPROBS = 20
"""OpenAI's limit of `top_logprobs`."""


def parameters(prompt: Prompt, model: str, dialect: Dialect, image_side_px: int, image_bytes: int) -> dict[str, Any]:
    """The request. Pictures are fitted to the limits. If a server does not support schemas, the schema is in the text."""
    messages = [_message(message, image_side_px, image_bytes) for message in _with_schema(prompt, dialect)]
    wanted: dict[str, Any] = {
        "model": model,
        "messages": messages,
        "stream": True,
        dialect.tokens: prompt.max_tokens + prompt.thinking_tokens,
    }
    if dialect.temperature:
        wanted["temperature"] = prompt.temperature
    if dialect.usage:
        wanted["stream_options"] = {"include_usage": True}
    if prompt.logprobs and dialect.logprobs:
        wanted |= {"logprobs": True, "top_logprobs": min(prompt.logprobs, MOST_LOGPROBS)}
    if prompt.reasoning_effort and dialect.reasoning_effort:
        wanted["reasoning_effort"] = prompt.reasoning_effort
    if prompt.extra_body:
        wanted["extra_body"] = prompt.extra_body
    if prompt.schema is not None and dialect.structured == "json_schema":
        name = re.sub(r"[^A-Za-z0-9_-]", "_", prompt.schema_name)[:64]
        described = {"name": name, "schema": prompt.schema, "strict": keeps_strict_rules(prompt.schema)}
        wanted["response_format"] = {"type": "json_schema", "json_schema": described}
    elif prompt.schema is not None and dialect.structured == "json_object":
        wanted["response_format"] = {"type": "json_object"}
    return wanted


def keeps_strict_rules(schema: object) -> bool:
    """Whether every object has all its keys as required and allows no others, as OpenAI needs for `strict` schemas. Other servers ignore
    `strict`.
    """
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


def events(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The data of server-sent events in the arriving bytes, up to the end mark; comments are skipped."""
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


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model] = []


def model_names(body: bytes) -> list[str]:
    """Names of the models of a server; empty if it reports none."""
    try:
        return [model.id for model in msgspec.json.decode(body, type=_Models).data]
    except (msgspec.MsgspecError, RecursionError):
        return []
