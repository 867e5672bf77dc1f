"""What VAM's planner asks of the memory: typed, read-only actions and their results, as they stand in the session.

A wire action (`wire`) speaks of turns, anchors and seconds. Before it is carried out it becomes one or more of these, with everything
resolved to ids and microseconds, so that a trace can be read without the model's words.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from edgemem.answer.tool_base import ToolResult
from edgemem.records import Evidence, Origin, Record
from edgemem_vam.wire import Habit, SourceName, SubQuery

SOURCES: tuple[SourceName, ...] = ("frame", "event", "summary")
By = Literal["document", "chunk", "field", "words", "picture", "reading"]
"""Which part of a source fitted the query."""


class _Action(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="action"):
    """Base of the actions."""


class Survey(_Action, frozen=True, tag="survey"):
    """What is in this memory at all, and the conversation that a question of this time stands in."""

    asked_us: int


class StreamFacts(Record, frozen=True):
    """A stream and its ends."""

    name: str
    t0_us: int
    t1_us: int
    moments: int


class SummaryStructure(Record, frozen=True):
    """One kind of summary that was written before: `name` is its tag."""

    name: str
    granularity_s: float
    windows: int
    focus: str


class Exchange(Record, frozen=True):
    """An earlier question of the same conversation and what was answered."""

    asked_us: int
    question: str
    answer: str


class Surveyed(ToolResult, frozen=True):
    """Streams in the order of time, the structures of summaries, the conversation so far. Proves nothing: no evidence."""

    streams: tuple[StreamFacts, ...] = ()
    """Those that were seen."""
    first_us: int | None = None
    last_us: int | None = None
    """Times of the first and the last thing that was seen or heard."""
    structures: tuple[SummaryStructure, ...] = ()
    habits: tuple[Habit, ...] = ()
    """Of the one who asks, from earlier conversations."""
    conversation: tuple[Exchange, ...] = ()
    evidence: tuple[Evidence, ...] = ()


class WindowSummary(Record, frozen=True):
    """The summary of one window, written in this session or found again."""

    t0_us: int
    t1_us: int
    granularity_s: float
    structure: str
    focus: str
    text: str
    moment_id: int | None
    evidence: tuple[Evidence, ...] = ()


class HybridSearch(_Action, frozen=True, tag="hybrid_search"):
    """Search pictures, event documents and summaries in a stretch of time, by words or by the looks of one picture."""

    queries: tuple[SubQuery, ...]
    sources: tuple[SourceName, ...] = SOURCES
    from_us: int | None = None
    to_us: int | None = None
    structure: str | None = None
    granularity_s: float | None = None
    visual_id: int | None = None
    """Moment whose stored vector is searched for; then only pictures are."""
    summaries: tuple[WindowSummary, ...] = ()
    """Of this session, which the memory does not hold yet."""


class ResultRow(Record, frozen=True):
    """One result, in the order of `evidence` beside it. `score` is on VAM's scale, see `relevance`."""

    id: str
    source: SourceName
    score: float
    text: str
    """All of it: of a document its whole text."""
    by: By
    origin: Origin
    passage: str = ""
    """The part of the text that fitted the query, where that was less than all."""
    query: str = ""
    """The query that found it."""
    moment_id: int | None = None
    """The picture that stands for it."""
    look_ahead: bool = False
    """Among the `inspect_k` best of a query."""


class HybridHits(ToolResult, frozen=True):
    """Result of a search, best first."""

    evidence: tuple[Evidence, ...] = ()
    rows: tuple[ResultRow, ...] = ()
    notes: tuple[str, ...] = ()


class Target(Record, frozen=True):
    """What is to be looked at: a stretch of time, and the result that it stands for."""

    id: str
    stream: str
    from_us: int
    to_us: int
    hint: str = ""
    """What the search said about it."""


class VisualInspection(_Action, frozen=True, tag="visual_inspection"):
    """Have the inspector look at pictures: of each target, or of all together."""

    targets: tuple[Target, ...]
    prompt: str
    joint: bool = False
    max_frames: int = 6
    """Of each target, or of all together where they are joint."""
    from_us: int | None = None
    to_us: int | None = None


class InspectionFinding(Record, frozen=True):
    """What the inspector said about which targets, and the pictures it saw."""

    targets: tuple[str, ...]
    text: str
    moment_ids: tuple[int, ...]
    shown: int = 0
    """Pictures that were shown; of the others the inspector read notes."""
    prompt: str = ""
    """What the inspector was asked."""
    confidence: float | None = None
    """How surely, as the inspector says, the pictures show what was asked; None where it said nothing of that."""


class Inspected(ToolResult, frozen=True):
    """Result of an inspection: the pictures as evidence, and the findings."""

    evidence: tuple[Evidence, ...] = ()
    findings: tuple[InspectionFinding, ...] = ()
    notes: tuple[str, ...] = ()


class Adjudicate(_Action, frozen=True, tag="adjudicate"):
    """Have the judge say of each candidate whether it shows the event."""

    targets: tuple[Target, ...]
    event: str
    verification_prompt: str = ""
    from_us: int | None = None
    to_us: int | None = None


class Judgement(Record, frozen=True):
    """The judge on one candidate."""

    target: str
    match: bool
    confidence: float
    observed_event: str = ""
    reason: str = ""


class Judged(ToolResult, frozen=True):
    """Result of an adjudication."""

    evidence: tuple[Evidence, ...] = ()
    judgements: tuple[Judgement, ...] = ()
    notes: tuple[str, ...] = ()


class WriteSummaries(_Action, frozen=True, tag="write_summaries"):
    """Write (or find again) a summary of each window of a stretch of time."""

    from_us: int
    to_us: int
    granularity_s: float
    prompt: str
    structure: str = ""


class Summaries(ToolResult, frozen=True):
    """Result: the windows in the order of time, the documents that whoever may write should keep, and the work that is left."""

    evidence: tuple[Evidence, ...] = ()
    windows: tuple[WindowSummary, ...] = ()
    notes: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    """Which limits cut something short."""


VamAction = Survey | HybridSearch | VisualInspection | Adjudicate | WriteSummaries
VamResult = Surveyed | HybridHits | Inspected | Judged | Summaries
