"""Dispatches each request from the agent's socket to the service that carries it out."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Protocol

from edgemem.errors import EdgememError
from edgemem.events import StreamStatus
from edgemem.isolation import call_isolated
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
    SearchReply,
    SearchRequest,
)

if TYPE_CHECKING:
    from edgemem.serve.questions import QuestionService
    from edgemem.serve.session_log import SessionLogger


class MemoryWriter(Protocol):
    """The object that has the memory open for writing: `device.agent.Agent`."""

    def name_voice(self, request: NameRequest) -> NameReply: ...
    def forget(self, request: ForgetRequest) -> ForgetReply: ...
    def streams(self) -> tuple[StreamStatus, ...]: ...


class Dispatcher:
    """Replies to several requests at the same time; never raises."""

    def __init__(self, questions: QuestionService, session_log: SessionLogger, digest: str, writer: MemoryWriter) -> None:
        self._questions = questions
        self._session_log = session_log
        self._digest = digest
        self._writer = writer
        self._lock = threading.Lock()
        self._answered = self._in_progress = 0

    @property
    def busy(self) -> bool:
        """Whether a question or a search is being answered now."""
        return self._in_progress > 0

    def reply(self, request: Request) -> Reply:
        """The reply that the client would have got without the agent; `Declined` if the agent cannot know it."""
        return call_isolated(lambda: self._reply(request), _refused)

    def ask(self, request: AskRequest) -> AskReply:
        """The answer, with a note for each stream that sees nothing now; the steps to the answer are logged. Raises EdgememError."""
        self._count(1)
        try:
            answered, trace = self._questions.ask(request)
        finally:
            self._count(-1)
        self._session_log.take(trace)
        blind = (f"{one.stream} sees nothing now: {one.blind}" for one in self._writer.streams() if one.state == "blind")
        return AskReply(answer=answered.answer, trace=answered.trace, notes=(*answered.notes, *blind))

    def search(self, request: SearchRequest) -> SearchReply:
        """Evidence, best first. Raises EdgememError."""
        self._count(1)
        try:
            return self._questions.search(request)
        finally:
            self._count(-1)

    def _reply(self, request: Request) -> Reply:
        if isinstance(request, NameRequest):
            return self._writer.name_voice(request)
        if isinstance(request, ForgetRequest):
            return self._writer.forget(request)
        if not isinstance(request, AskRequest | SearchRequest):
            return AgentStatus(process=os.getpid(), streams=self._writer.streams(), answered=self._answered)
        if request.settings != self._digest:
            return Declined(why="it runs with other settings", expected=True)
        return self.ask(request) if isinstance(request, AskRequest) else self.search(request)

    def _count(self, began: int) -> None:
        with self._lock:
            self._in_progress += began
            self._answered += max(0, began)


def _refused(error: Exception) -> Reply:
    """The reply to an error. One of edgemem's own errors is passed on; after any other error the client tries without the agent."""
    if isinstance(error, EdgememError):
        return Failed(error=type(error).__name__, text=str(error))
    return Declined(why=f"it failed ({type(error).__name__}: {error})"[:500])
