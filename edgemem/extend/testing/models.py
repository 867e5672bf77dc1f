"""Conformance checks for converters, decoders and language models."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from edgemem.errors import ChatError, EngineError
from edgemem.infer.chat import ChatMessage, Completion, Prompt

ROLES = (
    "embed_text", "classify", "detect", "detect_faces", "embed_face", "read", "look", "speech", "transcribe", "embed_voice", "complete",
)  # fmt: skip
"""The methods of decoder objects; see `infer.roles`."""
_WITH = {"look": ("space", "local", "crop_space", "glance", "embed_images", "crops", "embed_text"), "embed_text": ("space",)}
"""What else belongs to the role of a method."""


def check_converter(make: Callable[[], Any], who: str) -> None:
    """A converter refuses unknown members, and then leaves no file."""
    with tempfile.TemporaryDirectory() as folder:
        member, out = Path(folder) / "member", Path(folder) / "out.onnx"
        member.write_bytes(b"nothing that could be converted")
        try:
            make().convert({"nothing": member}, out)
        except EngineError:
            assert not out.exists(), f"{who}: left a file behind when it failed"
            return
    raise AssertionError(f"{who}: converted nonsense; raise EngineError")


def check_decoder(make: Callable[[], Any], who: str) -> None:
    """A decoder's object has a role of `infer.roles`, and everything that belongs to it."""
    decoder = make()
    played = [role for role in ROLES if callable(getattr(decoder, role, None))]
    assert played, f"{who}: has none of the roles of infer.roles ({', '.join(ROLES)})"
    needed = [name for role in played for name in _WITH.get(role, ())]
    needed += ["embed_query"] if "embed_text" in played and "look" not in played else []
    lacks = [name for name in dict.fromkeys(needed) if not hasattr(decoder, name)]
    assert not lacks, f"{who}: its role needs {', '.join(lacks)} (see infer.roles)"


def check_chat(make: Callable[[], Any], who: str) -> None:
    """A language model has a name, states whether it accepts pictures, and returns a completion or raises ChatError."""
    chat = make()
    assert chat.name.strip(), f"{who}: needs a name"
    assert isinstance(chat.vision, bool), f"{who}: vision must be True or False"
    try:
        completion = chat.complete(Prompt(task="check", messages=(ChatMessage(role="user", text="Say yes."),), max_tokens=8))
    except ChatError:
        return
    assert isinstance(completion, Completion), f"{who}: complete() must return a Completion"
