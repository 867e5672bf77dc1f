"""The text of a question before it is read: in lower case, without slips, fillers, quotation marks and times that are no interval."""

from __future__ import annotations

import re
import unicodedata

from edgemem.answer.understand import lexicon
from edgemem.answer.understand.spelling import repaired
from edgemem.answer.understand.wordings import pattern
from edgemem.errors import UsageError

LIMIT_CHARS = 600
"""Longer questions are cut to their last sentence with a question mark, else to this many characters."""

_MARKS = r"\"\u201c\u201d\u00ab\u00bb"
_QUOTED = re.compile(rf"[{_MARKS}]([^{_MARKS}]{{2,80}})[{_MARKS}]|(?<=\s)'([^']{{2,80}})'(?=\W|$)")


def normalise(text: str) -> tuple[str, tuple[str, ...]]:
    """The text in lower case, without slips and fillers, and notes of what was changed. Raises UsageError where nothing is asked."""
    notes: tuple[str, ...] = ()
    text = " ".join(unicodedata.normalize("NFKC", text[:100_000]).replace("\u2019", "'").replace("\x00", " ").split())
    if not re.search(r"\w", text):
        raise UsageError('the question is empty; ask something like: edgemem ask "where did I leave the mug?" --memory DIR')
    if len(text) > LIMIT_CHARS:
        asked = [sentence for sentence in re.findall(r"[^.?!]*\?", text) if re.search(r"\w", sentence)]
        text = (asked[-1].strip() if asked else text)[:LIMIT_CHARS]
        notes = (f'the question is long; only this part was read: "{text[:80]}..."',)
    made, slips = _respelt(text)
    for spoken, plain in _SPOKEN:
        made = spoken.sub(plain, made)
    return made.strip() or text.lower(), (*notes, *slips)


def _respelt(text: str) -> tuple[str, tuple[str, ...]]:
    """In lower case, without slips, and what was read as what. Names (a capital in the sentence) and what is quoted stay as they are."""
    quoted, made, slips = _QUOTED.search(text) is not None, list[str](), list[str]()
    for i, word in enumerate(text.split(" ")):
        core = word.strip('?!.,;:"()')
        plain = core.lower()
        named = quoted or (i > 0 and core != plain)
        other = lexicon.MISSPELT.get(plain, "") or (plain if named else repaired(plain))
        made.append(word.replace(core, other).lower())
        if other.replace("'", "") != plain.replace("'", ""):
            slips.append(f'read "{core}" as "{other}"')
    return " ".join(made), tuple(slips)


_SPOKEN = tuple((re.compile(pattern), plain) for pattern, plain in (
    (r"\b(who|what|where|whereabouts|when|how|which|that|it|he|she|there|why)'s\b", r"\1 is"), (r"\bhow (\w+)'s\b", r"how \1 is"),
    (r"\b(wh\w+|how)'d (?!been|better|like|rather|got)", r"\1 did "),
    (r"\bgimme\b", "give me"), (r"\blemme\b", "let me"), (r"\bwanna\b", "want to"), (r"\bgotta\b", "have to"), (r"\bain't\b", "isn't"),
    (r"\bya\b", "you"), (r"\bd'you\b", "do you"), (r"\bdunno\b", "don't know"), (r"\b(?:cos|cuz)\b", "because"),
    (r"(?<![\w'])(?:u+m+|u+h+|erm?|hm+|y'know|basically|literally|honestly|kinda|sorta|bloody|flipping)(?![\w']),? ?", ""),
    (r"(?<=\b[a-z] )like,? (?=(?:put|go|went|get|got|leave|left|take|took|see|saw|say|said|do|did|have|had|come|came|make|made)\b)", ""),
    (r"^(so|and|but|ok|hey),? like\b,?", r"\1"),
    (r" in (?:a few|\w+) (?:sentences?|words|lines|bullet points)(?=[ ?!.]*$)", ""),
    (r"\bwhere abouts\b", "whereabouts"),
    (r"(?<=\w), (?:did|do|does|is|was|were|are|have|has|had|would|can|could)(?:n't)? (?:i|we|you|it|he|she|they|there)(?=[ ?!.]*$)", ""),
    (r"(?<=\w),? (?:or (?:what|not|something|nah|no|so|whatever)|lol|innit|mate|love|dear|help|ta|please|at all)(?=[ ?!.]*$)", ""),
    (r"(?<=\w),? (?:eh|huh|though|yeah|i mean|any (?:clue|idea))(?=[ ?!.]*$)", ""),
))  # fmt: skip
"""What is said by the way, and words that are run together."""


def take_vague(body: str) -> tuple[str, str]:
    """A time that is no interval ("just now", "the other day"), cut out."""
    match = pattern("VAGUE").search(body)
    if match is None:
        return body, ""
    return f"{body[: match.start()]} {body[match.end() :]}".strip() or body, match[0]


def take_quote(text: str) -> tuple[str, str]:
    """Words in quotation marks are what was read; they stay in the text as plain words."""
    match = _QUOTED.search(text)
    if match is None:
        return text.replace('"', " "), ""
    quote = (match[1] or match[2] or "").strip(" .,!?")
    return f"{text[: match.start()]}{quote}{text[match.end() :]}".replace('"', " "), quote
