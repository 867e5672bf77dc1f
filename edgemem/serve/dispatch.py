"""Takes what comes in at the agent's socket to the desk, its answers back, and its traces to the store."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Protocol

from edgemem.errors import EdgememError
from edgemem.events import StreamStatus
from edgemem.serve.messages import (
    AgentStatus,
    AskReply,
    AskRequest,
    Declined,
    Failed,
    ForgetReply,
    ForgetRequest,
    NameReply,
    NameRequest,
    Reply,
    Request,
    SearchRequest,
)

if TYPE_CHECKING:
    from edgemem.serve.questions import QuestionService
    from edgemem.serve.session_log import SessionLogger


class MemoryWriter(Protocol):
    """Who holds the memory for writing: `agent.Agent`."""

    def name_voice(self, request: NameRequest) -> NameReply: ...
    def forget(self, request: ForgetRequest) -> ForgetReply: ...
    def streams(self) -> tuple[StreamStatus, ...]: ...


class Dispatcher:
    """Replies to requests, several at once; never raises."""

    def __init__(self, desk: QuestionService, clerk: SessionLogger, digest: str, writer: MemoryWriter) -> None:
        self._desk = desk
        self._clerk = clerk
        self._digest = digest
        self._writer = writer
        self._answered = itertools.count(1)
        self._total = 0

    def reply(self, request: Request) -> Reply:
        """What the command would have said by itself; `Declined` where the agent cannot know that."""
        try:
            return self._reply(request)
        except EdgememError as error:
            return Failed(error=type(error).__name__, text=str(error))
        except Exception as error:  # noqa: BLE001 - seeing goes on; the command tries by itself, and meets the error if it is one
            return Declined(why=f"it failed ({type(error).__name__}: {error})"[:500])

    def _reply(self, request: Request) -> Reply:
        if isinstance(request, NameRequest):
            return self._writer.name_voice(request)
        if isinstance(request, ForgetRequest):
            return self._writer.forget(request)
        if not isinstance(request, AskRequest | SearchRequest):
            return AgentStatus(process=os.getpid(), streams=self._writer.streams(), answered=self._total)
        if request.settings != self._digest:
            return Declined(why="it runs with other settings", expected=True)
        self._total = next(self._answered)
        return self._ask(request) if isinstance(request, AskRequest) else self._desk.search(request)

    def _ask(self, request: AskRequest) -> AskReply:
        answered, trace = self._desk.ask(request)
        self._clerk.take(trace)
        blind = (f"{one.stream} sees nothing just now: {one.blind}" for one in self._writer.streams() if one.state == "blind")
        return AskReply(answer=answered.answer, story=answered.story, notes=(*answered.notes, *blind))
