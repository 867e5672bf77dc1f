"""Searches relations with step-by-step relaxed conditions, as EGAgent's entity graph search does (appendix E), with parameters instead of
SQL text.

    a       source, target and type in the time range
    b       ... in the whole days (UTC) that it overlaps
    c       ... on any day
    d       names that contain the longest word of the given name
    e       ... of any type
    target  only the target

The first level with enough relations is used; no level reads past the cut-off of the view. Each level reads an index from its newest
relation backwards and stops at the limit, so the cost does not depend on the length of the history.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from edgemem.records import US, Record, Relation
from edgemem.remember.rows.graph import RELATION_KNOWN, GraphReading
from edgemem.remember.rows.reading import FOREVER_US, SOONEST_US, ids_list
from edgemem.remember.rows.text import words

RelaxationLevel = Literal["a", "b", "c", "d", "e", "target"]
_DAY_US = 86_400 * US
_MOST_NAMES = 16
"""Most entities whose names contain a word: those with the shortest names."""
_BRANCHES = 200
"""Index scans in one statement; SQLite allows 500."""
_TYPES = (
    "WITH RECURSIVE kinds (type) AS (SELECT min(type) FROM relation UNION ALL"
    " SELECT (SELECT min(r.type) FROM relation r WHERE r.type > kinds.type) FROM kinds WHERE kinds.type IS NOT NULL)"
    " SELECT type FROM kinds WHERE type IS NOT NULL"
)
"""Distinct types, with one index seek each."""


class Ladder(Record, frozen=True):
    """Result of the relaxed search: the level, and relations in time order; the newest ones if there are more than the limit."""

    step: RelaxationLevel | None
    """None if no level has a relation."""
    relations: tuple[Relation, ...] = ()


class _Conditions(NamedTuple):
    """The conditions of one level: ids and types, None = any."""

    sources: tuple[int, ...] | None
    targets: tuple[int, ...] | None
    types: tuple[str, ...] | None
    from_us: int
    to_us: int


class LadderReading(GraphReading):
    """The part of `View` that searches relations."""

    def ladder(
        self,
        source: str | None = None,
        target: str | None = None,
        type: str | None = None,  # noqa: A002 - the noun of the field
        *,
        from_us: int | None = None,
        to_us: int | None = None,
        min_rows: int = 1,
        limit: int = 50,
    ) -> Ladder:
        """Relations between entities of these names and aliases, of this type, that overlap the range: from the first level with
        `min_rows`.

        None = any. If no level has so many, the level with the most is used. EGAgent's code needs 4, its paper any number.
        """
        best = Ladder(step=None)
        seen: dict[_Conditions, list[int]] = {}
        for step, wanted in self._levels(source, target, type, from_us, to_us):
            if wanted not in seen:
                seen[wanted] = self._newest(wanted, limit)
                if len(seen[wanted]) > len(best.relations):
                    order = f"r.id IN {ids_list(seen[wanted])} ORDER BY r.t0_us, r.id"
                    best = Ladder(step=step, relations=tuple(self._relations(order)))
            if len(best.relations) >= min_rows:
                break
        return best

    def _levels(
        self, source: str | None, target: str | None, kind: str | None, from_us: int | None, to_us: int | None
    ) -> Iterator[tuple[RelaxationLevel, _Conditions]]:
        sources, targets = self._exactly(source), self._exactly(target)
        types = None if kind is None else tuple(row[0] for row in self._all(_TYPES) if row[0].casefold() == kind.casefold())
        low = SOONEST_US if from_us is None else from_us
        high = self.as_of_us if to_us is None else min(to_us, self.as_of_us)
        yield "a", _Conditions(sources, targets, types, low, high)
        low = low if from_us is None else low // _DAY_US * _DAY_US
        high = high if to_us is None else min(high // _DAY_US * _DAY_US + _DAY_US - 1, self.as_of_us)
        yield "b", _Conditions(sources, targets, types, low, high)
        yield "c", _Conditions(sources, targets, types, SOONEST_US, self.as_of_us)
        sources, targets = self._alike(source), self._alike(target)
        yield "d", _Conditions(sources, targets, types, SOONEST_US, self.as_of_us)
        yield "e", _Conditions(sources, targets, None, SOONEST_US, self.as_of_us)
        if target is not None:
            yield "target", _Conditions(None, targets, None, SOONEST_US, self.as_of_us)

    def _exactly(self, name: str | None) -> tuple[int, ...] | None:
        return None if name is None else self._all_of(self._called(name))

    def _alike(self, name: str | None) -> tuple[int, ...] | None:
        """Entities whose name or alias contains the longest word of this name; none for a name without words."""
        if name is None:
            return None
        word = max(words(name), key=len, default="")
        sql = (
            "SELECT id, length(folded) AS n FROM entity WHERE :word <> '' AND instr(folded, :word) AND known_us <= :as_of UNION ALL"
            " SELECT entity_id, length(folded) FROM alias WHERE :word <> '' AND instr(folded, :word) AND known_us <= :as_of"
            " AND (until_us IS NULL OR until_us > :as_of) ORDER BY n, 1 LIMIT :most"
        )
        return self._all_of([row[0] for row in self._all(sql, word=word, most=_MOST_NAMES)])

    def _all_of(self, ids: Sequence[int]) -> tuple[int, ...]:
        return tuple(sorted({member for key in ids for member in self._cluster(key)}))

    def _newest(self, wanted: _Conditions, limit: int) -> list[int]:
        """Ids of the newest relations that satisfy the conditions."""
        if () in (wanted.sources, wanted.targets, wanted.types):
            return []
        longest_us: int = self._all("SELECT dur_us FROM longest WHERE name = 'relation'")[0][0]
        bounds = {
            "least": max(SOONEST_US, wanted.from_us - longest_us),
            "low": wanted.from_us,
            "high": min(wanted.to_us, FOREVER_US),
            "limit": limit,
        }
        found: list[tuple[int, int]] = []
        walks = self._scans(wanted)
        for start in range(0, len(walks), _BRANCHES):
            parts = [
                f"SELECT * FROM (SELECT r.t0_us, r.id FROM relation r INDEXED BY {index} WHERE {where}"  # noqa: S608
                f" r.t0_us BETWEEN :least AND :high AND r.t1_us >= :low AND {RELATION_KNOWN} ORDER BY r.t0_us DESC LIMIT :limit)"
                for index, where in walks[start : start + _BRANCHES]
            ]
            texts = {f"type{i}": kind for i, kind in enumerate(wanted.types or self._types())}
            found += self._all(" UNION ALL ".join(parts), **bounds, **texts)
        return [key for _, key in sorted(set(found), reverse=True)[:limit]]

    def _types(self) -> tuple[str, ...]:
        return tuple(row[0] for row in self._all(_TYPES))

    def _scans(self, wanted: _Conditions) -> list[tuple[str, str]]:
        """Index and condition of each index scan; each scan is in time order."""
        typed = [f"r.type = :type{i} AND" for i in range(len(wanted.types or self._types()))]
        if wanted.sources is not None and wanted.targets is not None:
            of_type = "" if wanted.types is None else f"({' OR '.join(kind[:-4] for kind in typed)}) AND"
            return [
                ("relation_pair", f"r.source_id = {source} AND r.target_id = {target} AND {of_type}")
                for source in wanted.sources
                for target in wanted.targets
            ]
        if wanted.sources is not None:
            return [("relation_source", f"r.source_id = {source} AND {kind}") for source in wanted.sources for kind in typed]
        if wanted.targets is not None:
            return [("relation_target", f"r.target_id = {target} AND {kind}") for target in wanted.targets for kind in typed]
        return [("relation_time", "")] if wanted.types is None else [("relation_type", kind) for kind in typed]
