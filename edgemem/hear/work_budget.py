"""Limits the processor time for live sound."""

from __future__ import annotations

import math


class WorkBudget:
    """Limits the work for live sound, in seconds of work per second of sound (real-time factor).

    Unused work becomes credit, at most `burst_s` seconds, for minutes in which much is said.
    """

    def __init__(self, max_rtf: float, burst_s: float = 20.0) -> None:
        """`max_rtf`: seconds of work per second of sound; infinity = no limit."""
        self._max_rtf, self._burst_s = max_rtf, burst_s
        self._credit_s = burst_s

    def heard(self, sound_s: float) -> None:
        """Note that `sound_s` seconds of sound arrived."""
        if self._max_rtf != math.inf:
            self._credit_s = min(self._burst_s, self._credit_s + sound_s * self._max_rtf)

    def afford(self, work_s: float) -> bool:
        """Whether work of this length is within the budget. With full credit it always is, so that a long utterance is not skipped."""
        return self._max_rtf == math.inf or work_s <= self._credit_s or self._credit_s >= self._burst_s

    def spent(self, work_s: float) -> None:
        """Note that `work_s` seconds of work were done."""
        self._credit_s -= work_s
