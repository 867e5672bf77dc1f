"""Where questions are answered: the same desk in the agent and in a command that reads the memory itself, so that both say the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from edgemem.answer.planner import ask as answer_question
from edgemem.answer.retrieve import search as find
from edgemem.answer.session import question_before
from edgemem.answer.trace import log_of, trace_text
from edgemem.extend.assembly import make_kit
from edgemem.records import Question
from edgemem.remember.view import View
from edgemem.serve.messages import AskReply, AskRequest, SearchReply, SearchRequest
from edgemem.serve.session_log import Trace

if TYPE_CHECKING:
    from edgemem.answer.planner import AnswerKit
    from edgemem.extend.context import PluginContext
    from edgemem.extend.plugins import Plugins
    from edgemem.extend.recipe import Recipes
    from edgemem.infer.roles import TextEmbedder


class QuestionService:
    """Answers requests about one memory, each on a view and with a kit of its own: several threads may ask at once."""

    def __init__(self, memory: Path, recipes: Recipes, context: PluginContext, plugins: Plugins) -> None:
        self._memory = memory
        self._recipes = recipes
        self._context = context
        self._plugins = plugins

    def ask(self, request: AskRequest) -> tuple[AskReply, Trace]:
        """The answer, and what led to it. Raises EdgememError."""
        with View.open(self._memory, request.as_of_us) as view:
            question = Question(
                text=request.question, asked_us=request.asked_us, as_of_us=view.as_of_us, options=request.options, tz=request.tz
            )
            kit = self._kit(request.recipe, request.planner)
            answer, session = answer_question(view, question, kit, question_before(view, request.session))
        self._plugins.notify("question_answered", question=question, answer=answer)
        log = log_of(session, answer, Path(request.recipe).stem, kit.planner.name)
        story = trace_text(log, request.tz) if request.trace else ""
        return AskReply(answer=answer, story=story), Trace(log, session, self._embedder)

    def search(self, request: SearchRequest) -> SearchReply:
        """Evidence, best first. Raises EdgememError."""
        with View.open(self._memory) as view:
            kit = self._kit(request.recipe, "")
            return SearchReply(
                evidence=tuple(find(view, request.query, kit, request.channel, request.from_us, request.to_us, request.top_k))
            )

    def _embedder(self) -> TextEmbedder | None:
        engines = self._context.engines
        return engines.role("embed_text") if engines is not None and engines.has("embed_text") else None

    def _kit(self, recipe: str, planner: str) -> AnswerKit:
        return make_kit(self._recipes, self._recipes.read(recipe), self._context, planner or None)
