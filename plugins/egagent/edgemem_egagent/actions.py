"""What the planner `egagent` may do, as typed actions, and what comes back. Unknown keys are refused."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from edgemem.answer.tool_base import ToolResult
from edgemem.answer.tools_graph import Row, Said
from edgemem.records import Evidence

Short = Annotated[str, msgspec.Meta(min_length=1, max_length=120)]
Queries = Annotated[tuple[Short, ...], msgspec.Meta(min_length=1, max_length=3)]
Name = Annotated[str, msgspec.Meta(max_length=100)]
ToolName = Literal["visual", "transcript", "graph"]


class VisualSearch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="action", tag="visual"):
    """Find pictures by one to three short queries, in a stretch of time and at a place."""

    queries: Queries
    location: Name = ""
    from_us: int | None = None
    to_us: int | None = None
    per_query: Annotated[int, msgspec.Meta(ge=1, le=500)] = 100
    shown: Annotated[int, msgspec.Meta(ge=1, le=100)] = 50


class TranscriptSearch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="action", tag="transcript"):
    """Find utterances by up to three queries, united in the order of time. Without a query all of a bounded stretch of time."""

    queries: Annotated[tuple[Short, ...], msgspec.Meta(max_length=3)] = ()
    speaker: Name = ""
    from_us: int | None = None
    to_us: int | None = None
    per_query: Annotated[int, msgspec.Meta(ge=1, le=500)] = 100


class GraphSearch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="action", tag="graph"):
    """Find relations from strict to relaxed: exact names and time, then without the time, the day, the exact names, the type, the source.

    `sql`, where given, is a SELECT over `entity_graph_table`, run read-only; the ladder follows when it brings nothing.
    """

    source: Name = ""
    target: Name = ""
    type: Name = ""
    from_us: int | None = None
    to_us: int | None = None
    min_rows: Annotated[int, msgspec.Meta(ge=1, le=100)] = 1
    sql: Annotated[str, msgspec.Meta(max_length=2000)] = ""


class Analyse(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="action", tag="analyse"):
    """Judge what a search brought: choose what helps with the sub-task, drop repetitions, say what it shows."""

    task: Annotated[str, msgspec.Meta(max_length=600)]
    tool: ToolName
    items: tuple[Evidence, ...]
    tz: Name = "UTC"


class Pictures(ToolResult, frozen=True):
    """Result of a visual search: pictures, best first."""

    evidence: tuple[Evidence, ...] = ()
    confidence: float = 0.0
    notes: tuple[str, ...] = ()


class Lines(ToolResult, frozen=True):
    """Result of a transcript search: utterances in the order of time."""

    said: tuple[Said, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    cut: bool = False
    """More were said in that stretch of time."""


class Edges(ToolResult, frozen=True):
    """Result of a graph search: rows in the order of time, and the step of the ladder that brought them."""

    rows: tuple[Row, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    step: str = ""
    """"a" to "e" or "target"; "sql" when the model's own query brought them; "" for nothing."""
    notes: tuple[str, ...] = ()


class Analysed(ToolResult, frozen=True):
    """Result of an analysis: what it shows, and the evidence that does."""

    finding: str = ""
    evidence: tuple[Evidence, ...] = ()
    sure: float = 0.0
    """How well the chosen items fit the sub-task, 0..1."""
