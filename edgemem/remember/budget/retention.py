"""The queries of retention: which moments may fade, in which order, and the value of each."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edgemem.records import Tier
from edgemem.remember.budget.value import Values, values_of
from edgemem.remember.disk.error_translation import translated_errors
from edgemem.remember.entries import Retainable


class RetentionReading:
    """Base of `Store`, which sets these attributes."""

    directory: Path
    _connection: sqlite3.Connection

    def newest_us(self) -> int | None:
        """Time of the newest moment; None if there is none."""
        with translated_errors(self.directory):
            newest: int | None = self._connection.execute("SELECT max(t_us) FROM moment").fetchone()[0]
        return newest

    def stream_ends(self) -> frozenset[int]:
        """Ids of the first and the latest moment of each stream."""
        edge = "(SELECT m.id FROM moment m WHERE m.stream_id = s.id ORDER BY m.t_us {0}, m.id {0} LIMIT 1)"
        with translated_errors(self.directory):
            found = self._connection.execute(f"SELECT {edge.format('ASC')}, {edge.format('DESC')} FROM stream s").fetchall()  # noqa: S608
        return frozenset(moment_id for pair in found for moment_id in pair if moment_id is not None)

    def retainable(
        self, *, tiers: Sequence[Tier] | None = None, from_us: int, to_us: int, limit: int = -1, unprotected: bool = False
    ) -> list[Retainable]:
        """Moments of these tiers (default: all) in an inclusive time range, in time order. `unprotected`: only unprotected ones."""
        index = "INDEXED BY " + ("moment_time" if tiers is None else "moment_tier")
        of_tier = "" if tiers is None else f" AND m.tier IN ({','.join('?' * len(tiers))})"
        if unprotected:
            of_tier += f" AND NOT (m.protected OR m.pinned) AND m.id NOT IN ({','.join(map(str, self.stream_ends()))})"
        with translated_errors(self.directory):
            found = self._connection.execute(
                "SELECT m.id, m.stream_id, m.t_us, m.tier, m.protected, m.pinned, ifnull(b.generation, 0)"  # noqa: S608
                f" FROM moment m {index} LEFT JOIN blob b ON b.id = m.blob_id"
                f" WHERE m.t_us BETWEEN ? AND ?{of_tier} ORDER BY m.t_us, m.id LIMIT ?",
                (from_us, to_us, *(tiers or ()), limit),
            )
            return [_retainable(row) for row in found]

    def arrivals(self, after_id: int, upto_id: int, limit: int, which: str = "1") -> list[Retainable]:
        """Moments after `after_id` in the order of arrival. `which` is an SQL condition on `m`."""
        with translated_errors(self.directory):
            found = self._connection.execute(
                "SELECT m.id, m.stream_id, m.t_us, m.tier, m.protected, m.pinned, ifnull(b.generation, 0)"  # noqa: S608
                f" FROM moment m LEFT JOIN blob b ON b.id = m.blob_id WHERE m.id > ? AND m.id <= ? AND {which} ORDER BY m.id LIMIT ?",
                (after_id, upto_id, limit),
            ).fetchall()
        return [_retainable(row) for row in found]

    def values_of(self, moment_ids: Sequence[int]) -> Values:
        """The value of each of these moments, which are neighbours in time order."""
        with translated_errors(self.directory):
            return values_of(self._connection, moment_ids)

    def picture(self, moment_id: int) -> bytes | None:
        """The JPEG of a moment; None if it has none."""
        with translated_errors(self.directory):
            found = self._connection.execute(
                "SELECT b.data FROM moment m JOIN blob b ON b.id = m.blob_id WHERE m.id = ?",
                (moment_id,),
            ).fetchone()
        return found[0] if found else None


def _retainable(row: tuple[Any, ...]) -> Retainable:
    return Retainable(id=row[0], stream_id=row[1], t_us=row[2], tier=row[3], protected=row[4] == 1, pinned=row[5] == 1, generation=row[6])
