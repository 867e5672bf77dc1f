"""Entities and the relations between them: written by a transaction, read through a view as they were known at its cut-off.

A relation is an edge with a time, sources and versions. All edges of the published systems (who did what to whom, what came before or
caused what, the evidence of a summary) are rows of one table; the type distinguishes them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from edgemem.errors import MemoryDirError
from edgemem.records import Entity, Quote, Relation
from edgemem.remember.disk import page_budget
from edgemem.remember.entries import NewEntity, NewMention, NewRelation
from edgemem.remember.rows.appending import Appending
from edgemem.remember.rows.reading import FOREVER_US, RowReader, ids_list, in_stream

# As for documents, a view does not show that a relation will be replaced later. Both ends must be known, else their names would be visible.
RELATION_KNOWN = (
    "r.known_us <= :as_of AND (r.until_us IS NULL OR r.until_us > :as_of)"
    " AND EXISTS (SELECT 1 FROM entity e WHERE e.id = r.source_id AND e.known_us <= :as_of)"
    " AND EXISTS (SELECT 1 FROM entity e WHERE e.id = r.target_id AND e.known_us <= :as_of)"
)


USES = (
    ("part", "entity_id"), ("mention", "entity_id"), ("relation", "source_id"), ("relation", "target_id"), ("utterance", "speaker_id"),
)  # fmt: skip
"""Where an entity is referred to, beside merges."""
_UNUSED = " AND ".join(f"NOT EXISTS (SELECT 1 FROM {table} u WHERE u.{column} = e.id)" for table, column in USES)  # noqa: S608
# A name that a voice or a face had once, and that nothing tells of any more: it was corrected or removed. Earlier views show it.
_NAMES_NOBODY = (
    "SELECT e.id FROM entity e WHERE e.kind = 'person' AND e.id IN (SELECT g.into_id FROM entity_merge g"  # noqa: S608 - our own names
    " JOIN entity f ON f.id = g.from_id AND f.kind IN ('voice', 'face') WHERE g.until_us <= :as_of)"
    " AND NOT EXISTS (SELECT 1 FROM entity_merge g WHERE e.id IN (g.from_id, g.into_id) AND g.known_us <= :as_of"
    f" AND (g.until_us IS NULL OR g.until_us > :as_of)) AND {_UNUSED}"
)
_ALIAS_KNOWN = "a.known_us <= :as_of AND (a.until_us IS NULL OR a.until_us > :as_of)"


class GraphWriting(Appending):
    """The part of `Transaction` that writes entities and relations."""

    def add_entity(self, new: NewEntity) -> int:
        """Id of the entity of this kind and name, which is created if it is new."""
        self._allowance.claim(page_budget.relation_pages(len(new.name)) // 2)
        return self._insert(
            "INSERT INTO entity (kind, name, folded, known_us, segment_id) VALUES (?, ?, ?, ?, ?) ON CONFLICT (kind, name) DO UPDATE SET"
            " known_us = min(known_us, excluded.known_us), segment_id = ifnull(excluded.segment_id, segment_id) RETURNING id",
            (new.kind, new.name, new.name.casefold(), new.known_us, new.segment_id),
        )

    def add_alias(self, entity_id: int, name: str, known_us: int) -> int:
        """Add another name of an entity; returns an id for `retract_alias`."""
        self._allowance.claim(page_budget.relation_pages(len(name)) // 4)
        return self._insert(
            "INSERT INTO alias (entity_id, name, folded, known_us) VALUES (?, ?, ?, ?)", (entity_id, name, name.casefold(), known_us)
        )

    def retract_alias(self, alias_id: int, until_us: int) -> None:
        """The alias was wrong; views before `until_us` still show it."""
        self.connection.execute("UPDATE alias SET until_us = ? WHERE id = ?", (until_us, alias_id))

    def merge_entity(self, from_id: int, into_id: int, known_us: int) -> int:
        """`from_id` is the same as `into_id`, which represents both from now on; returns an id for `unmerge`.

        An entity is merged into at most one other: a later merge replaces an earlier one. Merging what is already merged changes nothing.
        """
        self._allowance.claim(page_budget.relation_pages(0) // 2)
        into = {row[0]: row[1:] for row in self.connection.execute("SELECT from_id, into_id, id FROM entity_merge WHERE until_us IS NULL")}
        for start, goal in ((from_id, into_id), (into_id, from_id)):
            key, merge_id, seen = start, 0, {start}
            while key != goal and key in into and into[key][0] not in seen:
                key, merge_id = into[key]
                seen.add(key)
            if key == goal:
                return merge_id
        self.connection.execute("UPDATE entity_merge SET until_us = ? WHERE from_id = ? AND until_us IS NULL", (known_us, from_id))
        return self._insert("INSERT INTO entity_merge (from_id, into_id, known_us) VALUES (?, ?, ?)", (from_id, into_id, known_us))

    def merge_of(self, from_id: int) -> int | None:
        """Id of the merge of this entity into another; None if there is none."""
        row = self.connection.execute("SELECT id FROM entity_merge WHERE from_id = ? AND until_us IS NULL", (from_id,)).fetchone()
        return row[0] if row else None

    def split_before(self, from_id: int, into_id: int) -> bool:
        """Whether they were one once and were taken apart: nobody but a person makes them one again."""
        sql = "SELECT 1 FROM entity_merge WHERE from_id = ? AND into_id = ? AND until_us IS NOT NULL"
        return self.connection.execute(sql, (from_id, into_id)).fetchone() is not None

    def own_names(self, name: str) -> list[tuple[int, str, str]]:
        """(id, kind, name) of entities that were stored under this name, in upper or lower case, merged or not; not by an alias."""
        sql = "SELECT id, kind, name FROM entity WHERE folded = ? ORDER BY id"
        return [(row[0], row[1], row[2]) for row in self.connection.execute(sql, (name.casefold(),))]

    def unmerge(self, merge_id: int, until_us: int) -> None:
        """They are two entities after all; views before `until_us` still show one. Raises MemoryDirError if the merge was reversed
        before.
        """
        sql = "UPDATE entity_merge SET until_us = ? WHERE id = ? AND until_us IS NULL"
        if not self.connection.execute(sql, (until_us, merge_id)).rowcount:
            raise MemoryDirError(f"merge {merge_id} does not exist or was reversed already")

    def add_mention(self, new: NewMention) -> int:
        """Store where an entity was seen or mentioned."""
        self._allowance.claim(page_budget.relation_pages(0) // 2)
        return self._insert(
            "INSERT INTO mention (entity_id, document_id, moment_id, score, known_us) VALUES (?, ?, ?, ?, ?)",
            (new.entity_id, new.document_id, new.moment_id, new.score, new.known_us),
        )

    def add_relation(self, new: NewRelation) -> int:
        """Store a relation with the quotes that are its evidence."""
        self._allowance.claim(page_budget.relation_pages(sum(len(quote.text) for quote in new.quotes)))
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
        """The relation is no longer valid; views before `until_us` still show it. Raises MemoryDirError if it ended before."""
        sql = "UPDATE relation SET until_us = max(?, known_us) WHERE id = ? AND until_us IS NULL"
        if not self.connection.execute(sql, (until_us, relation_id)).rowcount:
            raise MemoryDirError(f"relation r{relation_id} does not exist, or it ended or was replaced already")

    def drop_relation(self, relation_id: int) -> None:
        """Remove a relation with its quotes; its entities are kept."""
        self._allowance.claim(page_budget.relation_pages(0))
        self.connection.execute("DELETE FROM relation WHERE id = ?", (relation_id,))

    def drop_entity(self, entity_id: int) -> None:
        """Remove an entity with its aliases, merges, mentions, relations and vectors; parts that show it are kept."""
        self._allowance.claim(page_budget.relation_pages(0))
        self._note_erased("entity", entity_id)
        self.connection.execute("DELETE FROM entity WHERE id = ?", (entity_id,))

    def replace_relation(self, relation_id: int, new: NewRelation) -> int:
        """Store a new version; views before `new.known_us` still show the old one."""
        self.end_relation(relation_id, new.known_us)
        return self.add_relation(new)


class GraphReading(RowReader):
    """The part of `View` that reads entities and relations."""

    _merged: tuple[int, dict[int, int]] = (-1, {})

    def entities(self, *, kind: str | None = None, name: str | None = None, limit: int | None = None) -> list[Entity]:
        """Entities known at the cut-off in the order of their id; `name` also finds an alias, in upper or lower case.

        Merged entities are returned as the one that represents them. A name that no voice has any more is only found by `name`.
        """
        if name is None:
            of_kind = "" if kind is None else "AND kind = :kind"
            gone = ids_list(list(self._survivors()))
            sql = (
                f"SELECT id FROM entity WHERE known_us <= :as_of AND id NOT IN {gone} AND id NOT IN ({_NAMES_NOBODY})"  # noqa: S608
                f" {of_kind} ORDER BY id LIMIT :limit"
            )
            ids = [row[0] for row in self._all(sql, kind=kind, limit=-1 if limit is None else limit)]
            return list(self._entities(ids).values())
        found = {entity.id: entity for entity in self._entities(self._called(name)).values() if kind in (None, entity.kind)}
        return [found[key] for key in sorted(found)][:limit]

    def entity(self, entity_id: int) -> Entity | None:
        """The entity with this id, or the one that it was merged into; None if it is unknown, forgotten or not known at the cut-off."""
        return self._entities([entity_id]).get(entity_id)

    def relations(
        self,
        *,
        entity_id: int | None = None,
        type: str | None = None,  # noqa: A002 - the noun of the field
        stream: str | None = None,
        from_us: int | None = None,
        to_us: int | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[Relation]:
        """Relations known at the cut-off that overlap the range, in order of their beginning; `entity_id` may be either end."""
        way = "DESC" if newest_first else "ASC"
        ends = "" if entity_id is None else ids_list(self._cluster(entity_id))
        where = (
            f"{RELATION_KNOWN} AND r.t1_us >= :from_us AND r.t0_us <= :to_us {in_stream('r', stream)}"
            + (f" AND (r.source_id IN {ends} OR r.target_id IN {ends})" if ends else "")
            + ("" if type is None else " AND r.type = :type")
        )
        return self._relations(
            f"{where} ORDER BY r.t0_us {way}, r.id {way} LIMIT :limit",
            type=type,
            limit=-1 if limit is None else limit,
            **{**self._range(from_us, None, stream), "to_us": FOREVER_US if to_us is None else to_us},
        )

    def relation(self, relation_id: int) -> Relation | None:
        """The relation with this id; None if it is unknown, forgotten or not known at the cut-off."""
        return next(iter(self._relations(f"{RELATION_KNOWN} AND r.id = :id", id=relation_id)), None)

    def count_relations(self) -> int:
        """How many relations are known at the cut-off."""
        number: int = self._all(f"SELECT count(*) FROM relation r WHERE {RELATION_KNOWN}")[0][0]  # noqa: S608
        return number

    def count_entities(self) -> int:
        """How many entities are known at the cut-off; merged ones count as one."""
        number: int = self._all(f"SELECT count(*) FROM entity WHERE known_us <= :as_of AND id NOT IN ({_NAMES_NOBODY})")[0][0]  # noqa: S608
        return number - len(self._survivors())

    def highest_number(self, word: str) -> int:
        """The highest N of all entities that are called "<word> N", as in "speaker 3", also of those that are known later; 0 for none."""
        sql = (
            "SELECT ifnull(max(CAST(substr(folded, :digits) AS INTEGER)), 0) FROM entity WHERE folded GLOB :word || ' [1-9]*'"
            " AND length(folded) < :digits + 9 AND substr(folded, :digits) NOT GLOB '*[^0-9]*'"
        )
        number: int = self._all(sql, word=word, digits=len(word) + 2)[0][0]
        return number

    def _survivors(self) -> dict[int, int]:
        """Per merged entity that is known: the entity that represents it. Read again after every write."""
        version: int = self._all("PRAGMA data_version")[0][0]
        if self._merged[0] != version:
            into = dict(
                self._all(
                    "SELECT g.from_id, g.into_id FROM entity_merge g"
                    " JOIN entity f ON f.id = g.from_id AND f.known_us <= :as_of JOIN entity i ON i.id = g.into_id AND i.known_us <= :as_of"
                    " WHERE g.known_us <= :as_of AND (g.until_us IS NULL OR g.until_us > :as_of) ORDER BY g.id"
                )
            )
            ends = {key: _end(into, key) for key in into}
            self._merged = version, {key: end for key, end in ends.items() if key != end}
        return self._merged[1]

    def _cluster(self, entity_id: int) -> list[int]:
        """All entities that were merged with this one, and itself."""
        survivors = self._survivors()
        end = survivors.get(entity_id, entity_id)
        return [end, *(key for key, survivor in survivors.items() if survivor == end)]

    def _called(self, name: str) -> list[int]:
        """Ids of entities with this name or alias."""
        sql = (
            "SELECT id FROM entity WHERE folded = :folded AND known_us <= :as_of UNION"  # noqa: S608
            f" SELECT a.entity_id FROM alias a WHERE a.folded = :folded AND {_ALIAS_KNOWN} ORDER BY 1"
        )
        return [row[0] for row in self._all(sql, folded=name.casefold())]

    def _entities(self, ids: Iterable[int]) -> dict[int, Entity]:
        """By id: the entity that represents it, without those that are not known at the cut-off."""
        survivors = self._survivors()
        ends = {key: survivors.get(key, key) for key in ids}
        members: defaultdict[int, list[int]] = defaultdict(list)
        for end in set(ends.values()):
            members[end].append(end)
        for key, end in survivors.items():
            if end in members:
                members[end].append(key)
        among = ids_list(sorted(key for keys in members.values() for key in keys))
        sql = (
            "SELECT e.id, e.kind, e.name, g.id FROM entity e LEFT JOIN segment g ON g.id = e.segment_id AND g.t1_us <= :as_of"  # noqa: S608
            f" WHERE e.known_us <= :as_of AND e.id IN {among}"
        )
        rows = {row[0]: row for row in self._all(sql)}
        aliases: defaultdict[int, list[str]] = defaultdict(list)
        sql = f"SELECT a.entity_id, a.name FROM alias a WHERE {_ALIAS_KNOWN} AND a.entity_id IN {among} ORDER BY a.id"  # noqa: S608
        for key, alias in self._all(sql):
            aliases[key].append(alias)
        found = {end: _one([rows[key] for key in keys if key in rows], aliases) for end, keys in members.items() if end in rows}
        return {key: found[end] for key, end in ends.items() if end in found}

    def _relations(self, where: str, **values: object) -> list[Relation]:
        rows = self._all(
            "SELECT r.id, r.type, r.source_id, r.target_id, r.stream_id, r.t0_us, r.t1_us, r.confidence, r.known_us"  # noqa: S608
            f" FROM relation r WHERE {where}",
            **values,
        )
        ends = self._entities({end for row in rows for end in row[2:4]})
        quotes = defaultdict(list)
        # A picture or document that is not known yet must not be named, even by a relation that is known.
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
            if row[2] in ends and row[3] in ends  # else they were deleted since the rows were read
        ]


def _end(into: Mapping[int, int], key: int) -> int:
    """The entity at the end of the merges. Merges of several writers may form a cycle: then the first entity of the cycle represents it."""
    path = [key]
    while (following := into.get(path[-1])) is not None:
        if following in path:
            return min(path[path.index(following) :])
        path.append(following)
    return path[-1]


def _one(rows: Sequence[tuple[Any, ...]], aliases: Mapping[int, Sequence[str]]) -> Entity:
    """Merged entities as one: id and kind of the representing one, which comes first, and the most complete name."""
    key, kind, *_ = rows[0]
    names = [row[2] for row in rows]
    name = max((row[2] for row in rows if row[1] == kind), key=_completeness)
    others = (*(other for other in names if other != name), *(alias for row in rows for alias in aliases.get(row[0], ())))
    segment_id = next((row[3] for row in rows if row[3] is not None), None)
    return Entity(id=key, kind=kind, name=name, aliases=others, segment_id=segment_id)


def _completeness(name: str) -> tuple[bool, int, int]:
    """Sort key: a name is better than a number ("speaker 3"), a full name better than a first name."""
    return not any(letter.isdigit() for letter in name), len(name.split()), len(name)
