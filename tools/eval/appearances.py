"""What appeared, and how surely: `appearances.py [--composed TRUTH.json=MEMORY...] [--lifelogs TRUTH.json=MEMORY...]`.

Fits the weights of `edgemem.answer.sights` on the appearances of one generator's streams and prints what they do on the other's, both ways:

- next, before: of all things that came behind (before) another, the share whose name stands first, and that have it among those told
- list: of the names told of all stretches of 150 s the share that is right, and the share of things that some name is right for

beside what was done before: the names of the first pictures behind the anchor, and those with the highest scores in 32 pictures.
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import shown
from captions import Rightness
from numpy.typing import NDArray

from edgemem.answer import sights
from edgemem.answer.compose import AT_LEAST, LISTED, NAMED, SURE
from edgemem.answer.sights import Look, SeenName
from edgemem.records import US
from edgemem.remember.view import View

NEXT_S, LIST_S, FIRST_S = 120.0, 150.0, 5.0
Floats = NDArray[np.float64]


class Stream(NamedTuple):
    """A memory with the truth: times in seconds from its start."""

    looks: Sequence[Look]
    found: Sequence[tuple[SeenName, tuple[float, ...]]]
    showings: list[shown.Showing]
    start_us: int

    def seconds(self, t_us: int) -> float:
        return (t_us - self.start_us) / US


def read(pair: str) -> Stream:
    """`TRUTH.json=MEMORY`."""
    truth, _, memory = pair.partition("=")
    with View.open(Path(memory)) as view:
        moments = view.moments()
        seen = view.observations([moment.id for moment in moments])
        looks = [(moment, seen[moment.id]) for moment in moments]
        return Stream(
            looks,
            list(sights.appearances(looks, moments[0].t_us, moments[-1].t_us)),
            shown.read(Path(truth)).showings,
            view.streams()[0].t0_us,
        )


def is_right(name: str, things: Sequence[shown.Showing], right: Rightness) -> bool:
    return any(right(name, {other.lower() for other in one.names}) for one in things)


def fitted(streams: Sequence[Stream], right: Rightness) -> Floats:
    """Logistic regression by Newton's method, with a weak pull of all weights but the constant to 0."""
    rows = [
        ((*signs, 1.0), is_right(one.name, [s for s in stream.showings if _overlaps(s, stream, one)], right))
        for stream in streams
        for one, signs in stream.found
    ]
    x, y = np.array([row for row, _ in rows]), np.array([float(ok) for _, ok in rows])
    weights, pull = np.zeros(x.shape[1]), np.diag([1.0] * (x.shape[1] - 1) + [1e-6])
    for _ in range(30):
        p = 1 / (1 + np.exp(-(x @ weights)))
        weights -= np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + pull, x.T @ (p - y) + pull @ weights)
    return weights


def _overlaps(one: shown.Showing, stream: Stream, name: SeenName) -> bool:
    return one.t0 - 1 <= stream.seconds(name.t1_us) and one.t1 + 1 >= stream.seconds(name.t0_us)


def told(names: Sequence[SeenName]) -> list[str]:
    """The names that a scene is told by."""
    return list(dict.fromkeys(one.name for one in names if one.kind in {"label", "object"}))[:NAMED]


def spoken(names: Sequence[SeenName]) -> list[str]:
    return told([one for i, one in enumerate(names) if i < AT_LEAST or one.score >= SURE])


def between(stream: Stream, low: float, high: float) -> list[Look]:
    return [look for look in stream.looks if low <= stream.seconds(look[0].t_us) <= high]


def next_of(stream: Stream, weights: Floats, right: Rightness, *, last: bool) -> dict[str, list[tuple[bool, bool]]]:
    """For every thing what came next (before it) by both ways: the first name is right, one of the names is."""
    made: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    scored = _scored(stream.found, weights)
    for one in stream.showings:
        others = [s for s in stream.showings if (s.t1 <= one.t0 + 0.5 if last else s.t0 >= one.t1 - 0.5)]
        if not others:
            continue
        edge = max(s.t1 for s in others) if last else min(s.t0 for s in others)
        true = [s for s in others if (s.t1 > edge - 1 if last else s.t0 < edge + 1)]
        low, high = (one.t0 - NEXT_S, one.t0) if last else (one.t1, one.t1 + NEXT_S)
        looks = between(stream, low, high)
        if not looks:
            continue
        end = looks[-1 if last else 0][0].t_us
        near = [look for look in looks if abs(look[0].t_us - end) <= FIRST_S * US]
        ends_us = [stream.start_us + round(t * US) for t in (low, high)]
        for way, names in (
            ("first pictures", spoken(sights.seen_at_once(near))),
            ("appearances", spoken(sights.beside(scored, ends_us[0], ends_us[1], last=last))),
        ):
            ok = [is_right(name, true, right) for name in names]
            made[way].append((bool(ok) and ok[0], any(ok)))
    return made


def _scored(found: Sequence[tuple[SeenName, tuple[float, ...]]], weights: Floats) -> list[SeenName]:
    scores = 1 / (1 + np.exp(-np.array([(*signs, 1.0) for _, signs in found]).reshape(-1, len(weights)) @ weights))
    return [msgspec.structs.replace(found[i][0], score=float(scores[i])) for i in np.argsort(-scores)]


def list_of(stream: Stream, weights: Floats, right: Rightness) -> dict[str, list[tuple[int, int, int, int]]]:
    """For every stretch of time and both ways: names told and right, things shown and told."""
    made: dict[str, list[tuple[int, int, int, int]]] = defaultdict(list)
    end = stream.seconds(stream.looks[-1][0].t_us)
    for low in np.arange(0, end - LIST_S, LIST_S):
        true = [s for s in stream.showings if s.t0 < low + LIST_S and s.t1 > low]
        looks = between(stream, low, low + LIST_S)
        some = [looks[int(i)] for i in np.linspace(0, len(looks) - 1, min(len(looks), 32)).round()]
        margin = sights.AROUND_US / US
        ends = [stream.start_us + round(t * US) for t in (low, low + LIST_S)]
        found = list(sights.appearances(between(stream, low - margin, low + LIST_S + margin), *ends))
        listed = sights.in_time(_scored(found, weights), LISTED)
        for way, names in (
            ("highest scores", spoken(sights.seen_at_once(some))),
            ("appearances", [one.name for one in listed]),
            ("of them sure", [one.name for one in listed if one.score >= SURE]),
        ):
            ok = sum(is_right(name, true, right) for name in names)
            made[way].append((len(names), ok, len(true), sum(any(is_right(name, [s], right) for name in names) for s in true)))
    return made


def _all(streams: Sequence[Stream], of: Callable[[Stream], Mapping[str, Sequence[tuple[int, ...]]]]) -> dict[str, Floats]:
    rows: dict[str, list[tuple[int, ...]]] = defaultdict(list)
    for stream in streams:
        for way, some in of(stream).items():
            rows[way] += some
    return {way: np.array(some, np.float64) for way, some in rows.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--composed", nargs="+", metavar="TRUTH.json=MEMORY", required=True)
    parser.add_argument("--lifelogs", nargs="+", metavar="TRUTH.json=MEMORY", required=True)
    args = parser.parse_args()
    right = Rightness()
    sets = {"composed": [read(pair) for pair in args.composed], "life logs": [read(pair) for pair in args.lifelogs]}
    for fit, test in (("composed", "life logs"), ("life logs", "composed")):
        weights = fitted(sets[fit], right)
        print(f"fitted on {fit}: {np.round(weights, 3)}; asked of {test}:")
        for name, last in (("next", False), ("before", True)):
            for way, rows in _all(sets[test], partial(next_of, weights=weights, right=right, last=last)).items():
                first, some = 100 * rows.mean(0)
                print(f"  {name:7} {way:15} first {first:5.1f}  told {some:5.1f}  of {len(rows)}")
        for way, rows in _all(sets[test], partial(list_of, weights=weights, right=right)).items():
            names, ok, things, met = rows.sum(0)
            print(f"  list    {way:15} right {100 * ok / max(1, names):5.1f} of {names:.0f} names, things told {100 * met / things:5.1f}")


if __name__ == "__main__":
    main()
