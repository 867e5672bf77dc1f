"""The entity graph as one table for SQL that a language model wrote: read-only, bounded, and nothing later than the cut-off.

`entity_graph_table` has EGAgent's columns (create_db_entity_graph.py): one row per relation and interval, with the names of both ends. The
day is YYYY-MM-DD in UTC, where EGAgent writes DAY1; times are EGAgent's integers HHMMSScc. An interval that continues after midnight ends
at 23595999.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable
from typing import Any

from edgemem.errors import UsageError
from edgemem.records import Record
from edgemem.remember.disk.database import errors
from edgemem.remember.rows.ladder import LadderReading

TABLE = "entity_graph_table"
_CHECK_STEPS = 1000
_MOST_CHARS = 4000
_MOST_VALUE_BYTES = 1 << 20
_LENGTH = 0
"""SQLITE_LIMIT_LENGTH: a statement could concatenate text with itself until it uses all memory, in few steps."""
_MOST_JOINS = 8
"""Most `||` in a statement if that limit cannot be set (Python before 3.11); group_concat is then not allowed."""
_FUNCTION_NAMES = (
    "count sum avg min max total group_concat lower upper length substr substring instr like glob trim ltrim rtrim abs round coalesce"
    " ifnull nullif iif date time datetime strftime julianday row_number rank dense_rank lag lead first_value last_value"
)
_FUNCTIONS = frozenset(_FUNCTION_NAMES.split())
_DAY_US = 86_400_000_000


class Rows(Record, frozen=True):
    """The result of a statement."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | int | float | None, ...], ...]
    more: bool
    """Whether there are more rows than requested."""


def _time(column: str) -> str:
    """HHMMSScc of a time in microseconds, also before 1970."""
    of_day = f"((({column}) % {_DAY_US} + {_DAY_US}) % {_DAY_US} / 10000)"
    return f"({of_day} / 360000 * 1000000 + {of_day} / 6000 % 60 * 10000 + {of_day} % 6000)"


def _day(column: str) -> str:
    return f"date((({column}) - (({column}) % {_DAY_US} + {_DAY_US}) % {_DAY_US}) / 1000000, 'unixepoch')"


def _capital(kind: str) -> str:
    return f"upper(substr({kind}, 1, 1)) || substr({kind}, 2)"


def _shown(column: str, end: str) -> str:
    return f"ifnull((SELECT m.{column} FROM temp.graph_merged m WHERE m.id = {end}.id), {end}.{column})"  # noqa: S608


_SELECT = f"""
SELECT r.id, {_day("r.t0_us")} AS day, {_time("r.t0_us")} AS start_t,
    CASE WHEN {_day("r.t0_us")} = {_day("r.t1_us")} THEN {_time("r.t1_us")} ELSE 23595999 END AS end_t,
    (SELECT group_concat(v.quote, ' | ') FROM main.relation_evidence v WHERE v.relation_id = r.id) AS transcript,
    {_shown("name", "s")} AS source_id, {_capital(_shown("kind", "s"))} AS source_type,
    {_shown("name", "t")} AS target_id, {_capital(_shown("kind", "t"))} AS target_type, r.type AS rel_type
FROM main.relation r JOIN main.entity s ON s.id = r.source_id JOIN main.entity t ON t.id = r.target_id
WHERE r.known_us <= :as_of AND (r.until_us IS NULL OR r.until_us > :as_of) AND s.known_us <= :as_of AND t.known_us <= :as_of
"""  # noqa: S608 - our own names


class GraphTableReading(LadderReading):
    """The part of `View` that runs SQL statements."""

    _secret = ""
    """Name of the SQL view behind the table. SQLite reports to the authorizer the view through which a column is read, but a WITH clause
    may use any name that the author of the statement knows. So this name is different for every opened view."""
    _table_version = -1

    def select(self, sql: str, *, max_steps: int = 20_000_000, limit: int = 200) -> Rows:
        """Run one SELECT over `entity_graph_table` as it was known at the cut-off; nothing else can be read, and nothing written.

        `max_steps` limits the work (steps of SQLite's virtual machine: 20 million took 2.5 s on a busy laptop; reading 14,000 relations
        takes less than half a million). Raises UsageError with SQLite's message, so that the author can correct the statement.
        """
        if len(sql) > _MOST_CHARS:
            raise UsageError(f"the statement has {len(sql)} characters: write one with at most {_MOST_CHARS}")
        bound: Callable[[int, int], int] | None = getattr(self._connection, "setlimit", None)
        if bound is None and sql.count("||") > _MOST_JOINS:
            raise UsageError(f"the statement has {sql.count('||')} operators ||: write one with at most {_MOST_JOINS}")
        self._make_table()
        before = bound(_LENGTH, _MOST_VALUE_BYTES) if bound else 0
        budget = iter(range(max_steps // _CHECK_STEPS))
        self._connection.set_authorizer(self._allow)
        self._connection.set_progress_handler(lambda: next(budget, None) is None, _CHECK_STEPS)
        try:
            cursor = self._connection.execute(sql)
            if cursor.description is None:
                raise UsageError(f"only SELECT statements over {TABLE} are run")
            rows = cursor.fetchmany(limit + 1)
            columns = tuple(column[0] for column in cursor.description)
            cursor.close()
        except errors("Error", "Warning") + (ValueError,) as error:  # noqa: RUF005 - mypy knows this form
            raise UsageError(f"the statement over {TABLE} failed: {_said(error, max_steps)}") from None
        finally:
            self._connection.set_progress_handler(None, 0)
            self._connection.set_authorizer(_everything)
            if bound:
                bound(_LENGTH, before)
        return Rows(columns=columns, rows=tuple(rows[:limit]), more=len(rows) > limit)

    def _allow(self, action: int, first: str | None, second: str | None, _database: str | None, through: str | None) -> int:
        """Allow columns of the table, everything that the view behind it reads, and harmless functions."""
        inside = through == self._secret
        if action == sqlite3.SQLITE_SELECT:
            allowed = True
        elif action == sqlite3.SQLITE_READ:
            allowed = inside or first in (TABLE, self._secret)
        else:
            name = (second or "").lower()
            harmless = name in _FUNCTIONS and (name != "group_concat" or hasattr(self._connection, "setlimit"))
            allowed = action == sqlite3.SQLITE_FUNCTION and (inside or harmless)
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    def _make_table(self) -> None:
        """Create views of this connection only, with the cut-off in them; merged entities have the name of the one that represents them."""
        if not self._secret:
            self._secret = f"graph_{secrets.token_hex(8)}"
            known = _SELECT.replace(":as_of", str(self.as_of_us))
            self._connection.execute("CREATE TEMP TABLE graph_merged (id INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL)")
            self._connection.execute(f"CREATE TEMP VIEW {self._secret} AS {known}")
            self._connection.execute(f"CREATE TEMP VIEW {TABLE} AS SELECT * FROM {self._secret}")  # noqa: S608
        survivors = self._survivors()
        if self._table_version != self._merged[0]:
            self._table_version = self._merged[0]
            shown = self._entities({*survivors, *survivors.values()})
            self._connection.execute("DELETE FROM temp.graph_merged")
            self._connection.executemany(
                "INSERT INTO temp.graph_merged VALUES (?, ?, ?)", [(key, entity.name, entity.kind) for key, entity in shown.items()]
            )


def _everything(*_: object) -> int:
    """Allows everything; used to remove an authorizer, because before Python 3.11 None forbids everything."""
    return sqlite3.SQLITE_OK


def _said(error: Exception, max_steps: int) -> Any:
    return f"it takes more than {max_steps} steps; ask for less" if str(error) == "interrupted" else str(error).splitlines()[0]
