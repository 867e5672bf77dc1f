"""One store for several threads: each stream of the agent has its own, and the sessions of its questions come from another."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from edgemem.errors import EdgememError
from edgemem.remember.entries import Job
from edgemem.remember.store import SpaceLike, Store, Transaction
from edgemem.remember.tiers import Retainer, RetentionStep

_LENT_S = 60.0
"""A command that saw the memory free meanwhile may hold it so long."""


class SharedStore(Store):
    """A store that threads use in turns. A transaction, a piece of upkeep and a retainer's step are each one turn, whole."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.turn = threading.RLock()
        """Held by the thread whose turn it is."""
        self.lost: EdgememError | None = None
        """Why it could not be opened again after it was lent."""
        super().__init__(*args, **kwargs)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self.turn, super().transaction() as tx:
            yield tx

    @contextmanager
    def unbounded(self) -> Iterator[Transaction]:
        with self.turn, super().unbounded() as tx:
            yield tx

    def ensure_space(self, space: SpaceLike, *args: Any, **kwargs: Any) -> None:
        with self.turn:
            super().ensure_space(space, *args, **kwargs)

    def lease_job(self, writers: Sequence[str], now_us: int, lease_s: float) -> Job | None:
        with self.turn:
            return super().lease_job(writers, now_us, lease_s)

    def ensure_stream(self, name: str, t0_us: int) -> None:
        with self.turn:
            super().ensure_stream(name, t0_us)

    def state(self, key: str) -> bytes | None:
        with self.turn:
            return super().state(key)

    def maintain(self, *, vacuum_steps: int = 1) -> bool:
        with self.turn:
            return super().maintain(vacuum_steps=vacuum_steps)

    def close(self) -> None:
        with self.turn:
            super().close()

    @contextmanager
    def lent(self, durability: Literal["normal", "full"]) -> Iterator[None]:
        """Closed and unlocked for what must have the memory to itself, then open again; every other thread waits for its turn.

        Raises EdgememError when it cannot be opened again: then it stays closed.
        """
        with self.turn:
            super().close()
            try:
                yield
            finally:
                self._open_again(durability)

    def _open_again(self, durability: Literal["normal", "full"]) -> None:
        """The same object goes on with what another one opened: streams and sessions hold it."""
        try:
            opened = Store.open(self.directory, create=False, budget_bytes=self.budget_bytes, durability=durability, patience_s=_LENT_S)
        except EdgememError as error:
            self.lost = error
            raise
        for space in opened._spaces.values():  # noqa: SLF001 - of our own base
            space.close()
        super().__init__(opened.directory, opened._connection, opened._lock, opened.budget_bytes)  # noqa: SLF001


class LockedRetainer:
    """A retainer whose step no other thread interrupts: what it found is still there when it acts on it."""

    def __init__(self, retainer: Retainer) -> None:
        self.name = retainer.name
        self._retainer = retainer

    def apply(self, store: Store, now_us: int | None = None) -> RetentionStep:
        """One step of the retainer."""
        assert isinstance(store, SharedStore)
        with store.turn:
            return self._retainer.apply(store, now_us)
