"""The `text` channel: what was read in pictures, compared as read and squeezed, with small reading errors forgiven."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from edgemem.answer.retrieve import Hits, Query, as_evidence
from edgemem.answer.understand.words import best_word, likeness, line_of, wanted_words
from edgemem.records import Channel, Evidence, Moment, Observation, Record
from edgemem.remember.view import View

_LINES_LIMIT = 1500
"""Distinct lines that are compared one by one (10 ms); above that full text search says where to look."""
_DOCUMENTS = 60
"""Documents of kind "text" (one per picture that has any) that are compared then."""
_LEAST_LIKENESS = 0.5
"""Half of the query's letters must have been read."""
_CLEAR = 0.9
"""Score of a line from which on it was clearly read. Of the signs of six life logs and a composed stream, by which it was
chosen, none is below .94, of three other life logs none below .93. Below .9 are mostly small letters, misread ("HYALT", "bypan")."""


class OcrReading(Record, frozen=True):
    """The text of one picture, top to bottom: all of it as evidence, and what was clearly read line by line as it stands on the sign."""

    evidence: Evidence
    lines: tuple[str, ...]
    colours: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The lines as one."""
        return " ".join(self.lines)


class TextRetriever:
    """Text that was read in pictures: signs, screens, pages."""

    name: Channel = "text"

    def retrieve(self, query: Query, view: View, k: int) -> Hits:
        """Pictures whose text is like the query, best first; the score is the share of the query that was read."""
        scored = [(likeness(query.text, found.evidence.text), found) for found in readings(view, query, matching=True)]
        scored = sorted((pair for pair in scored if pair[0] >= _LEAST_LIKENESS), key=lambda pair: (-pair[0], pair[1].evidence.t0_us))
        evidence = tuple(msgspec.structs.replace(found.evidence, score=score) for score, found in scored[:k])
        return Hits(evidence=evidence, confidence=scored[0][0] if scored else 0.0)


def readings(view: View, query: Query, *, matching: bool = False) -> list[OcrReading]:
    """Pictures with text in the stretch of time, oldest first; with `matching` those whose text holds a word of the query.

    In a large memory the query decides where to look in any case.
    """
    lines = view.names("text")
    window: Any = {"kinds": ("text",), "from_us": query.from_us, "to_us": query.to_us}
    if len(lines) > _LINES_LIMIT and query.text:
        ids = {hit.document.moment_id for hit in view.search_text(query.text, _DOCUMENTS, **window)}
    elif len(lines) > _LINES_LIMIT:
        ids = {document.moment_id for document in view.documents(limit=_DOCUMENTS, newest_first=True, **window)}
    else:
        words = wanted_words(query.text) if matching else []
        like = [line for line in lines if not words or any(best_word(word, line_of(line)) for word in words)]
        ids = {posting.moment_id for posting in view.postings(like, limit_per_name=50, **window)}
    moments = view.moments_of(id_ for id_ in ids if id_ is not None)
    seen = view.observations(moments)
    made = (reading(moment, seen.get(moment.id, ())) for moment in moments.values())
    return sorted(filter(None, made), key=lambda one: one.evidence.t0_us)


def reading(moment: Moment, observations: Iterable[Observation]) -> OcrReading | None:
    """What was read in one picture, or None."""
    texts = [o for o in observations if o.kind == "text" and o.name.strip()]
    if not texts:
        return None
    evidence = as_evidence(moment, "text", max(o.score for o in texts), " ".join(o.name.strip() for o in texts))
    lines = tuple(o.name.strip() for o in texts if o.score >= _CLEAR)
    return OcrReading(evidence=evidence, lines=lines, colours=tuple(dict.fromkeys(o.colour for o in texts if o.colour)))
