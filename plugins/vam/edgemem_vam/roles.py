"""How each role speaks to the language model: prompt file, temperature, token limit (Table 7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from edgemem.infer.chat import ChatMessage, Prompt
from edgemem_vam.prompts import prompt


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


class PlannerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds of the loop."""

    turns: int = 20
    """VAM, `VAM_AGENT_MAX_TURNS`."""
    few_turns: int = 2
    """With so many turns left and something found, only an answer is taken (VAM B.7.2)."""
    stagnation: int = 3
    """Turns in a row without a new result or finding after which only an answer is taken. VAM's code can never reach its own limit."""
    inspections: int = 10
    """Candidates that one search has looked at, at most."""
    text_tokens: int = 8000
    """Of the findings and the best texts that the planner reads whole, in each turn."""
    line_tokens: int = 3000
    """Of the lines that stand for the other results."""
    spare: float = 0.15
    """Share of the question's tokens and seconds that is kept back: when the rest is used up, the loop answers from what it has."""
    route: bool = True
    """Ask the router first; without it every question is searched for."""
    router: Role = ROUTER
    planner: Role = PLANNER


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
