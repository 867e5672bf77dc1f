"""When a clock is known to have been wrong, what it dated is dated anew.

Moments carry the monotonic time and the boot they were seen in, so their true wall time is `mono_us + ahead_us` once the distance between
the two clocks is known. Neighbours that are off by the same distance are a run, and move as one. All else has no monotonic time and moves
with the run it lies in: segments, documents (and so utterances and passages), relations and what of them came up in answers by where they
begin; the times at which these, and names and answers about them, became known or were replaced, each by itself.

A long boot does not fit into one transaction under a byte budget. The transaction that learns the right time only notes what is to move;
steps follow (pieces.py), each of which says in the note how far it came. No other write comes in between, nothing fades by age while the
note is there, and whoever opens the memory next for writing ends what a crash interrupted.

What a view sees meanwhile: what is seen, written or heard moves in the order of time, the latest first where times grow, the earliest first
where they shrink. So at every commit each stream is in order, right on one side of a gap and still wrong on the other; only a segment or
document that reaches across it keeps its length until the rest has followed. Names and versions come first: a view whose cut-off lies
within the distance may not know a name yet, or see two versions of a document or none. One without a cut-off never does. Vectors are read
from SQLite, slower and as right, until their files are written anew at the end.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from edgemem.records import US
from edgemem.remember import observations as packing

if TYPE_CHECKING:
    from edgemem.remember.transaction import Transaction

REDATE_DUE = "redate_due"
"""Key in `meta`: the note of what has to be dated anew."""
JITTER_US = 100_000
"""Two clocks read one after the other differ by microseconds, on a busy board by so much: this near is the same distance, and right."""
STILL_US = 300 * US
"""So long a still scene may go without a moment, and what is said in it is dated all the same."""
_WINDOW = 64
"""Rows that one step looks at."""
_BEGINS = {"moment": "t_us", "segment": "t0_us", "document": "t0_us", "relation": "t0_us"}
"""What lies on a stream, and when it begins."""
_TOLD = {
    "document": ("known_us", "until_us"),
    "relation": ("known_us", "until_us"),
    "mention": ("known_us",),
}
"""When these became known or were replaced, which is put right when they move."""

_LIES = "o.stream_id = :stream AND o.t0_us BETWEEN :low AND :high"
_WHERE_MET = (
    f"relation o WHERE o.source_id = {{0}} AND {_LIES}",
    f"relation o WHERE o.target_id = {{0}} AND {_LIES}",
    f"utterance u JOIN document o ON o.id = u.document_id WHERE u.speaker_id = {{0}} AND {_LIES}",
    f"mention n JOIN document o ON o.id = n.document_id WHERE n.entity_id = {{0}} AND {_LIES}",
    f"mention n JOIN moment o ON o.id = n.moment_id WHERE n.entity_id = {{0}} AND {_LIES.replace('t0_us', 't_us')}",
)
_MET = " OR ".join(f"EXISTS (SELECT 1 FROM {where})" for where in _WHERE_MET)  # noqa: S608 - our own names
_BEFORE = "x.stream_id = :stream AND x.t0_us NOT BETWEEN :low AND :high"
_REPLACED = f"{_BEFORE} AND EXISTS (SELECT 1 FROM {{0}} o WHERE o.known_us = x.until_us AND {_LIES})"  # noqa: S608 - our own names
_FIRST = {
    "session": (("asked_us", "as_of_us"), f"EXISTS (SELECT 1 FROM session_evidence o WHERE o.session_id = x.id AND {_LIES})"),  # noqa: S608
    "entity": (("known_us",), _MET.format("x.id")),
    "alias": (("known_us", "until_us"), _MET.format("x.entity_id")),
    "entity_merge": (("known_us", "until_us"), f"{_MET.format('x.from_id')} OR {_MET.format('x.into_id')}"),
    "document": (("until_us",), _REPLACED.format("document")),
    "relation": (("until_us",), _REPLACED.format("relation")),
}
"""What is put right before anything moves, and of which rows: names and answers about what moves, and what that took the place of."""

_MENTIONS = {"document": "document_id = ?", "moment": "moment_id = ? AND document_id IS NULL"}
_PAGES = {
    "moment": "3 + (SELECT count(*) FROM mention WHERE moment_id = x.id)",
    "segment": "4",
    "document": (
        "6 + (length(CAST(text AS BLOB)) + length(CAST(squeezed AS BLOB))) / 4000 + (SELECT count(*) FROM mention WHERE document_id = x.id)"
    ),
    "relation": "12",
}
"""Pages that change with a row: its own, those of its indexes at the old and the new place, and what stands beside it; else 1."""


class _Run(msgspec.Struct, array_like=True):
    """Moments of one boot that are off by the same distance, and what lies among them."""

    low_us: int
    high_us: int
    by_us: int
    moments: int = 0
    latest_us: int = 2**63 - 1
    """The right time of what follows: nothing that became known before comes to stand after it."""


class _Note(msgspec.Struct):
    """What has to be dated anew, and how far that has come."""

    stream_id: int
    boot_id: int
    begun_us: int
    """When the stream began."""
    runs: list[_Run]
    """In the order in which they move, so that none ever stands among another."""
    turn: int = 0
    """How many of `_FIRST`, then of `runs`, are done."""
    after: tuple[int, int, int] | None = None
    """The last row of this turn that was: its time, the place of its table in `_BEGINS`, its id."""

    def right(self, us: int | None) -> int | None:
        """The right time for one that the wrong clock may have told."""
        run = next((run for run in self.runs if us is not None and run.low_us <= us <= run.high_us), None)
        return us if us is None or run is None else min(us + run.by_us, run.latest_us)

    def bound(self) -> dict[str, int]:
        """The span of all runs, for a statement."""
        return {
            "stream": self.stream_id,
            "boot": self.boot_id,
            "low": min(run.low_us for run in self.runs),
            "high": max(run.high_us for run in self.runs),
        }


def note(connection: sqlite3.Connection, stream: str, boot_id: str, ahead_us: int) -> int:
    """Note that moments of this stream and boot are to be dated `mono_us + ahead_us`; returns how many are not.

    What was dated after the last moment (speech before a scene that does not change) moves too, for `STILL_US` or as long as it lies
    closer to the wrong time than to the right one; so does what was before the stream's first. Once all is done, nothing is left to note.
    """
    sql = (
        "SELECT s.id, b.id, s.t0_us, (SELECT min(t_us) FROM moment WHERE stream_id = s.id) FROM stream s, boot b"
        " WHERE s.name = ? AND b.name = ?"
    )
    found = connection.execute(sql, (stream, boot_id)).fetchone()
    if found is None:
        return 0
    stream_id, boot, begun_us, first_us = found
    sql = "SELECT t_us, mono_us + ? - t_us FROM moment WHERE stream_id = ? AND boot_id = ? ORDER BY t_us, id"
    every = _runs(connection.execute(sql, (ahead_us, stream_id, boot)))
    runs = [run for run in every if abs(run.by_us) > JITTER_US]
    if not runs:
        return 0
    if runs[0].low_us == first_us:
        begun_us += runs[0].by_us
    for run, later in pairwise(every):
        run.latest_us = later.low_us + later.by_us
    for run in runs:
        _widen(connection, stream_id, run)
    runs.sort(key=lambda run: (run.by_us > 0, run.low_us if run.by_us < 0 else -run.low_us))
    _write(connection, _Note(stream_id, boot, begun_us, runs))
    return sum(run.moments for run in runs)


def is_due(connection: sqlite3.Connection) -> bool:
    """Whether something that was noted is not dated anew yet."""
    return connection.execute("SELECT 1 FROM meta WHERE key = ?", (REDATE_DUE,)).fetchone() is not None


def redate(tx: Transaction) -> bool:
    """A step of what is noted; True while more is left. Where one was interrupted the next goes on."""
    found = tx.connection.execute("SELECT value FROM meta WHERE key = ?", (REDATE_DUE,)).fetchone()
    if found is None:
        return False
    due = msgspec.json.decode(found[0], type=_Note)
    first = list(_FIRST)
    more = _put_table_right(tx, due, first[due.turn]) if due.turn < len(first) else _move_run(tx, due, due.runs[due.turn - len(first)])
    if not more:
        due.turn, due.after = due.turn + 1, None
    if due.turn < len(first) + len(due.runs):
        _write(tx.connection, due)
        return True
    tx.connection.execute("UPDATE stream SET t0_us = ? WHERE id = ?", (due.begun_us, due.stream_id))
    tx.connection.execute("DELETE FROM meta WHERE key = ?", (REDATE_DUE,))
    return False


def _write(connection: sqlite3.Connection, due: _Note) -> None:
    connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (REDATE_DUE, msgspec.json.encode(due).decode()))


def _runs(moments: Iterable[tuple[int, int]]) -> list[_Run]:
    """Times in order, and by how much each is off, into runs."""
    runs: list[_Run] = []
    for t_us, by_us in moments:
        if not runs or abs(by_us - runs[-1].by_us) > JITTER_US:
            runs.append(_Run(t_us, t_us, by_us))
        runs[-1].high_us, runs[-1].moments = t_us, runs[-1].moments + 1
    return runs


def _widen(connection: sqlite3.Connection, stream_id: int, run: _Run) -> None:
    """Take in what lies beside the run with no other moment between."""
    before, after = connection.execute(
        "SELECT (SELECT max(t_us) FROM moment WHERE stream_id = :stream AND t_us < :low),"
        " (SELECT min(t_us) FROM moment WHERE stream_id = :stream AND t_us > :high)",
        {"stream": stream_id, "low": run.low_us, "high": run.high_us},
    ).fetchone()
    beside_us = max(abs(run.by_us) // 2, STILL_US)
    run.low_us -= beside_us if before is None else 0
    run.high_us += beside_us if after is None else min(beside_us, after - 1 - run.high_us)


def _put_table_right(tx: Transaction, due: _Note, table: str) -> bool:
    """Some rows of a table of `_FIRST`, by their ids."""
    columns, which = _FIRST[table]
    told = " OR ".join(f"x.{column} BETWEEN :low AND :high" for column in columns)
    found = tx.connection.execute(
        f"SELECT x.id FROM {table} x WHERE x.id > :after AND ({told}) AND ({which}) ORDER BY x.id LIMIT {_WINDOW}",  # noqa: S608
        {**due.bound(), "after": due.after[2] if due.after else 0},
    ).fetchall()
    for (row_id,) in found:
        if tx.full or not tx.take(_pages(tx.connection, table, row_id)):
            return True
        _put_right(tx.connection, due, table, row_id, columns)
        due.after = (0, 0, row_id)
    return len(found) == _WINDOW


def _move_run(tx: Transaction, due: _Note, run: _Run) -> bool:
    """Some of what begins in the run, from its far end."""
    tx.redated = True
    found = _next(tx.connection, due, run)
    for at_us, place, row_id in found:
        table = list(_BEGINS)[place]
        if tx.full or not tx.take(_pages(tx.connection, table, row_id)):
            return True
        _move(tx.connection, due, run.by_us, table, row_id)
        due.after = (at_us, place, row_id)
    return len(found) == _WINDOW


def _next(connection: sqlite3.Connection, due: _Note, run: _Run) -> list[tuple[int, int, int]]:
    """Time, place in `_BEGINS` and id of what comes next. What moved stands beyond it, so none is met twice."""
    grows = run.by_us > 0
    way, beyond = ("DESC", "<") if grows else ("ASC", ">")
    at_us, place, row_id = due.after or ((run.high_us + 1, 0, 0) if grows else (run.low_us - 1, 0, 0))
    bound = {
        "stream": due.stream_id,
        "boot": due.boot_id,
        "low": run.low_us if grows else at_us,
        "high": at_us if grows else run.high_us,
        "at": at_us,
        "place": place,
        "id": row_id,
    }
    found: list[tuple[int, int, int]] = []
    for number, (table, begins) in enumerate(_BEGINS.items()):
        of_boot = "boot_id = :boot AND" if table == "moment" else ""
        found += connection.execute(
            f"SELECT {begins}, {number}, id FROM {table} WHERE {of_boot} stream_id = :stream AND {begins} BETWEEN :low AND :high"  # noqa: S608
            f" AND ({begins}, {number}, id) {beyond} (:at, :place, :id) ORDER BY {begins} {way}, id {way} LIMIT {_WINDOW}",
            bound,
        ).fetchall()
    return sorted(found, reverse=grows)[:_WINDOW]


def _pages(connection: sqlite3.Connection, table: str, row_id: int) -> int:
    """What a row takes of a transaction. Each posting may lie on a page of its own."""
    sql = f"SELECT {_PAGES.get(table, '1')} FROM {table} x WHERE x.id = ?"  # noqa: S608 - our own names
    pages: int = connection.execute(sql, (row_id,)).fetchone()[0]
    return pages + len(_seen(connection, row_id)) if table == "moment" else pages


def _move(connection: sqlite3.Connection, due: _Note, by_us: int, table: str, row_id: int) -> None:
    """One row, and what stands beside it."""
    columns = (_BEGINS[table],) if table == "moment" else ("t0_us", "t1_us")
    changed = ", ".join(f"{column} = {column} + :by" for column in columns)
    connection.execute(f"UPDATE {table} SET {changed} WHERE id = :id", {"by": by_us, "id": row_id})  # noqa: S608 - our own names
    if table == "moment":
        _move_postings(connection, row_id, by_us)
    if table in _TOLD:
        _put_right(connection, due, table, row_id, _TOLD[table])
    if table in _MENTIONS:
        for (mention_id,) in connection.execute(f"SELECT id FROM mention WHERE {_MENTIONS[table]}", (row_id,)).fetchall():  # noqa: S608
            _put_right(connection, due, "mention", mention_id, _TOLD["mention"])
    sql = "UPDATE session_evidence SET t0_us = t0_us + ?, t1_us = t1_us + ? WHERE kind = ? AND ref_id = ?"
    connection.execute(sql, (by_us, by_us, table[0], row_id))


def _put_right(connection: sqlite3.Connection, due: _Note, table: str, row_id: int, columns: Sequence[str]) -> None:
    """Times of a row that the wrong clock told."""
    found = connection.execute(f"SELECT {', '.join(columns)} FROM {table} WHERE id = ?", (row_id,)).fetchone()  # noqa: S608 - our own names
    changed = ", ".join(f"{column} = ?" for column in columns)
    connection.execute(f"UPDATE {table} SET {changed} WHERE id = ?", (*map(due.right, found), row_id))  # noqa: S608 - our own names


def _seen(connection: sqlite3.Connection, moment_id: int) -> list[packing.Packed]:
    found = connection.execute("SELECT data FROM observation WHERE moment_id = ?", (moment_id,)).fetchone()
    return packing.decode(found[0]) if found else []


def _move_postings(connection: sqlite3.Connection, moment_id: int, by_us: int) -> None:
    """They carry the time of their moment."""
    connection.executemany(
        "UPDATE posting SET t_us = t_us + ? WHERE term_id = ? AND score_ppm = ? AND moment_id = ? AND ordinal = ?",
        [(by_us, term_id, score_ppm, moment_id, ordinal) for ordinal, (term_id, score_ppm, *_) in enumerate(_seen(connection, moment_id))],
    )
