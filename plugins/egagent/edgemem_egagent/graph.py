"""The entity scene graph before it is stored: nodes, edges, and the lines of a transcript that they are read from.

EGAgent (Rege et al., "Agentic Very Long Video Understanding"), section 3.2, equations 1 to 5: nodes are people, objects and places; an edge
has one of a closed set of relation types, an interval of time, and the text that supports it; one row per supporting interval.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from edgemem.records import US, Origin, Quote, Record

NodeKind = Literal["person", "object", "location"]
KINDS: tuple[NodeKind, ...] = ("person", "object", "location")
TALKS_TO, INTERACTS_WITH, MENTIONS, USES = "TALKS_TO", "INTERACTS_WITH", "MENTIONS", "USES"
RELATIONS = (TALKS_TO, INTERACTS_WITH, MENTIONS, USES)
"""EGAgent's closed set (equation 3). Finer types broke retrieval there: they were synonyms of each other (appendix E)."""
ME = "me"
"""The name of the person who carries the camera. A speaker is that person when the name given to the voice is "me" (`edgemem name`), or is
the writer's setting `wearer`; a question's "I" means this node."""
SOMEONE = "someone"
"""The name of a person whom nobody named: seen with something, or heard without a voice that is known."""
JOIN_US = 5 * US
"""Two intervals of one edge that are closer than this are one."""


class Node(Record, frozen=True):
    """A person, object or place by name."""

    kind: NodeKind
    name: str


class Line(Record, frozen=True):
    """One utterance of a transcript. `speaker` is "" where nobody knows who spoke; `document_id` is where it is stored."""

    speaker: str
    text: str
    t0_us: int
    t1_us: int
    document_id: int | None = None
    confidence: float = 1.0
    origin: Origin = "asr"


class Edge(Record, frozen=True):
    """`source` did `type` to `target` from `t0_us` to `t1_us`, as the quotes say; `confidence` 0..1."""

    source: Node
    type: str
    target: Node
    t0_us: int
    t1_us: int
    confidence: float
    quotes: tuple[Quote, ...] = ()


class SameAs(Record, frozen=True):
    """Two names of one person: `name` is the more complete one."""

    other: str
    name: str


class Extraction(Record, frozen=True):
    """What an extractor read from one segment."""

    edges: tuple[Edge, ...] = ()
    same: tuple[SameAs, ...] = ()
    notes: tuple[str, ...] = ()


def person(name: str) -> Node:
    """A person by name."""
    return Node(kind="person", name=name)


def thing(name: str) -> Node:
    """An object by name."""
    return Node(kind="object", name=name)


def place(name: str) -> Node:
    """A location by name."""
    return Node(kind="location", name=name)


def quoted(line: Line) -> Quote:
    """The words of an utterance as what an edge rests on."""
    return Quote(text=line.text, origin=line.origin, document_id=line.document_id)


def joined(edges: Iterable[Edge], gap_us: int = JOIN_US) -> tuple[Edge, ...]:
    """One edge per supporting interval: those of the same ends and type that overlap or nearly touch become one.

    An edge from a thing to itself is left out. The confidence of a joined edge is that of its surest part.
    """
    open_: dict[tuple[Node, str, Node], Edge] = {}
    done: list[Edge] = []
    for edge in sorted(edges, key=lambda e: (e.t0_us, e.t1_us)):
        key = (edge.source, edge.type, edge.target)
        last = open_.get(key)
        if edge.source == edge.target:
            continue
        if last is not None and edge.t0_us - last.t1_us <= gap_us:
            open_[key] = msgspec.structs.replace(
                last,
                t1_us=max(last.t1_us, edge.t1_us),
                confidence=max(last.confidence, edge.confidence),
                quotes=tuple(dict.fromkeys((*last.quotes, *edge.quotes))),
            )
            continue
        if last is not None:
            done.append(last)
        open_[key] = edge
    return tuple(sorted([*done, *open_.values()], key=lambda e: (e.t0_us, e.type, e.source.name, e.target.name)))
