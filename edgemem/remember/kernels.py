"""The arithmetic of vector search: int8 rows, a scan at memory speed, exact selection of the best.

Each row is quantised with a scale of its own (127 / largest absolute component): rows that come later can never leave the range,
and sharp or flat vectors use all eight bits. numkong scans at memory speed; numpy in blocks is the fallback (about three times
slower, equal to the last bit).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemem.records import Matrix, Vector

Int8 = npt.NDArray[np.int8]
Scores = npt.NDArray[np.floating[Any]]
Positions = npt.NDArray[np.intp]
Scan = Callable[[Int8, Int8], Scores]
"""int8 [n, dim] and int8 [dim] -> n integer dot products, held as floats."""

_BLOCK_ROWS = 2048
"""2 MiB of float32 at 256 dimensions: the converted block stays in the second-level cache."""
_EXACT_F32_DIM = 2**24 // (128 * 128)
"""Up to here float32 holds every partial sum of int8 products exactly."""


def _exact_float(dim: int) -> np.dtype[np.floating[Any]]:
    return np.dtype(np.float32 if dim <= _EXACT_F32_DIM else np.float64)


def scan_numpy(rows: Int8, query: Int8) -> Scores:
    """Dot products in blocks that stay in the cache: numpy has no integer matrix product at speed."""
    dtype = _exact_float(rows.shape[1])
    wide = query.astype(dtype)
    scores = np.empty(len(rows), dtype)
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = rows[start : start + _BLOCK_ROWS]
        np.dot(block.astype(dtype), wide, out=scores[start : start + len(block)])
    return scores


def _numkong() -> Scan | None:
    try:
        import numkong
    except ImportError:
        return None

    def scan(rows: Int8, query: Int8) -> Scores:
        dtype = _exact_float(rows.shape[1])
        scores: Scores = np.empty((1, len(rows)), dtype)
        if len(rows):
            numkong.cdist(query[None, :], rows, "dot", out=scores, out_dtype="float32" if dtype.itemsize == 4 else "float64")
        return scores.reshape(-1)

    return scan


scan_numkong = _numkong()
scan: Scan = scan_numkong or scan_numpy
"""The kernel in use, chosen once."""


def quantise(vectors: Matrix) -> tuple[Int8, npt.NDArray[np.float32]]:
    """float32 [n, dim] -> int8 [n, dim] and float32 [n] with `vectors ~ rows * scales`. A zero row has scale 0."""
    largest = np.abs(vectors).max(axis=1, initial=0.0).astype(np.float32)
    scales = largest / np.float32(127)
    steps = vectors / np.where(scales > 0, scales, 1)[:, None]
    return np.rint(steps).astype(np.int8), scales


def quantise_query(query: Vector) -> tuple[Int8, float]:
    rows, scales = quantise(np.asarray(query, np.float32)[None, :])
    return rows[0], float(scales[0])


def best(scores: Scores, k: int) -> Positions:
    """Positions of the k largest, in no order.

    The k largest lie in the k blocks with the largest maxima; so only those are partitioned (0.1 ms against 0.9 ms for
    100,000 scores).
    """
    width = 64
    if k * width * 4 >= len(scores):
        return _partition(scores, k)
    whole = len(scores) // width * width
    maxima = scores[:whole].reshape(-1, width).max(axis=1)
    blocks = _partition(maxima, k)
    inside = (blocks[:, None] * width + np.arange(width)).reshape(-1)
    candidates = np.concatenate([inside, np.arange(whole, len(scores))])
    return candidates[_partition(scores[candidates], k)]


def _partition(scores: Scores, k: int) -> Positions:
    if k >= len(scores):
        return np.arange(len(scores))
    return np.argpartition(scores, len(scores) - k)[len(scores) - k :]
