"""Answers requests about one memory. The agent and processes without an agent use the same service, so that they give the same answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from edgemem.answer.planner import ask as answer_question
from edgemem.answer.retrieve import Query
from edgemem.answer.retrieve import search as find
from edgemem.answer.session import turns_before
from edgemem.events import QuestionAnswered, QuestionStep
from edgemem.records import Question
from edgemem.remember.administration import open_view
from edgemem.serve.messages import AskReply, AskRequest, SearchReply, SearchRequest
from edgemem.serve.session_log import Trace
from edgemem.serve.trace import log_of, step_text, trace_text

if TYPE_CHECKING:
    from edgemem.answer.session import Step
    from edgemem.extend.environment import Environment
    from edgemem.extend.feed import Feed
    from edgemem.infer.roles import TextEmbedder


class _Watch:
    """Tells of each step of one question."""

    def __init__(self, question: Question, feed: Feed, on_step: Callable[[QuestionStep], object] | None) -> None:
        self._question, self._feed, self._on_step = question, feed, on_step
        self._number = 0

    def __call__(self, planner: str, step: Step) -> None:
        self._number += 1
        if self._on_step is None and not self._feed.subscribers:
            return
        line = step_text(step, planner, self._question.tz)
        event = QuestionStep(question=self._question, number=self._number, planner=planner, line=line, ms=step.ms)
        self._feed.publish(event)
        if self._on_step is not None:
            self._on_step(event)


class QuestionService:
    """Each request is answered with its own view and the kit of its recipe: several threads may ask at the same time."""

    def __init__(self, memory: Path, environment: Environment, feed: Feed) -> None:
        self._memory = memory
        self._environment = environment
        self._feed = feed

    def ask(self, request: AskRequest, on_step: Callable[[QuestionStep], object] | None = None) -> tuple[AskReply, Trace]:
        """The answer, and what led to it. Each step goes to the feed, and to `on_step`, as soon as it is done. Raises EdgememError."""
        with open_view(self._memory, request.as_of_us) as view:
            question = Question(
                text=request.question, asked_us=request.asked_us, as_of_us=view.as_of_us, options=request.options, tz=request.tz
            )
            kit = self._environment.kit(request.recipe, request.planner)
            watch = _Watch(question, self._feed, on_step)
            answer, session = answer_question(view, question, kit, turns_before(view, request.session), watch)
        if (engines := self._environment.context.engines) is not None:
            answer = msgspec.structs.replace(answer, notes=(*answer.notes, *engines.runtimes.notes(), *engines.stepped_down))
        self._feed.publish(QuestionAnswered(question=question, answer=answer))
        self._environment.plugins.notify("question_answered", question=question, answer=answer)
        log = log_of(session, answer, Path(request.recipe).stem, kit.planner.name)
        text = trace_text(log, request.tz) if request.trace else ""
        return AskReply(answer=answer, trace=text), Trace(log, session, self._embedder)

    def search(self, request: SearchRequest) -> SearchReply:
        """Evidence, best first. Raises EdgememError."""
        with open_view(self._memory) as view:
            kit = self._environment.kit(request.recipe)
            query = Query(text=request.query, from_us=request.from_us, to_us=request.to_us)
            found = find(view, query, kit.retrievers, request.channel, request.top_k)
        return SearchReply(evidence=tuple(found))

    def _embedder(self) -> TextEmbedder | None:
        engines = self._environment.engines
        return engines.role("embed_text") if engines.has("embed_text") else None
