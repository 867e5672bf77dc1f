"""Compose one H.264 stream with exact truth: `compose.py --seed N --minutes M --out DIR`.

A stream is a seeded sequence of segments: real clips, photographs with a moving camera, cut-out objects and signs over real backgrounds,
the same object again at another place, blurred, black and frozen parts. `truth.json` states what is in view when, and has questions with
their exact answers.

Seeds 100-109 are for development. Seeds 900-999 are for reporting only: their streams, questions and single results are never inspected,
and nothing is tuned on them.
"""

import argparse
import random
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec
import numpy as np
from media import Item, ensure_media, load_catalog
from questions import make_questions
from scenes import MARGIN, SAFE, Sensor, Size, camera, clip_frames, cover, enlarge, fit, load, place_stamps
from segment import Segment
from signs import Image, make_sign, render
from world import Truth

FPS = 10
SEGMENT_S = (4.0, 25.0)
WEIGHTS = {"scene": 50, "photo": 20, "clip": 9, "sign": 13, "black": 2, "blurred": 3, "frozen": 3}
REPEAT = 0.24  # share of scenes and photographs that show a thing again


def plan(rng: random.Random, catalog: list[Item], seconds: float) -> list[Segment]:
    """The sequence of segments, always starting with something to see."""
    planner, t = Planner(rng, catalog), 0.0
    while t < seconds - SEGMENT_S[0]:
        what = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0] if planner.past else "scene"
        long_s = rng.uniform(4, 7) if what in ("black", "blurred", "frozen") else rng.triangular(*SEGMENT_S, 8.0)
        t1 = min(seconds, round(t + long_s, 1))
        planner.past.append(planner.segment(what, t, t1))
        t = t1
    return planner.past


class Planner:
    """Chooses what each segment shows: mostly something new, sometimes something seen before at another place."""

    def __init__(self, rng: random.Random, catalog: list[Item]) -> None:
        self.rng, self.past = rng, list[Segment]()
        self._items: dict[str, list[Item]] = {}
        for item in catalog:
            self._items.setdefault(item.role, []).append(item)
        self._fresh = {role: rng.sample(items, len(items)) for role, items in self._items.items()}

    def segment(self, what: str, t0: float, t1: float) -> Segment:
        """The next segment; a freeze at the beginning is black instead."""
        last = self.past[-1] if self.past else None
        if what == "frozen" and last and last.what not in ("black", "blurred", "frozen"):
            return Segment(t0, t1, what, last.things, last.background, last.sign)
        if what in ("black", "frozen"):
            return Segment(t0, t1, "black")
        if what in ("clip", "photo"):
            return Segment(t0, t1, what, (self._take(what),))
        background = self.rng.choice([item for item in self._items["background"] if last is None or item != last.background])
        if what == "blurred":
            return Segment(t0, t1, what, (), background)
        if what == "sign":
            return Segment(t0, t1, what, (), background, make_sign(self.rng, place=self.rng.random() < 0.25))
        sign = make_sign(self.rng, place=True) if self.rng.random() < 0.3 else None
        # A scene with a sign shows one thing only: narrower signs can no longer be read at 720 lines.
        count = 1 if sign else self.rng.choices([1, 2], [2, 1])[0]
        things = dict.fromkeys(self._take("object") for _ in range(count))
        return Segment(t0, t1, what, tuple(things), background, sign)

    def _take(self, role: str) -> Item:
        recent = {item for segment in self.past[-2:] for item in segment.things}
        seen = [i for i in dict.fromkeys(i for s in self.past for i in s.things) if i.role == role and i not in recent]
        if seen and (self.rng.random() < REPEAT or not self._fresh[role]):
            return self.rng.choice(seen)
        return self._fresh[role].pop() if self._fresh[role] else self.rng.choice(self._items[role])


def frames(segment: Segment, size: Size, previous: Image, rng: random.Random) -> Iterator[Image]:
    """The segment's pictures before sensor noise; `previous` is the last written frame."""
    count = round((segment.t1 - segment.t0) * FPS)
    if segment.what in ("black", "frozen"):
        yield from (previous if segment.what == "frozen" else np.zeros_like(previous) for _ in range(count))
    elif segment.what == "clip":
        yield from clip_frames(segment.things[0], size, count, FPS, rng)
    else:
        yield from camera(_canvas(segment, size, rng), size, count, rng)


def _canvas(segment: Segment, size: Size, rng: random.Random) -> Image:
    import cv2

    large = (round(size[0] * MARGIN), round(size[1] * MARGIN))
    if segment.what == "photo":
        return fit(load(segment.things[0]), large)
    assert segment.background
    canvas: Image = cover(load(segment.background), large).copy()
    if segment.what == "blurred":
        return np.asarray(cv2.GaussianBlur(canvas, (0, 0), size[0] / 40), np.uint8)
    if rng.random() < 0.5:
        canvas = canvas[:, ::-1].copy()
    count = max(1, len(segment.things) + (segment.sign is not None))
    slot_px, high_px = int(size[0] * SAFE / count), int(size[1] * SAFE)
    stamps = [enlarge(load(item), slot_px, round(size[1] * rng.uniform(0.2, 0.6))) for item in segment.things]
    if segment.sign:
        stamps.append(render(segment.sign, int(slot_px * rng.uniform(0.75, 1.0)), high_px // 2, rng))
    place_stamps(canvas, stamps, size, rng)
    return canvas


def write_video(path: Path, segments: list[Segment], size: Size, seed: int) -> None:
    """Encode all segments into one mp4. The same seed gives the same pictures."""
    import av

    rng, sensor = random.Random(seed + 1), Sensor(size, seed)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=FPS, options={"preset": "superfast", "crf": "27", "g": "20"})
        stream.width, stream.height, stream.pix_fmt = size[0], size[1], "yuv420p"
        shown = np.zeros((size[1], size[0], 3), np.uint8)
        for segment in segments:
            for picture in frames(segment, size, shown, rng):
                shown = picture if segment.what in ("black", "frozen") else sensor(picture)
                container.mux(stream.encode(av.VideoFrame.from_ndarray(shown, format="bgr24")))
        container.mux(stream.encode())


def start_time(rng: random.Random, seed: int, seconds: float) -> datetime:
    """Wall time of the first frame; every fourth seed crosses midnight."""
    day = datetime(2026, 3, 2, tzinfo=timezone.utc) + timedelta(days=rng.randint(0, 60))
    if seed % 4 == 3:
        return day + timedelta(days=1) - timedelta(seconds=int(seconds * rng.uniform(0.35, 0.65)))
    return day + timedelta(hours=rng.randint(8, 20), minutes=rng.randint(0, 59), seconds=rng.randint(0, 59))


def compose(
    seed: int, minutes: float, out: Path, size: Size = (1280, 720), *, questions: int = 60, catalog: list[Item] | None = None
) -> Path:
    """Write `stream.mp4` and `truth.json` into `out`; returns the path of the truth. Fetches media that are missing."""
    catalog = catalog or load_catalog()
    ensure_media(catalog)
    out.mkdir(parents=True, exist_ok=True)
    rng = random.Random(seed)
    segments = plan(rng, catalog, minutes * 60)
    start = start_time(rng, seed, segments[-1].t1)
    asked = make_questions(random.Random(seed + 2), segments, start, catalog, questions)
    truth = Truth(seed, "stream.mp4", start.isoformat().replace("+00:00", "Z"), segments[-1].t1, size, segments, asked)
    write_video(out / "stream.mp4", segments, size, seed)
    (out / "truth.json").write_bytes(msgspec.json.format(msgspec.json.encode(truth), indent=1))
    return out / "truth.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--minutes", type=float, default=12.0)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--size", default="1280x720")
    parser.add_argument("--questions", type=int, default=60)
    args = parser.parse_args()
    wide, high = (int(side) for side in args.size.split("x"))
    print(compose(args.seed, args.minutes, args.out, (wide, high), questions=args.questions), file=sys.stderr)


if __name__ == "__main__":
    main()
