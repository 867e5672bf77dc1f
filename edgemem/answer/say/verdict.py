"""What words say to a claim: whether they deny it ("level 4" to "is it level five") or settle a comparison ("cheaper than 5 euros")."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from edgemem.answer.retrieve import held
from edgemem.answer.understand import Parsed, phrases, timeref
from edgemem.answer.understand.lexicon import ATTRIBUTES, CARRIERS, SAYING, VERBS, pairs_of
from edgemem.answer.understand.wordings import pattern
from edgemem.answer.understand.words import numbered, root, similar_texts, words
from edgemem.infer.phrase import COLOUR_WORDS

_NUMBERED = frozenset(("bus", "tram", "train", "line", "flight", "gate", "platform", "route"))
"""What its number tells apart from others of its kind."""
_LATE, _ON_TIME = re.compile(r"\b(?:late|delayed|cancell?ed)\b"), re.compile(r"\bon ?time\b")
"""What signs say of flights and trains; each denies the other."""
_COSTING = frozenset(("cost", "come", "get", "ask", "charge"))
"""Verbs that say no more than that there is a price."""
_NOT = re.compile(r"\b(?:not|never|no longer|\w+n't|isnt|wasnt|arent)\b")
_OF_IT = 0.66
"""Words that hold so much of a claim are about it: "he takes size 42 in shoes" and "his shoe size is 40"."""
_MONEY = pattern("MONEY", re.IGNORECASE)
_UNITS = tuple(
    (unit, re.compile(sign, re.IGNORECASE))
    for unit, sign in {"eur": "eur|€", "dollar": r"dollar|usd|\$", "pound": "pound|gbp|£", "per": "%|per ?cent"}.items()
)
"""How a claimed unit stands in words: 25 euros are not "25 %"."""
_SAME = pairs_of("SAME")
_WITH_UNIT = re.compile(rf"{_MONEY.pattern}|\d+ per ?cent", re.IGNORECASE)
_BEFORE_NAMES = frozenset(("to", "with", "called", "named", "for"))
"""A name behind one of these is told by the same word."""
_ALIKE = 0.65
"""A name this like another was misheard rather than another one."""


def verdict(p: Parsed, text: str, *, written: bool) -> str:
    """What words that hold the rest of a question say to a number, colour, day or name in it: "No" to "is it level five" from "level 4",
    "Yes" where a sign (`written`) has it and no other of its kind; what somebody said may have changed. "Yes" or "No" to "is it cheaper
    than 5 euros" from the one figure that they have; "" where they settle nothing.
    """
    if compared := pattern("COMPARED").search(p.question):
        return _compared(p, text, compared)
    if _LATE.search(p.question) or _ON_TIME.search(p.question):
        return _of_state(p, text.lower(), written)
    if pattern("EVALUATED").search(p.question):
        return ""
    asked, said = ([_SAME.get(word, word) for word in numbered(some)] for some in (p.question, text))
    person = words(p.person)
    towards = re.findall(r"\bto (\w+)$", p.place)
    values = [word for word in asked if word.isdecimal() or word in {*COLOUR_WORDS, *timeref.WEEKDAYS, *person, *towards}]
    with_unit = _WITH_UNIT.search(" ".join(asked)) is not None
    units = {after for word, after in pairwise(asked) if with_unit and word.isdecimal()}
    silent = SAYING | {"be", "have", "get", *([p.verb] if towards else [])}
    rest = [word for word in numbered(" ".join(p.words)) if word not in {*values, *units} and VERBS.get(word) not in silent]
    rest = [_SAME.get(word, word) for word in rest]
    rest = [word for word in rest if word not in CARRIERS - set(words(" ".join(p.things)))] or rest  # "on that board"
    rest = rest or [word for word in person if word in said and p.verb in {"see", "meet"}]  # "are we seeing David on Monday"
    own = {number for word, number in pairwise(asked) if word in _NUMBERED and ({*towards, *rest} - {word})}
    values = [word for word in values if word not in own]  # "does bus 28 go to Paris" is not denied by another bus
    other_unit = any(one.startswith(unit) and not sign.search(text) for unit, sign in _UNITS for one in units)
    share = held(rest, " ".join(said)) if rest else 0.0
    if share < _OF_IT or other_unit:
        return ""
    if any(word not in said and _is_denied(word, asked, said, rest) for word in values):
        return "No"
    others = [word for word in said if word not in values and (word.isdecimal() or word in COLOUR_WORDS or word in timeref.WEEKDAYS)]
    same = values and set(values) <= set(said) and share >= 1 and not (others or p.predicate or _NOT.search(text.lower()))
    return "Yes" if written and same else ""


def _compared(p: Parsed, text: str, compared: re.Match[str]) -> str:
    """Whether the one figure of the words is less or more than the number of the question, in the same unit."""
    said = numbered(text)
    figures, limits = ([word for word in some if word.isdecimal()] for some in (said, numbered(compared["number"])))
    rest = [
        word for word in phrases.content(p.question.replace(compared[0], " ")) if word not in ATTRIBUTES and VERBS.get(word) not in _COSTING
    ]
    if len(figures) != 1 or not limits or not rest or held(rest, text) < 1:
        return ""
    at, unit = said.index(figures[0]), compared["unit"] or ""
    before, after = said[max(0, at - 1) : at], said[at + 1 : at + 2]
    money = all(map(_MONEY.fullmatch, (f"{limits[0]} {unit}", " ".join((figures[0], *after)))))
    same = money or (root(unit) == root(after[0]) if unit and after else not unit)
    if not same or {*before} & _NUMBERED:
        return ""  # "2 hours" and "90 minutes", or the number of a bus
    told, limit = int(figures[0]), int(limits[0])
    return "Yes" if (told < limit if compared["less"] else told > limit) else "No"


def _of_state(p: Parsed, said: str, written: bool) -> str:
    """Late, or on time, of words that hold the things, the person and the place of a question, of things that a number tells apart ("flight
    LH239") those: "No" where they say the other than the question, "Yes" where a sign says the same; "" where either says both.
    """
    things = [[word for word in numbered(one) if word not in {"number", *CARRIERS}] for one in (*p.things, p.person, p.place)]
    things = [[word for word in phrases.content(" ".join(one)) if not (_LATE.search(word) or _ON_TIME.search(word))] for one in things]
    told_apart = [one for one in things if any(any(map(str.isdigit, word)) for word in one)]
    about = [one for one in told_apart or things if one]
    states = [(_LATE.search(text), _ON_TIME.search(text)) for text in (p.question, said)]
    unclear = any((late is None) == (on_time is None) for late, on_time in states) or _NOT.search(said)
    if unclear or not about or any(held(one, said) < 1 for one in about):
        return ""
    (late, _), (told_late, _) = states
    if (late is None) != (told_late is None):
        return "No"
    return "Yes" if written and (late is None or told_late is None or late[0] == told_late[0]) else ""


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
        elif value in timeref.WEEKDAYS:
            denied = other in timeref.WEEKDAYS
        else:
            named = before != [] and before[0] in _BEFORE_NAMES and asked[max(0, place - 1) : place] == before
            denied = named and not value.isdecimal() and value not in COLOUR_WORDS and similar_texts(value, other) < _ALIKE
        if denied:
            return True
    return False
