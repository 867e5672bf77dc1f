"""Records that are passed to the store (moments, segments, documents and others before they have an id), and the moments that retainers
get.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, Protocol

import msgspec

from edgemem.errors import EngineError
from edgemem.records import Box, Matrix, Observation, Origin, Quote, Record, Status, Text, Tier, Vector

_log = logging.getLogger(__name__)


class NewMoment(Record, frozen=True, kw_only=True):
    """A frame to keep. `vectors` maps a space's name to a unit vector of that space."""

    stream: str
    seq: int
    t_us: int
    offset_us: int
    mono_us: int = 0
    boot_id: str = ""
    width_px: int
    height_px: int
    sharpness: float
    jpeg: bytes
    vectors: dict[str, Vector]
    observations: tuple[Observation, ...] = ()
    role: str = ""


class Retainable(Record, frozen=True, kw_only=True):
    """A moment as input of a retainer. `generation`: how often its picture was compressed again, 0 = never."""

    id: int
    stream_id: int
    t_us: int
    tier: Tier
    protected: bool
    pinned: bool
    generation: int


class NewSegment(Record, frozen=True, kw_only=True):
    """A part of a stream that a segmenter closed, with the moments in it."""

    stream: str
    segmenter: str
    t0_us: int
    t1_us: int
    offset_us: int
    moment_ids: tuple[int, ...]
    representative_id: int | None = None
    level: int = 0
    parent_id: int | None = None
    """The segment that contains this one, if it is stored already; else `Transaction.set_parent` sets it later."""


class NewPassage(Record, frozen=True, kw_only=True):
    """A text of a document that is compared with a question: the whole document, a part of it, or a field such as its people or places.

    `vectors` maps the name of a space that holds passages to a unit vector of that space.
    """

    kind: Literal["document", "chunk", "field"]
    text: str
    vectors: dict[str, Vector]


class NewDocument(Text, frozen=True, kw_only=True):
    """Text about an interval of time. It exists for views whose cut-off is `known_us` or later.

    A document of kind "utterance" was said: `speaker_id` is the entity who said it, `confidence` says how reliable the words are.
    """

    passages: tuple[NewPassage, ...] = ()
    speaker_id: int | None = None
    confidence: float = 1.0


class Embeds(Protocol):
    """Converts texts to vectors of one space, such as an engine with the role `embed_text`."""

    @property
    def space(self) -> Named: ...

    def embed_text(self, texts: Sequence[str]) -> Matrix: ...


class Named(Protocol):
    """A vector space; only its name is used here."""

    @property
    def name(self) -> str: ...


def embedded(new: NewDocument, embedder: Embeds | None) -> NewDocument:
    """The document, with a vector added to each passage that has none.

    Without an embedder, or where it fails as one behind a server may, passages without a vector are removed: the document is then found by
    its words alone. A failure is logged.
    """
    bare = [passage for passage in new.passages if not passage.vectors]
    if not bare:
        return new
    if embedder is None:
        return msgspec.structs.replace(new, passages=tuple(passage for passage in new.passages if passage.vectors))
    try:
        vectors = iter(embedder.embed_text([passage.text for passage in bare]))
    except EngineError as error:
        _warn_once(f"documents are found by their words alone: {error}")
        return embedded(new, None)
    name = embedder.space.name
    filled = (p if p.vectors else msgspec.structs.replace(p, vectors={name: next(vectors)}) for p in new.passages)
    return msgspec.structs.replace(new, passages=tuple(filled))


@lru_cache(maxsize=64)
def _warn_once(line: str) -> None:
    _log.warning(line)


class NewPart(Record, frozen=True, kw_only=True):
    """A part of a moment (a box in its picture) or of a document (an interval of an utterance): exactly one of the two ids is set.

    `vectors` maps the name of a space that holds parts to a unit vector of that space.
    """

    kind: str
    """"face", "object", "voice" ..."""
    score: float
    moment_id: int | None = None
    document_id: int | None = None
    box: Box | None = None
    t0_us: int | None = None
    t1_us: int | None = None
    """The interval of the part; None = the time of the whole moment or document."""
    vectors: dict[str, Vector] = msgspec.field(default_factory=dict)
    entity_id: int | None = None
    """Who or what it shows, if known."""


class NewEntity(Record, frozen=True, kw_only=True):
    """Someone or something with a name. Two with the same kind and name are one entity, known since the earlier of the two times."""

    kind: str
    name: str
    known_us: int
    segment_id: int | None = None


class NewMention(Record, frozen=True, kw_only=True):
    """A place where an entity was seen or mentioned: at least one of `document_id` and `moment_id` is set."""

    entity_id: int
    known_us: int
    document_id: int | None = None
    moment_id: int | None = None
    score: float = 1.0


class NewRelation(Record, frozen=True, kw_only=True):
    """A relation between two entities in one interval of time."""

    type: str
    source_id: int
    target_id: int
    stream: str
    t0_us: int
    t1_us: int
    known_us: int
    confidence: float = 1.0
    quotes: tuple[Quote, ...] = ()


class NewStep(Record, frozen=True, kw_only=True):
    """One step of an answer: its action and its result, as JSON."""

    actor: str
    action_json: str
    result_json: str
    ms: float


class SessionFields(Record, frozen=True, kw_only=True):
    """A question, its answer, and the cost of the answer."""

    question: str
    recipe: str
    planner: str
    asked_us: int
    as_of_us: int
    status: Status
    answer: str
    option: int | None = None
    confidence: float
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float = 0.0
    ms: float = 0.0
    notes: tuple[str, ...] = ()


class NewCall(Record, frozen=True, kw_only=True):
    """One call of a language model, with everything needed to repeat it. It belongs to the step with this number, from 1."""

    step: int
    task: str
    model: str
    request: bytes
    """MessagePack: messages with the ids of their pictures, schema, settings."""
    reply: str
    finish: str = ""
    """Why the reply ended, as the server states it."""
    tokens_in: int = 0
    tokens_out: int = 0
    ms: float = 0.0
    usd: float = 0.0
    error: str = ""
    logprobs: bytes = b""
    """MessagePack; empty if none were requested."""


class NewSession(SessionFields, frozen=True, kw_only=True):
    """A question, its answer and its steps. `evidence`: the ids of everything that was found (m12, d3)."""

    steps: tuple[NewStep, ...] = ()
    calls: tuple[NewCall, ...] = ()
    evidence: tuple[str, ...] = ()


class NewJob(Record, frozen=True, kw_only=True):
    """Work for a writer of this name, to be done for a stream when the board is idle. `payload` is the writer's own."""

    writer: str
    stream: str
    payload: bytes


class Postponed(Record, frozen=True, array_like=True):
    """What a job contains: the writer's payload and the origins of the words that the writer was shown."""

    payload: bytes
    shown: tuple[Origin, ...]


class Job(Record, frozen=True, kw_only=True):
    """Work that a writer postponed, with a lease: it must be done before the lease ends, and then be finished or failed."""

    id: int
    writer: str
    stream: str
    payload: bytes
    attempt: int
    """Number of this attempt, from 1."""
