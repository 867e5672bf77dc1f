"""The working memory of one question: what each tool brought, sub-task by sub-task, with the evidence (Algorithm 1, the set M)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from edgemem.clock import to_local
from edgemem.records import Evidence, Record
from edgemem_egagent.actions import Condition, Day, Hint, ToolName

SECTIONS: dict[ToolName, str] = {"visual": "Frame_Search", "graph": "EntityGraph_Search", "transcript": "Transcript_Search"}
"""Names under which a model reads what each tool found."""
_ITEMS = 12
"""Items of one finding that are shown to the model; the others stay citable."""
_LINE_CHARS = 600


def on_clock(t_us: int, tz: str) -> str:
    """Wall time where the question is asked, with its distance from UTC, such as `2026-05-04T10:00:20+02:00`."""
    return to_local(t_us, tz).isoformat(timespec="seconds")


class Finding(Record, frozen=True):
    """What one tool brought for one sub-task, and how well it fits (0..1)."""

    tool: ToolName
    task: str
    text: str
    evidence: tuple[Evidence, ...] = ()
    sure: float = 0.0
    hints: tuple[Hint, ...] = ()
    """Which of the evidence does not meet every condition of its search: it proves nothing about what was searched for."""

    @property
    def proofs(self) -> tuple[Evidence, ...]:
        """Evidence that is no hint."""
        only = {hint.id for hint in self.hints}
        return tuple(one for one in self.evidence if one.id not in only)


@dataclass
class WorkingMemory:
    """Findings in the order in which they came."""

    findings: list[Finding] = field(default_factory=list)
    tz: str = "UTC"
    """Of the one who asks."""
    days: tuple[Day, ...] = ()
    """What the memory holds; empty without a language model, which alone plans by days."""

    def add(self, finding: Finding) -> None:
        """Remember it."""
        self.findings.append(finding)

    def evidence(self) -> dict[str, Evidence]:
        """Everything that may be cited, by id."""
        return {one.id: one for finding in self.findings for one in finding.evidence}

    def hints(self) -> dict[str, tuple[Condition, ...]]:
        """Evidence that every search which brought it brought as a hint: by id the conditions that it fails."""
        proved = {one.id for finding in self.findings for one in finding.proofs}
        return {hint.id: hint.fails for finding in self.findings for hint in finding.hints if hint.id not in proved}

    def lines(self) -> tuple[str, ...]:
        """One line for each finding, as the analyzer reads what is known already."""
        return tuple(f"{SECTIONS[finding.tool]}, {finding.task}: {finding.text}"[:_LINE_CHARS] for finding in self.findings)

    def sections(self) -> dict[str, list[dict[str, Any]]]:
        """By tool, as a model reads it; tools that found nothing are left out."""
        told: dict[str, list[dict[str, Any]]] = {}
        for finding in self.findings:
            fails = {hint.id: hint.fails for hint in finding.hints}
            items = [self._item(one, fails.get(one.id, ())) for one in finding.evidence[:_ITEMS]]
            told.setdefault(SECTIONS[finding.tool], []).append({"sub_task": finding.task, "finding": finding.text, "items": items})
        return told

    def _item(self, one: Evidence, fails: tuple[Condition, ...]) -> dict[str, Any]:
        told = {"id": one.id, "time": on_clock(one.t0_us, self.tz), "until": on_clock(one.t1_us, self.tz), "text": one.text[:300]}
        return {**told, "fails": fails} if fails else told

    def times_us(self, tool: ToolName | None = None) -> list[int]:
        """Times that were selected, by one tool or by all: what recall@W measures (appendix D.3)."""
        return [(e.t0_us + e.t1_us) // 2 for f in self.findings if tool in {None, f.tool} for e in f.evidence]

    @property
    def best(self) -> Finding | None:
        """The surest finding with proof; the earlier of two equally sure ones."""
        return max((f for f in self.findings if f.proofs), key=lambda f: f.sure, default=None)
