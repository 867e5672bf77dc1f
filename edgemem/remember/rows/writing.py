"""The base of a transaction: the writer's connection, ids of names, and ids of rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from edgemem.remember.disk.page_budget import PageBudget


class Writing:
    """Base of `Transaction`."""

    def __init__(self, connection: sqlite3.Connection, known: Mapping[tuple[object, ...], int], allowance: PageBudget) -> None:
        self.connection = connection
        """The writer's connection, within its open transaction; only for this package."""
        self._known = known
        self._allowance = allowance
        self.added_names: dict[tuple[object, ...], int] = {}
        """Ids of names that were used; valid for later transactions only if this one commits."""
        self.dropped_names: set[tuple[object, ...]] = set()
        """Names that were deleted; valid under the same condition."""

    def _stream(self, name: str, t0_us: int) -> int:
        return self._interned("stream", "name = ?", "name, t0_us", (name, t0_us))

    def _term(self, kind: str, name: str) -> int:
        return self._interned("term", "kind = ? AND name = ?", "kind, name", (kind, name))

    def _interned(self, table: str, key: str, columns: str, values: tuple[object, ...]) -> int:
        """Id of a name, which is created if new. Names of earlier transactions are cached."""
        cached = (table, *values[: 1 + key.count("AND")])
        found = self.added_names.get(cached) or (None if cached in self.dropped_names else self._known.get(cached))
        if found is None:
            row = self.connection.execute(f"SELECT id FROM {table} WHERE {key}", values[: len(cached) - 1]).fetchone()  # noqa: S608
            marks = ", ".join("?" * len(values))
            found = row[0] if row else self._insert(f"INSERT INTO {table} ({columns}) VALUES ({marks})", values)  # noqa: S608
            self.added_names[cached] = found
        return found

    def _drop_name(self, cached: tuple[object, ...]) -> None:
        self.added_names.pop(cached, None)
        self.dropped_names.add(cached)

    def _insert(self, sql: str, values: Sequence[object]) -> int:
        cursor = self.connection.execute(sql, values)
        returned = cursor.fetchone() if "RETURNING" in sql else None
        rowid = returned[0] if returned else cursor.lastrowid
        assert isinstance(rowid, int)
        return rowid
