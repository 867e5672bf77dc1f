"""Dispatches each request from the agent's socket to the service that carries it out."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

from edgemem.errors import EdgememError
from edgemem.events import QuestionStep, StreamStatus
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
    StepDone,
)

if TYPE_CHECKING:
    from edgemem.serve.questions import QuestionService
    from edgemem.serve.session_log import SessionLogger


class MemoryWriter(Protocol):
    """What holds the memory for writing: `device.agent.Agent`."""

    def name_voice(self, request: NameRequest) -> NameReply: ...
    def forget(self, request: ForgetRequest) -> ForgetReply: ...
    def streams(self) -> tuple[StreamStatus, ...]: ...


class Dispatcher:
    """Replies to requests, several at once; never raises."""

    def __init__(self, questions: QuestionService, session_log: SessionLogger, digest: str, writer: MemoryWriter) -> None:
        self._questions = questions
        self._session_log = session_log
        self._digest = digest
        self._writer = writer
        self._lock = threading.Lock()
        self._answered = self._in_progress = 0

    @property
    def busy(self) -> bool:
        """Whether a question or a search is being answered just now."""
        return self._in_progress > 0

    def reply(self, request: Request, send: Callable[[Reply], object] = lambda _: None) -> Reply:
        """What the client would have found by itself; `Declined` where the agent cannot know that. `send` gets what comes before it: the
        steps of a question, where the request wishes them.
        """
        return call_isolated(lambda: self._reply(request, send), _refused)

    def ask(self, request: AskRequest, on_step: Callable[[QuestionStep], object] | None = None) -> AskReply:
        """The answer, with a note for each stream that sees nothing just now; how it was found is logged. Raises EdgememError."""
        self._count(1)
        try:
            answered, trace = self._questions.ask(request, on_step)
        finally:
            self._count(-1)
        self._session_log.take(trace)
        blind = (f"{one.stream} sees nothing just now: {one.blind}" for one in self._writer.streams() if one.state == "blind")
        return AskReply(answer=answered.answer, trace=answered.trace, notes=(*answered.notes, *blind))

    def search(self, request: SearchRequest) -> SearchReply:
        """Evidence, best first. Raises EdgememError."""
        self._count(1)
        try:
            return self._questions.search(request)
        finally:
            self._count(-1)

    def _reply(self, request: Request, send: Callable[[Reply], object]) -> Reply:
        if isinstance(request, NameRequest):
            return self._writer.name_voice(request)
        if isinstance(request, ForgetRequest):
            return self._writer.forget(request)
        if not isinstance(request, AskRequest | SearchRequest):
            return AgentStatus(process=os.getpid(), streams=self._writer.streams(), answered=self._answered)
        if request.settings != self._digest:
            return Declined(why="it runs with other settings", expected=True)
        if isinstance(request, SearchRequest):
            return self.search(request)
        return self.ask(request, partial(_send_step, send) if request.steps else None)

    def _count(self, began: int) -> None:
        with self._lock:
            self._in_progress += began
            self._answered += max(0, began)


def _send_step(send: Callable[[Reply], object], step: QuestionStep) -> None:
    send(StepDone(step=step))


def _refused(error: Exception) -> Reply:
    """An error of ours is passed on. After any other error the client tries by itself."""
    if isinstance(error, EdgememError):
        return Failed(error=type(error).__name__, text=str(error))
    return Declined(why=f"it failed ({type(error).__name__}: {error})"[:500])
