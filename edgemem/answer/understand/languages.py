"""Which language a question is in. Only English is understood; the others are recognised by their most frequent words and letters."""

from __future__ import annotations

import re

from edgemem.answer.understand import lexicon

_SETS = {name: getattr(lexicon, f"LANGUAGE_{name}") for name in ("de", "es", "fr", "it", "nl", "pt")}
_MARKS = {"de": frozenset("ßäöü"), "es": frozenset("¿¡ñ"), "fr": frozenset("çèêœ"), "pt": frozenset("ãõ")}
NAMES = {
    "de": "German", "es": "Spanish", "fr": "French", "it": "Italian", "nl": "Dutch", "pt": "Portuguese", "zh": "Chinese",
    "?": "a language that I do not know",
}  # fmt: skip


def language_of(text: str) -> str:
    """Such as "en", "de", "es", "fr", "zh"; "?" for other scripts. English where nothing speaks against it."""
    letters = [c for c in text if c.isalpha()]
    if sum("\u4e00" <= c <= "\u9fff" for c in letters) * 2 > len(letters):
        return "zh"
    if sum(not c.isascii() and ord(c) > 0x24F for c in letters) * 2 > len(letters):
        return "?"
    tokens = re.findall(r"[\w'-]+", text.lower())
    english = sum(token in lexicon.LANGUAGE_en for token in tokens)
    marked = {name for name, marks in _MARKS.items() if marks & set(text.lower())}
    score = {name: sum(token in own for token in tokens) + 2 * (name in marked) for name, own in _SETS.items()}
    best = max(score, key=lambda name: score[name])
    return best if score[best] > english and score[best] >= 2 else "en"
