"""From label postings to pictures: which moments show a thing, and whether any does. Pure functions; reading the memory is the caller's.

A label that fires everywhere in a memory says little there, so its scores count in standard deviations above its mean over that memory.
A phrase gives every label the probability that it fires on a picture of the thing (`infer.phrase`); a moment's score is the sum over the
labels seen in it. Whether the best moment really shows the thing is judged apart, from how much of what could be expected was seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemem.infer.phrase import LabelQuery
from edgemem.records import US, Matrix, Record, Vector
from edgemem.remember.results import Posting

Array = npt.NDArray[Any]

SHARPNESS = 0.8
"""Exponent on a label's firing probability. Against 1.5 first answers rose by 2.0 points on three composed streams, by none on lifelogs."""
LEAST_DEVIATION = 0.03
"""Added to a label's standard deviation, so that one that fired once by accident does not count beyond measure."""
OBJECT_WEIGHT = 0.1
"""Of the detector's objects against labels: 0.1 gained .3 points of recall, 1.0 lost 2."""
OBJECT_ALONE = 10.0
"""A thing that an object is so many times likelier to fire for than any label has no label."""
PRIOR_MOMENTS = 20
"""Moments without anything that a memory is thought to begin with: in a short one, or a static one, what is always there is found too."""
APPEARANCE_US = 10 * US
"""Moments this near each other are taken to show the same appearance of a thing."""
NEIGHBOUR = 0.5
"""Share of its better neighbour's score that a moment gets: a thing is seen for seconds, an accident once. First answers +1.6 points."""
OTHER_COLOUR, NO_COLOUR = 0.5, 0.75
"""Factors where another colour than the one asked for, or none, stands out where the thing was seen."""
WEIGHTS = (2.62, 0.70, 2.07, 0.53, 0.08, -0.75)
"""Constant, log firing, firing x log support, log again, likeness, united: of the logistic model for "the first picture shows the thing".
Fitted on three composed streams (shown : never shown : nonsense as 7 : 2 : 1) and read on another generator's (`tools/eval/stages.py`); the
last one later, with the others as they stood (`tools/eval/confidence.py`; on life logs it is -.8 to -1.0)."""
WEIGHTS_WITH_CROPS = (1.23, 0.52, 1.54, 0.39, 0.06, -0.75, 0.74)
"""The same where crops can be compared with the thing's prototype, and that of 10 x `alike`. Fitted on the same streams; on eight of the
other generator the area under the curve rose from .866 to .881, and the other way round from .766 to .778 (`tools/eval/confidence.py`)."""
LOOKS, SPREAD = (5, 1.4), 0.07
"""Looks that a memory has with its first moment and with each further one, and the standard deviation of crops' cosines with a prototype:
so what phrases reach that are true of nothing has its median at `chance`, for single photographs and for streams of 425 moments."""
SAME_LOOK, PRIOR_LOOKS = 0.7, 20
"""Cosine from which on two crops are one look: a memory of twelve minutes has about 120 in a sample of 32 moments. And the number of looks
of nothing that a memory is thought to begin with."""
UNLIKE, BY_LOOKS, BY_LABELS = 0.15, 0.8, 0.8
"""The cosine up to which a moment's nearest crop is nothing like the thing (crops of other things reach .33 to .39, the thing itself turned
and in other light hardly more); the weight of looks beside labels; and the share of the best score from which on labels alone are enough,
because two things of a kind may look different. All three were chosen with three kinds of streams in view (`tools/eval/tracks.py`)."""
LEAST_SUPPORT = 0.01
"""Added to a support before its logarithm."""
EXPECTED_AGAIN = 0.7
"""Share of the support that is taken for `again` where no moment is near enough to see the thing a second time."""


class Ranked(Record, frozen=True):
    """A moment that may show the thing. `score` ranks moments of one query; `why` is the label that adds most to it."""

    moment_id: int
    t_us: int
    score: float
    why: str
    colour: str = ""


class Features(Record, frozen=True):
    """What tells a thing shown from one that is not.

    `firing` is the highest firing probability of any label: how well the vocabulary covers the phrase. `support` is the largest product of
    firing and seen probability, divided by `firing`: how strongly the expected was seen. `again` is the same in the moments beside the
    best one: a thing is seen for seconds, an accident once. `likeness` is that of the query. `alike` is how much nearer the nearest crops
    are to the thing's prototype than crops usually are and some of so many are by chance, None where there are none to compare. `united`:
    what is expected is any of several labels that are kinds of the thing.
    """

    firing: float = 0.0
    support: float = 0.0
    again: float = 0.0
    likeness: float = 0.0
    alike: float | None = None
    united: bool = False


def score_moments(query: LabelQuery, postings: Sequence[Posting], moments: int) -> list[Ranked]:
    """Moments by how likely they show the thing, best first. `postings` are those of its names, `moments` how many were searched."""
    weights = {_as_one(query, "label", name): firing**SHARPNESS for name, firing in query.labels.items()}
    weights |= {("object", name): OBJECT_WEIGHT * firing**SHARPNESS for name, firing in query.objects.items()}
    sightings: dict[tuple[int, tuple[str, str]], Posting] = {}
    for posting in sorted(postings, key=lambda posting: posting.score * _colour_factor(query, posting)):
        if (name := _as_one(query, posting.kind, posting.name)) in weights:
            sightings[posting.moment_id, name] = posting
    postings = list(sightings.values())
    if not postings:
        return []
    parts = _parts(query, postings, weights, moments)
    ids, of_moment = np.unique(np.array([posting.moment_id for posting in postings]), return_inverse=True)
    by_part = np.lexsort((parts, of_moment))  # the last posting of each moment is its best
    best = by_part[np.append(np.flatnonzero(np.diff(of_moment[by_part])), len(postings) - 1)]
    t_us = np.array([postings[i].t_us for i in best])
    scores = _with_neighbours(np.bincount(of_moment, parts), t_us)
    order = np.lexsort((ids, t_us, -scores))
    chosen = ((score, postings[i]) for score, i in zip(scores[order].tolist(), best[order].tolist(), strict=True))
    return [Ranked(moment_id=p.moment_id, t_us=p.t_us, score=score, why=p.name, colour=p.colour) for score, p in chosen]


def _as_one(query: LabelQuery, kind: str, name: str) -> tuple[str, str]:
    """The kinds of the thing count as one label: which breed a dog is taken for does not matter."""
    return (kind, "" if kind == "label" and name in query.kinds else name)


def same_thing(ranked: Sequence[Ranked], looks: Mapping[int, float]) -> dict[int, float]:
    """How surely each moment shows the same thing as the best one, 0..1: its share of the best score, where that is low with its looks.

    `looks`: cosine of the nearest crop of a moment with the thing in the best one, of those that were compared.
    """
    shares = {one.moment_id: one.score / ranked[0].score for one in ranked if one.moment_id in looks}
    like = {id_: max(0.0, (cosine - UNLIKE) / (1 - UNLIKE)) for id_, cosine in looks.items()}
    return {id_: share if share >= BY_LABELS else (1 - BY_LOOKS) * share + BY_LOOKS * like[id_] for id_, share in shares.items()}


def spread(ranked: Sequence[Ranked], count: int) -> list[Ranked]:
    """The first `count` with one moment of every appearance before a second of any: of five pictures shown, five chances to be right.

    Evidence within 10 s of the truth among the first five rose from 72.9 to 78.6 % by this alone.
    """
    first: list[Ranked] = []
    later: list[Ranked] = []
    for one in ranked:
        if len(first) < count:
            same = any(abs(one.t_us - other.t_us) < APPEARANCE_US for other in first)
            (later if same else first).append(one)
    return [*first, *later][:count]


def _with_neighbours(scores: Array, t_us: Array) -> Array:
    """Each score with a share of the better of the scored moments just before and after, where they are of the same appearance."""
    order = np.argsort(t_us, kind="stable")
    sorted_scores = scores[order]
    together = np.diff(t_us[order]) < APPEARANCE_US
    before = np.append(0.0, np.where(together, sorted_scores[:-1], 0.0))
    after = np.append(np.where(together, sorted_scores[1:], 0.0), 0.0)
    raised = np.empty_like(sorted_scores)
    raised[order] = sorted_scores + NEIGHBOUR * np.maximum(before, after)
    return raised


def features(query: LabelQuery, postings: Sequence[Posting], ranked: Sequence[Ranked], *, beside: bool = True) -> Features:
    """Of a whole query in one memory. `ranked` are its moments, best first; `beside`: whether a moment was kept within an appearance's
    time of the best one, so that the thing could have been seen there a second time.
    """
    only_object = max(query.objects.values(), default=0.0) > OBJECT_ALONE * max(query.labels.values(), default=0.0)
    kind, names = ("object", query.objects) if only_object else ("label", query.labels)  # which tell whether a thing is there
    firing = max(names.values(), default=0.0)
    if firing <= 0 or not ranked:
        return Features()
    seen: dict[int, float] = {}
    for p in postings:
        if p.kind == kind and p.name in names:
            seen[p.moment_id] = max(seen.get(p.moment_id, 0.0), names[p.name] / firing * p.score * _colour_factor(query, p))
    support = max(seen.values(), default=0.0)
    best = ranked[0]
    near = sorted((one.t_us - best.t_us, one.moment_id) for one in ranked if abs(one.t_us - best.t_us) < APPEARANCE_US)
    next_ = [*[id_ for gap, id_ in near if gap < 0][-1:], *[id_ for gap, id_ in near if gap > 0][:1]]  # before and after the best
    again = max((seen.get(m, 0.0) for m in next_), default=0.0) if beside else EXPECTED_AGAIN * seen.get(best.moment_id, 0.0)
    united = kind == "label" and len(query.kinds) > 1
    return Features(firing=firing, support=support, again=again, likeness=query.likeness, united=united)


def confidence(found: Features) -> float:
    """Probability, 0..1, that the best moment shows the thing."""
    if found.firing <= 0 or found.support <= 0:
        return 0.0
    constant, *weights = WEIGHTS if found.alike is None else WEIGHTS_WITH_CROPS
    value = constant + sum(weight * term for weight, term in zip(weights, terms(found), strict=False))
    return 1 / (1 + math.exp(-value))


def terms(found: Features) -> tuple[float, ...]:
    """What the weights weigh, in their order; the last one only where crops were compared."""
    by_support = found.firing * math.log(found.support + LEAST_SUPPORT)
    again = math.log(found.again + LEAST_SUPPORT)
    return math.log(max(found.firing, 1e-3)), by_support, again, found.likeness, float(found.united), 10 * (found.alike or 0.0)


def usual(crops: Matrix) -> Vector:
    """What crops usually look like: their mean, in which every look counts once, shrunk towards nothing where there are few looks.

    So what is always there, as in a static scene, does not become the measure of itself.
    """
    alike, looks = crops @ crops.T >= SAME_LOOK, np.ones(len(crops), bool)
    for i in range(len(crops)):
        if looks[i]:
            looks[i + 1 :] &= ~alike[i, i + 1 :]
    return np.asarray(crops[looks].sum(axis=0) / (looks.sum() + PRIOR_LOOKS), np.float32)


def chance(moments: int) -> float:
    """How much nearer than usual the nearest crops of so many moments are to the prototype of a thing that is not there.

    The mean of the four best of normal deviates (Blom 1958), of as many as there are looks.
    """
    looks = LOOKS[0] + LOOKS[1] * moments
    return SPREAD * NormalDist().inv_cdf(1 - 1.8 / (looks + 0.25))


def _parts(query: LabelQuery, postings: Sequence[Posting], weights: Mapping[tuple[str, str], float], moments: int) -> Array:
    """What each posting adds to its moment: float64 [postings]. Where a name was not seen, it scored 0."""
    place = {name: i for i, name in enumerate(weights)}
    of_name = np.array([place[_as_one(query, posting.kind, posting.name)] for posting in postings])
    seen = np.array([posting.score for posting in postings])
    count = max(moments, 1) + PRIOR_MOMENTS
    mean = np.bincount(of_name, seen, len(place)) / count
    deviation = np.sqrt(np.maximum(0.0, np.bincount(of_name, seen**2, len(place)) / count - mean**2))
    stands_out = np.maximum(0.0, seen - mean[of_name]) / (deviation[of_name] + LEAST_DEVIATION)
    parts = np.array(list(weights.values()))[of_name] * (stands_out + seen)
    if query.colours:
        parts *= np.array([_colour_factor(query, posting) for posting in postings])
    return np.asarray(parts)


def _colour_factor(query: LabelQuery, posting: Posting) -> float:
    if not query.colours or posting.colour in query.colours:
        return 1.0
    return OTHER_COLOUR if posting.colour else NO_COLOUR
