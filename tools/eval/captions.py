"""How many names in captions are right: `captions.py TRUTH.json=MEMORY...` prints precision and recall of event documents.

Every closed segment of the default segmenter is described again by the present writer, from the data in the memory. A name is right if
something with this name, or with a name above or below it in WordNet, was in view during the segment. Recall: the share of showings for
which some name was right in a segment that overlaps them.
"""

import argparse
import re
from pathlib import Path

import shown

from edgemem.infer.labels import nouns
from edgemem.records import US
from edgemem.remember.view import View
from edgemem.see.operations import SegmentClosed
from edgemem.see.write import EventDocument

SPOKEN = re.compile(r"(Scene|Objects): ([^.]*)\.")
SAME = {
    "rooster": "cock", "cockerel": "cock", "door key": "key", "mug": "coffee mug", "post box": "mailbox", "heap of peppers": "bell pepper",
    "mandarin": "orange", "tangerine": "orange", "fighter jet": "warplane", "lake": "lakeside", "man talking in a car": "person",
    "animated couple": "person",
}  # fmt: skip
"""Names of things whose nearest label is a sister term in WordNet."""
LEAST_CONTENT = 0.25
"""A general name such as "device" is not right for everything below it."""


class Rightness:
    """Whether a name is true for something with one of these other names."""

    def __init__(self) -> None:
        self._nouns = nouns()
        self._known: dict[tuple[str, str], bool] = {}

    def __call__(self, name: str, true: set[str]) -> bool:
        plain = name.partition(" (")[0].lower()
        return any(self._related(plain, phrase) for one in true for phrase in (one, SAME.get(one, one)))

    def _related(self, name: str, phrase: str) -> bool:
        if (name, phrase) not in self._known:
            self._known[name, phrase] = name == phrase or any(self._above(a, b) for a in self._rows(name) for b in self._rows(phrase))
        return self._known[name, phrase]

    def _rows(self, phrase: str) -> tuple[tuple[int, bool], ...]:
        return self._nouns.find(phrase)[1][:2]

    def _above(self, one: tuple[int, bool], other: tuple[int, bool]) -> bool:
        (a, a_below), (b, b_below) = one, other
        if a == b:
            return not (a_below and b_below)
        above_b, above_a = not a_below and a in self._nouns.above(b), not b_below and b in self._nouns.above(a)
        return (above_b and self._nouns.content[a] >= LEAST_CONTENT) or (above_a and self._nouns.content[b] >= LEAST_CONTENT)


def named(text: str) -> list[tuple[str, str]]:
    """(part, name) of all that a document names."""
    found = []
    for part, items in SPOKEN.findall(text):
        found += [(part, re.sub(r" \(.*", "", item).strip()) for item in re.split(r", (?![^(]*\))", items)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("streams", nargs="+", metavar="TRUTH.json=MEMORY")
    parser.add_argument("--segmenter", default="otsu_events")
    parser.add_argument("--each", action="store_true", help="print every document with its errors")
    args = parser.parse_args()
    right, writer = Rightness(), EventDocument()
    said: dict[str, list[bool]] = {"Scene": [], "Objects": []}
    told: list[bool] = []
    for pair in args.streams:
        truth, _, memory = pair.partition("=")
        stream, covered = shown.read(Path(truth)), set[int]()
        with View.open(Path(memory)) as view:
            start_us = view.streams()[0].t0_us
            segments = [s for s in view.segments() if s.segmenter == args.segmenter]
            for segment in segments:
                moments = tuple(view.moments(from_us=segment.t0_us, to_us=segment.t1_us))
                closed = SegmentClosed(segment=segment, moments=moments, observations=view.observations([m.id for m in moments]))
                t0, t1 = (segment.t0_us - start_us) / US - 1, (segment.t1_us - start_us) / US + 1
                names = [name for document in writer.write(closed) for name in named(document.text)]
                true = stream.names(t0, t1)
                verdicts = [(part, name, right(name, true)) for part, name in names]
                for part, _name, ok in verdicts:
                    said[part].append(ok)
                for number, showing in enumerate(stream.showings):
                    if showing.t0 <= t1 and showing.t1 >= t0 and any(right(n, {x.lower() for x in showing.names}) for _, n in names):
                        covered.add(number)
                if args.each:
                    print(f"  {t0:6.0f} {' '.join(n if ok else f'[{n}]' for _, n, ok in verdicts):80s} | {', '.join(sorted(true))[:90]}")
        told += [number in covered for number in range(len(stream.showings))]
    every = [*said["Scene"], *said["Objects"]]
    for part, verdict in (*said.items(), ("all", every)):
        print(f"{part:8s} named {len(verdict):4d}, right {100 * sum(verdict) / max(len(verdict), 1):5.1f} %")
    print(f"showings named rightly: {sum(told)} of {len(told)} ({100 * sum(told) / max(len(told), 1):.1f} %)")


if __name__ == "__main__":
    main()
