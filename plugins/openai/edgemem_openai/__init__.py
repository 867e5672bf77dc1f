"""Models of any OpenAI-compatible server: the chat `openai` with its settings table, and the runtime `openai` for embeddings."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from edgemem.errors import UsageError, nearest
from edgemem.extend import Component, SettingsTable, hookimpl
from edgemem.extend.hookspecs import Components
from edgemem_openai.embedding_settings import EmbeddingSettings, HostedSettings
from edgemem_openai.settings import OpenAISettings, with_environment

if TYPE_CHECKING:
    import click


def _chat(_settings: Any, context: Any) -> Any:
    settings = with_environment(context.table(OpenAISettings), os.environ)
    if not settings.configured:
        return None
    for task in settings.roles:
        if task not in context.tasks:
            raise UsageError(f'settings: openai.roles: no plugin has a task "{task}" for a language model{nearest(task, context.tasks)}')
    from edgemem_openai.chat import OpenAIChat

    return OpenAIChat(settings, context.home)


@hookimpl
def register_chats() -> Components:
    """The chat `openai`."""
    return (Component("openai", _chat, summary="any OpenAI-compatible server (set openai.base_url)"),)


def _embed_hosted(settings: HostedSettings, parts: Any) -> Any:
    from edgemem_openai.embedding_decoder import hosted_embedder

    return hosted_embedder(settings, parts)


def _runtime(settings: EmbeddingSettings, context: Any) -> Any:
    from edgemem_openai.embedding_runtime import EmbeddingRuntime

    return EmbeddingRuntime(settings, context)


@hookimpl
def register_runtimes() -> Components:
    """The runtime `openai`."""
    return (Component("openai", _runtime, EmbeddingSettings, "embedding models behind any OpenAI-compatible server"),)


@hookimpl
def register_decoders() -> Components:
    """The decoder `embed_hosted`."""
    return (Component("embed_hosted", _embed_hosted, HostedSettings, "pictures and text in the space of an embedding model on a server"),)


@hookimpl
def register_settings() -> Iterable[SettingsTable]:
    """The table `openai`."""
    return (SettingsTable("openai", OpenAISettings),)


@hookimpl
def register_commands() -> Iterable[click.Command]:
    """`edgemem spent`."""
    from edgemem_openai.command import spent

    return (spent,)
