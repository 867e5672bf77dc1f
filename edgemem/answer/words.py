"""Comparing words: content words of a phrase, and how much of a phrase a read text holds despite reading errors."""

from __future__ import annotations

import difflib
import re
from functools import lru_cache

_FUNCTION = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "in",
        "on",
        "at",
        "to",
        "for",
        "from",
        "by",
        "with",
        "and",
        "or",
        "is",
        "was",
        "were",
        "are",
        "be",
        "i",
        "my",
        "me",
        "we",
        "our",
        "you",
        "your",
        "it",
        "its",
        "this",
        "that",
        "these",
        "those",
        "there",
        "here",
        "did",
        "do",
        "does",
        "have",
        "has",
        "had",
        "see",
        "saw",
        "seen",
        "what",
        "which",
        "who",
        "where",
        "when",
        "how",
    ]
)
CARRIERS = frozenset(
    [
        "sign",
        "signs",
        "signboard",
        "board",
        "poster",
        "badge",
        "screen",
        "label",
        "note",
        "page",
        "menu",
        "ticket",
        "banner",
        "plate",
        "plaque",
        "card",
        "receipt",
        "display",
        "door",
        "notice",
        "billboard",
        "package",
        "packet",
        "book",
        "cover",
        "paper",
        "sticker",
        "shirt",
        "tag",
        "wall",
        "monitor",
        "text",
        "word",
        "words",
        "writing",
        "letters",
        "name",
        "plaque",
        "nameplate",
        "slide",
        "title",
        "caption",
        "headline",
    ]
)
"""Things that carry text: they say where it stands, not what it says."""
_LOOKALIKE = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l", "5": "s", "8": "b"})


def words(text: str) -> list[str]:
    """Lower-case words and figures, in order."""
    return re.findall(r"[^\W_]+", text.lower())


def content_words(text: str) -> list[str]:
    """Words that carry meaning; all of them where none does."""
    every = words(text)
    return [word for word in every if word not in _FUNCTION] or every


def squeeze(text: str) -> str:
    """Letters and figures only, look-alikes made equal: "EXIT C" and "EXlTC" come out the same."""
    return "".join(words(text)).translate(_LOOKALIKE)


def likeness(query: str, text: str) -> float:
    """Share of the query that `text` holds, 0..1. Words that only name the carrier of the text ("sign") do not count."""
    wanted = [word for word in content_words(query) if word not in CARRIERS] or content_words(query)
    if not wanted or not text:
        return 0.0
    squeezed, read = squeeze(text), words(text)
    if len(squeeze("".join(wanted))) >= 4 and squeeze("".join(wanted)) in squeezed:
        return 1.0
    weights = [max(1, len(word)) for word in wanted]
    return sum(weight * best_word(word, read, squeezed) for word, weight in zip(wanted, weights, strict=True)) / sum(weights)


def best_word(word: str, read: list[str], squeezed: str) -> float:
    """How surely `word` is among the words `read`, 0..1; `squeezed` is the same text squeezed."""
    if word in read or (len(word) >= 4 and squeeze(word) in squeezed):
        return 1.0
    return max((_similar(word, other) for other in read if abs(len(word) - len(other)) <= 2), default=0.0)


@lru_cache(maxsize=20_000)
def _similar(one: str, other: str) -> float:
    """1 for equal, else the matching ratio where it is above 0.75 (one slip in five letters), else 0."""
    ratio = difflib.SequenceMatcher(None, one.translate(_LOOKALIKE), other.translate(_LOOKALIKE)).ratio()
    return ratio if ratio > 0.75 and min(len(one), len(other)) >= 3 else 0.0


def similar_texts(one: str, other: str) -> float:
    """How alike two readings are, 0..1."""
    return difflib.SequenceMatcher(None, squeeze(one), squeeze(other)).ratio()
