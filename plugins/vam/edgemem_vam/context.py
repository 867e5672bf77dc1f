"""What was found so far: turns with their results, and references (turn, result) to them. `planner_view` shows it to the planner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from edgemem.answer.tools import Refused
from edgemem.clock import to_local, zone
from edgemem.records import US, Evidence, Record
from edgemem_vam.actions import HybridHits, Inspected, InspectionFinding, ResultRow, Surveyed, Target, WindowSummary
from edgemem_vam.anchored import AnchorOutcome, Span
from edgemem_vam.relevance import FOUND
from edgemem_vam.shorten import shortened
from edgemem_vam.wire import ABSOLUTE_FROM, Ref, TimeRange

_HINT_CHARS = 2500
"""Of a document that the judge of an anchor reads: the 700 tokens that an event document may have."""
SUMMARY_SCORE = 0.5
"""Of a summary that was written in this session, as if half sure: it answers what it was written for, and nobody searched for it."""
_STAMP_FROM = 1e13
"""A number of 14 digits is YYYYmmddHHMMSS, as VAM writes absolute times."""


class TurnResult(Record, frozen=True):
    """A row with its evidence."""

    row: ResultRow
    evidence: Evidence


@dataclass
class PlannerTurn:
    """One turn of the planner."""

    number: int
    action: dict[str, Any]
    results: list[TurnResult] = field(default_factory=list)
    findings: list[InspectionFinding] = field(default_factory=list)
    anchors: list[AnchorOutcome] = field(default_factory=list)
    resolved: Span | None = None
    """The stretch of time that its anchors came to."""
    notes: list[str] = field(default_factory=list)
    """For the planner: our own words only, never those of a model, a server or the scene."""


@dataclass
class RetrievalContext:
    """All turns of a session. Relative seconds count from the first frame of the memory's first stream."""

    base_us: int
    end_us: int
    tz: str = "UTC"
    turns: list[PlannerTurn] = field(default_factory=list)
    summaries: list[WindowSummary] = field(default_factory=list)
    """Written in this session."""
    limits: list[str] = field(default_factory=list)
    """Which limits cut something short, for the person who asked."""

    @classmethod
    def of(cls, surveyed: Surveyed, tz: str) -> RetrievalContext:
        """For a memory of these streams."""
        ends = [t_us for s in surveyed.streams for t_us in (s.t0_us, s.t1_us)]
        ends += [t_us for t_us in (surveyed.first_us, surveyed.last_us) if t_us is not None]
        return cls(min(ends, default=0), max(ends, default=0), tz)

    def begin(self, action: Any) -> PlannerTurn:
        """A new turn, numbered from 1."""
        self.turns.append(PlannerTurn(len(self.turns) + 1, msgspec.to_builtins(action)))
        return self.turns[-1]

    def resolve(self, ref: Ref | None) -> TurnResult | None:
        """What a reference points to; None when there is no such turn or result."""
        if ref is None or not 1 <= ref.turn_idx <= len(self.turns):
            return None
        results = self.turns[ref.turn_idx - 1].results
        return results[ref.result_idx] if ref.result_idx < len(results) else None

    def results(self) -> list[TurnResult]:
        """Every result once, with its best score, best first."""
        best: dict[str, TurnResult] = {}
        for result in (result for turn in self.turns for result in turn.results):
            if result.row.id not in best or result.row.score > best[result.row.id].row.score:
                best[result.row.id] = result
        return sorted(best.values(), key=lambda r: (-r.row.score, r.evidence.t0_us, r.row.id))

    @property
    def found(self) -> bool:
        """Something scored well enough to count as found."""
        return any(result.row.score >= FOUND for turn in self.turns for result in turn.results)

    def confidence(self, result: TurnResult) -> float:
        """How surely it shows what was looked for: as the inspector said last, else its score."""
        stated = [
            finding.confidence
            for turn in self.turns
            for finding in turn.findings
            if result.row.id in finding.targets and finding.confidence is not None
        ]
        return stated[-1] if stated else result.row.score

    # Times

    def stretch(self, wanted: TimeRange | None) -> tuple[int | None, int | None]:
        """The two ends of a range without anchors, in microseconds."""
        if wanted is None:
            return None, None
        return self.to_us(wanted.min, wanted.mode), self.to_us(wanted.max, wanted.mode)

    def to_us(self, seconds: float | None, mode: str) -> int | None:
        """Seconds of the wire as wall time. "auto": above 1e8 they are absolute, as epoch seconds or YYYYmmddHHMMSS."""
        if seconds is None:
            return None
        if mode == "relative" or (mode == "auto" and abs(seconds) <= ABSOLUTE_FROM):
            return self.base_us + _us(seconds)
        return _stamp_us(seconds, self.tz) if seconds >= _STAMP_FROM else _us(seconds)

    def seconds(self, t_us: int) -> float:
        """Wall time as relative seconds."""
        return round((t_us - self.base_us) / US, 1)

    def clock(self, t_us: int) -> str:
        """Wall time on the clock of the one who asks, with its distance from UTC."""
        return to_local(t_us, self.tz).isoformat(sep=" ", timespec="seconds")


def results_of(hits: HybridHits) -> list[TurnResult]:
    """Rows beside their evidence."""
    return [TurnResult(row=row, evidence=evidence) for row, evidence in zip(hits.rows, hits.evidence, strict=True)]


def inspected_results(inspected: Inspected, prompt: str) -> list[TurnResult]:
    """The pictures of an inspection of a stretch of time, so that an answer can refer to them; scored as sure as the inspector was."""
    found = []
    for evidence in inspected.evidence:
        row = ResultRow(
            id=evidence.id, source="frame", score=evidence.score, text=evidence.text, by="picture", origin="ocr",
            moment_id=int(evidence.id[1:]), query=prompt,
        )  # fmt: skip
        found.append(TurnResult(row=row, evidence=evidence))
    return found


def summary_results(summaries: Sequence[WindowSummary]) -> list[TurnResult]:
    """Summaries as results; each is proved by the last picture of its window."""
    found = []
    for summary in summaries:
        if summary.evidence:
            proof = summary.evidence[-1]
            row = ResultRow(
                id=proof.id, source="summary", score=SUMMARY_SCORE, text=summary.text, by="document", origin="ocr",
                moment_id=summary.moment_id, query=summary.focus,
            )  # fmt: skip
            found.append(TurnResult(row=row, evidence=msgspec.structs.replace(proof, t0_us=summary.t0_us, t1_us=summary.t1_us)))
    return found


def target_of(result: TurnResult) -> Target:
    """What to look at to check a result."""
    evidence = result.evidence
    hint = shortened(result.row.text, _HINT_CHARS)
    return Target(id=result.row.id, stream=evidence.stream, from_us=evidence.t0_us, to_us=evidence.t1_us, hint=hint)


def why_not(result: Any) -> str:
    """Why an action brought nothing, for the planner. Never in the words of a model or a server, which may be what a picture said."""
    if isinstance(result, Refused) and not result.failed:
        return f"this could not be done: {result.why}"
    return "this could not be done: what it needs did not answer"


def _stamp_us(stamp: float, tz: str) -> int:
    """YYYYmmddHHMMSS on the clock of the one who asks. What is no date counts as epoch seconds, far in the future."""
    try:
        return round(datetime.strptime(f"{stamp:.0f}", "%Y%m%d%H%M%S").replace(tzinfo=zone(tz)).timestamp()) * US
    except ValueError:
        return _us(stamp)


def _us(seconds: float) -> int:
    """Microseconds, within what SQLite can compare: some 30,000 years."""
    return round(min(max(seconds, -1e12), 1e12) * US)
