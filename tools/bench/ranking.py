"""How many of the best pictures of each query are among the 50 that are shown, when three queries are ranked together.

    python tools/bench/ranking.py [--rows 50000] [--dim 256] [--rounds 40]

"votes" is what EGAgent's released code does: 100 best per query, ordered by how many queries hit, ties in index order. "rank sum" is plain
reciprocal rank fusion; "best rank" is the rule of the tool `visual_search`: the best reciprocal rank, ties by the sum. Queries are of three
kinds: unrelated ones, paraphrases (a common direction and 30 % of another), and two similar ones with a third. Vectors are those of
tools/bench/vectors.py.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from edgemem_egagent.fusion import SHOWN, best_rank_first
from vectors import vectors

from edgemem.answer.retrieve import RRF_K

PER_QUERY, TOP = 100, 16
Lists = Sequence[Sequence[int]]
Floats = npt.NDArray[np.float32]


def votes(lists: Lists) -> list[int]:
    """EGAgent's order."""
    hit = {key: sum(key in keys for keys in lists) for keys in lists for key in keys}
    return sorted(hit, key=lambda key: (-hit[key], key))[:SHOWN]


def rank_sum(lists: Lists) -> list[int]:
    """Reciprocal rank fusion."""
    score: dict[int, float] = {}
    for keys in lists:
        for rank, key in enumerate(keys, 1):
            score[key] = score.get(key, 0.0) + 1 / (RRF_K + rank)
    return sorted(score, key=lambda key: -score[key])[:SHOWN]


def triples(dim: int, rounds: int, kind: str) -> list[Floats]:
    """Three unit queries per round."""
    base, other = vectors(3 * rounds, dim, seed=2).reshape(rounds, 3, dim), vectors(3 * rounds, dim, seed=3).reshape(rounds, 3, dim)
    if kind == "paraphrases":
        base = base[:, :1] + 0.3 * other
    elif kind == "two alike":
        base = np.concatenate([base[:, :1], base[:, :1] + 0.3 * other[:, :1], base[:, 2:]], axis=1)
    return list((base / np.linalg.norm(base, axis=2, keepdims=True)).astype(np.float32))


def recall(matrix: Floats, queries: Sequence[Floats], order: Callable[[Lists], list[int]]) -> float:
    """Mean share of each query's true best 16 that are shown."""
    shares = []
    for three in queries:
        lists = [np.argsort(-(matrix @ query))[:PER_QUERY].tolist() for query in three]
        shown = set(order(lists))
        shares += [len(shown & set(keys[:TOP])) / TOP for keys in lists]
    return float(np.mean(shares))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=40)
    args = parser.parse_args()
    matrix = vectors(args.rows, args.dim)
    print(f"recall of the true top {TOP} of each of three queries within {SHOWN} shown, {args.rows} pictures")
    print(f"{'queries':<14}{'votes':>8}{'rank sum':>10}{'best rank':>11}")
    for kind in ("unrelated", "paraphrases", "two alike"):
        queries = triples(args.dim, args.rounds, kind)
        found = [recall(matrix, queries, order) for order in (votes, rank_sum, best_rank_first)]
        print(f"{kind:<14}{found[0]:8.2f}{found[1]:10.2f}{found[2]:11.2f}")


if __name__ == "__main__":
    main()
