"""Edges by a language model: a strict schema, a closed set of types, and intervals from the lines that support an edge.

EGAgent asks twice, once for edges and once for their times (appendix E); here one reply names the supporting lines of each edge, so that
their timestamps are taken from the transcript and never from what a model writes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

import msgspec

from edgemem.records import Quote
from edgemem_egagent.ask import Completes, ask_typed
from edgemem_egagent.graph import KINDS, RELATIONS, Edge, Extraction, Line, Node, joined, quoted
from edgemem_egagent.turns import speaker_name

_CAPTION_SURE = 0.8
"""An edge that only the picture shows holds for the whole window: its time is less sure than that of a spoken one."""


class _End(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: str
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=80)]


class _Drawn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: _End
    type: str
    target: _End
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)]
    lines: tuple[int, ...] = ()
    explanation: Annotated[str, msgspec.Meta(max_length=400)] = ""


class Drawing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the model replies."""

    edges: Annotated[tuple[_Drawn, ...], msgspec.Meta(max_length=200)] = ()


def extract(
    models: Completes,
    caption: str,
    lines: Sequence[Line],
    span_us: tuple[int, int],
    *,
    moment_id: int | None = None,
    kinds: Sequence[str] = KINDS,
    relations: Sequence[str] = RELATIONS,
    wearer: str = "",
) -> Extraction:
    """Edges of one window, from its caption and the lines of its transcript.

    What has an unknown kind or type, a number for a name, or a line that does not exist is refused and noted.

    `span_us` is the window's interval, for edges that no line supports; `moment_id` the picture that then stands for it.
    Raises ChatError when the model gives no valid reply.
    """
    data = {
        "record": caption,
        "transcript": [
            {"line": i, "speaker": speaker_name(line.speaker, wearer) or "unknown", "said": line.text} for i, line in enumerate(lines)
        ],
    }
    values = {"kinds": ", ".join(kinds), "relations": ", ".join(relations)}
    drawing = ask_typed(models, "extract", data, Drawing, values=values, max_tokens=3000)
    edges: list[Edge] = []
    notes: list[str] = []
    for drawn in drawing.edges:
        why = _refused(drawn, kinds, relations, len(lines))
        if why:
            notes.append(f"{drawn.source.name} {drawn.type} {drawn.target.name}: {why}")
            continue
        edges += _placed(drawn, lines, span_us, moment_id, wearer)
    return Extraction(edges=joined(edges), notes=tuple(notes))


def _refused(drawn: _Drawn, kinds: Sequence[str], relations: Sequence[str], lines: int) -> str:
    if drawn.type not in relations:
        return f'"{drawn.type}" is no relation of this graph'
    for end in (drawn.source, drawn.target):
        if end.kind.lower() not in kinds:
            return f'"{end.kind}" is no kind of node'
        if not re.search(r"[^\W\d_]", end.name):
            return f'"{end.name}" is no name'
    if any(not 0 <= line < lines for line in drawn.lines):
        return "it names a line that does not exist"
    return ""


def _placed(drawn: _Drawn, lines: Sequence[Line], span_us: tuple[int, int], moment_id: int | None, wearer: str) -> list[Edge]:
    """One edge per supporting line, else one for the whole window."""
    source, target = _node(drawn.source, wearer), _node(drawn.target, wearer)
    if drawn.lines:
        return [
            Edge(
                source=source, type=drawn.type, target=target, t0_us=line.t0_us, t1_us=line.t1_us,
                confidence=round(drawn.confidence * line.confidence, 3), quotes=(quoted(line),),
            )
            for line in (lines[i] for i in dict.fromkeys(drawn.lines))
        ]  # fmt: skip
    quote = Quote(text=drawn.explanation, origin="caption", moment_id=moment_id)
    sure = round(drawn.confidence * _CAPTION_SURE, 3)
    return [Edge(source=source, type=drawn.type, target=target, t0_us=span_us[0], t1_us=span_us[1], confidence=sure, quotes=(quote,))]


def _node(end: _End, wearer: str) -> Node:
    kind = next(kind for kind in KINDS if kind == end.kind.lower())
    name = " ".join(end.name.split())
    return Node(kind=kind, name=speaker_name(name, wearer) if kind == "person" else name.lower() if kind == "object" else name)
