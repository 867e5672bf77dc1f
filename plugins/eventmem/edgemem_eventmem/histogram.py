"""Grey histograms and how alike two of them are (EventMemAgent section 3.2.1, eq. 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from edgemem.extend import Image

    Histogram = npt.NDArray[np.float64]
    """Share of the pixels in each bin: float64 [bins], sums to 1."""

_LUMA = np.array([0.114, 0.587, 0.299], np.float32)
"""Weights of blue, green and red (ITU-R BT.601)."""


def grey_histogram(image: Image, bins: int) -> Histogram:
    """Normalised histogram of the luma of a picture: uint8 [height, width, 3] in BGR order."""
    grey = image.reshape(-1, 3).astype(np.float32) @ _LUMA
    counts = np.histogram(grey, bins=bins, range=(0, 256))[0]
    shares: Histogram = counts / counts.sum()
    return shares


def correlation(a: Histogram, b: Histogram) -> float:
    """Pearson correlation over the bins, -1..1 (eq. 2).

    It is undefined where a histogram is the same in every bin; then it is 1 for two equal histograms and 0 for others.
    """
    x, y = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((x * x).sum() * (y * y).sum()))
    if scale < 1e-12:
        return 1.0 if np.allclose(a, b) else 0.0
    return float((x * y).sum()) / scale
