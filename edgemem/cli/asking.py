"""Who answers: the agent of the memory where one runs, else this command by itself. Both say the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from edgemem.cli.app import Session, note
from edgemem.device.client import Away, call
from edgemem.device.wire import Answered, Ask, Hits, Reply, Search

if TYPE_CHECKING:
    from edgemem.device.desk import Desk
    from edgemem.device.keeping import Trace

R = TypeVar("R", bound=Reply)

_SEARCH_S = 60.0
"""How long a search of the agent is waited for; a question gets `models.seconds_per_question` besides."""


def answered(session: Session, memory: Path, request: Ask) -> tuple[Answered, Trace | None]:
    """The answer to a question, and its trace where nobody has kept it yet. Raises EdgememError."""
    reply = _of_agent(session, memory, request, Answered, _SEARCH_S + session.settings.models.seconds_per_question)
    return (reply, None) if reply is not None else _desk(session, memory).ask(request)


def hits(session: Session, memory: Path, request: Search) -> Hits:
    """What a search finds. Raises EdgememError."""
    return _of_agent(session, memory, request, Hits, _SEARCH_S) or _desk(session, memory).search(request)


def _of_agent(session: Session, memory: Path, request: Ask | Search, kind: type[R], patience_s: float) -> R | None:
    """The agent's reply; None, said where it is no matter of course, when there is none."""
    recipe = request.recipe
    if re.search(r"[/.]", recipe):  # a file: the agent stands in another directory
        recipe = str(Path(recipe).resolve())
    try:
        return call(memory, msgspec.structs.replace(request, recipe=recipe, settings=session.digest), kind, patience_s)
    except Away as away:
        if not away.expected:
            note(f"note: the agent of this memory did not answer: {away.why}; the memory was read without it")
        return None


def _desk(session: Session, memory: Path) -> Desk:
    from edgemem.device.desk import Desk

    return Desk(memory, session.recipes, session.context, session.plugins)
