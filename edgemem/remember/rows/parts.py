"""Parts of moments and documents (objects, faces, voices) and the vectors by which entities are recognised."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

import numpy as np

from edgemem.errors import MemoryDirError, UsageError
from edgemem.records import Box, Entity, Matrix, Moment, Vector
from edgemem.remember.disk import page_budget
from edgemem.remember.disk.error_translation import translated_errors
from edgemem.remember.entries import NewPart
from edgemem.remember.results import EntityHit, PartHit, StoredPart
from edgemem.remember.rows.appending import Appending
from edgemem.remember.rows.graph import GraphReading
from edgemem.remember.rows.reading import FOREVER_US, KNOWN, SOONEST_US, ids_list
from edgemem.remember.vectors.search import Holds, SpaceReader, fetch

_BOX = struct.Struct(">4H")
_U16 = 65535
_OVERSAMPLING = (4, 64)
"""How many vectors per requested one are read first; only if too few are known at the cut-off, all known ones are listed first."""
_STREAM = "ifnull(m.stream_id, d.stream_id)"
_BEGINS = "ifnull(m.t_us, d.t0_us) + p.start_us"
_ENDS = "ifnull(m.t_us, d.t0_us) + p.start_us + ifnull(p.dur_us, ifnull(d.t1_us - d.t0_us, 0))"
_PART_KNOWN = f"CASE WHEN p.moment_id IS NULL THEN {KNOWN} ELSE m.t_us <= :as_of AND {_ENDS} <= :as_of END"
"""A part is known when its owner is; a part of a moment must also have ended."""
_FROM = "FROM part p LEFT JOIN moment m ON m.id = p.moment_id LEFT JOIN document d ON d.id = p.document_id"


class PartWriting(Appending):
    """The part of `Transaction` that writes parts and the vectors of entities."""

    def add_part(self, new: NewPart) -> int:
        """Store a part with its vectors.

        Raises UsageError unless it belongs to one moment or one document, MemoryDirError if that is gone, EngineError for a space that is
        not for parts, BudgetError if it does not fit into the budget.
        """
        t_us, stream_id = self._owner(new)
        start_us = 0 if new.t0_us is None else new.t0_us - t_us
        dur_us = None if new.t1_us is None else new.t1_us - t_us - start_us
        if dur_us is not None and dur_us < 0:
            raise UsageError(f"a part ends {-dur_us} us before it begins")
        self._allowance.claim(page_budget.part_pages(sum(2 * vector.size for vector in new.vectors.values())))
        part_id = self._insert(
            "INSERT INTO part (moment_id, document_id, kind, box, start_us, dur_us, score, entity_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (new.moment_id, new.document_id, new.kind, _packed(new.box), start_us, dur_us, new.score, new.entity_id),
        )
        for space, vector in new.vectors.items():
            self._add_vector("part", space, vector, part_id, t_us + start_us, stream_id)
        return part_id

    def _owner(self, new: NewPart) -> tuple[int, int]:
        """Beginning and stream of the owner of the part."""
        if (new.moment_id is None) == (new.document_id is None):
            raise UsageError("a part belongs to one moment or to one document")
        sql, key = (
            ("SELECT t_us, stream_id FROM moment WHERE id = ?", new.moment_id)
            if new.document_id is None
            else ("SELECT t0_us, stream_id FROM document WHERE id = ?", new.document_id)
        )
        found = self.connection.execute(sql, (key,)).fetchone()
        if found is None:
            owner = f"m{new.moment_id}" if new.document_id is None else f"d{new.document_id}"
            raise MemoryDirError(f"a part cannot be stored: {owner} does not exist any more")
        return found[0], found[1]

    def set_entity_vector(self, entity_id: int, space: str, vector: Vector) -> None:
        """Set the vector by which `View.nearest_entities` finds this entity; it replaces an earlier one of that space.

        The vector has no time: views that know the entity find it by its latest vector. Raises EngineError for a space that is not for
        entities, MemoryDirError for an entity that is gone.
        """
        if not self.connection.execute("SELECT 1 FROM entity WHERE id = ?", (entity_id,)).fetchone():
            raise MemoryDirError(f"entity {entity_id} does not exist any more")
        self._allowance.claim(page_budget.part_pages(2 * vector.size))
        self._replace_vector("entity", space, vector, entity_id)

    def drop_entity_vectors(self, entity_id: int) -> None:
        """Delete the vectors of this entity: no vector search finds it until it gets another one."""
        self._allowance.claim(page_budget.part_pages(0))
        self._drop_vectors("entity", entity_id)

    def drop_parts(self, part_ids: Iterable[int]) -> None:
        """Remove these parts with their vectors; what they belong to stays."""
        for part_id in part_ids:
            self._allowance.claim(page_budget.part_pages(0))
            self._note_erased("part", part_id)
            self.connection.execute("DELETE FROM part WHERE id = ?", (part_id,))

    def _note_parts_erased(self, owner: str, owner_id: int) -> None:
        """Call before a moment or document is deleted with its parts; `owner` is the column with its id."""
        for (part_id,) in self.connection.execute(f"SELECT id FROM part WHERE {owner} = ?", (owner_id,)).fetchall():  # noqa: S608
            self._note_erased("part", part_id)

    def _parts_pages(self, owner: str, owner_id: int) -> int:
        """Pages that change when the parts of a moment or document are deleted."""
        number: int = self.connection.execute(f"SELECT count(*) FROM part WHERE {owner} = ?", (owner_id,)).fetchone()[0]  # noqa: S608
        return number * page_budget.part_pages(0)


class PartReading(GraphReading):
    """The part of `View` that reads parts, and finds parts and entities by vectors."""

    def parts(
        self,
        *,
        moment_id: int | None = None,
        document_id: int | None = None,
        entity_id: int | None = None,
        kind: str | None = None,
        known: bool = False,
        from_us: int | None = None,
        to_us: int | None = None,
        stream: str | None = None,
        limit: int | None = None,
    ) -> list[StoredPart]:
        """Parts known at the cut-off in time order: of a moment, of a document, of an entity (all its names), or all.

        `known`: only those of which it is said who or what they are.
        """
        where = f"{_BEGINS} <= :to_us AND {_ENDS} >= :from_us"
        where += "" if moment_id is None else " AND p.moment_id = :moment_id"
        where += "" if document_id is None else " AND p.document_id = :document_id"
        where += "" if entity_id is None else f" AND p.entity_id IN {ids_list(self._cluster(entity_id))}"
        where += "" if kind is None else " AND p.kind = :kind"
        where += " AND p.entity_id IS NOT NULL" if known else ""
        where += "" if stream is None else f" AND {_STREAM} = :stream_id"
        return self._parts(
            f"{where} ORDER BY {_BEGINS}, p.id LIMIT :limit",
            moment_id=moment_id,
            document_id=document_id,
            kind=kind,
            limit=-1 if limit is None else limit,
            **{**self._range(from_us, None, stream), "to_us": FOREVER_US if to_us is None else to_us},
        )

    def part_vectors(self, space: str, kind: str, moment_ids: Iterable[int]) -> tuple[list[StoredPart], Matrix]:
        """Parts of this kind in these moments, and their vectors: float32 [n, dim]. Those without a vector in the space are left out."""
        reader = self._space_of("part", space)
        if reader is None:
            return [], np.zeros((0, 0), np.float32)
        found = {part.id: part for part in self._parts(f"p.moment_id IN {ids_list(list(moment_ids))} AND p.kind = :kind", kind=kind)}
        with translated_errors(self.directory):
            present, matrix = fetch(self._connection, reader.space.id, reader.space.dim, sorted(found))
        return [found[key] for key in present], matrix

    def part_sample(self, space: str, kind: str, most: int) -> tuple[list[StoredPart], Matrix]:
        """The same of at most so many moments from all over the memory, evenly spaced by their ids."""
        newest = self._all("SELECT max(m.id) FROM moment m WHERE m.t_us <= :as_of")[0][0] or 0
        ids = np.unique(np.linspace(1, max(1, newest), min(most, max(1, newest))).astype(int)).tolist()
        return self.part_vectors(space, kind, ids)

    def part_space(self, kind: str) -> str:
        """The space of the newest part of this kind, "" where there is none with a vector."""
        sql = (
            "SELECT s.name FROM (SELECT id FROM part WHERE kind = :kind ORDER BY id DESC LIMIT 1) p"
            " JOIN vec_space s ON s.holds = 'part' JOIN vec v ON v.id = p.id * 256 + s.id"
        )
        found = self._all(sql, kind=kind)
        return str(found[0][0]) if found else ""

    def moments_without(self, kind: str, limit: int) -> list[Moment]:
        """Moments that have a picture and no part of this kind, the newest first."""
        lacks = "NOT EXISTS (SELECT 1 FROM part p WHERE p.moment_id = m.id AND p.kind = :kind)"
        return self._moments(f"m.tier <> 'stub' AND {lacks}", "ORDER BY m.t_us DESC, m.id DESC LIMIT :limit", kind=kind, limit=limit)

    def moments_without_vector(self, space: str, limit: int, *, newest_first: bool = False) -> list[Moment]:
        """Moments that have a picture and no vector in this space, the oldest first. Empty for a space that is unknown."""
        reader = self._space_of("moment", space)
        if reader is None:
            return []
        lacks = "NOT EXISTS (SELECT 1 FROM vec v WHERE v.id = (m.id << 8) + :space_id)"
        way = "DESC" if newest_first else "ASC"
        return self._moments(
            f"m.tier <> 'stub' AND {lacks}", f"ORDER BY m.id {way} LIMIT :limit", space_id=reader.space.id, limit=limit
        )  # fmt: skip

    def nearest_parts(
        self,
        space: str,
        vector: Vector,
        k: int,
        *,
        kind: str | None = None,
        from_us: int | None = None,
        to_us: int | None = None,
        stream: str | None = None,
    ) -> list[PartHit]:
        """The `k` parts with the vectors nearest to `vector`, a unit vector of that space, best first.

        Empty for a space that is unknown or not for parts.
        """
        reader = self._space_of("part", space)
        if reader is None or k <= 0:
            return []
        stream_id = None if stream is None else self._stream_id(stream)
        low_us, high_us = SOONEST_US if from_us is None else from_us, FOREVER_US if to_us is None else to_us
        of_kind = "" if kind is None else "AND p.kind = :kind"
        in_range = f"{_BEGINS} BETWEEN :low AND :high" + ("" if stream is None else f" AND {_STREAM} = :stream_id")
        bound = {"kind": kind, "low": low_us, "high": high_us, "stream_id": stream_id}
        for wanted in (*(k * times for times in _OVERSAMPLING), None):
            sql = f"SELECT p.id {_FROM} WHERE {_PART_KNOWN} AND {in_range} {of_kind}"
            among = [row[0] for row in self._all(sql, **bound)] if wanted is None else None
            limit = k if wanted is None else wanted
            with translated_errors(self.directory):
                found = reader.search(vector, limit, from_us=low_us, to_us=high_us, stream_id=stream_id, among=among)
            parts = {part.id: part for part in self._parts(f"p.id IN {ids_list([key for key, _ in found])} {of_kind}", kind=kind)}
            hits = [PartHit(part=parts[key], score=score) for key, score in found if key in parts]
            if len(hits) >= k or len(found) < limit:
                break
        return hits[:k]

    def nearest_entities(self, space: str, vector: Vector, k: int) -> list[EntityHit]:
        """The `k` entities with the vectors nearest to `vector`, a unit vector of that space, best first; merged ones are returned once.

        Empty for a space that is unknown or not for entities.
        """
        reader = self._space_of("entity", space)
        if reader is None or k <= 0:
            return []
        for wanted in (*(k * times for times in _OVERSAMPLING), None):
            known = "SELECT id FROM entity WHERE known_us <= :as_of"
            among = [row[0] for row in self._all(known)] if wanted is None else None
            limit = len(among) if among is not None else wanted or k
            with translated_errors(self.directory):
                found = reader.search(vector, limit, from_us=SOONEST_US, to_us=FOREVER_US, among=among)
            entities = self._entities([key for key, _ in found])
            hits: dict[int, EntityHit] = {}
            for key, score in found:
                if key in entities:
                    hits.setdefault(entities[key].id, EntityHit(entity=entities[key], score=score))
            if len(hits) >= k or len(found) < limit:
                break
        return list(hits.values())[:k]

    def _parts(self, where: str, **values: object) -> list[StoredPart]:
        rows = self._all(
            f"SELECT p.id, p.kind, p.moment_id, p.document_id, {_STREAM}, {_BEGINS}, {_ENDS}, p.score, p.box,"
            f" p.entity_id {_FROM} WHERE {_PART_KNOWN} AND {where}",
            **values,
        )
        entities = self._entities({row[9] for row in rows if row[9] is not None})
        return [_part(row, self._stream_name(row[4]), entities.get(row[9])) for row in rows]

    def _space_of(self, holds: Holds, name: str) -> SpaceReader | None:
        reader = self._space(name)
        return reader if reader is not None and reader.space.holds == holds else None


def _part(row: tuple[Any, ...], stream: str, entity: Entity | None) -> StoredPart:
    return StoredPart(
        id=row[0],
        kind=row[1],
        moment_id=row[2],
        document_id=row[3],
        stream=stream,
        t0_us=row[5],
        t1_us=row[6],
        score=row[7],
        box=unpacked(row[8]),
        entity=entity,
    )


def _packed(box: Box | None) -> bytes | None:
    if box is None:
        return None
    return _BOX.pack(*(round(min(1.0, max(0.0, side)) * _U16) for side in (box.x0, box.y0, box.x1, box.y1)))


def unpacked(data: bytes | None) -> Box | None:
    """The box of a part; exact to a 65535th of the picture."""
    return None if data is None else Box(*(side / _U16 for side in _BOX.unpack(data)))
