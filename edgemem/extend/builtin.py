"""What edgemem itself registers, by the same door as every plugin. Modules load when a component is made, not before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from edgemem.extend.context import PluginContext
from edgemem.extend.hookspecs import Component, Components, hookimpl


@hookimpl
def register_decoders() -> Components:
    from edgemem.infer.decode import DECODERS

    return [Component(d.name, d.factory, d.settings, d.summary) for d in DECODERS]


@hookimpl
def register_gates() -> Components:
    from edgemem.see import gate

    return [
        Component("blur", _make(gate.Blur), gate.BlurSettings, "drops frames without detail: black, flat, blurred"),
        Component("difference", _make(gate.Difference), gate.DifferenceSettings, "drops frames that differ little on average"),
        Component("local_difference", _make(gate.LocalDifference), gate.LocalDifferenceSettings, "drops frames of which no part differs"),
        Component("histogram", _make(gate.HistogramGate), gate.HistogramSettings, "drops frames with the same colours"),
        Component("ssim", _make(gate.Ssim), gate.SsimSettings, "drops frames with the same structure"),
    ]


@hookimpl
def register_selectors() -> Components:
    from edgemem.see.select import KeepAll

    return [Component("keep_all", lambda _settings, _context: KeepAll(), summary="every frame that passed the gates")]


@hookimpl
def register_segmenters() -> Components:
    from edgemem.see import segment

    return [Component("fixed_window", _make(segment.FixedWindow), segment.FixedWindowSettings, "windows of a fixed length")]


@hookimpl
def register_writers() -> Components:
    from edgemem.see import write

    return [
        Component(
            "event_document", _make(write.EventDocument), write.EventDocumentSettings, "labels, objects, colours and text of an event"
        )
    ]


@hookimpl
def register_retainers() -> Components:
    from edgemem.remember import tiers

    return [Component("age_tiers", _make(tiers.AgeTiers), tiers.AgeTiersSettings, "thins and shrinks what grows old")]


@hookimpl
def register_retrievers() -> Components:
    from edgemem.answer import retrieve
    from edgemem.answer.retrievers import entities, readings, speech

    return [
        Component("frame", _frames, summary="pictures by what they show"),
        Component("event", lambda _settings, _context: retrieve.EventRetriever(), summary="what was written about events"),
        Component("entity", lambda _settings, _context: entities.EntityRetriever(), summary="who did what with what"),
        Component("speech", lambda _settings, _context: speech.SpeechRetriever(), summary="what was said, and by whom"),
        Component("text", lambda _settings, _context: readings.TextRetriever(), summary="what was read in pictures"),
    ]


@hookimpl
def register_planners() -> Components:
    from edgemem.answer.local import LocalPlanner

    return [Component("local", lambda _settings, _context: LocalPlanner(), summary="deterministic, needs no language model")]


@hookimpl
def register_checks() -> Components:
    from edgemem.answer import check

    return [
        Component(
            "within_question", lambda _settings, _context: check.WithinQuestion(), summary="a model looks only where the question points"
        ),
        Component("within_as_of", lambda _settings, _context: check.WithinAsOf(), summary="no action looks past the time of the question"),
        Component("cites_evidence", lambda _settings, _context: check.CitesEvidence(), summary="no answer without evidence"),
        Component("valid_option", lambda _settings, _context: check.ValidOption(), summary="an option is one of those given"),
    ]


@hookimpl
def register_recipes() -> Iterable[str]:
    return ["edgemem.recipes"]


def _make(kind: Any) -> Any:
    return lambda settings, _context: kind(settings)


def _frames(_settings: object, context: PluginContext) -> Any:
    from edgemem.answer.retrievers.frames import FrameRetriever

    return FrameRetriever(context.engines)
