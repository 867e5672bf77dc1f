"""Prompts, and chats that point to a server."""

from __future__ import annotations

import pytest
from edgemem_openai.chat import OpenAIChat
from edgemem_openai.settings import OpenAISettings

from edgemem.config import convert
from edgemem.infer.chat import Message, Prompt


@pytest.fixture
def asking():
    """A prompt of one message, or with fields of its own."""

    def make(text="where is the mug?", **fields):
        return Prompt(**{"task": "planner", "messages": (Message(role="user", text=text),), "max_tokens": 50, **fields})

    return make


@pytest.fixture
def make_chat(tmp_path):
    """A chat with a home of its own, quick to try again."""
    chats = []

    def make(server=None, environment=(), home=tmp_path, **settings):
        table = {"backoff_s": 0.001, "model": "m", **({"base_url": server.base_url} if server else {}), **settings}
        chats.append(OpenAIChat(convert(table, OpenAISettings, "openai"), home, dict(environment)))
        return chats[-1]

    yield make
    for chat in chats:
        chat.close()
