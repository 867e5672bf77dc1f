"""A question as it would be asked alone: without what is said to the answer before, with the nouns that it leaves out (query rewriting).

"Four times, good grief! When was the last one?", asked after elephants, is "when was the last elephant?". What puts it in relation to the
answer ("what was said then?") is cut out and comes apart, for the answer says when that was.
"""

from __future__ import annotations

import re
from typing import cast

from edgemem.answer.understand.asking import mentioned, without_greeting
from edgemem.answer.understand.parts import tokens_of
from edgemem.answer.understand.record import Answered, Parsed, Relation
from edgemem.answer.understand.relations import take_ordinal
from edgemem.answer.understand.timeref import take_time
from edgemem.answer.understand.wordings import ORDINALS, pattern, patterns
from edgemem.answer.understand.words import singular, words
from edgemem.records import US, Record


class Reference(Record, frozen=True):
    """Where a question puts what it asks for in relation to the answer before: "what was said then", "what came after that"."""

    relation: Relation
    said: str


def in_full(plain: str, before: Parsed) -> tuple[str, Reference | None]:
    """A question in normal form behind the one before and its answer, and what it refers to in that."""
    text = pattern("CORRECTED").sub("what about ", _without_lead(_without_reaction(plain).rstrip(" ?!.")))
    text = pattern("ALSO").sub("", text)
    if re.search(r"[.?] ", text):  # "there was a notice too. What was on that one?"
        return f"{text}?", None
    text, its = _take_reference(text)
    of_two = pattern("OF_TWO").fullmatch(text) or (before.kind == "yes_no" and pattern("OF_ONE").fullmatch(text))
    if of_two and (pair := _pair(before)):
        return f"which came {of_two['row']}, the {pair[0]} or the {pair[1]}?", its
    text = _with_nouns(text, before)
    if its is None and (names := its_names(before)):
        text = pattern("COMPARES").sub(f"was the {names[0]} ", text)
        text = pattern("IN_IT").sub(lambda match: f"{match[1]} the {names[0]}", text)
    if len(two := _two(before)) > 1:
        text = pattern("APART_FROM_EACH").sub(f"how long was it between the {two[0]} and the {two[1]}", text)
        text = pattern("BETWEEN_THEM").sub(f"between the {two[0]} and the {two[1]}", text)
    return f"{text}?", its


def its_names(before: Parsed) -> tuple[str, ...]:
    """What "it" or "them" may be: what the answer names, else what was asked about."""
    return (before.answered.names if before.answered else ()) or _things(before) or before.anchors[:1]


def _without_reaction(plain: str) -> str:
    """Without what is said to the answer before the next question. What tells of a thing stays where the question points at it: "there was
    a sign too. What did it say?".
    """
    parts = re.split(r"(?<=[.!?])\s+", plain)
    doubt = pattern("ABOUT told")  # "really?"
    asks = next((i for i, part in enumerate(parts) if part.endswith("?") and not doubt.fullmatch(part.rstrip("?"))), len(parts) - 1)
    points = pattern("POINTS").search(parts[asks]) is not None
    return " ".join((*(part for part in parts[:asks] if points and pattern("TELLS").search(part)), *parts[asks:]))


def _without_lead(text: str) -> str:
    """Without a greeting and the like; "and" stays where it is all that asks: "and the soap"."""
    asked = without_greeting(text)
    asks = any(pattern(one).search(asked) for one in ("EMBEDDED", "INVERTED", "OF_THAT"))
    return f"and {asked}" if not asks and re.search(r"\band $", text[: len(text) - len(asked)]) else asked


def _take_reference(text: str) -> tuple[str, Reference | None]:
    """Without what refers to the answer, where that is not all that is asked."""
    for name, form in () if pattern("EITHER_SIDE").search(text) else patterns("REFERS"):
        match = form.search(text)
        rest = f"{text[: match.start()]} {text[match.end() :]}" if match else ""
        particle = match and match[0].endswith("then") and (take_time(rest)[0] or not pattern("WAS").search(rest))
        if match and set(tokens_of(rest)) - _JOINTS and not particle:  # not "what date is that then"
            return " ".join(rest.split()), Reference(relation=cast("Relation", name), said=match[0].strip())
    return text, None


_JOINTS = frozenset(("and", "but", "so", "or", "the", "one", "time", "what", ","))


def _with_nouns(text: str, before: Parsed) -> str:
    """With what "the last one", "which of them" and "between the first two" are, where the question names nothing else."""
    noun = _noun(before)
    if not noun:
        return text
    listed = before.things and (before.kind in {"what", "which", "list"} or (before.answered and before.answered.names))
    if before.hint == "read" and (nth := pattern("NTH_ALONE").fullmatch(text)):  # "what did the last sign say? and the first?"
        return f"what was {nth['row']} {noun}"
    which = f"which {singular(before.things[0])} " if listed else "which time "  # of several things, or of one thing several times
    text = pattern("THE_OTHER_ONE").sub(lambda match: f"{match[1]} {noun}", text)
    if not mentioned(pattern("THE_ONE").sub(" ", pattern("AT_ONCE").sub(" ", text))):
        text = pattern("OF_THEM").sub(which, f"and {text}" if pattern("THE_ONE").fullmatch(text) else text)
        text = pattern("THE_ONE").sub(lambda match: _named(match, noun), text)
    return pattern("NTH_AND_NTH").sub(lambda match: f"between the {match[1] or 'first'} {noun} and the {match[2] or 'second'} {noun}", text)


def _named(match: re.Match[str], noun: str) -> str:
    """Such as "the last red box"; with another quality than the box before had it is "the small box"."""
    before = (match["such"] or match["row"] or match["number"]).strip()
    if match["number"]:
        return f"{before} {noun.removesuffix('s')}s"
    qualities = set(before.split()[1:]) - ORDINALS.keys() - {"very", "many", "middle"}
    return f"{before} {noun.rsplit(maxsplit=1)[-1] if qualities else noun}"


_ONES = frozenset(("one", "ones", "it", "thing"))


def _noun(before: Parsed) -> str:
    """What "the last one" is one of: the thing that was asked about, as one."""
    named = (take_ordinal(one)[1].split() for one in (*_things(before), *before.anchors[:1]))
    last = next((phrase for phrase in named if phrase and phrase[-1] not in _ONES and not phrase[-1].isdigit()), [])
    return " ".join((*last[:-1], singular(last[-1]))) if last else ""


def _things(before: Parsed) -> tuple[str, ...]:
    """What was asked about, without figures; what the answer speaks of first."""
    answer = words(before.answered.text) if before.answered else []
    return tuple(sorted((one for one in before.things if not one.isdigit()), key=lambda one: not set(words(one)) <= set(answer)))


def _two(before: Parsed) -> tuple[str, ...]:
    """What "between them" may mean: two things, or one that the answer told of several times."""
    answered = before.answered or Answered()
    if len(answered.names) > 1:
        return answered.names[:2]
    two = tuple(dict.fromkeys((*before.things, *before.choices, *before.anchors)))[:2]
    times = [one.t0_us for one in answered.evidence if one.channel == "frame"]
    if len(two) == 1 and times and max(times) - min(times) > _APART_US:
        return f"first {_noun(before)}", f"last {_noun(before)}"
    return two if len(two) > 1 else _pair(before) or two


def _pair(before: Parsed) -> tuple[str, ...]:
    """Two things that were asked about, in one question or one behind the other."""
    two = tuple(dict.fromkeys((*before.things, *before.choices, *before.anchors)))
    beside = before.answered.beside if before.answered else ""
    return two if len(two) == 2 else (beside, *two) if len(two) == 1 and beside not in {"", *two} else ()


_APART_US = 30 * US
"""Pictures further apart show a thing another time, as in `say.base.SAME_TRACK_US`."""
