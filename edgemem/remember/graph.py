"""Entities and the relations between them: written by a transaction, read through a view as they were known at its cut-off.

A relation is a timed, sourced, versioned edge. Every kind of edge that the published systems draw (who did what to whom, what came
before or caused what, what a summary rests on) is a row of one table, told apart by its type.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from edgemem.errors import MemoryDirError
from edgemem.records import Entity, Quote, Relation
from edgemem.remember import room
from edgemem.remember.entries import NewEntity, NewMention, NewRelation
from edgemem.remember.reading import FOREVER_US, Reading, ids_list, in_stream
from edgemem.remember.writing import Writing

# As for documents, a view never says that a relation will be replaced. Both ends must be known, or their names would leak.
_KNOWN = (
    "r.known_us <= :as_of AND (r.until_us IS NULL OR r.until_us > :as_of)"
    " AND EXISTS (SELECT 1 FROM entity e WHERE e.id = r.source_id AND e.known_us <= :as_of)"
    " AND EXISTS (SELECT 1 FROM entity e WHERE e.id = r.target_id AND e.known_us <= :as_of)"
)


class GraphWriting(Writing):
    """The part of `Transaction` that writes entities and relations."""

    def add_entity(self, new: NewEntity) -> int:
        """Id of the entity of this kind and name, made when new."""
        self._allowance.claim(room.relation_pages(len(new.name)) // 2)
        return self._insert(
            "INSERT INTO entity (kind, name, known_us, segment_id) VALUES (?, ?, ?, ?) ON CONFLICT (kind, name) DO UPDATE SET"
            " known_us = min(known_us, excluded.known_us), segment_id = ifnull(excluded.segment_id, segment_id) RETURNING id",
            (new.kind, new.name, new.known_us, new.segment_id),
        )

    def add_alias(self, entity_id: int, name: str, known_us: int) -> int:
        """Another name of an entity; the id takes it back."""
        self._allowance.claim(room.relation_pages(len(name)) // 4)
        return self._insert("INSERT INTO alias (entity_id, name, known_us) VALUES (?, ?, ?)", (entity_id, name, known_us))

    def retract_alias(self, alias_id: int, until_us: int) -> None:
        """The alias was wrong; views before `until_us` go on seeing it."""
        self.connection.execute("UPDATE alias SET until_us = ? WHERE id = ?", (until_us, alias_id))

    def add_mention(self, new: NewMention) -> int:
        """Note where an entity was seen or spoken of."""
        self._allowance.claim(room.relation_pages(0) // 2)
        return self._insert(
            "INSERT INTO mention (entity_id, document_id, moment_id, score, known_us) VALUES (?, ?, ?, ?, ?)",
            (new.entity_id, new.document_id, new.moment_id, new.score, new.known_us),
        )

    def add_relation(self, new: NewRelation) -> int:
        """Store an edge with the quotes that it rests on."""
        self._allowance.claim(room.relation_pages(sum(len(quote.text) for quote in new.quotes)))
        relation_id = self._insert(
            "INSERT INTO relation (type, source_id, target_id, stream_id, t0_us, t1_us, confidence, known_us)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                new.type,
                new.source_id,
                new.target_id,
                self._stream(new.stream, new.t0_us),
                new.t0_us,
                new.t1_us,
                new.confidence,
                new.known_us,
            ),
        )
        self.connection.executemany(
            "INSERT INTO relation_evidence (relation_id, document_id, moment_id, origin, quote) VALUES (?, ?, ?, ?, ?)",
            [(relation_id, quote.document_id, quote.moment_id, quote.origin, quote.text) for quote in new.quotes],
        )
        return relation_id

    def end_relation(self, relation_id: int, until_us: int) -> None:
        """The edge no longer holds; views before `until_us` go on seeing it. Raises MemoryDirError if it ended before."""
        sql = "UPDATE relation SET until_us = ? WHERE id = ? AND until_us IS NULL"
        if not self.connection.execute(sql, (until_us, relation_id)).rowcount:
            raise MemoryDirError(f"relation r{relation_id} does not exist or was replaced already")

    def drop_relation(self, relation_id: int) -> None:
        """Remove an edge with its quotes; its ends stay."""
        self._allowance.claim(room.relation_pages(0))
        self.connection.execute("DELETE FROM relation WHERE id = ?", (relation_id,))

    def replace_relation(self, relation_id: int, new: NewRelation) -> int:
        """Store a new version; views before `new.known_us` go on seeing the old one."""
        self.end_relation(relation_id, new.known_us)
        return self.add_relation(new)


class GraphReading(Reading):
    """The part of `View` that reads entities and relations."""

    def entities(self, *, kind: str | None = None, name: str | None = None, limit: int | None = None) -> list[Entity]:
        """Entities known at the cut-off in the order of their id; `name` also finds an alias, in upper or lower case."""
        of_kind = "" if kind is None else "AND e.kind = :kind"
        values: dict[str, object] = {"kind": kind, "limit": -1 if limit is None else limit}
        found = self._entities(f"1 {of_kind} ORDER BY e.id LIMIT :limit" if name is None else f"1 {of_kind} ORDER BY e.id", **values)
        if name is None:
            return found
        # `casefold` rather than SQL's lower(), which knows ASCII only.
        wanted = name.casefold()
        named = [entity for entity in found if wanted in {word.casefold() for word in (entity.name, *entity.aliases)}]
        return named[:limit]

    def relations(
        self,
        *,
        entity_id: int | None = None,
        type: str | None = None,  # noqa: A002 - the noun of the field
        stream: str | None = None,
        from_us: int | None = None,
        to_us: int | None = None,
        limit: int | None = None,
    ) -> list[Relation]:
        """Relations known at the cut-off that overlap the range, in the order of their beginning; `entity_id` may be either end."""
        where = (
            f"{_KNOWN} AND r.t1_us >= :from_us AND r.t0_us <= :to_us {in_stream('r', stream)}"
            + ("" if entity_id is None else " AND :entity_id IN (r.source_id, r.target_id)")
            + ("" if type is None else " AND r.type = :type")
        )
        rows = self._all(
            "SELECT r.id, r.type, r.source_id, r.target_id, r.stream_id, r.t0_us, r.t1_us, r.confidence, r.known_us"  # noqa: S608
            f" FROM relation r WHERE {where} ORDER BY r.t0_us, r.id LIMIT :limit",
            entity_id=entity_id,
            type=type,
            limit=-1 if limit is None else limit,
            **{**self._range(from_us, None, stream), "to_us": FOREVER_US if to_us is None else to_us},
        )
        return self._relations(rows)

    def relation(self, relation_id: int) -> Relation | None:
        """The relation with this id; None if it is unknown, forgotten or not known at the cut-off."""
        rows = self._all(
            "SELECT r.id, r.type, r.source_id, r.target_id, r.stream_id, r.t0_us, r.t1_us, r.confidence, r.known_us"  # noqa: S608
            f" FROM relation r WHERE {_KNOWN} AND r.id = :id",
            id=relation_id,
        )
        return next(iter(self._relations(rows)), None)

    def count_relations(self) -> int:
        """How many relations are known at the cut-off."""
        number: int = self._all(f"SELECT count(*) FROM relation r WHERE {_KNOWN}")[0][0]  # noqa: S608
        return number

    def _entities(self, where: str, **values: object) -> list[Entity]:
        rows = self._all(
            "SELECT e.id, e.kind, e.name, g.id FROM entity e LEFT JOIN segment g ON g.id = e.segment_id AND g.t1_us <= :as_of"  # noqa: S608
            f" WHERE e.known_us <= :as_of AND {where}",
            **values,
        )
        aliases = defaultdict(list)
        sql = (
            "SELECT entity_id, name FROM alias WHERE known_us <= :as_of AND (until_us IS NULL OR until_us > :as_of)"  # noqa: S608
            f" AND entity_id IN {ids_list([row[0] for row in rows])} ORDER BY id"
        )
        for entity_id, name in self._all(sql):
            aliases[entity_id].append(name)
        return [Entity(id=row[0], kind=row[1], name=row[2], aliases=tuple(aliases[row[0]]), segment_id=row[3]) for row in rows]

    def _relations(self, rows: Sequence[tuple[Any, ...]]) -> list[Relation]:
        ends = {entity.id: entity for entity in self._entities(f"e.id IN {ids_list(sorted({end for row in rows for end in row[2:4]}))}")}
        quotes = defaultdict(list)
        # A picture or document that is not known yet may not be named, even by a relation that claims to be.
        sql = (
            "SELECT v.relation_id, v.quote, v.origin, d.id, m.id FROM relation_evidence v"  # noqa: S608
            " LEFT JOIN document d ON d.id = v.document_id AND d.known_us <= :as_of LEFT JOIN moment m ON m.id = v.moment_id"
            f" AND m.t_us <= :as_of WHERE v.relation_id IN {ids_list([row[0] for row in rows])} ORDER BY v.id"
        )
        for relation_id, text, origin, document_id, moment_id in self._all(sql):
            quotes[relation_id].append(Quote(text=text, origin=origin, document_id=document_id, moment_id=moment_id))
        return [
            Relation(
                id=row[0],
                type=row[1],
                source=ends[row[2]],
                target=ends[row[3]],
                stream=self._stream_name(row[4]),
                t0_us=row[5],
                t1_us=row[6],
                confidence=row[7],
                known_us=row[8],
                quotes=tuple(quotes[row[0]]),
            )
            for row in rows
        ]
