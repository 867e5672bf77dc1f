"""Boxes in pictures."""

from __future__ import annotations

from edgemem.records import Box


def overlap(one: Box, other: Box) -> float:
    """Intersection over union."""
    both = _shared(one, other)
    return both / max(one.area + other.area - both, 1e-9)


def inside(one: Box, other: Box) -> float:
    """Share of the first box that lies in the other."""
    return _shared(one, other) / max(one.area, 1e-9)


def _shared(one: Box, other: Box) -> float:
    wide, high = min(one.x1, other.x1) - max(one.x0, other.x0), min(one.y1, other.y1) - max(one.y0, other.y0)
    return max(0.0, wide) * max(0.0, high)
