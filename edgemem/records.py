"""The basic records: frozen and typed, shared by all packages; units are in the names.

Times are integer microseconds since 1970 UTC (`t_us`). A source also gives the monotonic time and the boot it belongs to (`mono_us`,
`boot_id`), because boards without a clock battery start in 1970 and jump when the network is available.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Image = npt.NDArray[np.uint8]
    """A picture: uint8 [height, width, 3] in BGR order."""
    Matrix = npt.NDArray[np.float32]
    """Vectors: float32 [n, dim]."""
    Vector = npt.NDArray[np.float32]
    """One vector: float32 [dim], unit length unless said otherwise."""
    Samples = npt.NDArray[np.float32]
    """Mono sound: float32 [n] at `SOUND_RATE_HZ`, -1..1."""
else:
    # msgspec resolves annotations at run time; arrays are never serialised, so any object is allowed there.
    Image = Matrix = Vector = Samples = Any

US = 1_000_000
"""Microseconds in a second."""
MOST_PIXELS = 40_000_000
"""Most pixels of a picture that are decoded at once, 120 MB: 8K video has 33 million."""
SOUND_RATE_HZ = 16_000
"""Sample rate of all sound, as speech models need it."""
BEFORE_START_US, AFTER_END_US = -(1 << 62), 1 << 62
"""Offsets before everything in a stream and after everything in it."""

Channel = Literal["frame", "event", "text", "speech", "entity"]
"""Where evidence was found; a value of `edgemem search --channel`."""
Origin = Literal["user", "system", "caption", "ocr", "asr", "document"]
"""Source of a stored text. A summary has the least trusted origin of its parts."""
_TRUST: tuple[Origin, ...] = ("user", "system", "caption", "document", "asr", "ocr")
"""From the most to the least trusted. Anyone can put text into a scene (ocr); to be heard (asr), a person must be near."""


def least_trusted(*origins: Origin) -> Origin:
    """The origin of a text that was made from others; "system" if there are none."""
    return max(origins, key=_TRUST.index, default="system")


Tier = Literal["recent", "mid", "long", "stub"]
Status = Literal["answered", "abstained", "deferred"]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all records: frozen, with keyword arguments and slots."""


class Box(Record, frozen=True, array_like=True):
    """A rectangle as fractions of the picture, 0..1, origin at the top left."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def area(self) -> float:
        """Fraction of the picture that it covers."""
        return max(0.0, self.x1 - self.x0) * max(0.0, self.y1 - self.y0)


class Frame(Record, frozen=True):
    """A picture as a source yields it. `offset_us` counts from the stream's first frame."""

    stream: str
    seq: int
    t_us: int
    offset_us: int
    image: Image
    mono_us: int = 0
    boot_id: str = ""
    """Boot of a live source; "" for a recording, whose times are used unchanged."""
    error_us: int = 0
    """Largest error of `t_us`; `clock.UNTRUSTED_US` if the clock cannot be trusted."""


class Sound(Record, frozen=True):
    """A piece of mono sound. The next piece of its stream begins where it ends, or later after a gap."""

    stream: str
    t_us: int
    offset_us: int
    """Offset of its first sample from the stream's first frame; negative for sound before that frame."""
    samples: Samples
    live: bool = False
    """Whether the sound is live: a recogniser that is too slow must leave some out."""

    @property
    def duration_us(self) -> int:
        """Length in microseconds."""
        return len(self.samples) * US // SOUND_RATE_HZ

    @property
    def end_us(self) -> int:
        """Offset just after the last sample."""
        return self.offset_us + self.duration_us


class Utterance(Record, frozen=True):
    """A piece of speech or of subtitle text."""

    stream: str
    seq: int
    t_us: int
    end_us: int
    text: str
    speaker: str = ""
    confidence: float = 1.0
    origin: Origin = "asr"


class Observation(Record, frozen=True):
    """One thing seen in one picture: a scene label, a detected object, a line of text, a dominant colour."""

    kind: Literal["label", "object", "text", "colour"]
    name: str
    score: float
    box: Box | None = None
    colour: str = ""
    """Dominant colour word of the box, if there is one (for `object` and `label`)."""


class Moment(Record, frozen=True):
    """A frame that was kept. A view returns its picture and its vectors by `id`."""

    id: int
    stream: str
    seq: int
    t_us: int
    offset_us: int
    width_px: int
    height_px: int
    sharpness: float
    tier: Tier
    segment_id: int | None = None
    role: str = ""
    """"", or the reason for its protection: "first", "last", "representative" ..."""
    pinned: bool = False


class Segment(Record, frozen=True):
    """A part of a stream, with the name of its segmenter. Different systems have different segments; each has its own."""

    id: int
    stream: str
    segmenter: str
    t0_us: int
    t1_us: int
    offset_us: int
    representative_id: int | None = None
    """The moment that represents it."""
    level: int = 0
    """0 is the lowest; segments of one segmenter are within segments of the next higher level."""
    parent_id: int | None = None
    """The segment that contains it, when that is closed."""


class Text(Record, frozen=True, kw_only=True):
    """A text about a segment or a window, or an utterance."""

    kind: str
    """"event", "caption", "summary", "text" ..."""
    text: str
    stream: str
    t0_us: int
    t1_us: int
    offset_us: int
    known_us: int
    origin: Origin
    segment_id: int | None = None
    moment_id: int | None = None
    """The moment whose picture is its evidence."""


class Document(Text, frozen=True, kw_only=True):
    """A stored text. Versioned: `known_us` is the time when it became known, `until_us` the time when it was replaced."""

    id: int
    until_us: int | None = None


class Entity(Record, frozen=True):
    """Someone or something that the memory identifies by name."""

    id: int
    kind: str
    """"person", "object", "location", "face", "voice", "concept" or "event"."""
    name: str
    aliases: tuple[str, ...] = ()
    segment_id: int | None = None
    """The segment that it represents, if it is an event."""


class Quote(Record, frozen=True):
    """Evidence of a relation: the words, their origin, and the document or the moment that contains them."""

    text: str
    origin: Origin
    document_id: int | None = None
    moment_id: int | None = None


class Relation(Record, frozen=True):
    """An edge with time, sources and versions: `source` has the relation `type` to `target` from `t0_us` to `t1_us` (EGAgent's triples,
    HOMER's edges).
    """

    id: int
    type: str
    source: Entity
    target: Entity
    stream: str
    t0_us: int
    t1_us: int
    confidence: float
    known_us: int
    quotes: tuple[Quote, ...] = ()


class Evidence(Record, frozen=True):
    """A reference to the evidence of an answer. `id` is `m<moment>`, `d<document>` or `r<relation>`; `edgemem show` opens it."""

    id: str
    channel: Channel
    stream: str
    t0_us: int
    t1_us: int
    offset_us: int
    score: float
    text: str


class Usage(Record, frozen=True):
    """Cost of a question."""

    tokens_in: int = 0
    tokens_out: int = 0
    ms: float = 0.0


class Question(Record, frozen=True):
    """A question, its time, and the time up to which the memory may be read."""

    text: str
    asked_us: int
    as_of_us: int
    options: tuple[str, ...] = ()
    tz: str = "UTC"
    """IANA time zone for "today" and "at noon"."""


class Answer(Record, frozen=True):
    """Text, option and status, with the evidence. `notes` say which fallback answered and what was uncertain."""

    question: str
    status: Status
    answer: str
    option: int | None
    confidence: float
    evidence: tuple[Evidence, ...]
    steps: int
    usage: Usage
    alternatives: tuple[Evidence, ...] = ()
    """Other possible evidence, best first; not needed for the answer."""
    unverified: tuple[str, ...] = ()
    """Parts of the question that the memory neither confirms nor denies."""
    named: tuple[str, ...] = ()
    """What the answer names that the question does not, such as the birds that it asks for."""
    notes: tuple[str, ...] = ()
