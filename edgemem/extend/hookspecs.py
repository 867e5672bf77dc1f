"""The contract with plugins, on one screen.

Hooks register, objects work: every `register_*` hook returns `Component`s once, at start-up; a recipe then chooses them by name, and
frames and questions pass through plain calls. Built-ins come in by the same door (`edgemem/extend/builtin.py`).
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
    """`factory(settings, context)` -> an object that keeps the hook's protocol. The context is an `extend.context.PluginContext`; sources
    get a `see.sources.base.SourceContext`, runtimes an `infer.runtime.RuntimeContext`, decoders an `infer.runtime.DecoderParts`,
    converters their `infer.card.EngineCard`."""
    settings: type[msgspec.Struct] = NoSettings
    """A frozen msgspec Struct with `forbid_unknown_fields`: every parameter with its default."""
    summary: str = ""
    schemes: tuple[str, ...] = ()
    """Of a source: the address schemes that it opens, such as "rtsp" or "alsa"; "device" is a camera of this machine."""
    suffixes: tuple[str, ...] = ()
    """Of a source: the suffixes of files that it opens, such as ".mp4"; "/" is a folder, "" any file that no other source opens."""


Components = Iterable[Component]


@dataclass(frozen=True)
class SettingsTable:
    """A plugin's own table of the settings: `[openai]` in the file, `--set openai.model=...`. Factories get it by `context.table(type)`."""

    name: str
    type: type[msgspec.Struct]
    """A frozen msgspec Struct with `forbid_unknown_fields`, every key with its default. What ends in `_key` is never shown."""


class HookSpecs:
    """One method a hook. The docstring names the protocol that the factory's objects keep."""

    @hookspec
    def register_sources(self) -> Components:
        """Where frames and sound come from, by address scheme or file suffix: `see.sources.base.Source`."""
        return ()

    @hookspec
    def register_runtimes(self) -> Components:
        """What executes a model: `infer.runtime.Runtime`."""
        return ()

    @hookspec
    def register_converters(self) -> Components:
        """What turns fetched weights into the ONNX that a card names: `infer.fetch.Converter`."""
        return ()

    @hookspec
    def register_decoders(self) -> Components:
        """What a model's arrays mean: one of the roles of `infer.roles`."""
        return ()

    @hookspec
    def register_chats(self) -> Components:
        """Language models: `infer.chat.Chat`, or None from a factory whose model is not configured."""
        return ()

    @hookspec
    def register_ears(self) -> Components:
        """What turns sound into utterances with times and speakers: `hear.listen.SpeechRecogniser`."""
        return ()

    @hookspec
    def register_gates(self) -> Components:
        """Keep or drop (with a reason) a frame, cheap and before any model: `see.gate.Gate`."""
        return ()

    @hookspec
    def register_selectors(self) -> Components:
        """Which frames become moments, and which of these stay: `see.select.Selector`."""
        return ()

    @hookspec
    def register_perceivers(self) -> Components:
        """What looks at a kept moment (observations, vectors, parts): `see.perceive.Perceiver`."""
        return ()

    @hookspec
    def register_segmenters(self) -> Components:
        """Where segments begin and end, on which level: `see.segment.Segmenter`."""
        return ()

    @hookspec
    def register_writers(self) -> Components:
        """What is written when a segment closes, a moment is evicted, every n segments, at the end, when idle: `see.operations.Writer`."""
        return ()

    @hookspec
    def register_retainers(self) -> Components:
        """What fades with age or under pressure: `remember.tiers.Retainer`."""
        return ()

    @hookspec
    def register_retrievers(self) -> Components:
        """Named channels from a query and an as-of view to hits: `answer.retrieve.Retriever`."""
        return ()

    @hookspec
    def register_tools(self) -> Components:
        """What a planner may call: `answer.tools.Tool`."""
        return ()

    @hookspec
    def register_planners(self) -> Components:
        """One step of reasoning: `answer.planner.Planner`."""
        return ()

    @hookspec
    def register_checks(self) -> Components:
        """What is verified before an action, after a tool and before the answer: `answer.check.Check`."""
        return ()

    @hookspec
    def register_settings(self) -> Iterable[SettingsTable]:
        """Tables of the settings that belong to this plugin."""
        return ()

    @hookspec
    def register_tasks(self) -> Iterable[str]:
        """What the plugin asks language models for (`Prompt.task`), such as "planner": settings may name a model for each."""
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
        """Observe a segment that was stored. Guarded, never in the frame's path."""

    @hookspec
    def question_answered(self, question: Question, answer: Answer) -> None:
        """Observe an answer. Guarded."""
