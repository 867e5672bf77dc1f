"""What words say to a claim: whether they deny it ("level 4" to "is it level five") or settle a comparison ("cheaper than 5 euros")."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from edgemem.answer.retrieve import held
from edgemem.answer.understand import Parsed
from edgemem.answer.understand.lexicon import SAYING, VERBS
from edgemem.answer.understand.phrases import content
from edgemem.answer.understand.timeref import WEEKDAYS
from edgemem.answer.understand.wordings import pattern
from edgemem.answer.understand.words import numbered, root, similar_texts, words
from edgemem.infer.phrase import COLOUR_WORDS

_NUMBERED = frozenset(("bus", "tram", "train", "line", "flight", "gate", "platform", "route"))
"""What its number tells apart from others of its kind."""
_LATE, _ON_TIME = re.compile(r"\b(?:late|delayed|cancell?ed)\b"), re.compile(r"\bon ?time\b")
"""What signs say of flights and trains; each denies the other."""
_OF_IT = 0.66
"""Words that hold so much of a claim are about it: "he takes size 42 in shoes" and "his shoe size is 40"."""
_MONEY = pattern("MONEY", re.IGNORECASE)
_BEFORE_NAMES = frozenset(("to", "with", "called", "named", "for"))
"""A name behind one of these is told by the same word."""
_ALIKE = 0.65
"""A name this like another was misheard rather than another one."""


def verdict(p: Parsed, text: str) -> str:
    """What words that hold the rest of a question say to a number, colour, day or name in it: "No" to "is it level five" from "level 4",
    "Yes" from "level 5" where no deed is asked about; "Yes" or "No" to "is it cheaper than 5 euros" from the one figure that they have;
    "" where they settle nothing.
    """
    if compared := pattern("COMPARED").search(p.question):
        return _compared(p, text, compared)
    if (told := _of_state(p.question, text.lower())) and _is_about(p, text):
        return told
    asked, said, person = numbered(p.question), numbered(text), words(p.person)
    values = [word for word in asked if word.isdecimal() or word in COLOUR_WORDS or word in WEEKDAYS or word in person]
    units = {after for word, after in pairwise(asked) if word.isdecimal()} if pattern("MONEY").search(p.question) else set[str]()
    rest = [word for word in numbered(" ".join(p.words)) if word not in {*values, *units} and VERBS.get(word) not in SAYING]
    own = {number for word, number in pairwise(asked) if word in _NUMBERED and set(rest) - {word}}
    values = [word for word in values if word not in own]  # "does bus 28 go to Paris" is not denied by another bus
    if not rest or held(rest, text) < _OF_IT:
        return ""
    if any(word not in said and _is_denied(word, asked, said, rest) for word in values):
        return "No"
    same = values and set(values) <= set(said) and held(rest, text) >= 1 and not (p.predicate or pattern("NOT").search(text.lower()))
    return "Yes" if same else ""


def _compared(p: Parsed, text: str, compared: re.Match[str]) -> str:
    """Whether the one figure of the words is less or more than the number of the question, in the same unit."""
    said = numbered(text)
    figures, limits = ([word for word in some if word.isdecimal()] for some in (said, numbered(compared["number"])))
    if len(figures) != 1 or not limits or held(content(p.question.replace(compared[0], " ")), text) < 1:
        return ""
    at, unit = said.index(figures[0]), compared["unit"] or ""
    before, after = said[max(0, at - 1) : at], said[at + 1 : at + 2]
    money = all(map(_MONEY.fullmatch, (f"{limits[0]} {unit}", " ".join((figures[0], *after)))))
    same = money or (root(unit) == root(after[0]) if unit and after else not unit)
    if not same or {*before} & _NUMBERED:
        return ""  # "2 hours" and "90 minutes", or the number of a bus
    told, limit = int(figures[0]), int(limits[0])
    return "Yes" if (told < limit if compared["less"] else told > limit) else "No"


def _is_about(p: Parsed, text: str) -> bool:
    """The words hold one of the things of a question; where a number tells it apart ("flight LH239"), that one."""
    things = [[word for word in numbered(one) if word != "number"] for one in p.things]
    told_apart = [one for one in things if any(any(map(str.isdigit, word)) for word in one)]
    return any(one and held(one, text) >= 1 for one in told_apart or things)


def _of_state(asked: str, said: str) -> str:
    """Late, or on time: "Yes" where words say the same as the question, "No" where they say the other, "" where either says both."""
    states = [(bool(_LATE.search(text)), bool(_ON_TIME.search(text))) for text in (asked, said)]
    return ("Yes" if states[0] == states[1] else "No") if all(late != on_time for late, on_time in states) else ""


def _is_denied(value: str, asked: Sequence[str], said: Sequence[str], rest: Sequence[str]) -> bool:
    """Another value of the same kind stands where this one would: beside the same word, before the same thing, behind the same word."""
    place = asked.index(value)
    beside = {*asked[max(0, place - 2) : place + 2]} & set(rest)
    for i, other in enumerate(said):
        before, after = said[max(0, i - 1) : i], said[i + 1 : i + 2]
        if {value, other} <= COLOUR_WORDS.keys():
            denied = COLOUR_WORDS[value] != COLOUR_WORDS[other] and after != [] and after[0] in rest
        elif value.isdecimal() and other.isdecimal():
            money = all(map(_MONEY.fullmatch, (" ".join((other, *after)), " ".join(asked[place : place + 2]))))
            denied = money or bool(beside & {*said[max(0, i - 2) : i], *after})  # "level 4", "size is 40"
        elif value in WEEKDAYS:
            denied = other in WEEKDAYS
        else:
            named = before != [] and before[0] in _BEFORE_NAMES and asked[max(0, place - 1) : place] == before
            denied = named and not value.isdecimal() and value not in COLOUR_WORDS and similar_texts(value, other) < _ALIKE
        if denied:
            return True
    return False
