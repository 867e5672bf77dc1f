"""Pictures by one to three short queries, in stretches of time and at a place (EGAgent, section 3.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgemem.answer.compose import quote
from edgemem.answer.retrieve import Query, Retriever
from edgemem.answer.tool_base import BaseTool
from edgemem.answer.tools_graph import match_entities
from edgemem.records import US, Evidence
from edgemem_egagent.actions import Pictures, VisualSearch
from edgemem_egagent.fusion import best_rank_first

if TYPE_CHECKING:
    from edgemem.remember.view import View

LOCATION_PICTURES = 200
"""Pictures that may show the place of a location filter."""
_PLACE_SCORE = 0.1
"""Less sure that a picture shows the place, it does not; nor with half the score of the surest one. A retriever ranks all that it has."""
AROUND_PLACE_US = 30 * US
"""A picture this close to one that shows the place was taken there: a view pans away from what names a room."""


class VisualTool(BaseTool):
    """Pictures by what they show."""

    name = "visual_search"
    action = VisualSearch

    def __init__(self, retriever: Retriever) -> None:
        self._retriever = retriever

    def run(self, action: VisualSearch, view: View) -> Pictures:
        """Best `shown` of all queries by `fusion.best_rank_first`."""
        lists, notes, doubt = [], [], 1.0
        found: dict[str, Evidence] = {}
        for text in action.queries:
            hits, silent, sure = self._hits(text, action, view)
            notes += silent
            doubt *= 1 - sure
            lists.append([e.id for e in hits])
            for evidence in hits:
                found.setdefault(evidence.id, evidence)
        if action.location:
            lists, note = self._at(lists, found, action, view)
            notes += [note] if note else []
        shown = tuple(found[name] for name in best_rank_first(lists, action.shown))
        return Pictures(evidence=shown, confidence=1 - doubt if shown else 0.0, notes=tuple(dict.fromkeys(notes)))

    def _hits(self, text: str, action: VisualSearch, view: View) -> tuple[list[Evidence], list[str], float]:
        """The best `per_query` of one query over all stretches of time, why a retriever is silent, and how sure the best one is."""
        found, notes, sure = list[Evidence](), list[str](), 0.0
        for span in action.spans:
            hits = self._retriever.retrieve(Query(text=text, from_us=span.from_us, to_us=span.to_us), view, action.per_query)
            found += hits.evidence
            notes += [why] if (why := hits.silent or hits.note) else []
            sure = max(sure, hits.confidence)
        if len(action.spans) > 1:
            found.sort(key=lambda e: -e.score)
        return found[: action.per_query], notes, sure

    def _at(self, lists: list[list[str]], found: dict[str, Evidence], action: VisualSearch, view: View) -> tuple[list[list[str]], str]:
        """Only what was taken at the place: near a picture that shows it, or while the graph has somebody there."""
        there, places = self._stays(action, view), self._places(action, view)
        if not there and not places:
            return lists, f"nothing is known to be at {quote(action.location)}; pictures of any place are shown"

        def near(evidence: Evidence) -> bool:
            low, high = evidence.t0_us - AROUND_PLACE_US, evidence.t0_us + AROUND_PLACE_US
            seen = any(t0 <= high and t1 >= low for t0, t1 in there)
            return seen or any(_known(view, place, low, high) for place in places)

        return [[name for name in names if near(found[name])] for names in lists], ""

    def _places(self, action: VisualSearch, view: View) -> list[int]:
        """The place, as the graph knows it: of these somebody was at one in the stretches of time."""
        places = [entity.id for entity in match_entities(view, action.location) if entity.kind == "location"]
        return [place for place in places if any(_known(view, place, span.from_us, span.to_us) for span in action.spans)]

    def _stays(self, action: VisualSearch, view: View) -> list[tuple[int, int]]:
        """When a picture shows the place."""
        there: list[tuple[int, int]] = []
        for span in action.spans:
            query = Query(text=action.location, from_us=span.from_us, to_us=span.to_us)
            seen = self._retriever.retrieve(query, view, LOCATION_PICTURES).evidence
            sure = max(_PLACE_SCORE, 0.5 * max((e.score for e in seen), default=0.0))
            there += [(e.t0_us, e.t1_us) for e in seen if e.score >= sure]
        return there


def _known(view: View, place: int, from_us: int | None, to_us: int | None) -> bool:
    """Somebody was there at that time, as the graph says. Asked for each picture: over weeks a place has too many stays to read all."""
    return bool(view.relations(entity_id=place, type="INTERACTS_WITH", from_us=from_us, to_us=to_us, limit=1))
