"""Choosing among options: each is looked for in the same memory, where the question's time and relation put it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import msgspec

from edgemem.answer.compose import at
from edgemem.answer.gather import Candidate, Lead, Pool
from edgemem.answer.retrieve import Episode
from edgemem.answer.say import base
from edgemem.answer.say.base import Plan, Steps, Window
from edgemem.answer.say.order import in_order, relate
from edgemem.answer.say.pictures import colours_of
from edgemem.answer.say.statements import tell
from edgemem.answer.session import Session
from edgemem.answer.tools import Reply
from edgemem.answer.understand.parse import take_ordinal
from edgemem.answer.understand.phrases import noun_phrase
from edgemem.answer.understand.timeref import duration_s, read_clock
from edgemem.answer.understand.words import likeness, number_in, words
from edgemem.answer.weigh import is_shown, shown, stated_prior
from edgemem.clock import to_local
from edgemem.records import US

_NEAR_S = 15.0
"""What comes "right after": the weight of a candidate falls to 1/e at this distance."""
_SLACK_US = 3 * US
_NONE = re.compile(r"\b(?:none|neither|nothing|not any|no answer|never|cannot|unknown|don't know)\b", re.IGNORECASE)
_PRIOR = 0.05
"""What speaks for none of the options, on the scale of their scores."""
_LEAST_SHARE = 0.2
"""One of the options is expected to be right, so that weaker evidence is enough than without them."""
_HELD = 0.75
"""Share of an option's letters that words must hold to mean it."""


def choose(s: Session, pool: Pool, ranked: Sequence[tuple[float, Candidate]], free: Plan) -> Plan:
    """The way of choosing that fits the question and its options; `free` answers it without them."""
    p = s.parsed
    if _mapped(s):
        return _same(s, (yield from free))
    told = _from_words(s, ranked)
    if told is not None and p.relation == "" and stated_prior(p) >= 0.5:
        return told
    if p.kind == "order" or (p.ordinal and not p.anchors and not p.relation and p.form != "colour"):
        return (yield from _order(s, pool))
    near = p.relation in {"before", "after"} and len(p.anchors) == 1
    at_thing = p.things and (p.form == "colour" or (p.kind in {"where", "what"} and not p.anchors))
    reply = yield from (_at_thing(s) if at_thing else _neighbour(s) if near else _thing(s))
    return reply if reply.status == "answered" else told or reply


def _phrases(s: Session) -> list[str]:
    """The options as things to look for."""
    return [noun_phrase(option.lower())[:400] or option.lower()[:400] for option in s.question.options]


def _looked_up(s: Session, window: Window) -> Steps[list[Lead]]:
    pool = yield from base.gather(_phrases(s), window)
    return list(pool.leads) or [Lead(phrase=phrase) for phrase in _phrases(s)]


def _score(lead: Lead) -> float:
    return max(base.best_score(lead), lead.confidence)


def _from_words(s: Session, ranked: Sequence[tuple[float, Candidate]]) -> Reply | None:
    """The option that stands in the words that fit the question best."""
    scored = [
        (sure * (0.5 + share), i, sure, one)
        for sure, one in ranked
        for i, option in enumerate(s.question.options)
        if (share := likeness(option, one.text)) >= _HELD
    ]
    if not scored:
        return None
    _, option, sure, best = max(scored, key=lambda item: item[0])
    told = tell(s, [(max(sure, 0.3), best)])
    return msgspec.structs.replace(told, text=f"{s.question.options[option].strip()}: {told.text}", option=option)


def _thing(s: Session) -> Plan:
    """Which of these was seen, by confidence, in the window that the question's relation leaves."""
    place = yield from relate(s)
    if place.missing is not None:
        return base.not_seen(s, place.missing)
    low, high = place.window
    slack = _SLACK_US if s.parsed.relation in {"while", "side"} else 0
    leads = yield from _looked_up(s, (low and low - slack, high and high + slack))
    return _best_option(s, leads, [_score(lead) for lead in leads])


def _neighbour(s: Session) -> Plan:
    """Such as "what came right after the coffee": the option that was seen best and nearest to where the anchor was.

    The anchor was at one of its appearances, as likely as the square of its score.
    """
    ordinal, phrase = take_ordinal(s.parsed.anchors[0])
    anchor = yield from base.look_for(phrase, base.window_of(s))
    at = [e for e in [base.pick(base.strong(anchor), ordinal)] if e] if ordinal else list(anchor.episodes)
    leads = yield from _looked_up(s, base.window_of(s))
    found = [_beside(s, at, lead) for lead in leads]
    if not any(score for score, _ in found):
        return base.not_seen(s, anchor)
    return _best_option(s, leads, [score for score, _ in found], [episode for _, episode in found])


def _beside(s: Session, at: Sequence[Episode], lead: Lead) -> tuple[float, Episode | None]:
    """How well an option fits beside the anchor, wherever that was, and its appearance there."""
    sure, best = sum(one.score**2 for one in at), base.best_score(lead) or math.inf
    near = [max(((one.score**2 / sure * _near(s, one, e), e) for e in lead.episodes), key=_first, default=(0.0, None)) for one in at]
    score = math.sqrt(lead.confidence) * sum(score for score, _ in near) / best
    return score, max(near, key=_first, default=(0.0, None))[1]


def _first(pair: tuple[float, Episode | None]) -> float:
    return pair[0]


def _near(s: Session, anchor: Episode, other: Episode) -> float:
    """Score of what was seen, less the further from the anchor; nothing where their order is wrong."""
    gap_us = other.t0_us - anchor.t1_us if s.parsed.relation == "after" else anchor.t0_us - other.t1_us
    return 0.0 if gap_us <= 0 else other.score * math.exp(-gap_us / US / _NEAR_S)


def _at_thing(s: Session) -> Plan:
    """Where the target was, or in which colour: each option is looked for in the pictures that show the target."""
    place = yield from relate(s)
    lead = (*(yield from base.gather((s.parsed.target,), place.window)).leads, Lead(phrase=s.parsed.target))[0]
    if not is_shown(s.parsed, lead):
        return base.not_seen(s, lead)
    chosen = base.picked(lead, s.parsed.ordinal)
    if s.parsed.form == "colour":
        named = yield from colours_of(s, lead, chosen, tuple(_phrases(s)))
        scores = [float(bool(named) and phrase == named[0]) for phrase in _phrases(s)]
    else:
        leads = yield from _looked_up(s, (chosen.t0_us - _SLACK_US, chosen.t1_us + _SLACK_US))
        scores = [_score(there) for there in leads]
    if not any(scores):
        return base.not_seen(s, lead)
    best = max(range(len(scores)), key=lambda i: scores[i])
    text = f"{s.question.options[best].strip()}: {at(chosen, s.question.tz)}."
    return base.answered(text, scores[best] / (sum(scores) + _PRIOR) * shown(s.parsed, lead), base.cite([chosen]), best)


def _best_option(s: Session, leads: Sequence[Lead], scores: Sequence[float], chosen: Sequence[Episode | None] = ()) -> Reply:
    """The option with the highest score; confidence is its share against the others."""
    best = max(range(len(leads)), key=lambda i: scores[i])
    none = next((i for i, option in enumerate(s.question.options) if _NONE.search(option)), None)
    lead, share = leads[best], scores[best] / max(1e-9, sum(scores) + _PRIOR)
    sure = lead.episodes and is_shown(s.parsed, lead)
    if not sure and none is not None and (some := next((one for one in leads if one.episodes), None)):
        return base.answered(s.question.options[none], 0.5, base.cite(base.by_score(some.episodes)[:3]), none)
    if not lead.episodes or not (sure or share >= _LEAST_SHARE):
        return base.not_seen(s, max(leads, key=lambda one: one.confidence), "any of these")
    episode = (chosen[best] if chosen else None) or base.best_of(lead)
    rest = base.by_score(e for e in base.strong(lead) if e.t0_us != episode.t0_us)
    more = tuple(base.best_of(other).evidence[0].id for other in leads if other is not lead and other.episodes)
    text = f"{s.question.options[best].strip()}: {at(episode, s.question.tz)}."
    return base.answered(text, share * (0.5 + 0.5 * lead.confidence), base.cite([episode], rest), best, alternatives=more)


def _order(s: Session, pool: Pool) -> Plan:
    """Which of the options came first or last; before or after."""
    p, first = s.parsed, [words(option.lower())[:1] for option in s.question.options]
    if p.anchors and ["before"] in first and ["after"] in first:
        found = yield from base.gather((p.target, p.anchors[0]), base.window_of(s))
        reply, which = in_order(s, found.leads, (p.target, p.anchors[0]), pool, granted=True)
        return reply if which is None else with_option(reply, first.index([("before", "after")[which]]))
    leads = yield from _looked_up(s, base.window_of(s))
    if sum(bool(lead.episodes) for lead in leads) < 2:
        return _best_option(s, leads, [lead.confidence for lead in leads])
    reply, best = in_order(s, leads, [option.strip() for option in s.question.options], pool, granted=True)
    return with_option(reply, best)


def with_option(reply: Reply, option: int | None) -> Reply:
    """The reply with the option that it means."""
    return msgspec.structs.replace(reply, option=option) if reply.status == "answered" and option is not None else reply


def _mapped(s: Session) -> bool:
    """The options are of the kind that a free answer can be compared with: yes or no, numbers, times."""
    options, kind = s.question.options, s.parsed.kind
    if any(_says(option) for option in options):
        return True
    return kind in {"how_many", "how_long", "when"} and sum(bool(_values(s, option.lower())) for option in options) * 2 >= len(options)


def _same(s: Session, reply: Reply) -> Reply:
    """The reply with the option that says the same; where it says no and abstains, the option "no" is meant."""
    if reply.status == "answered":
        return with_option(reply, same_option(s, reply))
    no = next((i for i, option in enumerate(s.question.options) if _says(option) == "no"), None)
    if no is None or not reply.text.startswith("No,") or not reply.evidence:
        return reply
    return base.answered(reply.text, 1 - reply.confidence, reply.evidence, no)


def _says(option: str) -> str:
    first = words(option.lower())[:1]
    return first[0] if first in (["yes"], ["no"]) else ""


def same_option(s: Session, reply: Reply) -> int | None:
    """The option that says what the reply says: the same word, the nearest number, or the nearest time."""
    options = [option.strip().lower() for option in s.question.options]
    if any(map(_says, options)):
        word = "yes" if reply.text.startswith("Yes") else "no"
        return next((i for i, option in enumerate(options) if _says(option) == word), None)
    wanted = _values(s, reply.text) if s.parsed.kind in {"how_many", "how_long"} else _times(s, reply)
    gaps = [(abs(value - one), i) for i, option in enumerate(options) for value in _values(s, option) for one in wanted]
    return min(gaps)[1] if gaps else None


def _times(s: Session, reply: Reply) -> list[float]:
    """Seconds since midnight and since its stream began of what a reply cites first."""
    evidence = next((one for name, one in s.evidence().items() if name in reply.evidence[:1]), None)
    if evidence is None:
        return []
    local = to_local(evidence.t0_us, s.question.tz)
    return [evidence.offset_us / US, local.hour * 3600 + local.minute * 60 + local.second]


def _values(s: Session, option: str) -> list[float]:
    """The number in an option, or what its time may mean in seconds: "1:59" is a time of day and a place in a stream."""
    if s.parsed.kind in {"how_many", "how_long"}:
        number = number_in(option)
        return [] if number is None else [number]
    if match := re.search(r"\d{1,2}:\d\d(?::\d\d)?(?: ?[ap]\.?m\.?)?|\d{1,2} ?[ap]m", option):
        clock = read_clock(match[0])
        read = (clock.day_s, clock.offset_s) if clock else ()
        return [one for one in read if one is not None and one >= 0]
    return list(filter(None, [duration_s(option)])) if any(map(str.isdigit, option)) else []
