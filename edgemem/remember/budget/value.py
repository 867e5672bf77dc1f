"""The value of a moment relative to its neighbours, used when only one of them can be kept.

Value = sum over the names seen in it of 1 / (moments that show this name) + novelty + a tenth of its sharpness. A name that was seen once
counts 1, a name in all moments almost 0. Novelty is 1 - the cosine to the more similar of its two neighbours in time: a moment that shows
something brief differs from both, while the moment after it is similar to the next one. Sharpness, as a share of the sharpest, decides
between near-duplicates.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemem.records import Matrix
from edgemem.remember.rows import observations as packing
from edgemem.remember.rows.reading import ids_list
from edgemem.remember.vectors.search import fetch

_SHARPNESS = 0.1
"""Smaller than the novelty of a relevant change, larger than that of noise: two frames of one still scene differ by some hundredths."""

Values = npt.NDArray[np.float64]


def values_of(connection: sqlite3.Connection, ids: Sequence[int]) -> Values:
    """The value of each of these moments, which are neighbours in time order."""
    return _rarity(connection, ids) + _novelty(connection, ids) + _SHARPNESS * _sharpness(connection, ids)


def _rarity(connection: sqlite3.Connection, ids: Sequence[int]) -> Values:
    found = connection.execute(f"SELECT moment_id, data FROM observation WHERE moment_id IN {ids_list(ids)}")  # noqa: S608 - integers
    terms = {moment_id: {packed[0] for packed in packing.decode(data)} for moment_id, data in found.fetchall()}
    every = sorted(set[int]().union(*terms.values()))
    shown: dict[int, int] = dict(connection.execute(f"SELECT id, moments FROM term WHERE id IN {ids_list(every)}"))  # noqa: S608 - integers
    return np.array([sum(1.0 / shown[term] for term in terms.get(moment_id, ()) if shown.get(term)) for moment_id in ids])


def _novelty(connection: sqlite3.Connection, ids: Sequence[int]) -> Values:
    """Novelty in the space of moments with the most vectors; 0 without vectors and for a single moment."""
    sql = "SELECT id, dim FROM vec_space WHERE holds = 'moment' ORDER BY rows DESC LIMIT 1"
    space = connection.execute(sql).fetchone()
    values = np.zeros(len(ids))
    present, vectors = fetch(connection, space[0], space[1], ids) if space else ([], np.empty((0, 0), np.float32))
    if len(present) > 1:
        at = {moment_id: i for i, moment_id in enumerate(ids)}
        beside, next_but_one = _cosines(vectors, 1), _cosines(vectors, 2)
        # The first and the last moment have neighbours on one side only: use two of them.
        before = np.concatenate([next_but_one[:1] if len(next_but_one) else beside, beside])
        behind = np.concatenate([beside, next_but_one[-1:] if len(next_but_one) else beside])
        nearer = np.maximum(before, behind)
        values[[at[moment_id] for moment_id in present]] = 1.0 - nearer
    return values


def _cosines(vectors: Matrix, apart: int) -> npt.NDArray[np.floating[Any]]:
    """Cosine of each vector and the vector `apart` places after it."""
    cosines: npt.NDArray[np.floating[Any]] = np.einsum("ij,ij->i", vectors[apart:], vectors[:-apart])
    return cosines


def _sharpness(connection: sqlite3.Connection, ids: Sequence[int]) -> Values:
    found = dict(connection.execute(f"SELECT id, sharpness FROM moment WHERE id IN {ids_list(ids)}"))  # noqa: S608 - integers
    values: Values = np.array([found.get(moment_id, 0.0) for moment_id in ids])
    values /= max(float(values.max(initial=0.0)), 1e-9)
    return values
