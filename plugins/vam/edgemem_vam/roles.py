"""How each role speaks to the language model: prompt file, temperature, token limit (Table 7), and the one repair of a broken reply."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from edgemem.infer.chat import ChatMessage, Prompt
from edgemem_vam.prompts import prompt
from edgemem_vam.wire import WireError

if TYPE_CHECKING:
    from edgemem.answer.models import Models

T = TypeVar("T")


class Role(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How freely a role writes, and how much."""

    temperature: float
    max_tokens: int


ROUTER = Role(0.0, 300)
PLANNER = Role(0.1, 500)
EVENT_WRITER = Role(0.1, 700)
SUMMARY_WRITER = Role(0.1, 700)
INSPECTOR = Role(0.1, 500)
ADJUDICATOR = Role(0.0, 220)
SESSION_SUMMARISER = Role(0.2, 500)

REPAIR = (
    "That reply cannot be used: {problem}. Reply again with ONLY one valid JSON object that keeps the format of the instructions. "
    "No other text, no other keys."
)
_QUOTED_BACK = 2000
"""Characters of a broken reply that go back to the model."""


def request(
    task: str, role: Role, body: dict[str, Any], images: Sequence[bytes] = (), schema: dict[str, Any] | None = None,
    image_ids: tuple[str, ...] = (),
) -> Prompt:  # fmt: skip
    """A prompt of one system message (the file `prompts/<task>.md`) and one user message: JSON, so that what is quoted stays quoted."""
    asked = ChatMessage(role="user", data=body, images=tuple(images), image_ids=image_ids)
    messages = (ChatMessage(role="system", text=prompt(task)), asked)
    return Prompt(
        task=task, messages=messages, temperature=role.temperature, max_tokens=role.max_tokens, schema=schema, schema_name=task
    )  # fmt: skip


def say(models: Models, asked: Prompt) -> str:
    """A reply in plain words. Raises ChatError."""
    return models.complete(asked).text.strip()


def decide(models: Models, asked: Prompt, decode: Callable[[str], T], *, repair: bool = True) -> T | None:
    """A reply in a strict format, asked for once more at temperature 0 when it cannot be read; None when it cannot be read then either.

    VAM B.6. A repaired reply counts like any other. Raises ChatError.
    """
    first = models.complete(asked).text
    try:
        return decode(first)
    except WireError as error:
        if not repair:
            return None
        problem = str(error)
    again = (
        *asked.messages,
        ChatMessage(role="assistant", text=first[:_QUOTED_BACK] or "(empty)"),
        ChatMessage(role="user", text=REPAIR.format(problem=problem)),
    )
    second = models.complete(msgspec.structs.replace(asked, messages=again, temperature=0.0)).text
    try:
        return decode(second)
    except WireError:
        return None
