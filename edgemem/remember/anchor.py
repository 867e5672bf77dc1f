"""When a clock is known to have been wrong, what it dated is dated anew.

Moments carry the monotonic time and the boot they were seen in, so their true wall time is `mono_us + ahead_us` once the distance between
the two clocks is known. All else has no monotonic time and moves with the moments it lies among: segments, documents (and so utterances
and passages) and relations by where they begin; entities, mentions, aliases, merges and answers when they belong to one of these and
became known by the same wrong clock.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from itertools import groupby

from edgemem.remember import observations as packing
from edgemem.remember.reading import ids_list

_TIMES = {"segment": ("t0_us", "t1_us"), "document": ("t0_us", "t1_us", "known_us"), "relation": ("t0_us", "t1_us", "known_us")}
_ENTITIES = (
    "SELECT source_id FROM relation WHERE id IN {relation} UNION SELECT target_id FROM relation WHERE id IN {relation}"
    " UNION SELECT speaker_id FROM utterance WHERE document_id IN {document}"
    " UNION SELECT entity_id FROM mention WHERE document_id IN {document} OR moment_id IN {moment}"
)
_CAME_UP = " OR ".join(f"(kind = '{kind[0]}' AND ref_id IN {{{kind}}})" for kind in ("moment", "document", "segment", "relation"))


@dataclass(frozen=True)
class _Move:
    """Moments that were off by the same distance, and the ids of what lies among them, by table."""

    by_us: int
    ids: dict[str, list[int]]
    low_us: int
    high_us: int
    """From when to when the wrong clock ran, as it told."""


def reanchor(connection: sqlite3.Connection, stream: str, boot_id: str, ahead_us: int) -> int:
    """Date the moments of this stream and boot `mono_us + ahead_us`, inside an open transaction; returns how many moved.

    What else moves is said above; postings move with their moments, and the stream's own beginning if it lies in that boot. What was
    dated after the last moment (speech before a scene that does not change) moves too while it lies closer to the wrong time than to
    the right one. A version ends when the next begins, so its end moves with that. Running it twice changes nothing.
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
        moves.append(_among(connection, stream_id, by_us, [row[0] for row in of_run], (of_run[0][1], of_run[-1][1])))
    begun_us = connection.execute("SELECT min(t_us) FROM moment WHERE stream_id = ?", (stream_id,)).fetchone()[0]
    for move in moves:
        _move(connection, move)
    if begun_us == rows[0][1]:
        connection.execute("UPDATE stream SET t0_us = t0_us + ? WHERE id = ?", (rows[0][2], stream_id))
    return sum(1 for row in rows if row[2])


def _among(connection: sqlite3.Connection, stream_id: int, by_us: int, moment_ids: list[int], span: tuple[int, int]) -> _Move:
    """What begins in this span of the stream, or beside it with no other moment between."""
    low_us, high_us = span
    before, after = connection.execute(
        "SELECT (SELECT max(t_us) FROM moment WHERE stream_id = :stream AND t_us < :low),"
        " (SELECT min(t_us) FROM moment WHERE stream_id = :stream AND t_us > :high)",
        {"stream": stream_id, "low": low_us, "high": high_us},
    ).fetchone()
    if before is None:
        low_us -= abs(by_us) // 2
    high_us += abs(by_us) // 2 if after is None else min(abs(by_us) // 2, after - 1 - high_us)
    ids = {
        table: [
            row[0]
            for row in connection.execute(
                f"SELECT id FROM {table} WHERE stream_id = ? AND t0_us BETWEEN ? AND ?",  # noqa: S608 - our own names
                (stream_id, low_us, high_us),
            )
        ]
        for table in _TIMES
    }
    known = [high_us]
    for table in ("document", "relation"):
        known += [row[0] for row in connection.execute(f"SELECT max(known_us) FROM {table} WHERE id IN {ids_list(ids[table])}")]  # noqa: S608
    return _Move(by_us, {**ids, "moment": moment_ids}, low_us, max(us for us in known if us is not None))


def _move(connection: sqlite3.Connection, move: _Move) -> None:
    lists = {table: ids_list(ids) for table, ids in move.ids.items()}
    bound = {"by": move.by_us, "low": move.low_us, "high": move.high_us}
    # What belongs to these is looked up while both still tell the wrong time.
    entities = ids_list([row[0] for row in connection.execute(_ENTITIES.format(**lists)) if row[0] is not None])
    came_up = _CAME_UP.format(**lists)
    answers = ids_list([row[0] for row in connection.execute(f"SELECT DISTINCT session_id FROM session_evidence WHERE {came_up}")])  # noqa: S608
    connection.execute(f"UPDATE session_evidence SET t0_us = t0_us + :by, t1_us = t1_us + :by WHERE {came_up}", bound)  # noqa: S608
    for table, column, which in (
        ("entity", "known_us", f"id IN {entities}"),
        ("mention", "known_us", f"document_id IN {lists['document']} OR moment_id IN {lists['moment']}"),
        ("alias", "known_us", f"entity_id IN {entities}"),
        ("alias", "until_us", f"entity_id IN {entities}"),
        ("entity_merge", "known_us", f"from_id IN {entities} OR into_id IN {entities}"),
        ("entity_merge", "until_us", f"from_id IN {entities} OR into_id IN {entities}"),
        ("session", "asked_us", f"id IN {answers}"),
        ("session", "as_of_us", f"id IN {answers}"),
    ):
        connection.execute(f"UPDATE {table} SET {column} = {column} + :by WHERE ({which}) AND {column} BETWEEN :low AND :high", bound)  # noqa: S608
    for table in ("document", "relation"):
        new = f"SELECT n.known_us FROM {table} n WHERE n.id IN {lists[table]}"  # noqa: S608
        of_stream = f"SELECT DISTINCT stream_id FROM {table} WHERE id IN {lists[table]}"  # noqa: S608
        sql = f"UPDATE {table} SET until_us = until_us + :by WHERE until_us IN ({new}) AND stream_id IN ({of_stream})"  # noqa: S608
        connection.execute(sql, bound)
    _move_moments(connection, move.ids["moment"], move.by_us)
    for table, columns in _TIMES.items():
        changed = ", ".join(f"{column} = {column} + :by" for column in columns)
        connection.execute(f"UPDATE {table} SET {changed} WHERE id IN {lists[table]}", bound)  # noqa: S608


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
