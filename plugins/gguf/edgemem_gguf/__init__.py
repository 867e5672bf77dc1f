"""A language model on the board itself: the chat `gguf`, its settings table, and the decoder of its engine cards."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from edgemem.errors import ChatError, UsageError, nearest
from edgemem.extend import Component, SettingsTable, hookimpl
from edgemem.extend.hookspecs import Components


class GgufSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing runs unless `model` is set, because a language model needs most of a small board."""

    model: str = ""
    """Name of an engine card, such as "smollm2-135m", or the path of a .gguf file."""
    context_tokens: int = 8192
    """Size of the context for prompt and reply. Its memory is allocated when the model is loaded."""
    threads: int = 0
    """0 = the number of threads of engines."""
    call_s: float = 120.0
    """Longest time for one reply."""

    def __post_init__(self) -> None:
        if self.context_tokens < 256 or self.call_s <= 0 or self.threads < 0:
            raise ValueError("context_tokens must be at least 256, call_s above 0, threads not negative")


def _model_file(settings: GgufSettings, context: Any) -> Path:
    """The file of `gguf.model`. Raises UsageError for a name that no card has, ChatError for a card that is not fetched."""
    from edgemem.infer.fetch import installed

    if settings.model.endswith(".gguf"):
        return Path(settings.model).expanduser()
    cards = {card.name: card for card in context.engines.cards.values() if card.decoder == "gguf"} if context.engines else {}
    if settings.model not in cards:
        raise UsageError(
            f'gguf.model: no engine card is called "{settings.model}"{nearest(settings.model, cards)}, and it is no .gguf file'
        )
    files = installed(cards[settings.model], context.home)
    if files is None:
        raise ChatError(f"{settings.model} is not fetched; run: edgemem engines fetch {settings.model}")
    return files["model"]


def _chat(_settings: Any, context: Any) -> Any:
    settings = context.table(GgufSettings)
    if not settings.model:
        return None
    from edgemem_gguf.chat import GgufChat

    threads = settings.threads or (context.engines.threads if context.engines else 1)
    return GgufChat(lambda: _model_file(settings, context), settings.context_tokens, threads, settings.call_s)


def _decoder(settings: GgufSettings, parts: Any) -> Any:
    from edgemem_gguf.chat import GgufChat

    return GgufChat(lambda: parts.files["model"], settings.context_tokens, settings.threads or 1, settings.call_s)


@hookimpl
def register_chats() -> Components:
    """The chat `gguf`."""
    return (Component("gguf", _chat, summary="a GGUF model on this board (set gguf.model)"),)


@hookimpl
def register_decoders() -> Components:
    """The decoder of engine cards with the role `chat`."""
    return (Component("gguf", _decoder, GgufSettings, "a language model by llama.cpp"),)


@hookimpl
def register_settings() -> Iterable[SettingsTable]:
    """The table `gguf`."""
    return (SettingsTable("gguf", GgufSettings),)
