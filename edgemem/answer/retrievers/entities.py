"""The channel `entity`: who did what with what, found by the names of people, things and places in a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from edgemem.answer.retrieve import Hits, Query, held
from edgemem.answer.tools_graph import match_entities, row_of
from edgemem.answer.understand.words import content_words
from edgemem.records import Channel, Relation

if TYPE_CHECKING:
    from edgemem.remember.view import View

_NAMES = 8
"""Entities of one query that are followed, those of the whole phrase first."""


class EntityRetriever:
    """Relations whose ends the query names; those with more of its words at their ends and in their words come first."""

    name: Channel = "entity"

    def retrieve(self, query: Query, view: View, k: int) -> Hits:
        """The newest `k` of each entity that is named, best first."""
        wanted = content_words(query.text)
        named = {e.name: None for phrase in (query.text, *wanted) for e in match_entities(view, phrase)}
        found: dict[int, Relation] = {}
        for name in list(named)[:_NAMES]:
            for source, target in ((name, None), (None, name)):
                some = view.ladder(source, target, from_us=query.from_us, to_us=query.to_us, limit=k)
                if some.step == "a":  # what a relaxed rung finds lies outside the query's stretch of time
                    found.update((r.id, r) for r in some.relations if query.stream in {None, r.stream})
        ranked = sorted(found.values(), key=lambda r: (-_fit(wanted, r), -r.confidence, -r.t0_us))[:k]
        rows = [row_of(view, relation).evidence for relation in ranked]
        evidence = {e.id: msgspec.structs.replace(e, channel=self.name) for e in reversed(rows)}
        best = max((_fit(wanted, r) * r.confidence for r in ranked), default=0.0)
        return Hits(evidence=tuple(evidence[e] for e in dict.fromkeys(row.id for row in rows)), confidence=best)


def _fit(wanted: list[str], relation: Relation) -> float:
    """Share of the query's words at the ends, in the type or in the quotes of a relation."""
    quotes = (quote.text for quote in relation.quotes)
    return held(wanted, " ".join((relation.source.name, relation.type.replace("_", " "), relation.target.name, *quotes)))
