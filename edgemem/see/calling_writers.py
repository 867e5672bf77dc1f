"""Calls writers and carries out the operations that they return. Slow writers (`slow`) run in a separate thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from edgemem.isolation import FaultIsolation
from edgemem.see.carry_out import steps
from edgemem.see.operations import Occasion, Operation, Writer

if TYPE_CHECKING:
    from edgemem.infer.roles import TextEmbedder
    from edgemem.remember.store import Transaction

_SLOW_WAITING = 8
"""How many calls may wait for slow writers."""


class Written(NamedTuple):
    """The result of one call of a writer."""

    operations: list[Operation]
    state: bytes
    """State of the writer after the call. It is saved in the same transaction as what the call wrote."""


class _Pending(NamedTuple):
    """A call of a slow writer."""

    key: str
    writer: Writer
    occasion: Occasion
    future: Future[Written]


class WriterCalls:
    """All writers of one run. Each has a key that is unique in the run."""

    def __init__(self, isolation: FaultIsolation, embedder: TextEmbedder | None) -> None:
        self._isolation, self._embedder = isolation, embedder
        self._second = ThreadPoolExecutor(1, "edgemem-writer")
        self._pending: deque[_Pending] = deque()
        self.states: dict[str, bytes] = {}
        """States of the writers that have one, by key: after the last call that was carried out."""
        self.documents = 0

    def restore(self, key: str, writer: Writer, state: bytes) -> None:
        """Give a writer its saved state, before the first call."""
        if state:
            self._isolation.attempt(f"writer {writer.name} starts without its saved state", None, writer.restore, state)
            self.states[key] = state

    def call(self, tx: Transaction, key: str, writer: Writer, occasion: Occasion) -> None:
        """Call the writer and carry out its operations. Those of a slow writer are carried out by a later `take_slow`."""
        if writer.slow:
            self._pending.append(_Pending(key, writer, occasion, self._second.submit(_written, writer, occasion)))
            return
        written = self._isolation.attempt(f"writer {writer.name}", None, _written, writer, occasion)
        if written is not None:
            self._carry_out(tx, key, writer, occasion, written)

    @property
    def ready(self) -> bool:
        """Whether a slow writer has finished and its operations are not carried out yet."""
        return bool(self._pending) and self._pending[0].future.done()

    def take_slow(self, tx: Transaction) -> bool:
        """Carry out the operations of one slow writer that has finished; False if none has."""
        if not self.ready:
            return False
        key, writer, occasion, future = self._pending.popleft()
        written = self._isolation.attempt(f"writer {writer.name}", None, future.result)
        if written is not None:
            self._carry_out(tx, key, writer, occasion, written)
        return True

    def limit_backlog(self, *, live: bool) -> None:
        """Call it outside a transaction. A recording waits for slow writers that are behind; a live stream skips their newest calls."""
        behind = len(self._pending) - _SLOW_WAITING
        if not live:
            for pending in list(self._pending)[: max(0, behind)]:
                pending.future.exception()
            return
        for _ in range(behind):
            pending = self._pending.pop()
            pending.future.cancel()
            self._isolation.note(f"writer {pending.writer.name} is slower than the stream: one call of it was skipped")

    def finish(self) -> bool:
        """Call it outside a transaction. Wait until every slow writer has finished. True if there is something to carry out."""
        for pending in self._pending:
            pending.future.exception()
        return bool(self._pending)

    def close(self) -> None:
        """End the thread of slow writers."""
        self._second.shutdown(wait=False, cancel_futures=True)

    def _carry_out(self, tx: Transaction, key: str, writer: Writer, occasion: Occasion, written: Written) -> None:
        """If one step fails, the later steps of the same call are skipped: they may depend on it."""
        self._isolation.attempt(f"writer {writer.name}", None, self._steps, tx, writer.name, occasion, written.operations)
        if written.state:
            self.states[key] = written.state

    def _steps(self, tx: Transaction, name: str, occasion: Occasion, operations: Sequence[Operation]) -> None:
        for step in steps(name, occasion, operations, self._embedder):
            self.documents += step(tx)


def _written(writer: Writer, occasion: Occasion) -> Written:
    """Collect all operations first, so that a writer that fails half-way writes nothing."""
    return Written(list(writer.write(occasion)), writer.state())
