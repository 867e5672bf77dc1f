"""What was found so far: turns with their results, as references (turn, result) and as the JSON that the planner reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from edgemem.clock import to_local, zone
from edgemem.records import US, Evidence, Record
from edgemem_vam.actions import Finding, Hits, Inspected, Note, Row, Surveyed, Target
from edgemem_vam.relevance import FOUND
from edgemem_vam.wire import ABSOLUTE_FROM, Ref, TimeRange

_ROWS = 12
"""Results of one turn that the planner reads; all of them can be referred to."""
_TEXT_CHARS = 300
_FINDING_CHARS = 700
_STAMP_FROM = 1e13
"""A number of 14 digits is YYYYmmddHHMMSS, as VAM writes absolute times."""


class Result(Record, frozen=True):
    """A row with its evidence."""

    row: Row
    evidence: Evidence


@dataclass
class Turn:
    """One turn of the planner."""

    number: int
    action: dict[str, Any]
    results: list[Result] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass
class Context:
    """All turns of a session. Relative seconds count from the first frame of the memory's first stream."""

    base_us: int
    end_us: int
    tz: str = "UTC"
    turns: list[Turn] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    """Summaries written in this session."""

    @classmethod
    def of(cls, surveyed: Surveyed, tz: str) -> Context:
        """For a memory of these streams."""
        ends = [t_us for s in surveyed.streams for t_us in (s.t0_us, s.t1_us)]
        ends += [t_us for t_us in (surveyed.first_us, surveyed.last_us) if t_us is not None]
        return cls(min(ends, default=0), max(ends, default=0), tz)

    def begin(self, action: Any) -> Turn:
        """A new turn, numbered from 1."""
        self.turns.append(Turn(len(self.turns) + 1, msgspec.to_builtins(action)))
        return self.turns[-1]

    def resolve(self, ref: Ref | None) -> Result | None:
        """What a reference points to; None when there is no such turn or result."""
        if ref is None or not 1 <= ref.turn_idx <= len(self.turns):
            return None
        results = self.turns[ref.turn_idx - 1].results
        return results[ref.result_idx] if ref.result_idx < len(results) else None

    def results(self) -> list[Result]:
        """Every result once, with its best score, best first."""
        best: dict[str, Result] = {}
        for result in (result for turn in self.turns for result in turn.results):
            if result.row.id not in best or result.row.score > best[result.row.id].row.score:
                best[result.row.id] = result
        return sorted(best.values(), key=lambda r: (-r.row.score, r.evidence.t0_us, r.row.id))

    @property
    def unique(self) -> int:
        """Distinct results so far."""
        return len({result.row.id for turn in self.turns for result in turn.results})

    @property
    def found(self) -> bool:
        """Something scored well enough to count as found."""
        return any(result.row.score >= FOUND for turn in self.turns for result in turn.results)

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

    # What the planner reads

    def render(self) -> list[dict[str, Any]]:
        """Turns in order; everything that was seen or written stands in fields that hold data."""
        return [self._turn(turn) for turn in self.turns]

    def _turn(self, turn: Turn) -> dict[str, Any]:
        shown: dict[str, Any] = {"turn_idx": turn.number, "action": {k: v for k, v in turn.action.items() if k != "thought"}}
        if turn.results:
            shown["results"] = [self._result(index, result) for index, result in enumerate(turn.results[:_ROWS])]
        if len(turn.results) > _ROWS:
            shown["more_results"] = len(turn.results) - _ROWS
        places = {result.row.id: index for index, result in enumerate(turn.results)}
        if turn.findings:
            shown["findings"] = [
                {"result_idx": [places[t] for t in finding.targets if t in places], "finding": finding.text[:_FINDING_CHARS]}
                for finding in turn.findings
            ]
        if turn.notes:
            shown["notes"] = turn.notes
        return shown

    def _result(self, index: int, result: Result) -> dict[str, Any]:
        evidence, row = result.evidence, result.row
        return {
            "result_idx": index,
            "source": row.source,
            "start": self.seconds(evidence.t0_us),
            "end": self.seconds(evidence.t1_us),
            "clock": self.clock(evidence.t0_us),
            "score": round(row.score, 3),
            "text": " ".join(row.text.split())[:_TEXT_CHARS],
            "origin": row.origin,
        }


def results_of(hits: Hits) -> list[Result]:
    """Rows beside their evidence."""
    return [Result(row=row, evidence=evidence) for row, evidence in zip(hits.rows, hits.evidence, strict=True)]


def inspected_results(inspected: Inspected) -> list[Result]:
    """The pictures of an inspection of a stretch of time, so that an answer can refer to them."""
    found = []
    for evidence in inspected.evidence:
        row = Row(
            id=evidence.id, source="frame", score=FOUND, text=evidence.text, by="picture", origin="ocr", moment_id=int(evidence.id[1:])
        )  # fmt: skip
        found.append(Result(row=row, evidence=evidence))
    return found


def note_results(notes: Sequence[Note]) -> list[Result]:
    """Summaries as results; each is proved by the last picture of its window."""
    found = []
    for note in notes:
        if note.evidence:
            proof = note.evidence[-1]
            row = Row(id=proof.id, source="summary", score=0.5, text=note.text, by="document", origin="ocr", moment_id=note.moment_id)
            found.append(Result(row=row, evidence=msgspec.structs.replace(proof, t0_us=note.t0_us, t1_us=note.t1_us)))
    return found


def target_of(result: Result) -> Target:
    """What to look at to check a result."""
    evidence = result.evidence
    return Target(
        id=result.row.id, stream=evidence.stream, from_us=evidence.t0_us, to_us=evidence.t1_us, hint=result.row.text[:_TEXT_CHARS]
    )


def _stamp_us(stamp: float, tz: str) -> int:
    """YYYYmmddHHMMSS on the clock of the one who asks. What is no date counts as epoch seconds, far in the future."""
    try:
        return round(datetime.strptime(f"{stamp:.0f}", "%Y%m%d%H%M%S").replace(tzinfo=zone(tz)).timestamp()) * US
    except ValueError:
        return _us(stamp)


def _us(seconds: float) -> int:
    """Microseconds, within what SQLite can compare: some 30,000 years."""
    return round(min(max(seconds, -1e12), 1e12) * US)
