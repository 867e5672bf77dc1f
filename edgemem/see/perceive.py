"""Perceivers analyse a kept moment. They return observations, and vectors of the moment and of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from edgemem.infer.roles import JointEmbedder, Reader, Space
from edgemem.records import Box, Image, Matrix, Observation, Record, Vector

Holds = Literal["moment", "part", "entity"]


class HeldSpace(Record, frozen=True):
    """A vector space that a perceiver fills, and what its vectors describe.

    A space that holds entities needs the calibration `same_entity`: the least cosine at which two vectors are of the same entity.
    """

    space: Space
    holds: Holds = "moment"


class Part(Record, frozen=True):
    """A part of a moment: an object or a face (with a box), a voice (with a stretch of time)."""

    kind: str
    """"face", "object", "voice" ..."""
    score: float
    box: Box | None = None
    t0_us: int | None = None
    t1_us: int | None = None
    """Wall time; None = the time of the moment."""
    vectors: dict[str, Vector] = msgspec.field(default_factory=dict)
    """By the name of the space, unit length. A vector in a space of parts is stored with the part. A vector in a space of entities finds
    the entity."""
    entity: str = ""
    """Kind of its entity, such as "face"; "" = it is no entity.

    The core takes the entity with the nearest vector if it is near enough, else a new one: "face 1", "face 2" ..."""


class Perception(Record, frozen=True):
    """The results of one perceiver for one picture."""

    observations: tuple[Observation, ...] = ()
    vectors: dict[str, Vector] = msgspec.field(default_factory=dict)
    """Vectors of the whole moment, by the name of the space, unit length."""
    parts: tuple[Part, ...] = ()


class Perceiver(Protocol):
    """Hook `register_perceivers`. `BasePerceiver` has what most perceivers have in common.

    If one fails, its results for the moment are missing; the moment is kept.
    """

    name: str

    @property
    def spaces(self) -> tuple[HeldSpace, ...]:
        """The vector spaces that this perceiver fills."""
        ...

    @property
    def glances(self) -> bool:
        """Whether it has cheap whole-picture vectors, which selectors and segmenters compare; the first such perceiver gives them."""
        ...

    @property
    def concurrent(self) -> bool:
        """Whether it needs no observations of other perceivers. It may then run in a second thread at the same time."""
        ...

    def glance(self, images: Sequence[Image]) -> Matrix:
        """Whole-picture vectors in the first of its `spaces`: float32 [n, dim], unit length. Called only where `glances`."""
        ...

    def perceive(self, image: Image, known: tuple[Observation, ...]) -> Perception:
        """Analyse a moment that is kept. `known`: the observations of the perceivers before it (empty if `concurrent`)."""
        ...


class BasePerceiver:
    """Fills no space, has no whole-picture vectors and waits for the observations of others. Perceivers override what is different."""

    spaces: tuple[HeldSpace, ...] = ()
    glances = False
    concurrent = False

    def glance(self, images: Sequence[Image]) -> Matrix:
        """Never called."""
        raise NotImplementedError("it has no whole-picture vectors")


CROP = "crop"
"""Kind of the parts that `JointPerceiver` keeps: where a thing is, whatever it is."""


class JointSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is kept of a picture beside its vector, labels and objects."""

    crops: bool = False
    """Also a vector of each part of it that stands out (up to seven, 0.9 KB each), by which a thing that was shown once is found again."""


class JointPerceiver(BasePerceiver):
    """Whole-picture vectors, labels and objects of a joint embedder; with `crops` parts of kind `CROP` too, where it has them.

    The vectors that a server makes are added later (`see.waiting`).
    """

    name = "joint"
    glances = True

    def __init__(self, joint: JointEmbedder, settings: JointSettings | None = None) -> None:
        self._joint = joint
        wanted = settings is not None and settings.crops
        self._crop_space = joint.crop_space if wanted else None
        crops = (HeldSpace(space=self._crop_space, holds="part"),) if self._crop_space is not None else ()
        hosted = (HeldSpace(space=joint.space),) if joint.space.name != joint.local.space.name else ()
        self.spaces = (HeldSpace(space=joint.local.space), *hosted, *crops)

    def glance(self, images: Sequence[Image]) -> Matrix:
        return self._joint.glance(images)

    def perceive(self, image: Image, known: tuple[Observation, ...]) -> Perception:
        del known
        sight = self._joint.look(image)
        name = self._crop_space.name if self._crop_space is not None else ""
        parts = (Part(kind=CROP, score=1.0, box=crop.box, vectors={name: crop.vector}) for crop in sight.crops if name)
        return Perception(observations=sight.observations, vectors={self._joint.local.space.name: sight.vector}, parts=tuple(parts))


class TextPerceiver(BasePerceiver):
    """Lines of text that a text reader finds."""

    name = "read_text"
    concurrent = True

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def perceive(self, image: Image, known: tuple[Observation, ...]) -> Perception:
        del known
        return Perception(observations=tuple(self._reader.read(image)))
