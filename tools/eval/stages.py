"""Where shown things are lost: `stages.py TRUTH.json=MEMORY...` prints a table of the stages from a picture to an answer.

Every phrase that is true of a thing in the stream is asked. It is lost at the first stage that it does not pass: kept     a moment is
within the time when the thing was in view known    the vocabulary has a word for it: a label is the thing, a kind of it or its kind
(likeness of `KNOWN` or more) labelled one of its labels (at least half as probable as the most probable one) was seen in such a moment at
`SEEN` or more found    one of the first five pictures is within 10 s of it sure     the confidence in the phrase is high enough for an
answer `first` is the share whose very first picture is right. Affirmed are phrases true of nothing in the stream. What was shown several
times counts as kept when one time was; every time of which no picture was kept is listed.
"""

import argparse
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import shown
from world import Span

from edgemem.answer.retrieve import Query
from edgemem.answer.retrievers.frames import LabelMatcher
from edgemem.answer.weigh import weights
from edgemem.cli.app import CommandContext
from edgemem.records import US
from edgemem.remember.view import View

WITHIN_S, K = 10.0, 5
KNOWN, SEEN = 0.9, 0.1
STAGES = ("kept", "known", "labelled", "found", "sure")


class Passed(NamedTuple):
    """The stage at which a phrase is lost or "answered", whether the first picture is right, the confidence, and the result of every
    stage."""

    where: str
    first: bool
    sure: float
    checks: tuple[bool, ...]


def passed(phrase: str, spans: tuple[Span, ...], matcher: LabelMatcher, joint: Any, view: View, start_us: int) -> Passed:
    """The stages of one phrase."""
    ranges = [(start_us + int(a * US), start_us + int(b * US)) for a, b in spans]
    within = int(WITHIN_S * US)
    kept = any(view.moments(from_us=a, to_us=b, limit=1) for a, b in ranges)
    wanted = joint.match_labels(phrase)
    best = max(wanted.labels.values(), default=0.0)
    likely = [name for name, firing in wanted.labels.items() if firing >= best / 2]
    seen = [p for a, b in ranges for p in view.postings(likely, kinds=("label",), from_us=a, to_us=b)]
    matches = matcher.match(Query(text=phrase), view, K)
    right = [any(a - within <= one.t0_us <= b + within for a, b in ranges) for one in matches.evidence]
    checks = (kept, wanted.likeness >= KNOWN, any(p.score >= SEEN for p in seen), any(right), matches.confidence >= weights().surely)
    lost = next((stage for stage, ok in zip(STAGES, checks, strict=True) if not ok), "answered")
    return Passed(lost, bool(right and right[0]), matches.confidence, checks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("streams", nargs="+", metavar="TRUTH.json=MEMORY")
    parser.add_argument("--each", action="store_true", help="print every phrase; not for streams that are for reporting")
    args = parser.parse_args()
    session = CommandContext(None, ("engines.threads=1",))
    joint = session.engines.role("embed_joint")
    lost: defaultdict[str, Counter[str]] = defaultdict(Counter)
    affirmed: defaultdict[str, list[bool]] = defaultdict(list)
    for pair in args.streams:
        truth, _, memory = pair.partition("=")
        stream = shown.read(Path(truth))
        with View.open(Path(memory)) as view:
            matcher, start_us = LabelMatcher(joint), view.streams()[0].t0_us
            for one in stream.showings:
                if not view.moments(from_us=start_us + int(one.t0 * US), to_us=start_us + int(one.t1 * US), limit=1):
                    print(f"  not kept {one.names[0]}, {one.t0:.0f} s to {one.t1:.0f} s of {truth}")
            for phrase, difficulty in stream.asked().items():
                where, first, sure, checks = passed(phrase, stream.spans(phrase), matcher, joint, view, start_us)
                for group in (difficulty, "all"):
                    lost[group].update(
                        [where, "asked", *(["first"] if first else []), *(f"({s})" for s, ok in zip(STAGES, checks, strict=True) if ok)]
                    )
                if args.each:
                    print(f"  {difficulty:8s} {phrase:36s} {where:9s} {'first' if first else '':5s} {sure:.2f}")
            for kind, phrases in (("never shown", stream.never()), ("nonsense", shown.nonsense())):
                for phrase in phrases:
                    sure = matcher.match(Query(text=phrase), view, 1).confidence
                    affirmed[kind].append(sure >= weights().surely)
                    if args.each and affirmed[kind][-1]:
                        print(f"  affirmed {phrase:36s} {kind} {sure:.2f}")
    print_table(lost, affirmed)


def print_table(lost: dict[str, Counter[str]], affirmed: dict[str, list[bool]]) -> None:
    """Percent of the asked phrases, by difficulty."""
    print(f"{'':10s} asked | lost at: {' '.join(f'{s:>8s}' for s in STAGES)} | answered | found  first")
    for group in ("exact", "synonym", "colour", "kind", "all"):
        if count := lost[group]["asked"]:
            shares = " ".join(f"{100 * lost[group][s] / count:8.1f}" for s in STAGES)
            found, first = (100 * lost[group][s] / count for s in ("(found)", "first"))
            print(f"{group:10s} {count:5d} |          {shares} | {100 * lost[group]['answered'] / count:8.1f} | {found:5.1f}  {first:5.1f}")
    for kind, said in affirmed.items():
        print(f"affirmed of {kind}: {sum(said)} of {len(said)} ({100 * sum(said) / max(len(said), 1):.1f} %)")


if __name__ == "__main__":
    main()
