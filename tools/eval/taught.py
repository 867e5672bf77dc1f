"""Things shown once and met again, by the commands: `taught.py --work DIR` makes streams, ingests, names, asks, prints what is found.

A thing (a cut-out of the catalogue) is shown once, large, at a place that is seen just before and after without it. It is met again in a
picture of another place, smaller, turned, in other light, often beside other things; every fourth is never met again. The halves A and B
share no thing and no background. Each half is done in three ways: everything is ingested first and the things are named then ("stored"),
they are named between the lessons and the meetings ("comes"), and they are named before a stream in which none of them appears ("absent":
the meetings of the other half).

Columns: `edgemem ask "Where is my ...?"` cites first a picture within 10 s of a meeting; so does one of the first five that
`edgemem search` finds; false finds: things for which the first picture that is cited shows them neither then nor in their lesson.
"""

import argparse
import contextlib
import io
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from media import Item, ensure_media, load_catalog
from scenes import cover, enlarge, load, paste

from edgemem import Memory
from edgemem.clock import from_iso
from edgemem.records import US, Evidence

Array = npt.NDArray[Any]
SIZE = (960, 540)
THINGS, NEVER_EVERY = 44, 4
WITHIN_S = 10.0
START = "2026-05-04T08:00:00Z"
GAP_S = 600.0
"""Between the lessons and the meetings."""
RECIPE = """
rate_fps = 1.0
[[gate]]
use = "blur"
[[gate]]
use = "local_difference"
threshold = 12.0
refresh_s = 4.0
[select]
use = ["adaptive_dedup", "keep_all"]
[select.adaptive_dedup]
local_change = 12.0
local_gap_s = 2.0
keep_every_s = 60.0
[[perceive]]
use = "joint"
crops = true
[segment]
use = "fixed_window"
"""
"""What the recipe `default` sees, without reading, hearing and writing."""


class Picture(msgspec.Struct, frozen=True):
    """What one picture of a half shows: the taught thing (-1: none), its part in the story, seconds from the start of its stream."""

    thing: int
    part: str
    second: int


def halves(half: str) -> tuple[list[Item], list[Item]]:
    """Things and backgrounds of one half."""
    catalog = load_catalog()
    ensure_media(catalog)
    rng = random.Random(20)
    things = [item for item in catalog if item.role == "object"]
    places = [item for item in catalog if item.role == "background"]
    rng.shuffle(things)
    rng.shuffle(places)
    odd = int(half == "B")
    return things[odd::2], places[odd::2]


def names() -> list[str]:
    """Words that mean nothing, so that nothing else in edgemem knows the things: "the dravel"."""
    rng = random.Random(5)
    made: dict[str, None] = {}
    while len(made) < THINGS:
        made["".join(rng.choice("bdfgklmprtvz") + rng.choice(("a", "e", "i", "o", "u", "ai", "or", "el")) for _ in range(3)) + "k"] = None
    return list(made)


def lessons(half: str) -> Iterator[tuple[Picture, Array]]:
    """A picture a second: the place for 6 s, the thing for 3 s, the place for 6 s."""
    rng = random.Random(f"taught {half}")
    things, places = halves(half)
    second = 0
    for number, thing in enumerate(things[:THINGS]):
        place = _camera(rng.choice(places[: len(places) // 2]), rng)
        where = rng.uniform(0.3, 0.7), rng.uniform(0.35, 0.65), rng.uniform(0.45, 0.7), rng.uniform(-10, 10)
        for part in (*["before"] * 6, *["shown"] * 3, *["after"] * 6):
            shot = place.with_thing(thing, where, rng) if part == "shown" else place.shot(rng)
            yield Picture(number if part == "shown" else -1, part, second), shot
            second += 1


def meetings(half: str) -> Iterator[tuple[Picture, Array]]:
    """A picture a second: another place for 4 s, the thing in it for 4 s."""
    rng = random.Random(f"met {half}")
    things, places = halves(half)
    met = [number for number in range(THINGS) if number % NEVER_EVERY]
    rng.shuffle(met)
    second = 0
    for number in met:
        place = _camera(rng.choice(places[len(places) // 2 :]), rng)
        if rng.random() < 0.5:
            place.add(rng.choice(things[THINGS:]), rng)
        where = rng.uniform(0.15, 0.85), rng.uniform(0.3, 0.8), rng.uniform(0.18, 0.42), rng.uniform(-30, 30)
        for part in (*["place"] * 4, *["met"] * 4):
            shot = place.with_thing(things[number], where, rng) if part == "met" else place.shot(rng)
            yield Picture(number if part == "met" else -1, part, second), shot
            second += 1


class _Place:
    """A background under one light, seen by a hand-held camera."""

    def __init__(self, canvas: Array, gamma: float, warm: float) -> None:
        self._canvas, self._gamma, self._gain = canvas, gamma, np.array([1 / warm, 1.0, warm], np.float32)

    def add(self, other: Item, rng: random.Random) -> None:
        """Something that was not taught and stays."""
        self._canvas = _pasted(self._canvas, other, (rng.uniform(0.2, 0.8), 0.6, rng.uniform(0.2, 0.4), 0.0))

    def shot(self, rng: random.Random) -> Array:
        return self._seen(self._canvas, rng)

    def with_thing(self, thing: Item, where: tuple[float, float, float, float], rng: random.Random) -> Array:
        return self._seen(_pasted(self._canvas, thing, where), rng)

    def _seen(self, canvas: Array, rng: random.Random) -> Array:
        import cv2

        shift = np.array([[1, 0, rng.uniform(-20, 20)], [0, 1, rng.uniform(-12, 12)]], np.float32)
        moved = cv2.warpAffine(canvas, shift, SIZE, borderMode=cv2.BORDER_REFLECT)
        lit = 255 * np.clip((moved / 255.0) ** self._gamma * self._gain, 0, 1)
        noisy = lit + np.random.default_rng(rng.randrange(2**31)).normal(0, 2, lit.shape)
        return np.asarray(cv2.imdecode(cv2.imencode(".jpg", np.clip(noisy, 0, 255).astype(np.uint8), [1, 88])[1], 1), np.uint8)


def _camera(background: Item, rng: random.Random) -> _Place:
    picture = cover(load(background), SIZE).copy()
    return _Place(picture[:, ::-1].copy() if rng.random() < 0.5 else picture, rng.uniform(0.65, 1.5), rng.uniform(0.9, 1.12))


def _pasted(canvas: Array, thing: Item, where: tuple[float, float, float, float]) -> Array:
    """The canvas with the thing at (x, y) of height `high`, turned by degrees."""
    import cv2

    x, y, high, degrees = where
    stamp = enlarge(load(thing), round(0.6 * SIZE[0]), round(high * SIZE[1]))
    side = int(np.hypot(*stamp.shape[:2])) + 2
    wide = np.zeros((side, side, 4), np.uint8)
    top, left = (side - stamp.shape[0]) // 2, (side - stamp.shape[1]) // 2
    wide[top : top + stamp.shape[0], left : left + stamp.shape[1]] = stamp
    turned = cv2.warpAffine(wide, cv2.getRotationMatrix2D((side / 2, side / 2), degrees, 1.0), (side, side))
    rows, columns = np.flatnonzero(turned[..., 3].any(axis=1)), np.flatnonzero(turned[..., 3].any(axis=0))
    turned = turned[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1][: SIZE[1], : SIZE[0]]
    x0 = min(max(0, round(x * SIZE[0] - turned.shape[1] / 2)), SIZE[0] - turned.shape[1])
    y0 = min(max(0, round(y * SIZE[1] - turned.shape[0] / 2)), SIZE[1] - turned.shape[0])
    copy: Array = canvas.copy()
    paste(copy, turned, x0, y0)
    return copy


def folder(work: Path, half: str, part: str) -> tuple[Path, list[Picture]]:
    """The pictures of a half as files, made once, and what they show."""
    import cv2

    path, listed = work / f"{half}-{part}", work / f"{half}-{part}.json"
    if not listed.exists():
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        pictures = []
        for picture, image in (lessons if part == "lessons" else meetings)(half):
            cv2.imwrite(str(path / f"{picture.second:05}.jpg"), image, [cv2.IMWRITE_JPEG_QUALITY, 90])
            pictures.append(picture)
        listed.write_bytes(msgspec.json.encode(pictures))
    return path, msgspec.json.decode(listed.read_bytes(), type=list[Picture])


class Run:
    """One memory of a half: what is in it, and when."""

    def __init__(self, work: Path, half: str, way: str, other: str) -> None:
        self._work, self.way = work, way
        recipe = work / "taught.toml"
        recipe.write_text(RECIPE)
        self._recipe, self._start_us = str(recipe), from_iso(START)
        self.seconds = {"ingest": 0.0, "name": 0.0}
        self.memory = Memory.open(work / f"{half}-taught")
        self.shown = self._ingest("lessons", half, 0.0)  # once: a second time it is in the memory already
        shutil.rmtree(work / f"{half}-{way}", ignore_errors=True)
        shutil.copytree(work / f"{half}-taught", work / f"{half}-{way}")
        self.memory = Memory.open(work / f"{half}-{way}")
        if way == "stored":
            self.met = self._ingest("meetings", half, GAP_S)
            self._name()
        else:
            self._name()
            self.met = self._ingest("meetings", half if way == "comes" else other, GAP_S)
        if way == "absent":
            self.met = {}

    def _ingest(self, part: str, half: str, gap_s: float) -> dict[int, tuple[int, int]]:
        """When each thing is in view, in microseconds."""
        path, pictures = folder(self._work, half, part)
        start_us = self._start_us if part == "lessons" else max(t for _, t in self.shown.values()) + int(gap_s * US)
        began = time.monotonic()
        with contextlib.redirect_stderr(io.StringIO()):
            self.memory.ingest(path, recipe=self._recipe, start=start_us)
        self.seconds["ingest"] += time.monotonic() - began
        spans: dict[int, tuple[int, int]] = {}
        for picture in pictures:
            if picture.thing >= 0:
                t_us = start_us + picture.second * US
                spans[picture.thing] = (spans.get(picture.thing, (t_us, 0))[0], t_us)
        return spans

    def _name(self) -> None:
        """Each thing by the moment that was kept nearest to the middle of its lesson."""
        from edgemem.remember.view import View

        with View.open(self.memory.directory) as view:
            kept = view.moments()
        began = time.monotonic()
        for number, (a, b) in self.shown.items():
            there = [moment for moment in kept if a <= moment.t_us <= b]
            if there:
                chosen = min(there, key=lambda moment: abs(2 * moment.t_us - a - b))
                self.memory.name_thing(chosen.id, f"my {names()[number]}")
        self.seconds["name"] = time.monotonic() - began

    def row(self) -> str:
        """The columns."""
        first, five, false, asked = [], [], [], 0.0
        for number, name in enumerate(names()[:THINGS]):
            began = time.monotonic()
            answer = self.memory.ask(f"Where is my {name}?")
            asked += time.monotonic() - began
            cited = [one for one in answer.evidence if answer.status == "answered"]
            hits = self.memory.search(f"my {name}", channel="frame", top_k=5)
            if number in self.met:
                first.append(bool(cited) and _in(cited[0], self.met[number]))
                five.append(any(_in(one, self.met[number]) for one in hits))
            right = [span for span in (self.met.get(number), self.shown.get(number)) if span]
            false.append(bool(cited) and not any(_in(cited[0], span) for span in right))
        found = f"{_percent(first):5.0f} {_percent(five):5.0f}" if first else "    -     -"
        spent = f"{self.seconds['ingest']:6.0f} {1000 * self.seconds['name'] / THINGS:8.0f} {1000 * asked / THINGS:7.0f}"
        return f"{found} {_percent(false):6.0f} | {spent}"


def _in(evidence: Evidence, span: tuple[int, int]) -> bool:
    slack = int(WITHIN_S * US)
    return span[0] - slack <= evidence.t1_us and evidence.t0_us <= span[1] + slack


def _percent(values: list[bool]) -> float:
    return 100 * float(np.mean(values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for streams and memories; streams are made once")
    parser.add_argument("--halves", default="AB")
    parser.add_argument("--things", type=int, default=THINGS, help="of each half; the report has all of them")
    parser.add_argument("--ways", default="stored,comes,absent")
    args = parser.parse_args()
    globals()["THINGS"] = args.things
    args.work.mkdir(parents=True, exist_ok=True)
    print("             first  five  false | ingest s  name ms  ask ms")
    for half in args.halves:
        for way in args.ways.split(","):
            print(f"{half} {way:10s} {Run(args.work, half, way, 'B' if half == 'A' else 'A').row()}", flush=True)


if __name__ == "__main__":
    main()
