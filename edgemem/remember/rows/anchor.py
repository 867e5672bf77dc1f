"""When a clock is known to have been wrong, what it dated is dated anew: by how much, and what a view sees meanwhile.

Moments carry the monotonic time and the boot they were seen in, so their true wall time is `mono_us + ahead_us` once the distance between
the two clocks is known. Neighbours that are off by the same distance are a run, and move as one. All else has no monotonic time and moves
with the run it lies in: segments, documents (and so utterances and passages), relations and what of them came up in answers by where they
begin; the times at which these, and names and answers about them, became known or were replaced, each by itself.

A long boot does not fit into one transaction under a byte budget. The transaction that learns the right time only notes what is to move;
steps follow (redate.py), each of which says in the note how far it came. No other write comes in between, nothing fades by age while the
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
from itertools import zip_longest

import msgspec

from edgemem.records import US

REDATE_DUE = "redate_due"
"""Key in `meta`: the note of what has to be dated anew."""
JITTER_US = 100_000
"""Two clocks read one after the other differ by microseconds, on a busy board by so much: this near is the same distance, and right."""
STILL_US = 300 * US
"""So long a still scene may go without a moment, and what is said in it is dated all the same."""


class Run(msgspec.Struct, array_like=True):
    """Moments of one boot that are off by the same distance, and what lies among them."""

    low_us: int
    high_us: int
    by_us: int
    moments: int = 0
    latest_us: int = 2**63 - 1
    """The right time of what follows: nothing that became known before comes to stand after it."""


class Note(msgspec.Struct):
    """What has to be dated anew, and how far that has come."""

    stream_id: int
    begun_us: int
    """When the stream began."""
    runs: list[Run]
    """In the order in which they move, so that none ever stands among another."""
    turn: int = 0
    """How many of its turns are done."""
    after: tuple[int, ...] = ()
    """What the last row of this turn that is done is found by; nothing yet when empty."""

    def right(self, us: int | None) -> int | None:
        """The right time for one that may come from the wrong clock."""
        run = next((run for run in self.runs if us is not None and run.low_us <= us <= run.high_us), None)
        return us if us is None or run is None else min(us + run.by_us, run.latest_us)

    def span(self) -> dict[str, int]:
        """The span of all runs, for a statement."""
        return {
            "stream": self.stream_id,
            "low": min(run.low_us for run in self.runs),
            "high": max(run.high_us for run in self.runs),
        }


def note(connection: sqlite3.Connection, stream: str, boot_id: str, ahead_us: int) -> int:
    """Note that moments of this stream and boot are to be dated `mono_us + ahead_us`; returns how many are not.

    What was dated after the last moment (speech before a scene that does not change) moves too, for `STILL_US` or as long as it lies
    closer to the wrong time than to the right one; so does what was before the stream's first. Once all is done, nothing is left to note.
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
    """Whether something that was noted is not dated anew yet."""
    return noted(connection) is not None


def noted(connection: sqlite3.Connection) -> Note | None:
    """What has to be dated anew."""
    found = connection.execute("SELECT value FROM meta WHERE key = ?", (REDATE_DUE,)).fetchone()
    return msgspec.json.decode(found[0], type=Note) if found else None


def write(connection: sqlite3.Connection, due: Note) -> None:
    """Keep the note, or how far it has come, with what the open transaction does."""
    connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (REDATE_DUE, msgspec.json.encode(due).decode()))


def _runs(moments: Iterable[tuple[int, int]]) -> list[Run]:
    """Times in order, and by how much each is off, into runs."""
    runs: list[Run] = []
    for t_us, by_us in moments:
        if not runs or abs(by_us - runs[-1].by_us) > JITTER_US:
            runs.append(Run(t_us, t_us, by_us))
        runs[-1].high_us, runs[-1].moments = t_us, runs[-1].moments + 1
    return runs


def _widen(runs: Sequence[Run]) -> None:
    """Take in what lies beside each run with no other moment between."""
    for run, later in zip_longest(runs, runs[1:]):
        beside_us = max(abs(run.by_us) // 2, STILL_US)
        run.low_us -= beside_us if run is runs[0] else 0
        if later is None:
            run.high_us += beside_us
        else:
            run.latest_us = max(run.high_us + run.by_us, later.low_us + later.by_us)
            run.high_us = min(run.high_us + beside_us, later.low_us - 1)
