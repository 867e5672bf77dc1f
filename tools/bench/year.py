"""A simulated year of 365 days of 16 hours, with the real store, its age tiers and its byte budget, in minutes.

    python tools/bench/year.py [--cap 8] [--scale 100] [--days 365] [--retainer age_tiers|none]

Scale: only 16 h / scale of each day are simulated, at full density (moments per minute, bytes per picture and gaps of the tiers are those
of a real day), and the cap is that of the disk divided by the scale. So bytes per moment relative to the cap are those of a real year,
while counts of moments, segments and documents are `scale` times smaller: latencies and ranking are those of a memory of that size
(tools/bench/vectors.py measures a million vectors), and the log, whose share does not shrink, takes a larger part than on a real disk.

Synthetic: pictures are of coloured blocks, 12 of them in turn, with another patch each time, so that no two are stored as one; vectors are
places (24, of which repeated days see 3), activities and noise; texts come from small vocabularies, so that ordinary documents have all
words of the planted ones.

Planted each day, and searched at each age:
- an event of 25 s with a document: found if its document is among ten of a text search for five of its words (document level), or a
  moment of it among ten of a vector search for it (event, frame level);
- a glimpse: one moment within an ordinary segment, neither representative nor in a document: it can be found only by its frame.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import simplejpeg

from edgemem.infer.roles import Space
from edgemem.records import US, Observation, Vector
from edgemem.remember.store import NewDocument, NewMoment, NewSegment, Store
from edgemem.remember.tiers import AgeTiers, AgeTiersSettings
from edgemem.remember.view import View

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DAY_S, AWAKE_S = 86_400, 16 * 3600
START_S = 1_735_718_400  # 2025-01-01 08:00 UTC
SPACE = Space(name="year/384", dim=384)
KINDS = {"static": (60.0, 600), "busy": (5.0, 150), "repeated": (10.0, 300)}
"""Kind of day: seconds from one kept moment to the next, length of a segment in seconds."""
SHARES = (0.25, 0.35, 0.4)
WORDS = {
    "colour": ["red", "blue", "green", "white", "black", "yellow", "brown", "grey", "orange", "violet", "pink", "silver"],
    "thing": [
        "kettle",
        "ladder",
        "parcel",
        "bicycle",
        "umbrella",
        "laptop",
        "plant",
        "bottle",
        "hammer",
        "basket",
        "camera",
        "wallet",
        "jacket",
        "book",
        "lamp",
        "chair",
        "bucket",
        "radio",
    ],
    "place": [
        "hall",
        "kitchen",
        "garage",
        "garden",
        "office",
        "stairs",
        "cellar",
        "balcony",
        "workshop",
        "bedroom",
        "terrace",
        "attic",
        "pantry",
        "porch",
    ],
    "person": ["courier", "neighbour", "child", "visitor", "gardener", "plumber", "colleague", "cyclist", "painter", "nurse"],
    "act": ["carries", "drops", "repairs", "leaves", "hides", "opens", "closes", "finds", "paints", "washes", "lifts", "measures"],
}
AGES_DAYS = {"1 hour": 0, "1 day": 1, "1 week": 7, "1 month": 30, "1 year": 345}
ASK_EVERY_DAYS = 5


@dataclass(frozen=True)
class Fact:
    """Something planted: what to search for, and what counts as found."""

    day: int
    vector: Vector
    moment_ids: tuple[int, ...]
    words: str = ""
    document_id: int = 0


class World:
    """Draws days: times, vectors, pictures, labels, texts."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.places = self.unit(24)
        self.acts = self.unit(60)
        self.pictures = [self._picture() for _ in range(12)]
        self.written_bytes = 0

    def unit(self, rows: int) -> npt.NDArray[np.float32]:
        drawn = self.rng.normal(size=(rows, SPACE.dim)).astype(np.float32)
        unit: npt.NDArray[np.float32] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        return unit

    def _picture(self) -> npt.NDArray[np.uint8]:
        """1280 x 720; about 120 KB as a JPEG."""
        image = np.zeros((720, 1280, 3), np.float32)
        for side, strength in ((8, 60), (40, 18), (90, float(self.rng.uniform(4, 10)))):
            coarse = self.rng.normal(size=(side, side * 16 // 9, 3)).astype(np.float32) * strength
            rows, columns = np.arange(720) * coarse.shape[0] // 720, np.arange(1280) * coarse.shape[1] // 1280
            image += coarse[rows][:, columns]
        return np.clip(image + 128, 0, 255).astype(np.uint8)

    def jpeg(self, seq: int) -> bytes:
        """A picture that no other moment has, even after it was shrunk."""
        picture = self.pictures[seq % len(self.pictures)]
        top, left = (int(self.rng.integers(end // 96)) * 96 for end in picture.shape[:2])
        picture[top : top + 96, left : left + 96] = self.rng.integers(0, 256, (4, 4, 3), np.uint8).repeat(24, 0).repeat(24, 1)
        data: bytes = simplejpeg.encode_jpeg(picture, quality=80, colorspace="BGR", colorsubsampling="420")
        self.written_bytes += len(data)
        return data

    def near(self, *parts: Vector, noise: float = 0.5) -> Vector:
        mixed = np.sum(parts, axis=0) + noise * self.unit(1)[0]
        unit: Vector = (mixed / np.linalg.norm(mixed)).astype(np.float32)
        return unit

    def sentence(self) -> tuple[str, str]:
        """A text and five of its words to ask with."""
        colour, thing, place, person, act = (str(self.rng.choice(words)) for words in WORDS.values())
        beside = str(self.rng.choice(WORDS["thing"]))
        return f"A {person} {act} the {colour} {thing} in the {place}, beside a {beside}.", f"{person} {act} {colour} {thing} {place}"

    def moment(self, seq: int, t_s: float, vector: Vector) -> NewMoment:
        labels = np.unique(np.minimum(self.rng.zipf(1.4, 6), 300))
        return NewMoment(
            stream="cam",
            seq=seq,
            t_us=round(t_s * US),
            offset_us=round((t_s - START_S) * US),
            width_px=1280,
            height_px=720,
            sharpness=1.0,
            jpeg=self.jpeg(seq),
            vectors={SPACE.name: vector},
            observations=tuple(Observation("label", f"label {label}", 0.5) for label in labels),
        )


class Year:
    """Writes day after day to a store and records what it planted."""

    def __init__(self, store: Store, world: World, awake_s: float, retain: Callable[[], bool]) -> None:
        self.store, self.world, self.awake_s, self.retain = store, world, awake_s, retain
        self.seq = 0
        self.events: list[Fact] = []
        self.glimpses: list[Fact] = []

    def live(self, day: int) -> None:
        """One day: segments of ordinary moments, one of them with the glimpse, and the event in between; then the maintenance of the
        night."""
        rng = self.world.rng
        kind = str(rng.choice(list(KINDS), p=SHARES))
        gap_s, segment_s = KINDS[kind]
        t_s = START_S + day * DAY_S + float(rng.uniform(0, AWAKE_S - self.awake_s))
        end_s = t_s + self.awake_s
        lengths = int(max(1, self.awake_s // segment_s))
        planted = int(rng.integers(lengths))
        for i in range(lengths):
            last_s = min(end_s, t_s + segment_s)
            times = np.arange(t_s, max(t_s + 2 * gap_s + 1, last_s), gap_s)
            place = self.world.places[rng.integers(3 if kind == "repeated" else 24)]
            act = 0.7 * self.world.acts[rng.integers(60)]
            vectors = [self.world.near(place, act) for _ in times]
            if i == planted:
                self._glimpse(day, times, vectors)
            else:
                self._segment(times, vectors)
            if i == planted:
                self._event(day, float(times[-1]) + 5)
            t_s = last_s + 30
        while self.retain():
            pass
        while self.store.maintain(vacuum_steps=8):
            pass

    def _segment(self, times: npt.NDArray[np.float64], vectors: list[Vector], middle: int | None = None) -> tuple[list[int], str, int]:
        """Moments in pairs, then their segment with its document; returns the ids, words for a query and the document."""
        ids: list[int] = []
        for first in range(0, len(times), 2):
            with self.store.transaction() as tx:
                for t_s, vector in zip(times[first : first + 2], vectors[first : first + 2], strict=True):
                    ids.append(tx.add_moment(self.world.moment(self.seq, float(t_s), vector)))
                    self.seq += 1
        text, words = self.world.sentence()
        t0_us, t1_us = round(float(times[0]) * US), round(float(times[-1]) * US)
        representative = ids[len(ids) // 2 if middle is None else middle]
        alive = self._alive(ids)
        with self.store.transaction() as tx:
            segment_id = tx.add_segment(
                NewSegment(
                    stream="cam",
                    segmenter="bench",
                    t0_us=t0_us,
                    t1_us=t1_us,
                    offset_us=0,
                    moment_ids=tuple(alive),
                    representative_id=representative if representative in alive else None,
                ),
            )
            document_id = tx.add_document(
                NewDocument(
                    kind="event",
                    text=text,
                    stream="cam",
                    t0_us=t0_us,
                    t1_us=t1_us,
                    offset_us=0,
                    known_us=t1_us,
                    origin="system",
                    segment_id=segment_id,
                ),
            )
        self.retain()
        self.store.maintain()
        return ids, words, document_id

    def _alive(self, ids: list[int]) -> list[int]:
        with self.store.view() as view:
            return [moment_id for moment_id in ids if view.moment(moment_id) is not None]

    def _glimpse(self, day: int, times: npt.NDArray[np.float64], vectors: list[Vector]) -> None:
        at, middle = len(times) - 2, 0
        vectors[at] = self.world.unit(1)[0]
        ids, _, _ = self._segment(times, vectors, middle)
        self.glimpses.append(Fact(day, vectors[at], (ids[at],)))

    def _event(self, day: int, t_s: float) -> None:
        what = self.world.unit(1)[0]
        times = np.arange(t_s, t_s + 25, 5)
        ids, words, document_id = self._segment(times, [self.world.near(what, noise=0.4) for _ in times])
        self.events.append(Fact(day, what, tuple(ids), words, document_id))


Tally = defaultdict[str, list[tuple[bool, bool, bool, bool]]]
"""By age: document found, event's frame found, that with its picture, glimpse found."""


def ask(year: Year, view: View, day: int, tally: Tally, spent: defaultdict[str, list[float]]) -> None:
    """Search for what was planted at each age."""
    for age, days in AGES_DAYS.items():
        if day < days:
            continue
        event, glimpse = year.events[day - days], year.glimpses[day - days]
        words, vectors = [], []
        for fact in (event, glimpse):
            query = year.world.near(fact.vector, noise=0.5)
            start = time.perf_counter()
            vectors.append({moment_id for moment_id, _ in view.vector_search(SPACE.name, query, 10)} & set(fact.moment_ids))
            spent["vectors"].append((time.perf_counter() - start) * 1e3)
        start = time.perf_counter()
        words = [hit.document.id for hit in view.search_text(event.words, 10)]
        spent["text"].append((time.perf_counter() - start) * 1e3)
        shown = any((moment := view.moment(i)) is not None and moment.tier != "stub" for i in vectors[0])
        tally[age].append((event.document_id in words, bool(vectors[0]), shown, bool(vectors[1])))


def resident_mb() -> float:
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["RssAnon"].split()[0]) * 1024 / 1e6


def table(year: Year, days: int, tally: Tally) -> Iterator[str]:
    """A row per month of the year."""
    yield "| day | lived s | disk MB | RAM MB | recent | mid | long | stub | documents | vectors p50/p95 ms | text p50/p95 ms |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    start, spent = time.perf_counter(), defaultdict[str, list[float]](list)
    for day in range(days):
        year.live(day)
        last = day == days - 1
        if day % ASK_EVERY_DAYS == 0 or day >= AGES_DAYS["1 year"]:
            with year.store.view() as view:
                ask(year, view, day, tally, spent)
        if day % 30 == 29 or last:
            with year.store.view() as view:
                stats = view.stats()
            both = ["/".join(f"{np.quantile(spent[kind], q):.1f}" for q in (0.5, 0.95)) for kind in ("vectors", "text")]
            tiers = " | ".join(str(stats.tiers[tier]) for tier in ("recent", "mid", "long", "stub"))
            row = (day + 1, f"{time.perf_counter() - start:.0f}", f"{stats.disk_bytes / 1e6:.1f}", f"{resident_mb():.0f}", tiers)
            yield "| " + " | ".join(map(str, (*row, stats.documents, *both))) + " |"
            spent.clear()


def age_tiers(recipe: str, keep: str | None) -> AgeTiersSettings:
    """Age tiers of the recipe; the defaults are those of VAM."""
    given: dict[str, Any] = {}
    if recipe == "default":
        found = tomllib.loads(resources.files("edgemem.recipes").joinpath("default.toml").read_text())["retain"]
        given = next(each for each in (found if isinstance(found, list) else [found]) if each.pop("use") == "age_tiers")
    return msgspec.convert({**given, **({"keep": keep} if keep else {})}, AgeTiersSettings)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cap", type=float, default=8, help="GB of the real disk")
    parser.add_argument("--scale", type=float, default=100, help="16 h / scale of each day are simulated; the cap is divided by the scale")
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument(
        "--keep", choices=("last", "best"), help="which moment of an interval the age tiers keep, instead of the recipe's setting"
    )
    parser.add_argument("--recipe", choices=("default", "vam"), default="default", help="whose age tiers")
    parser.add_argument("--retainer", choices=("age_tiers", "none"), default="age_tiers")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    world, cap_bytes = World(options.seed), round(options.cap * 1e9 / options.scale)
    awake_s = AWAKE_S / options.scale
    print(f"{options.days} days, of each {awake_s / 60:.1f} of 960 minutes; cap {cap_bytes / 1e6:.1f} MB for {options.cap:g} GB; ", end="")
    how = f"{options.retainer} of recipe {options.recipe}, keep {age_tiers(options.recipe, options.keep).keep}"
    print(f"scale {options.scale:g}; {how}; {resident_mb():.0f} MB of RAM before the memory is opened\n")
    tally: Tally = defaultdict(list)
    with tempfile.TemporaryDirectory() as name, Store.open(Path(name) / "memory", budget_bytes=cap_bytes) as store:
        store.ensure_space(SPACE)
        tiers = AgeTiers(age_tiers(options.recipe, options.keep))
        year = Year(store, world, awake_s, lambda: options.retainer == "age_tiers" and not tiers.apply(store).done)
        for line in table(year, options.days, tally):
            print(line, flush=True)
        print(f"\n{year.seq} moments written, {world.written_bytes / 1e6:.0f} MB of pictures ", end="")
        print(f"({world.written_bytes / year.seq / 1e3:.0f} KB each): {world.written_bytes / cap_bytes:.1f} times the cap\n")
    print("| age | asked | document recall@10 | event's frame recall@10 | with a picture | glimpse recall@10 |\n|---|---|---|---|---|---|")
    for age, found in tally.items():
        shares = " | ".join(f"{share:.2f}" for share in np.mean(found, axis=0))
        print(f"| {age} | {len(found)} | {shares} |")


if __name__ == "__main__":
    main()
