"""Slips in spelling: an unknown word that is one slip away from a known one is taken for that one.

The slips are those of Damerau (Communications of the ACM 7/3, 1964) but for a consonant in place of another, which makes one thing
another. Known are the words of grammar, of the labels with their explanations, and of LemmInflect's dictionary, whose words are never
changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from edgemem.answer.understand import lexicon
from edgemem.answer.understand.timeref import CALENDAR
from edgemem.answer.understand.words import NUMBERS
from edgemem.infer.labels import read_table

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_VOWELS = "aeiouy"
_SHORTEST = 3
"""Shorter words have too many neighbours one letter away."""
_LONG = 5
"""From this length on the other word may be any known one, below only a verb or a word of grammar."""


@cache
def _common() -> frozenset[str]:
    """Words of grammar and of time, and the words of labels and their explanations."""
    texts = (text for row in read_table() for text in (row.name, *row.synonyms, *row.hypernyms, row.gloss))
    labels = frozenset(word for text in texts for word in re.findall(r"\b[a-z]{3,}\b", text))
    return labels | lexicon.STOP | lexicon.STATES | lexicon.PERSONS | CALENDAR | lexicon.VERBS.keys() | NUMBERS.keys()


@cache
def _grammar() -> frozenset[str]:
    return frozenset(word for word in lexicon.STOP | lexicon.PERSONS | lexicon.KNOWN | lexicon.VERBS.keys() if len(word) > _SHORTEST)


def _slips(word: str) -> Iterator[str]:
    """The commonest slips undone: two letters swapped, one doubled or not, a vowel for a vowel. The first letter stays."""
    for i in range(1, len(word)):
        head, letter, tail = word[:i], word[i], word[i + 1 :]
        if tail:
            yield f"{head}{tail[0]}{letter}{tail[1:]}"
        if letter == head[-1]:
            yield head + tail
        if tail and letter in _VOWELS:
            yield from (f"{head}{other}{tail}" for other in _VOWELS)
        yield f"{head}{letter}{letter}{tail}"
    if "f" in word:
        yield word.replace("f", "ph")


def _gaps(word: str) -> Iterator[str]:
    """A letter left out or put in."""
    for i in range(1, len(word) + 1):
        yield word[:i] + word[i + 1 :]
        yield from (f"{word[:i]}{letter}{word[i:]}" for letter in _LETTERS)


def _swaps(word: str) -> Iterator[str]:
    """Any letter in place of another; for words of grammar and verbs alone."""
    return (f"{word[:i]}{letter}{word[i + 1 :]}" for i in range(len(word)) for letter in _LETTERS if i or word[0] + letter in _SOUND_ALIKE)


_SOUND_ALIKE = ("kc", "ck", "sc", "cs", "jg", "gj")


@lru_cache(maxsize=4096)
def repaired(word: str) -> str:
    """The known word that a lower-case word is a slip of, else the word itself; a plural in "ys" becomes one in "ies"."""
    if len(word) < _SHORTEST or not (word.isalpha() and word.isascii()) or word in lexicon.STOP | lexicon.KNOWN or word in lexicon.VERBS:
        return word
    if {word, word.removesuffix("s"), word.removesuffix("es")} & _common() or lexicon.word_classes(word):
        return word
    known = _common() if len(word) >= _LONG else _grammar()
    found = next((other for other in _slips(word) if other in known), "") or next(
        (other for other in _gaps(word) if other in lexicon.STOP), ""
    )
    found = found or next((other for other in _gaps(word) if other in _grammar()), "")
    if len(word) > _LONG:
        found = found or next((other for other in _gaps(word) if other in known), "")
        found = found or next(
            (other for other in _slips(word) if len(other) >= _LONG and other in lexicon.word_classes(other).get("NOUN", ())), ""
        )
    found = found or next((other for other in _swaps(word) if other in _grammar()), "")
    if found or not word.endswith("s"):
        return found or word
    single = repaired(word[:-1])
    return word if single == word[:-1] else f"{single[:-1]}ies" if single.endswith("ry") else f"{single}s"
