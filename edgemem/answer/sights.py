"""Names of what pictures show: those of a short look by score, those of a longer stretch by how surely each thing appeared in it."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from edgemem.answer.retrieve import CLEAR, runs
from edgemem.records import US, Box, Moment, Observation, Record

COUNTED_SCORE = 0.4
"""Boxes below this are too often doubles or shadows to be counted."""

Look = tuple[Moment, Sequence[Observation]]
"""A picture and what was observed in it."""


class SeenName(Record, frozen=True):
    """One name of what was seen: kind, best score, the most seen in one picture, and its colour."""

    kind: str
    name: str
    score: float
    """In one look that of the recogniser, in a stretch of time the probability that the name is right."""
    count: int = 1
    colour: str = ""
    t0_us: int = 0
    """First clear picture of this appearance, as of an episode; 0 in one look."""
    t1_us: int = 0
    """Its last clear picture."""
    best_us: int = 0
    """The picture that shows it best in the stretch of time."""
    stream: str = ""
    box: Box | None = None
    """Where it has its best score."""


def seen_at_once(looks: Sequence[Look]) -> list[SeenName]:
    """Everything named in these pictures; a name seen in more of them ranks above one seen once with the same score."""
    best: dict[tuple[str, str], Observation] = {}
    total, most = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for _, observations in looks:
        for o in observations:
            if (o.kind, o.name) not in best or o.score > best[o.kind, o.name].score:
                best[o.kind, o.name] = o
        total.update({(o.kind, o.name) for o in observations})
        most |= Counter((o.kind, o.name) for o in observations if o.kind != "object" or o.score >= COUNTED_SCORE)
    ranked = sorted(best, key=lambda key: -best[key].score * (1 + total[key] / len(looks)))
    return [
        SeenName(kind=k, name=n, score=best[k, n].score, count=max(1, most[k, n]), colour=best[k, n].colour, box=best[k, n].box)
        for k, n in ranked
    ]  # fmt: skip


LEAST_SCORE = 0.1
"""A name below this score does not count as seen."""
GAP_US = 12 * US
"""Sightings further apart are two appearances."""
NEAR_US = 4 * US
"""A second picture is looked for this close to an appearance."""
AROUND_US = 20 * US
"""What is seen this close before or behind an appearance as well belongs to the surroundings."""
WEIGHTS = (0.264, 0.787, -0.185, -2.16)
"""Of the log odds of the second best score, of the mean score and of the best score around it, and the constant. Fitted by logistic
regression on three composed streams, tested on life logs, and the other way round (`tools/eval/appearances.py`)."""
_ODDS = (0.01, 0.99)
_ALONE = 0.94
"""With no other picture near it, this share of its score is used as the second score, as in `see.write`."""


def appeared(looks: Sequence[Look], low_us: int, high_us: int) -> list[SeenName]:
    """The appearances of every label and object in a stretch of time, the most probably right first. `looks` go beyond the stretch: what is
    around it tells the surroundings from things. An appearance counts that is clearly seen inside.
    """
    found = list[SeenName]()
    for one, signs in appearances(looks, low_us, high_us):
        odds = sum(weight * sign for weight, sign in zip(WEIGHTS, (*signs, 1.0), strict=True))
        found.append(msgspec.structs.replace(one, score=1 / (1 + math.exp(-odds))))
    return sorted(found, key=lambda one: (-one.score, one.t0_us, one.name))


def appearances(looks: Sequence[Look], low_us: int, high_us: int) -> Iterator[tuple[SeenName, tuple[float, ...]]]:
    """Every appearance with its best score, and what `WEIGHTS` weigh: the log odds of its second best score, its mean, that around it."""
    in_turn = sorted(looks, key=lambda look: (look[0].stream, look[0].t_us))
    for own in runs(in_turn, lambda run, look: look[0].stream == run[0][0].stream):
        yield from _of_stream(own, [moment.t_us for moment, _ in own], low_us, high_us)


def _of_stream(looks: Sequence[Look], times: Sequence[int], low_us: int, high_us: int) -> Iterator[tuple[SeenName, tuple[float, ...]]]:
    boxes = [Counter(o.name for o in seen if o.kind == "object" and o.score >= COUNTED_SCORE) for _, seen in looks]
    for (kind, name), at in _by_name(looks).items():
        hits = [i for i, one in at.items() if one.score >= LEAST_SCORE]
        for run in runs(hits, lambda run, i: times[i] - times[run[-1]] <= GAP_US):
            best = max(run, key=lambda i: at[i].score)
            clear = [i for i in run if at[i].score >= CLEAR * at[best].score]
            inside = [i for i in clear if low_us <= times[i] <= high_us]
            if not inside:
                continue
            shown = max(inside, key=lambda i: at[i].score)
            most = max(1, *(boxes[i][name] for i in run))
            one = SeenName(
                kind=kind, name=name, score=at[best].score, count=most if kind == "object" else 1, colour=at[best].colour,
                t0_us=times[clear[0]], t1_us=times[clear[-1]], best_us=times[shown], stream=looks[best][0].stream,
                box=at[best].box,
            )  # fmt: skip
            yield one, _signs(times, {i: seen.score for i, seen in at.items()}, run, best)


def _by_name(looks: Sequence[Look]) -> dict[tuple[str, str], dict[int, Observation]]:
    """The best observation of every label and object by the number of its picture."""
    found: defaultdict[tuple[str, str], dict[int, Observation]] = defaultdict(dict)
    for i, (_, seen) in enumerate(looks):
        for one in sorted((o for o in seen if o.kind in {"label", "object"}), key=lambda o: o.score):
            found[one.kind, one.name][i] = one
    return found


def _signs(times: Sequence[int], scores: Mapping[int, float], run: Sequence[int], best: int) -> tuple[float, ...]:
    """`scores` by the number of the picture, `run` is the appearance and `best` its best picture."""
    first, last = run[0], run[-1] + 1

    def within(margin_us: int) -> range:
        return range(bisect_left(times, times[first] - margin_us), bisect_right(times, times[last - 1] + margin_us))

    second = max((scores.get(i, 0.0) for i in within(NEAR_US) if i != best), default=_ALONE * scores[best])
    mean = sum(scores.get(i, 0.0) for i in range(first, last)) / (last - first)
    around = max((scores.get(i, 0.0) for i in within(AROUND_US) if not first <= i < last), default=0.0)
    return _log_odds(second), _log_odds(mean), _log_odds(around)


def _log_odds(score: float) -> float:
    clipped = min(max(score, _ODDS[0]), _ODDS[1])
    return math.log(clipped / (1 - clipped))


LEAST_PROBABILITY = 0.2
"""What came next is the next name that is at least so probable. Chosen with streams of both generators in view, as what follows."""
TOGETHER_US = 8 * US
"""What begins (before something: ends) this close to the first such name came with it: in streams with a view that changes before something
comes into it, the most probable of them is the thing."""


def beside(sights: Sequence[SeenName], from_us: int, to_us: int, *, last: bool) -> list[SeenName]:
    """What appeared first from `from_us` on and had not begun before it, or `last` before `to_us` and was over by then; the most probable
    first, empty where nothing probable did.
    """

    def distance(one: SeenName) -> int:
        return to_us - one.t1_us if last else one.t0_us - from_us

    near = [one for one in sights if one.t1_us and one.score >= LEAST_PROBABILITY and distance(one) >= 0]
    first = min(map(distance, near), default=0)
    return [one for one in near if distance(one) <= first + TOGETHER_US]


LEAST_LISTED = 0.3
"""Least probability of a name in a list of what appeared."""


def in_time(sights: Sequence[SeenName], limit: int, least: float = LEAST_LISTED) -> list[SeenName]:
    """Each name once, where it is most probable: the `limit` most probable ones, in the order of time; the best one in any case."""
    each = {one.name: one for one in sorted(sights, key=lambda one: one.score)}
    best = sorted(each.values(), key=lambda one: -one.score)
    return sorted([one for one in best if one.score >= least][:limit] or best[:1], key=lambda one: one.t0_us)
