"""Vector search in one space: the writer keeps the sidecar equal to SQLite, and any number of views read it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from edgemem.records import Matrix, Vector
from edgemem.remember.disk.schema import SPACE_BITS
from edgemem.remember.vectors.kernels import (
    Int8,
    Positions,
    Scores,
    best,
    hamming,
    nearest,
    quantise,
    quantise_query,
    scan,
    scan_some,
    signs,
)
from edgemem.remember.vectors.sidecar import ROW, Columns, Header, Mapped, RowArray, Sidecar

_FETCH_ROWS = 1024
_FETCH_KEYS = 16
_FETCH = f"SELECT id >> {SPACE_BITS}, data FROM vec WHERE id IN ({','.join('?' * _FETCH_KEYS)})"  # noqa: S608
"""Always the same text, so that SQLite compiles it only once: saves 0.2 ms of a first search."""
_RESCORE_LEAST = 32
_RESCORE_MOST = 400
"""Candidates of the int8 scan that are rescored with the f16 originals: three times the requested number, within these limits. With 32,
recall@10 rose from 0.978 to 0.9975 for 100,000 clustered vectors."""
_SURE = 4
"""Number of standard errors within which an estimate counts as right. Rounding to int8 has an error of scale / sqrt(12) per component, so
the product of two unit vectors has sqrt((scale_row^2 + scale_query^2) / 12). Rows that cannot be among the best by this are not rescored.
For 100,000 clustered vectors about 12 of the 32 remain; rescoring them is most of the cost of a search besides the scan."""
_GATHER_SHARE = 0.2
"""Below this share of the rows, copying them first is faster than scanning all (5 % copied: a sixth of the time of the scan)."""
_SIGNS_LEAST = 50_000
"""From this number of rows, the sign bits are scanned first: 1.4 ms instead of 2.1 ms for the int8 scan, and 6.9 instead of 11.4 at 300,000
rows."""
_SIGNS_SHARE = 100
_SIGNS_FEWEST = 2000
"""One row in a hundred, but at least this many, is passed from the sign bits to the int8 scan: recall@10 is 1.000 for 50,000 to 300,000
clustered vectors and .99 for a million, with queries from other clusters. With 400 rows it was .97 for 100,000 and .86 for a million."""
_TAIL_LEAST = 4096
"""Unsorted rows that may wait before the writer sorts the file; in a large file, a tenth of it may."""
_PATIENCE = 10
"""How often a reader tries again while the writer is between SQLite's commit and that of the sidecar."""


Holds = Literal["moment", "passage", "entity", "part"]
_PLACES: dict[Holds, str] = {
    "moment": "SELECT o.id, o.t_us, o.stream_id FROM moment o",
    "passage": "SELECT o.id, d.t0_us, d.stream_id FROM passage o JOIN document d ON d.id = o.document_id",
    "entity": "SELECT o.id, 0, 0 FROM entity o",
    "part": (
        "SELECT o.id, ifnull(m.t_us, d.t0_us) + o.start_us, ifnull(m.stream_id, d.stream_id) FROM part o"
        " LEFT JOIN moment m ON m.id = o.moment_id LEFT JOIN document d ON d.id = o.document_id"
    ),
}
"""Time and stream of the owners of vectors: a passage begins with its document, an entity has neither time nor stream."""


@dataclass(frozen=True)
class SpaceRow:
    """A row of vec_space."""

    id: int
    name: str
    dim: int
    metric: str
    calibration: str
    rows: int
    epoch: int
    holds: Holds


def space_row(connection: sqlite3.Connection, name: str) -> SpaceRow | None:
    found = connection.execute(
        "SELECT id, name, dim, metric, calibration, rows, epoch, holds FROM vec_space WHERE name = ?", (name,)
    ).fetchone()
    return SpaceRow(*found) if found else None


def vec_id(owner_id: int, space_id: int) -> int:
    """Key of a vector by its owner: one seek finds it, and one range contains all vectors of that owner.

    The range also contains those of owners of other kinds with the same id: `vec_space.holds` distinguishes them.
    """
    return (owner_id << SPACE_BITS) + space_id


def fetch(connection: sqlite3.Connection, space_id: int, dim: int, moment_ids: Sequence[int]) -> tuple[list[int], Matrix]:
    """The f16 originals as float32 [n, dim], and their ids: those that exist, in the requested order."""
    found: dict[int, bytes] = {}
    for start in range(0, len(moment_ids), _FETCH_KEYS):
        keys = [vec_id(moment_id, space_id) for moment_id in moment_ids[start : start + _FETCH_KEYS]]
        found.update(connection.execute(_FETCH, keys + [-1] * (_FETCH_KEYS - len(keys))))
    present = [moment_id for moment_id in moment_ids if moment_id in found]
    data = b"".join(found[moment_id] for moment_id in present)
    return present, np.frombuffer(data, np.float16).reshape(-1, dim).astype(np.float32)


def read_all(connection: sqlite3.Connection, space: SpaceRow, after_id: int = 0) -> tuple[RowArray, Int8]:
    """Rows in time order and their int8 matrix, from SQLite. Ids up to `after_id` are left out."""
    connection.execute("BEGIN")  # rows and vectors as of one instant, whatever the writer does in between
    try:
        return _read_all(connection, space, after_id)
    finally:
        connection.execute("COMMIT")


def _read_all(connection: sqlite3.Connection, space: SpaceRow, after_id: int) -> tuple[RowArray, Int8]:
    places = connection.execute(
        f"{_PLACES[space.holds]} WHERE o.id > ?"  # noqa: S608
        f" AND EXISTS (SELECT 1 FROM vec v WHERE v.id = (o.id << {SPACE_BITS}) + ?) ORDER BY o.id",
        (after_id, space.id),
    ).fetchall()
    ids, times, streams = np.array(places, np.int64).reshape(-1, 3).T
    order = np.argsort(times, kind="stable")
    position = np.empty(len(order), np.intp)
    position[order] = np.arange(len(order))
    rows, matrix = np.zeros(len(ids), ROW), np.empty((len(ids), space.dim), np.int8)
    rows["moment_id"][position], rows["t_us"][position], rows["stream_id"][position] = ids, times, streams
    cursor = connection.execute(
        f"SELECT data FROM vec WHERE id >= ? AND id & {2**SPACE_BITS - 1} = ? ORDER BY id",  # noqa: S608
        (vec_id(after_id + 1, 0), space.id),
    )
    for start in range(0, len(ids), _FETCH_ROWS):
        data = b"".join(row[0] for row in cursor.fetchmany(_FETCH_ROWS))
        quantised, scales = quantise(np.frombuffer(data, np.float16).reshape(-1, space.dim).astype(np.float32))
        here = position[start : start + _FETCH_ROWS]
        matrix[here], rows["scale"][here] = quantised, scales
    return rows, matrix


class SpaceWriter:
    """Keeps one sidecar equal to SQLite. It belongs to the store and is called after each commit."""

    def __init__(self, connection: sqlite3.Connection, directory: Path, space: SpaceRow, memory_id: bytes) -> None:
        self.space = space
        self._connection = connection
        self._files = Sidecar(directory, space.name, space.dim, memory_id)
        self._header: Header | None = None
        mapped = self._files.map()
        if mapped and (mapped.header.live, mapped.header.epoch) == (space.rows, space.epoch):
            self._header = mapped.header
        else:
            self.rebuild()

    def append(self, moment_ids: Sequence[int], times_us: Sequence[int], stream_ids: Sequence[int], vectors: Matrix) -> None:
        """Add rows that were just committed."""
        order = np.argsort(np.asarray(times_us), kind="stable")
        rows = np.zeros(len(order), ROW)
        rows["moment_id"], rows["t_us"] = np.asarray(moment_ids)[order], np.asarray(times_us)[order]
        rows["stream_id"] = np.asarray(stream_ids)[order]
        matrix, rows["scale"] = quantise(vectors[order])
        if self._header is None:
            self.rebuild()
            return
        try:
            self._header = self._files.append(rows, matrix, self._header)
        except BaseException:
            self._header = None
            raise

    def erase(self, moment_ids: Sequence[int], epoch: int, *, more: bool = False) -> None:
        """Erase rows whose deletion was just committed; `epoch` is the new epoch. `more`: rows of this commit follow, and the files match
        no reader until `append` wrote them: an old owner's new row is not among the ids after the last one.
        """
        if self._header is None:
            self.rebuild()
            return
        try:
            header = self._files.erase(np.asarray(moment_ids, np.int64), replace(self._header, epoch=-1 if more else epoch))
            self._header = replace(header, epoch=epoch)
        except BaseException:
            self._header = None
            raise

    @property
    def lost(self) -> bool:
        """Whether the files lack something since they could not be written, and must be rebuilt before the next change."""
        return self._header is None

    @property
    def row_bytes(self) -> int:
        """Bytes of one vector in the files."""
        return self._files.row_bytes

    def compact(self, spare_bytes: int | None = None) -> bool:
        """Sort the unsorted rows and remove erased rows, if they are many or take `spare_bytes`. True if it rewrote the files."""
        header = self._header
        if header is not None:
            allowed = max(_TAIL_LEAST, header.count // 10)
            dead = allowed if spare_bytes is None else min(allowed, max(header.count // 10, spare_bytes // self.row_bytes))
            if header.count - header.ordered <= allowed and header.erased <= dead:
                return False
        self.rebuild()
        return True

    def rebuild(self) -> None:
        """Rewrite the sidecar from SQLite."""
        self._header = None  # where it fails, the next change tries again
        space = space_row(self._connection, self.space.name)
        assert space is not None
        rows, matrix = read_all(self._connection, space)
        self._header = self._files.rewrite(rows, matrix, space.epoch)

    def disk_bytes(self) -> int:
        return self._files.disk_bytes()

    def close(self) -> None:
        """Close the files."""
        self._files.close()


class SpaceReader:
    """Searches one space for a view. Before every search it checks that its mapping is still the newest."""

    def __init__(self, connection: sqlite3.Connection, directory: Path, space: SpaceRow, memory_id: bytes) -> None:
        self.space = space
        self._connection = connection
        self._memory_id = memory_id
        self._files = Sidecar(directory, space.name, space.dim, memory_id)
        self._mapped: Mapped | None = None
        self._truth: tuple[SpaceRow, Columns] | None = None

    def search(
        self,
        query: Vector,
        k: int,
        *,
        from_us: int,
        to_us: int,
        stream_id: int | None = None,
        among: Sequence[int] | None = None,
    ) -> list[tuple[int, float]]:
        """Moment ids and cosines, best first. Times are inclusive."""
        wanted = min(max(_RESCORE_LEAST, 3 * k), max(_RESCORE_MOST, k + _RESCORE_LEAST))
        quantised = quantise_query(query)
        chosen = None if among is None else np.unique(np.asarray(among, np.int64))
        found = [_candidates(part, quantised, _mask(part, stream_id, chosen), wanted) for part in self._parts(from_us, to_us)]
        ids, vectors = fetch(self._connection, self.space.id, self.space.dim, _contenders(found, k, wanted, quantised[1]))
        cosines = vectors @ np.asarray(query, np.float32)
        order = np.lexsort((np.asarray(ids), -cosines))[:k]
        return [(ids[i], float(cosines[i])) for i in order]

    def _parts(self, from_us: int, to_us: int) -> list[Columns]:
        """The rows in the time range: a slice, the unsorted rows, and the committed rows that the sidecar does not have yet."""
        mapped, extra = self._current()
        parts = []
        if mapped:
            ordered = mapped.header.ordered
            times = mapped.columns.t_us[:ordered]
            low, high = int(np.searchsorted(times, from_us, "left")), int(np.searchsorted(times, to_us, "right"))
            parts.append(mapped.columns[low:high])
            if ordered < mapped.header.count:
                parts.append(within(mapped.columns[ordered:], from_us, to_us))
        if extra:
            parts.append(within(extra, from_us, to_us))
        return [part for part in parts if len(part)]

    def _current(self) -> tuple[Mapped | None, Columns | None]:
        """The newest mapping that matches SQLite, and the rows that must be read from SQLite in addition or instead."""
        space = None
        for attempt in range(_PATIENCE):
            space = space_row(self._connection, self.space.name)
            seen = self._files.header()
            if space is None or seen is None:
                break
            if seen[0].epoch == space.epoch:
                mapped = self._mapped
                if mapped is None or (mapped.header, mapped.inode) != seen:
                    mapped = self._mapped = self._files.map()
                if mapped and mapped.header.epoch == space.epoch:
                    behind = mapped.header.live < space.rows
                    self._truth = None
                    return mapped, Columns.of(*read_all(self._connection, space, mapped.header.last_id)) if behind else None
            time.sleep(0.002 * attempt)
        if space is None:
            return None, None
        # The files are lost or damaged and only the writer may repair them: read SQLite instead, which is slower but correct.
        if self._truth is None or self._truth[0] != space:
            self._truth = space, Columns.of(*read_all(self._connection, space))
        return None, self._truth[1]


def within(part: Columns, from_us: int, to_us: int) -> Columns:
    """The rows in that time range."""
    inside = (part.t_us >= from_us) & (part.t_us <= to_us)
    return part if inside.all() else part[inside]


def _mask(part: Columns, stream_id: int | None, chosen: npt.NDArray[np.int64] | None) -> npt.NDArray[np.bool_] | None:
    """Mask of the rows that may be found; None = all. An erased row has moment 0."""
    mask = part.moment_id > 0
    if stream_id is not None:
        mask &= part.stream_id == stream_id
    if chosen is not None:
        mask &= np.isin(part.moment_id, chosen)
    return None if mask.all() else mask


class _Candidates(NamedTuple):
    """Estimated cosines, ids and scales of some rows."""

    scores: Scores
    ids: npt.NDArray[np.int64]
    scales: npt.NDArray[np.float32]


def _candidates(
    part: Columns,
    query: tuple[Int8, float],
    inside: npt.NDArray[np.bool_] | None,
    k: int,
) -> _Candidates:
    """The k rows with the best estimates, unordered."""
    some = _promising(part, query[0], inside, k)
    if some is not None:
        scores = scan_some(part.matrix, some, query[0])
        scores *= part.scale[some]
        top = best(scores, k)
        found = some[top]
    else:
        scores = scan(part.matrix, query[0])
        scores *= part.scale
        if inside is not None:
            scores[~inside] = -np.inf
        top = best(scores, k)
        found = top = top[scores[top] > -np.inf]
    return _Candidates(scores[top] * query[1], part.moment_id[found], part.scale[found])


def _contenders(found: Sequence[_Candidates], k: int, most: int, query_scale: float) -> list[int]:
    """Ids that contain the k best, with the certainty of `_SURE`; at most `most`, best first."""
    if not found:
        return []
    scores, ids, scales = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.argsort(-scores, kind="stable")[:most]
    if len(order) > k:
        estimates, errors = scores[order], _SURE * np.sqrt((np.square(scales[order]) + query_scale**2) / 12)
        order = order[estimates + errors >= (estimates - errors)[:k].min()]
    chosen: list[int] = ids[order].tolist()
    return chosen


def _promising(part: Columns, query: Int8, inside: npt.NDArray[np.bool_] | None, k: int) -> Positions | None:
    """The rows to scan with int8; None = all that are `inside`."""
    if inside is not None and inside.mean() < _GATHER_SHARE:
        return np.flatnonzero(inside)
    if len(part) < _SIGNS_LEAST:
        return None
    distances = hamming(part.signs, signs(query[None, :])[0])
    if inside is not None:
        distances[~inside] = np.inf
    some = nearest(distances, max(len(part) // _SIGNS_SHARE, _SIGNS_FEWEST, 8 * k))
    return some if inside is None else some[inside[some]]
