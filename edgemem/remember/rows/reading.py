"""The base of a view: the read-only connection, the cut-off in every statement, and the conversion of rows to records."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from edgemem.errors import MemoryDirError
from edgemem.records import Document, Moment, Segment
from edgemem.remember.disk import database, keys, schema
from edgemem.remember.disk.error_translation import translated_errors
from edgemem.remember.rows import observations as packing
from edgemem.remember.vectors.resident import ResidentReader
from edgemem.remember.vectors.search import SpaceReader, space_row

FOREVER_US = 2**63 - 1
"""Cut-off of a view that shows everything."""
SOONEST_US = -(2**63)

# A role that was set later is known from then on; the role "representative" is known when its segment is.
_ROLE = (
    "CASE WHEN m.role_us > :as_of OR m.role = 'representative' AND"
    " NOT EXISTS (SELECT 1 FROM segment g WHERE g.representative_id = m.id AND g.t1_us <= :as_of)"
    " THEN '' ELSE m.role END"
)
_MOMENT = (
    f"SELECT m.id, m.stream_id, m.seq, m.t_us, m.offset_us, m.width_px, m.height_px, m.sharpness, m.tier, s.id, {_ROLE}, m.pinned"  # noqa: S608
    " FROM moment m LEFT JOIN segment s ON s.id = m.segment_id AND s.t1_us <= :as_of"
)
_SEGMENT = (
    "SELECT g.id, g.stream_id, g.segmenter, g.t0_us, g.t1_us, g.offset_us, g.representative_id, g.level, h.id"
    " FROM segment g LEFT JOIN segment h ON h.id = g.parent_id AND h.t1_us <= :as_of"
)
_DOCUMENT = (
    "SELECT d.id, d.kind, d.text, d.stream_id, d.t0_us, d.t1_us, d.offset_us, d.known_us, d.origin, d.segment_id, d.moment_id"
    " FROM document d"
)
# A view does not show that a document will be replaced later: `until_us` of what it shows is after the cut-off.
KNOWN = "d.known_us <= :as_of AND (d.until_us IS NULL OR d.until_us > :as_of)"


_MOST_TERMS = 50_000
"""Most names that a view caches: a few MB."""
_FEW = 1000
"""Up to this many moments, their packed observations (about 10 us each) are read faster than the postings of one common name."""


class RowReader:
    """Base of `View`: every statement binds `:as_of`."""

    def __init__(self, directory: Path, connection: sqlite3.Connection, as_of_us: int, budget_bytes: int | None) -> None:
        self.directory = directory
        self.as_of_us = as_of_us
        self._connection = connection
        self._budget_bytes = budget_bytes
        self._memory_id = bytes.fromhex(self._all("SELECT value FROM meta WHERE key = 'memory_id'")[0][0])
        self._stream_names: dict[int, str] = {}
        self._terms: dict[int, tuple[str, str]] = {}
        self._spaces: dict[str, SpaceReader] = {}
        self._hidden: tuple[int, Counter[int]] | None = None

    @property
    def encrypted(self) -> bool:
        """Whether the memory is encrypted on disk."""
        return database.is_cipher(self._connection)

    def _all(self, sql: str, **values: object) -> list[tuple[Any, ...]]:
        with translated_errors(self.directory):
            return self._connection.execute(sql, {"as_of": self.as_of_us, **values}).fetchall()

    def _range(self, from_us: int | None, to_us: int | None, stream: str | None) -> dict[str, int]:
        """Values of an SQL statement for a time range, limited by the cut-off, and for `in_stream`."""
        return {
            "from_us": SOONEST_US if from_us is None else from_us,
            "to_us": self.as_of_us if to_us is None else min(to_us, self.as_of_us),
            "stream_id": self._stream_id(stream),
        }

    def _stream_id(self, name: str | None) -> int:
        """Id of a stream; 0, which no stream has, for None and for an unknown name."""
        if name is None:
            return 0
        found = self._all("SELECT id FROM stream WHERE name = :name", name=name)
        return found[0][0] if found else 0

    def _stream_name(self, stream_id: int) -> str:
        if stream_id not in self._stream_names:
            self._stream_names.update(self._all("SELECT id, name FROM stream"))
        return self._stream_names.get(stream_id, "")  # "": it was forgotten since the row was read

    def _term(self, term_id: int) -> tuple[str, str]:
        """Kind and name of an interned id. Raises KeyError if it was deleted with the last moment that had it."""
        if term_id not in self._terms:
            if len(self._terms) >= _MOST_TERMS:
                self._terms.clear()
            self._terms |= {row[0]: row[1:] for row in self._all("SELECT id, kind, name FROM term WHERE id = :id", id=term_id)}
        return self._terms[term_id]

    def _space(self, name: str) -> SpaceReader | None:
        if name not in self._spaces:
            with translated_errors(self.directory):
                row = space_row(self._connection, name)
            if row is None:
                return None
            kind = ResidentReader if database.is_cipher(self._connection) else SpaceReader
            self._spaces[name] = kind(self._connection, self.directory, row, self._memory_id)
        return self._spaces[name]

    def _postings_of_few(
        self,
        terms: Sequence[tuple[str, str, int]],
        in_this_stream: str,
        values: Mapping[str, int],
    ) -> dict[int, list[tuple[int, int, int, int, int]]] | None:
        """Postings by term, best first, read from the moments themselves if these are few; None if they are many.

        To find the postings of a short time, all postings of a common name must be read: 33 ms per name with 100,000 moments.
        """
        condition = f"m.t_us BETWEEN :from_us AND :to_us {in_this_stream}"
        few = self._all(f"SELECT m.id FROM moment m WHERE {condition} LIMIT {_FEW + 1}", **values)  # noqa: S608
        if len(few) > _FEW:
            return None
        rows: dict[int, list[tuple[int, int, int, int, int]]] = {term_id: [] for _, _, term_id in terms}
        sql = f"SELECT m.id, m.t_us, o.data FROM moment m JOIN observation o ON o.moment_id = m.id WHERE {condition} ORDER BY m.id"  # noqa: S608
        for moment_id, t_us, data in self._all(sql, **values):
            for term_id, score_ppm, colour_id, box in packing.decode(data):
                if term_id in rows:
                    rows[term_id].append((moment_id, t_us, score_ppm, colour_id, packing.area_ppm(box)))
        for found in rows.values():
            found.sort(key=lambda row: -row[2])
        return rows

    def _hidden_counts(self) -> Counter[int]:
        """By term: how many moments after the cut-off have it. Cached for this view, because another view has another cut-off."""
        newest = self._all("SELECT max(t_us) FROM moment")[0][0]
        if newest is None or newest <= self.as_of_us:
            return Counter()
        if self._hidden is None or self._hidden[0] != newest:
            sql = "SELECT o.data FROM moment m JOIN observation o ON o.moment_id = m.id WHERE m.t_us > :as_of"
            counts: Counter[int] = Counter()
            for (data,) in self._all(sql):
                counts.update({packed[0] for packed in packing.decode(data)})
            self._hidden = newest, counts
        return self._hidden[1]

    def _moments(self, where: str, order: str = "", **values: object) -> list[Moment]:
        return [
            Moment(
                id=row[0],
                stream=self._stream_name(row[1]),
                seq=row[2],
                t_us=row[3],
                offset_us=row[4],
                width_px=row[5],
                height_px=row[6],
                sharpness=row[7],
                tier=row[8],
                segment_id=row[9],
                role=row[10],
                pinned=bool(row[11]),
            )
            for row in self._all(f"{_MOMENT} WHERE m.t_us <= :as_of AND {where} {order}", **values)
        ]

    def _segments(self, where: str, **values: object) -> list[Segment]:
        return [
            Segment(
                id=row[0],
                stream=self._stream_name(row[1]),
                segmenter=row[2],
                t0_us=row[3],
                t1_us=row[4],
                offset_us=row[5],
                representative_id=row[6],
                level=row[7],
                parent_id=row[8],
            )
            for row in self._all(f"{_SEGMENT} WHERE g.t1_us <= :as_of AND {where}", **values)
        ]

    def _documents(self, where: str, **values: object) -> list[Document]:
        return [
            Document(
                id=row[0],
                kind=row[1],
                text=row[2],
                stream=self._stream_name(row[3]),
                t0_us=row[4],
                t1_us=row[5],
                offset_us=row[6],
                known_us=row[7],
                origin=row[8],
                segment_id=row[9],
                moment_id=row[10],
            )
            for row in self._all(f"{_DOCUMENT} WHERE {KNOWN} AND {where}", **values)
        ]

    def _documents_where(
        self,
        kinds: Sequence[str] | None,
        from_us: int | None,
        to_us: int | None,
        stream: str | None,
    ) -> tuple[str, dict[str, object]]:
        """SQL condition on the table `d`, with its values: documents that overlap the range and are known."""
        values: dict[str, object] = {**self._range(from_us, None, stream), "to_us": FOREVER_US if to_us is None else to_us}
        of_kind = ""
        if kinds is not None:
            values.update((f"kind{i}", kind) for i, kind in enumerate(kinds))
            of_kind = f"AND d.kind IN ({', '.join(f':kind{i}' for i in range(len(kinds)))})"
        return f"d.t1_us >= :from_us AND d.t0_us <= :to_us {of_kind} {in_stream('d', stream)}", values


def in_stream(table: str, stream: str | None) -> str:
    """SQL condition for one stream, if one is given."""
    return "" if stream is None else f"AND {table}.stream_id = :stream_id"


def ids_list(ids: Sequence[int]) -> str:
    """Ids as an SQL list; they are always integers."""
    return "(" + ",".join(str(int(i)) for i in ids) + ")"


def connect(directory: Path) -> sqlite3.Connection:
    """A connection that cannot write, with the configured key. In a read-only directory it reads the database file as it is."""
    try:
        return _probe(directory, "ro")
    except database.errors("OperationalError") as error:
        # WAL needs its shared-memory file; if that cannot be created, no writer can be active either.
        if not any(sign in str(error) for sign in ("unable to open", "readonly")):
            raise
        wal = directory / f"{schema.DATABASE}-wal"
        if wal.exists() and wal.stat().st_size:
            raise MemoryDirError(
                f"memory {directory} was not closed and cannot be written: make it writable once, or read a copy of the whole directory",
            ) from error
        return _probe(directory, "immutable")


def _probe(directory: Path, mode: Literal["ro", "immutable"]) -> sqlite3.Connection:
    opened = database.connect(directory / schema.DATABASE, keys.configured(), mode=mode)
    try:
        schema.configure(opened)
        opened.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        schema.version_of(opened, directory)  # raises an error if it is no memory
    except BaseException:
        opened.close()
        raise
    return opened
