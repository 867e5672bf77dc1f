"""The saved state of a speech recogniser: the voices that it can distinguish."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from edgemem.remember.names import VOICE


class VoicePrint(msgspec.Struct):
    """The data that recognises a voice again. It identifies a person, so it is deleted when its speaker is forgotten."""

    number: int
    seconds: float
    """Length of the speech behind its vector."""
    heard: int
    """Number of the last utterance in which it was heard, counted from the beginning."""
    vector: bytes
    """float16 [dim], unit length."""

    @property
    def name(self) -> str:
        """Name of its entity (kind "voice")."""
        return f"{VOICE} {self.number}"


class VoicesState(msgspec.Struct):
    """`SpeechRecogniser.state`, in MessagePack. `last` is the highest number ever used: no number is used twice."""

    space: str
    """Vector space of the voices: vectors of two embedders cannot be compared. "" = no voice is known yet."""
    count: int
    last: int
    voices: list[VoicePrint]


def without_voices(state: bytes, names: Collection[str]) -> bytes:
    """The state of a recogniser without these speakers; empty for a state that cannot be decoded."""
    try:
        found = msgspec.msgpack.decode(state, type=VoicesState)
    except msgspec.MsgspecError:
        return b""
    found.voices = [voice for voice in found.voices if voice.name not in names]
    return msgspec.msgpack.encode(found)


def numbered_after(state: bytes, last: int) -> bytes:
    """The state of a recogniser that gives no number up to `last` to a new voice: the memory may have voices of an import, or of a
    recogniser whose state was lost. A state that cannot be decoded is returned as it is.
    """
    if not last:
        return state
    try:
        found = msgspec.msgpack.decode(state, type=VoicesState) if state else VoicesState("", 0, last, [])
    except msgspec.MsgspecError:
        return state
    found.last = max(found.last, last)
    return msgspec.msgpack.encode(found)
