"""How often a thing came: `tracks.py [TRUTH.json=MEMORY...] [--turned DIR] [--looks 0 .8]` prints a line for every weight of looks.

A sighting is of the same thing as the best one by its labels (weight 0 of looks) and by how like the best one it looks
(`answer.retrievers.match.same_thing`). Asked are all phrases that are true of a thing in the streams and whose best picture is right. The
streams of both generators show the same photograph of a thing again, at another size and place. `--turned` makes and asks those of
`taught.py` as well: there it comes again smaller, turned by up to 40 degrees and in other light. Columns: of how many phrases the number of
tracks is right, for things that came once, things that came several times, and classes of several things ("bird"); of how many things that
came several times the first and the last track are at the right time.
"""

import argparse
import contextlib
import io
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import shown
import taught

from edgemem import Memory
from edgemem.answer.gather import Gather, GatherTool
from edgemem.answer.retrievers import match
from edgemem.answer.retrievers.frames import FrameRetriever
from edgemem.answer.say import base
from edgemem.cli.app import CommandContext
from edgemem.clock import from_iso
from edgemem.records import US
from edgemem.remember.view import View

WITHIN_S = 10.0
COLUMNS = ("once", "several", "class", "first", "last")


class Asked(NamedTuple):
    """A phrase, whether it names a class, and when what it names was in view, in microseconds, oldest first."""

    phrase: str
    of_class: bool
    spans: list[tuple[float, float]]


def of_stream(truth: Path, memory: Path) -> list[Asked]:
    """Of a stream of one of the generators."""
    stream = shown.read(truth)
    with View.open(memory) as view:
        start_us = view.streams()[0].t0_us
    return [
        Asked(phrase, difficulty == "kind", sorted((start_us + a * US, start_us + b * US) for a, b in stream.spans(phrase)))
        for phrase, difficulty in stream.asked().items()
    ]


def of_turned(work: Path, half: str) -> tuple[Path, list[Asked]]:
    """The memory of a half of `taught.py`, made once, and its things."""
    directory, recipe, start_us = work / f"{half}-tracks", work / "taught.toml", from_iso(taught.START)
    work.mkdir(parents=True, exist_ok=True)
    recipe.write_text(taught.RECIPE)
    spans: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
    for part in ("lessons", "meetings"):
        path, pictures = taught.folder(work, half, part)
        with contextlib.redirect_stderr(io.StringIO()):
            Memory.open(directory).ingest(path, recipe=str(recipe), start=start_us)  # a second time it is there already
        for thing in dict.fromkeys(picture.thing for picture in pictures if picture.thing >= 0):
            seconds = [picture.second for picture in pictures if picture.thing == thing]
            spans[thing].append((start_us + seconds[0] * US, start_us + seconds[-1] * US))
        start_us += round((pictures[-1].second + taught.GAP_S) * US)
    things, _ = taught.halves(half)
    return directory, [Asked(phrase, False, spans[number]) for number in spans for phrase in things[number].ask]


def measure(memories: list[tuple[Path, list[Asked]]], retriever: FrameRetriever) -> Counter[tuple[str, bool]]:
    """Right and wrong phrases by column."""
    told: Counter[tuple[str, bool]] = Counter()
    for memory, every in memories:
        with View.open(memory) as view:
            for asked in every:
                told.update(judged(asked, view, GatherTool([retriever])))
    return told


def judged(asked: Asked, view: View, tool: GatherTool) -> Iterator[tuple[str, bool]]:
    """By column; nothing where the best picture is wrong."""
    spans = [(a - WITHIN_S * US, b + WITHIN_S * US) for a, b in asked.spans]
    lead = tool.run(Gather(things=(asked.phrase,)), view).leads[0]
    best = max(lead.episodes, key=lambda e: e.score, default=None)
    if best is None or not any(low <= best.evidence[0].t0_us <= high for low, high in spans):
        return
    tracks = base.strong(lead)
    column = "class" if asked.of_class else "several" if len(spans) > 1 else "once"
    yield column, len(tracks) == len(spans)
    for end, place in (("first", 0), ("last", -1)) if column == "several" else ():
        low, high = spans[place]
        yield end, low <= tracks[place].evidence[0].t0_us <= high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="*", metavar="TRUTH.json=MEMORY")
    parser.add_argument("--turned", type=Path, help="folder for streams and memories with things that are turned, made once")
    parser.add_argument("--share", type=float, nargs="+", default=[base.STRONG], help="share from which on a track counts")
    parser.add_argument("--looks", type=float, nargs="+", default=[0.0, match.BY_LOOKS], help="weights of looks beside labels")
    args = parser.parse_args()
    pairs = [(Path(truth), Path(memory)) for truth, _, memory in (pair.partition("=") for pair in args.pairs)]
    memories = [(memory, of_stream(truth, memory)) for truth, memory in pairs]
    memories += [of_turned(args.turned, half) for half in "AB" if args.turned]
    retriever = FrameRetriever(CommandContext(None, ("engines.threads=2",)).engines)
    print(f"looks share  {'  '.join(f'{name:>9}' for name in COLUMNS)}")
    for looks in args.looks:
        for share in args.share:
            match.BY_LOOKS, base.STRONG = looks, share
            told = measure(memories, retriever)
            cells = (f"{told[name, True]:4}/{told[name, True] + told[name, False]:4}" for name in COLUMNS)
            print(f"{looks:5.2f} {share:5.2f}  {'  '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
