"""Whether two pictures show one object, by points that lie in both in the same arrangement."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgemem.records import Box, Image, Matrix
from edgemem.see import pixels

SIDE_PX = 960
"""Pictures are compared at this size: 70 ms for the points of one."""
POINTS = 1200
_CONTRAST = 0.02
_SAME = 1 - 0.25 / 2
"""Cosine of two points that show the same: distance .5 between unit vectors."""
_CLEARER = 0.8
"""A match counts where the next best point is that much farther away (Lowe 2004, section 7.1)."""
_OFF_PX = 6.0
_SCALES = (0.15, 2.5)


@dataclass(frozen=True)
class Points:
    """Keypoints of a picture: where they are, float32 [n, 2] in pixels, and what is around them, float32 [n, 128] of unit length."""

    places: Matrix
    rows: Matrix

    def within(self, boxes: Iterable[Box], width: int, height: int) -> Points:
        """Those in at least one of the boxes."""
        x, y = self.places[:, 0] / width, self.places[:, 1] / height
        inside = np.zeros(len(x), bool)
        for box in boxes:
            inside |= (x >= box.x0) & (x <= box.x1) & (y >= box.y0) & (y <= box.y1)
        return Points(self.places[inside], self.rows[inside])

    def without(self, other: Points) -> Points:
        """Those that another picture does not show."""
        if not (len(self.rows) and len(other.rows)):
            return self
        new = (self.rows @ other.rows.T).max(axis=1) < _SAME
        return Points(self.places[new], self.rows[new])


def points_of(image: Image) -> Points:
    """SIFT keypoints (Lowe 2004) as RootSIFT (Arandjelovic & Zisserman 2012) of a picture of at most `SIDE_PX`."""
    import cv2

    sift: Any = cv2.SIFT.create(POINTS, contrastThreshold=_CONTRAST)
    found, rows = sift.detectAndCompute(pixels.to_gray(image), None)
    if rows is None:
        return Points(np.zeros((0, 2), np.float32), np.zeros((0, 128), np.float32))
    roots = np.sqrt(rows / np.maximum(rows.sum(axis=1, keepdims=True), 1e-6))
    return Points(np.array([point.pt for point in found], np.float32), np.asarray(roots, np.float32))


def inliers(thing: Points, seen: Points) -> int:
    """How many points of a thing another picture shows as one object: moved, turned and scaled together."""
    return _fit(thing, seen)[1]


def unlike(image: Image, points: Points, other: Image, others: Points) -> Points:
    """The points of a picture that another one of the same place does not show: neither such a point nor, where both can be laid on each
    other, such brightness there. A brightness counts as the same within `_SHIFT_PX` and `_LEVELS`, which forgives what a camera moves.
    """
    import cv2

    left = points.without(others)
    matrix, fitting = _fit(others, points)
    if matrix is None or fitting < SAME_PLACE or not len(left.rows):
        return left
    gray, size = pixels.to_gray(image).astype(np.int16), (image.shape[1], image.shape[0])
    there = cv2.warpAffine(np.ones(other.shape[:2], np.uint8), matrix, size) > 0
    laid = cv2.warpAffine(pixels.to_gray(other), matrix, size).astype(np.float32)
    laid *= float(gray[there].mean()) / max(float(laid[there].mean()), 1.0)
    kernel = np.ones((2 * _SHIFT_PX + 1, 2 * _SHIFT_PX + 1), np.uint8)
    new = (gray > cv2.dilate(laid, kernel) + _LEVELS) | (gray < cv2.erode(laid, kernel) - _LEVELS)
    share = cv2.blur((new & there).astype(np.float32), (_AROUND_PX, _AROUND_PX))
    x, y = (np.clip(left.places.round().astype(int), 0, np.array(size) - 1)).T
    kept = share[y, x] > _CHANGED
    return Points(left.places[kept], left.rows[kept])


SAME_PLACE = 12
"""Points that two pictures share where they show the same place."""
_SHIFT_PX, _LEVELS, _AROUND_PX, _CHANGED = 2, 12.0, 15, 0.1


def _fit(thing: Points, seen: Points) -> tuple[Matrix | None, int]:
    """The similarity that lays the points of one picture on those of another, and how many of them fit."""
    import cv2

    if min(len(thing.rows), len(seen.rows)) < 4:
        return None, 0
    likeness = thing.rows @ seen.rows.T
    best = np.argpartition(-likeness, 1, axis=1)[:, :2]
    two = np.take_along_axis(likeness, best, axis=1)
    first, near, farther = best[np.arange(len(best)), two.argmax(axis=1)], 2 - 2 * two.max(axis=1), 2 - 2 * two.min(axis=1)
    clear = near < _CLEARER**2 * farther
    if clear.sum() < 4:
        return None, 0
    matrix, fitting = cv2.estimateAffinePartial2D(thing.places[clear], seen.places[first[clear]], ransacReprojThreshold=_OFF_PX)
    if matrix is None or not _SCALES[0] < float(np.hypot(*matrix[0, :2])) < _SCALES[1]:
        return None, 0
    return np.asarray(matrix, np.float32), int(fitting.sum())
