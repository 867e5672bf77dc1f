"""Transports: how what waits in an outbox leaves the device, over connections that break."""

from __future__ import annotations

from typing import Protocol

from edgemem.records import Record


class OutboxBatch(Record, frozen=True):
    """Entries that leave together. The batches of one outbox are sent in the order in which they were made."""

    id: str
    """Never used again for other entries."""
    made_us: int
    entries: tuple[bytes, ...]


class Delivery(Record, frozen=True):
    """What became of a batch."""

    batch_id: str
    delivered: bool
    """The other side has stored it: the outbox may drop it. Else it is sent again later."""
    repeated: bool = False
    """The other side had it already; it was not stored a second time."""
    why: str = ""
    """Where it was not delivered: one line for a person."""


class Transport(Protocol):
    """Hook `register_transports`. Used by one thread at a time."""

    def send(self, batch: OutboxBatch) -> Delivery:
        """Send a batch. Idempotent by its id: sent again, the other side has it once. A failed connection is a delivery with a `why`."""
        ...

    def resume(self) -> str:
        """The id of the newest batch that the other side has, "" for none: after a restart the outbox goes on with the one after it."""
        ...

    def close(self) -> None:
        """Free the connection. Calling it twice does nothing."""
        ...
