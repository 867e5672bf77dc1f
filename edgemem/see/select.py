"""Selectors decide which of the frames that passed the gates become moments."""

from __future__ import annotations

from typing import Protocol

from edgemem.records import Frame, Image, Record, Vector


class Candidate(Record, frozen=True):
    """A frame that passed the gates, with its whole-picture vector (unit length; empty without a joint embedder)."""

    frame: Frame
    vector: Vector
    sharpness: float
    small: Image
    """The 320 px copy."""


class Kept(Record, frozen=True):
    """A candidate that becomes a moment. `role` tells what it is to the selector, such as "endpoint"."""

    candidate: Candidate
    role: str = ""


class Selector(Protocol):
    """Hook `register_selectors`. What is kept may not depend on how the stream is cut into calls, nor on a restart in between."""

    name: str

    def observe(self, candidate: Candidate) -> list[Kept]:
        """The moments that this frame settles, in time order: none, earlier ones, itself."""
        ...

    def flush(self) -> list[Kept]:
        """The stream ended: what was still held back."""
        ...

    def state(self) -> bytes:
        """Everything needed to go on after a restart."""
        ...

    def restore(self, state: bytes) -> None:
        """Go on from `state`. Raises ValueError or msgspec.DecodeError when it is not one."""
        ...


class KeepAll:
    """Every frame that passed the gates becomes a moment."""

    name = "keep_all"

    def observe(self, candidate: Candidate) -> list[Kept]:
        return [Kept(candidate=candidate)]

    def flush(self) -> list[Kept]:
        return []

    def state(self) -> bytes:
        return b""

    def restore(self, state: bytes) -> None:
        """Remembers nothing."""
