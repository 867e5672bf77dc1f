"""Bytes of the pictures of each tier. The sums are updated with every change, so that the moments need not be counted.

Equal pictures are stored and counted once: under the tier of the latest arrival that has them, and under "pinned" while any moment that has
them is pinned. So the sums show how much a stage of eviction can free.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

PINNED = "pinned"
KEY = "ledger/2"
_LATEST = "(SELECT max(id) FROM moment WHERE blob_id = b.id)"
"""The index on `blob_id` ends with the id: one seek, even if many moments have the picture."""


class Charge(NamedTuple):
    """How one stored picture is counted."""

    tier: str
    size_bytes: int
    pinned: bool


class Ledger:
    """The sums within one transaction; valid for later ones only if it commits."""

    def __init__(self, connection: sqlite3.Connection, sums: Mapping[str, int]) -> None:
        self._connection = connection
        self._before = dict(sums)
        self.sums: Counter[str] = Counter(sums)

    @contextmanager
    def changing(self, *blob_ids: int | None, pinned: bool = False) -> Iterator[None]:
        """Use it around a change: a moment gets or loses these pictures, or its tier or pin changes.

        `pinned`: whether the moment is or will be pinned. If not, the sum of pinned pictures does not change and is not computed.
        """
        before = [self._charge(blob_id, pinned) for blob_id in blob_ids]
        yield
        for blob_id, old in zip(blob_ids, before, strict=True):
            self._count(old, -1)
            self._count(self._charge(blob_id, pinned), 1)

    def add(self, tier: str, size_bytes: int) -> None:
        """Add a picture that no moment had before."""
        self._count(Charge(tier, size_bytes, pinned=False), 1)

    def _charge(self, blob_id: int | None, pins: bool) -> Charge | None:
        """How to count a picture; None if no moment has it."""
        if blob_id is None:
            return None
        found = self._connection.execute(
            "SELECT m.tier, length(b.data), :pins AND EXISTS (SELECT 1 FROM moment WHERE blob_id = b.id AND pinned)"  # noqa: S608
            f" FROM blob b JOIN moment m ON m.id = {_LATEST} WHERE b.id = :id",
            {"id": blob_id, "pins": pins},
        ).fetchone()
        return Charge(found[0], found[1], found[2] == 1) if found else None

    def _count(self, charge: Charge | None, sign: int) -> None:
        if charge is not None:
            self.sums[charge.tier] += sign * charge.size_bytes
            if charge.pinned:
                self.sums[PINNED] += sign * charge.size_bytes

    def encoded(self) -> tuple[str, bytes] | None:
        """The state to save; None if nothing has changed."""
        return None if self.sums == self._before else (KEY, msgspec.msgpack.encode(dict(self.sums)))


def load(connection: sqlite3.Connection) -> dict[str, int]:
    """The sums after the last transaction. If a memory has none yet, they are counted once."""
    kept = connection.execute("SELECT value FROM state WHERE key = ?", (KEY,)).fetchone()
    return msgspec.msgpack.decode(kept[0], type=dict[str, int]) if kept else count(connection)


def count(connection: sqlite3.Connection) -> dict[str, int]:
    """Count the sums from the pictures themselves."""
    sums: dict[str, int] = dict(
        connection.execute(f"SELECT m.tier, sum(length(b.data)) FROM blob b JOIN moment m ON m.id = {_LATEST} GROUP BY m.tier")  # noqa: S608
    )
    pinned = "SELECT ifnull(sum(length(data)), 0) FROM blob WHERE id IN (SELECT blob_id FROM moment WHERE pinned)"
    return {**sums, PINNED: connection.execute(pinned).fetchone()[0]}
