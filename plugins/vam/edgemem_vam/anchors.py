"""Times measured from events (VAM section 3.4, B.6): search the event, have candidates verified, take the occurrence that was meant."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from edgemem.records import US, Record
from edgemem_vam.actions import SOURCES, Adjudicate, Hits, HybridSearch, Judged, Judgement
from edgemem_vam.context import Context, Result, Turn, results_of, target_of
from edgemem_vam.wire import Anchor, Query, TimeRange

SAME_US = 4 * US
"""Candidates this close are one occurrence: a picture and the document of its event, or two pictures of one inspection window."""


class Span(Record, frozen=True):
    """A stretch of wall time; open where None."""

    from_us: int | None
    to_us: int | None


class Occurrence(Record, frozen=True):
    """A candidate for an anchor, with what the judge said."""

    t0_us: int
    t1_us: int
    score: float
    confidence: float
    verified: bool

    @property
    def rank(self) -> float:
        """How sure it is: the larger of confidence and score (VAM)."""
        return max(self.confidence, self.score)


def stretch(wanted: TimeRange | None, context: Context, turn: Turn) -> Generator[Any, Any, Span | None]:
    """The stretch of time that a range means. None, with a note in the turn, when an anchor cannot be resolved.

    `min` and `max` beside anchors bound where the anchors are searched, and what comes of them.
    """
    from_us, to_us = context.stretch(wanted)
    bounds = Span(from_us=from_us, to_us=to_us)
    if wanted is None or not wanted.anchors:
        return bounds
    found: list[tuple[Anchor, Occurrence]] = []
    for anchor in wanted.anchors:
        occurrence = yield from _resolve(anchor, bounds, context, turn)
        if occurrence is None:
            return None
        found.append((anchor, occurrence))
    span = around(*found[0]) if wanted.anchor is not None else between(found[0], found[1])
    if span is None:
        turn.notes.append("the end anchor lies before the start anchor; search again with other anchors")
        return None
    if (span := within(span, bounds)) is None:
        turn.notes.append("the anchored stretch lies outside min and max of time_range; leave them out or choose another anchor")
    return span


def within(span: Span, bounds: Span) -> Span | None:
    """What of a stretch lies within bounds; None where nothing does."""
    from_us = max((t for t in (span.from_us, bounds.from_us) if t is not None), default=None)
    to_us = min((t for t in (span.to_us, bounds.to_us) if t is not None), default=None)
    return None if from_us is not None and to_us is not None and from_us > to_us else Span(from_us=from_us, to_us=to_us)


def around(anchor: Anchor, at: Occurrence) -> Span:
    """[start - before, end + after]."""
    return Span(from_us=at.t0_us - _us(anchor.before_seconds), to_us=at.t1_us + _us(anchor.after_seconds))


def between(start: tuple[Anchor, Occurrence], end: tuple[Anchor, Occurrence]) -> Span | None:
    """[end of the first - before + after, beginning of the second - before + after]; None when that ends before it begins."""
    from_us = start[1].t1_us + _us(start[0].after_seconds - start[0].before_seconds)
    to_us = end[1].t0_us + _us(end[0].after_seconds - end[0].before_seconds)
    return Span(from_us=from_us, to_us=to_us) if from_us <= to_us else None


def _us(seconds: float) -> int:
    return round(seconds * US)


def _resolve(anchor: Anchor, bounds: Span, context: Context, turn: Turn) -> Generator[Any, Any, Occurrence | None]:
    """By its reference; where that is none, by its queries."""
    if anchor.ref is not None:
        known = context.resolve(anchor.ref)
        if known is not None:
            return Occurrence(
                t0_us=known.evidence.t0_us, t1_us=known.evidence.t1_us, score=known.row.score, confidence=0.0, verified=True
            )  # fmt: skip
        turn.notes.append(f"anchor: there is no result {anchor.ref.turn_idx}, {anchor.ref.result_idx}")
        if not anchor.queries:
            return None
    candidates = yield from _candidates(anchor, bounds, context, turn)
    judged: dict[str, Judgement] | None = None
    if candidates and anchor.inspect_k:
        judged = yield from _judged(anchor, candidates[: anchor.inspect_k], turn)
    chosen = choose(occurrences(candidates, judged), anchor.occurrence_index)
    if chosen is None:
        turn.notes.append(_unresolved(anchor, len(candidates), judged))
    return chosen


def _candidates(anchor: Anchor, bounds: Span, context: Context, turn: Turn) -> Generator[Any, Any, list[Result]]:
    """Every variant of the query in every group of sources, merged by the best score; at most `top_k`, best first."""
    groups = anchor.candidate_source_groups or [anchor.sources or list(SOURCES)]
    best: dict[str, Result] = {}
    for group in groups:
        queries = tuple(Query(q=text, top_k=anchor.top_k, inspect_k=0, threshold=anchor.threshold) for text in anchor.queries)
        hits = yield HybridSearch(
            queries=queries, sources=tuple(dict.fromkeys(group)) or SOURCES, from_us=bounds.from_us, to_us=bounds.to_us,
            notes=tuple(context.notes),
        )  # fmt: skip
        if not isinstance(hits, Hits):
            turn.notes.append(f"anchor: {getattr(hits, 'why', 'the search failed')}")
            continue
        for result in results_of(hits):
            if result.row.id not in best or result.row.score > best[result.row.id].row.score:
                best[result.row.id] = result
    return sorted(best.values(), key=lambda r: (-r.row.score, r.evidence.t0_us))[: anchor.top_k]


def _judged(anchor: Anchor, candidates: Sequence[Result], turn: Turn) -> Generator[Any, Any, dict[str, Judgement] | None]:
    """Judgements by target; None when nobody could judge."""
    judged = yield Adjudicate(
        targets=tuple(target_of(result) for result in candidates),
        event=anchor.queries[0],
        verification_prompt=anchor.verification_prompt or "",
    )
    if not isinstance(judged, Judged) or not judged.judgements:
        turn.notes.append(f"anchor: {getattr(judged, 'why', '') or 'the candidates could not be judged'}")
        return None
    return {one.target: one for one in judged.judgements}


def occurrences(candidates: Sequence[Result], judged: dict[str, Judgement] | None) -> list[Occurrence]:
    """Candidates as occurrences in the order of time. `judged` None: nobody judged, all count; else those that match.

    Candidates that overlap or lie within `SAME_US` are one occurrence, as long as its longest candidate.
    """
    found = []
    for result in candidates:
        judgement = None if judged is None else judged.get(result.row.id)
        if judged is not None and (judgement is None or not judgement.match):
            continue
        found.append(
            Occurrence(
                t0_us=result.evidence.t0_us,
                t1_us=result.evidence.t1_us,
                score=result.row.score,
                confidence=0.0 if judgement is None else judgement.confidence,
                verified=judgement is not None,
            )
        )
    merged: list[Occurrence] = []
    for one in sorted(found, key=lambda o: (o.t0_us, o.t1_us)):
        if merged and one.t0_us <= merged[-1].t1_us + SAME_US:
            merged[-1] = _joined(merged[-1], one)
        else:
            merged.append(one)
    return merged


def _joined(a: Occurrence, b: Occurrence) -> Occurrence:
    return Occurrence(
        t0_us=min(a.t0_us, b.t0_us),
        t1_us=max(a.t1_us, b.t1_us),
        score=max(a.score, b.score),
        confidence=max(a.confidence, b.confidence),
        verified=a.verified or b.verified,
    )


def choose(found: Sequence[Occurrence], index: int | None) -> Occurrence | None:
    """The `index`-th by time (1 = first), None where there are fewer; without an index the surest, the earlier of two alike."""
    if index is not None:
        ordered = sorted(found, key=lambda o: o.t0_us)
        return ordered[index - 1] if index <= len(ordered) else None
    return max(found, key=lambda o: (o.rank, -o.t0_us), default=None)


def _unresolved(anchor: Anchor, candidates: int, judged: dict[str, Judgement] | None) -> str:
    what = f'anchor "{anchor.queries[0][:80]}"'
    if not candidates:
        return f"{what}: nothing was found; search for it in other words or other sources"
    matches = candidates if judged is None else sum(one.match for one in judged.values())
    wanted = f", occurrence {anchor.occurrence_index} was asked for" if anchor.occurrence_index else ""
    return f"{what}: {candidates} candidates, {matches} of them verified{wanted}; find the event by other means first"
