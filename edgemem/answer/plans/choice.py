"""Choosing among options: each option is looked for in the same memory, where the question's time and relation put it."""

from __future__ import annotations

import math
import re

from edgemem.answer.compose import at, the
from edgemem.answer.language.question import clean, take_ordinal
from edgemem.answer.language.words import likeness, words
from edgemem.answer.plans.base import Lead, Plan, Steps, answered, cite, doubt, look_for, look_for_each, not_seen, pick, relate, window_of
from edgemem.answer.plans.scene import colours_of
from edgemem.answer.plans.text import rank, reply_with
from edgemem.answer.plans.thing import target
from edgemem.answer.retrieve import Episode
from edgemem.answer.session import Session
from edgemem.answer.tools import Reply
from edgemem.clock import to_local
from edgemem.records import US

_NEAR_S = 15.0
"""What comes "right after": the weight of a candidate falls to 1/e at this distance."""
_SLACK_US = 3 * US
_NONE = re.compile(r"\b(?:none|neither|nothing|not any|no answer|never|cannot|unknown|don't know)\b", re.IGNORECASE)
_PRIOR = 0.05
"""What speaks for none of the options, on the scale of their scores."""
_LEAST_SHARE = 0.4
"""One of the options is expected to be right, so that weaker evidence is enough than without them."""


def phrases(s: Session) -> list[str]:
    """The options as things to look for."""
    return [clean(option.lower())[:400] or option.lower()[:400] for option in s.question.options]


def choose_thing(s: Session) -> Plan:
    """Which of these was seen, by confidence; after, before, between or next to something, by closeness too."""
    if s.parsed.relation in {"before", "after"} and len(s.parsed.anchors) == 1:
        return (yield from _choose_neighbour(s))
    place = yield from relate(s)
    if place.missing is not None:
        return not_seen(s, place.missing)
    window = place.window
    if s.parsed.relation in {"while", "side"} and window[0] is not None and window[1] is not None:
        window = (window[0] - _SLACK_US, window[1] + _SLACK_US)
    leads = yield from look_for_each(phrases(s), window)
    return _best_option(s, leads, [max(lead.strength, lead.confidence) for lead in leads])


def _choose_neighbour(s: Session) -> Plan:
    """Such as "what came right after the coffee": the pair of anchor and option that were seen best and closest to each other.

    Weak sightings of both may stand side by side by chance, but hardly as often as the right pair does.
    """
    ordinal, phrase = take_ordinal(s.parsed.anchors[0])
    anchor = yield from look_for(phrase, window_of(s))
    anchors = [e for e in anchor.strong if e is pick(anchor.strong, ordinal)] if ordinal else list(anchor.episodes)
    leads = yield from look_for_each(phrases(s), window_of(s))
    near = [[(_pair(s, one, other), other) for one in anchors for other in lead.episodes] for lead in leads]
    scores = [max((score for score, _ in pairs), default=0.0) for pairs in near]
    if max(scores, default=0.0) <= 0:
        return not_seen(s, anchor)
    kept = [
        Lead(phrase=lead.phrase, confidence=lead.confidence, episodes=(max(pairs, key=lambda pair: pair[0])[1],), basis=lead.basis)
        if pairs
        else lead
        for lead, pairs in zip(leads, near, strict=True)
    ]
    return _best_option(s, kept, scores)


def _pair(s: Session, anchor: Episode, other: Episode) -> float:
    """Scores of both, less the further apart; nothing where their order is wrong."""
    gap_us = other.t0_us - anchor.t1_us if s.parsed.relation == "after" else anchor.t0_us - other.t1_us
    return 0.0 if gap_us <= 0 else math.sqrt(anchor.score * other.score) * math.exp(-gap_us / US / _NEAR_S)


def _best_option(s: Session, leads: list[Lead], scores: list[float]) -> Reply:
    """The option with the highest score; confidence is its share against the others."""
    best = max(range(len(leads)), key=lambda i: scores[i])
    none = next((i for i, option in enumerate(s.question.options) if _NONE.search(option)), None)
    lead = leads[best]
    if not lead.episodes or (none is not None and not lead.found):
        if none is not None and any(lead.evidence_ids() for lead in leads):
            ids = next(lead.evidence_ids() for lead in leads if lead.episodes)
            return answered(s.question.options[none], 0.5, ids, none)
        return not_seen(s, max(leads, key=lambda x: x.confidence), "any of these")
    rivals = sum(score for i, score in enumerate(scores) if i != best)
    share = scores[best] / max(1e-9, scores[best] + rivals + _PRIOR)
    if not lead.found and share < _LEAST_SHARE:
        return not_seen(s, lead, "any of these")
    chosen = lead.best
    text = f"{s.question.options[best].strip()}: {at(chosen, s.question.tz)}."
    rest = sorted((e for e in lead.strong if e is not chosen), key=lambda e: -e.score)
    return answered(text, share * (0.5 + 0.5 * lead.confidence), cite([chosen], rest), best)


def choose_order(s: Session) -> Plan:
    """Which of the options came first or last."""
    leads = yield from look_for_each(phrases(s), window_of(s))
    last = s.parsed.ordinal == -1
    seen = [i for i, lead in enumerate(leads) if lead.found]
    if not seen:
        return _best_option(s, leads, [lead.confidence for lead in leads])
    ends = {i: pick(leads[i].strong, -1 if last else 1) or leads[i].best for i in seen}
    best = (max if last else min)(seen, key=lambda i: ends[i].t0_us)
    confidence = leads[best].confidence * (0.9 if len(seen) == len(leads) else 0.7)
    text = f"{s.question.options[best].strip()} came {'last' if last else 'first'}, {at(ends[best], s.question.tz)}."
    return answered(text, confidence, cite([ends[best]], (ends[i] for i in seen if i != best)), best)


def choose_colour(s: Session) -> Plan:
    """The colour word among the options that fits the target best where it was seen."""
    lead, strong, none = yield from target(s)
    if none is not None:
        return none
    chosen = pick(strong, s.parsed.ordinal) or lead.best
    named = yield from colours_of(lead, chosen, tuple(phrases(s)))
    best = phrases(s).index(named[0]) if named else 0
    return answered(
        f"{s.question.options[best].strip()}: {the(lead.phrase)} {at(chosen, s.question.tz)}.", 0.7 * lead.confidence, cite([chosen]), best
    )


def choose_place(s: Session) -> Plan:
    """Where the target was: each option is looked for in the pictures that show the target."""
    if not s.parsed.target:
        return (yield from choose_thing(s))
    lead, strong, none = yield from target(s)
    if none is not None:
        return none
    chosen = pick(strong, s.parsed.ordinal or -1) or lead.best
    leads = yield from look_for_each(phrases(s), (chosen.t0_us - _SLACK_US, chosen.t1_us + _SLACK_US))
    scores = [max(there.strength, there.confidence) for there in leads]
    best = max(range(len(scores)), key=lambda i: scores[i])
    if scores[best] <= 0:
        return Reply(text=f"I saw {the(lead.phrase)} {at(chosen, s.question.tz)}, but in none of these places.", status="abstained",
                     confidence=doubt(lead), evidence=cite([chosen]))  # fmt: skip
    share = scores[best] / (sum(scores) + _PRIOR)
    return answered(f"{s.question.options[best].strip()}: {at(chosen, s.question.tz)}.", share * lead.confidence, cite([chosen]), best)


def choose_text(s: Session) -> Plan:
    """The option that stands in the reading that fits the question best."""
    place = yield from relate(s)
    if place.missing is not None:
        return not_seen(s, place.missing)
    ranked = yield from rank(s, place.window)
    scored = [
        (r.score * likeness(option, r.reading.text) if option.strip() else 0.0, i, r)
        for r in ranked
        for i, option in enumerate(s.question.options)
    ]
    scored = [
        (score + 0.3 * likeness(s.question.options[i], r.reading.text), i, r)
        for score, i, r in scored
        if likeness(s.question.options[i], r.reading.text) >= 0.75
    ]
    if not scored:
        return (yield from choose_thing(s))
    _, option, best = max(scored, key=lambda item: item[0])
    return reply_with(s, [best], option, f"{s.question.options[option].strip()}: ")


def map_reply(s: Session, plan: Plan) -> Plan:
    """Answer freely, then take the option that says the same: yes or no, a number, a time."""
    reply = yield from plan
    if reply.status != "answered":
        yes_no = [option.strip(" .!").lower() for option in s.question.options]
        if reply.text.startswith("No,") and "no" in yes_no and reply.evidence:
            return answered(reply.text, 1 - reply.confidence, reply.evidence, yes_no.index("no"))
        return reply
    option = _same(s, reply)
    return Reply(
        text=reply.text, status=reply.status, option=option, confidence=reply.confidence, evidence=reply.evidence, notes=reply.notes
    )


def _same(s: Session, reply: Reply) -> int | None:
    options = [option.strip().lower() for option in s.question.options]
    if s.parsed.kind == "did_ever":
        first = "yes" if reply.text.startswith("Yes") else "no"
        return next((i for i, option in enumerate(options) if words(option)[:1] == [first]), None)
    if s.parsed.kind in {"how_many", "how_long"}:
        number = _number(reply.text)
        numbered = (
            [(abs(value - number), i) for i, option in enumerate(options) if (value := _number(option)) is not None]
            if number is not None
            else []
        )
        return min(numbered)[1] if numbered else None
    evidence = s.evidence().get(reply.evidence[0]) if reply.evidence else None
    if evidence is None:
        return None
    local = to_local(evidence.t0_us, s.question.tz)
    day_s = local.hour * 3600 + local.minute * 60 + local.second
    timed = [
        (min(abs(value - day_s), abs(value - evidence.offset_us / US)), i)
        for i, option in enumerate(options)
        if (value := _clock_s(option)) is not None
    ]
    return min(timed)[1] if timed else None


def _number(text: str) -> float | None:
    spelt = {
        "zero": 0,
        "none": 0,
        "never": 0,
        "once": 1,
        "one": 1,
        "twice": 2,
        "two": 2,
        "three": 3,
        "four": 4,
        "five": 5,
        "six": 6,
        "seven": 7,
        "eight": 8,
        "nine": 9,
        "ten": 10,
    }
    match = re.search(r"\d+(?:\.\d+)?", text)
    return float(match[0]) if match else next((float(spelt[w]) for w in words(text) if w in spelt), None)


def _clock_s(option: str) -> float | None:
    from edgemem.answer.language.timeref import duration_s, read_clock

    if match := re.search(r"\d{1,2}:\d\d(?::\d\d)?(?: ?[ap]\.?m\.?)?|\d{1,2} ?[ap]m", option):
        clock = read_clock(match[0])
        return clock.day_s if clock and clock.day_s >= 0 else clock.offset_s if clock else None
    return duration_s(option) or None


def with_options(s: Session, free: Plan) -> Steps[Reply]:
    """The way of choosing that fits the kind of question; `free` is the plan without options."""
    p = s.parsed
    if p.kind in {"did_ever", "how_many", "how_long", "when"} and _all_match(s):
        return (yield from map_reply(s, free))
    if p.attribute == "colour" and p.target:
        return (yield from choose_colour(s))
    if p.kind in {"text", "who"}:
        return (yield from choose_text(s))
    if p.kind == "order" or (p.ordinal and not p.anchors and p.kind in {"which", "what"} and not p.target):
        return (yield from choose_order(s))
    if p.kind == "where" or (p.target and p.kind == "what"):
        return (yield from choose_place(s))
    return (yield from choose_thing(s))


def _all_match(s: Session) -> bool:
    """The options are of the kind that the free answer can be compared with."""
    options = s.question.options
    if s.parsed.kind == "did_ever":
        return any(words(option.lower())[:1] in (["yes"], ["no"]) for option in options)
    if s.parsed.kind in {"how_many", "how_long"}:
        return sum(_number(option.lower()) is not None for option in options) * 2 >= len(options)
    return sum(_clock_s(option.lower()) is not None for option in options) * 2 >= len(options)
