"""Makes the objects of a recipe: those that see a stream and those that answer a question."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from edgemem.errors import EngineError, UsageError, nearest
from edgemem.extend.context import PluginContext
from edgemem.extend.recipe import ChainPart, Recipe, RecipePart, Recipes
from edgemem.records import Segment

if TYPE_CHECKING:
    from edgemem.answer.planner import AnswerKit
    from edgemem.config import Settings
    from edgemem.extend.plugins import Plugins
    from edgemem.hear.listen import SpeechRecogniser
    from edgemem.infer.engines import Engines
    from edgemem.infer.roles import TextEmbedder
    from edgemem.see.chains import Chain
    from edgemem.see.hearing import HearingFactory
    from edgemem.see.parts import PipelineParts
    from edgemem.see.perceive import Perceiver

DEFAULT_RETRIEVERS: tuple[RecipePart, ...] = ({"use": "frame"}, {"use": "text"}, {"use": "speech"}, {"use": "entity"}, {"use": "event"})
DEFAULT_CHECKS: tuple[RecipePart, ...] = (
    {"use": "within_question"},
    {"use": "within_as_of"},
    {"use": "cites_evidence"},
    {"use": "valid_option"},
)


def make_context(plugins: Plugins, settings: Settings, home: Path, engines: Engines | None = None) -> PluginContext:
    """The context for factories: settings, engines, and the configured language model, if any. Raises UsageError."""
    from edgemem.llm.models import Models

    context = PluginContext(settings=settings, home=home, engines=engines, tables=plugins.tables(settings), tasks=plugins.tasks())
    for task in settings.models.tasks:
        if task not in {*context.tasks, "default"}:
            raise UsageError(f'settings: models.tasks: no plugin has a task "{task}" for a language model{nearest(task, context.tasks)}')
    wanted, known = settings.models.chat, plugins.components("chats")
    if wanted == "none":
        context.models = Models(None, settings.models, "language models are switched off (models.chat)")
        return context
    if wanted and wanted not in known:
        raise UsageError(f'settings: models.chat: no chat is called "{wanted}"{nearest(wanted, known)}')
    chats = ((name, plugins.make("chats", name, {}, context, "settings")) for name in ([wanted] if wanted else known))
    chat = next((chat for _, chat in chats if chat is not None), None)
    if wanted and chat is None:
        raise UsageError(f'settings: models.chat: "{wanted}" is not configured; set what its plugin needs, such as {wanted}.base_url')
    context.models = Models(chat, settings.models)
    return context


def make_kit(recipes: Recipes, recipe: Recipe, context: PluginContext, planner: str | None = None) -> AnswerKit:
    """The components that answer a question: the recipe's planner (or the named one), retrievers and checks. Raises UsageError."""
    from edgemem.answer.planner import AnswerKit

    plan = {"use": planner} if planner and planner != recipe.plan.get("use") else recipe.plan
    return AnswerKit(
        planner=recipes.make(recipe, "planners", plan, context),
        retrievers=recipes.make_all(recipe, "retrievers", recipe.retrieve or DEFAULT_RETRIEVERS, context),
        tools=recipes.make_all(recipe, "tools", recipe.tools, context),
        checks=recipes.make_all(recipe, "checks", recipe.check or DEFAULT_CHECKS, context),
        models=context.models,
        caps=recipe.models,
        engines=context.engines,
    )


def make_parts(recipes: Recipes, recipe: Recipe, context: PluginContext, plugins: Plugins) -> tuple[PipelineParts, list[str]]:
    """(parts of the pipeline, notes on missing engines). Raises UsageError; a missing engine only causes a note."""
    from edgemem.see.parts import PipelineParts

    notes: list[str] = []

    def observe(segment: Segment) -> None:
        plugins.notify("segment_closed", segment=segment)

    embedder = _passage_embedder(context, notes) if recipe.embed_text else None
    parts = PipelineParts(
        gates=recipes.make_all(recipe, "gates", recipe.gate, context),
        selector=recipes.make(recipe, "selectors", recipe.select, context),
        perceivers=_perceivers(recipes, recipe, context, notes),
        chains=make_chains(recipes, recipe, context),
        embedder=embedder,
        hearing=_hearing(recipes, recipe, context, embedder, notes),
        retainer=recipes.make(recipe, "retainers", recipe.retain, context),
        segment_closed=observe,
    )
    return parts, notes


def _perceivers(recipes: Recipes, recipe: Recipe, context: PluginContext, notes: list[str]) -> list[Perceiver]:
    """The recipe's perceivers, without those with missing models; these are noted."""
    made: list[Perceiver] = []
    for part in recipe.perceive:
        try:
            perceiver = recipes.make(recipe, "perceivers", part, context)
        except EngineError as error:
            notes.append(str(error))
            continue
        made += [perceiver] if perceiver is not None else []
    return made


def _passage_embedder(context: PluginContext, notes: list[str]) -> TextEmbedder | None:
    without = "documents and speech are found by words only"
    problem = context.engines.missing("embed_text") if context.engines is not None else "no engines"
    if context.engines is None or problem:
        notes.append(f"{without}: {problem}")
        return None
    try:
        embedder: TextEmbedder = context.engines.role("embed_text", now=True)
    except EngineError as error:
        notes.append(f"{without}: {error}")
        return None
    return embedder


def make_chains(recipes: Recipes, recipe: Recipe, context: PluginContext) -> list[Chain]:
    """The recipe's chains. An additional chain is left out if none of its writers is installed."""
    from edgemem.see.chains import Chain

    def chain(part: ChainPart) -> Chain:
        return Chain(recipes.make(recipe, "segmenters", part.segment, context), recipes.make_all(recipe, "writers", part.write, context))

    first = chain(ChainPart(segment=recipe.segment, write=recipe.write))
    return [first, *(more for part in recipe.chain if (more := chain(part)).writers)]


def _hearing(
    recipes: Recipes, recipe: Recipe, context: PluginContext, embedder: TextEmbedder | None, notes: list[str]
) -> HearingFactory | None:
    """The hearing with the recipe's speech recogniser; without its models nothing is heard, which is noted."""
    from edgemem.hear.utterances import by_recogniser

    try:
        recogniser: SpeechRecogniser | None = recipes.make(recipe, "ears", recipe.hear, context)
    except EngineError as error:
        notes.append(f"speech is not recognised: {error}")
        return None
    return by_recogniser(recogniser, embedder) if recogniser is not None else None
