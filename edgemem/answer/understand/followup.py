"""Questions that go on about the one before: what they leave out is as it was there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

import msgspec

from edgemem.answer.understand.asking import mentioned
from edgemem.answer.understand.context import Reference, its_names
from edgemem.answer.understand.forms import form_of
from edgemem.answer.understand.lexicon import ATTRIBUTES, PRONOUNS, SAYING, SEEING, VERBS
from edgemem.answer.understand.phrases import content
from edgemem.answer.understand.record import Answered, Parsed, Relation
from edgemem.answer.understand.relations import place_in_row
from edgemem.answer.understand.timeref import TimeRef
from edgemem.answer.understand.wordings import ORDINALS, pattern
from edgemem.infer.phrase import COLOUR_WORDS
from edgemem.records import Evidence

_NEXT_DAY = re.compile(
    r"\b(?:the|one|a) (day before|previous day|day earlier|day after|day later|next day|following day)\b"
    r"(?! (?:yesterday|tomorrow|the|my|our)\b)"
)
_AFTER_THAT = re.compile(r"(?:(?:and|but|so|what) )*(before|after)(?:wards)?(?: that)?")
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


def leans(parsed: Parsed) -> bool:
    """Behind another question: it names no thing and calls one "it", or only asks when, where, how often or how long."""
    anchors = () if parsed.kind in {"yes_no", "order"} else parsed.anchors  # "was that before the film"
    named = (*parsed.things, *parsed.choices, *anchors, parsed.quote)
    if parsed.about or any(one not in PRONOUNS | {"", "there"} for one in named) or (parsed.person and parsed.person not in PRONOUNS):
        return False
    alone = parsed.kind in {"when", "where", "who", "how_many", "how_long"} and names_nothing(parsed, parsed.words) and not parsed.time
    return alone or parsed.text.startswith("which time ") or pattern("IT").search(parsed.text) is not None


def _asks_of_it(parsed: Parsed) -> bool:
    """It names no more than what is asked for: "which city was it going to"."""
    asked = all(re.search(rf"\b(?:which|what) {re.escape(one)}\b", parsed.text) for one in parsed.things)
    return bool(parsed.form and parsed.things) and asked and pattern("OF_IT").search(parsed.text) is not None


def names_nothing(parsed: Parsed, words: Sequence[str]) -> bool:
    """No thing, place, time or person, and none of these words tells what it is about."""
    said = (*parsed.things, *parsed.choices, *parsed.anchors, parsed.place, parsed.person, parsed.quote)
    named = any(one not in PRONOUNS | ATTRIBUTES | {"", "there"} for one in said) or parsed.time or parsed.relation == "while"
    own = SAYING if pattern("CLEFT").search(parsed.text) else SAYING | SEEING | _HEARING
    return not named and all(word in ATTRIBUTES | {"long", "hour"} or VERBS.get(word) in own for word in words)


def now_about(parsed: Parsed, answered: Answered, before: Parsed | None) -> Parsed:
    """What a conversation is about once a question was answered. Where it was not: "then" is still what was told last, and a question that
    only leant on that ("how old is it?") leaves all as it was.
    """
    if before is not None and not answered.evidence:
        bare = not content(parsed.text) or pattern("IT").search(parsed.text) is not None
        if pattern("IT_ALONE").search(parsed.text) or (bare and not mentioned(parsed.text)):
            return before
        last = before.answered.evidence if before.answered else ()
        answered = Answered(text=answered.text, evidence=last, earlier=True)
    about = msgspec.structs.replace(parsed, answered=answered)
    own, other = its_names(about)[:1], its_names(before)[:1] if before else ()
    beside = before.answered.beside if before and before.answered and own == other else "".join(other)
    return msgspec.structs.replace(about, answered=msgspec.structs.replace(answered, beside=beside))


def related(parsed: Parsed, its: Reference, before: Parsed) -> Parsed:
    """A question whose relation is to the answer before."""
    near = _shown(before, of_it=pattern("IT_OR_ONE").search(its.said) is not None)
    names = its_names(before)[:1]
    spoken = parsed.hint == "said" or parsed.verb in SAYING or pattern("SPOKEN_OF").search(parsed.text)
    if its.relation == "while" and parsed.things and parsed.kind != "order" and spoken:  # "with the parrot, was anybody chatting then"
        return msgspec.structs.replace(
            parsed, relation="while", anchors=parsed.things[:1], things=(), predicate="", hint="said", clause=its.said, follows=False,
            asked=None,
        )  # fmt: skip
    heard = before.hint == "said" or (before.hint != "seen" and pattern("SAID").search(its.said))
    if spoken:
        parsed = msgspec.structs.replace(parsed, hint="said", predicate="")
    if its.relation == "while" and near is None and heard:  # what was said is looked for again
        clause, told = f"while {before.text}", (*before.words, *parsed.words)
        return msgspec.structs.replace(parsed, relation="while", anchors=before.things[:1], clause=clause, words=told, follows=False)
    if (not names and near is None) or (near is None and names[0] in parsed.things):
        return msgspec.structs.replace(parsed, follows=True)
    time = parsed.time or before.time if near is None else None
    return msgspec.structs.replace(
        parsed, relation=its.relation, anchors=names or (IT,), clause=its.said, anchor=near, follows=False, time=time, place="", asked=None,
    )  # fmt: skip


def _shown(before: Parsed, *, of_it: bool) -> Evidence | None:
    """What the answer cites first; of "it" not what only an earlier answer did."""
    answered = before.answered
    return next(iter(answered.evidence), None) if answered and not (of_it and answered.earlier) else None


IT = "that"
"""What is referred to and has no name: words that were said."""


def followed(parsed: Parsed, before: Parsed) -> Parsed:
    """What a follow-up leaves out is as it was in the question before: kind, things, place and time."""
    if parsed.about == "told":
        return before
    near = _shown(before, of_it=True)
    bare = parsed.kind in {"other", "where", "when"} and not re.search(r"\b(?:where|when|time|date|hour|which day|what day)\b", parsed.text)
    if (same := _asked_again(parsed, before, near, bare=bare)) is not None:
        return same
    step = re.search(r"\b(?:(?:one|time) (before|after)|(earlier|later))\b|^(?:and |but |so |what )*(?:before|after) that\b", parsed.text)
    of_it = {"one", "day", *COLOUR_WORDS, *ORDINALS, *(ATTRIBUTES if before.things else ())}
    things = tuple(thing for thing in parsed.things if not (set(thing.split()) <= of_it or thing in PRONOUNS))
    attributes = [word for thing in parsed.things if thing not in things for word in thing.split()]
    colour = " ".join(word for word in attributes if word in COLOUR_WORDS)
    kind = before.kind if bare else parsed.kind
    own_form = "" if _NEXT_DAY.search(parsed.text) else form_of("what", " ".join(attributes))  # "and the day?", not "the next day?"
    place = next((ORDINALS[word] for word in attributes if word in ORDINALS), 0) or (place_in_row(parsed.text, kind) if things else 0)
    steps = step is not None and parsed.kind not in {"yes_no", "order"} and not _NEXT_DAY.search(parsed.text)
    back = 0 if step is None or not steps else -1 if re.search("before|earlier", step[0]) else 1
    compared = step[0] if step and parsed.kind == "yes_no" and not parsed.anchors else ""  # "was that earlier?"
    near = None if things else near
    its = before.things if _asks_of_it(parsed) else ()
    several = re.search(r"\b(?:they|them|those|these|their)\b", parsed.text)
    kept = (*things, *its) or tuple(f"{colour} {thing}".strip() for thing in its_names(before)[: None if several else 1])
    person = before.person if parsed.person in PRONOUNS or not (parsed.person or kept) else parsed.person
    rows = any(one in ORDINALS for one in parsed.anchors)  # "how long between the first and the second"
    anchors = tuple(f"{one} {kept[0]}" if one in ORDINALS and kept else one for one in parsed.anchors)
    again = parsed.kind in {"what", "which"} and not (things or parsed.verb)  # "what was it yesterday", of a price
    replaced = () if its or not things else {word for thing in before.things for word in thing.split()}
    return msgspec.structs.replace(
        parsed, kind=kind, things=() if rows else kept, anchors=anchors,
        ordinal=parsed.ordinal or place or (2 * back if near is None else 0), near=near, step=back if near else 0,
        place=parsed.place or before.place, person=person,
        predicate=parsed.predicate or compared, time=_time(parsed, before),
        form=(own_form or before.form) if bare else parsed.form or before.form * again,
        hint=before.hint if bare and not things and parsed.hint == "none" and before.hint in {"said", "read"} else parsed.hint,
        words=tuple(dict.fromkeys((*parsed.words, *(word for word in before.words if word not in replaced)))), follows=False,
    )  # fmt: skip


def _asked_again(parsed: Parsed, before: Parsed, near: Evidence | None, *, bare: bool) -> Parsed | None:
    """The question before, of something else that the follow-up puts in the place of a part of it; None where it asks for more."""
    beside = before.relation and before.anchors
    if beside and (after := _AFTER_THAT.fullmatch(parsed.text.rstrip(" ?!."))):  # "what came after the dog? and after that?"
        if near is None:
            return parsed
        relation = cast("Relation", after[1])
        return msgspec.structs.replace(
            before, text=parsed.text, relation=relation, anchors=its_names(before)[:1], anchor=near, clause=after[0], answered=None
        )
    if beside and parsed.anchors and not parsed.things and parsed.kind in {"other", "where", "when"}:  # "and after the clock?"
        return msgspec.structs.replace(
            before, text=parsed.text, relation=parsed.relation, anchors=parsed.anchors, anchor=None, clause=parsed.clause, answered=None,
            words=parsed.words,
        )  # fmt: skip
    if bare and before.kind == "order" and len(before.anchors) == len(parsed.things) == 1:  # "was it before the camel? and the penguin?"
        return msgspec.structs.replace(before, text=parsed.text, anchors=parsed.things, words=parsed.words)
    if bare and parsed.time and _of_scene(before) and names_nothing(msgspec.structs.replace(parsed, time=None), parsed.words):
        plain = msgspec.structs.replace(before, relation="", anchors=(), anchor=None, clause="", near=None, step=0, words=())
        return msgspec.structs.replace(plain, text=parsed.text, time=_time(parsed, before))  # "what was there at 8? and at 9?"
    return None


def _of_scene(p: Parsed) -> bool:
    """It asks what there was at a time, of nothing that it names."""
    return p.kind in {"what", "summary"} and p.hint in {"seen", "none"} and not (p.things or p.person or p.form or p.predicate)


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
