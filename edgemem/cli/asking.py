"""Who answers: the agent of the memory where one runs, else this command by itself. Both say the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from edgemem.cli.app import CommandContext, note
from edgemem.config import parse_bytes
from edgemem.serve.client import AgentUnavailable, call
from edgemem.serve.messages import (
    AskReply,
    AskRequest,
    ForgetReply,
    ForgetRequest,
    NameReply,
    NameRequest,
    Reply,
    Request,
    SearchReply,
    SearchRequest,
)

if TYPE_CHECKING:
    from edgemem.serve.questions import QuestionService
    from edgemem.serve.session_log import Trace

R = TypeVar("R", bound=Reply)

_NAME_S = 60.0
_FORGET_S = 3600.0
"""Streams come to rest, a large file is wiped: how long the agent is waited for. It goes on when the command is ended meanwhile."""
_SEARCH_S = 60.0
"""How long a search of the agent is waited for; a question gets `models.seconds_per_question` besides."""


def answered(session: CommandContext, memory: Path, request: AskRequest) -> tuple[AskReply, Trace | None]:
    """The answer to a question, and its trace where nobody has kept it yet. Raises EdgememError."""
    reply = _of_agent(session, memory, request, AskReply, _SEARCH_S + session.settings.models.seconds_per_question)
    return (reply, None) if reply is not None else _desk(session, memory).ask(request)


def hits(session: CommandContext, memory: Path, request: SearchRequest) -> SearchReply:
    """What a search finds. Raises EdgememError."""
    return _of_agent(session, memory, request, SearchReply, _SEARCH_S) or _desk(session, memory).search(request)


def named(session: CommandContext, memory: Path, request: NameRequest) -> NameReply:
    """A voice is named. Raises EdgememError."""
    reply = _called(memory, request, NameReply, _NAME_S, "")
    if reply is not None:
        return reply
    from edgemem.remember.store import Store
    from edgemem.serve.admin import name_voice

    budget_bytes = parse_bytes(session.settings.budget.disk)
    with Store.open(memory, create=False, budget_bytes=budget_bytes, durability=session.settings.store.durability) as store:
        return name_voice(store, request)


def forgotten(session: CommandContext, memory: Path, request: ForgetRequest) -> ForgetReply:
    """Something is forgotten. Raises EdgememError."""
    sent = msgspec.structs.replace(request, recipe=_recipe_anywhere(request.recipe))
    reply = _called(memory, sent, ForgetReply, _FORGET_S, "")
    if reply is not None:
        return reply
    from edgemem.serve.admin import forget

    return forget(memory, request, session.recipes, session.context)


def _of_agent(session: CommandContext, memory: Path, request: AskRequest | SearchRequest, kind: type[R], patience_s: float) -> R | None:
    """The agent's answer, if it has our settings."""
    sent = msgspec.structs.replace(request, recipe=_recipe_anywhere(request.recipe), settings=session.digest)
    return _called(memory, sent, kind, patience_s, "; the memory was read without it")


def _called(memory: Path, request: Request, kind: type[R], patience_s: float, then: str) -> R | None:
    """The agent's reply; None, said where it is no matter of course, when there is none."""
    try:
        return call(memory, request, kind, patience_s)
    except AgentUnavailable as away:
        if not away.expected:
            note(f"note: the agent of this memory did not answer: {away.why}{then}")
        return None


def _recipe_anywhere(recipe: str) -> str:
    """The recipe as the agent finds it, which stands in another directory."""
    return str(Path(recipe).resolve()) if re.search(r"[/.]", recipe) else recipe


def _desk(session: CommandContext, memory: Path) -> QuestionService:
    from edgemem.serve.questions import QuestionService

    return QuestionService(memory, session.recipes, session.context, session.plugins)
