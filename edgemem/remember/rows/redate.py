"""The steps that correct the dates noted by `anchor.note`, so that a memory stays below its cap while a whole boot moves."""

from __future__ import annotations

import sqlite3
from bisect import bisect_right
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from edgemem.remember.rows import anchor
from edgemem.remember.rows import observations as packing
from edgemem.remember.rows.anchor import Note, Run

if TYPE_CHECKING:
    from edgemem.remember.rows.transaction import Transaction

_WINDOW = 64
"""Rows in one step."""
_TOGETHER = 2048
"""Most moments whose postings move together: some megabytes of keys."""
_MOMENTS = "SELECT id FROM moment WHERE stream_id = ? AND t_us BETWEEN ? AND ? AND id > ? AND id <= ? ORDER BY id LIMIT ?"
_Key = tuple[int, int, int, int]
"""Key of a posting: term, score (negative, so that the best comes first), moment, ordinal."""
_BEGINS = {"moment": "t_us", "segment": "t0_us", "document": "t0_us", "relation": "t0_us"}
"""Tables with rows of a stream, and their column for the beginning."""

_LIES = "{0}.stream_id = :stream AND {0}.{1} BETWEEN :low AND :high"
_WRITTEN, _SEEN = _LIES.format("o", "t0_us"), _LIES.format("o", "t_us")
_MET = " OR ".join(
    f"EXISTS (SELECT 1 FROM {where})"  # noqa: S608 - our own names
    for where in (
        f"relation o WHERE o.source_id = {{0}} AND {_WRITTEN}",
        f"relation o WHERE o.target_id = {{0}} AND {_WRITTEN}",
        f"utterance u JOIN document o ON o.id = u.document_id WHERE u.speaker_id = {{0}} AND {_WRITTEN}",
        f"mention n JOIN document o ON o.id = n.document_id WHERE n.entity_id = {{0}} AND {_WRITTEN}",
        f"mention n JOIN moment o ON o.id = n.moment_id WHERE n.entity_id = {{0}} AND {_SEEN}",
    )
)
_MENTIONED = (
    f"EXISTS (SELECT 1 FROM document o WHERE o.id = x.document_id AND {_WRITTEN})"  # noqa: S608
    f" OR EXISTS (SELECT 1 FROM moment o WHERE o.id = x.moment_id AND {_SEEN})"
)
_REPLACED = f"EXISTS (SELECT 1 FROM {{0}} o WHERE o.known_us = x.until_us AND {_WRITTEN})"  # noqa: S608 - our own names
_VERSION = f"{_LIES.format('x', 't0_us')} OR x.stream_id = :stream AND x.until_us BETWEEN :low AND :high AND {_REPLACED}"
_CLOCK_TIMES = {
    "session": (("asked_us", "as_of_us"), f"EXISTS (SELECT 1 FROM session_evidence o WHERE o.session_id = x.id AND {_WRITTEN})"),  # noqa: S608
    "moment": (("role_us",), "x.stream_id = :stream"),
    "entity": (("known_us",), _MET.format("x.id")),
    "alias": (("known_us", "until_us"), _MET.format("x.entity_id")),
    "entity_merge": (("known_us", "until_us"), f"{_MET.format('x.from_id')} OR {_MET.format('x.into_id')}"),
    "mention": (("known_us",), _MENTIONED),
    "document": (("known_us", "until_us"), _VERSION.format("document")),
    "relation": (("known_us", "until_us"), _VERSION.format("relation")),
}
"""Columns with the time at which something was asked, became known or was replaced, and the rows to correct: those in the runs, and those
about them."""

_PAGES = {
    "moment": "4",
    "segment": "4",
    "document": "6 + (length(CAST(text AS BLOB)) + length(CAST(squeezed AS BLOB))) / 4000",
    "relation": "12",
}
"""Pages that change with a row: its own, and those of its indexes at the old and the new position."""


class Redating:
    """The steps of the noted work (`Step`): True while there is more. After an interruption the next step continues."""

    def __init__(self) -> None:
        self._keys: list[_Key] = []
        self._of: tuple[int, int] = (0, 0)
        """The range of moment ids (after the first, up to the second) whose postings are loaded."""

    def __call__(self, tx: Transaction) -> bool:
        due = anchor.noted(tx.connection)
        if due is None:
            return False
        turns: list[Callable[[Transaction, Note], bool]] = [partial(_put_table_right, table) for table in _CLOCK_TIMES]
        for run in due.runs:
            turns += partial(self._move_postings, run), partial(_move_run, run)
        if not turns[due.turn](tx, due):
            due.turn, due.after = due.turn + 1, ()
        if due.turn < len(turns):
            anchor.write(tx.connection, due)
            return True
        tx.connection.execute("UPDATE stream SET t0_us = ? WHERE id = ?", (due.begun_us, due.stream_id))
        tx.connection.execute("DELETE FROM meta WHERE key = ?", (anchor.REDATE_DUE,))
        return False

    def _move_postings(self, run: Run, tx: Transaction, due: Note) -> bool:
        """Move some postings, which contain the time of their moment.

        The postings of many moments are moved in order of their key: each page is then written once instead of once per moment.
        """
        tx.redated = True
        here, upto, *done = due.after or (0, 0)
        span = (due.stream_id, run.low_us, run.high_us)
        if here == upto:
            found = tx.connection.execute(_MOMENTS, (*span, here, 2**62, _TOGETHER)).fetchall()
            upto = found[-1][0] if found else here
        if self._of != (here, upto):
            self._of, self._keys = (here, upto), _postings(tx.connection, (*span, here, upto))
        for key in self._keys[bisect_right(self._keys, tuple(done)) :]:
            if tx.full or not tx.take(1):
                return True
            _move_posting(tx.connection, key, run.by_us)
            due.after = (here, upto, *key)
        due.after = (upto, upto)
        return here < upto


def _put_table_right(table: str, tx: Transaction, due: Note) -> bool:
    """Correct times from the wrong clock in some rows, in order of their ids."""
    columns, which = _CLOCK_TIMES[table]
    wrong = " OR ".join(f"x.{column} BETWEEN :low AND :high" for column in columns)
    found = tx.connection.execute(
        f"SELECT x.id, {', '.join(columns)} FROM {table} x WHERE x.id > :after AND ({wrong}) AND ({which}) ORDER BY x.id LIMIT {_WINDOW}",  # noqa: S608
        {**due.span(), "after": due.after[0] if due.after else 0},
    ).fetchall()
    for row_id, *times in found:
        if tx.full or not tx.take(_pages(tx.connection, table, row_id) if table in _PAGES else 1):
            return True
        changed = ", ".join(f"{column} = ?" for column in columns)
        tx.connection.execute(f"UPDATE {table} SET {changed} WHERE id = ?", (*map(due.right, times), row_id))  # noqa: S608 - our own names
        due.after = (row_id,)
    return len(found) == _WINDOW


def _move_run(run: Run, tx: Transaction, due: Note) -> bool:
    """Move some rows that begin in the run, from its end, together with their times in the evidence of answers."""
    tx.redated = True
    found = _next(tx.connection, due, run)
    for at_us, place, row_id in found:
        table = list(_BEGINS)[place]
        if tx.full or not tx.take(_pages(tx.connection, table, row_id)):
            return True
        _move(tx.connection, run.by_us, table, row_id)
        due.after = (at_us, place, row_id)
    return len(found) == _WINDOW


def _next(connection: sqlite3.Connection, due: Note, run: Run) -> list[tuple[int, int, int]]:
    """Time, position in `_BEGINS` and id of the next rows. Rows that moved are beyond the current position, so none is moved twice."""
    grows = run.by_us > 0
    way, beyond = ("DESC", "<") if grows else ("ASC", ">")
    at_us, place, row_id = due.after or ((run.high_us + 1, 0, 0) if grows else (run.low_us - 1, 0, 0))
    bound = {
        "stream": due.stream_id,
        "low": run.low_us if grows else at_us,
        "high": at_us if grows else run.high_us,
        "at": at_us,
        "place": place,
        "id": row_id,
    }
    found: list[tuple[int, int, int]] = []
    for number, (table, begins) in enumerate(_BEGINS.items()):
        found += connection.execute(
            f"SELECT {begins}, {number}, id FROM {table} WHERE stream_id = :stream AND {begins} BETWEEN :low AND :high"  # noqa: S608
            f" AND ({begins}, {number}, id) {beyond} (:at, :place, :id) ORDER BY {begins} {way}, id {way} LIMIT {_WINDOW}",
            bound,
        ).fetchall()
    return sorted(found, reverse=grows)[:_WINDOW]


def _pages(connection: sqlite3.Connection, table: str, row_id: int) -> int:
    """What a row takes of a transaction."""
    came_up = "(SELECT count(*) FROM session_evidence WHERE kind = ? AND ref_id = x.id)"
    sql = f"SELECT {_PAGES[table]} + {came_up} FROM {table} x WHERE x.id = ?"  # noqa: S608 - our own names
    pages: int = connection.execute(sql, (table[0], row_id)).fetchone()[0]
    return pages


def _move(connection: sqlite3.Connection, by_us: int, table: str, row_id: int) -> None:
    """Move one row, and the rows that belong to it."""
    columns = (_BEGINS[table],) if table == "moment" else ("t0_us", "t1_us")
    changed = ", ".join(f"{column} = {column} + :by" for column in columns)
    connection.execute(f"UPDATE {table} SET {changed} WHERE id = :id", {"by": by_us, "id": row_id})  # noqa: S608 - our own names
    sql = "UPDATE session_evidence SET t0_us = t0_us + ?, t1_us = t1_us + ? WHERE kind = ? AND ref_id = ?"
    connection.execute(sql, (by_us, by_us, table[0], row_id))


def _postings(connection: sqlite3.Connection, moments: tuple[int, ...]) -> list[_Key]:
    """Keys of the postings of these moments, in the order of storage."""
    seen = connection.execute(f"SELECT moment_id, data FROM observation WHERE moment_id IN ({_MOMENTS})", (*moments, _TOGETHER))  # noqa: S608
    return sorted(
        (term_id, -score_ppm, moment_id, ordinal)
        for moment_id, data in seen
        for ordinal, (term_id, score_ppm, *_) in enumerate(packing.decode(data))
    )


def _move_posting(connection: sqlite3.Connection, key: _Key, by_us: int) -> None:
    sql = "UPDATE posting SET t_us = t_us + ? WHERE term_id = ? AND score_ppm = -? AND moment_id = ? AND ordinal = ?"
    connection.execute(sql, (by_us, *key))
