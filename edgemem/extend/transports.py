"""Transports send the entries of an outbox from the device, over connections that may fail."""

from __future__ import annotations

from typing import Protocol

from edgemem.records import Record


class OutboxBatch(Record, frozen=True):
    """Entries that are sent together. The batches of one outbox are sent in the order in which they were made."""

    id: str
    """Unique; never used for other entries."""
    made_us: int
    entries: tuple[bytes, ...]


class Delivery(Record, frozen=True):
    """The result of sending a batch."""

    batch_id: str
    delivered: bool
    """Whether the other side has stored it, so that the outbox may delete it. Else it is sent again later."""
    repeated: bool = False
    """Whether the other side had it already; it was not stored a second time."""
    why: str = ""
    """If it was not delivered: the reason, in one line for a person."""


class Transport(Protocol):
    """Hook `register_transports`. Used by one thread at a time."""

    def send(self, batch: OutboxBatch) -> Delivery:
        """Send a batch. Idempotent by its id: if it is sent again, the other side has it only once. A failed connection is a delivery with
        a `why`.
        """
        ...

    def resume(self) -> str:
        """The id of the newest batch that the other side has, "" for none: after a restart the outbox continues with the next one."""
        ...

    def close(self) -> None:
        """Free the connection. Calling it twice does nothing."""
        ...
