"""EGAgent (Rege et al.) as a plugin: fused captions, the entity scene graph, three search tools, its planner, the recipe `egagent`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from edgemem.extend.context import PluginContext
from edgemem.extend.hookspecs import Component, Components, hookimpl

if TYPE_CHECKING:
    from edgemem_egagent.planner import EgagentPlanner
    from edgemem_egagent.settings import PlannerSettings


@hookimpl
def register_writers() -> Components:
    from edgemem_egagent.summaries import CaptionSummaries, SummarySettings
    from edgemem_egagent.writers import FusedCaption, FusedCaptionSettings, Triples, TriplesSettings

    return [
        Component(
            "fused_caption",
            lambda settings, context: FusedCaption(settings, context.models),
            FusedCaptionSettings,
            "what was seen and said in a window, as one paragraph",
        ),
        Component(
            "caption_summaries",
            lambda settings, context: CaptionSummaries(settings, context.models),
            SummarySettings,
            "fused captions of every five minutes as one summary; needs a language model",
        ),
        Component(
            "triples",
            lambda settings, context: Triples(settings, context.models),
            TriplesSettings,
            "who did what with whom or what: edges of the entity scene graph",
        ),
    ]


@hookimpl
def register_tools() -> Components:
    from edgemem_egagent.analyzer import Analyzer, AnalyzerSettings

    return [
        Component(
            "visual_search", lambda _settings, context: _visual(context), summary="pictures by one to three short queries, fused by rank"
        ),
        Component("transcript_search", lambda _settings, _context: _transcript(), summary="what was said, by full text"),
        Component("list_days", lambda _settings, _context: _days(), summary="the days that the memory holds"),
        Component("entity_graph_search", lambda _settings, _context: _graph(), summary="relations, from strict to relaxed"),
        Component(
            "analyzer", lambda settings, context: Analyzer(context.models, settings), AnalyzerSettings, "judges what a search brought"
        ),
    ]


@hookimpl
def register_planners() -> Components:
    from edgemem_egagent.settings import PlannerSettings

    def make(settings: PlannerSettings, context: PluginContext) -> EgagentPlanner:
        from edgemem_egagent.planner import EgagentPlanner

        return EgagentPlanner(settings, context.models, (_days(), _visual(context), _transcript(), _graph(), _analyzer(context)))

    return [Component("egagent", make, PlannerSettings, "EGAgent: sub-tasks for three search tools, judged one by one")]


def _days() -> Any:
    from edgemem_egagent.days import DaysTool

    return DaysTool()


def _visual(context: PluginContext) -> Any:
    from edgemem.answer.retrievers.frames import FrameRetriever
    from edgemem_egagent.visual import VisualTool

    return VisualTool(FrameRetriever(context.engines))


def _transcript() -> Any:
    from edgemem_egagent.transcript import TranscriptTool

    return TranscriptTool()


def _graph() -> Any:
    from edgemem_egagent.relations import GraphTool

    return GraphTool()


def _analyzer(context: PluginContext) -> Any:
    from edgemem_egagent.analyzer import Analyzer

    return Analyzer(context.models)


@hookimpl
def register_tasks() -> Iterable[str]:
    return tuple(f"egagent_{task}" for task in ("plan", "revise", "analyse", "grade", "answer", "extract", "fuse", "summarise"))


@hookimpl
def register_recipes() -> Iterable[str]:
    return ["edgemem_egagent.recipes"]
