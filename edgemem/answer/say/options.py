"""What options say: a number, a time, a place in time, a row, yes or no, nothing of it; and which of them says what an answer says."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import msgspec

from edgemem.answer.gather import held_shares
from edgemem.answer.retrieve import Episode, episode_of
from edgemem.answer.say import base
from edgemem.answer.session import Session
from edgemem.answer.tools import Reply
from edgemem.answer.understand import relations, timeref
from edgemem.answer.understand.lexicon import CARRIERS, FUNCTION
from edgemem.answer.understand.timespan import TimeSpan
from edgemem.answer.understand.wordings import pattern
from edgemem.answer.understand.words import content_words, number_in, numbered, words
from edgemem.clock import to_local
from edgemem.records import US

_NONE = re.compile(
    r"\b(?:none|neither|nothing|not any|no answer|never|cannot|can't|unknown|don't know|no \w+ (?:was|were) \w+"
    r"|not (?:mentioned|said|stated|told|known|shown|given))\b",
    re.IGNORECASE,
)
_ALONE = {word: word for word in ("yes", "no", "before", "after")} | {"earlier": "before", "sooner": "before", "later": "after"}


def none_of(s: Session) -> int | None:
    """The option that none of the others holds."""
    return next((i for i, option in enumerate(s.question.options) if _NONE.search(option)), None)


def is_odd(s: Session) -> bool:
    """The option that does not hold is asked for: "which of these did I never see"."""
    return pattern("ODD_ONE").search(s.parsed.question) is not None


def fits(s: Session, phrases: Sequence[str], texts: Sequence[str]) -> list[list[float]]:
    """Of each phrase and text the share of the words that it holds; words that all phrases have, or the question, tell nothing."""
    every = [[word for word in numbered(phrase) if word not in FUNCTION | CARRIERS | {"s"}] or numbered(phrase) for phrase in phrases]
    told = set(numbered(s.parsed.question)).union(set.intersection(*map(set, every)) if len(every) > 1 else ())
    own = [[word for word in some if word not in told] or some for some in every]
    return [held_shares(some, texts, [""] * len(texts)) for some in own]


def rows_of(options: Sequence[str]) -> list[list[str]]:
    """The options as rows of the same things in different orders: "A, then B, then C". Empty where they are none."""
    rows = [[part.strip(" .") for part in pattern("PARTED").split(option.lower()) if part.strip(" .")] for option in options]
    same = all(sorted(row) == sorted(rows[0]) and len(row) > 1 for row in rows)
    return rows if len(rows) > 1 and same else []


def places_of(options: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """The options that are times before, after, between or while other things were there, as relations with their anchors."""
    read = [relations.take_relation(option.lower().strip(" ."), "when") for option in options]
    return [(relation, anchors) for rest, relation, anchors, _ in read if relation and anchors and not words(rest)]


def says(text: str) -> str:
    """The first word of an option or answer, where it can be all that it says: "earlier" is before."""
    return next((_ALONE[word] for word in words(text.lower())[:1] if word in _ALONE), "")


def with_option(s: Session, reply: Reply) -> Reply:
    """The reply with the option that says the same: the same word, the nearest number, or the nearest time.

    Where it says no and abstains, the option "no" is meant.
    """
    options = [option.strip().lower() for option in s.question.options]
    by_word = {says(option): i for i, option in reversed(list(enumerate(options)))}
    if reply.status != "answered":
        denied = says(reply.text) == "no" and "no" in by_word and reply.evidence
        return base.answered(reply.text, 1 - reply.confidence, reply.evidence, by_word["no"]) if denied else reply
    option = by_word.get(says(reply.text) or "yes")  # words that hold all of the question say yes
    if not any(by_word):
        wanted = values(s, reply.text.partition(" at ")[0])
        gaps = [(abs(value - one), i) for i, text in enumerate(options) for value in values(s, text) for one in wanted]
        if s.parsed.kind == "when":
            gaps = [(gap, i) for i, text in enumerate(options) for gap in gaps_s(s, text, cited(s, reply))]
        option = min(gaps)[1] if gaps else None
    return reply if option is None else msgspec.structs.replace(reply, option=option)


def cited(s: Session, told: Reply) -> tuple[Episode, ...]:
    """What an answer cites first."""
    return tuple(episode_of([one]) for one in map(s.evidence().get, told.evidence[:1]) if one is not None)


def values(s: Session, option: str) -> list[float]:
    """The number in an option, or what its time may mean in seconds: "1:59" is a time of day and a place in a stream."""
    if s.parsed.kind == "how_long" and pattern("DURATION").search(option):
        return [timeref.duration_s(option)]
    if s.parsed.kind in {"how_many", "how_long"}:
        number = number_in(option)
        return [] if number is None else [number]
    return seconds_of(option)


def gaps_s(s: Session, option: str, episodes: Sequence[Episode]) -> list[float]:
    """How far each appearance is from the time that an option names, in seconds: 0 and a bit within "between two and three minutes in"."""
    span = s.reads(f"what did I see {_at(option)}", "")[1] if s.reads else TimeSpan()
    if span.from_us is not None and span.to_us is not None and not span.problem:
        from_us, to_us = span.from_us, span.to_us
        middle_us = (from_us + to_us) // 2  # of two stretches that hold it the one around it
        return [(max(0, from_us - e.t0_us, e.t0_us - to_us) + abs(e.t0_us - middle_us) / 1000) / US for e in episodes]
    named, local = seconds_of(option.lower()), [to_local(e.t0_us, s.question.tz) for e in episodes]
    own = [(now.hour * 3600 + now.minute * 60 + now.second, e.offset_us / US) for now, e in zip(local, episodes, strict=True)]
    return [min((abs(one - value) for one in pair for value in named), default=math.inf) for pair in own]


def _at(option: str) -> str:
    return f"at {option}" if option[:1].isdigit() else option


def is_time(option: str) -> bool:
    """It names a time and nothing else: "around 8:03", "Saturday morning", "two minutes in"."""
    time, rest = timeref.take_time(_at(option.lower().strip(" .")))
    return (time is not None and not content_words(rest)) or bool(seconds_of(option.lower()))


def seconds_of(option: str) -> list[float]:
    """What the time in an option may mean, in seconds."""
    if match := re.search(r"\d{1,2}:\d\d(?::\d\d)?(?: ?[ap]\.?m\.?)?|\d{1,2} ?[ap]m", option):
        clock = timeref.read_clock(match[0])
        return [one for one in (clock.day_s, clock.offset_s) if one is not None and one >= 0] if clock else []
    return [timeref.duration_s(option)] if pattern("DURATION").search(option) else []
