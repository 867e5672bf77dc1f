"""Finds the entity of a part of a moment: the one with the nearest vector, if it is near enough, else a new one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from edgemem.remember.entries import NewEntity, NewMention, NewPart
from edgemem.remember.numbers import last_number, number_key
from edgemem.see.perceive import HeldSpace, Part
from edgemem.see.perceivers import SAME_ENTITY

if TYPE_CHECKING:
    from edgemem.records import Vector
    from edgemem.remember.store import Store, Transaction


class PartWriter:
    """Stores the parts of moments, each with its entity.

    An entity keeps the vector of the first part in which it was found.
    """

    def __init__(self, spaces: Iterable[HeldSpace], store: Store) -> None:
        self._store = store
        self._least = {held.space.name: held.space.calibration[SAME_ENTITY] for held in spaces if held.holds == "entity"}
        """Least cosine by the name of the space."""
        self._uncommitted: defaultdict[str, list[tuple[int, Vector]]] = defaultdict(list)
        """By space: vectors of entities that no view shows yet."""
        self._before: dict[str, int] = {}
        """By kind: the last number when this writer gave its first one; an import may have brought more than were given here."""

    def write(self, tx: Transaction, moment_id: int, t_us: int, parts: Iterable[Part]) -> None:
        """Store the parts of a moment that is already stored."""
        for part in parts:
            entity_id = self._entity(tx, part, t_us) if part.entity else None
            own = {space: vector for space, vector in part.vectors.items() if space not in self._least}
            tx.add_part(
                NewPart(
                    kind=part.kind, score=part.score, moment_id=moment_id, box=part.box, t0_us=part.t0_us, t1_us=part.t1_us, vectors=own,
                    entity_id=entity_id,
                )
            )  # fmt: skip
            if entity_id is not None:
                tx.add_mention(NewMention(entity_id=entity_id, known_us=t_us, moment_id=moment_id, score=part.score))

    def committed(self) -> None:
        """Call it after a commit: views show the new entities from now on."""
        self._uncommitted.clear()

    def _entity(self, tx: Transaction, part: Part, t_us: int) -> int:
        space, vector = next(((space, vector) for space, vector in part.vectors.items() if space in self._least), ("", None))
        if vector is not None and (known := self._nearest(space, vector)) is not None:
            return known
        entity_id = tx.add_entity(NewEntity(kind=part.entity, name=self._new_name(tx, part.entity), known_us=t_us))
        if vector is not None:
            tx.set_entity_vector(entity_id, space, vector)
            self._uncommitted[space].append((entity_id, vector))
        return entity_id

    def _nearest(self, space: str, vector: Vector) -> int | None:
        """The nearest entity if it is near enough, else None."""
        found = [(float(known @ vector), entity_id) for entity_id, known in self._uncommitted[space]]
        with self._store.view() as view:
            found += [(hit.score, hit.entity.id) for hit in view.nearest_entities(space, vector, 1)]
        score, entity_id = max(found, default=(-1.0, None))
        return entity_id if score >= self._least[space] else None

    def _new_name(self, tx: Transaction, kind: str) -> str:
        """A name with a number that no entity of this kind ever had, not even a forgotten one."""
        key = number_key(kind)
        if kind not in self._before:
            self._before[kind] = last_number(self._store, kind)
        number = max(self._before[kind], int(self._store.state(key) or b"0")) + 1
        tx.set_state(key, str(number).encode())
        return f"{kind} {number}"
