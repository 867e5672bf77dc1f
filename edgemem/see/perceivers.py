"""All perceivers of a run, and their results for one picture."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from edgemem.errors import UsageError
from edgemem.isolation import FaultIsolation
from edgemem.records import Image, Observation, Vector
from edgemem.remember.store import Store
from edgemem.see.perceive import HeldSpace, Part, Perceiver, Perception

NO_VECTOR: Vector = np.empty(0, np.float32)
SAME_ENTITY = "same_entity"
"""Calibration of a space that holds entities: the least cosine at which two vectors are of the same entity."""


class Perceived(NamedTuple):
    """The results of all perceivers for one picture."""

    observations: tuple[Observation, ...]
    vectors: dict[str, Vector]
    parts: tuple[Part, ...]


class Perceivers:
    """Runs the perceivers of a recipe in its order. The `concurrent` ones run in a second thread at the same time."""

    def __init__(self, perceivers: Sequence[Perceiver], isolation: FaultIsolation) -> None:
        self._perceivers, self._isolation = tuple(perceivers), isolation
        self._glancing = next((perceiver for perceiver in self._perceivers if perceiver.glances), None)
        self._second = ThreadPoolExecutor(1, "edgemem-perceive")

    @property
    def spaces(self) -> tuple[HeldSpace, ...]:
        """The vector spaces of all perceivers."""
        return tuple(held for perceiver in self._perceivers for held in perceiver.spaces)

    def prepare(self, store: Store) -> None:
        """Create the vector spaces. Raises EngineError if the memory has another space of that name, UsageError without calibration."""
        for held in self.spaces:
            if held.holds == "entity" and SAME_ENTITY not in held.space.calibration:
                raise UsageError(f'vector space "{held.space.name}" holds entities: its card needs the calibration "{SAME_ENTITY}"')
            store.ensure_space(held.space, holds=held.holds)

    def glance(self, image: Image) -> Vector | None:
        """The whole-picture vector; empty if no perceiver has one, None if the perceiver failed."""
        if self._glancing is None:
            return NO_VECTOR
        vectors = self._isolation.attempt("embedding", None, self._glancing.glance, [image])
        return None if vectors is None else vectors[0]

    def perceive(self, image: Image, glance: Vector) -> Perceived:
        """Analyse a picture. `glance` is its whole-picture vector, which is kept even if its perceiver fails here."""
        waiting = {p.name: self._second.submit(p.perceive, image, ()) for p in self._perceivers if p.concurrent}
        found: dict[str, Perception] = {}
        known: tuple[Observation, ...] = ()
        for perceiver in (p for p in self._perceivers if not p.concurrent):
            perception = self._isolation.attempt(perceiver.name, None, perceiver.perceive, image, known)
            if perception is not None:
                found[perceiver.name] = perception
                known += perception.observations
            elif perceiver is self._glancing:
                found[perceiver.name] = Perception(vectors={perceiver.spaces[0].space.name: glance})
        for name, future in waiting.items():
            found[name] = self._isolation.attempt(name, Perception(), _result, future)
        return _joined([found[perceiver.name] for perceiver in self._perceivers if perceiver.name in found])

    def close(self) -> None:
        """End the second thread."""
        self._second.shutdown(wait=False, cancel_futures=True)


def _result(future: Future[Perception]) -> Perception:
    return future.result()


def _joined(found: Sequence[Perception]) -> Perceived:
    vectors = {space: vector for perception in found for space, vector in perception.vectors.items()}
    observations = tuple(observation for perception in found for observation in perception.observations)
    return Perceived(observations, vectors, tuple(part for perception in found for part in perception.parts))
