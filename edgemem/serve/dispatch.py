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
    MergeReply,
    MergeRequest,
    NameReply,
    NameRequest,
    NameThingRequest,
    Reply,
    Request,
    SearchReply,
    SearchRequest,
    StepDone,
    ThingReply,
)

if TYPE_CHECKING:
    from edgemem.serve.questions import QuestionService
    from edgemem.serve.session_log import SessionLogger


class MemoryWriter(Protocol):
    """The object that has the memory open for writing: `device.agent.Agent`."""

    def name_voice(self, request: NameRequest) -> NameReply: ...
    def merge_entities(self, request: MergeRequest) -> MergeReply: ...

    def name_thing(self, request: NameThingRequest) -> ThingReply: ...
    def forget(self, request: ForgetRequest) -> ForgetReply: ...
    def streams(self) -> tuple[StreamStatus, ...]: ...
    def notes(self) -> tuple[str, ...]: ...


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
        blind = (f"{one.stream} sees nothing now: {one.blind}" for one in self._writer.streams() if one.state == "blind")
        return AskReply(answer=answered.answer, trace=answered.trace, notes=(*answered.notes, *blind))

    def search(self, request: SearchRequest) -> SearchReply:
        """Evidence, best first. Raises EdgememError."""
        self._count(1)
        try:
            return self._questions.search(request)
        finally:
            self._count(-1)

    def _reply(self, request: Request, send: Callable[[Reply], object]) -> Reply:
        if isinstance(request, NameRequest | MergeRequest | NameThingRequest | ForgetRequest):
            return self._change(request)
        if not isinstance(request, AskRequest | SearchRequest):
            return AgentStatus(process=os.getpid(), streams=self._writer.streams(), answered=self._answered, notes=self._writer.notes())
        if request.settings != self._digest:
            return Declined(why="it runs with other settings", expected=True)
        if isinstance(request, SearchRequest):
            return self.search(request)
        return self.ask(request, partial(_send_step, send) if request.steps else None)

    def _change(self, request: NameRequest | MergeRequest | NameThingRequest | ForgetRequest) -> Reply:
        """Only the writer changes the memory."""
        if isinstance(request, NameRequest):
            return self._writer.name_voice(request)
        if isinstance(request, MergeRequest):
            return self._writer.merge_entities(request)
        if isinstance(request, NameThingRequest):
            return self._writer.name_thing(request)
        return self._writer.forget(request)

    def _count(self, began: int) -> None:
        with self._lock:
            self._in_progress += began
            self._answered += max(0, began)


def _send_step(send: Callable[[Reply], object], step: QuestionStep) -> None:
    send(StepDone(step=step))


def _refused(error: Exception) -> Reply:
    """The reply to an error. One of edgemem's own errors is passed on; after any other error the client tries without the agent."""
    if isinstance(error, EdgememError):
        return Failed(error=type(error).__name__, text=str(error))
    return Declined(why=f"it failed ({type(error).__name__}: {error})"[:500])
