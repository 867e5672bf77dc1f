"""Things shown once and seen again: `taught.py --cache DIR` composes pictures, analyses them and prints what each method finds.

A thing (a cut-out of the catalogue) is shown once, large, with the same place just before and after without it. It is shown again in a
picture of another place, smaller, rotated, in other light, often with other things; every fourth thing is not shown again. All pictures of
the second part are ranked. The halves A and B have no thing and no background in common.

Columns: the first picture shows the thing; one of the first five does; found first and affirmed; false finds. Affirmed is a score above
that of 19 of 20 other lessons on pictures that do not show their thing: lessons of the same memory ("own": so a memory can calibrate
itself), or of the other half ("other").
"""

import argparse
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from media import Item, ensure_media, load_catalog
from scenes import cover, enlarge, load, paste

from edgemem.cli.app import CommandContext
from edgemem.infer.bridge import crop_boxes, cut, proposals
from edgemem.records import Box

Array = npt.NDArray[Any]
SIZE = (960, 540)
THINGS, NEVER_EVERY = 44, 4
CROPS, BOX_SCALES = 11, (1.0, 1.3, 1.7)
NOVEL, BEHIND = 3, 0.5
"""Number of crops of the shown picture that differ most from those just before and after; share of the background's similarity that is
subtracted."""
CHECKED, LEAST_INLIERS, MOST_INLIERS, INLIER_WORTH = 6, 5, 15, 0.05
"""Pictures whose geometry is checked; least number of matching points for a thing (of pictures without it, 99 in 100 have at most 3)."""
SURE = 0.95


class Picture(msgspec.Struct, frozen=True):
    """What one picture of a half shows: the taught thing (-1: none), its part in the sequence, where it is (x0, y0, x1, y1 as
    fractions)."""

    thing: int
    part: str
    box: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)


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


def compose(half: str) -> Iterator[tuple[Picture, Array]]:
    """All pictures of one half in time order: lessons first (before, shown, shown, after), then later pictures of the things and other
    scenes."""
    rng = random.Random(f"taught {half}")
    things, places = halves(half)
    taught, others = things[:THINGS], things[THINGS:]
    lessons, meetings = places[: len(places) // 2], places[len(places) // 2 :]
    for number, thing in enumerate(taught):
        place = _camera(rng.choice(lessons), rng)
        yield Picture(number, "before"), place.shot(rng)
        where = rng.uniform(0.3, 0.7), rng.uniform(0.35, 0.65), rng.uniform(0.45, 0.7), rng.uniform(-10, 10)
        for _ in range(2):
            yield place.with_thing(Picture(number, "shown"), thing, where, rng)
        yield Picture(number, "after"), place.shot(rng)
    met = [number for number in range(len(taught)) if number % NEVER_EVERY]
    rng.shuffle(met)
    for number in met:
        place = _camera(rng.choice(meetings), rng)
        if rng.random() < 0.5:
            place.add(rng.choice(others), rng)
        yield Picture(-1, "place"), place.shot(rng)
        where = rng.uniform(0.15, 0.85), rng.uniform(0.3, 0.8), rng.uniform(0.18, 0.42), rng.uniform(-30, 30)
        for _ in range(2):
            yield place.with_thing(Picture(number, "met"), taught[number], where, rng)


class _Place:
    """A background in one light, seen by a hand-held camera."""

    def __init__(self, canvas: Array, gamma: float, warm: float) -> None:
        self._canvas, self._gamma, self._gain = canvas, gamma, np.array([1 / warm, 1.0, warm], np.float32)

    def add(self, other: Item, rng: random.Random) -> None:
        """Add a thing that was not taught and is in all pictures of this place."""
        self._canvas, _ = _pasted(self._canvas, other, (rng.uniform(0.2, 0.8), 0.6, rng.uniform(0.2, 0.4), 0.0))

    def shot(self, rng: random.Random) -> Array:
        return self._seen(self._canvas, rng)

    def with_thing(
        self, picture: Picture, thing: Item, where: tuple[float, float, float, float], rng: random.Random
    ) -> tuple[Picture, Array]:
        canvas, box = _pasted(self._canvas, thing, where)
        return msgspec.structs.replace(picture, box=box), self._seen(canvas, rng)

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


def _pasted(canvas: Array, thing: Item, where: tuple[float, float, float, float]) -> tuple[Array, tuple[float, float, float, float]]:
    """The canvas with the thing at (x, y) of height `high`, turned by degrees; and its box."""
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
    copy = canvas.copy()
    paste(copy, turned, x0, y0)
    return copy, (x0 / SIZE[0], y0 / SIZE[1], (x0 + turned.shape[1]) / SIZE[0], (y0 + turned.shape[0]) / SIZE[1])


class Lesson(msgspec.Struct, frozen=True):
    """What one method gives for one taught thing: the best pictures' scores, whether they show it, and whether any picture does."""

    scores: tuple[float, ...]
    shows: tuple[bool, ...]
    met: bool


class Half:
    """One half: its pictures and the features of their crops, of unit length."""

    def __init__(self, name: str, cache: Path, session: CommandContext) -> None:
        seen = list(compose(name))
        self.pictures = [picture for picture, _ in seen]
        self.images = [image for _, image in seen]
        path = cache / f"taught-{name}.npz"
        if not path.exists():
            crops, boxed = look(seen, session)
            np.savez_compressed(path, crops=crops, boxed=boxed)
        kept = np.load(path, allow_pickle=False)
        crops, boxed = kept["crops"].astype(np.float32), kept["boxed"].astype(np.float32)
        self.there: Array = np.linalg.norm(crops, axis=2) > 0
        self.memory = [i for i, p in enumerate(self.pictures) if p.part in ("met", "place")]
        mean = crops[self.memory][self.there[self.memory]].mean(axis=0)
        self.crops: Array = _unit(crops - mean) * self.there[..., None]
        self.boxed: Array = _unit(boxed - mean)

    def of(self, thing: int, *parts: str) -> list[int]:
        return [i for i, p in enumerate(self.pictures) if p.thing == thing and p.part in parts]

    def things(self) -> list[int]:
        return sorted({p.thing for p in self.pictures if p.part == "shown"})


def look(seen: list[tuple[Picture, Array]], session: CommandContext) -> tuple[Array, Array]:
    """Features of the bridge's crops [pictures, CROPS, dim], and of the thing's box at some scales where it is shown [pictures, 3, dim]."""
    classifier, detector = session.engines.role("classify"), session.engines.role("detect")
    crops, boxed = [], []
    for picture, image in seen:
        boxes = [*crop_boxes(SIZE[0], SIZE[1]), *proposals([o.box for o in detector.detect(image) if o.box])]
        own = [_grown(picture.box, scale) for scale in BOX_SCALES] if picture.part == "shown" else []
        features = classifier.features([cut(image, box) for box in (*boxes, *own)])
        rows = np.zeros((CROPS + len(BOX_SCALES), features.shape[1]), np.float16)
        rows[: len(boxes)], rows[CROPS : CROPS + len(own)] = features[: len(boxes)], features[len(boxes) :]
        crops.append(rows[:CROPS])
        boxed.append(rows[CROPS:])
    return np.array(crops), np.array(boxed)


def _grown(box: tuple[float, float, float, float], scale: float) -> Box:
    x, y, dx, dy = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2, scale * (box[2] - box[0]) / 2, scale * (box[3] - box[1]) / 2
    return Box(max(0.0, x - dx), max(0.0, y - dy), min(1.0, x + dx), min(1.0, y + dy))


def _unit(rows: Array) -> Array:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9))


def by_features(half: Half, thing: int, *, novel: int, behind: float, boxed: bool = False) -> Array:
    """Per picture of the memory the best cosine of a crop with a prototype, minus `behind` times its best cosine with the background."""
    shown, around = half.of(thing, "shown"), half.of(thing, "before", "after")
    background = half.crops[around][half.there[around]]
    prototypes = half.boxed[shown].reshape(-1, half.boxed.shape[-1]) if boxed else half.crops[shown][half.there[shown]]
    known = (prototypes @ background.T).max(axis=1)
    prototypes = prototypes[np.argsort(known, kind="stable")[:novel]]
    likeness = (half.crops[half.memory] @ prototypes.T).max(axis=2)
    return np.asarray((likeness - behind * (half.crops[half.memory] @ background.T).max(axis=2)).max(axis=1))


class Points:
    """SIFT keypoints (Lowe 2004) as RootSIFT (Arandjelovic & Zisserman 2012), and the number of them that two pictures have in common as
    one object."""

    def __init__(self, half: Half) -> None:
        import cv2

        self._half = half
        self._sift: Any = cv2.SIFT.create(1200, contrastThreshold=0.02)
        self._found: dict[int, tuple[Array, Array]] = {}

    def __call__(self, shown: int, around: list[int], other: int) -> int:
        """Inliers of a similarity between what is new in the shown picture and the other picture."""
        import cv2

        places, points = self.of(shown)
        background = np.concatenate([self.of(i)[1] for i in around])
        new = (points @ background.T).max(axis=1, initial=0.0) < 1 - 0.25 / 2
        places, points = places[new], points[new]
        there, others = self.of(other)
        if min(len(points), len(others)) < 4:
            return 0
        likeness = points @ others.T
        best = np.argsort(-likeness, axis=1)[:, :2]
        near, next_near = (2 - 2 * np.take_along_axis(likeness, best, axis=1)).T
        clear = near < 0.8**2 * next_near
        if clear.sum() < 4:
            return 0
        matrix, inliers = cv2.estimateAffinePartial2D(places[clear], there[best[clear, 0]], ransacReprojThreshold=6.0)
        return 0 if matrix is None or not 0.15 < float(np.hypot(*matrix[0, :2])) < 2.5 else int(inliers.sum())

    def of(self, picture: int) -> tuple[Array, Array]:
        import cv2

        if picture not in self._found:
            points, rows = self._sift.detectAndCompute(cv2.cvtColor(self._half.images[picture], cv2.COLOR_BGR2GRAY), None)
            rows = np.zeros((0, 128), np.float32) if rows is None else rows
            roots = np.sqrt(rows / np.maximum(rows.sum(axis=1, keepdims=True), 1e-6)).astype(np.float32)
            self._found[picture] = np.array([p.pt for p in points], np.float32).reshape(-1, 2), roots
        return self._found[picture]


def lessons(half: Half, scores: Callable[[Half, int], Array], points: Points | None = None) -> list[Lesson]:
    """Every taught thing by one method; with `points` the geometry of the first pictures counts too."""
    found = []
    for thing in half.things():
        ranked = scores(half, thing)
        order = np.argsort(-ranked, kind="stable")[: CHECKED if points else 20]
        values = {int(i): float(ranked[i]) for i in order}
        for i in values if points else ():
            assert points
            inliers = points(half.of(thing, "shown")[0], half.of(thing, "before", "after"), half.memory[i])
            values[i] += INLIER_WORTH * min(inliers, MOST_INLIERS) if inliers >= LEAST_INLIERS else 0.0
        best = sorted(values, key=lambda i: -values[i])
        shows = tuple(half.pictures[half.memory[i]].thing == thing for i in best)
        found.append(Lesson(tuple(values[i] for i in best), shows, bool(half.of(thing, "met"))))
    return found


def wrong(lesson: Lesson) -> float:
    """The best score of a picture that does not show the thing."""
    return max((score for score, right in zip(lesson.scores, lesson.shows, strict=True) if not right), default=0.0)


def row(own: list[Lesson], other: list[Lesson]) -> str:
    """The columns of one method on one half, in percent."""
    met = [lesson for lesson in own if lesson.met]
    text = f"{_percent([x.shows[0] for x in met]):6.0f} {_percent([any(x.shows[:5]) for x in met]):5.0f}"
    for pool in (None, other):
        least = [np.quantile([wrong(x) for x in (pool or own[:i] + own[i + 1 :])], SURE) for i in range(len(own))]
        kept = [x.shows[0] and x.scores[0] >= t for x, t in zip(own, least, strict=True) if x.met]
        text += f" | {_percent(kept):6.0f} {_percent([wrong(x) >= t for x, t in zip(own, least, strict=True)]):6.0f}"
    return text


def _percent(values: list[bool]) -> float:
    return 100 * float(np.mean(values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True, help="folder for the crops' features, so that another run takes seconds")
    parser.add_argument("--geometry", action="store_true", help="check the first pictures' geometry too; takes minutes")
    args = parser.parse_args()
    session = CommandContext(None, ("engines.threads=1",))
    args.cache.mkdir(parents=True, exist_ok=True)
    halves_ = {name: Half(name, args.cache, session) for name in "AB"}
    methods: dict[str, tuple[Callable[[Half, int], Array], bool]] = {
        "all crops": (lambda h, t: by_features(h, t, novel=99, behind=0.0), False),
        f"{NOVEL} new crops": (lambda h, t: by_features(h, t, novel=NOVEL, behind=0.0), False),
        f"{NOVEL} new crops less background": (lambda h, t: by_features(h, t, novel=NOVEL, behind=BEHIND), False),
        "box given": (lambda h, t: by_features(h, t, novel=99, behind=0.0, boxed=True), False),
        "box given less background": (lambda h, t: by_features(h, t, novel=99, behind=BEHIND, boxed=True), False),
    }
    if args.geometry:
        methods |= {f"{name} + points": (way, True) for name, (way, _) in list(methods.items()) if "less" in name}
    print(f"{'':36s}   first  five | own: kept  false | other: kept false")
    for title, (way, checked) in methods.items():
        found = {name: lessons(half, way, Points(half) if checked else None) for name, half in halves_.items()}
        for name, other in (("A", "B"), ("B", "A")):
            print(f"{name} {title:34s} {row(found[name], found[other])}", flush=True)


if __name__ == "__main__":
    main()
