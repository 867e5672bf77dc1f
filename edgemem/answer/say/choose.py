"""Choosing among options: each is looked for in the same memory, where the question's time and relation put it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import product
from operator import attrgetter

import msgspec
import numpy as np

from edgemem.answer.compose import at
from edgemem.answer.gather import Candidate, Lead, Pool
from edgemem.answer.retrieve import Episode
from edgemem.answer.say import base, order, pictures, statements
from edgemem.answer.say.base import Plan
from edgemem.answer.session import Session
from edgemem.answer.tools import Reply
from edgemem.answer.understand import relations, timeref
from edgemem.answer.understand.phrases import noun_phrase
from edgemem.answer.understand.wordings import pattern
from edgemem.answer.understand.words import likeness, number_in, words
from edgemem.answer.weigh import is_shown, stated_prior
from edgemem.records import US

_NEAR_US = 15 * US
"""What comes "right after": the weight of a candidate falls to 1/e at this distance."""
_NONE = re.compile(r"\b(?:none|neither|nothing|not any|no answer|never|cannot|unknown|don't know)\b", re.IGNORECASE)
_PRIOR = 0.05
"""What speaks for none of the options, on the scale of their scores."""
_ALONE = {word: word for word in ("yes", "no", "before", "after")} | {"earlier": "before", "sooner": "before", "later": "after"}
_HELD = 0.75
"""Share of an option's letters that words must hold to mean it."""
Found = tuple[float, Episode | None]
"""How well an option fits, and the appearance that shows it."""


def choose(s: Session, pool: Pool, ranked: Sequence[tuple[float, Candidate]], free: Plan) -> Plan:
    """The way of choosing that fits the question and its options; `free` answers it without them."""
    p, options = s.parsed, s.question.options
    timed = p.kind in {"how_many", "how_long", "when"} and 2 * sum(bool(_values(s, option.lower())) for option in options) >= len(options)
    if timed or any(map(_says, options)):  # a free answer can be compared with yes or no, before or after, numbers, times
        return with_option(s, (yield from free))
    told = _from_words(s, ranked)
    if told is not None and p.relation == "" and stated_prior(p) >= 0.5:
        return told
    named = all(set(words(noun_phrase(option.lower()))) <= set(words(p.text)) for option in options)  # by the question itself
    in_turn = p.kind == "order" or (p.ordinal and not p.anchors and p.form != "colour") or (named and pattern("RANKED").search(p.question))
    near = len(p.anchors) == {"before": 1, "after": 1, "between": 2}.get(p.relation) and not order.distance_us(s)
    reply = yield from (_order(s, pool) if in_turn else _beside(s) if near else _seen(s))
    return reply if reply.status == "answered" else told or reply


def _from_words(s: Session, ranked: Sequence[tuple[float, Candidate]]) -> Reply | None:
    """The option that stands in the words that fit the question best; of what was told several times only in the telling that is meant."""
    replaced = statements.replaced(s.parsed, ranked)
    ranked = [pair for pair in ranked if pair[1] not in replaced]
    pairs = [(likeness(option, one.text), i, sure, one) for sure, one in ranked for i, option in enumerate(s.question.options)]
    share, option, sure, best = max(pairs, key=lambda pair: pair[2] * (0.5 + pair[0]) * (pair[0] >= _HELD), default=(0.0, 0, 0.0, None))
    if best is None or share < _HELD:
        return None
    told = statements.tell(s, [(max(sure, 0.3), best)])
    return msgspec.structs.replace(told, text=f"{s.question.options[option].strip()}: {told.text}", option=option)


def _phrases(s: Session) -> list[str]:
    """The options as things to look for; a colour as that of the thing."""
    of = f" {s.parsed.target}" if s.parsed.form == "colour" else ""
    return [f"{noun_phrase(option.lower()) or option.lower()}{of}"[:400] for option in s.question.options]


def _seen(s: Session) -> Plan:
    """The option that was seen best where the question's relation puts it; of a place or colour in the pictures of the thing."""
    place = yield from order.relate(s)
    if place.missing is not None:
        return base.not_seen(s, place.missing)
    window, p, phrases = place.window, s.parsed, _phrases(s)
    placed = p.kind == "where" and not p.anchors and not any(p.target in phrase for phrase in phrases)
    if p.things and (p.form == "colour" or placed):
        thing = yield from base.look_for(p.target, window)
        shown = base.picked(thing, p.ordinal) if is_shown(p, thing) else None
        window = (shown.t0_us - pictures.BESIDE_US, shown.t1_us + pictures.BESIDE_US) if shown else window
    leads = (yield from base.gather(phrases, window)).leads
    return _best_option(s, leads)


def _beside(s: Session) -> Plan:
    """Such as "what came right after the coffee" or "between A and B": the option that was seen best and nearest to where those were."""
    marks = list[Sequence[Episode]]()
    for name in s.parsed.anchors:
        ordinal, phrase = relations.take_ordinal(name)
        anchor = yield from base.look_for(phrase, base.window_of(s))
        if not anchor.episodes:
            return base.not_seen(s, anchor)
        newest = base.picked(anchor, ordinal)
        near = [one for one in anchor.episodes if abs(one.t0_us - newest.t0_us) <= base.OCCASION_US]
        marks.append([newest] if ordinal else near)
    leads = (yield from base.gather(_phrases(s), base.window_of(s))).leads
    pairs = list(product(*marks))
    return _best_option(s, leads, [_near(s, pairs, lead) for lead in leads])


def _near(s: Session, pairs: Sequence[Sequence[Episode]], lead: Lead) -> Found:
    """How well an option fits right before, after or between its anchors, and its appearance there.

    Each anchor was at one of its appearances, as likely as the square of its score; the likeliest pair counts. (Of 28 scores on 132
    questions from two generators it was right most often: 90, against 83 with the sum of all pairs.)
    """
    if not lead.episodes:
        return 0.0, None
    sure = np.array([math.prod(mark.score**2 for mark in pair) for pair in pairs])
    first_us = np.array([min(pair, key=attrgetter("t0_us")).t1_us for pair in pairs])
    last_us = np.array([max(pair, key=attrgetter("t0_us")).t0_us for pair in pairs])
    times_us, scores = np.array([(e.t0_us, e.t1_us) for e in lead.episodes]), np.array([[e.score] for e in lead.episodes])
    gaps_us = np.stack([times_us[:, :1] - first_us, last_us - times_us[:, 1:]])  # [after and before, appearances, pairs]
    gaps_us = gaps_us[{"after": [0], "before": [1]}.get(s.parsed.relation, [0, 1])]
    fits = np.where(gaps_us.min(axis=0) > 0, scores * sure * np.exp(-np.maximum(gaps_us.mean(axis=0), 0) / _NEAR_US), 0.0).max(axis=1)
    best = int(fits.argmax())
    score = math.sqrt(lead.confidence) * float(fits[best]) / (float(sure.max()) * base.best_score(lead) or 1.0)
    return score, lead.episodes[best] if fits[best] else None


def _best_option(s: Session, leads: Sequence[Lead], found: Sequence[Found] = ()) -> Reply:
    """The option with the highest score, by itself where `found` does not say; confidence is its share against the others."""
    found = found or [(max(base.best_score(lead), lead.confidence), base.pick(lead.episodes, 0)) for lead in leads]
    best = max(range(len(found)), key=lambda i: found[i][0], default=0)
    none = next((i for i, option in enumerate(s.question.options) if _NONE.search(option)), None)
    score, episode = found[best] if found else (0.0, None)
    if none is not None and not (found and is_shown(s.parsed, leads[best])) and (some := [e for _, e in found if e]):
        return base.answered(s.question.options[none], 0.5, base.cite(some[:3]), none)
    if episode is None:
        return base.abstain("I have not seen any of these in this memory.")
    lead, more = leads[best], tuple(e.evidence[0].id for i, (_, e) in enumerate(found) if e and i != best)
    rest = base.by_score(e for e in base.strong(lead) if e.t0_us != episode.t0_us)
    sure = score / (sum(score for score, _ in found) + _PRIOR) * (0.5 + 0.5 * lead.confidence)
    text = f"{s.question.options[best].strip()}: {at(episode, s.question.tz)}."
    return base.answered(text, sure, base.cite([episode], rest), best, alternatives=more)


def _order(s: Session, pool: Pool) -> Plan:
    """Which of the options came first or last."""
    leads = (yield from base.gather(_phrases(s), base.window_of(s))).leads
    if sum(bool(lead.episodes) for lead in leads) < 2:
        return _best_option(s, leads)
    reply, best = order.in_order(s, leads, [option.strip() for option in s.question.options], pool)
    return msgspec.structs.replace(reply, option=best)


def _says(text: str) -> str:
    """The first word of an option or answer, where it can be all that it says: "earlier" is before."""
    return next((_ALONE[word] for word in words(text.lower())[:1] if word in _ALONE), "")


def with_option(s: Session, reply: Reply) -> Reply:
    """The reply with the option that says the same: the same word, the nearest number, or the nearest time.

    Where it says no and abstains, the option "no" is meant.
    """
    options = [option.strip().lower() for option in s.question.options]
    by_word = {_says(option): i for i, option in reversed(list(enumerate(options)))}
    if reply.status != "answered":
        denied = _says(reply.text) == "no" and "no" in by_word and reply.evidence
        return base.answered(reply.text, 1 - reply.confidence, reply.evidence, by_word["no"]) if denied else reply
    option = by_word.get(_says(reply.text) or "yes")  # words that hold all of the question say yes
    if not any(by_word):
        told = reply.text.partition(")")[0].split("(") if s.parsed.kind == "when" else [reply.text]  # "at 10:00:31 (31 s into ...)"
        wanted = [value for part in told for value in _values(s, part)]
        gaps = [(abs(value - one), i) for i, text in enumerate(options) for value in _values(s, text) for one in wanted]
        option = min(gaps)[1] if gaps else None
    return reply if option is None else msgspec.structs.replace(reply, option=option)


def _values(s: Session, option: str) -> list[float]:
    """The number in an option, or what its time may mean in seconds: "1:59" is a time of day and a place in a stream."""
    if s.parsed.kind in {"how_many", "how_long"}:
        number = number_in(option)
        return [] if number is None else [number]
    if match := re.search(r"\d{1,2}:\d\d(?::\d\d)?(?: ?[ap]\.?m\.?)?|\d{1,2} ?[ap]m", option):
        clock = timeref.read_clock(match[0])
        return [one for one in (clock.day_s, clock.offset_s) if one is not None and one >= 0] if clock else []
    return list(filter(None, [timeref.duration_s(option)])) if any(map(str.isdigit, option)) else []
