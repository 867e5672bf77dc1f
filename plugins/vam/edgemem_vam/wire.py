"""What a language model may write: VAM's actions as strict types with every bound of Table 6 (appendix B.6 and B.7).

Keys and tags are the paper's, so that any model prompted for VAM can drive this planner. Unknown keys are refused. What JSON Schema
cannot say (an anchor excludes a pair of anchors, an inspection needs a target) is checked when a reply is decoded.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from edgemem.infer.structured import complaint

SourceName = Literal["frame", "event", "summary"]
TimeMode = Literal["relative", "absolute", "auto"]
_Text = Annotated[str, Meta(min_length=1)]
_Structure = Annotated[str, Meta(min_length=1, max_length=64)]
_Granularity = Annotated[float, Meta(gt=0, le=86_400)]
_Week = Annotated[float, Meta(ge=0, le=604_800)]

ABSOLUTE_FROM = 1e8
"""Mode "auto": numbers above it are wall time, as in VAM; nobody's stream lasts three years."""
_EXACT = 2**53
"""Beyond it a float is no longer a certain whole number."""


class WireError(ValueError):
    """A reply that breaks the format. The message goes back to the model."""


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base: unknown keys are refused, text that is needed is not blank."""

    def __post_init__(self) -> None:
        for field in msgspec.structs.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, str) and value and not value.strip() and field.default != "":
                raise ValueError(f"{field.encode_name} is blank")


class Ref(_Strict, frozen=True):
    """A result that came up: turns count from 1, results from 0."""

    turn_idx: Annotated[int, Meta(ge=1)]
    result_idx: Annotated[int, Meta(ge=0)]


class Anchor(_Strict, frozen=True):
    """An event that times are measured from: searched for, or a result that came up."""

    query: _Text | None = None
    query_variants: Annotated[list[str], Meta(min_length=1)] | None = None
    ref: Ref | None = None
    before_seconds: _Week = 0.0
    after_seconds: _Week = 0.0
    sources: list[SourceName] | None = None
    candidate_source_groups: Annotated[list[list[SourceName]], Meta(min_length=1)] | None = None
    """Sets of sources that are searched one by one and merged."""
    top_k: Annotated[int, Meta(ge=1, le=50)] = 5
    inspect_k: Annotated[int, Meta(ge=0, le=20)] = 3
    """Clipped to top_k."""
    threshold: Annotated[float, Meta(ge=0)] = 0.0
    occurrence_index: Annotated[int, Meta(ge=1, le=100)] | None = None
    """1 = the first by time of those that the judge verified."""
    verification_prompt: Annotated[str, Meta(min_length=1, max_length=400)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.queries and self.ref is None:
            raise ValueError("an anchor needs query, query_variants or ref")
        msgspec.structs.force_setattr(self, "inspect_k", min(self.inspect_k, self.top_k))

    @property
    def queries(self) -> tuple[str, ...]:
        """The query and its variants, each once."""
        named = [text.strip() for text in (self.query or "", *(self.query_variants or ()))]
        first: dict[str, str] = {}
        for text in filter(None, named):
            first.setdefault(text.casefold(), text)
        return tuple(first.values())


class TimeRange(_Strict, frozen=True):
    """A stretch of time: two ends, one anchor, or from one anchor to another. An open end is the memory's."""

    min: float | None = None
    max: float | None = None
    mode: TimeMode = "auto"
    anchor: Anchor | None = None
    start_anchor: Anchor | None = None
    end_anchor: Anchor | None = None

    def __post_init__(self) -> None:
        if any(end is not None and not math.isfinite(end) for end in (self.min, self.max)):
            raise ValueError("time_range.min and time_range.max must be finite")
        if self.min is not None and self.max is not None and self.max < self.min:
            raise ValueError("time_range.max must not be below time_range.min")
        pair = self.start_anchor is not None or self.end_anchor is not None
        if self.anchor is not None and pair:
            raise ValueError("time_range cannot mix anchor with start_anchor and end_anchor")
        if (self.start_anchor is None) != (self.end_anchor is None):
            raise ValueError("time_range needs both start_anchor and end_anchor")

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        """None, one, or start and end."""
        return tuple(one for one in (self.anchor, self.start_anchor, self.end_anchor) if one is not None)


class SubQuery(_Strict, frozen=True):
    """One thing to search for."""

    q: _Text
    top_k: Annotated[int, Meta(ge=1, le=200)] = 5
    inspect_k: Annotated[int, Meta(ge=0, le=50)] = 5
    """How many of the best are looked at right away; clipped to top_k."""
    threshold: Annotated[float, Meta(ge=0)] = 0.65

    def __post_init__(self) -> None:
        super().__post_init__()
        msgspec.structs.force_setattr(self, "inspect_k", min(self.inspect_k, self.top_k))


class SummaryFilter(_Strict, frozen=True):
    """Which summaries a search may find."""

    summary_structure: _Structure | None = None
    granularity_seconds: _Granularity | None = None


class _Action(_Strict, frozen=True, tag_field="action"):
    """Base of the planner's actions."""


class AnswerAction(_Action, frozen=True, tag="answer"):
    """End with an answer, and the result that proves it."""

    response: _Text
    best_ref: Ref | None = None
    thought: str = ""


class SearchAction(_Action, frozen=True, tag="search"):
    """Search pictures, event documents and summaries."""

    queries: Annotated[list[SubQuery], Meta(min_length=1)]
    time_range: TimeRange | None = None
    sources: list[SourceName] | None = None
    summary_filter: SummaryFilter | None = None
    visual_ref: Ref | None = None
    """Search by the looks of this result instead of by words."""
    joint_inspection: bool = False
    """Look at the candidates together instead of one by one."""
    inspection_prompt: str = ""
    thought: str = ""


class InspectAction(_Action, frozen=True, tag="inspect"):
    """Look at a known time or at a result."""

    prompt: _Text
    time_range: TimeRange | None = None
    ref: Ref | None = None
    max_frames: Annotated[int, Meta(ge=1, le=16)] = 6
    thought: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.time_range is None and self.ref is None:
            raise ValueError("inspect needs time_range or ref")


class SummarizeAction(_Action, frozen=True, tag="summarize"):
    """Write a reusable document for each window of a stretch of time."""

    time_range: TimeRange
    granularity_seconds: _Granularity
    prompt: _Text
    summary_structure: _Structure | None = None
    thought: str = ""


PlannerAction = AnswerAction | SearchAction | InspectAction | SummarizeAction


class RetrieveArgs(_Strict, frozen=True):
    question: _Text


class SummarizeArgs(_Strict, frozen=True, kw_only=True):
    min_time: Annotated[float, Meta(ge=0)]
    max_time: Annotated[float, Meta(ge=0)] | None = None
    time_mode: TimeMode = "auto"
    granularity_seconds: _Granularity
    summary_structure: _Structure | None = None
    prompt: _Text

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_time is not None and self.max_time < self.min_time:
            raise ValueError("max_time must not be below min_time")


class Final(_Strict, frozen=True):
    """The router's answer to what needs no memory."""

    type: Literal["final"]
    text: _Text


class Retrieve(_Strict, frozen=True):
    """The router hands the question, rewritten for retrieval, to the planner."""

    type: Literal["tool"]
    name: Literal["retrieve"]
    args: RetrieveArgs


class SummarizeTool(_Strict, frozen=True):
    """The router has summaries written."""

    type: Literal["tool"]
    name: Literal["summarize"]
    args: SummarizeArgs


Route = Final | Retrieve | SummarizeTool


class Adjudication(_Strict, frozen=True):
    """The adjudicator on one candidate."""

    match: bool
    confidence: Annotated[float, Meta(ge=0, le=1)]
    observed_event: str = ""
    reason: str = ""


class Habit(_Strict, frozen=True):
    """Something the user does again and again, with the user's own words that say so."""

    habit: _Text
    quote: _Text


class SessionNote(_Strict, frozen=True):
    """What stays of a conversation."""

    event_document: _Text
    habits: list[Habit] = []


T = TypeVar("T", bound=msgspec.Struct)
_ROUTES: dict[tuple[str, str], Any] = {("final", ""): Final, ("tool", "retrieve"): Retrieve, ("tool", "summarize"): SummarizeTool}


def decode_action(text: str) -> PlannerAction:
    """A planner's reply. Raises WireError with the key and what is wrong with it."""
    action: PlannerAction = _convert(_object(text), PlannerAction)
    return action


def decode_answer(text: str) -> AnswerAction:
    """A planner's reply where only an answer is allowed. Raises WireError."""
    answer = decode_action(text)
    if not isinstance(answer, AnswerAction):
        raise WireError('"action" must be "answer" now')
    return answer


def decode_route(text: str) -> Route:
    """A router's reply. Raises WireError."""
    raw = _object(text)
    kind = _ROUTES.get((str(raw.get("type", "")), str(raw.get("name", ""))))
    if kind is None:
        raise WireError('"type" must be "final", or "tool" with the name "retrieve" or "summarize"')
    route: Route = _convert(raw, kind)
    return route


def decode_adjudication(text: str) -> Adjudication:
    """An adjudicator's reply. Raises WireError."""
    verdict: Adjudication = _convert(_object(text), Adjudication)
    return verdict


def decode_session_note(text: str) -> SessionNote:
    """A session summariser's reply. Raises WireError."""
    note: SessionNote = _convert(_object(text), SessionNote)
    return note


def schema_of(*kinds: Any) -> dict[str, Any]:
    """JSON Schema of one of these types."""
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    whole = dict(schemas[0]) if len(schemas) == 1 else {"anyOf": list(schemas)}
    if "$ref" in whole:  # some servers want the object itself at the top
        whole = components.pop(str(whole["$ref"]).rpartition("/")[2])
    return {**whole, "$defs": components} if components else whole


ACTION_SCHEMA = schema_of(PlannerAction)
ANSWER_SCHEMA = schema_of(AnswerAction)
ROUTE_SCHEMA = schema_of(Final, Retrieve, SummarizeTool)
ADJUDICATION_SCHEMA = schema_of(Adjudication)
SESSION_SCHEMA = schema_of(SessionNote)


def _object(text: str) -> dict[str, Any]:
    """The JSON object of a reply. A code fence around it is taken off; anything else beside it breaks the format."""
    plain = re.sub(r"^\s*```(?:json)?\s*|\s*```\s*$", "", text.strip())
    try:
        raw = _meant(msgspec.json.decode(plain))
    except (msgspec.DecodeError, RecursionError) as error:
        raise WireError(f"not valid JSON: {error}") from None
    if not isinstance(raw, dict):
        raise WireError("not a JSON object")
    meant: dict[str, Any] = raw
    return meant


def _meant(value: Any) -> Any:
    """What language models write and what they mean by it: 5.0 is 5, a reference `{}` is none."""
    if isinstance(value, dict):
        return {key: _meant(item) for key, item in value.items() if item != {} or not key.endswith("ref")}
    if isinstance(value, list):
        return [_meant(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT else value


def _convert(raw: dict[str, Any], kind: Any) -> Any:
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise WireError(complaint(error)) from None
