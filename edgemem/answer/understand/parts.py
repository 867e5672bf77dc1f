"""What a clause is made of: its words, and the phrases and deeds that `clause` finds in them."""

from __future__ import annotations

import re

from edgemem.answer.understand.lexicon import rewritten
from edgemem.answer.understand.wordings import pattern
from edgemem.records import Record


class Phrase(Record, frozen=True):
    """A thing, person or place as it is named."""

    words: tuple[str, ...]
    prep: str
    """The preposition in front of it, with its article."""
    at: int
    """Its place among the words of the clause."""
    end: int
    either: bool
    """It stands behind "or"."""
    chained: bool
    """Only a comma, "or" or "and" stands between it and the phrase before."""
    near: bool
    """Behind "close to", "nearer to"."""
    named: bool
    """An article or the like stands in front of it."""
    inner: tuple[str, ...] = ()
    """A phrase inside it: "blue gate" of "house with the blue gate"."""

    @property
    def text(self) -> str:
        return " ".join(self.words)


class VerbPhrase(Record, frozen=True):
    """A verb with what belongs to it."""

    base: str
    said: str
    at: int
    particle: str = ""
    then: str = ""
    """A second verb: "ironing" of "start ironing"."""
    relative: bool = False
    pronoun: str = ""
    """Who does it, where a pronoun says so."""


class Clause(Record, frozen=True):
    """What a question names, in order."""

    phrases: tuple[Phrase, ...] = ()
    deeds: tuple[VerbPhrase, ...] = ()
    state: str = ""
    where: str = ""
    """An adverb of place: "upstairs"."""


def tokens_of(text: str) -> list[str]:
    """Words and commas; short forms in full, and prepositions of several words as one ("on&top&of")."""
    text = pattern("COMPOUND").sub(lambda match: match[0].replace(" ", "&"), rewritten(text, "IN_FULL"))
    return re.findall(r"[^\W_]+(?:['&.-][^\W_]+)*\.?(?=\s|$)|[^\W_]+(?:['&-][^\W_]+)*|,", text)
