"""Settings of the planner `react`, in a light file: every process that answers a question reads them, whoever its planner is."""

from __future__ import annotations

import msgspec


class ReactSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds of the loop."""

    turns: int = 8
    """The paper speaks of a limit and names none."""
    frames: int = 32
    """K of short-term memory."""
    shown: int = 32
    """Most frames that are shown as pictures; fewer where the question's share of tokens is small."""
    max_tokens: int = 300
    """Of a reply: one sentence, one action, one call."""
    thinking_tokens: int = 0
    logprobs: int = 1
    """Log-probabilities of this many tokens at each place of a reply are asked of the server, for trajectories; 0 = of none."""

    def __post_init__(self) -> None:
        if self.turns < 1 or not 1 <= self.frames <= 512:
            raise ValueError("turns must be at least 1, frames 1 to 512")
