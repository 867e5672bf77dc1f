"""Reading text: the search at lower scale against reading every picture at full scale, on streams that say which signs they show.

    .venv/bin/python tools/bench/reading.py FOLDER... [--rough 0.5]

A folder holds a video and `truth.json`, as `tools/eval/compose.py` or a lifelog maker write them. Every picture (one a second) that passes
the reader's test for text is read both ways in turn. A sign counts as read if a picture that shows it has a line like each of its lines.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from edgemem.cli.app import CommandContext
from edgemem.extend.sources import open_source
from edgemem.records import US, Observation

ALIKE = 0.8
"""Least ratio of matching characters (difflib) of a line that was read to one of the sign."""


class Sign(NamedTuple):
    """What a stream shows from `t0_s` to `t1_s`."""

    t0_s: float
    t1_s: float
    lines: tuple[str, ...]


def signs(truth: dict[str, Any]) -> Iterator[Sign]:
    """The signs of a composed stream or of a lifelog."""
    for one in truth.get("segments", ()):
        if one["sign"]:
            yield Sign(one["t0"], one["t1"], tuple(one["sign"]["lines"]))
    for one in truth.get("scenes", ()):
        if one["sign_text"]:
            said = one["sign_text"]
            yield Sign(one["t0"], one["t1"], tuple(said.split("\n")) if isinstance(said, str) else tuple(said))


def plain(text: str) -> str:
    """Letters and digits, in lower case."""
    return "".join(character for character in text.lower() if character.isalnum())


def told(sign: Sign, read: Sequence[tuple[float, list[str]]]) -> bool:
    """Whether every line of the sign is like a line, or a part of all lines, of one of the pictures that show it."""
    shown = [lines for t_s, lines in read if sign.t0_s <= t_s <= sign.t1_s]
    wanted = [plain(line) for line in sign.lines if plain(line)]
    found = {want for want in wanted for lines in shown if any(_like(want, line) for line in (*lines, "".join(lines)))}
    return bool(wanted) and found == set(wanted)


def _like(want: str, line: str) -> bool:
    return want in line or SequenceMatcher(None, want, line).ratio() >= ALIKE


class Way:
    """One way to read: its time and what it said."""

    def __init__(self, read: Callable[..., list[Observation]]) -> None:
        self._read = read
        self.cpu_s = 0.0
        self.said: list[tuple[float, list[str]]] = []

    def see(self, t_s: float, image: Any) -> None:
        """Read one picture."""
        started = time.process_time()
        found = self._read(image)
        self.cpu_s += time.process_time() - started
        self.said.append((t_s, [plain(one.name) for one in found]))


def run(folder: Path, whole: Any, rough: Any) -> str:
    """A line of figures on one stream."""
    truth = json.loads((folder / "truth.json").read_text())
    ways = Way(whole.read), Way(rough.read)
    count = 0
    for frame in open_source(str(folder / truth.get("video", "life.mp4")), rate_fps=1.0).frames():
        count += 1
        if rough.likelihood(frame.image) < 0.3:
            continue
        for way in ways if count % 2 else ways[::-1]:
            way.see(frame.offset_us / US, frame.image)
    shown = list(signs(truth))
    by = [[told(sign, way.said) for sign in shown] for way in ways]
    lines = [sum(len(one) for _, one in way.said) for way in ways]
    pictures = len(ways[0].said)
    cpu = [1e3 * way.cpu_s / max(1, pictures) for way in ways]
    figures = f"{count:6}{pictures:7}{cpu[0]:7.0f}{cpu[1]:7.0f}{cpu[0] / cpu[1]:7.2f}{lines[0]:7}{lines[1]:7}"
    lost = sum(a and not b for a, b in zip(*by, strict=True))
    won = sum(b and not a for a, b in zip(*by, strict=True))
    return f"{figures}{len(shown):7}{sum(by[0]):7}{sum(by[1]):7}{lost:6}{won:5}"


def main() -> None:
    """Print one line per stream."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--rough", type=float, default=0.5)
    arguments = parser.parse_args()
    session = CommandContext(None, ("engines.threads=1",))
    card = session.cards["ppocr-v6"]
    readers = []
    for part in (0.0, arguments.rough):
        session.cards["ppocr-v6"] = msgspec.structs.replace(card, parameters={**card.parameters, "rough": part})
        readers.append(session.make_engines(session.settings.engines).role("read_text", now=True))
    print("pictures seen, and read because they may hold text; for both ways CPU ms per picture, lines, signs of which every line was read")
    columns = (("seen", 6), ("read", 7), *((name, 7) for name in ("CPU", "rough", "ratio", "lines", "rough", "signs", "read", "rough")))
    print(" " * 14 + "".join(f"{name:>{width}}" for name, width in (*columns, ("lost", 6), ("won", 5))))
    for folder in arguments.folders:
        print(f"{folder.name:14}{run(folder, *readers)}", flush=True)


if __name__ == "__main__":
    main()
