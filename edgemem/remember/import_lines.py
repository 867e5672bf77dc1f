"""The lines of an export as records, as `imports` accepts them. Unknown fields are ignored."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from edgemem.records import Observation, Record, Tier
from edgemem.remember.entries import NewDocument, NewEntity, NewMention, NewPart, NewRelation, NewSession
from edgemem.remember.vectors.search import Holds


class SpaceLine(Record, frozen=True):
    name: str
    dim: int
    metric: str = "cosine"
    calibration: dict[str, float] = msgspec.field(default_factory=dict)
    holds: Holds = "moment"


class About(Record, frozen=True):
    format: str
    version: int
    spaces: tuple[SpaceLine, ...]


class StreamLine(Record, frozen=True):
    name: str
    t0_us: int


class MomentLine(Record, frozen=True):
    id: int
    stream: str
    seq: int
    t_us: int
    offset_us: int
    width_px: int
    height_px: int
    sharpness: float
    mono_us: int = 0
    boot_id: str | None = None
    tier: Tier = "recent"
    role: str = ""
    role_us: int | None = None
    protected: int = 0
    pinned: int = 0
    generation: int | None = None
    observations: tuple[Observation, ...] = ()
    vectors: dict[str, str] = msgspec.field(default_factory=dict)
    picture: str | None = None


class SegmentLine(Record, frozen=True):
    id: int
    stream: str
    segmenter: str
    t0_us: int
    t1_us: int
    offset_us: int
    representative_id: int | None
    moments: tuple[int, ...]
    level: int = 0


class ParentLine(Record, frozen=True):
    segment_id: int
    parent_id: int


class PartLine(NewPart, frozen=True):
    """Vectors are base64 here."""

    id: int


class DocumentLine(NewDocument, frozen=True):
    """Vectors of passages are base64 here."""

    id: int
    until_us: int | None = None


class EntityLine(NewEntity, frozen=True):
    """Vectors are base64 here."""

    id: int
    vectors: dict[str, str] = msgspec.field(default_factory=dict)


class AliasLine(Record, frozen=True):
    entity_id: int
    name: str
    known_us: int
    until_us: int | None = None


class MergeLine(Record, frozen=True):
    from_id: int
    into_id: int
    known_us: int
    until_us: int | None = None


class RelationLine(NewRelation, frozen=True):
    id: int
    until_us: int | None = None


class CameUpLine(Record, frozen=True):
    kind: Literal["m", "d", "s", "r"]
    id: int
    stream: str | None = None
    t0_us: int | None = None
    t1_us: int | None = None


class SessionLine(NewSession, frozen=True):
    """`request` and `logprobs` of calls are hexadecimal here; before version 3 of the format each call was JSON."""

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
    "mentions": NewMention,
    "relations": RelationLine,
    "sessions": SessionLine,
}
