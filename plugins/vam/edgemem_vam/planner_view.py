"""What the planner reads of the turns so far: the best texts whole, within a budget of tokens; of the rest one line each.

The released code shows every text whole, every turn. Here the inspector's findings come first, the newest first, then results by how sure
they are. A result that does not fit is a line with its time, its reference and the query that found it, so that the planner can ask for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from edgemem.answer.session import Session
from edgemem_vam.actions import Surveyed
from edgemem_vam.anchored import AnchorCandidate, AnchorOutcome
from edgemem_vam.context import PlannerTurn, RetrievalContext, TurnResult
from edgemem_vam.reply import letters
from edgemem_vam.shorten import shortened

CHARS_PER_TOKEN = 3
"""Of English text a token is about 4 characters; `llm.models` counts before sending with 3 as well."""
LINE_CHARS = 120
"""Of a text that is shown as one line."""
_LINE_TOKENS = 70
"""Of one line with its numbers."""
Place = tuple[int, int]
"""Turn and result, as references count them."""


@dataclass
class _Shares:
    """What is shown whole, what as a line, within the budget."""

    whole: set[Place] = field(default_factory=set)
    lines: set[Place] = field(default_factory=set)
    findings: set[Place] = field(default_factory=set)
    """Turn and number of the finding."""


def render(context: RetrievalContext, text_tokens: int, line_tokens: int) -> list[dict[str, Any]]:
    """Turns in order; everything that was seen or written stands in fields that hold data."""
    shares = _shared_out(context, text_tokens, line_tokens)
    return [_turn(turn, context, shares) for turn in context.turns]


def surroundings(context: RetrievalContext, known: Surveyed, session: Session) -> dict[str, Any]:
    """What the planner reads beside the turns: when it is asked, what there is, what was talked about before."""
    body: dict[str, Any] = {
        "asked_at": context.clock(min(session.question.asked_us, session.question.as_of_us)),
        "memory": {
            "streams": [
                {"stream": s.name, "start": context.seconds(s.t0_us), "end": context.seconds(s.t1_us), "clock": context.clock(s.t0_us)}
                for s in known.streams
            ]
        },
        "available_summary_structures": [
            {"summary_structure": s.name, "granularity_seconds": s.granularity_s, "windows": s.windows, "focus": s.focus}
            for s in known.structures
        ],
    }
    if session.question.options:
        body["options"] = letters(session.question.options)
    span = {"min": session.span.from_us, "max": session.span.to_us}
    if ends := {end: context.seconds(t_us) for end, t_us in span.items() if t_us is not None}:
        body["asked_time"] = ends
    if known.conversation:
        body["conversation"] = [{"user": e.question, "text": e.answer} for e in known.conversation]
    if known.habits:
        body["habits"] = [{"habit": habit.habit, "quote": habit.quote} for habit in known.habits]
    return body


def tokens(text: str) -> int:
    """About how many it has."""
    return len(text) // CHARS_PER_TOKEN + 1


def _shared_out(context: RetrievalContext, text_tokens: int, line_tokens: int) -> _Shares:
    shares, left = _Shares(), text_tokens
    for place, text in _findings(context):
        if tokens(text) <= left:
            left -= tokens(text)
            shares.findings.add(place)
    seen: set[tuple[str, str]] = set()
    for place, result in _by_confidence(context):
        key = (result.row.source, result.row.id)
        if key not in seen and tokens(result.row.text) <= left:
            left -= tokens(result.row.text)
            shares.whole.add(place)
            seen.add(key)
    rest = [place for place, _ in _by_confidence(context) if place not in shares.whole]
    shares.lines.update(rest[: line_tokens // _LINE_TOKENS])
    return shares


def _findings(context: RetrievalContext) -> Iterable[tuple[Place, str]]:
    """The newest first."""
    return [((turn.number, n), finding.text) for turn in reversed(context.turns) for n, finding in enumerate(turn.findings)]


def _by_confidence(context: RetrievalContext) -> list[tuple[Place, TurnResult]]:
    """The surest first; of one that came up again the newest turn first."""
    every = [((turn.number, n), result) for turn in context.turns for n, result in enumerate(turn.results)]
    return sorted(every, key=lambda one: (-context.confidence(one[1]), -one[0][0], one[0][1]))


def _turn(turn: PlannerTurn, context: RetrievalContext, shares: _Shares) -> dict[str, Any]:
    shown: dict[str, Any] = {"turn_idx": turn.number, "action": {k: v for k, v in turn.action.items() if k != "thought"}}
    places = [((turn.number, n), result) for n, result in enumerate(turn.results)]
    rows = [_row(n, result, context, whole=(t, n) in shares.whole) for (t, n), result in places if (t, n) in shares.whole | shares.lines]
    if rows:
        shown["results"] = rows
    if len(rows) < len(turn.results):
        shown["more_results"] = len(turn.results) - len(rows)
    if turn.findings:
        shown["findings"] = _shown_findings(turn, shares)
    if turn.anchors:
        shown["anchors"] = [_anchor(outcome, context) for outcome in turn.anchors]
    if turn.resolved is not None:
        ends = {"min": turn.resolved.from_us, "max": turn.resolved.to_us}
        shown["resolved_time_range"] = {end: context.seconds(t_us) for end, t_us in ends.items() if t_us is not None}
    if turn.notes:
        shown["notes"] = turn.notes
    return shown


def _row(index: int, result: TurnResult, context: RetrievalContext, *, whole: bool) -> dict[str, Any]:
    evidence, row = result.evidence, result.row
    line = {
        "result_idx": index,
        "source": row.source,
        "start": context.seconds(evidence.t0_us),
        "clock": context.clock(evidence.t0_us),
        "score": round(row.score, 3),
        "query": row.query,
        "origin": row.origin,
    }
    if whole:
        return {**line, "end": context.seconds(evidence.t1_us), "text": row.text}
    return {**line, "line": shortened(" ".join((row.passage or row.text).split()), LINE_CHARS)}


def _shown_findings(turn: PlannerTurn, shares: _Shares) -> list[dict[str, Any]]:
    places = {result.row.id: index for index, result in enumerate(turn.results)}
    shown = []
    for number, finding in enumerate(turn.findings):
        text = finding.text if (turn.number, number) in shares.findings else shortened(finding.text, LINE_CHARS)
        stated = {} if finding.confidence is None else {"confidence": finding.confidence}
        shown.append({"result_idx": [places[t] for t in finding.targets if t in places], "finding": text, **stated})
    return shown


def _anchor(outcome: AnchorOutcome, context: RetrievalContext) -> dict[str, Any]:
    at = {} if outcome.at is None else {"start": context.seconds(outcome.at.t0_us), "end": context.seconds(outcome.at.t1_us)}
    candidates = [_candidate(one, context) for one in outcome.candidates]
    return {"role": outcome.role, "query": outcome.query, "resolved": at or None, "candidates": candidates}


def _candidate(one: AnchorCandidate, context: RetrievalContext) -> dict[str, Any]:
    times = {"start": context.seconds(one.t0_us), "end": context.seconds(one.t1_us)}
    if not one.judged:
        return {**times, "judged": False}
    verdict = {"match": one.match, "confidence": one.confidence}
    return {**times, "judged": True, **verdict, "observed_event": one.observed_event, "reason": one.reason}
