"""Naming a thing that a picture shows, and taking that back: by the agent of a memory where one runs, else by the calling process."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from edgemem.errors import EngineError, SourceError, UsageError
from edgemem.events import EntityNamed
from edgemem.records import Box, Evidence, Image
from edgemem.see import pixels
from edgemem.see.perceive import CROP
from edgemem.see.taught import LESSON, SIGHTING, TaughtThings
from edgemem.see.teaching import keep_picture, look_again, teach, unteach, wanted_name
from edgemem.serve.messages import NameThingRequest, ThingReply

if TYPE_CHECKING:
    from edgemem.extend.environment import Environment
    from edgemem.extend.feed import Feed
    from edgemem.infer.roles import JointEmbedder
    from edgemem.remember.store import Store
    from edgemem.remember.view import View

Progress = Callable[[int, int], object]
"""(moments looked at again, moments that have to be)."""
MOST_FILE_BYTES = 32 << 20
MOST_PIXELS = 60_000_000
"""A picture of so many takes 180 MB while it is read."""
FILE_SIDE_PX = 1280
"""A picture that was given as a file is kept at this size."""
AGENT_S, COMMAND_S = 20.0, 3600.0
"""How long moments without crops are looked at before a reply; an agent goes on with the rest when it is idle."""
_FOUND = 10


def name_thing(
    store: Store, request: NameThingRequest, environment: Environment, feed: Feed, *, seconds: float, progress: Progress | None = None
) -> ThingReply:
    """What a moment or a file shows is called so, or no longer. Raises UsageError, SourceError, EngineError, BudgetError."""
    joint = _Joint(environment, store)
    if request.undo:
        return _taken_back(store, request, joint)
    wanted_name(request.name)
    things = TaughtThings(store, joint.space)
    image = read_picture(Path(request.picture)) if request.picture else None
    moment_id = keep_picture(store, image, request.known_us) if image is not None else request.moment_id
    try:
        taught = teach(store, things, moment_id, request.name, request.known_us, box=_box(store, request, moment_id), joint=joint)
    except BaseException:
        if image is not None:
            with store.transaction() as tx:
                tx.drop_moment(moment_id)
        raise
    feed.publish(EntityNamed(entity=taught.entity, before="", known_us=request.known_us))
    left = _look_again(store, joint, things, seconds, progress)
    things.note(taught.entity.id)
    with store.view() as view:
        found = sightings(view, taught.entity.id)
    return ThingReply(name=taught.entity.name, moment_id=moment_id, found=len(found), evidence=found[:_FOUND], unsearched=left)


def _taken_back(store: Store, request: NameThingRequest, joint: _Joint) -> ThingReply:
    name = unteach(store, moment_id=request.moment_id, name=request.name)
    with store.view() as view:
        entities = view.entities(name=name, kind="object")
    for entity in entities:
        things = TaughtThings(store, joint.space)
        if things.lessons(entity.id):  # one of several lessons was taken back
            things.note(entity.id)
    with store.view() as view:
        found = [one for entity in entities for one in sightings(view, entity.id)]
    return ThingReply(name=name, moment_id=request.moment_id, found=len(found), evidence=tuple(found[:_FOUND]))


def catch_up(environment: Environment, store: Store, deadline_s: float) -> bool:
    """For an idle board: give moments without crops theirs where something is taught, and search what was not searched for. True when
    there is more to do.
    """
    with store.view() as view:
        if not view.parts(kind=LESSON, known=True, limit=1) or environment.engines.missing("embed_joint"):
            return False
    joint = _Joint(environment, store)
    things = TaughtThings(store, joint.space)
    with store.view() as view:
        newest = view.moments(limit=1, newest_first=True)
        waiting = bool(view.moments_without(CROP, 1))
    if waiting:
        more = look_again(store, joint(), things, deadline_s)
        with store.transaction() as tx:
            tx.set_state(_SEARCHED, b"0")
        return more or time.monotonic() < deadline_s
    if not newest or newest[0].id < _GROWN * int(store.state(_SEARCHED) or b"0"):
        return False
    for entity_id in dict.fromkeys(lesson.entity.id for lesson in things.lessons()):
        things.note(entity_id)
    with store.transaction() as tx:
        tx.set_state(_SEARCHED, str(newest[0].id).encode())
    return False


_SEARCHED, _GROWN = "taught/searched", 1.5
"""Newest moment when all things were searched for; they are again once there are half as many more, which calibrates anew."""


def sightings(view: View, entity_id: int) -> tuple[Evidence, ...]:
    """Moments that show a taught thing again, the newest first."""
    parts = view.parts(entity_id=entity_id, kind=SIGHTING)[::-1]
    moments = view.moments_of(part.moment_id for part in parts if part.moment_id is not None)
    return tuple(
        Evidence(
            id=f"m{part.moment_id}", channel="frame", stream=part.stream, t0_us=part.t0_us, t1_us=part.t1_us,
            offset_us=moments[part.moment_id].offset_us, score=part.score, text=part.entity.name if part.entity is not None else "",
        )
        for part in parts if part.moment_id in moments
    )  # fmt: skip


def read_picture(path: Path) -> Image:
    """A picture file, at most `FILE_SIDE_PX` on its longer side. Kind, size and extent are checked before anything is decoded.

    Raises UsageError for what is no picture or too large, SourceError for one that is damaged.
    """
    try:
        size = path.stat().st_size
        if not path.is_file() or size > MOST_FILE_BYTES:
            raise UsageError(f"{path} is no picture file of at most {MOST_FILE_BYTES >> 20} MiB")
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    width, height = pixels.extent(data)
    if not width * height:
        raise UsageError(f"{path} is not a picture that can be read: give a JPEG, PNG, WebP, TIFF or BMP file")
    if width * height > MOST_PIXELS:
        raise UsageError(f"{path} has {width} x {height} pixels; at most {MOST_PIXELS // 10**6} million can be read: make it smaller")
    try:
        return pixels.decode(data, FILE_SIDE_PX)
    except SourceError:
        raise SourceError(f"{path} is a damaged picture: give another one") from None


def _box(store: Store, request: NameThingRequest, moment_id: int) -> Box | None:
    """As fractions of the picture; corners above 1 are pixels of it. Raises UsageError for a box that has no inside or lies outside."""
    if request.box is None:
        return None
    with store.view() as view:
        moment = view.moment(moment_id)
    if moment is None:
        raise UsageError(f"this memory has no m{moment_id}: it was never there, or it has faded or is forgotten")
    wide, high = (moment.width_px, moment.height_px) if max(request.box) > 1 else (1, 1)
    x0, y0, x1, y1 = request.box[0] / wide, request.box[1] / high, request.box[2] / wide, request.box[3] / high
    if not (0 <= x0 < x1 <= 1.001 and 0 <= y0 < y1 <= 1.001):
        raise UsageError(
            f"--box lies outside of the picture, which is {moment.width_px} x {moment.height_px}: give left,top,right,bottom in pixels"
            " or as fractions of it"
        )
    return Box(x0, y0, min(x1, 1.0), min(y1, 1.0))


class _Joint:
    """The joint embedder, loaded when it is needed: most lessons come from crops that are in the memory."""

    def __init__(self, environment: Environment, store: Store) -> None:
        self._environment, self._store = environment, store

    @property
    def missing(self) -> str:
        """Why there is none, "" where there is."""
        return self._environment.engines.missing("embed_joint")

    def __call__(self) -> JointEmbedder:
        if self.missing:
            raise EngineError(f"pictures cannot be compared: {self.missing}")
        joint: JointEmbedder = self._environment.engines.role("embed_joint", now=True)
        known = self._known()
        if joint.crop_space is None or known not in {"", joint.crop_space.name}:
            raise EngineError(
                f"pictures cannot be compared: the engine for embed_joint has no vectors of parts of pictures in {known or 'any space'}"
            )
        self._store.ensure_space(joint.crop_space, holds="part")
        return joint

    @property
    def space(self) -> str:
        """The memory's own space of crops, else that of the engine."""
        known = self._known()
        if known:
            return known
        space = self().crop_space
        return space.name if space is not None else ""

    def _known(self) -> str:
        with self._store.view() as view:
            return view.part_space(CROP)


def _look_again(store: Store, joint: _Joint, things: TaughtThings, seconds: float, progress: Progress | None) -> int:
    """Look at moments that were kept without crops, where an engine can; how many are left, at most `_COUNTED`."""
    with store.view() as view:
        waiting = len(view.moments_without(CROP, _COUNTED))
    if not waiting or joint.missing:
        return waiting
    advance = None if progress is None else lambda done: progress(done, waiting)
    if not look_again(store, joint(), things, time.monotonic() + seconds, advance):
        return 0
    with store.view() as view:
        return len(view.moments_without(CROP, _COUNTED))


_COUNTED = 100_000
