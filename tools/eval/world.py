"""The truth of a composed stream: the records of `truth.json`, phrases for things, and when they were in view."""

import random
import re
from datetime import datetime, timedelta

import msgspec
from media import Item
from segment import Segment

Span = tuple[float, float]
CONTENT = ("scene", "photo", "clip", "sign")
MASS = {
    "garlic",
    "corn",
    "broccoli",
    "flames",
    "fire",
    "electronics",
    "graffiti",
    "gravel",
    "fog",
    "coffee",
    "food",
    "money",
    "candy",
    "sudoku",
    "cattle",
    "glass",
}
PROPER = {"Eiffel Tower": "the ", "Starry Night": "", "Saturn": "", "Big Buck Bunny": ""}
NEVER = """accordion|harp|saxophone|grand piano|submarine|helicopter|excavator|skateboard|surfboard|wheelchair|umbrella|suitcase
|backpack|handbag|wristwatch|necklace|crown|sunglasses|microscope|telescope|typewriter|laptop|printer|vacuum cleaner
|washing machine|refrigerator|toaster|microwave oven|hair dryer|sewing machine|lawnmower|ladder|wheelbarrow|chainsaw|axe
|anvil|hammock|tent|fishing rod|fire extinguisher|traffic light|parking meter|phone booth|windmill|lighthouse|castle|igloo
|volcano|waterfall|iceberg|cactus|coconut|watermelon|artichoke|cauliflower|cucumber|pretzel|croissant|hamburger|hot dog
|sushi|birthday cake|ice cream|doughnut|jellyfish|octopus|shark|starfish|crab|snail|spider|scorpion|snake|crocodile|turtle
|llama|panda|wolf|skunk|hamster|sloth|walrus|bowling pin|golf club|boxing gloves|toy train|lego bricks|scarecrow|robot
|satellite dish|wind turbine|escalator|swimming pool|chandelier|fireplace|bathtub|bunk bed|filing cabinet"""


class Question(msgspec.Struct, frozen=True):
    """One question, and the rule that decides whether an answer is right.

    `check` names the rule: text (one of `accept` is in the answer), place (as text, or the first evidence is right), time (a time in the
    answer lies in `spans`), count, yesno, option. `spans` are acceptable evidence in seconds.
    """

    id: str
    kind: str
    text: str
    difficulty: str
    check: str
    as_of: str
    answerable: bool = True
    accept: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    option: int | None = None
    yes: bool | None = None
    count: int | None = None
    spans: tuple[Span, ...] = ()


class Truth(msgspec.Struct, frozen=True):
    """All of `truth.json`: `start` is the wall time of the first frame, `seconds` the length."""

    seed: int
    video: str
    start: str
    seconds: float
    size: tuple[int, int]
    segments: list[Segment]
    questions: list[Question]


class Phrase(msgspec.Struct, frozen=True):
    """Words for a thing and their difficulty: exact, synonym, colour or kind."""

    words: str
    difficulty: str

    @property
    def the(self) -> str:
        return PROPER.get(self.words, "the ") + self.words

    @property
    def a(self) -> str:
        words = self.words
        if words in PROPER:
            return self.the
        if words.split()[-1] in MASS or re.search(r"[^us]s$|people|children", words):
            return words
        return ("an " if words[0].lower() in "aeiou" else "a ") + words


class World:
    """A stream, for making questions."""

    def __init__(self, segments: list[Segment], start: datetime, catalog: list[Item]) -> None:
        self.segments, self.start, self.catalog = segments, start, catalog
        self.end = segments[-1].t1
        self.midnight_s = 86400.0 - (start - start.replace(hour=0, minute=0, second=0)).total_seconds()
        self.tags = frozenset(tag for segment in segments for tag in segment.tags)
        self.shown = list(dict.fromkeys(item for segment in segments for item in segment.things))
        self.content = [segment for segment in segments if segment.what in CONTENT]
        self.signs = [segment for segment in segments if segment.sign and segment.what in CONTENT]

    def spans(self, words: str) -> tuple[Span, ...]:
        """When something of that name was in view; adjacent showings are merged."""
        return _merge([(s.t0, s.t1) for s in self.segments if words.lower() in s.tags])

    def clock(self, at_s: float) -> str:
        return f"{self.start + timedelta(seconds=at_s):%H:%M:%S}"

    def iso(self, at_s: float) -> str:
        return (self.start + timedelta(seconds=at_s)).isoformat(timespec="seconds").replace("+00:00", "Z")

    def phrase(self, rng: random.Random, item: Item, *, plain: bool = False) -> Phrase:
        """Words for an item that was shown; `plain` leaves out hypernyms, which are true of too many things."""
        ways = [Phrase(item.name, "exact")] * 4 + [Phrase(word, "synonym") for word in item.ask[1:]] * 2
        if item.colour:
            ways.append(Phrase(f"{item.colour} {item.name.removeprefix(item.colour + ' ')}", "colour"))
        if item.kinds and not plain:
            ways.append(Phrase(item.kinds[0], "kind"))
        ways = [way for way in ways if way.words.lower() in item.tags]
        return rng.choice(ways)

    def thing(self, rng: random.Random, *, plain: bool = False) -> Phrase:
        return self.phrase(rng, rng.choice(self.shown), plain=plain)

    def once(self, rng: random.Random) -> tuple[Phrase, Span] | None:
        """A phrase that is true of one showing only, and its time."""
        for _ in range(20):
            phrase = self.thing(rng, plain=True)
            spans = self.spans(phrase.words)
            if len(spans) == 1:
                return phrase, spans[0]
        return None

    def never(self, rng: random.Random) -> Phrase:
        """Words that are true of nothing in the stream: from a list of unrelated things, or of a catalogue item not shown."""
        absent = [name.strip() for name in NEVER.split("|")]
        unseen = [item.name for item in self.catalog if item.role in ("object", "photo")]
        words = {word for tag in self.tags for word in tag.split()}
        while True:
            name = rng.choice(absent if rng.random() < 0.6 else unseen)
            if name.lower() not in self.tags and name.lower().split()[-1] not in words:
                return Phrase(name, "never")


def _merge(spans: list[Span]) -> tuple[Span, ...]:
    merged: list[Span] = []
    for t0, t1 in sorted(spans):
        if merged and t0 <= merged[-1][1] + 0.05:
            merged[-1] = (merged[-1][0], max(t1, merged[-1][1]))
        else:
            merged.append((t0, t1))
    return tuple(merged)


def words_of(segment: Segment) -> tuple[str, ...]:
    return (*sorted(segment.tags), *(segment.sign.lines if segment.sign else ()))
