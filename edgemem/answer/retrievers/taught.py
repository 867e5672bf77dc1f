"""Where a thing that was taught by one picture of it is seen again (`edgemem name m12 "my keys"`)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from edgemem.answer.retrieve import Hits, Query, pictures

if TYPE_CHECKING:
    from edgemem.records import Entity
    from edgemem.remember.results import StoredPart
    from edgemem.remember.view import View

LESSON, SIGHTING = "lesson", "taught"
"""Kinds of parts that seeing writes: what stands for a thing, and where it is seen again."""
_OWNED = re.compile(r"^(?:my|your|our|his|her|their|the|an?)\s+")


def taught_hits(query: Query, view: View, k: int) -> Hits | None:
    """Moments in the query's stretch of time that show the taught thing which the query names, the likeliest first.

    A thing that was not seen again was last seen in its lesson, unless that is a picture that was given as a file. None where the query
    names no taught thing.
    """
    text = query.text.lower().strip()
    for entity in (entity for name in (text, _OWNED.sub("", text)) for entity in view.entities(name=name)):
        lessons = view.parts(entity_id=entity.id, kind=LESSON)
        if lessons:
            return _hits(entity, [part for part in lessons if part.stream != _SHOWN and query.holds(part.t0_us)], query, view, k)
    return None


def _hits(entity: Entity, lessons: list[StoredPart], query: Query, view: View, k: int) -> Hits:
    seen = view.parts(entity_id=entity.id, kind=SIGHTING, from_us=query.from_us, to_us=query.to_us)
    own = f"the {_OWNED.sub('', entity.name.lower())} you showed me"
    text, taught = (f"looks like {own}", f"what looks like {own}") if seen else (own, own)
    best: dict[int, float] = {}
    for part in sorted(seen or lessons, key=lambda part: (-part.score, -part.t0_us)):
        if part.moment_id is not None:
            best.setdefault(part.moment_id, 1.0 if part.kind == LESSON else part.score)
    evidence = pictures(view, ((moment_id, score, text) for moment_id, score in best.items()))[:k]
    return Hits(evidence=evidence, confidence=max((one.score for one in evidence), default=0.0), taught=taught)


_SHOWN = "shown"
"""Stream of the pictures that were given as files."""
