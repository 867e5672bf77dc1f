"""The components of edgemem itself, registered like those of a plugin. A module is loaded when its component is made, not before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from edgemem.errors import EngineError
from edgemem.extend.context import PluginContext
from edgemem.extend.hookspecs import Component, Components, hookimpl


@hookimpl
def register_decoders() -> Components:
    from edgemem.infer.decode import DECODERS

    return [Component(d.name, d.factory, d.settings, d.summary) for d in DECODERS]


@hookimpl
def register_sources() -> Components:
    from edgemem.see.sources import factories as make
    from edgemem.see.sources.gstreamer import SCHEME
    from edgemem.see.sources.spec import ANY_FILE, DEVICE, FOLDER, NETWORK, PICTURES, SOUNDS, VIDEOS

    kind = make.CameraSettings
    return [
        Component("camera", make.camera, kind, "a camera of this machine", schemes=(DEVICE,)),
        Component("network", make.network, kind, "a stream or recording at an address", schemes=NETWORK),
        Component("pipeline", make.pipeline, kind, "a camera behind a GStreamer pipeline", schemes=(SCHEME,)),
        Component("microphone", make.microphone, kind, "a microphone, alone or with a camera", schemes=("alsa",)),
        Component("pictures", make.pictures, summary="a folder of pictures, or one picture", suffixes=(FOLDER, *sorted(PICTURES))),
        Component("sound", make.sound, summary="a recording of sound", suffixes=tuple(sorted(SOUNDS))),
        Component("video", make.video, summary="a video file", suffixes=(*sorted(VIDEOS), ANY_FILE)),
    ]


@hookimpl
def register_gates() -> Components:
    from edgemem.see import gate

    return [
        Component("blur", _make(gate.Blur), gate.BlurSettings, "drops frames without detail: black, flat, blurred"),
        Component("difference", _make(gate.Difference), gate.DifferenceSettings, "drops frames that differ little on average"),
        Component("local_difference", _make(gate.LocalDifference), gate.LocalDifferenceSettings, "drops frames in which no part differs"),
        Component("histogram", _make(gate.HistogramGate), gate.HistogramSettings, "drops frames with the same colours"),
        Component("ssim", _make(gate.Ssim), gate.SsimSettings, "drops frames with the same structure"),
    ]


@hookimpl
def register_selectors() -> Components:
    from edgemem.see.select import KeepAll

    return [Component("keep_all", lambda _settings, _context: KeepAll(), summary="every frame that passed the gates")]


@hookimpl
def register_perceivers() -> Components:
    from edgemem.see.perceive import JointSettings

    return [
        Component("joint", _joint, JointSettings, "whole-picture vectors, labels and objects of the joint embedder"),
        Component("read_text", _read_text, summary="lines of text (OCR)"),
    ]


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

    return [Component("age_tiers", _make(tiers.AgeTiers), tiers.AgeTiersSettings, "thins old moments and shrinks their pictures")]


@hookimpl
def register_retrievers() -> Components:
    from edgemem.answer import retrieve
    from edgemem.answer.retrievers import people, readings

    return [
        Component("frame", _frames, summary="pictures by what they show"),
        Component("event", lambda _settings, _context: retrieve.EventRetriever(), summary="texts about events"),
        Component("entity", lambda _settings, _context: people.EntityRetriever(), summary="relations between entities"),
        Component("speech", lambda _settings, _context: people.SpeechRetriever(), summary="speech and speakers"),
        Component("text", lambda _settings, _context: readings.TextRetriever(), summary="text in pictures"),
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
            "within_question",
            lambda _settings, _context: check.WithinQuestion(),
            summary="a model gets only pictures that the question is about",
        ),
        Component("within_as_of", lambda _settings, _context: check.WithinAsOf(), summary="no action reads past the time of the question"),
        Component("cites_evidence", lambda _settings, _context: check.CitesEvidence(), summary="no answer without evidence"),
        Component("valid_option", lambda _settings, _context: check.ValidOption(), summary="the answer is one of the given options"),
    ]


@hookimpl
def register_tasks() -> Iterable[str]:
    from edgemem.answer.reader import TASKS

    return TASKS


@hookimpl
def register_recipes() -> Iterable[str]:
    return ["edgemem.recipes"]


def _joint(settings: Any, context: PluginContext) -> Any:
    from edgemem.see.perceive import JointPerceiver

    return JointPerceiver(_engine(context, "embed_joint", "pictures are kept without names and vectors"), settings)


def _read_text(_settings: object, context: PluginContext) -> Any:
    from edgemem.see.perceive import TextPerceiver

    return TextPerceiver(_engine(context, "read_text", "text in pictures is not read"))


def _engine(context: PluginContext, role: str, without: str) -> Any:
    """The object for the role. Raises EngineError; its message begins with `without`, which says what is missing then."""
    problem = context.engines.missing(role) if context.engines is not None else "no engines"
    if context.engines is None or problem:
        raise EngineError(f"{without}: {problem}")
    try:
        return context.engines.role(role, now=True)
    except EngineError as error:
        raise EngineError(f"{without}: {error}") from None


def _make(kind: Any) -> Any:
    return lambda settings, _context: kind(settings)


def _frames(_settings: object, context: PluginContext) -> Any:
    from edgemem.answer.retrievers.frames import FrameRetriever

    return FrameRetriever(context.engines)
