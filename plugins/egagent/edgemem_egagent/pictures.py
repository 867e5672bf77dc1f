"""Edges from pictures without a language model: what people hold or stand at, what the wearer has in hand, and where that is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from edgemem.records import US, Box, Moment, Observation, Quote, Record
from edgemem_egagent.graph import INTERACTS_WITH, ME, SOMEONE, USES, Edge, Extraction, Node, joined, person, place, thing
from edgemem_egagent.lexicon import EVERYDAY, HANDHELD, is_place

MIN_SCORE = 0.45
"""Of an object; under .4 the detector's boxes are too often shadows (`answer.tools`)."""
MIN_PERSON = 0.5
MIN_PLACE = 0.5
"""Of a scene label that names a place."""
MIN_MOMENTS = 2
"""One picture may be a slip of the detector, or somebody walking past a table."""
SEEN_GAP_US = 15 * US
"""Two sightings closer than this are one interval: a still scene keeps few pictures."""
_REACH = 0.1
"""Arms reach this share of a person's width beyond the box."""
_HELD_AREA = 0.35
"""What is held covers at most this share of who holds it."""
_HAND_Y, _HAND_AREA = 0.62, 0.015
"""Hands of a wearer come from the lower part of the picture: least height of an object's middle, and least area."""
_RIDDEN = frozenset(("bicycle", "motorcycle", "horse", "skateboard", "surfboard", "snowboard", "skis"))
_FURNITURE = frozenset(("chair", "couch", "bench", "bed", "dining table", "toilet"))
"""People stand before furniture all the time; sitting on it is not worth an edge."""


class _Sighting(Record, frozen=True):
    source: Node
    type: str
    target: Node
    t_us: int
    moment_id: int
    score: float
    text: str


def read_pictures(
    moments: Sequence[Moment], observations: Mapping[int, tuple[Observation, ...]], present: Sequence[str] = (), *, egocentric: bool
) -> Extraction:
    """Edges of one segment. `present` are names of people heard in it: a single one besides the wearer names the person in the picture.

    `egocentric`: the camera is worn, so what is large and low in the picture is in the wearer's hands.
    """
    others = [name for name in dict.fromkeys(present) if name != ME]
    who = person(others[0] if len(others) == 1 else SOMEONE)
    groups: defaultdict[tuple[Node, str, Node], list[_Sighting]] = defaultdict(list)
    for moment in moments:
        seen = observations.get(moment.id, ())
        for sighting in (*_held(moment, seen, who), *(_in_hand(moment, seen) if egocentric else ()), *_where(moment, seen)):
            groups[sighting.source, sighting.type, sighting.target].append(sighting)
    edges = [edge for group in groups.values() if len({s.moment_id for s in group}) >= MIN_MOMENTS for edge in _edges(group)]
    return Extraction(edges=joined(edges, SEEN_GAP_US))


def _edges(group: Sequence[_Sighting]) -> Iterator[Edge]:
    best = max(group, key=lambda s: s.score)
    for s in group:
        quote = Quote(text=best.text, origin="caption", moment_id=best.moment_id)
        yield Edge(source=s.source, type=s.type, target=s.target, t0_us=s.t_us, t1_us=s.t_us, confidence=round(s.score, 3), quotes=(quote,))


def _held(moment: Moment, seen: Sequence[Observation], who: Node) -> Iterator[_Sighting]:
    for thing_, box in _things(seen):
        if any(_reaches(holder, box, thing_.name) for holder in _people(seen)):
            type_ = USES if thing_.name in HANDHELD | _RIDDEN else INTERACTS_WITH
            sure = 0.75 * min(1.0, thing_.score + 0.2) * (0.8 if who.name != SOMEONE else 1.0)
            name = EVERYDAY.get(thing_.name, thing_.name)
            yield _Sighting(
                source=who,
                type=type_,
                target=thing(name),
                t_us=moment.t_us,
                moment_id=moment.id,
                score=sure,
                text=f"a person with a {name}",
            )


def _in_hand(moment: Moment, seen: Sequence[Observation]) -> Iterator[_Sighting]:
    """What the wearer holds: a hand-held thing, large, low, and not within the reach of a person in view."""
    for thing_, box in _things(seen):
        if thing_.name not in HANDHELD or any(_reaches(holder, box, thing_.name) for holder in _people(seen)):
            continue
        if (box.y0 + box.y1) / 2 >= _HAND_Y and box.area >= _HAND_AREA:
            name = EVERYDAY.get(thing_.name, thing_.name)
            yield _Sighting(
                source=person(ME), type=USES, target=thing(name), t_us=moment.t_us, moment_id=moment.id,
                score=0.55 * min(1.0, thing_.score + 0.2), text=f"a {name} close before the camera",
            )  # fmt: skip


def _where(moment: Moment, seen: Sequence[Observation]) -> Iterator[_Sighting]:
    for label in seen:
        if label.kind == "label" and label.score >= MIN_PLACE and is_place(label.name.split()[-1]):
            yield _Sighting(
                source=person(ME), type=INTERACTS_WITH, target=place(label.name), t_us=moment.t_us, moment_id=moment.id,
                score=0.7 * label.score, text=f"in view: {label.name}",
            )  # fmt: skip


def _people(seen: Sequence[Observation]) -> list[Box]:
    return [o.box for o in seen if o.kind == "object" and o.name == "person" and o.score >= MIN_PERSON and o.box is not None]


def _things(seen: Sequence[Observation]) -> Iterator[tuple[Observation, Box]]:
    for o in seen:
        if o.kind == "object" and o.name not in _FURNITURE | {"person"} and o.score >= MIN_SCORE and o.box is not None:
            yield o, o.box


def _reaches(holder: Box, held: Box, name: str) -> bool:
    """The middle of what is held lies within the arms' reach; what is ridden lies under the rider and may be larger."""
    reach = _REACH * (holder.x1 - holder.x0)
    x, y = (held.x0 + held.x1) / 2, (held.y0 + held.y1) / 2
    if name in _RIDDEN:
        return holder.x0 <= x <= holder.x1 and holder.y0 < y <= holder.y1 + (held.y1 - held.y0)
    inside = holder.x0 - reach <= x <= holder.x1 + reach and holder.y0 <= y <= holder.y1
    return inside and held.area <= _HELD_AREA * holder.area
