"""What a sound memory can say at all: times that a clock has, spans that do not end before they begin, pictures with a size, true numbers.

`check` looks for what cannot be, and `imports` refuses it before the first row is written.
"""

from __future__ import annotations

import sqlite3

import msgspec
import numpy as np

from edgemem.records import US
from edgemem.remember.rows import observations
from edgemem.remember.rows.observations import MOST_SIDE

EARLIEST_US, LATEST_US = -62_135_596_800 * US, 253_402_300_800 * US - 1
"""The years 1 to 9999: what a calendar has, and ISO 8601 can write."""
LONGEST_US = LATEST_US - EARLIEST_US
"""Longest distance of two such times: what an offset may be."""
MOST_SIDE_PX = 1 << 20
MOST_DIM = 1 << 14
"""Dimensions of a vector space at most; the largest text embedders of today have 4,096."""
_MOST_VECTORS = 4096
"""Read at a time."""
_FINITE = "{0} BETWEEN -1e300 AND 1e300"


def _outside(*columns: str) -> str:
    """True where one of these times is none; NULL is no time and no error."""
    return " OR ".join(f"{column} NOT BETWEEN {EARLIEST_US} AND {LATEST_US}" for column in columns)


def _too_far(column: str) -> str:
    return f"{column} NOT BETWEEN {-LONGEST_US} AND {LONGEST_US}"


def _count(table: str, wrong: str) -> str:
    return f"SELECT count(*) FROM {table} WHERE {wrong}"  # noqa: S608 - our own words


IMPOSSIBLE = (
    ("streams that begin at a time that no clock has", _count("stream", _outside("t0_us"))),
    ("moments at a time that no clock has", _count("moment", f"{_outside('t_us', 'role_us')} OR {_too_far('offset_us')}")),
    (
        "moments whose picture has no possible size",
        _count("moment", f"width_px NOT BETWEEN 1 AND {MOST_SIDE_PX} OR height_px NOT BETWEEN 1 AND {MOST_SIDE_PX}"),
    ),
    ("moments whose number or sharpness is none", _count("moment", f"seq < 0 OR NOT {_FINITE.format('sharpness')}")),
    ("pictures that were made smaller less than never", _count("blob", "generation < 0")),
    ("segments that end before they begin", _count("segment", "t1_us < t0_us")),
    ("segments at a time that no clock has", _count("segment", f"{_outside('t0_us', 't1_us')} OR {_too_far('offset_us')}")),
    ("segments of a level below 0", _count("segment", "level < 0")),
    ("documents that end before they begin", _count("document", "t1_us < t0_us")),
    (
        "documents at a time that no clock has",
        _count("document", f"{_outside('t0_us', 't1_us', 'known_us', 'until_us')} OR {_too_far('offset_us')}"),
    ),
    ("utterances whose confidence is no share", _count("utterance", "confidence NOT BETWEEN 0 AND 1")),
    ("entities known at a time that no clock has", _count("entity", _outside("known_us"))),
    ("aliases of a time that no clock has", _count("alias", _outside("known_us", "until_us"))),
    ("merges at a time that no clock has", _count("entity_merge", _outside("known_us", "until_us"))),
    ("mentions with no possible score or time", _count("mention", f"{_outside('known_us')} OR NOT {_FINITE.format('score')}")),
    ("relations that end before they begin", _count("relation", "t1_us < t0_us")),
    (
        "relations at a time that no clock has",
        _count("relation", _outside("t0_us", "t1_us", "known_us", "until_us")),
    ),
    ("relations whose confidence is no share", _count("relation", "confidence NOT BETWEEN 0 AND 1")),
    ("parts with no possible score", _count("part", f"NOT {_FINITE.format('score')}")),
    (
        "parts whose box ends before it begins",
        _count(
            "part", "substr(box, 1, 2) > substr(box, 5, 2) OR substr(box, 3, 2) > substr(box, 7, 2)"
        ),  # sides are 16 bits, large end first
    ),
    ("spaces of vectors with a damaged calibration", _count("vec_space", "NOT json_valid(calibration)")),
    ("spaces of vectors with no possible dimension", _count("vec_space", f"dim NOT BETWEEN 1 AND {MOST_DIM}")),
    ("sessions whose numbers are none", _count("session", f"NOT ({' AND '.join(_FINITE.format(c) for c in ('confidence', 'usd', 'ms'))})")),
    ("sessions with damaged notes", _count("session", "NOT json_valid(notes)")),
    ("steps of sessions that cannot be read", _count("step", "NOT json_valid(action) OR NOT json_valid(result)")),
)
"""(what is wrong, SQL that counts it)."""


def impossible_packed(connection: sqlite3.Connection) -> list[str]:
    """One line for each kind of packed rows that cannot be read, or say what cannot be. Reads every observation and every call."""
    terms = {term_id for (term_id,) in connection.execute("SELECT id FROM term")}
    damaged = reversed_boxes = calls = 0
    for (data,) in connection.execute("SELECT data FROM observation"):
        try:
            seen = observations.decode(data)
        except msgspec.MsgspecError:
            damaged += 1
            continue
        damaged += not {one for term_id, _, colour_id, _ in seen for one in (term_id, colour_id or term_id)} <= terms
        reversed_boxes += any(box and not (0 <= box[0] <= box[2] <= MOST_SIDE and 0 <= box[1] <= box[3] <= MOST_SIDE) for *_, box in seen)
    for (request,) in connection.execute("SELECT request FROM call WHERE length(request) > 0"):
        try:
            msgspec.msgpack.decode(request)
        except msgspec.MsgspecError:
            calls += 1
    found = {
        "moments whose observations cannot be read": damaged,
        "moments with boxes that end before they begin": reversed_boxes,
        "calls of sessions that cannot be read": calls,
    }
    return [f"{number} {what}" for what, number in found.items() if number]


def impossible_vectors(connection: sqlite3.Connection) -> list[str]:
    """One line for each space with vectors of another length, or with components that are no numbers. Reads every vector."""
    found = []
    for space_id, name, dim in connection.execute("SELECT id, name, dim FROM vec_space ORDER BY id").fetchall():
        cursor = connection.execute("SELECT data FROM vec WHERE id & 255 = ?", (space_id,))
        wrong = 0
        while rows := cursor.fetchmany(_MOST_VECTORS if dim <= MOST_DIM else 1):
            whole = [data for (data,) in rows if len(data) == 2 * dim]
            wrong += len(rows) - len(whole)
            if whole:
                wrong += int((~np.isfinite(np.frombuffer(b"".join(whole), np.float16).reshape(-1, dim)).all(axis=1)).sum())
        if wrong:
            found.append(f'{wrong} vectors of "{name}" are no vectors of that space')
    return found
