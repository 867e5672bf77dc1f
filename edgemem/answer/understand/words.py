"""Comparing words: content words of a phrase, numbers in words and figures, and how much of a phrase a read text holds despite errors."""

from __future__ import annotations

import difflib
import gzip
import re
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from edgemem import words as nouns
from edgemem.answer.understand.lexicon import CARRIERS, FUNCTION, VERBS, pairs_of

_IN_FULL = pairs_of("ABBREVIATED")
_LOOKALIKE = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l", "5": "s", "8": "b"})

NUMBERS = {word: int(value) for word, value in pairs_of("NUMBERS").items()}
"""Number words and their values."""
CARDINALS = {word: str(value) for word, value in NUMBERS.items() if not word.endswith(("st", "nd", "rd", "th", "ce"))}
"""Number words that count ("two", not "second" or "twice"), in figures."""


def words(text: str) -> list[str]:
    """Lower-case words and figures, in order; "BUS28" counts as two, because OCR drops spaces."""
    return re.findall(r"[^\W\d_]+|\d+", text.lower())


def content_words(text: str) -> list[str]:
    """Words that carry meaning; all of them where none does."""
    every = words(text)
    return [word for word in every if word not in FUNCTION] or every


def numbered(text: str) -> list[str]:
    """Words in full ("Dr." is doctor) with their numbers in figures: "forty-one" is 41, and three digits or more in a row are one code."""
    said = " ".join(CARDINALS.get(word) or _IN_FULL.get(word, word) for word in words(text))
    said = re.sub(r"\b([2-9])0 ([1-9])\b", r"\1\2", said)
    said = re.sub(r"\b\d(?: [\do])+\b", lambda run: run[0].replace("o", "0").replace(" ", "" if len(run[0]) > 4 else " "), said)  # "5 o 2"
    return [str(NUMBERS.get(word, word)) for word in said.split()]


_ENDING = re.compile(r"(?<=\w{3})(?:'s|ing|ed|es|s|e)$")


@lru_cache(maxsize=20_000)
def root(word: str) -> str:
    """What a word has in common with its other forms: "printers" and "printer", "comes" and "coming"."""
    ends = next((end for end in ("ies", "ie") if word.endswith(end)), "")
    cut = f"{word.removesuffix(ends)}y" if ends else _ENDING.sub("", word)
    return cut[:-1] if len(cut) > 3 and cut[-1] == cut[-2] else cut


@cache
def _synonyms() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    text = gzip.decompress(files("edgemem.infer").joinpath("synonyms.txt.gz").read_bytes()).decode()
    for line in text.splitlines()[1:]:
        same = frozenset(map(root, line.split()))
        found |= {word: found.get(word, same) | same for word in same}
    return found


_ALIKE = pairs_of("ALIKE")


def meaning(word: str) -> str:
    """The root by which words that mean the same are compared: that of a verb's base, of "mother" for "mum"."""
    base = VERBS.get(word, word)
    return root(_ALIKE.get(base, base))


def synonyms(word: str) -> frozenset[str]:
    """Roots of the word and of all words that mean the same in a common sense of both: "movie" and "film", "rang" and "called"."""
    own = frozenset((root(word), meaning(word)))
    return own.union(*(_synonyms().get(one, ()) for one in own))


def squeeze(text: str) -> str:
    """Letters and figures only, look-alikes made equal: "EXIT C" and "EXlTC" come out the same."""
    return "".join(words(text)).translate(_LOOKALIKE)


class Line(NamedTuple):
    """A read text, prepared for comparing."""

    words: tuple[str, ...]
    squeezed: str


@lru_cache(maxsize=8192)
def line_of(text: str) -> Line:
    """Words and squeezed form of a read text."""
    return Line(tuple(words(text)), squeeze(text))


def wanted_words(query: str) -> list[str]:
    """Words of a query that must stand in the text; those that only name its carrier ("sign") do not count unless there are no others."""
    content = content_words(query)
    return [word for word in content if word not in CARRIERS] or content


def likeness(query: str, text: str) -> float:
    """Share of the query that `text` holds, 0..1, by letters."""
    wanted = wanted_words(query)
    if not wanted or not text:
        return 0.0
    line, whole = line_of(text), squeeze("".join(wanted))
    if len(whole) >= 4 and whole in line.squeezed:
        return 1.0
    return sum(len(word) * best_word(word, line) for word in wanted) / sum(map(len, wanted))


def best_word(word: str, line: Line) -> float:
    """How surely `word` stands in a line, 0..1."""
    if word in line.words or (len(word) >= 4 and squeeze(word) in line.squeezed):
        return 1.0
    return max((_similar(word, other) for other in line.words if abs(len(word) - len(other)) <= 2), default=0.0)


@lru_cache(maxsize=20_000)
def _similar(one: str, other: str) -> float:
    """1 for equal, else the matching ratio where it is above 0.75 (one slip in five letters), else 0."""
    ratio = difflib.SequenceMatcher(None, one.translate(_LOOKALIKE), other.translate(_LOOKALIKE)).ratio()
    return ratio if ratio > 0.75 and min(len(one), len(other)) >= 3 else 0.0


def similar_texts(one: str, other: str) -> float:
    """How alike two readings are, 0..1."""
    return difflib.SequenceMatcher(None, squeeze(one), squeeze(other)).ratio()


def spaced(text: str) -> str:
    """Spaces put back where letters and figures run into each other: "ROOM384" -> "ROOM 384", "7May" -> "7 May"; "B12" stays."""
    return re.sub(r"(?<=[^\W\d_]{3})(?=\d)|(?<=\d)(?=[^\W\d_]{3})", " ", text)


def figures(text: str) -> str:
    """The text with its number words in figures, all else as it is: "Size forty-one, please" is "Size 41, please"."""
    number = rf"(?:{'|'.join(sorted((w for w in NUMBERS if w not in {'second', 'first', 'third', 'once'}), key=len, reverse=True))})"
    return re.sub(rf"\b{number}(?:[ -]{number})*\b", lambda match: " ".join(numbered(match[0])), text, flags=re.IGNORECASE)


PLURALS = pairs_of("PLURALS")
"""Names of detected things that are called otherwise when there are several, or by many people."""


def singular(phrase: str) -> str:
    """Such as "wine glasses" -> "wine glass", "people" -> "person": the name that detectors have for it, else the dictionary's."""
    head, _, last = phrase.strip().rpartition(" ")
    one = PLURALS.get(last) or nouns.singular(last)
    return f"{head.removesuffix(one.rpartition(' ')[0])} {one}".strip().replace("  ", " ")


def number_in(text: str) -> int | None:
    """The first number in words or figures, None without one."""
    return next((int(word) for word in numbered(text) if word.isdecimal()), None)
