"""VAM (Visual Agentic Memory, Li et al. 2026) as a plugin: adaptive deduplication, online events and their documents, the planner `vam`
with its tools, and the recipe `vam`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from edgemem.errors import EngineError
from edgemem.extend.context import PluginContext
from edgemem.extend.hookspecs import Component, Components, hookimpl

if TYPE_CHECKING:
    import click

    from edgemem.infer.roles import JointEmbedder


@hookimpl
def register_selectors() -> Components:
    from edgemem_vam.dedup import AdaptiveDedup, DedupSettings

    return [
        Component(
            "adaptive_dedup",
            lambda settings, context: AdaptiveDedup(settings, _calibration(context)),
            DedupSettings,
            "first and last frame of every stretch that looks alike; threshold by Otsu",
        )
    ]


@hookimpl
def register_segmenters() -> Components:
    from edgemem_vam.events import EventSettings, OtsuEvents

    return [
        Component(
            "otsu_events",
            lambda settings, context: OtsuEvents(settings, _calibration(context)),
            EventSettings,
            "events between local peaks of change, at most 300 s",
        )
    ]


@hookimpl
def register_writers() -> Components:
    from edgemem_vam.conversation import ConversationWriter, SummariserSettings
    from edgemem_vam.summaries import SummarySettings, SummaryWriter
    from edgemem_vam.writer import VamEvent, VamEventSettings

    return [
        Component(
            "vam_event",
            lambda settings, context: VamEvent(settings, context.models),
            VamEventSettings,
            "event documents with passages; by a language model where that is wanted",
        ),
        Component(
            "vam_summaries",
            lambda settings, context: SummaryWriter(settings, context.models),
            SummarySettings,
            "summaries that questions left over, when the board is idle",
        ),
        Component(
            "vam_conversations",
            lambda settings, context: ConversationWriter(settings, context.models),
            SummariserSettings,
            "habits of the user, from conversations that are over, when the board is idle",
        ),
    ]


@hookimpl
def register_tools() -> Components:
    from edgemem_vam.look import AdjudicateTool, InspectTool, JudgeSettings, LookSettings
    from edgemem_vam.search import HybridSearchTool, SearchSettings
    from edgemem_vam.summaries import SummarySettings, SummaryTool, SurveyTool

    return [
        Component("vam_survey", lambda _settings, context: SurveyTool(context.models), summary="streams, structures of summaries, habits"),
        Component(
            "vam_search",
            lambda settings, context: HybridSearchTool(settings, context.engines),
            SearchSettings,
            "pictures, event documents and summaries, merged by score",
        ),
        Component(
            "vam_inspect",
            lambda settings, context: InspectTool(settings, context.models),
            LookSettings,
            "a language model looks at pictures",
        ),
        Component(
            "vam_adjudicate",
            lambda settings, context: AdjudicateTool(settings, context.models),
            JudgeSettings,
            "a language model verifies an event that times are measured from",
        ),
        Component(
            "vam_summarize",
            lambda settings, context: SummaryTool(settings, context.models),
            SummarySettings,
            "reusable summaries of windows of time",
        ),
    ]


@hookimpl
def register_planners() -> Components:
    from edgemem_vam.roles import PlannerSettings

    return [Component("vam", _planner, PlannerSettings, "search, inspect, summarize, answer: a language model in a bounded loop")]


@hookimpl
def register_commands() -> Iterable[click.Command]:
    from edgemem_vam.command import habits

    return [habits]


@hookimpl
def register_tasks() -> Iterable[str]:
    return ("router", "planner", "inspector", "adjudicator", "event_writer", "summary_writer", "session_summariser")


@hookimpl
def register_recipes() -> Iterable[str]:
    return ["edgemem_vam.recipes"]


def _planner(settings: Any, context: PluginContext) -> Any:
    """The planner with its tools at their defaults; a recipe that names a tool replaces that one."""
    from edgemem_vam.planner import VamPlanner

    planner = VamPlanner(settings, context.models)
    planner.tools = tuple(component.factory(component.settings(), context) for component in register_tools())
    return planner


def _calibration(context: PluginContext) -> Mapping[str, float]:
    """Thresholds belong to a vector space: those of the whole-picture vectors that are compared from frame to frame."""
    if context.engines is None or not context.engines.has("embed_joint"):
        return {}
    try:
        joint: JointEmbedder = context.engines.role("embed_joint")
    except EngineError:  # its perceiver says so
        return {}
    return joint.local.space.calibration
