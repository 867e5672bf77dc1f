"""VAM (Visual Agentic Memory, Li et al. 2026) as a plugin: adaptive deduplication, online events, and the recipe `vam`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from edgemem.extend.hookspecs import Component, Components, hookimpl
from edgemem.extend.plugins import Context


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
def register_recipes() -> Iterable[str]:
    return ["edgemem_vam.recipes"]


def _calibration(context: Context) -> Mapping[str, float]:
    """Thresholds belong to a vector space: those that the card of the joint embedder states."""
    if context.engines is None or not context.engines.has("embed_joint"):
        return {}
    space = context.engines.card("embed_joint").space
    return space.calibration if space is not None else {}
