"""The nouns. Frozen, typed records that may cross from one room to another; units are in the names.

Times are integer microseconds since 1970 UTC (`t_us`). A source also gives the monotonic time and the boot it belongs to
(`mono_us`, `boot_id`), because boards without a clock battery start in 1970 and jump when the network comes.
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
    # msgspec resolves annotations at run time; arrays never cross a wire, so any object will do there.
    Image = Matrix = Vector = Samples = Any

US = 1_000_000
"""Microseconds in a second."""
MOST_PIXELS = 40_000_000
"""Most pixels of a picture that are decoded at once, 120 MB: 8K video has 33 million."""
SOUND_RATE_HZ = 16_000
"""Sample rate of all sound: what speech models take."""
BEFORE_START_US, AFTER_END_US = -(1 << 62), 1 << 62
"""Offsets before everything in a stream and after everything in it."""

Channel = Literal["frame", "event", "text", "speech", "entity"]
"""Where evidence was found, as `edgemem search --channel` names it."""
Origin = Literal["user", "system", "caption", "ocr", "asr", "document"]
"""Who said a stored string. A summary inherits the least trusted of its parts."""
_TRUST: tuple[Origin, ...] = ("user", "system", "caption", "document", "asr", "ocr")
"""From the most to the least trusted. What stands in the scene (ocr) anyone can put there; to be heard they must be near."""


def least_trusted(*origins: Origin) -> Origin:
    """The origin of a text that was made from others. Of none it is the system's own."""
    return max(origins, key=_TRUST.index, default="system")


Tier = Literal["recent", "mid", "long", "stub"]
Status = Literal["answered", "abstained", "deferred"]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every noun: frozen, named, slotted."""


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
    """Of a live source; "" for a recording, whose times are taken as they are given."""
    error_us: int = 0
    """How far off `t_us` may be; `clock.UNTRUSTED_US` where the clock cannot be trusted."""


class Sound(Record, frozen=True):
    """A stretch of mono sound. The next one of its stream begins where it ends, or later: a gap."""

    stream: str
    t_us: int
    offset_us: int
    """Of its first sample, counted from the stream's first frame: sound that begins before it has a negative one."""
    samples: Samples
    live: bool = False
    """What comes next does not wait: a recogniser that falls behind must leave something out."""

    @property
    def duration_us(self) -> int:
        """Length in microseconds."""
        return len(self.samples) * US // SOUND_RATE_HZ

    @property
    def end_us(self) -> int:
        """Offset just after the last sample."""
        return self.offset_us + self.duration_us


class Utterance(Record, frozen=True):
    """A stretch of speech or of subtitle text."""

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
    """Dominant colour word of the box, where one stands out (for `object` and `label`)."""


class Moment(Record, frozen=True):
    """A frame that was kept. Its picture and its vectors are fetched through the view by `id`."""

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
    """"", or what protects it: "first", "last", "representative" ..."""
    pinned: bool = False


class Segment(Record, frozen=True):
    """A stretch of a stream, named by the segmenter that cut it. Five systems have five notions; each keeps its own."""

    id: int
    stream: str
    segmenter: str
    t0_us: int
    t1_us: int
    offset_us: int
    representative_id: int | None = None
    """The moment that stands for it."""
    level: int = 0
    """0 is the lowest; those of one segmenter lie in segments of the level above."""
    parent_id: int | None = None
    """The segment that it lies in, once that closed."""


class Text(Record, frozen=True, kw_only=True):
    """What is written about a segment or a window, or was said then."""

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
    """The moment whose picture proves it."""


class Document(Text, frozen=True, kw_only=True):
    """A text that is stored. Versioned: `known_us` is when it became known, `until_us` when replaced."""

    id: int
    until_us: int | None = None


class Entity(Record, frozen=True):
    """Someone or something that the memory tells apart by name."""

    id: int
    kind: str
    """"person", "object", "location", "face", "voice", "concept" or "event"."""
    name: str
    aliases: tuple[str, ...] = ()
    segment_id: int | None = None
    """The segment that it stands for, where it is an event."""


class Quote(Record, frozen=True):
    """What a relation rests on: the words, who said them, and the document or the picture they come from."""

    text: str
    origin: Origin
    document_id: int | None = None
    moment_id: int | None = None


class Relation(Record, frozen=True):
    """A timed, sourced, versioned edge: `source` did `type` to `target` from `t0_us` to `t1_us` (EGAgent's triples, HOMER's edges)."""

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
    """A pointer to what proves an answer. `id` is `m<moment>`, `d<document>` or `r<relation>`; `edgemem show` opens it."""

    id: str
    channel: Channel
    stream: str
    t0_us: int
    t1_us: int
    offset_us: int
    score: float
    text: str


class Usage(Record, frozen=True):
    """What a question cost."""

    tokens_in: int = 0
    tokens_out: int = 0
    ms: float = 0.0


class Question(Record, frozen=True):
    """What is asked, when, and up to which time the memory may be read."""

    text: str
    asked_us: int
    as_of_us: int
    options: tuple[str, ...] = ()
    tz: str = "UTC"
    """IANA zone in which "today" and "at noon" are meant."""


class Answer(Record, frozen=True):
    """Text, option and status, with the evidence. `notes` say which fallback answered and what was unsure."""

    question: str
    status: Status
    answer: str
    option: int | None
    confidence: float
    evidence: tuple[Evidence, ...]
    steps: int
    usage: Usage
    alternatives: tuple[Evidence, ...] = ()
    """What else it might be, best first; never needed for the answer."""
    unverified: tuple[str, ...] = ()
    """Parts of the question that nothing in the memory shows or denies."""
    notes: tuple[str, ...] = ()
