"""One store for several threads: each stream of the agent has a thread, and the sessions of questions come from another one."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from edgemem.errors import EdgememError
from edgemem.remember.entries import Job
from edgemem.remember.store import SpaceLike, Store, Transaction
from edgemem.remember.tiers import Retainer, RetentionStep

_REOPEN_S = 60.0
"""How long to wait for the lock: a command that found the memory unlocked may hold it."""


class SharedStore(Store):
    """A store that threads use one after the other. A transaction, a step of maintenance and a step of a retainer are never interrupted."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.turn = threading.RLock()
        """Held by the thread whose turn it is."""
        self.lost: EdgememError | None = None
        """The error if it could not be opened again after a release."""
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
    def released(self, durability: Literal["normal", "full"]) -> Iterator[None]:
        """Within the block the store is closed and unlocked, for exclusive use of the memory; then it is opened again. All other threads
        wait.

        Raises EdgememError if it cannot be opened again: then it stays closed.
        """
        with self.turn:
            super().close()
            try:
                yield
            finally:
                self._open_again(durability)

    def _open_again(self, durability: Literal["normal", "full"]) -> None:
        """Open a new store and copy its attributes to this object, because streams and sessions refer to this object."""
        try:
            opened = Store.open(self.directory, create=False, budget_bytes=self.budget_bytes, durability=durability, patience_s=_REOPEN_S)
        except EdgememError as error:
            self.lost = error
            raise
        for space in opened._spaces.values():  # noqa: SLF001 - of our own base
            space.close()
        super().__init__(opened.directory, opened._connection, opened._lock, opened.budget_bytes)  # noqa: SLF001


class LockedRetainer:
    """A retainer whose steps are not interrupted by other threads, so that what it found still exists when it changes it."""

    def __init__(self, retainer: Retainer) -> None:
        self.name = retainer.name
        self._retainer = retainer

    def apply(self, store: Store, now_us: int | None = None) -> RetentionStep:
        """Do one step of the retainer."""
        assert isinstance(store, SharedStore)
        with store.turn:
            return self._retainer.apply(store, now_us)
