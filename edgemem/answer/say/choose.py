"""Choosing among options: each is looked for in the same memory, where the question's time and relation put it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import msgspec

from edgemem.answer.compose import at, the
from edgemem.answer.gather import Candidate, Lead, Pool
from edgemem.answer.retrieve import Episode
from edgemem.answer.say.base import (
    Plan,
    Steps,
    answered,
    best_of,
    best_score,
    by_score,
    cite,
    gather,
    not_seen,
    pick,
    strong,
    window_of,
)
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


def phrases(s: Session) -> list[str]:
    """The options as things to look for."""
    return [noun_phrase(option.lower())[:400] or option.lower()[:400] for option in s.question.options]


def choose(s: Session, pool: Pool, ranked: Sequence[tuple[float, Candidate]], free: Plan) -> Plan:
    """The way of choosing that fits the question and its options; `free` answers it without them."""
    p = s.parsed
    if _mapped(s):
        return (yield from _map_reply(s, free))
    if p.relation == "" and stated_prior(p) >= 0.5 and (reply := _from_words(s, ranked)) is not None:
        return reply
    if p.form == "colour" and p.things:
        return (yield from _colour(s))
    if p.kind == "order" or (p.ordinal and not p.anchors and not p.relation):
        return (yield from _order(s, pool))
    if p.kind in {"where", "what"} and p.things and not p.anchors:
        return (yield from _beside_thing(s))
    reply = yield from _thing(s)
    return reply if reply.status == "answered" else _from_words(s, ranked) or reply


def _from_words(s: Session, ranked: Sequence[tuple[float, Candidate]]) -> Reply | None:
    """The option that stands in the words that fit the question best."""
    scored = [
        (sure * (0.5 + likeness(option, one.text)), i, sure, one)
        for sure, one in ranked
        for i, option in enumerate(s.question.options)
        if likeness(option, one.text) >= 0.75
    ]
    if not scored:
        return None
    _, option, sure, best = max(scored, key=lambda item: item[0])
    reply = tell(s, [(max(sure, 0.3), best)])
    return answered(
        f"{s.question.options[option].strip()}: {reply.text}", max(sure, 0.3), reply.evidence, option, alternatives=reply.alternatives
    )


def _looked_up(s: Session, window: tuple[int | None, int | None]) -> Steps[list[Lead]]:
    pool = yield from gather(phrases(s), window)
    return list(pool.leads) or [Lead(phrase=phrase) for phrase in phrases(s)]


def _thing(s: Session) -> Plan:
    """Which of these was seen, by confidence; after, before, between or next to something, by closeness too."""
    if s.parsed.relation in {"before", "after"} and len(s.parsed.anchors) == 1:
        return (yield from _neighbour(s))
    place = yield from relate(s)
    if place.missing is not None:
        return not_seen(s, place.missing)
    window = place.window
    if s.parsed.relation in {"while", "side"} and window[0] is not None and window[1] is not None:
        window = (window[0] - _SLACK_US, window[1] + _SLACK_US)
    leads = yield from _looked_up(s, window)
    return _best_option(s, leads, [max(best_score(lead), lead.confidence) for lead in leads])


def _neighbour(s: Session) -> Plan:
    """Such as "what came right after the coffee": the pair of anchor and option that were seen best and closest to each other.

    Weak sightings of both may stand side by side by chance, but hardly as often as the right pair does.
    """
    ordinal, phrase = take_ordinal(s.parsed.anchors[0])
    pool = yield from gather((phrase,), window_of(s))
    if not pool.leads:
        return not_seen(s)
    anchor = pool.leads[0]
    anchors = [e for e in [pick(strong(anchor, ordinal), ordinal)] if e] if ordinal else list(anchor.episodes)
    leads = yield from _looked_up(s, window_of(s))
    near = [[(_pair(s, one, other), other) for one in anchors for other in lead.episodes] for lead in leads]
    scores = [max((score for score, _ in pairs), default=0.0) for pairs in near]
    if max(scores, default=0.0) <= 0:
        return not_seen(s, anchor)
    chosen = [max(pairs, key=lambda pair: pair[0])[1] if pairs else None for pairs in near]
    return _best_option(s, leads, scores, chosen)


def _pair(s: Session, anchor: Episode, other: Episode) -> float:
    """Scores of both, less the further apart; nothing where their order is wrong."""
    gap_us = other.t0_us - anchor.t1_us if s.parsed.relation == "after" else anchor.t0_us - other.t1_us
    return 0.0 if gap_us <= 0 else math.sqrt(anchor.score * other.score) * math.exp(-gap_us / US / _NEAR_S)


def _best_option(s: Session, leads: Sequence[Lead], scores: Sequence[float], chosen: Sequence[Episode | None] = ()) -> Reply:
    """The option with the highest score; confidence is its share against the others."""
    best = max(range(len(leads)), key=lambda i: scores[i])
    none = next((i for i, option in enumerate(s.question.options) if _NONE.search(option)), None)
    lead = leads[best]
    if not lead.episodes or (none is not None and not is_shown(s.parsed, lead)):
        if none is not None and (some := next((lead for lead in leads if lead.episodes), None)):
            return answered(s.question.options[none], 0.5, cite(by_score(some.episodes)[:3]), none)
        return not_seen(s, max(leads, key=lambda x: x.confidence), "any of these")
    share = scores[best] / max(1e-9, sum(scores) + _PRIOR)
    if not is_shown(s.parsed, lead) and share < _LEAST_SHARE:
        return not_seen(s, lead, "any of these")
    episode = (chosen[best] if chosen else None) or best_of(lead)
    rest = by_score(e for e in strong(lead) if e.t0_us != episode.t0_us)
    more = tuple(best_of(other).evidence[0].id for other in leads if other is not lead and other.episodes)
    text = f"{s.question.options[best].strip()}: {at(episode, s.question.tz)}."
    return answered(text, share * (0.5 + 0.5 * lead.confidence), cite([episode], rest), best, alternatives=more)


def _order(s: Session, pool: Pool) -> Plan:
    """Which of the options came first or last; before or after."""
    p = s.parsed
    if p.anchors and {words(option.lower())[0] for option in s.question.options if words(option)} >= {"before", "after"}:
        found_ = yield from gather((p.target, p.anchors[0]), window_of(s))
        reply, which = in_order(s, found_.leads, (p.target, p.anchors[0]), pool, granted=True)
        word = ("before", "after")[which] if which is not None else ""
        option = next((i for i, text in enumerate(s.question.options) if word and words(text.lower())[:1] == [word]), None)
        return with_option(reply, option)
    leads = yield from _looked_up(s, window_of(s))
    if not any(is_shown(p, lead) for lead in leads):
        return _best_option(s, leads, [lead.confidence for lead in leads])
    seen = [i for i, lead in enumerate(leads) if is_shown(p, lead)]
    if len(seen) == 1:
        end = -1 if p.ordinal == -1 else 1
        chosen = pick(strong(leads[seen[0]], end), end) or best_of(leads[seen[0]])
        text = f"{s.question.options[seen[0]].strip()} came {'last' if end == -1 else 'first'}, {at(chosen, s.question.tz)}."
        return answered(text, 0.6 * shown(p, leads[seen[0]]), cite([chosen]), seen[0])
    reply, best = in_order(s, leads, [option.strip() for option in s.question.options], pool)
    return with_option(reply, best)


def with_option(reply: Reply, option: int | None) -> Reply:
    """The reply with the option that it means."""
    if reply.status != "answered" or option is None:
        return reply
    return msgspec.structs.replace(reply, option=option)


def _target(s: Session) -> Steps[tuple[Lead, Episode | None]]:
    place = yield from relate(s)
    pool = yield from gather((s.parsed.target,), place.window)
    lead = pool.leads[0] if pool.leads else Lead(phrase=s.parsed.target)
    return lead, (pick(strong(lead, s.parsed.ordinal), s.parsed.ordinal) or best_of(lead)) if is_shown(s.parsed, lead) else None


def _colour(s: Session) -> Plan:
    """The colour word among the options that fits the target best where it was seen."""
    lead, chosen = yield from _target(s)
    if chosen is None:
        return not_seen(s, lead)
    named = yield from colours_of(lead, chosen, tuple(phrases(s)))
    best = phrases(s).index(named[0]) if named else 0
    text = f"{s.question.options[best].strip()}: {the(lead.phrase)} {at(chosen, s.question.tz)}."
    return answered(text, 0.7 * shown(s.parsed, lead), cite([chosen]), best)


def _beside_thing(s: Session) -> Plan:
    """Where the target was: each option is looked for in the pictures that show the target."""
    lead, chosen = yield from _target(s)
    if chosen is None:
        return not_seen(s, lead)
    leads = yield from _looked_up(s, (chosen.t0_us - _SLACK_US, chosen.t1_us + _SLACK_US))
    scores = [max(best_score(there), there.confidence) for there in leads]
    best = max(range(len(scores)), key=lambda i: scores[i])
    if scores[best] <= 0:
        return not_seen(s, lead, f"{the(lead.phrase)} in any of these places")
    text = f"{s.question.options[best].strip()}: {at(chosen, s.question.tz)}."
    return answered(text, scores[best] / (sum(scores) + _PRIOR) * shown(s.parsed, lead), cite([chosen]), best)


# ------------------------------------------------------------------------------------------------- options that name an answer


def _mapped(s: Session) -> bool:
    """The options are of the kind that a free answer can be compared with: yes or no, numbers, times."""
    options, kind = s.question.options, s.parsed.kind
    if any(words(option.lower())[:1] in (["yes"], ["no"]) for option in options):
        return True
    if kind in {"how_many", "how_long"}:
        return sum(number_in(option) is not None for option in options) * 2 >= len(options)
    return kind == "when" and sum(_clock_s(option.lower()) is not None for option in options) * 2 >= len(options)


def _map_reply(s: Session, free: Plan) -> Plan:
    """Answer freely, then take the option that says the same."""
    reply = yield from free
    if reply.status != "answered":
        no = next((i for i, option in enumerate(s.question.options) if words(option.lower())[:1] == ["no"]), None)
        return (
            answered(reply.text, 1 - reply.confidence, reply.evidence, no)
            if reply.text.startswith("No,") and no is not None and reply.evidence
            else reply
        )
    return with_option(reply, same_option(s, reply))


def same_option(s: Session, reply: Reply) -> int | None:
    """The option that says what the reply says."""
    options = [option.strip().lower() for option in s.question.options]
    if any(words(option)[:1] in (["yes"], ["no"]) for option in options):
        first = "yes" if reply.text.startswith("Yes") else "no"
        return next((i for i, option in enumerate(options) if words(option)[:1] == [first]), None)
    if s.parsed.kind in {"how_many", "how_long"}:
        number = number_in(reply.text)
        numbered = [
            (abs(value - number), i) for i, option in enumerate(options) if number is not None and (value := number_in(option)) is not None
        ]
        return min(numbered)[1] if numbered else None
    evidence = s.evidence().get(reply.evidence[0]) if reply.evidence else None
    if evidence is None:
        return None
    local = to_local(evidence.t0_us, s.question.tz)
    day_s = local.hour * 3600 + local.minute * 60 + local.second
    timed = [
        (min(abs(clock_s - day_s), abs(clock_s - evidence.offset_us / US)), i)
        for i, option in enumerate(options)
        if (clock_s := _clock_s(option)) is not None
    ]
    return min(timed)[1] if timed else None


def _clock_s(option: str) -> float | None:
    if match := re.search(r"\d{1,2}:\d\d(?::\d\d)?(?: ?[ap]\.?m\.?)?|\d{1,2} ?[ap]m", option):
        clock = read_clock(match[0])
        return clock.day_s if clock and clock.day_s >= 0 else clock.offset_s if clock else None
    return (duration_s(option) or None) if any(map(str.isdigit, option)) else None
