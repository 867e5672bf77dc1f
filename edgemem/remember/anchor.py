"""When a clock is known to have been wrong, what it dated is dated anew.

Moments carry the monotonic time and the boot they were seen in, so their true wall time is `mono_us + ahead_us` once the distance between
the two clocks is known. Segments, documents and relations move with the moments they lie among.
"""

from __future__ import annotations

import sqlite3
from itertools import groupby

from edgemem.remember import observations as packing
from edgemem.remember.reading import ids_list

_TIMES = {"segment": ("t0_us", "t1_us"), "document": ("t0_us", "t1_us", "known_us"), "relation": ("t0_us", "t1_us", "known_us")}


def reanchor(connection: sqlite3.Connection, stream: str, boot_id: str, ahead_us: int) -> int:
    """Date the moments of this stream and boot `mono_us + ahead_us`, inside an open transaction; returns how many moved.

    Moved by the same distance: the segments, documents and relations of the stream that begin in the span of those moments (seen by the
    wrong clock), postings, and the stream's own beginning if it lies in that boot. Running it twice changes nothing.
    """
    rows = connection.execute(
        "SELECT m.id, m.t_us, m.mono_us + :ahead - m.t_us, m.stream_id FROM moment m JOIN stream s ON s.id = m.stream_id"
        " JOIN boot b ON b.id = m.boot_id WHERE s.name = :stream AND b.name = :boot ORDER BY m.t_us, m.id",
        {"ahead": ahead_us, "stream": stream, "boot": boot_id},
    ).fetchall()
    if not any(row[2] for row in rows):
        return 0
    stream_id = rows[0][3]
    moves = []
    for by_us, run in groupby(rows, key=lambda row: row[2]):
        of_run = list(run)
        moves.append((by_us, [row[0] for row in of_run], _among(connection, stream_id, of_run[0][1], of_run[-1][1])))
    begun_us = connection.execute("SELECT min(t_us) FROM moment WHERE stream_id = ?", (stream_id,)).fetchone()[0]
    for by_us, moment_ids, others in moves:
        _move_moments(connection, moment_ids, by_us)
        for table, ids in others.items():
            changed = ", ".join(f"{column} = {column} + :by" for column in _TIMES[table])
            connection.execute(f"UPDATE {table} SET {changed} WHERE id IN {ids_list(ids)}", {"by": by_us})  # noqa: S608 - integers
    if begun_us == rows[0][1]:
        connection.execute("UPDATE stream SET t0_us = t0_us + ? WHERE id = ?", (rows[0][2], stream_id))
    return sum(1 for row in rows if row[2])


def _among(connection: sqlite3.Connection, stream_id: int, low_us: int, high_us: int) -> dict[str, list[int]]:
    """Ids of what begins in this span of the stream, by table."""
    return {
        table: [
            row[0]
            for row in connection.execute(
                f"SELECT id FROM {table} WHERE stream_id = ? AND t0_us BETWEEN ? AND ?",  # noqa: S608
                (stream_id, low_us, high_us),
            )
        ]
        for table in _TIMES
    }


def _move_moments(connection: sqlite3.Connection, moment_ids: list[int], by_us: int) -> None:
    connection.execute(f"UPDATE moment SET t_us = t_us + ? WHERE id IN {ids_list(moment_ids)}", (by_us,))  # noqa: S608 - integers
    seen = connection.execute(f"SELECT moment_id, data FROM observation WHERE moment_id IN {ids_list(moment_ids)}").fetchall()  # noqa: S608
    connection.executemany(
        "UPDATE posting SET t_us = t_us + ? WHERE term_id = ? AND score_ppm = ? AND moment_id = ? AND ordinal = ?",
        [
            (by_us, term_id, score_ppm, moment_id, ordinal)
            for moment_id, data in seen
            for ordinal, (term_id, score_ppm, *_) in enumerate(packing.decode(data))
        ],
    )
