"""The lines of an export as records: what `imports` accepts, unknown fields left out. What a sound memory cannot say is refused here."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from edgemem.records import Observation, Record, Status, Tier
from edgemem.remember.entries import NewDocument, NewEntity, NewMention, NewPart, NewPassage, NewRelation, NewSession
from edgemem.remember.possible import EARLIEST_US, LATEST_US, LONGEST_US, MOST_DIM, MOST_SIDE_PX
from edgemem.remember.vectors.search import Holds

MOST_ID = 1 << 54
"""Larger ids do not fit beside the number of a vector space."""
_MOST_COUNT = 1 << 53
Time = Annotated[int, msgspec.Meta(ge=EARLIEST_US, le=LATEST_US)]
Offset = Annotated[int, msgspec.Meta(ge=-LONGEST_US, le=LONGEST_US)]
Id = Annotated[int, msgspec.Meta(ge=1, le=MOST_ID)]
Count = Annotated[int, msgspec.Meta(ge=0, le=_MOST_COUNT)]
Side = Annotated[int, msgspec.Meta(ge=1, le=MOST_SIDE_PX)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Score = Annotated[float, msgspec.Meta(ge=-1e9, le=1e9)]
"""Scores are stored in millionths."""
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
SpaceName = Annotated[str, msgspec.Meta(min_length=1, max_length=80)]
"""It becomes the name of a file, in which a letter may take twelve."""


class SpaceLine(Record, frozen=True):
    name: SpaceName
    dim: Annotated[int, msgspec.Meta(ge=1, le=MOST_DIM)]
    metric: Name = "cosine"
    calibration: dict[str, float] = msgspec.field(default_factory=dict)
    holds: Holds = "moment"


class About(Record, frozen=True):
    format: str
    version: Count
    spaces: Annotated[tuple[SpaceLine, ...], msgspec.Meta(max_length=255)]


class StreamLine(Record, frozen=True):
    name: Name
    t0_us: Time


class MomentLine(Record, frozen=True):
    id: Id
    stream: Name
    seq: Count
    t_us: Time
    offset_us: Offset
    width_px: Side
    height_px: Side
    sharpness: float
    mono_us: Annotated[int, msgspec.Meta(ge=-_MOST_COUNT, le=_MOST_COUNT)] = 0
    boot_id: str | None = None
    tier: Tier = "recent"
    role: str = ""
    role_us: Time | None = None
    protected: Literal[0, 1] = 0
    pinned: Literal[0, 1] = 0
    generation: Count | None = None
    observations: tuple[Observation, ...] = ()
    vectors: dict[str, str] = msgspec.field(default_factory=dict)
    picture: str | None = None


class SegmentLine(Record, frozen=True):
    id: Id
    stream: Name
    segmenter: str
    t0_us: Time
    t1_us: Time
    offset_us: Offset
    representative_id: int | None
    moments: tuple[int, ...]
    level: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0


class ParentLine(Record, frozen=True):
    segment_id: int
    parent_id: int


class PartLine(NewPart, frozen=True, kw_only=True):
    """Vectors are base64 here."""

    id: int
    score: Score
    t0_us: Time | None = None
    t1_us: Time | None = None


class DocumentLine(NewDocument, frozen=True, kw_only=True):
    """Vectors of passages are base64 here."""

    id: Id
    stream: Name
    t0_us: Time
    t1_us: Time
    offset_us: Offset
    known_us: Time
    until_us: Time | None = None
    passages: tuple[NewPassage, ...] = ()
    confidence: Share = 1.0


class EntityLine(NewEntity, frozen=True, kw_only=True):
    """Vectors are base64 here."""

    id: Id
    kind: Literal["person", "object", "location", "face", "voice", "concept", "event"]
    known_us: Time
    vectors: dict[str, str] = msgspec.field(default_factory=dict)


class AliasLine(Record, frozen=True):
    entity_id: int
    name: str
    known_us: Time
    until_us: Time | None = None


class MergeLine(Record, frozen=True):
    from_id: int
    into_id: int
    known_us: Time
    until_us: Time | None = None


class MentionLine(NewMention, frozen=True, kw_only=True):
    known_us: Time
    score: Score = 1.0


class RelationLine(NewRelation, frozen=True, kw_only=True):
    id: Id
    stream: Name
    t0_us: Time
    t1_us: Time
    known_us: Time
    until_us: Time | None = None
    confidence: Share = 1.0


class CameUpLine(Record, frozen=True):
    kind: Literal["m", "d", "s", "r"]
    id: Annotated[int, msgspec.Meta(ge=-MOST_ID, le=MOST_ID)]
    stream: str | None = None
    t0_us: int | None = None
    t1_us: int | None = None


class SessionLine(NewSession, frozen=True, kw_only=True):
    """`request` and `logprobs` of calls are hexadecimal here; before version 3 of the format each call was JSON."""

    status: Status
    tokens_in: Count = 0
    tokens_out: Count = 0
    option: Count | None = None
    calls: tuple[Any, ...] = ()
    came_up: tuple[CameUpLine, ...] = ()


LINES: dict[str, type[Record]] = {
    "streams": StreamLine,
    "moments": MomentLine,
    "segments": SegmentLine,
    "parents": ParentLine,
    "documents": DocumentLine,
    "entities": EntityLine,
    "aliases": AliasLine,
    "merges": MergeLine,
    "parts": PartLine,
    "mentions": MentionLine,
    "relations": RelationLine,
    "sessions": SessionLine,
}
