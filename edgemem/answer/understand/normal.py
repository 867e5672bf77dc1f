"""The text of a question before it is read: in lower case, without slips, fillers, quotation marks and times that are no interval."""

from __future__ import annotations

import re
import unicodedata

from edgemem.answer.understand import lexicon
from edgemem.answer.understand.spelling import base_meant, repaired
from edgemem.answer.understand.wordings import pattern
from edgemem.errors import UsageError

LIMIT_CHARS = 600
"""Longer questions are cut to their last sentence with a question mark, else to this many characters."""

_MISSPELT = lexicon.pairs_of("MISSPELT")
_MARKS = r"\"\u201c\u201d\u00ab\u00bb"
_QUOTED = re.compile(rf"[{_MARKS}]([^{_MARKS}]{{2,80}})[{_MARKS}]|(?<=\s)'([^']{{2,80}})'(?=\W|$)")


def normalise(text: str) -> tuple[str, tuple[str, ...]]:
    """The text in lower case, without slips and fillers, and notes of what was changed. Raises UsageError where nothing is asked."""
    notes: tuple[str, ...] = ()
    text = " ".join(unicodedata.normalize("NFKC", text[:100_000]).replace("\u2019", "'").replace("\x00", " ").split())
    if not re.search(r"\w", text):
        raise UsageError('the question is empty; ask something like: edgemem ask "where did I leave the mug?" --memory DIR')
    if len(text) > LIMIT_CHARS:
        asked = [sentence for sentence in re.findall(r"[^.?!]+\??", text) if sentence.endswith("?") and re.search(r"\w", sentence)]
        text = (asked[-1].strip() if asked else text)[:LIMIT_CHARS]
        notes = (f'the question is long; only this part was read: "{text[:80]}..."',)
    made, slips = _respelt(text)
    made = lexicon.rewritten(made, "WEARER", "SHORT", "SOUND", "BY_THE_WAY")
    made = pattern("DEED").sub(lambda match: match[1] + base_meant(match[2]), made)
    while (shorter := lexicon.rewritten(made.strip(), "TAIL")) != made:  # "did I lock it, mate, do you reckon?"
        made = shorter
    return " ".join(made.split()) or text.lower(), (*notes, *slips)


def _respelt(text: str) -> tuple[str, tuple[str, ...]]:
    """In lower case, without slips, and what was read as what. Names (a capital in the sentence) and what is quoted stay as they are."""
    quoted, made, slips = _QUOTED.search(text) is not None, list[str](), list[str]()
    text = text.lower() if text.isupper() else text
    for i, word in enumerate(text.split(" ")):
        core = word.strip('?!.,;:"()')
        plain = core.lower()
        named = quoted or (i > 0 and core != plain)
        other = _MISSPELT.get(plain, "") or (plain if named else repaired(plain))
        made.append(word.replace(core, other).lower())
        if other.replace("'", "") != plain.replace("'", ""):
            slips.append(f'read "{core}" as "{other}"')
    return " ".join(made), tuple(slips)


def take_vague(body: str) -> tuple[str, str]:
    """A time that is no interval ("just now", "the other day"), cut out."""
    match = pattern("VAGUE").search(body)
    rest = f"{body[: match.start()]} {body[match.end() :]}".strip() if match else ""
    return (rest, match[0]) if match and rest else (body, "")


def take_without(text: str) -> tuple[str, tuple[str, ...]]:
    """What is left out of what is asked ("apart from the dog and the cat"), cut out; that nothing is counted twice goes without saying."""
    match = pattern("WITHOUT").search(text)
    rest = " ".join(f"{text[: match.start()]} {text[match.end() :].lstrip(' ,')}".split()).replace(" ?", "?") if match else ""
    if match is None or not pattern("ASKING").search(rest):
        return text, ()
    named = (re.sub(rf"^(?:{pattern('ARTICLE').pattern}) ", "", one) for one in re.split(r",? (?:and|or) |, ", match["left"]))
    return rest, tuple(one for one in named if not pattern("REPEATED").fullmatch(one))


def take_quote(text: str) -> tuple[str, str]:
    """Words in quotation marks are what was read; they stay in the text as plain words."""
    match = _QUOTED.search(text)
    if match is None:
        return text.replace('"', " "), ""
    quote = (match[1] or match[2] or "").strip(" .,!?")
    return f"{text[: match.start()]}{quote}{text[match.end() :]}".replace('"', " "), quote
