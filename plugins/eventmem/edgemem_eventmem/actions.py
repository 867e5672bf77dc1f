"""What a planner may ask of the two memories, as typed actions, and what comes back. Unknown keys are refused."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from edgemem.extend import Box, Evidence, Record, ToolResult
from edgemem_eventmem.recall import LongTermEvent, ShortTermFrame

Label = Annotated[str, Meta(min_length=1, max_length=60)]


class _Action(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="action"):
    """Base of the actions."""


class RecallFrames(_Action, frozen=True, tag="short_term"):
    """The frames of short-term memory."""

    frames: Annotated[int, Meta(ge=1, le=512)] = 32


class SearchMemory(_Action, frozen=True, tag="search_memory"):
    """Events of long-term memory, by words or by a stretch of time (section 3.3, appendix C.1; a model never gives both, see `wire`). Words
    are searched for within the stretch of time that the question names, where it names one.
    """

    query: Annotated[str, Meta(max_length=400)] = ""
    from_us: int | None = None
    to_us: int | None = None

    def __post_init__(self) -> None:
        if not self.query.strip() and self.from_us is None and self.to_us is None:
            raise ValueError("search_memory takes either a query or a stretch of time")


class ReadPicture(_Action, frozen=True, tag="ocr"):
    """The text in one picture: the first frame of an event, or a frame of short-term memory."""

    event_id: int | None = None
    frame_index: int | None = None

    def __post_init__(self) -> None:
        if (self.event_id is None) == (self.frame_index is None):
            raise ValueError("ocr takes either event_id or frame_index")


class DetectObjects(_Action, frozen=True, tag="detect_objects"):
    """Where these objects are in one picture; without a picture in the last frame of short-term memory."""

    labels: Annotated[tuple[Label, ...], Meta(min_length=1, max_length=20)]
    event_id: int | None = None
    frame_index: int | None = None

    def __post_init__(self) -> None:
        if self.event_id is not None and self.frame_index is not None:
            raise ValueError("detect_objects takes either event_id or frame_index")


class Frames(ToolResult, frozen=True):
    """Result: short-term memory, oldest first."""

    frames: tuple[ShortTermFrame, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    stream_t0_us: int = 0
    """Time of the first frame of its stream: seconds are counted from there."""


class Events(ToolResult, frozen=True):
    """Result of a search: at most three events."""

    events: tuple[LongTermEvent, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    notes: tuple[str, ...] = ()


class Found(Record, frozen=True):
    """Something found in a picture. `asked` is the label it was found for; "" for text."""

    name: str
    confidence: float
    box: Box | None = None
    asked: str = ""


class Looked(ToolResult, frozen=True):
    """Result of looking at one picture."""

    found: tuple[Found, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    """The picture."""
    unknown: tuple[str, ...] = ()
    """Labels that no detector here knows: not finding them says nothing."""
    notes: tuple[str, ...] = ()
