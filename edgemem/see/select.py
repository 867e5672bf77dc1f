"""Selectors decide which of the frames that passed the gates become moments, and which of these stay."""

from __future__ import annotations

from typing import Protocol

from edgemem.records import Frame, Image, Record, Vector


class Candidate(Record, frozen=True):
    """A frame that passed the gates, with its whole-picture vector (unit length; empty if no perceiver has one)."""

    frame: Frame
    vector: Vector
    sharpness: float
    """Variance of the Laplacian at full size."""
    small: Image
    """The 320 px copy."""
    after_us: int = -1
    """Offset of the previous frame in the stream, -1 for the first. A recording that continues from there yields this frame first."""


class Keep(Record, frozen=True):
    """The candidate becomes a moment.

    `role` says what the moment is for the selector, such as "endpoint". `slot` is a name that the selector chooses; later decisions about
    the moment use it. "" = there will be none.
    """

    candidate: Candidate
    role: str = ""
    slot: str = ""


class Replace(Record, frozen=True):
    """The candidate becomes a moment in this slot; the previous moment of the slot is evicted."""

    slot: str
    candidate: Candidate
    role: str = ""


class Evict(Record, frozen=True):
    """The moment in this slot is deleted, after the writers with the trigger "moment_evicted" were called. A moment that a user pinned
    stays.
    """

    slot: str


class Pin(Record, frozen=True):
    """The moment in this slot is kept at any age."""

    slot: str


class Unpin(Record, frozen=True):
    """The moment in this slot fades with age again, like others."""

    slot: str


Decision = Keep | Replace | Evict | Pin | Unpin


class Selector(Protocol):
    """Hook `register_selectors`. `BaseSelector` has what most selectors have in common.

    Decisions must not depend on how the stream is divided into calls, nor on a restart in between. The core maps slots to moments and saves
    this map with the state of the run.
    """

    name: str

    @property
    def held(self) -> tuple[Candidate, ...]:
        """The candidates on which the selector has not decided yet, in time order. `state` contains no pictures of them.

        After a restart these frames are read from the recording again and passed to `give_back`. A live camera cannot show them again:
        after a crash they are lost; at a clean stop, `flush` decides on them.
        """
        ...

    def observe(self, candidate: Candidate) -> list[Decision]:
        """The decisions that this candidate leads to. Candidates must be kept in time order."""
        ...

    def flush(self) -> list[Decision]:
        """The stream ended: the decisions on the candidates that are held."""
        ...

    def state(self) -> bytes:
        """Everything needed to continue after a restart, without full pictures, because it is saved with every commit."""
        ...

    def restore(self, state: bytes) -> None:
        """Continue from `state`. Raises ValueError or msgspec.DecodeError when it is not one."""
        ...

    def give_back(self, candidate: Candidate) -> None:
        """After `restore`: a candidate that was `held` when the state was saved."""
        ...


class BaseSelector:
    """Holds no candidates and has no state. Selectors override what is different."""

    @property
    def held(self) -> tuple[Candidate, ...]:
        """None."""
        return ()

    def flush(self) -> list[Decision]:
        """Nothing is left to decide."""
        return []

    def state(self) -> bytes:
        """Empty."""
        return b""

    def restore(self, state: bytes) -> None:
        """Nothing to restore."""

    def give_back(self, candidate: Candidate) -> None:
        """Never called: nothing is held."""


class KeepAll(BaseSelector):
    """Every frame that passed the gates becomes a moment."""

    name = "keep_all"

    def observe(self, candidate: Candidate) -> list[Decision]:
        return [Keep(candidate=candidate)]
