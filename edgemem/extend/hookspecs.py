"""The hooks of the contract with plugins.

Hooks only register: every `register_*` hook returns `Component`s once, at the start. A recipe then chooses them by name, and frames and
questions are handled by plain method calls. Built-in components are registered in the same way (`edgemem/extend/builtin.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import pluggy

if TYPE_CHECKING:
    import click

    from edgemem.records import Answer, Question, Segment

hookspec = pluggy.HookspecMarker("edgemem")
hookimpl = pluggy.HookimplMarker("edgemem")


class NoSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """For components without parameters."""


@dataclass(frozen=True)
class Component:
    """A named factory. A recipe names it with `use = "<name>"`; the other keys of that table become `settings`."""

    name: str
    factory: Callable[..., Any]
    """`factory(settings, context)` -> an object that implements the hook's protocol. The context is an `extend.context.PluginContext`;
    sources get a `see.sources.base.SourceContext`, runtimes an `infer.runtime.RuntimeContext`, decoders an `infer.engines.DecoderParts`,
    converters their `infer.card.EngineCard`."""
    settings: type[msgspec.Struct] = NoSettings
    """A frozen msgspec Struct with `forbid_unknown_fields`: every parameter with its default."""
    summary: str = ""
    schemes: tuple[str, ...] = ()
    """For a source: the address schemes that it opens, such as "rtsp" or "alsa"; "device" is a camera of this machine."""
    suffixes: tuple[str, ...] = ()
    """For a source: the suffixes of files that it opens, such as ".mp4"; "/" is a folder, "" any file that no other source opens."""


Components = Iterable[Component]


@dataclass(frozen=True)
class SettingsTable:
    """A plugin's own table in the settings: `[openai]` in the file, `--set openai.model=...`. Factories get it by `context.table(type)`."""

    name: str
    type: type[msgspec.Struct]
    """A frozen msgspec Struct with `forbid_unknown_fields`, every key with its default. Keys that end in `_key` are never shown."""


class HookSpecs:
    """One method per hook. The docstring names the protocol that the factory's objects implement."""

    @hookspec
    def register_sources(self) -> Components:
        """Sources of frames and sound, by address scheme or file suffix: `see.sources.base.Source`."""
        return ()

    @hookspec
    def register_runtimes(self) -> Components:
        """Runtimes that execute models: `infer.runtime.Runtime`."""
        return ()

    @hookspec
    def register_converters(self) -> Components:
        """Converters of fetched weights to the ONNX file that a card names: `infer.fetch.Converter`."""
        return ()

    @hookspec
    def register_decoders(self) -> Components:
        """Decoders of a model's arrays, for one of the roles of `infer.roles`."""
        return ()

    @hookspec
    def register_chats(self) -> Components:
        """Language models: `infer.chat.Chat`, or None from a factory whose model is not configured."""
        return ()

    @hookspec
    def register_ears(self) -> Components:
        """Speech recognisers, from sound to utterances with times and speakers: `hear.listen.SpeechRecogniser`."""
        return ()

    @hookspec
    def register_gates(self) -> Components:
        """Gates that keep or drop a frame (with a reason), fast and before any model: `see.gate.Gate`."""
        return ()

    @hookspec
    def register_selectors(self) -> Components:
        """Selectors: which frames become moments, and which of these are kept: `see.select.Selector`."""
        return ()

    @hookspec
    def register_perceivers(self) -> Components:
        """Perceivers of a kept moment (observations, vectors, parts): `see.perceive.Perceiver`."""
        return ()

    @hookspec
    def register_segmenters(self) -> Components:
        """Segmenters: where segments begin and end, and their levels: `see.segment.Segmenter`."""
        return ()

    @hookspec
    def register_writers(self) -> Components:
        """Writers, called when a segment closes, a moment is evicted, every n segments, at the end, or when idle:
        `see.operations.Writer`.
        """
        return ()

    @hookspec
    def register_retainers(self) -> Components:
        """Retainers: which old moments are deleted or shrunk: `remember.tiers.Retainer`."""
        return ()

    @hookspec
    def register_retrievers(self) -> Components:
        """Retrievers: from a query and an as-of view to hits: `answer.retrieve.Retriever`."""
        return ()

    @hookspec
    def register_tools(self) -> Components:
        """Tools that a planner may call: `answer.tools.Tool`."""
        return ()

    @hookspec
    def register_planners(self) -> Components:
        """Planners, called for one step of reasoning: `answer.planner.Planner`."""
        return ()

    @hookspec
    def register_checks(self) -> Components:
        """Checks before an action, after a tool and before the answer: `answer.check.Check`."""
        return ()

    @hookspec
    def register_services(self) -> Components:
        """Services that run beside the agent and get its events: `extend.services.Service`. The settings name them in `run.services`."""
        return ()

    @hookspec
    def register_transports(self) -> Components:
        """Transports that send an outbox from the device: `extend.transports.Transport`."""
        return ()

    @hookspec
    def register_settings(self) -> Iterable[SettingsTable]:
        """Tables of the settings that belong to this plugin."""
        return ()

    @hookspec
    def register_tasks(self) -> Iterable[str]:
        """The plugin's tasks for language models (`Prompt.task`), such as "planner": settings may name a model for each."""
        return ()

    @hookspec
    def register_commands(self) -> Iterable[click.Command]:
        """More commands of the command line."""
        return ()

    @hookspec
    def register_recipes(self) -> Iterable[str]:
        """Import paths of packages whose `*.toml` files are recipes, such as `edgemem_vam.recipes`."""
        return ()

    @hookspec
    def segment_closed(self, segment: Segment) -> None:
        """Called after a segment was stored; never delays a frame."""

    @hookspec
    def question_answered(self, question: Question, answer: Answer) -> None:
        """Called after a question was answered."""
