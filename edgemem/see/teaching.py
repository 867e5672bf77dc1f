"""Teaching a thing: a picture of it, or "this is my ..." said while it is in view, becomes a lesson; taking that back."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from edgemem.errors import BudgetError, EngineError, MemoryDirError, UsageError
from edgemem.infer.boxes import overlap
from edgemem.records import US, Box, Entity, Image, Matrix, Moment, Record
from edgemem.remember.entries import NewEntity, NewMoment, NewPart
from edgemem.remember.names import OWNER, bare_name
from edgemem.remember.rows.graph import USES
from edgemem.see import pixels
from edgemem.see.likeness import PLACES, PROTOTYPES, centred, novel, spread
from edgemem.see.perceive import CROP
from edgemem.see.taught import FOUND_OUT, LESSON, LESSON_PLACE, NEAR_US, POINTED_AT, SHOWN, SIGHTING, TaughtThings, changed, moments_beside

if TYPE_CHECKING:
    from edgemem.infer.roles import Crop, JointEmbedder
    from edgemem.remember.results import Spoken, StoredPart
    from edgemem.remember.store import Store, Transaction
    from edgemem.remember.view import View

MOST_CHARS = 100
BOX_SCALES = (1.0, 1.3, 1.7)
"""A box that a person gives is compared at these sizes: what is around a thing is never quite cut off."""
_MIDDLE = Box(0.15, 0.15, 0.85, 0.85)
_SHOWN_JPEG = 90
_SPOKEN_SLACK_US = (1 * US, 3 * US)
"""A picture of what "this is my ..." is said of is kept from so long before the words to so long after them."""
_SAID = re.compile(
    rf"\b(?:this is|these are|here is|here are|here's)\s+(?:{OWNER})\s+(?P<name>[\w' -]{{2,40}}?)"
    r"(?=$|[.,;:!?]|\s+(?:and|but|or|so|because|that|which|who|where|when|from|for|with|in|on|at|to|of|now|here|again|please|is|are|was)\b)",
    re.IGNORECASE,
)
_PEOPLE = (
    "mother father mum mom dad sister brother son daughter wife husband friend partner boss neighbour neighbor cousin uncle aunt"
    " grandmother grandfather grandma grandpa doctor teacher colleague family"
)
_IDEAS = (
    "name turn fault idea opinion favourite favorite first last second best life home house job work plan problem point way place time day"
    " morning evening question answer number address story chance"
)
_NO_THING = frozenset(f"{_PEOPLE} {_IDEAS}".split())
"""Words after "this is my" that name a person, or nothing that a picture shows."""


class Taught(Record, frozen=True):
    """A thing that was just taught."""

    entity: Entity
    moment_id: int


class SpokenLesson(Record, frozen=True):
    """Somebody said of a thing in view what it is."""

    name: str
    stream: str
    t0_us: int
    t1_us: int


def wanted_name(name: str) -> str:
    """Raises UsageError for what is no name of a thing."""
    bare = bare_name(name)
    if not re.search(r"\w", bare) or len(name) > MOST_CHARS:
        raise UsageError(f"a name has 1 to {MOST_CHARS} characters, such as: my keys")
    if re.fullmatch(r"(?:speaker|face) \d+", bare, re.IGNORECASE):
        raise UsageError(f'"{bare}" is a number that edgemem gives; call the thing what it is')
    return bare


def spoken_name(text: str) -> str:
    """What "this is my ..." names, "" where nothing is named that a picture could show."""
    found = _SAID.search(text)
    name = " ".join(found["name"].split()) if found else ""
    words = name.lower().split()
    return "" if not words or len(words) > 4 or words[-1].removesuffix("'s") in _NO_THING or words[0] in _NO_THING else name


# -------------------------------------------------------------------------------------------------------------------- lessons


def teach(
    store: Store, things: TaughtThings, moment_id: int, name: str, known_us: int, *,
    box: Box | None = None, joint: Callable[[], JointEmbedder] | None = None,
) -> Taught:  # fmt: skip
    """What this moment shows is called so. With a box that part of its picture, else the crops that are least like the place.

    `joint` is asked only where a box is given or the moment's crops are not in the memory. Raises UsageError where the moment is not there
    or shows nothing new, BudgetError where its picture cannot be kept, EngineError.
    """
    wanted = wanted_name(name)
    with store.view() as view:
        moment = view.moment(moment_id)
        if moment is None:
            raise UsageError(f"this memory has no m{moment_id}: it was never there, or it has faded or is forgotten")
        boxes, shown = _crops(view, things, moment, box, joint)
        place = _place(view, things, moment, joint)
    background = things.background()
    mean = background.mean if len(background.crops) else shown.mean(axis=0) * 0
    if box is None:
        chosen = novel(shown, place, mean, PROTOTYPES) if len(place) else _middle(boxes)
        boxes, shown = [boxes[i] for i in chosen], shown[chosen]
    kept = place[spread(centred(place, mean), PLACES)] if len(place) else place
    with store.transaction() as tx:
        entity_id = tx.add_entity(NewEntity(kind="object", name=wanted, known_us=known_us))
        _call(tx, entity_id, name, wanted, known_us)
        _drop_lesson(tx, entity_id, moment_id)
        tx.pin(moment_id)
        for shape, row in zip(boxes, shown, strict=True):
            score = FOUND_OUT if box is None else POINTED_AT
            tx.add_part(NewPart(kind=LESSON, score=score, moment_id=moment_id, box=shape, vectors={things.space: row}, entity_id=entity_id))
        for row in kept:
            tx.add_part(NewPart(kind=LESSON_PLACE, score=1.0, moment_id=moment_id, vectors={things.space: row}, entity_id=entity_id))
        changed(tx, store)
    with store.view() as view:
        entity = view.entity(entity_id)
    assert entity is not None
    return Taught(entity=entity, moment_id=moment_id)


def _call(tx: Transaction, entity_id: int, name: str, wanted: str, known_us: int) -> None:
    """The words as they were said are another name: `forget` finds the thing by either."""
    said = " ".join(name.split())
    known = {row[0] for row in tx.connection.execute("SELECT folded FROM alias WHERE entity_id = ? AND until_us IS NULL", (entity_id,))}
    if said.casefold() not in {wanted.casefold(), *known}:
        tx.add_alias(entity_id, said, known_us)


def _crops(
    view: View, things: TaughtThings, moment: Moment, box: Box | None, joint: Callable[[], JointEmbedder] | None
) -> tuple[list[Box | None], Matrix]:
    """Parts of the moment's picture and their vectors: of the box at `BOX_SCALES`, else all that are known."""
    parts, rows = view.part_vectors(things.space, CROP, [moment.id])
    if box is None and len(parts) >= PROTOTYPES:
        return [part.box for part in parts], rows
    if joint is None:
        raise UsageError(f"m{moment.id} has no crops to learn from")
    crops = joint().crops(pixels.decode(view.picture(moment.id)), [_grown(box, scale) for scale in BOX_SCALES] if box else ())
    return [crop.box for crop in crops], _rows(crops)


def _middle(boxes: Sequence[Box | None]) -> list[int]:
    """Without a place to compare with the thing is what fills the view: the crops that share most with its middle."""
    shared = [overlap(box, _MIDDLE) if box is not None else 0.0 for box in boxes]
    return sorted(range(len(boxes)), key=lambda i: -shared[i])[:PROTOTYPES]


def _place(view: View, things: TaughtThings, moment: Moment, joint: Callable[[], JointEmbedder] | None) -> Matrix:
    """Crops of the place just before and after, where the thing is not: float32 [n, dim]."""
    if moment.stream == SHOWN:
        return np.zeros((0, 0), np.float32)
    beside = moments_beside(view, moment)
    parts, rows = view.part_vectors(things.space, CROP, [one.id for one in beside])
    lacking = [one for one in beside if one.id not in {part.moment_id for part in parts}] if joint is not None else []
    for one in lacking:
        try:
            crops = joint().crops(pixels.decode(view.picture(one.id))) if joint is not None else ()
        except (MemoryDirError, EngineError):  # its picture has faded, or nothing can look at it
            continue
        rows = np.concatenate([rows, _rows(crops)]) if len(rows) else _rows(crops)
    return rows


def _rows(crops: Sequence[Crop]) -> Matrix:
    return np.stack([crop.vector for crop in crops]) if crops else np.zeros((0, 0), np.float32)


def _grown(box: Box, scale: float) -> Box:
    x, y, dx, dy = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2, scale * (box.x1 - box.x0) / 2, scale * (box.y1 - box.y0) / 2
    return Box(max(0.0, x - dx), max(0.0, y - dy), min(1.0, x + dx), min(1.0, y + dy))


def keep_picture(store: Store, image: Image, t_us: int) -> int:
    """A picture that was given as a file, as a moment of the stream `SHOWN`; it fades never, and counts in the budget. Its id."""
    with store.view() as view:
        before = view.moments(stream=SHOWN, limit=1, newest_first=True)
        first = view.moments(stream=SHOWN, limit=1)
    seq, first_us = (before[0].seq + 1, first[0].t_us - first[0].offset_us) if before else (0, t_us)
    t_us = max(t_us, before[0].t_us + 1) if before else t_us
    height, width = image.shape[:2]
    store.ensure_stream(SHOWN, t_us)
    new = NewMoment(
        stream=SHOWN, seq=seq, t_us=t_us, offset_us=t_us - first_us, width_px=width, height_px=height, sharpness=pixels.sharpness(image),
        jpeg=pixels.encode_jpeg(image, _SHOWN_JPEG), vectors={},
    )  # fmt: skip
    with store.transaction() as tx:
        return tx.add_moment(new)


# ------------------------------------------------------------------------------------------------------------------ taking back


def unteach(store: Store, *, moment_id: int = 0, name: str = "") -> str:
    """Take a lesson back, or all lessons of a thing: what was only known by it is seen no more. The thing's name.

    A picture that was given as a file goes with its last lesson. Raises UsageError where nothing was taught so.
    """
    with store.view() as view:
        lessons = _lessons_of(view, moment_id, name)
        entities = {part.entity.id: part.entity for part in lessons if part.entity is not None}
        if not entities:
            what = f"m{moment_id}" if moment_id else f'"{bare_name(name)}"'
            raise UsageError(f"{what} was not taught: there is nothing to take back")
        moments = view.moments_of({part.moment_id for part in lessons if part.moment_id is not None})
    with store.transaction() as tx:
        for entity_id in entities:
            for moment in moments.values():
                _drop_lesson(tx, entity_id, moment.id)
        for moment in moments.values():
            _let_fade(tx, moment)
        changed(tx, store)
    for entity_id in entities:
        _drop_sightings(store, entity_id)
    return next(iter(entities.values())).name


def _lessons_of(view: View, moment_id: int, name: str) -> list[StoredPart]:
    if moment_id:
        return [part for part in view.parts(moment_id=moment_id, kind=LESSON) if part.entity is not None]
    called = {entity.id: entity for wanted in (name, bare_name(name)) for entity in view.entities(name=wanted)}
    return [part for entity_id in called for part in view.parts(entity_id=entity_id, kind=LESSON)]


def _drop_lesson(tx: Transaction, entity_id: int, moment_id: int) -> None:
    sql = "SELECT id FROM part WHERE moment_id = ? AND entity_id = ? AND kind IN (?, ?)"
    tx.drop_parts([row[0] for row in tx.connection.execute(sql, (moment_id, entity_id, LESSON, LESSON_PLACE)).fetchall()])


def _let_fade(tx: Transaction, moment: Moment) -> None:
    """A picture without a lesson is like any other; one that was given for it only goes."""
    if tx.connection.execute("SELECT 1 FROM part WHERE moment_id = ? AND kind = ?", (moment.id, LESSON)).fetchone():
        return
    tx.pin(moment.id, pinned=False)
    if moment.stream == SHOWN:
        tx.drop_moment(moment.id)


def _drop_sightings(store: Store, entity_id: int) -> None:
    """Where it was seen is not known any more; nor is the thing, where nothing else tells of it. What other lessons show is found anew."""
    with store.view() as view:
        seen = [part.id for part in view.parts(entity_id=entity_id, kind=SIGHTING)]
    for start in range(0, len(seen), 50):
        with store.transaction() as tx:
            tx.drop_parts(seen[start : start + 50])
    uses = (*USES, ("entity_merge", "from_id"), ("entity_merge", "into_id"))
    used = " UNION ALL ".join(f"SELECT 1 FROM {table} WHERE {column} = :id" for table, column in uses)  # noqa: S608 - our own names
    with store.transaction() as tx:
        if not tx.connection.execute(f"{used} LIMIT 1", {"id": entity_id}).fetchone():
            tx.drop_entity(entity_id)


# ------------------------------------------------------------------------------------------------- moments without vectors of crops


def look_again(
    store: Store, joint: JointEmbedder, things: TaughtThings, deadline_s: float, progress: Callable[[int], object] | None = None
) -> bool:
    """Give moments that were kept without crops theirs, the newest first, until `time.monotonic()` reaches the deadline.

    True where some are left. `progress` is told after each how many were done.
    """
    assert joint.crop_space is not None
    store.ensure_space(joint.crop_space, holds="part")
    done = 0
    while time.monotonic() < deadline_s:
        with store.view() as view:
            waiting = view.moments_without(CROP, 8)
            pictures = [(moment, view.picture(moment.id)) for moment in waiting]
        if not waiting:
            return False
        for moment, jpeg in pictures:
            crops = joint.look(pixels.decode(jpeg)).crops
            with store.transaction() as tx:
                for crop in crops if tx.remaining([moment.id]) else ():
                    part = NewPart(kind=CROP, score=1.0, moment_id=moment.id, box=crop.box, vectors={things.space: crop.vector})
                    tx.add_part(part)
            done += 1
            if progress is not None:
                progress(done)
            if not crops:
                return False
    return True


# --------------------------------------------------------------------------------------------------------- "this is my ..."


class SpokenLessons:
    """Learns what is said to be in view in one stream, once the moments after it are there."""

    def __init__(self, store: Store, things: TaughtThings, stream: str) -> None:
        self._store, self._things, self._stream = store, things, stream
        self._waiting: list[SpokenLesson] = []
        self._seen_us = 0

    def heard(self, spoken: Spoken) -> None:
        """An utterance that is just stored."""
        name = spoken_name(spoken.document.text)
        if name:
            span = spoken.document
            self._waiting.append(SpokenLesson(name=name, stream=self._stream, t0_us=span.t0_us, t1_us=span.t1_us))

    def seen(self, t_us: int) -> None:
        """A moment of this time is stored."""
        self._seen_us = max(self._seen_us, t_us)

    def learn(self, *, ending: bool) -> list[Taught]:
        """Outside of a transaction: those whose moments are all there, or all of them at the end of the stream."""
        due = [one for one in self._waiting if ending or self._seen_us > one.t1_us + NEAR_US]
        self._waiting = [one for one in self._waiting if one not in due]
        return [taught for one in due if (taught := self._learn(one)) is not None]

    def _learn(self, one: SpokenLesson) -> Taught | None:
        before_us, after_us = _SPOKEN_SLACK_US
        with self._store.view() as view:
            there = view.moments(stream=one.stream, from_us=one.t0_us - before_us, to_us=one.t1_us + after_us)
        if not there:
            return None
        middle_us = (one.t0_us + one.t1_us) // 2
        moment = min(there, key=lambda moment: abs(moment.t_us - middle_us))
        try:
            taught = teach(self._store, self._things, moment.id, f"my {one.name}", one.t1_us)
        except (UsageError, BudgetError):  # its crops are not kept, or no further picture may be pinned
            return None
        self._things.note(taught.entity.id)
        return taught
