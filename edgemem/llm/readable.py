"""A reply in a strict format: decoded, and asked for once more, with the reason, when it cannot be read (VAM, appendix B.6).

Routers, planners, judges and graders of any plugin ask through this one function, so that all of their replies are repaired alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import msgspec

from edgemem.errors import ChatError
from edgemem.infer.chat import ChatMessage, Completion, Prompt

T = TypeVar("T")

REPAIR = (
    "That reply cannot be used: {problem}. Reply again with ONLY one valid JSON object that keeps the format of the instructions. "
    "No other text, no other keys."
)
_QUOTED_BACK = 2000
"""Characters of a broken reply that go back to the model."""


class UnreadableError(ChatError):
    """The language model answers, but not in the format that it was asked to keep."""


class Completes(Protocol):
    """What is needed of `llm.models.Models`."""

    def complete(self, prompt: Prompt) -> Completion: ...


def readable_reply(models: Completes, asked: Prompt, decode: Callable[[str], T], *, tries: int = 2) -> T:
    """The reply as `decode` reads it. One that it refuses (ValueError, msgspec.DecodeError) is asked for again at temperature 0, with the
    reason, `tries` times in all. A repaired reply counts like any other.

    Raises UnreadableError when no reply could be read, ChatError when the model does not answer.
    """
    prompt, problem = asked, ""
    for _ in range(max(1, tries)):
        reply = models.complete(prompt).text
        try:
            return decode(reply)
        except (ValueError, msgspec.DecodeError) as error:
            problem = str(error)
            again = (
                *prompt.messages,
                ChatMessage(role="assistant", text=reply[:_QUOTED_BACK] or "(empty)"),
                ChatMessage(role="user", text=REPAIR.format(problem=problem)),
            )
            prompt = msgspec.structs.replace(prompt, messages=again, temperature=0.0)
    raise UnreadableError(f"the language model gave no valid {asked.schema_name}: {problem}")
