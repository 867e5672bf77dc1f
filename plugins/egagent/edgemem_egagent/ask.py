"""Asking the language model for typed JSON: prompts from files, data apart from instructions, one repair."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Protocol, TypeVar

import msgspec

from edgemem.answer.models import Remaining
from edgemem.answer.readable import readable_reply
from edgemem.errors import ChatError
from edgemem.infer.chat import ChatMessage, Completion, Prompt

T = TypeVar("T")
DATA_CHARS = 60_000
"""More data than this is cut at the end: about 15,000 tokens."""


class Completes(Protocol):
    """What is needed of `answer.models.Models`."""

    @property
    def there(self) -> bool: ...
    def sees(self, task: str) -> bool: ...
    @property
    def remaining(self) -> Remaining: ...
    def complete(self, prompt: Prompt) -> Completion: ...


@lru_cache(maxsize=32)
def instructions(task: str) -> str:
    """The file `prompts/<task>.md`."""
    return files("edgemem_egagent.prompts").joinpath(f"{task}.md").read_text(encoding="utf-8").strip()


def ask_text(models: Completes, task: str, data: object, *, max_tokens: int = 500) -> str:
    """Plain text for a task. Raises ChatError when the model does not answer or answers nothing."""
    system = f"{instructions(task)}\n{instructions('data_rule').splitlines()[0]}"
    messages = (ChatMessage(role="system", text=system), ChatMessage(role="user", text=_data(data)))
    text = models.complete(Prompt(task=f"egagent_{task}", messages=messages, max_tokens=max_tokens)).text.strip()
    if not text:
        raise ChatError(f"the language model answered nothing to the task {task}")
    return text


def ask_typed(
    models: Completes, task: str, data: object, type_: type[T], *, request: object = None, values: Mapping[str, str] | None = None,
    images: tuple[bytes, ...] = (), image_ids: tuple[str, ...] = (), tries: int = 2, max_tokens: int = 800,
) -> T:  # fmt: skip
    """A reply of `type_` at temperature 0; one that does not fit is given back with the reason.

    `request` is what the user and the plan say, `data` what was seen and heard. Raises ChatError, after `tries` as UnreadableError.
    """
    text = instructions(task)
    for name, value in (values or {}).items():
        text = text.replace(f"{{{name}}}", value)
    messages = [
        ChatMessage(role="system", text=f"{text}\n{instructions('data_rule')}"),
        ChatMessage(role="user", text=_data(data, request), images=images, image_ids=image_ids),
    ]
    prompt = Prompt(
        task=f"egagent_{task}", messages=tuple(messages), temperature=0.0, max_tokens=max_tokens, schema=msgspec.json.schema(type_),
        schema_name=task,
    )  # fmt: skip
    return readable_reply(models, prompt, lambda reply: msgspec.json.decode(_object(reply), type=type_), tries=tries)


def _data(data: object, request: object = None) -> str:
    text = msgspec.json.encode({"data": data} if request is None else {"request": request, "data": data}).decode()
    return text if len(text) <= DATA_CHARS else text[:DATA_CHARS] + ' ... (cut)"}'


def _object(reply: str) -> str:
    """The outermost braces: models wrap JSON in words and fences."""
    match = re.search(r"\{.*\}", reply, re.DOTALL)
    return match[0] if match else reply
