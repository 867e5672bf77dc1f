"""Asking the language model for typed JSON: prompts from files, data apart from instructions, one repair."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Protocol, TypeVar

import msgspec

from edgemem.errors import ChatError
from edgemem.infer.chat import ChatMessage, Completion, Prompt
from edgemem.llm.models import Remaining
from edgemem.llm.readable import readable_reply

T = TypeVar("T")
DATA_CHARS = 60_000
"""More data than this is cut at the end: about 15,000 tokens."""


class Completes(Protocol):
    """What is needed of `llm.models.Models`."""

    @property
    def there(self) -> bool: ...
    def sees(self, task: str) -> bool: ...
    @property
    def remaining(self) -> Remaining: ...
    def complete(self, prompt: Prompt) -> Completion: ...


@cache
def instructions(task: str) -> str:
    """The file `prompts/<task>.md`."""
    return files("edgemem_egagent.prompts").joinpath(f"{task}.md").read_text(encoding="utf-8").strip()


def ask_text(
    models: Completes, task: str, data: object, *, max_tokens: int = 500, images: tuple[bytes, ...] = (), image_ids: tuple[str, ...] = ()
) -> str:  # fmt: skip
    """Plain text for a task. Raises ChatError when the model does not answer or answers nothing."""
    system = f"{instructions(task)}\n{instructions('data_rule').splitlines()[0]}"
    user = ChatMessage(role="user", data=_fitted(data), images=images, image_ids=image_ids)
    messages = (ChatMessage(role="system", text=system), user)
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
        ChatMessage(role="user", data=_fitted(data, request), images=images, image_ids=image_ids),
    ]
    prompt = Prompt(
        task=f"egagent_{task}", messages=tuple(messages), temperature=0.0, max_tokens=max_tokens, schema=msgspec.json.schema(type_),
        schema_name=task,
    )  # fmt: skip
    return readable_reply(models, prompt, lambda reply: msgspec.json.decode(_object(reply), type=type_), tries=tries)


def _fitted(data: object, request: object = None) -> dict[str, Any]:
    """The body of a prompt: of more data than `DATA_CHARS` the ends of the longest lists and texts are left out, and that is said."""
    plain, cut = msgspec.to_builtins(data), False
    while len(msgspec.json.encode(plain)) > DATA_CHARS and _shortened(plain):
        cut = True
    body = {"data": plain} | ({"left_out": "the end of the data"} if cut else {})
    return body if request is None else {"request": msgspec.to_builtins(request), **body}


def _shortened(value: Any) -> bool:
    """Halve the list or text within `value` that takes most room; False where there is none."""
    found = max(_places(value), key=lambda place: len(msgspec.json.encode(place[0][place[1]])), default=None)
    if found is None:
        return False
    holder, key = found
    holder[key] = holder[key][: len(holder[key]) // 2]
    return True


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Where lists and texts of more than one part stand that hold no longer list: (what holds it, key)."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from _places(item)
        if isinstance(item, str | list) and len(item) > 1:
            yield value, key


def _object(reply: str) -> str:
    """The outermost braces: models wrap JSON in words and fences."""
    match = re.search(r"\{.*\}", reply, re.DOTALL)
    return match[0] if match else reply
