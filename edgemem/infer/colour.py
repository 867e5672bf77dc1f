"""Colour words for regions: the basic colour that is more frequent in a box than in the rest of the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgemem.infer.phrase import COLOURS
from edgemem.records import Box, Image

if TYPE_CHECKING:
    import numpy.typing as npt

GRID_PX = (96, 54)
"""Width and height at which colours are counted."""
STANDS_OUT = 0.10
"""A colour is named if its share of the box is larger than its share of the rest of the picture by at least this."""


def name_pixels(image: Image) -> npt.NDArray[np.uint8]:
    """Index into `COLOURS` per pixel, by fixed rules on hue, saturation and value (brown is dark orange, pink is pale red)."""
    import cv2

    hsv = cv2.cvtColor(image, cv2.COLOR_BGR2HSV_FULL).astype(np.float32)
    hue, saturation, value = hsv[..., 0] * (360 / 256), hsv[..., 1] / 255, hsv[..., 2] / 255
    edges = np.array([15, 42, 68, 170, 258, 300, 345], np.float32)
    by_hue = np.array([COLOURS.index(name) for name in ("red", "orange", "yellow", "green", "blue", "purple", "pink", "red")], np.uint8)
    named = by_hue[np.digitize(hue, edges)]
    reddish = (hue < 15) | (hue >= 345)
    named[reddish & (value > 0.75) & (saturation < 0.5)] = COLOURS.index("pink")
    named[(hue >= 10) & (hue < 42) & (value < 0.62) & (saturation > 0.3)] = COLOURS.index("brown")
    dull = (saturation <= 0.25) | (value <= 0.2)
    named[dull] = COLOURS.index("grey")
    named[dull & (value > 0.8) & (saturation < 0.18)] = COLOURS.index("white")
    named[(dull & (value < 0.25)) | (value < 0.18)] = COLOURS.index("black")
    return np.asarray(named, np.uint8)


class ColourMap:
    """The colours of one picture, counted once; the shares in any box come from cumulative sums."""

    def __init__(self, image: Image) -> None:
        import cv2

        small = np.asarray(cv2.resize(image, GRID_PX, interpolation=cv2.INTER_AREA), np.uint8)
        one_hot = np.eye(len(COLOURS), dtype=np.float32)[name_pixels(small)]
        sums: Any = np.zeros((GRID_PX[1] + 1, GRID_PX[0] + 1, len(COLOURS)), np.float32)
        sums[1:, 1:] = one_hot.cumsum(axis=0).cumsum(axis=1)
        self._sums = sums

    def shares(self, box: Box) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Shares of the colours inside and outside the box; each sums to 1 (outside to 0 if the box is the whole picture)."""
        wide, high = GRID_PX
        x0, y0 = min(int(box.x0 * wide), wide - 1), min(int(box.y0 * high), high - 1)
        x1, y1 = max(x0 + 1, round(box.x1 * wide)), max(y0 + 1, round(box.y1 * high))
        inside = self._sums[y1, x1] - self._sums[y0, x1] - self._sums[y1, x0] + self._sums[y0, x0]
        outside = self._sums[-1, -1] - inside
        return inside / max(inside.sum(), 1.0), outside / max(outside.sum(), 1.0)

    def standing_out(self, box: Box) -> str:
        """The colour word for the object in the box, "" if none is frequent enough. The middle of the box has the largest weight: its
        corners are background.
        """
        dx, dy = (box.x1 - box.x0) / 6, (box.y1 - box.y0) / 6
        middle, _ = self.shares(Box(box.x0 + dx, box.y0 + dy, box.x1 - dx, box.y1 - dy))
        _, outside = self.shares(box)
        excess = middle - outside
        best = int(excess.argmax())
        return COLOURS[best] if excess[best] >= STANDS_OUT else ""
