"""What a question means, as one typed record.

Things are named as they are said, without articles and counts: "cups of coffee", "house with the blue gate"; those of a clause that
only tells the time ("when the phone rang") are left out. A person is a name, a role ("plumber") or, of somebody spoken of, "he" or
"she". A place is what stands behind a preposition of place, or "here", "upstairs". The predicate is the deed as a participle with its
particle ("turned off"), two deeds where one says how the other goes ("started ironing"), a comparison ("taller", "more often"), a
state, or the attribute that is asked for ("price", "full"); seeing, saying, being, having, going somewhere and putting down are none.
A relative clause gives its deed where the main clause has none: "everything I bought".
"""

from __future__ import annotations

from typing import Literal

from edgemem.answer.understand.people import Asked
from edgemem.answer.understand.timeref import TimeRef
from edgemem.records import Evidence, Record

Kind = Literal[
    "where", "when", "what", "who", "which", "order", "how_many", "how_long", "how_why", "yes_no", "list", "summary", "command", "other"
]
Form = Literal[
    "", "time", "date", "number", "code", "name", "place", "colour", "price", "topic", "duration", "address", "person", "frequency", "phone"
]  # fmt: skip
"""What kind of words answer it; "" where the question does not say."""
Hint = Literal["none", "seen", "read", "said"]
Relation = Literal["", "before", "after", "between", "while", "side"]
About = Literal["", "nothing", "told", "clock", "recording", "itself", "device", "here"]
"""What a text is about that asks for nothing that was seen, read or said: nothing ("good morning"), the answer before ("are you sure"), the
time of day, the recording as a whole, edgemem itself, how its device is, the place where one is now.
"""


class Answered(Record, frozen=True):
    """What a question was answered, for the questions that go on about it."""

    text: str = ""
    names: tuple[str, ...] = ()
    """What the answer names and the question does not, such as the birds that it asks for."""
    evidence: tuple[Evidence, ...] = ()
    """What it cites, best first."""
    earlier: bool = False
    """That is what an earlier answer cited: this one told nothing."""
    beside: str = ""
    """What the conversation was about before, where that was something else."""


class Parsed(Record, frozen=True):
    """A question as planners see it. Every value but the tables' names is a part of the question, in lower case."""

    kind: Kind
    text: str = ""
    """The question in its normal form."""
    core: str = ""
    """The same without greetings and without why it is asked."""
    form: Form = ""
    things: tuple[str, ...] = ()
    """What it is about, with attributes, without articles: "red mug"."""
    person: str = ""
    place: str = ""
    """Where a thing is said to be, without the preposition's object being checked yet: "in the kitchen"."""
    predicate: str = ""
    """What is claimed of the thing or asked about it: an action ("bought") or a state ("locked"); "" for seeing and being there."""
    verb: str = ""
    """Base of the main verb, "" without one."""
    without: tuple[str, ...] = ()
    """What is left out of what is asked: "apart from the dog". It stands in no other field."""
    negated: bool = False
    hint: Hint = "none"
    """Which channel the wording points at. It weighs, and decides nothing."""
    ordinal: int = 0
    """1 = first, 2 = second ..., -1 = last, 0 = not said."""
    relation: Relation = ""
    anchors: tuple[str, ...] = ()
    """What the relation refers to: one thing, two for "between"."""
    choices: tuple[str, ...] = ()
    """Things to choose from, named inside the question: "the cat or the rocket"."""
    quote: str = ""
    """Words that were read, given in the question: the word "EXIT"."""
    counts: Literal["", "times", "at_once"] = ""
    """For `how_many`: appearances, or things visible together."""
    time: TimeRef | None = None
    clause: str = ""
    """The event that a time refers to, as said: "when the phone rang"."""
    words: tuple[str, ...] = ()
    """Every content word, without those of the time."""
    about: About = ""
    command: str = ""
    """What is to be done, where it is no question: "delete"."""
    language: str = "en"
    follows: bool = False
    """It goes on about a question that is not known: "and the one before?"."""
    answered: Answered | None = None
    """What it was answered, where it is the question before."""
    near: Evidence | None = None
    """Of the answer before the appearance that it goes on about: "how long was it there?"."""
    anchor: Evidence | None = None
    """Of the answer before what its relation refers to: "what was said then?"."""
    step: int = 0
    """So many appearances behind that one, or before it: "and the one after that?"."""
    asked: Asked | None = None
    """What is asked about people, what they did and what they said."""
    second: str = ""
    """A second question that is asked with it."""
    notes: tuple[str, ...] = ()

    @property
    def question(self) -> str:
        """What of the text asks."""
        return self.core or self.text

    @property
    def target(self) -> str:
        """The first thing, "" without one."""
        return self.things[0] if self.things else ""
