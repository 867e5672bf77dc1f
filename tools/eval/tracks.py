"""How often a thing came: `tracks.py TRUTH.json=MEMORY... [--share .5] [--looks 0 .3 .6]` prints a line for every weight of looks.

A sighting is of the same thing as the best one by its labels (weight 0 of looks) and by how like the best one it looks
(`answer.retrievers.match.same_thing`). Asked are all phrases that are true of a thing in the streams and whose best picture is right.
Columns: of how many phrases the number of tracks is right, for things that came once, things that came several times, and classes of
several things ("bird"); of how many things that came several times the first and the last track are at the right time.
"""

import argparse
from collections import Counter
from pathlib import Path

import shown

from edgemem.answer.gather import Gather, GatherTool
from edgemem.answer.retrievers import match
from edgemem.answer.retrievers.frames import FrameRetriever
from edgemem.answer.say import base
from edgemem.cli.app import CommandContext
from edgemem.records import US
from edgemem.remember.view import View

WITHIN_S = 10.0
COLUMNS = ("once", "several", "class", "first", "last")


def measure(pairs: list[tuple[Path, Path]], retriever: FrameRetriever) -> Counter[tuple[str, bool]]:
    """Right and wrong phrases by column."""
    told: Counter[tuple[str, bool]] = Counter()
    for truth, memory in pairs:
        stream, tool = shown.read(truth), GatherTool([retriever])
        with View.open(memory) as view:
            start_us = view.streams()[0].t0_us
            for phrase, difficulty in stream.asked().items():
                spans = sorted((start_us + (a - WITHIN_S) * US, start_us + (b + WITHIN_S) * US) for a, b in stream.spans(phrase))
                lead = tool.run(Gather(things=(phrase,)), view).leads[0]
                best = max((e for e in lead.episodes), key=lambda e: e.score, default=None)
                if best is None or not any(low <= best.evidence[0].t0_us <= high for low, high in spans):
                    continue
                tracks = base.strong(lead)
                column = "class" if difficulty == "kind" else "several" if len(spans) > 1 else "once"
                told[column, len(tracks) == len(spans)] += 1
                if column == "several":
                    for end, place in (("first", 0), ("last", -1)):
                        low, high = spans[place]
                        told[end, low <= tracks[place].evidence[0].t0_us <= high] += 1
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", metavar="TRUTH.json=MEMORY")
    parser.add_argument("--share", type=float, nargs="+", default=[base.STRONG], help="share from which on a track counts")
    parser.add_argument("--looks", type=float, nargs="+", default=[0.0, match.LOOK], help="weights of looks beside labels")
    args = parser.parse_args()
    pairs = [(Path(truth), Path(memory)) for truth, _, memory in (pair.partition("=") for pair in args.pairs)]
    retriever = FrameRetriever(CommandContext(None, ("engines.threads=2",)).engines)
    print(f"looks share  {'  '.join(f'{name:>9}' for name in COLUMNS)}")
    for looks in args.looks:
        for share in args.share:
            match.LOOK, base.STRONG = looks, share
            told = measure(pairs, retriever)
            cells = (f"{told[name, True]:4}/{told[name, True] + told[name, False]:4}" for name in COLUMNS)
            print(f"{looks:5.2f} {share:5.2f}  {'  '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
