"""Times measured from events (VAM section 3.4, B.6): search the event, have candidates verified, take the occurrence that was meant."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

import msgspec

from edgemem.records import US
from edgemem_vam.actions import SOURCES, Adjudicate, HybridHits, HybridSearch, Judged, Judgement
from edgemem_vam.anchored import AnchorCandidate, AnchorOutcome, Occurrence, Span
from edgemem_vam.context import PlannerTurn, RetrievalContext, TurnResult, results_of, target_of, why_not
from edgemem_vam.wire import Anchor, SubQuery, TimeRange

SAME_US = 4 * US
"""Candidates this close are one occurrence: a picture and the document of its event, or two pictures of one inspection window."""


def stretch(wanted: TimeRange | None, context: RetrievalContext, turn: PlannerTurn) -> Generator[Any, Any, Span | None]:
    """The stretch of time that a range means. None, with a note in the turn, when an anchor cannot be resolved.

    `min` and `max` beside anchors bound where the anchors are searched, and what comes of them.
    """
    from_us, to_us = context.stretch(wanted)
    bounds = Span(from_us=from_us, to_us=to_us)
    if wanted is None or not wanted.anchors:
        return bounds
    roles = ("anchor",) if wanted.anchor is not None else ("start_anchor", "end_anchor")
    found: list[tuple[Anchor, Occurrence]] = []
    for role, anchor in zip(roles, wanted.anchors, strict=True):
        outcome = yield from _resolve(role, anchor, bounds, context, turn)
        turn.anchors.append(outcome)
        if outcome.at is None:
            return None
        found.append((anchor, outcome.at))
    span = around(*found[0]) if wanted.anchor is not None else between(found[0], found[1])
    if span is None:
        turn.notes.append("the end anchor lies before the start anchor; search again with other anchors")
        return None
    if (span := within(span, bounds)) is None:
        turn.notes.append("the anchored stretch lies outside min and max of time_range; leave them out or choose another anchor")
    turn.resolved = span
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


def _resolve(role: str, anchor: Anchor, bounds: Span, context: RetrievalContext, turn: PlannerTurn) -> Generator[Any, Any, AnchorOutcome]:
    """By its reference; where that is none, by its queries.

    Fails closed: with `inspect_k` above 0, or where an occurrence is to be counted, only what the judge verified counts. A candidate that
    nobody judged, because the model failed, is not verified.
    """
    query = anchor.queries[0] if anchor.queries else ""
    if anchor.ref is not None:
        known = context.resolve(anchor.ref)
        if known is not None:
            at = Occurrence(t0_us=known.evidence.t0_us, t1_us=known.evidence.t1_us, score=known.row.score, confidence=0.0)
            return AnchorOutcome(role=role, query=query, at=at)
        turn.notes.append(f"{role}: there is no result {anchor.ref.turn_idx}, {anchor.ref.result_idx}")
        if not query:
            return AnchorOutcome(role=role, query=query)
    candidates = yield from _candidates(anchor, bounds, context, turn)
    judged: dict[str, Judgement] = {}
    if candidates and anchor.inspect_k:
        judged = yield from _judged(anchor, candidates[: anchor.inspect_k], turn)
    if anchor.inspect_k == 0 and anchor.occurrence_index is None:
        chosen = _as_occurrence(candidates[0], 0.0) if candidates else None
    else:
        chosen = choose(occurrences(candidates, judged), anchor.occurrence_index)
    if chosen is None:
        turn.notes.append(_unresolved(role, anchor, len(candidates), judged))
    reviewed = tuple(_reviewed(one, judged.get(one.row.id)) for one in candidates[: max(1, anchor.inspect_k)])
    return AnchorOutcome(role=role, query=query, candidates=reviewed, at=chosen)


def _reviewed(candidate: TurnResult, judgement: Judgement | None) -> AnchorCandidate:
    t0_us, t1_us = candidate.evidence.t0_us, candidate.evidence.t1_us
    if judgement is None:
        return AnchorCandidate(t0_us=t0_us, t1_us=t1_us, judged=False)
    return AnchorCandidate(
        t0_us=t0_us, t1_us=t1_us, judged=True, match=judgement.match, confidence=judgement.confidence,
        observed_event=judgement.observed_event, reason=judgement.reason,
    )  # fmt: skip


def _candidates(anchor: Anchor, bounds: Span, context: RetrievalContext, turn: PlannerTurn) -> Generator[Any, Any, list[TurnResult]]:
    """Every variant of the query in every group of sources, merged by the best score; at most `top_k`, best first."""
    groups = anchor.candidate_source_groups or [anchor.sources or list(SOURCES)]
    best: dict[str, TurnResult] = {}
    for group in groups:
        queries = tuple(SubQuery(q=text, top_k=anchor.top_k, inspect_k=0, threshold=anchor.threshold) for text in anchor.queries)
        hits = yield HybridSearch(
            queries=queries, sources=tuple(dict.fromkeys(group)) or SOURCES, from_us=bounds.from_us, to_us=bounds.to_us,
            summaries=tuple(context.summaries),
        )  # fmt: skip
        if not isinstance(hits, HybridHits):
            turn.notes.append(f"anchor: {why_not(hits)}")
            continue
        for result in results_of(hits):
            if result.row.id not in best or result.row.score > best[result.row.id].row.score:
                best[result.row.id] = result
    return sorted(best.values(), key=lambda r: (-r.row.score, r.evidence.t0_us))[: anchor.top_k]


def _judged(anchor: Anchor, candidates: Sequence[TurnResult], turn: PlannerTurn) -> Generator[Any, Any, dict[str, Judgement]]:
    """Judgements by target, of those on which one came."""
    judged = yield Adjudicate(
        targets=tuple(target_of(result) for result in candidates),
        event=anchor.queries[0],
        verification_prompt=anchor.verification_prompt or "",
    )
    if not isinstance(judged, Judged):
        turn.notes.append("anchor: the candidates could not be judged")
        return {}
    turn.notes += [f"anchor: {note}" for note in judged.notes]
    return {one.target: one for one in judged.judgements}


def occurrences(candidates: Sequence[TurnResult], judged: Mapping[str, Judgement]) -> list[Occurrence]:
    """The candidates that the judge verified, as occurrences in the order of time.

    Candidates that overlap or lie within `SAME_US` are one occurrence, as long as its longest candidate.
    """
    found = [_as_occurrence(one, judged[one.row.id].confidence) for one in candidates if one.row.id in judged and judged[one.row.id].match]
    merged: list[Occurrence] = []
    for one in sorted(found, key=lambda o: (o.t0_us, o.t1_us)):
        if merged and one.t0_us <= merged[-1].t1_us + SAME_US:
            merged[-1] = _joined(merged[-1], one)
        else:
            merged.append(one)
    return merged


def _as_occurrence(candidate: TurnResult, confidence: float) -> Occurrence:
    evidence = candidate.evidence
    return Occurrence(t0_us=evidence.t0_us, t1_us=evidence.t1_us, score=candidate.row.score, confidence=confidence)


def _joined(a: Occurrence, b: Occurrence) -> Occurrence:
    surest = max(a, b, key=lambda o: o.rank)
    return msgspec.structs.replace(surest, t0_us=min(a.t0_us, b.t0_us), t1_us=max(a.t1_us, b.t1_us))


def choose(found: Sequence[Occurrence], index: int | None) -> Occurrence | None:
    """The `index`-th by time (1 = first), None where there are fewer; without an index the surest, the earlier of two alike."""
    if index is not None:
        ordered = sorted(found, key=lambda o: o.t0_us)
        return ordered[index - 1] if index <= len(ordered) else None
    return max(found, key=lambda o: (*o.rank, -o.t0_us), default=None)


def _unresolved(role: str, anchor: Anchor, candidates: int, judged: Mapping[str, Judgement]) -> str:
    what = f'{role} "{anchor.queries[0][:80]}"'
    if not candidates:
        return f"{what}: nothing was found; search for it in other words or other sources"
    matches = sum(one.match for one in judged.values())
    wanted = f", occurrence {anchor.occurrence_index} was asked for" if anchor.occurrence_index else ""
    return f"{what}: {candidates} candidates, {len(judged)} of them judged, {matches} verified{wanted}; find the event by other means first"
