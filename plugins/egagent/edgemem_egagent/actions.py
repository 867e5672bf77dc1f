"""What the planner `egagent` may do, as typed actions, and what comes back. Unknown keys are refused."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from edgemem.answer.tool_base import ToolResult
from edgemem.answer.tools_graph import Row
from edgemem.records import Evidence, Record

Short = Annotated[str, msgspec.Meta(min_length=1, max_length=120)]
Queries = Annotated[tuple[Short, ...], msgspec.Meta(min_length=1, max_length=3)]
Name = Annotated[str, msgspec.Meta(max_length=100)]
ToolName = Literal["visual", "transcript", "graph"]
Condition = Literal["time", "source", "target", "type"]
"""A condition of a graph search that a row may fail to meet."""
MOST_SPANS = 64


class Span(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A stretch of time, both ends included; None = open."""

    from_us: int | None = None
    to_us: int | None = None

    def overlaps(self, t0_us: int, t1_us: int) -> bool:
        """Whether something that lasted from `t0_us` to `t1_us` lies in it, at least in part."""
        return (self.from_us is None or t1_us >= self.from_us) and (self.to_us is None or t0_us <= self.to_us)


ANY_TIME = Span()
Spans = Annotated[tuple[Span, ...], msgspec.Meta(min_length=1, max_length=MOST_SPANS)]


class _Action(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="action"):
    """Base of the actions."""


class ListDays(_Action, frozen=True, tag="days"):
    """The days that the memory holds, with the first and the last time of each, in the zone of the one who asks."""

    tz: Name = "UTC"


class VisualSearch(_Action, frozen=True, tag="visual"):
    """Find pictures by one to three short queries, in stretches of time and at a place."""

    queries: Queries
    location: Name = ""
    spans: Spans = (ANY_TIME,)
    per_query: Annotated[int, msgspec.Meta(ge=1, le=500)] = 100
    shown: Annotated[int, msgspec.Meta(ge=1, le=100)] = 50


class TranscriptSearch(_Action, frozen=True, tag="transcript"):
    """Find utterances by up to three queries, united in the order of time. Without a query all that was said in the stretches of time."""

    queries: Annotated[tuple[Short, ...], msgspec.Meta(max_length=3)] = ()
    speaker: Name = ""
    spans: Spans = (ANY_TIME,)
    per_query: Annotated[int, msgspec.Meta(ge=1, le=500)] = 100
    newest_first: bool = False
    """Where more was said than is read, the latest is read."""


class GraphSearch(_Action, frozen=True, tag="graph"):
    """Find relations, first by all conditions, then with fewer of them: without the time, the exact names, the type, the source.

    `sql`, where given, is a SELECT over `entity_graph_table`, run read-only; the other arguments follow when it brings nothing. With no
    argument at all the people and things that `about` names are looked for.
    """

    source: Name = ""
    target: Name = ""
    type: Name = ""
    spans: Spans = (ANY_TIME,)
    min_rows: Annotated[int, msgspec.Meta(ge=1, le=100)] = 1
    sql: Annotated[str, msgspec.Meta(max_length=2000)] = ""
    about: Annotated[str, msgspec.Meta(max_length=600)] = ""
    tz: Name = "UTC"
    """Of the one who asks: in which `day`, `start_t` and `end_t` of the table are told, and where a day begins."""


class Hint(Record, frozen=True):
    """A piece of evidence that does not meet every condition of its search, and which it fails."""

    id: str
    fails: tuple[Condition, ...]


class Analyse(_Action, frozen=True, tag="analyse"):
    """Judge what a search brought: choose what helps with the sub-task, drop repetitions, say what it shows."""

    task: Annotated[str, msgspec.Meta(max_length=600)]
    tool: ToolName
    items: tuple[Evidence, ...]
    hints: tuple[Hint, ...] = ()
    question: str = ""
    options: tuple[str, ...] = ()
    asked_us: int = 0
    known: tuple[str, ...] = ()
    """What earlier searches found, one line each."""
    tz: Name = "UTC"


class Day(Record, frozen=True):
    """A day on the clock of the one who asks (`2026-05-04`), and the first and last time at which it holds something."""

    date: str
    first_us: int
    last_us: int


class Days(ToolResult, frozen=True):
    """Result of `ListDays`: in the order of time, the newest where there are more than `MOST_SPANS`."""

    days: tuple[Day, ...] = ()
    evidence: tuple[Evidence, ...] = ()


class Brought(ToolResult, frozen=True):
    """Base of what the three searches bring."""

    evidence: tuple[Evidence, ...] = ()
    notes: tuple[str, ...] = ()


class Pictures(Brought, frozen=True):
    """Result of a visual search: pictures, best first."""

    confidence: float = 0.0


class Lines(Brought, frozen=True):
    """Result of a transcript search: utterances in the order of time, the latest first where that was asked for."""

    said: tuple[Row, ...] = ()


class Edges(Brought, frozen=True):
    """Result of a graph search: rows in the order of time, and the relaxation step that brought them."""

    rows: tuple[Row, ...] = ()
    hints: tuple[Hint, ...] = ()
    """Evidence that misses a condition of the search: no answer to it."""
    step: str = ""
    """"a" to "e" or "target" as in `View.ladder`; "sql" when the model's own query brought them; "" for nothing."""


class Analysed(ToolResult, frozen=True):
    """Result of an analysis: what it shows, and the evidence that does."""

    finding: str = ""
    evidence: tuple[Evidence, ...] = ()
    sure: float = 0.0
    """How well the chosen items fit the sub-task, 0..1. Hints alone make 0."""
