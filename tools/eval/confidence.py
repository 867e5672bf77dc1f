"""Fit the confidence of the matcher: `confidence.py --on TRUTH.json=MEMORY... --report TRUTH.json=MEMORY...`.

Every phrase that is true of a thing in a stream is searched, with phrases that are true of nothing in it, everyday things and words that
mean nothing, and kinds of things of which none was shown. Whether the first picture shows the thing is predicted by a logistic model of the
features of the matcher. Fitted are its constant, the weights of how alike crops are to the thing's prototype and of kinds that stand
together for the thing, and one factor for all other weights, which stay as they are against each other. (All six fitted on three streams
carried over worse.) Examples weigh so that shown : never shown : nonsense is `SHARES`. Prints,
for the weights without crops that are shipped and for the fitted ones, the area under the curve on the streams to report, and the share of
shown things above the confidence that 10 % of the things that were never shown reach; then the same fitted the other way round.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import shown
from all import ABSENT

from edgemem.answer.retrieve import Query
from edgemem.answer.retrievers import match
from edgemem.answer.retrievers.frames import LabelMatcher
from edgemem.cli.app import CommandContext
from edgemem.infer.labels import nouns
from edgemem.records import US
from edgemem.remember.view import View

Array = npt.NDArray[np.float64]
KINDS = (
    "animal,bird,fish,snake,reptile,insect,fruit,vegetable,tool,vehicle,boat,aircraft,dog,cat,monkey,bear,flower,tree,musical instrument,"
    "furniture,toy,food,clothing,shoe,hat,lizard,frog,shark,ball,weapon,box,bottle,big cat,crab,butterfly,beetle,turtle,train,truck,car,"
    "ship,clock,lamp,chair,knife,computer,camera,bag,container,building"
)
SHARES = {"shown": 7, "never": 2, "nonsense": 1}
WITHIN_S = 10.0


class Example(NamedTuple):
    """Features of one phrase in one memory."""

    kind: str
    right: bool
    features: match.Features


def examples(truth: Path, memory: Path, joint: Any) -> list[Example]:
    """All phrases of a stream; those of which nothing at all is seen need no model."""
    stream, matcher, made = shown.read(truth), LabelMatcher(joint), list[Example]()
    asked = stream.asked()
    never = [*stream.never(), *(name for name in ABSENT.split() if name not in " ".join(asked)), *absent_kinds(stream)]
    with View.open(memory) as view:
        start_us = view.streams()[0].t0_us
        kinds = (("shown", list(asked)), ("never", never), ("nonsense", shown.nonsense()))
        for kind, phrases in kinds:
            for phrase in dict.fromkeys(phrases):
                found, first = matcher.judge(Query(text=phrase), view)
                spans = [(start_us + (a - WITHIN_S) * US, start_us + (b + WITHIN_S) * US) for a, b in stream.spans(phrase)]
                right = first is not None and any(low <= first <= high for low, high in spans)
                made.append(Example(kind, right, found))
    return made


def absent_kinds(stream: shown.Shown) -> list[str]:
    """Kinds of which nothing was shown, neither as a thing nor behind one."""
    names = stream.names(0.0, float("inf"))
    words = " ".join((*names, *stream.asked())).split()
    above = {row for name in names for sense, _ in nouns().find(name)[1] for row in nouns().above(sense)}
    return [kind for kind in KINDS.split(",") if kind not in words and above.isdisjoint(row for row, _ in nouns().senses(kind))]


def columns(some: Sequence[Example]) -> Array:
    """1, the sum without crops and kinds, and the terms of these (`match.terms`)."""
    x = np.array([match.terms(one.features) for one in some])
    return np.column_stack([np.ones(len(x)), x[:, :-2] @ match.WEIGHTS[1:-1], x[:, -2:]])


def fit(some: Sequence[Example]) -> Array:
    """Constant, factor and the weights of kinds and of crops, by Newton's method."""
    some = [one for one in some if one.features.firing > 0 and one.features.support > 0]
    x, y = columns(some), np.array([one.right for one in some], float)
    weight = np.array([SHARES[one.kind] / sum(other.kind == one.kind for other in some) for one in some])
    weight *= len(some) / weight.sum()
    found = np.zeros(4)
    for _ in range(50):
        p = 1 / (1 + np.exp(-(x @ found)))
        bend = (x * (weight * p * (1 - p))[:, None]).T @ x + 1e-6 * np.eye(4)
        found += np.linalg.solve(bend, x.T @ (weight * (y - p)))
    return found


def told(weights: Array, some: Sequence[Example]) -> str:
    """How well these weights tell things shown from others."""
    value = columns(some) @ weights
    value[[one.features.support <= 0 for one in some]] = -np.inf
    yes, no = (value[[one.kind == kind for one in some]] for kind in ("shown", "never"))
    area = (yes[:, None] > no).mean() + (yes[:, None] == no).mean() / 2
    right = value[[one.kind == "shown" and one.right for one in some]]
    at = np.quantile(no, 0.9)
    above, first = 100 * (yes > at).mean(), 100 * (right > at).mean()
    return f"area {area:.3f}, above 10 % of what was never shown {above:.1f} % (first right: {first:.1f} %)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--on", "--report"):
        parser.add_argument(name, nargs="+", metavar="TRUTH.json=MEMORY", required=True)
    args = parser.parse_args()
    joint = CommandContext(None, ("engines.threads=2",)).engines.role("embed_joint")
    named = ((pair.partition("=") for pair in pairs) for pairs in (args.on, args.report))
    read = [[one for truth, _, memory in pairs for one in examples(Path(truth), Path(memory), joint)] for pairs in named]
    for way, (on, report) in (("as stated", read), ("the other way round", read[::-1])):
        print(f"{way}: {len(on)} phrases, reported on {len(report)}")
        print(f"  without crops: {told(np.array([match.WEIGHTS[0], 1.0, match.WEIGHTS[-1], 0.0]), report)}")
        constant, factor, *rest = fit(on)
        weights = ", ".join(f"{value:.2f}" for value in (constant, *(factor * np.array(match.WEIGHTS[1:-1])), *rest))
        print(f"  with crops: {told(np.array([constant, factor, *rest]), report)}\n    ({weights})")


if __name__ == "__main__":
    main()
