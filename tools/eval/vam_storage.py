"""How much VAM keeps of a long stream, and what it misses: `nice vam_storage.py --minutes 130 --seeds 100`.

Composes a stream from the media of `compose.py` (not encoded: the pictures go straight into the recipe `vam`) and counts the kept moments,
compared with uniform sampling at 1 and at 0.5 frames per second, and with as many frames as VAM kept. Recall: the share of things shown for
at least 4 s that have a kept picture from the time when they were in view.

Things that come into a still picture and leave again ("visits", 15 to 30 % of its width) are counted separately: a gate that measures the
whole picture may not see them.

There are two rhythms. "busy" is that of the question streams: something new every 4 to 25 s. "everyday" is a device that somebody wears or
that has a fixed place: mostly long, nearly still scenes with short events in between.
"""

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from compose import FPS, Planner, frames, plan
from media import Item, ensure_media, load_catalog
from scenes import Sensor, Size, enlarge, load, paste
from segment import Segment
from signs import Image

from edgemem.cli.app import CommandContext
from edgemem.extend.assembly import make_parts
from edgemem.records import US, Frame, Observation
from edgemem.remember.store import Store
from edgemem.see.perceive import BasePerceiver, Perceiver, Perception
from edgemem.see.pipeline import Pipeline
from edgemem.see.sources.base import BaseSource

RATE_FPS = 0.5
SIZE: Size = (640, 360)
STILL_S = 1.0
"""After this time a camera that was put down does not move any more; then its pictures differ only by sensor noise."""
SHOWN_S = 4.0
"""Things that were in view for less than two samples are not counted."""
CONTENT = ("scene", "photo", "clip", "sign")
VISIT_S = (6.0, 20.0)
VISIT_EVERY_S = 90.0
VISIT_WIDE = (0.15, 0.3)
"""A small thing in front of a still camera: how long it stays, how often this happens, its share of the picture's width."""
T0_US = 1_777_881_600 * US
# Share, shortest and longest segment in seconds, whether the camera is still.
EVERYDAY = ((0.50, 4.0, 25.0, False), (0.30, 60.0, 300.0, True), (0.20, 300.0, 1200.0, True))


def everyday(rng: random.Random, planner: Planner, seconds: float) -> tuple[list[Segment], set[int]]:
    """Segments, and those that a still camera sees."""
    t, still = 0.0, set[int]()
    while t < seconds - SHOWN_S:
        _, low, high, stands = rng.choices(EVERYDAY, [share for share, *_ in EVERYDAY])[0]
        what = "scene" if stands or not planner.past else rng.choices(["scene", "photo", "clip", "sign", "blurred"], [50, 20, 9, 13, 3])[0]
        t1 = min(seconds, round(t + rng.uniform(low, high), 1))
        if stands:
            still.add(len(planner.past))
        planner.past.append(planner.segment(what, t, t1))
        t = t1
    return planner.past, still


class Visit(NamedTuple):
    """A cut-out object over a still picture."""

    t0: float
    t1: float
    item: Item
    wide: float
    x: float
    y: float


def visits(rng: random.Random, segments: list[Segment], still: set[int], catalog: list[Item]) -> list[Visit]:
    """Visits in segments of a still camera, about one every `VISIT_EVERY_S`, none at the ends of a segment."""
    objects, found = [item for item in catalog if item.role == "object"], list[Visit]()
    for index in sorted(still):
        t = segments[index].t0 + 20
        while (t := t + rng.uniform(0.5, 1.5) * VISIT_EVERY_S) + VISIT_S[1] < segments[index].t1 - 10:
            end = t + rng.uniform(*VISIT_S)
            found.append(Visit(t, end, rng.choice(objects), rng.uniform(*VISIT_WIDE), rng.uniform(0.05, 0.65), rng.uniform(0.1, 0.5)))
            t = end
    return found


def with_visitor(picture: Image, visit: Visit) -> Image:
    """A copy with the object pasted in."""
    shown: Image = picture.copy()
    stamp = enlarge(load(visit.item), round(visit.wide * SIZE[0]), SIZE[1] // 3)
    paste(shown, stamp, round(visit.x * SIZE[0]), round(visit.y * SIZE[1]))
    return shown


class Composed(BaseSource):
    """A source of the composed pictures at `RATE_FPS`, with sensor noise."""

    name = "composed"

    def __init__(self, segments: list[Segment], still: set[int], visited: list[Visit], seed: int) -> None:
        self._segments, self._still, self._visits, self._seed = segments, still, visited, seed
        self.t0_us = T0_US
        self.duration_us: int | None = round(segments[-1].t1 * US)
        self.identity = f"composed-{seed}-{len(segments)}"
        self.dropped: dict[str, int] = {}

    def frames(self) -> Iterator[Frame]:
        """One frame every two seconds."""
        rng, sensor = random.Random(self._seed + 1), Sensor(SIZE, self._seed)
        previous, seq = np.zeros((SIZE[1], SIZE[0], 3), np.uint8), 0
        for index, segment in enumerate(self._segments):
            due = [n for n in range(seq, seq + 2000) if segment.t0 <= n / RATE_FPS < segment.t1]
            shown = msgspec.structs.replace(segment, t1=segment.t0 + STILL_S) if index in self._still else segment
            pictures: list[Image] = list(frames(shown, SIZE, previous, rng)) or [previous]
            for n in due:
                at = -1 if index in self._still else min(round((n / RATE_FPS - segment.t0) * FPS), len(pictures) - 1)
                previous, offset_us = pictures[at], round(n / RATE_FPS * US)
                visitor = next((visit for visit in self._visits if visit.t0 <= n / RATE_FPS < visit.t1), None)
                previous = with_visitor(previous, visitor) if visitor else previous
                yield Frame(stream=self.name, seq=n, t_us=T0_US + offset_us, offset_us=offset_us, mono_us=offset_us, image=sensor(previous))
            seq += len(due)


class GlanceOnly(BasePerceiver):
    """A perceiver without its slow analysis of kept pictures, which does not affect what is kept."""

    name, glances = "glance", True

    def __init__(self, perceiver: Perceiver) -> None:
        self.spaces, self.glance = perceiver.spaces, perceiver.glance  # type: ignore[method-assign]

    def perceive(self, image: Image, known: tuple[Observation, ...]) -> Perception:
        """The vector alone."""
        del known
        return Perception(vectors={self.spaces[0].space.name: self.glance([image])[0]})


def recall(spans: list[tuple[float, float]], times_s: list[float]) -> float | None:
    """Share of the spans that contain one of the times; None if there is no span."""
    times = np.sort(np.asarray(times_s))
    held = [bool(np.searchsorted(times, t0) < np.searchsorted(times, t1)) for t0, t1 in spans]
    return round(sum(held) / len(held), 4) if held else None


def measure(rhythm: str, seed: int, minutes: float, recipe: str, work: Path) -> dict[str, object]:
    """One stream through the recipe."""
    rng, catalog = random.Random(seed), load_catalog()
    ensure_media(catalog)
    if rhythm == "busy":
        segments, still = plan(rng, catalog, minutes * 60), set[int]()
    else:
        segments, still = everyday(rng, Planner(rng, catalog), minutes * 60)
    visited = visits(rng, segments, still, catalog)
    session = CommandContext(None, ())
    parts, _ = make_parts(session.recipes, session.recipes.read(recipe), session.context, session.plugins)
    parts.perceivers = [GlanceOnly(next(perceiver for perceiver in parts.perceivers if perceiver.glances))]
    parts.retainer, parts.segment_closed = None, lambda _: None
    begun = time.perf_counter()
    with Store.open(work / f"{rhythm}-{seed}-{recipe}") as store:
        report = Pipeline(Composed(segments, still, visited, seed), parts, store).run()
        with store.view() as view:
            times = [moment.offset_us / US for moment in view.moments()]
    seconds = segments[-1].t1
    things = [(s.t0, s.t1) for s in segments if s.what in CONTENT and s.t1 - s.t0 >= SHOWN_S]
    small = [(visit.t0, visit.t1) for visit in visited]
    fps_1, fps_half = ([n / fps for n in range(int(seconds * fps))] for fps in (1.0, 0.5))
    as_many = [(n + 0.5) * seconds / len(times) for n in range(len(times))]
    ways = {"kept": times, "1 fps": fps_1, "0.5 fps": fps_half, "as many, uniform": as_many}
    return {
        "recipe": recipe, "rhythm": rhythm, "seed": seed, "minutes": round(seconds / 60, 1),
        "things": len(things), "visits": len(small),
        "frames": {way: len(at) for way, at in ways.items()},
        "times_fewer": {"1 fps": round(len(fps_1) / len(times), 1), "0.5 fps": round(len(fps_half) / len(times), 1)},
        "recall_things": {way: recall(things, at) for way, at in ways.items()},
        "recall_visits": {way: recall(small, at) for way, at in ways.items()},
        "events": report.segments, "dropped": report.dropped, "disk_mib": round(report.disk_bytes / 2**20, 1),
        "wall_s": round(time.perf_counter() - begun, 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="100")
    parser.add_argument("--minutes", type=float, default=130.0)
    parser.add_argument("--rhythms", default="everyday,busy")
    parser.add_argument("--recipes", default="vam,default")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        for rhythm, seed, recipe in product(args.rhythms.split(","), args.seeds.split(","), args.recipes.split(",")):
            print(json.dumps(measure(rhythm, int(seed), args.minutes, recipe, Path(work))), flush=True)


if __name__ == "__main__":
    main()
