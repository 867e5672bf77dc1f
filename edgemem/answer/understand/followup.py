"""Questions that go on about the one before: what they leave out is as it was there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

import msgspec

from edgemem.answer.understand.lexicon import ATTRIBUTES, PRONOUNS, SAYING, SEEING, VERBS
from edgemem.answer.understand.phrases import content
from edgemem.answer.understand.record import Parsed, Relation
from edgemem.answer.understand.timeref import TimeRef
from edgemem.answer.understand.wordings import ORDINALS, pattern
from edgemem.infer.phrase import COLOUR_WORDS

_NEXT_DAY = re.compile(
    r"\b(?:the|one|a) (day before|previous day|day earlier|day after|day later|next day|following day)\b"
    r"(?! (?:yesterday|tomorrow|the|my|our)\b)"
)
_HEARING = frozenset(("hear", "read"))
"""How words come to who asks: "when did I hear that"."""


def goes_on(plain: str) -> bool:
    """Whether a question in its normal form goes on about one that is not known."""
    return pattern("FOLLOWS").search(plain.rstrip(" ?!.")) is not None


def points_back(parsed: Parsed) -> bool:
    """It names nothing itself: "how often?", "what colour was it?", "which drawer is it in?"."""
    back = pattern("POINTS_BACK").search(parsed.text.rstrip(" ?!.")) is not None
    timeless = msgspec.structs.replace(parsed, time=None)  # "what was it on Saturday"
    bare = names_nothing(timeless, parsed.words) if parsed.time and not parsed.verb else names_nothing(parsed, content(parsed.text))
    return back and (bare or _asks_of_it(parsed))


def _asks_of_it(parsed: Parsed) -> bool:
    """It names no more than what is asked for: "which city was it going to"."""
    asked = all(re.search(rf"\b(?:which|what) {re.escape(one)}\b", parsed.text) for one in parsed.things)
    return bool(parsed.form and parsed.things) and asked and pattern("OF_IT").search(parsed.text) is not None


def names_nothing(parsed: Parsed, words: Sequence[str]) -> bool:
    """No thing, place, time or person, and none of these words tells what it is about."""
    said = (*parsed.things, *parsed.choices, *parsed.anchors, parsed.place, parsed.person, parsed.quote)
    named = any(one not in PRONOUNS | ATTRIBUTES | {"", "there"} for one in said) or parsed.time or parsed.relation == "while"
    own = SAYING if pattern("CLEFT").search(parsed.text) else SAYING | SEEING | _HEARING
    return not named and all(word in ATTRIBUTES or VERBS.get(word) in own for word in words)


def followed(parsed: Parsed, before: Parsed) -> Parsed:
    """What a follow-up leaves out is as it was in the question before: kind, things, place and time."""
    if parsed.about == "told":
        return before
    bare = parsed.kind in {"other", "where"} and not re.search(r"\bwhere\b", parsed.text)
    step = re.search(r"\b(?:(?:one|time) (before|after)|(earlier|later))\b", parsed.text)
    of_it = {"one", "day", *COLOUR_WORDS, *ORDINALS, *(ATTRIBUTES if before.things else ())}
    things = tuple(thing for thing in parsed.things if not set(thing.split()) <= of_it)
    attributes = [word for thing in parsed.things if thing not in things for word in thing.split()]
    colour = " ".join(word for word in attributes if word in COLOUR_WORDS)
    place = next((ORDINALS[word] for word in attributes if word in ORDINALS), 0)
    stepped = 0 if step is None or _NEXT_DAY.search(parsed.text) else -2 if step[1] == "before" or step[2] == "earlier" else 2
    at_that_time = None if parsed.time else pattern("ATTHATTIME").search(parsed.text.rstrip(" ?!."))  # "what was it on Sunday then"
    beside = (
        None
        if things or parsed.kind == "when" or _NEXT_DAY.search(parsed.text)
        else at_that_time or pattern("BESIDE_IT").search(parsed.text)
    )
    told = at_that_time is not None and (before.hint == "said" or at_that_time[0].startswith("while "))  # "what was said?"
    if beside and not (before.things or told):  # "and after that?", where "that" is what was told
        return parsed
    if beside and not bare:  # "what did I see after it"
        relation = cast("Relation", "while" if at_that_time else beside[1] if beside[1] in {"before", "after"} else "side")
        clause, own = (f"while {before.text}", before.words) if told else (beside[0], parsed.words)
        return msgspec.structs.replace(
            parsed, relation=relation, anchors=before.things[:1], place="", clause=clause, follows=False, time=_time(parsed, before),
            words=tuple(word for word in own if told or word not in beside[0].split()),
        )  # fmt: skip
    its = before.things if _asks_of_it(parsed) else ()
    kept = (*things, *its) or tuple(f"{colour} {thing}".strip() for thing in before.things)
    anchors = tuple(f"{one} {kept[0]}" if one in ORDINALS and kept else one for one in parsed.anchors)
    again = parsed.kind in {"what", "which"} and not things  # "what was it yesterday", of a price
    replaced = () if its or not things else {word for thing in before.things for word in thing.split()}
    return msgspec.structs.replace(
        parsed, kind=before.kind if bare else parsed.kind, things=() if anchors else kept, anchors=anchors,
        ordinal=parsed.ordinal or place or stepped, place=parsed.place or before.place,
        time=_time(parsed, before), form=before.form or parsed.form if bare else parsed.form or before.form * again,
        words=tuple(dict.fromkeys((*parsed.words, *(word for word in before.words if word not in replaced)))), follows=False,
    )  # fmt: skip


def _time(parsed: Parsed, before: Parsed) -> TimeRef | None:
    """That of the question, on the day of the one before where it names none: "which bus on Monday morning? and the evening one"."""
    time, step = parsed.time, _NEXT_DAY.search(parsed.text)
    of_day = time if time and (time.part or time.first) else None
    if step and before.time and before.time.day and not re.search("week|month|year", before.time.day):
        side = "before" if step[1] in {"day before", "previous day", "day earlier"} else "after"
        return msgspec.structs.replace(of_day or before.time, said=step[0], day=f"day {side} {before.time.day}")
    if of_day and before.time and not of_day.day:
        return msgspec.structs.replace(of_day, day=before.time.day)
    return time or before.time


def resolved(parsed: Parsed, before: Parsed) -> Parsed:
    """A second question of a text with what "it" or "he" is in the first: "where is the mug? did I leave it here?"; `follows` where that
    says nothing. What is asked without a deed of its own is of the same time: "which doctor was there on Monday, and what room".
    """
    parsed = msgspec.structs.replace(parsed, time=parsed.time or (before.time if parsed.verb in {"", "be"} else None))
    of_it = _asks_of_it(parsed)
    named = (parsed.things and not of_it) or parsed.anchors or parsed.choices or parsed.quote
    if named or parsed.person or not re.search(r"\b(?:it|its|they|them|he|she|him|her|that|this|those|these)\b", parsed.text):
        return parsed
    two = tuple(dict.fromkeys((*before.things, *before.anchors, *before.choices)))[:2]
    if len(two) == 2 and re.search(r"\bbetween (?:them|these|those)\b", parsed.text):  # "and how long was it between them"
        return msgspec.structs.replace(parsed, relation="between", anchors=two, clause=f"between {two[0]} and {two[1]}", place="")
    things, person = before.things or before.anchors[:1], before.person
    own = (*parsed.words, *(word for one in things for word in one.split())) if of_it else parsed.words
    return msgspec.structs.replace(
        parsed, things=(*parsed.things, *things), words=own, person=person, follows=not (parsed.things or things or person)
    )
