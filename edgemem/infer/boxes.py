"""Boxes in pictures."""

from __future__ import annotations

from edgemem.records import Box


def overlap(one: Box, other: Box) -> float:
    """Intersection over union."""
    wide, high = min(one.x1, other.x1) - max(one.x0, other.x0), min(one.y1, other.y1) - max(one.y0, other.y0)
    both = max(0.0, wide) * max(0.0, high)
    return both / max(one.area + other.area - both, 1e-9)
