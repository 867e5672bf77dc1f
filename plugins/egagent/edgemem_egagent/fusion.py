"""Which pictures are shown when several queries each rank their own.

EGAgent counts how many queries hit a picture and cuts to 50 in index order, which loses 85 % of what they ranked first. Here a picture
counts by the best reciprocal rank that any query gave it, so that with three queries and 50 places each query's best 16 are always shown;
only between equals do more votes decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from edgemem.answer.retrieve import RRF_K

K = TypeVar("K")
SHOWN = 50
"""Pictures that are shown to the analyzer (EGAgent, section 3.3)."""


def best_rank_first(lists: Sequence[Sequence[K]], limit: int = SHOWN) -> list[K]:
    """Keys by their best reciprocal rank over the lists, ties by the sum of reciprocal ranks, then in the order of the first list."""
    best: dict[K, float] = {}
    votes: dict[K, float] = {}
    for keys in lists:
        for rank, key in enumerate(dict.fromkeys(keys), 1):
            score = 1 / (RRF_K + rank)
            best[key] = max(best.get(key, 0.0), score)
            votes[key] = votes.get(key, 0.0) + score
    return sorted(best, key=lambda key: (-best[key], -votes[key]))[:limit]
