"""How much a part of a picture is like a thing that was shown once, measured against what else the memory shows.

A lesson is a picture of the thing. Of its crops those count that are least like the pictures just before and after it: the place is there
too, the thing is not. A crop elsewhere is like the thing by its best cosine with one of these, less half of its best cosine with the
place. How much that means differs by thing: it is counted from what three in four moments of this memory stay below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgemem.records import Matrix, Vector

PROTOTYPES = 3
"""Crops of a lesson that stand for the thing. Two to four did equally well on two halves of 44 things (`tools/eval/taught.py`)."""
BEHIND = 0.5
"""Share of the likeness to the place that is taken off; .4 to .7 did equally well."""
USUAL = 0.75
"""Quantile of a memory's moments from which likeness is counted. What other things' lessons reach on pictures without them then carries
over from half to half: affirmed at 5 % false finds were 79 and 85 % instead of 64 and 88 % at 0 and 9 %."""
INLIER_WORTH, LEAST_INLIERS, MOST_INLIERS = 0.06, 5, 15
"""What a matching point adds; fewer prove nothing (99 of 100 pictures without the thing have at most 3), more prove no more."""
SLOPE, HALF = 25.0, 0.3
"""Logistic regression of "shows the thing" on the sum: slopes of 25.4 and 24.8, .5 at .24 and .27 on two halves of 100 pictures each. A
memory of 500 moments has more that are alike by chance: there 95 of 100 things stay below .26 in pictures without them, and all below .34.
"""
WORTH_A_LOOK = 0.04
"""Likeness from which on points are compared: the twelfth best of 99 pictures reaches .02 to .07."""
PLACES = 16
"""Vectors of the place that a lesson keeps."""


@dataclass(frozen=True)
class Background:
    """Crops from all over a memory: float32 [n, dim], and which moment each is of."""

    crops: Matrix
    owners: npt.NDArray[np.int64]
    """int64 [n], sorted."""

    @property
    def mean(self) -> Vector:
        """What all pictures have in common; it is taken off before vectors are compared."""
        return np.asarray(self.crops.mean(axis=0) if len(self.crops) else np.zeros(self.crops.shape[1]), np.float32)

    @property
    def moments(self) -> int:
        """How many there are crops of."""
        return len(np.unique(self.owners))


def centred(rows: Matrix, mean: Vector) -> Matrix:
    """Unit vectors of what is not common to all pictures: float32 [n, dim]."""
    left = rows - mean
    return np.asarray(left / np.maximum(np.linalg.norm(left, axis=-1, keepdims=True), 1e-9), np.float32)


def novel(crops: Matrix, place: Matrix, mean: Vector, count: int = PROTOTYPES) -> list[int]:
    """The crops that are least like the place, which may have none: float32 [n, dim] and [m, dim]."""
    if not len(place):
        return list(range(min(count, len(crops))))
    nearest = (centred(crops, mean) @ centred(place, mean).T).max(axis=1)
    return [int(i) for i in np.argsort(nearest, kind="stable")[:count]]


def spread(rows: Matrix, count: int) -> list[int]:
    """Of rows of unit length so many that every other one is near to one of them (farthest first, Gonzalez 1985)."""
    chosen: list[int] = [0] if len(rows) else []
    nearest = rows @ rows[0] if len(rows) else np.zeros(0, np.float32)
    while len(chosen) < min(count, len(rows)) and nearest.min() < _EQUAL:
        chosen.append(int(nearest.argmin()))
        nearest = np.maximum(nearest, rows @ rows[chosen[-1]])
    return chosen


_EQUAL = 0.999


@dataclass(frozen=True)
class Model:
    """What stands for a thing in one lesson, made comparable: prototypes and place without what all pictures have in common."""

    prototypes: Matrix
    place: Matrix
    mean: Vector
    usual: float = 0.0
    """What three in four moments stay below."""

    @classmethod
    def of(cls, prototypes: Matrix, place: Matrix, background: Background) -> Model:
        """Calibrated against this background."""
        mean = background.mean
        raw = cls(centred(prototypes, mean), centred(place, mean) if len(place) else place, mean)
        if not len(background.crops):
            return raw
        starts = np.flatnonzero(np.r_[True, background.owners[1:] != background.owners[:-1]])
        best = np.maximum.reduceat(raw.likeness(background.crops), starts)
        return cls(raw.prototypes, raw.place, mean, float(np.quantile(best, USUAL)))

    def likeness(self, crops: Matrix) -> Vector:
        """Of each crop, counted from what is usual: float32 [n]."""
        rows = centred(crops, self.mean)
        behind = (rows @ self.place.T).max(axis=1) if len(self.place) else 0.0
        return np.asarray((rows @ self.prototypes.T).max(axis=1) - BEHIND * behind - self.usual, np.float32)


def probability(likeness: float, inliers: int) -> float:
    """That a picture shows the thing: likeness of its best crop and matching points."""
    total = likeness + (INLIER_WORTH * min(inliers, MOST_INLIERS) if inliers >= LEAST_INLIERS else 0.0)
    return 1 / (1 + math.exp(-SLOPE * (total - HALF)))
