"""The `frame` channel: what was seen, by label postings and joint vectors (`match`), as evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from edgemem.answer.retrieve import Hits, Query, moment_evidence
from edgemem.records import Channel, Record

if TYPE_CHECKING:
    from edgemem.remember.view import View


class Sighting(Record, frozen=True):
    """A picture that may show the thing: score 0..1, and what it was recognised by."""

    moment_id: int
    score: float
    why: str = ""


class Matches(Record, frozen=True):
    """Sightings, best first, and how likely it is that the thing is among them at all."""

    sightings: tuple[Sighting, ...] = ()
    confidence: float = 0.0


class Matcher(Protocol):
    """Scores pictures for a phrase."""

    def match(self, query: Query, view: View, k: int) -> Matches:
        """At most `k` sightings inside the query's stretch of time."""
        ...


class FrameRetriever:
    """Channel `frame`."""

    name: Channel = "frame"

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher

    def retrieve(self, query: Query, view: View, k: int) -> Hits:
        """Pictures that show what the query names, by the matcher's calibrated scores."""
        matches = self._matcher.match(query, view, k)
        evidence = []
        for sighting in matches.sightings:
            moment = view.moment(sighting.moment_id)
            if moment is not None:
                evidence.append(moment_evidence(moment, self.name, sighting.score, sighting.why))
        return Hits(evidence=tuple(evidence), confidence=matches.confidence)
