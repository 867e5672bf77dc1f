"""What an inspection is worth: the confidence with which the inspector ends its words."""

from __future__ import annotations

import re

from edgemem_vam.relevance import FOUND

UNSTATED = 0.5
"""For an inspector that ended without a confidence: neither for nor against."""
_STATED = re.compile(r"\s*\**confidence\**\s*[:=]\s*\**\s*(?P<number>\d*\.?\d+)\s*(?P<percent>%?)[\s*.]*$", re.IGNORECASE)


def split_confidence(text: str) -> tuple[str, float | None]:
    """(what was said, the confidence of its last line "Confidence: 0.8" within 0..1). None where there is no such line."""
    found = _STATED.search(text)
    if found is None:
        return text.strip(), None
    number = float(found["number"]) / (100 if found["percent"] else 1)
    said = text[: found.start()].strip()
    return (said, number) if number <= 1 else (text.strip(), None)


def weight(confidence: float | None, *, judged: bool) -> float:
    """Score of what an inspection saw: the inspector's confidence. Where no model looked (`judged` false) it only counts as found."""
    if not judged:
        return FOUND
    return UNSTATED if confidence is None else confidence
