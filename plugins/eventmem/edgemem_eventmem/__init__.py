"""EventMemAgent (Wen et al. 2026) as a plugin: short-term memory over events, long-term tuples, a perception toolkit, the planner `react`
and the recipes `eventmem` and `eventmem_fixed`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from edgemem.extend import Component, PluginContext, hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def register_selectors() -> Iterable[Component]:
    from edgemem_eventmem.short_term import ShortTermMemory, ShortTermSettings

    summary = "at most 32 frames of the latest events, each event a uniform sample; the first frame of every event stays"
    return [Component("short_term", lambda settings, _context: ShortTermMemory(settings), ShortTermSettings, summary)]


@hookimpl
def register_segmenters() -> Iterable[Component]:
    from edgemem_eventmem.segmenter import Events

    return [Component("events", lambda _settings, _context: Events(), summary="the events that `short_term` tells apart")]


@hookimpl
def register_writers() -> Iterable[Component]:
    from edgemem_eventmem.writer import EventTuple, TupleSettings

    return [
        Component(
            "event_tuple",
            lambda settings, context: EventTuple(settings, context.models),
            TupleSettings,
            "a caption of each event, and what changed since the event before",
        )
    ]


@hookimpl
def register_tools() -> Iterable[Component]:
    from edgemem_eventmem.tools import DetectTool, OcrTool, RecallTool, SearchSettings, SearchTool

    return [
        Component("short_term", lambda _settings, _context: RecallTool(), summary="the frames of short-term memory"),
        Component(
            "search_memory",
            lambda settings, context: SearchTool(settings, context.engines),
            SearchSettings,
            "events by words or by time, at most three",
        ),
        Component("ocr", lambda _settings, context: OcrTool(context.engines), summary="the text in one picture"),
        Component("detect_objects", lambda _settings, context: DetectTool(context.engines), summary="where named objects are"),
    ]


@hookimpl
def register_planners() -> Iterable[Component]:
    from edgemem_eventmem.settings import ReactSettings

    return [Component("react", _planner, ReactSettings, "one thought, one action at a time; without a language model by a trained policy")]


@hookimpl
def register_commands() -> Iterable[click.Command]:
    from edgemem_eventmem.command import trajectories

    return [trajectories]


@hookimpl
def register_tasks() -> Iterable[str]:
    return ("eventmem_react", "eventmem_caption", "eventmem_change")


@hookimpl
def register_recipes() -> Iterable[str]:
    return ["edgemem_eventmem.recipes"]


def _planner(settings: Any, context: PluginContext) -> Any:
    """The planner with its tools at their defaults; a recipe that names a tool replaces that one."""
    from edgemem_eventmem.react import ReactPlanner

    tools = [component.factory(component.settings(), context) for component in register_tools()]
    return ReactPlanner(settings, context.models, tools)
