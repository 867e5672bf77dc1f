"""EGAgent (Rege et al. 2026) as a plugin: fused captions, the entity scene graph, three search tools, its planner, and the recipe `egagent`."""

from __future__ import annotations

from collections.abc import Iterable

from edgemem.extend.hookspecs import Component, Components, hookimpl


@hookimpl
def register_writers() -> Components:
    from edgemem_egagent.writers import FusedCaption, FusedCaptionSettings, Triples, TriplesSettings

    return [
        Component(
            "fused_caption",
            lambda settings, context: FusedCaption(settings, context.models),
            FusedCaptionSettings,
            "what was seen and said in a window, as one paragraph",
        ),
        Component(
            "triples",
            lambda settings, context: Triples(settings, context.models),
            TriplesSettings,
            "who did what with whom or what: edges of the entity scene graph",
        ),
    ]


@hookimpl
def register_recipes() -> Iterable[str]:
    return ["edgemem_egagent.recipes"]
