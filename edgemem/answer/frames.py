"""The `frame` channel: what was seen, by label postings and joint vectors (`match`), as evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

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


class Roles(Protocol):
    """What is needed of `infer.runtime.Engines` here."""

    def missing(self, role: str) -> str: ...
    def role(self, role: str) -> Any: ...


class FrameRetriever:
    """Channel `frame`. The joint embedder is loaded at the first query, so that a question about time or text never waits for it."""

    name: Channel = "frame"

    def __init__(self, engines: Roles | None = None, matcher: Matcher | None = None) -> None:
        self._engines = engines
        self._matcher = matcher

    def retrieve(self, query: Query, view: View, k: int) -> Hits:
        """Pictures that show what the query names, by the matcher's calibrated scores."""
        if self._matcher is None:
            why = self._engines.missing("embed_joint") if self._engines is not None else "no engines are configured"
            if why or self._engines is None:
                return Hits(silent=f"pictures were not searched: {why}")
            self._matcher = LabelMatcher(self._engines.role("embed_joint"))
        matches = self._matcher.match(query, view, k)
        evidence = []
        for sighting in matches.sightings:
            moment = view.moment(sighting.moment_id)
            if moment is not None:
                evidence.append(moment_evidence(moment, self.name, sighting.score, sighting.why))
        return Hits(evidence=tuple(evidence), confidence=matches.confidence)


class LabelMatcher:
    """Noisy-or over the labels that the phrase would fire."""

    def __init__(self, joint: Any) -> None:
        self._joint = joint
        self._queries: dict[str, Any] = {}

    def match(self, query: Query, view: View, k: int) -> Matches:
        if query.text not in self._queries:
            self._queries[query.text] = self._joint.match_labels(query.text)
        wanted = self._queries[query.text]
        scores: dict[int, float] = {}
        why: dict[int, tuple[float, str]] = {}
        for kind, names in (("label", wanted.labels), ("object", wanted.objects)):
            postings = view.postings(
                list(names), kinds=(kind,), from_us=query.from_us, to_us=query.to_us, stream=query.stream, limit_per_name=300
            )
            for p in postings:
                s = names[p.name] * p.score * (1.0 if not wanted.colours or p.colour in wanted.colours else 0.6)
                scores[p.moment_id] = 1 - (1 - scores.get(p.moment_id, 0.0)) * (1 - s)
                if s > why.get(p.moment_id, (0, ""))[0]:
                    why[p.moment_id] = (s, p.name)
        ranked = sorted(scores, key=lambda m: (-scores[m], m))[:k]
        return Matches(
            sightings=tuple(Sighting(moment_id=m, score=scores[m], why=why[m][1]) for m in ranked),
            confidence=min(1.0, 1.5 * scores[ranked[0]]) if ranked else 0.0,
        )
