"""Things that were shown once: their lessons in the memory, and where they are seen again.

A lesson is a named entity with parts of the moment that showed it: prototypes (kind `LESSON`) and what the place looks like without it
(kind `LESSON_PLACE`). Where the thing is seen again, the moment gets a part of kind `SIGHTING`. All of it is forgotten, exported and
imported as any part is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgemem.errors import MemoryDirError, SourceError
from edgemem.records import US, Box, Entity, Moment
from edgemem.remember.entries import NewPart
from edgemem.see import pixels
from edgemem.see.keypoints import SAME_PLACE, SIDE_PX, Points, inliers, points_of, unlike
from edgemem.see.likeness import WORTH_A_LOOK, Background, Model, probability
from edgemem.see.perceive import CROP, Part

if TYPE_CHECKING:
    from edgemem.records import Image, Matrix
    from edgemem.remember.results import StoredPart
    from edgemem.remember.store import Store, Transaction
    from edgemem.remember.view import View
    from edgemem.see.perceive import HeldSpace

LESSON, LESSON_PLACE, SIGHTING = "lesson", "lesson_place", "taught"
SHOWN = "shown"
"""Stream of the pictures that were given as files."""
POINTED_AT, FOUND_OUT = 1.0, 0.5
"""Scores of prototypes: a person said where the thing is, or it was found out."""
NEAR_US = 12 * US
"""Moments so close to a lesson are of the lesson."""
LEAST = 0.8
"""Probability from which on a thing is said to be seen again: above what any of 44 things reached by likeness alone in pictures without it,
at another place than its lesson's, in a memory of 500 moments."""
FEW = 40
"""With crops of fewer moments there is nothing to measure likeness against: then only matching points prove a thing."""
CHECKED, MOST_CHECKED = 16, 48
"""Moments at other places than the lesson's whose points are compared when a memory is searched, and moments at any place: twelve instead
of six found 91 instead of 82 % first on one half; where the place of the lesson comes again and again, its pictures come first."""
_BESIDE_PLACE = 0.15
"""Share of the place's points that those of the thing must reach, where the place of the lesson is seen again."""
_APART_US = 3 * US
"""Of moments closer than this only the likeliest is compared."""
_SAMPLED = 600
_SEARCHED = 200
"""Nearest crops of each prototype that are looked at."""
_GROWN = 1.5
"""Calibration is made anew when a memory has grown by so much."""
_VERSION = "taught/version"


@dataclass(frozen=True)
class Lesson:
    """One picture of a thing."""

    entity: Entity
    moment: Moment
    parts: tuple[StoredPart, ...]
    prototypes: Matrix
    place: Matrix

    @property
    def pointed_at(self) -> bool:
        """A person said where the thing is."""
        return self.parts[0].score == POINTED_AT

    def around(self, stream: str, t_us: int) -> bool:
        """A moment there and then is of the lesson itself."""
        return stream == self.moment.stream and abs(t_us - self.moment.t_us) <= NEAR_US


@dataclass(frozen=True)
class Sighting:
    """A moment that shows a thing again."""

    moment_id: int
    box: Box | None
    probability: float


@dataclass(frozen=True)
class _Candidate:
    """The crop of a moment that is most like a thing."""

    moment_id: int
    stream: str
    t_us: int
    box: Box | None
    likeness: float
    lesson: Lesson


class TaughtThings:
    """Knows the taught things of one memory again, by the vectors of one space of crops. For one thread at a time."""

    def __init__(self, store: Store, space: str) -> None:
        self._store, self.space = store, space
        self._version: bytes | None = None
        self._lessons: list[Lesson] = []
        self._models: dict[tuple[int, int], Model] = {}
        self._points: dict[tuple[int, int], tuple[Points, list[Points]]] = {}
        self._background: Background | None = None
        self._calibrated_at = 0
        """Id of the newest moment when the background was read."""

    @classmethod
    def of(cls, store: Store, spaces: Iterable[HeldSpace]) -> TaughtThings | None:
        """For what fills these spaces; None where it keeps no parts."""
        held = next((held.space.name for held in spaces if held.holds == "part"), "")
        return cls(store, held) if held else None

    # ------------------------------------------------------------------------------------------------------------- what is known

    def lessons(self, entity_id: int | None = None) -> list[Lesson]:
        """All of them, or those of one thing."""
        version = self._store.state(_VERSION) or b""
        if version != self._version:
            with self._store.view() as view:
                self._lessons = read_lessons(view, self.space)
            self._version, self._models, self._points = version, {}, {}
        return [lesson for lesson in self._lessons if entity_id in {None, lesson.entity.id}]

    def background(self) -> Background:
        """Crops from all over the memory, read anew once it has grown."""
        with self._store.view() as view:
            newest = view.moments(limit=1, newest_first=True)
            newest_id = newest[0].id if newest else 0
            if self._background is None or newest_id > max(_GROWN * self._calibrated_at, self._calibrated_at + 10):
                self._background, self._calibrated_at, self._models = read_background(view, self.space), newest_id, {}
        return self._background

    def _model(self, lesson: Lesson) -> Model:
        """Calibrated against the moments that are not of the lesson itself."""
        background = self.background()
        key = (lesson.entity.id, lesson.moment.id)
        if key not in self._models:
            self._models[key] = Model.of(lesson.prototypes, lesson.place, background)
        return self._models[key]

    def _points_of(self, lesson: Lesson) -> tuple[Points, list[Points]]:
        """Keypoints of the thing (inside what a person pointed at, else what no picture just before or after shows), and of the place."""
        key = (lesson.entity.id, lesson.moment.id)
        if key not in self._points:
            with self._store.view() as view:
                self._points[key] = _points_of_lesson(view, lesson)
        return self._points[key]

    # ------------------------------------------------------------------------------------------------------------ seen again

    def arrived(self, tx: Transaction, moment: Moment, jpeg: bytes, parts: Sequence[Part]) -> None:
        """Note which taught things a moment shows that was just stored in this transaction."""
        lessons = [lesson for lesson in self.lessons() if not lesson.around(moment.stream, moment.t_us)]
        crops = [part for part in parts if part.kind == CROP and self.space in part.vectors]
        if not lessons or not crops:
            return
        rows, boxes = np.stack([part.vectors[self.space] for part in crops]), [part.box for part in crops]
        best: dict[int, _Candidate] = {}
        for lesson in lessons:
            one = self._best_crop(lesson, moment, rows, boxes)
            if lesson.entity.id not in best or one.likeness > best[lesson.entity.id].likeness:
                best[lesson.entity.id] = one
        few = self.background().moments < FEW
        seen: Points | None = None
        for entity_id, one in best.items():
            if not few and one.likeness < WORTH_A_LOOK:
                continue
            seen = points_of(pixels.decode(jpeg, SIDE_PX)) if seen is None else seen
            sure, _ = self._judge(one, seen, few=few)
            if sure >= LEAST and tx.remaining([one.lesson.moment.id]):
                tx.add_part(NewPart(kind=SIGHTING, score=sure, moment_id=moment.id, box=one.box, entity_id=entity_id))

    def search(self, entity_id: int) -> list[Sighting]:
        """Where the memory shows this thing, the likeliest first. Points are compared in `MOST_CHECKED` at most."""
        few = self.background().moments < FEW
        found: dict[int, _Candidate] = {}
        with self._store.view() as view:
            for lesson in self.lessons(entity_id):
                for one in self._candidates(view, lesson):
                    if one.moment_id not in found or one.likeness > found[one.moment_id].likeness:
                        found[one.moment_id] = one
            ranked = sorted(found.values(), key=lambda one: (-one.likeness, one.moment_id))
            checked = _apart(ranked)
            shown, elsewhere = [], 0
            for one in checked:
                image = _picture(view, one.moment_id)
                sure, same_place = self._judge(one, points_of(image) if image is not None else _NO_POINTS, few=few)
                shown += [Sighting(one.moment_id, one.box, sure)] if sure >= LEAST else []
                elsewhere += not same_place
                if elsewhere == CHECKED:
                    break
        return sorted(shown, key=lambda one: (-one.probability, one.moment_id))

    def note(self, entity_id: int) -> int:
        """Search for a thing and note where it is shown beside what is noted already; how many moments show it in all."""
        found = self.search(entity_id)
        with self._store.view() as view:
            known = {part.moment_id for part in view.parts(entity_id=entity_id, kind=SIGHTING)}
        new = [one for one in found if one.moment_id not in known]
        for start in range(0, len(new), 20):
            with self._store.transaction() as tx:
                there = set(tx.remaining([one.moment_id for one in new[start : start + 20]]))
                for one in new[start : start + 20]:
                    if one.moment_id in there:
                        tx.add_part(
                            NewPart(kind=SIGHTING, score=one.probability, moment_id=one.moment_id, box=one.box, entity_id=entity_id)
                        )
        return len(known) + len(new)

    def _best_crop(self, lesson: Lesson, moment: Moment, rows: Matrix, boxes: Sequence[Box | None]) -> _Candidate:
        likeness = self._model(lesson).likeness(rows)
        best = int(likeness.argmax())
        return _Candidate(moment.id, moment.stream, moment.t_us, boxes[best], float(likeness[best]), lesson)

    def _candidates(self, view: View, lesson: Lesson) -> list[_Candidate]:
        model = self._model(lesson)
        near = {
            hit.part.moment_id: hit.part
            for row in model.prototypes
            for hit in view.nearest_parts(self.space, row, _SEARCHED, kind=CROP)
            if hit.part.moment_id is not None and hit.part.stream != SHOWN and not lesson.around(hit.part.stream, hit.part.t0_us)
        }
        parts, rows = view.part_vectors(self.space, CROP, near)
        best: dict[int, _Candidate] = {}
        for part, likeness in zip(parts, model.likeness(rows) if parts else (), strict=True):
            assert part.moment_id is not None
            if part.moment_id not in best or likeness > best[part.moment_id].likeness:
                best[part.moment_id] = _Candidate(part.moment_id, part.stream, part.t0_us, part.box, float(likeness), lesson)
        return list(best.values())

    def _judge(self, one: _Candidate, seen: Points, *, few: bool) -> tuple[float, bool]:
        """The probability that a moment shows a thing, and whether it shows the place of its lesson too.

        There likeness says nothing, and only points that are many beside those of the place do.
        """
        thing, place = self._points_of(one.lesson)
        shared, there = inliers(thing, seen), max((inliers(points, seen) for points in place), default=0)
        same_place = there >= SAME_PLACE
        if same_place and shared < _BESIDE_PLACE * there:
            shared = 0
        return probability(min(one.likeness, 0.0) if few or same_place else one.likeness, shared), same_place


def changed(tx: Transaction, store: Store) -> None:
    """Lessons came or went: every `TaughtThings` of this memory reads them anew."""
    tx.set_state(_VERSION, str(int(store.state(_VERSION) or b"0") + 1).encode())


def read_lessons(view: View, space: str) -> list[Lesson]:
    """All lessons of a memory, the oldest first."""
    named = {part.id: part for part in view.parts(kind=LESSON, known=True)}
    of_moments = sorted({part.moment_id for part in named.values() if part.moment_id is not None})
    made = []
    moments = view.moments_of(of_moments)
    shown, places = (_by_lesson(*view.part_vectors(space, kind, of_moments)) for kind in (LESSON, LESSON_PLACE))
    for key, (parts, rows) in shown.items():
        moment, entity = moments.get(key[1]), parts[0].entity
        if moment is not None and entity is not None:
            place = places[key][1] if key in places else rows[:0]
            made.append(Lesson(entity, moment, tuple(parts), rows, place))
    return made


_NO_POINTS = Points(np.zeros((0, 2), np.float32), np.zeros((0, 128), np.float32))


def _by_lesson(parts: Sequence[StoredPart], rows: Matrix) -> dict[tuple[int, int], tuple[list[StoredPart], Matrix]]:
    grouped: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for i, part in enumerate(parts):
        if part.entity is not None and part.moment_id is not None:
            grouped[part.entity.id, part.moment_id].append(i)
    return {key: ([parts[i] for i in chosen], rows[chosen]) for key, chosen in grouped.items()}


def read_background(view: View, space: str) -> Background:
    """Crops of moments from all over the memory."""
    parts, rows = view.part_sample(space, CROP, _SAMPLED)
    owners = np.array([part.moment_id for part in parts], np.int64)
    order = np.argsort(owners, kind="stable")
    return Background(rows[order], owners[order])


def moments_beside(view: View, moment: Moment, most: int = 2) -> list[Moment]:
    """Moments of the place just before and just after a lesson, so many on each side: the nearest that are not of the lesson itself."""
    chosen: list[Moment] = []
    for step in (-1, 1):
        first, last = sorted((moment.t_us + step * BESIDE_US[0], moment.t_us + step * BESIDE_US[1]))
        chosen += view.moments(stream=moment.stream, from_us=first, to_us=last, limit=most, newest_first=step < 0)
    return chosen


BESIDE_US = (4 * US, 60 * US)
"""From so far to so far from a lesson a moment shows the place without the thing."""


def _points_of_lesson(view: View, lesson: Lesson) -> tuple[Points, list[Points]]:
    image = _picture(view, lesson.moment.id)
    if image is None:
        return _NO_POINTS, []
    points, (height, width), place = points_of(image), image.shape[:2], []
    if lesson.pointed_at:
        points = points.within([part.box for part in lesson.parts if part.box is not None], width, height)
    for beside in moments_beside(view, lesson.moment, 1):
        other = _picture(view, beside.id)
        if other is not None:
            place.append(points_of(other))
            points = points if lesson.pointed_at else unlike(image, points, other, place[-1])
    return points, place


def _picture(view: View, moment_id: int) -> Image | None:
    """None where it has faded or cannot be read."""
    try:
        return pixels.decode(view.picture(moment_id), SIDE_PX)
    except (MemoryDirError, SourceError):
        return None


def _apart(ranked: Sequence[_Candidate]) -> list[_Candidate]:
    """The likeliest of those that are close to each other."""
    chosen: list[_Candidate] = []
    for one in ranked:
        if len(chosen) == MOST_CHECKED:
            break
        if all(one.stream != other.stream or abs(one.t_us - other.t_us) > _APART_US for other in chosen):
            chosen.append(one)
    return chosen
