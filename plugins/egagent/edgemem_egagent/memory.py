"""The working memory of one question: what each tool brought, sub-task by sub-task, with the evidence (Algorithm 1, the set M)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from edgemem.clock import to_local
from edgemem.records import Evidence, Record
from edgemem_egagent.actions import ToolName

SECTIONS: dict[ToolName, str] = {"visual": "Frame_Search", "graph": "EntityGraph_Search", "transcript": "Transcript_Search"}
"""Names under which a model reads what each tool found."""
_ITEMS = 12
"""Items of one finding that are shown to the model; the others stay citable."""


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


@dataclass
class WorkingMemory:
    """Findings in the order in which they came."""

    findings: list[Finding] = field(default_factory=list)
    tz: str = "UTC"
    """Of the one who asks."""

    def add(self, finding: Finding) -> None:
        """Remember it."""
        self.findings.append(finding)

    def evidence(self) -> dict[str, Evidence]:
        """Everything that may be cited, by id."""
        return {one.id: one for finding in self.findings for one in finding.evidence}

    def sections(self) -> dict[str, list[dict[str, Any]]]:
        """By tool, as a model reads it; tools that found nothing are left out."""
        told: dict[str, list[dict[str, Any]]] = {}
        for finding in self.findings:
            items = [
                {"id": e.id, "time": on_clock(e.t0_us, self.tz), "until": on_clock(e.t1_us, self.tz), "text": e.text[:300]}
                for e in finding.evidence[:_ITEMS]
            ]
            told.setdefault(SECTIONS[finding.tool], []).append({"sub_task": finding.task, "finding": finding.text, "items": items})
        return told

    def times_us(self, tool: ToolName | None = None) -> list[int]:
        """Times that were selected, by one tool or by all: what recall@W measures (appendix D.3)."""
        return [(e.t0_us + e.t1_us) // 2 for f in self.findings if tool in {None, f.tool} for e in f.evidence]

    @property
    def best(self) -> Finding | None:
        """The surest finding with evidence; the earlier of two equally sure ones."""
        return max((f for f in self.findings if f.evidence), key=lambda f: f.sure, default=None)
