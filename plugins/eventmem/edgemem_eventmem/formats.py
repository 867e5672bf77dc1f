"""Names of the formats in which trajectories are written. Apart from the rest, so that the command line loads nothing else for its help."""

from __future__ import annotations

from typing import Literal

Format = Literal["trl", "preferences", "swift", "verl"]
