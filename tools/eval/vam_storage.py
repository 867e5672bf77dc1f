"""How little VAM keeps of a long stream, and what it misses by that: `nice vam_storage.py --minutes 130 --seeds 100`.

Composes a stream from the media of `compose.py` (not encoded: the pictures go straight into the recipe `vam`) and counts the
moments that are kept beside uniform sampling at 1 and at 0.5 frames a second, and at as many frames as VAM kept. Recall: of the
things that were shown for at least 4 s, how many have a kept picture from the time when they were in view.

Two rhythms. "busy" is that of the question streams: something new every 4 to 25 s, all the time. "everyday" is a device that somebody wears
or that stands somewhere: most of the time is long stretches, still or nearly so, with short things in between.
"""

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
from compose import FPS, Planner, frames, plan
from media import ensure_media, load_catalog
from scenes import Sensor, Size
from segment import Segment
from signs import Image

from edgemem.cli.app import Session
from edgemem.extend.kit import make_parts
from edgemem.records import US, Frame
from edgemem.remember.store import Store
from edgemem.see.pipeline import Pipeline

RATE_FPS = 0.5
SIZE: Size = (640, 360)
STILL_S = 1.0
"""After so long a camera that is put down has come to rest; then it gives one and the same picture, but for the sensor's noise."""
SHOWN_S = 4.0
"""Things that were in view for less than two samples are not asked for."""
CONTENT = ("scene", "photo", "clip", "sign")
T0_US = 1_777_881_600 * US
# Share, shortest and longest stretch in seconds, whether the camera stands still.
EVERYDAY = ((0.50, 4.0, 25.0, False), (0.30, 60.0, 300.0, True), (0.20, 300.0, 1200.0, True))


def everyday(rng: random.Random, planner: Planner, seconds: float) -> tuple[list[Segment], set[int]]:
    """Segments, and which of them are seen by a camera that stands still."""
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


class Composed:
    """A source of the composed pictures at `RATE_FPS`, with sensor noise."""

    name, live, blind = "composed", False, ""

    def __init__(self, segments: list[Segment], still: set[int], seed: int) -> None:
        self._segments, self._still, self._seed = segments, still, seed
        self.t0_us = T0_US
        self.duration_us: int | None = round(segments[-1].t1 * US)
        self.identity = f"composed-{seed}-{len(segments)}"
        self.dropped: dict[str, int] = {}

    def skip_to(self, offset_us: int) -> None:
        """Never continued."""

    def close(self) -> None:
        """Nothing to free."""

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
                yield Frame(stream=self.name, seq=n, t_us=T0_US + offset_us, offset_us=offset_us, mono_us=offset_us, image=sensor(previous))
            seq += len(due)


def recall(segments: list[Segment], times_s: list[float]) -> float:
    """Share of the shown things that some picture of `times_s` shows."""
    wanted = [s for s in segments if s.what in CONTENT and s.t1 - s.t0 >= SHOWN_S]
    times = np.sort(np.asarray(times_s))
    held = [bool(np.searchsorted(times, s.t0) < np.searchsorted(times, s.t1)) for s in wanted]
    return sum(held) / max(1, len(held))


def measure(rhythm: str, seed: int, minutes: float, recipe: str, work: Path) -> dict[str, object]:
    """One stream through the recipe."""
    rng, catalog = random.Random(seed), load_catalog()
    ensure_media(catalog)
    if rhythm == "busy":
        segments, still = plan(rng, catalog, minutes * 60), set[int]()
    else:
        segments, still = everyday(rng, Planner(rng, catalog), minutes * 60)
    session = Session(None, ())
    parts, _ = make_parts(session.recipes, session.recipes.read(recipe), session.context, session.plugins)
    parts.reader, parts.retainer, parts.segment_closed = None, None, lambda _: None
    begun = time.perf_counter()
    with Store.open(work / f"{rhythm}-{seed}") as store:
        report = Pipeline(Composed(segments, still, seed), parts, store).run()
        with store.view() as view:
            times = [moment.offset_us / US for moment in view.moments()]
    seconds = segments[-1].t1
    uniform = {fps: [n / fps for n in range(int(seconds * fps))] for fps in (1.0, 0.5)}
    as_many = [(n + 0.5) * seconds / len(times) for n in range(len(times))]
    return {
        "rhythm": rhythm, "seed": seed, "minutes": round(seconds / 60, 1), "things": sum(s.what in CONTENT for s in segments),
        "kept": len(times), "uniform_1fps": len(uniform[1.0]), "uniform_0.5fps": len(uniform[0.5]),
        "times_fewer_than_1fps": round(len(uniform[1.0]) / len(times), 1),
        "times_fewer_than_0.5fps": round(len(uniform[0.5]) / len(times), 1),
        "recall": round(recall(segments, times), 4), "recall_1fps": round(recall(segments, uniform[1.0]), 4),
        "recall_0.5fps": round(recall(segments, uniform[0.5]), 4), "recall_as_many_uniform": round(recall(segments, as_many), 4),
        "events": report.segments, "dropped": report.dropped, "disk_mib": round(report.disk_bytes / 2**20, 1),
        "wall_s": round(time.perf_counter() - begun, 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="100")
    parser.add_argument("--minutes", type=float, default=130.0)
    parser.add_argument("--rhythms", default="everyday,busy")
    parser.add_argument("--recipe", default="vam")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        for rhythm in args.rhythms.split(","):
            for seed in args.seeds.split(","):
                print(json.dumps(measure(rhythm, int(seed), args.minutes, args.recipe, Path(work))), flush=True)


if __name__ == "__main__":
    main()
