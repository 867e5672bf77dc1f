"""One store for several threads: each stream of the agent has its own, and the sessions of its questions come from another."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from edgemem.remember.store import SpaceLike, Store, Transaction
from edgemem.remember.tiers import Faded, Retainer


class SharedStore(Store):
    """A store that threads use in turns. A transaction, a piece of upkeep and a retainer's step are each one turn, whole."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.turn = threading.RLock()
        """Held by the thread whose turn it is."""
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


class InTurn:
    """A retainer whose step no other thread interrupts: what it found is still there when it acts on it."""

    def __init__(self, retainer: Retainer) -> None:
        self.name = retainer.name
        self._retainer = retainer

    def apply(self, store: Store, now_us: int | None = None) -> Faded:
        """One step of the retainer."""
        assert isinstance(store, SharedStore)
        with store.turn:
            return self._retainer.apply(store, now_us)
