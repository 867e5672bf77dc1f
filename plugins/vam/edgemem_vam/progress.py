"""When a question is no longer getting anywhere (VAM section 3.4: "successive turns cease to improve results")."""

from __future__ import annotations

from dataclasses import dataclass, field

from edgemem_vam.context import PlannerTurn


@dataclass
class Progress:
    """Counts turns in a row that brought neither a result nor a finding that was not there before.

    A finding is new when something was looked at that was not, or was asked something else. It does not matter whether anything was found
    at all: a question that finds nothing stops as soon.
    """

    stagnant: int = 0
    _known: set[tuple[str, ...]] = field(default_factory=set)

    def take(self, turn: PlannerTurn) -> None:
        """Count one turn that is over."""
        brought: set[tuple[str, ...]] = {("result", result.row.source, result.row.id) for result in turn.results}
        brought |= {("finding", finding.prompt, *finding.targets) for finding in turn.findings}
        self.stagnant = 0 if brought - self._known else self.stagnant + 1
        self._known |= brought
