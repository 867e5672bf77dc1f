"""Results of a view other than the basic records: streams, postings, text hits, totals."""

from __future__ import annotations

from edgemem.records import Box, Document, Entity, Record
from edgemem.remember.entries import NewSession, SessionFields


class Stream(Record, frozen=True):
    """A stream that has moments; `t1_us` is the time of its newest one."""

    name: str
    t0_us: int
    t1_us: int
    moments: int


class Posting(Record, frozen=True):
    """One observation of a name. `area` is the fraction of the picture, 0 without a box."""

    moment_id: int
    t_us: int
    kind: str
    name: str
    score: float
    colour: str
    area: float


class TextHit(Record, frozen=True):
    """A document that a text search found. A larger `rank` is better (BM25; comparable within one query only)."""

    document: Document
    rank: float
    snippet: str


class PassageHit(Record, frozen=True):
    """A passage that a vector search found, with its document. `score` is the exact cosine."""

    document: Document
    passage_kind: str
    """"document", "chunk" or "field"."""
    text: str
    score: float


class StoredPart(Record, frozen=True):
    """A part of a moment or of a document: an object, a face, a voice. `entity` is None while it is unknown."""

    id: int
    kind: str
    moment_id: int | None
    document_id: int | None
    stream: str
    t0_us: int
    t1_us: int
    score: float
    box: Box | None
    entity: Entity | None


class PartHit(Record, frozen=True):
    """A part that a vector search found. `score` is the exact cosine."""

    part: StoredPart
    score: float


class EntityHit(Record, frozen=True):
    """An entity that a vector search found. `score` is the exact cosine of the nearest of its vectors."""

    entity: Entity
    score: float


class JobState(Record, frozen=True):
    """A job that waits, is being done, or was given up; `error`: the reason of its last failure."""

    id: int
    writer: str
    stream: str
    due_us: int
    attempts: int
    given_up: bool
    error: str


class Spoken(Record, frozen=True):
    """An utterance. `confidence` is that of its words; `speaker` is None if unknown."""

    document: Document
    speaker: Entity | None
    confidence: float


class SessionHead(SessionFields, frozen=True):
    """A question and its answer, without the steps."""

    id: int


class SessionLog(NewSession, frozen=True):
    """A question, its answer, and every step between them."""

    id: int


class Stats(Record, frozen=True):
    """Content and size of a memory. Counts are of what the view can see; bytes are of the whole directory."""

    disk_bytes: int
    budget_bytes: int | None
    moments: int
    tiers: dict[str, int]
    segments: int
    documents: int
    entities: int
    relations: int
    oldest_us: int | None
    newest_us: int | None
    foreign_files: int = 0
    """What lies in the directory and is not edgemem's; it counts in `disk_bytes` and in the budget."""
    foreign_bytes: int = 0
    encrypted: bool = False
    paused: bool = False
