"""Corrects dates after a clock was found to be wrong: by how much each row moves, and what a view sees until that is done.

Moments have the monotonic time and the boot in which they were seen, so their true wall time is `mono_us + ahead_us` as soon as the
difference between the two clocks is known. Neighbours that are wrong by the same amount are a run, and move together. All other rows have
no monotonic time and move with the run in which they are. Segments, documents (with utterances and passages), relations, and evidence of
answers move by their beginning. The times at which they, or names and answers about them, became known or were replaced move one by one.

Under a byte budget a long boot does not fit into one transaction. The transaction that gets the right time only writes a note of what must
move. Steps follow (redate.py), and each stores its progress in the note. No other write comes in between, nothing fades by age while the
note exists, and after a crash the next writer finishes the work.

What a view sees in between: rows move in time order, the latest first if times get larger, the earliest first if they get smaller. So at
every commit each stream is in order: correct on one side of a gap and still wrong on the other. Only a segment or document that spans the
gap keeps its length until the rest has moved. Names and versions move first: a view whose cut-off is within the moved interval may not know
a name yet, or may see two versions of a document or none. A view without a cut-off is not affected. Vectors are read from SQLite, slower
but correct, until their files are rewritten at the end.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import zip_longest

import msgspec

from edgemem.records import US

REDATE_DUE = "redate_due"
"""Key in `meta`: the note of the dates that must be corrected."""
JITTER_US = 100_000
"""Differences between the two clocks that are closer than this count as equal: they are read one after the other, which takes microseconds,
on a busy board up to this."""
STILL_US = 300 * US
"""Longest time without a moment in a still scene during which speech is still corrected with the last moment."""


class Run(msgspec.Struct, array_like=True):
    """Moments of one boot that are wrong by the same amount, and the rows between them."""

    low_us: int
    high_us: int
    by_us: int
    moments: int = 0
    latest_us: int = 2**63 - 1
    """The correct time of what follows: nothing that became known before it gets a later date."""


class Note(msgspec.Struct):
    """The dates that must be corrected, and the progress."""

    stream_id: int
    begun_us: int
    """Time of the beginning of the stream."""
    runs: list[Run]
    """In the order in which they move, so that runs never overlap."""
    turn: int = 0
    """How many of its rounds are done."""
    after: tuple[int, ...] = ()
    """Key of the last row that is done in this round; empty = none."""

    def right(self, us: int | None) -> int | None:
        """The correct time for a time that may come from the wrong clock."""
        run = next((run for run in self.runs if us is not None and run.low_us <= us <= run.high_us), None)
        return us if us is None or run is None else min(us + run.by_us, run.latest_us)

    def span(self) -> dict[str, int]:
        """The span of all runs, as values of an SQL statement."""
        return {
            "stream": self.stream_id,
            "low": min(run.low_us for run in self.runs),
            "high": max(run.high_us for run in self.runs),
        }


def note(connection: sqlite3.Connection, stream: str, boot_id: str, ahead_us: int) -> int:
    """Note that moments of this stream and boot must have the time `mono_us + ahead_us`; returns how many have another time now.

    Rows after the last moment (speech during a still scene) move too, within `STILL_US` or while they are closer to the wrong time than to
    the correct one; so do rows before the stream's first moment. When all is correct, nothing is noted.
    """
    sql = "SELECT s.id, b.id, s.t0_us FROM stream s, boot b WHERE s.name = ? AND b.name = ?"
    found = connection.execute(sql, (stream, boot_id)).fetchone()
    if found is None:
        return 0
    stream_id, boot, begun_us = found
    off = "SELECT t_us, CASE boot_id WHEN ? THEN mono_us + ? - t_us ELSE 0 END FROM moment WHERE stream_id = ? ORDER BY t_us, id"
    every = _runs(connection.execute(off, (boot, ahead_us, stream_id)))
    runs = [run for run in every if abs(run.by_us) > JITTER_US]
    if not runs:
        return 0
    if runs[0] is every[0]:
        begun_us += runs[0].by_us
    _widen(every)
    runs.sort(key=lambda run: (run.by_us > 0, run.low_us if run.by_us < 0 else -run.low_us))
    write(connection, Note(stream_id, begun_us, runs))
    return sum(run.moments for run in runs)


def is_due(connection: sqlite3.Connection) -> bool:
    """Whether noted dates are not corrected yet."""
    return noted(connection) is not None


def noted(connection: sqlite3.Connection) -> Note | None:
    """The note; None if there is none."""
    found = connection.execute("SELECT value FROM meta WHERE key = ?", (REDATE_DUE,)).fetchone()
    return msgspec.json.decode(found[0], type=Note) if found else None


def write(connection: sqlite3.Connection, due: Note) -> None:
    """Write the note, or its progress, in the open transaction."""
    connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (REDATE_DUE, msgspec.json.encode(due).decode()))


def _runs(moments: Iterable[tuple[int, int]]) -> list[Run]:
    """Group moments (time, error), which are in time order, to runs."""
    runs: list[Run] = []
    for t_us, by_us in moments:
        if not runs or abs(by_us - runs[-1].by_us) > JITTER_US:
            runs.append(Run(t_us, t_us, by_us))
        runs[-1].high_us, runs[-1].moments = t_us, runs[-1].moments + 1
    return runs


def _widen(runs: Sequence[Run]) -> None:
    """Extend each run by the rows next to it, up to the next moment."""
    for run, later in zip_longest(runs, runs[1:]):
        beside_us = max(abs(run.by_us) // 2, STILL_US)
        run.low_us -= beside_us if run is runs[0] else 0
        if later is None:
            run.high_us += beside_us
        else:
            run.latest_us = max(run.high_us + run.by_us, later.low_us + later.by_us)
            run.high_us = min(run.high_us + beside_us, later.low_us - 1)
