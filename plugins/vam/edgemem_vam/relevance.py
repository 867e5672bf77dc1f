"""Scores of different spaces on one scale, so that VAM's thresholds mean something and its merge by maximum is fair.

VAM compares cosines of one space (Gemini Embedding 2) with fixed numbers: .05 is nothing, .65 is a good hit, .12 is found. Cosines of other
spaces lie elsewhere, and those of picture-to-text and text-to-text are never alike. Here each space states two of its own cosines in the
calibration of its card: `search_chance`, what an unrelated query reaches, and `search_sure`, what a fitting one reaches. They are mapped to
VAM's .05 and .65, linearly, within 0..1. A space that states none is taken as VAM takes its own.
"""

from __future__ import annotations

from collections.abc import Mapping

FLOOR = 0.05
"""Pictures that score less are no hits (VAM, agentic search)."""
SURE = 0.65
"""Default threshold of a query (Table 6)."""
KEEP = 0.8
"""Hits from this share of the threshold on are kept; where none is, all are (VAM, hybrid search)."""
FOUND = 0.12
"""Least score with which something counts as found (VAM)."""


def relevance(cosine: float, calibration: Mapping[str, float]) -> float:
    """A cosine of one space on VAM's scale, 0..1."""
    chance, sure = calibration.get("search_chance"), calibration.get("search_sure")
    if chance is None or sure is None or sure <= chance:
        return min(1.0, max(0.0, cosine))
    return min(1.0, max(0.0, FLOOR + (SURE - FLOOR) * (cosine - chance) / (sure - chance)))


def kept(scores: list[float], threshold: float, top_k: int) -> int:
    """How many of `scores` (best first) a search returns: those at `KEEP` of the threshold or above, else the `top_k` best."""
    enough = sum(score >= KEEP * threshold for score in scores)
    return min(top_k, enough or len(scores))
