"""How anchors were resolved, as a turn keeps it: candidates, what the judge said of each, and the stretch of time that came of it."""

from __future__ import annotations

from edgemem.records import Record


class Span(Record, frozen=True):
    """A stretch of wall time; open where None."""

    from_us: int | None
    to_us: int | None


class Occurrence(Record, frozen=True):
    """A candidate for an anchor, with what the judge said. Of several that are one occurrence the surest lends its words."""

    t0_us: int
    t1_us: int
    score: float
    confidence: float
    """The judge's; 0 where the anchor is a result that the planner named, or the best hit that nobody was to judge."""

    @property
    def rank(self) -> tuple[float, float]:
        """How sure it is: by confidence, then by score (VAM)."""
        return self.confidence, self.score


class AnchorCandidate(Record, frozen=True):
    """One candidate as the planner reads of it: when it was, and what the judge said. `judged` false: nobody judged it."""

    t0_us: int
    t1_us: int
    judged: bool
    match: bool = False
    confidence: float = 0.0
    observed_event: str = ""
    reason: str = ""


class AnchorOutcome(Record, frozen=True):
    """How one anchor was resolved. `at` None: it was not."""

    role: str
    """"anchor", "start_anchor" or "end_anchor"."""
    query: str
    candidates: tuple[AnchorCandidate, ...] = ()
    at: Occurrence | None = None
