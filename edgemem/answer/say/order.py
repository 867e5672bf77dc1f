"""Answers about order: which came first, before or after, and what came next to, between or while."""

from __future__ import annotations

import math
from collections.abc import Sequence

from edgemem.answer.compose import at, listed, the
from edgemem.answer.gather import Lead, Pool
from edgemem.answer.retrieve import Episode
from edgemem.answer.say import base
from edgemem.answer.say.base import Plan, Steps, Window
from edgemem.answer.say.pictures import scene_reply
from edgemem.answer.session import Session
from edgemem.answer.tools import Reply, Scene
from edgemem.answer.understand.parse import take_ordinal
from edgemem.answer.weigh import is_shown, shown, weights
from edgemem.records import US, Record

_NEXT_US = 120 * US
"""What follows or precedes is looked for this close."""
_SCENE_US = 5 * US
"""What is this close to the first picture counts as the same scene."""

_WHERE = {"side": "beside", "while": "beside"}


class Place(Record, frozen=True):
    """The window in which a relation ("after the coffee") puts the thing, and what it refers to."""

    window: Window
    anchors: tuple[tuple[Lead, Episode], ...] = ()
    near_us: int | None = None
    """The end of the window that is nearest to the anchor; None for a closed window."""
    missing: Lead | None = None
    """The anchor that was not seen."""


def relate(s: Session) -> Steps[Place]:
    """Find the anchors of the question's relation and turn them into a window inside the question's own."""
    p, (from_us, to_us) = s.parsed, base.window_of(s)
    found: list[tuple[Lead, Episode]] = []
    for anchor in p.anchors:
        ordinal, phrase = take_ordinal(anchor)
        lead = yield from base.look_for(phrase, (from_us, to_us))
        if not is_shown(p, lead):
            return Place(window=(from_us, to_us), missing=lead)
        found.append((lead, base.picked(lead, ordinal)))
    anchors = tuple(found)
    if not anchors:
        return Place(window=(from_us, to_us))
    one = anchors[0][1]
    if len(anchors) > 1:  # "between" has two
        one, two = sorted((episode for _, episode in anchors), key=lambda e: e.t0_us)
        return Place(window=(one.t1_us + 1, max(one.t1_us + 1, two.t0_us - 1)), anchors=anchors)
    if p.relation == "after":
        return Place(window=(one.t1_us + 1, to_us), anchors=anchors, near_us=one.t1_us)
    if p.relation == "before":
        return Place(window=(from_us, one.t0_us - 1), anchors=anchors, near_us=one.t0_us)
    return Place(window=(one.t0_us, one.t1_us), anchors=anchors)


def in_order(s: Session, leads: Sequence[Lead], names: Sequence[str], pool: Pool, *, granted: bool = False) -> tuple[Reply, int | None]:
    """Which of several things came first or last, and its number; of one asked before or after another, which it is.

    With `granted` all were there, because the options say so.
    """
    p, tz, last = s.parsed, s.question.tz, s.parsed.ordinal == -1
    seen = [i for i, lead in enumerate(leads) if lead.episodes and (granted or is_shown(p, lead))]
    missing = next((lead for i, lead in enumerate(leads) if i not in seen), None)
    if len(seen) < 2:
        return base.not_seen(s, missing, pool=pool), None
    which, share, tracks = first_of([leads[i] for i in seen], last=last, granted=granted)
    best, ends = seen[which], {i: track for i, track in zip(seen, tracks, strict=True) if track is not None}
    sure = share * leads[best].confidence
    proof = base.cite([ends[i] for i in sorted(ends, key=lambda i: i != best)])
    if p.anchors and len(leads) == 2:
        word = "before" if best == 0 else "after"
        text = f"{word.capitalize()}: {the(names[0])} came {word} {the(names[1])}, "
    else:
        text = f"{the(names[best]).capitalize()} came {'last' if last else 'first'}, "
    text += listed(f"{the(names[i])} {at(track, tz)}" for i, track in ends.items())
    return base.answered(f"{text}.", sure, proof, alternatives=base.others(pool, *ends.values())), best


def first_of(leads: Sequence[Lead], *, last: bool = False, granted: bool = False) -> tuple[int, float, list[Episode | None]]:
    """Which of several things most likely came first, or last, with which probability, and of each the likeliest track that fits with that.

    A thing is at the earliest of its tracks that scores not much less than the best one, with the confidence in it. Whether what none of
    them shows came before another is as likely as not. With `granted` what is sure enough for a question that takes it for granted was
    there.
    """
    spread, every = [_chances(lead, last=last, granted=granted) for lead in leads], range(len(leads))

    def later(i: int, t_us: int) -> float:
        tracks, rest = spread[i]
        return rest / 2 + sum(chance * ((at_us > t_us) + (at_us == t_us) / 2) for chance, at_us, _ in tracks)

    first = [[chance * math.prod(later(j, at_us) for j in every if j != i) for chance, at_us, _ in spread[i][0]] for i in every]
    sums = [sum(first[i]) + spread[i][1] / 2 ** (len(leads) - 1) for i in every]
    best = max(every, key=lambda i: sums[i])
    start_us = spread[best][0][first[best].index(max(first[best]))][1]
    fitting = [
        max(((c, track) for c, at_us, track in some if at_us >= start_us), default=None, key=lambda one: one[0]) for some, _ in spread
    ]
    return best, sums[best] / sum(sums), [one and one[1] for one in fitting]


def _chances(lead: Lead, *, last: bool, granted: bool) -> tuple[list[tuple[float, int, Episode]], float]:
    """For each track, in the order of time or against it, the chance that the thing came first there; and that it did at none of them."""
    tracks = sorted(base.strong(lead, 0.0), key=lambda track: track.t0_us, reverse=last)
    best, left, made = max(track.score for track in tracks), 1.0, []
    there = 1.0 if granted and lead.confidence >= weights().granted else lead.confidence
    for track in tracks:
        chance = left * there if track.score >= base.STRONG * best else 0.0
        made.append((chance, -track.t0_us if last else track.t0_us, track))
        left -= chance
    return made, left


def happened_before(s: Session, lead: Lead) -> Plan:
    """Such as "did I see the cat before the rocket": yes or no, with both."""
    p, tz = s.parsed, s.question.tz
    anchor = yield from base.look_for(p.anchors[0], base.window_of(s))
    if not is_shown(p, lead) or not is_shown(p, anchor):
        return base.not_seen(s, anchor if is_shown(p, lead) else lead)
    tracks, mark = base.strong(lead), base.best_of(anchor)
    fitting = [e for e in tracks if (e.t0_us < mark.t0_us) == (p.relation == "before")]
    chosen = (fitting or tracks)[0]
    relation = "before" if chosen.t0_us < mark.t0_us else "after"
    word = "Yes" if fitting else "No"
    text = f"{word}, {the(lead.phrase)} was there {relation} {the(anchor.phrase)}: {at(chosen, tz)}, and {at(mark, tz)}."
    return base.answered(text, shown(p, lead) * shown(p, anchor), base.cite([chosen, mark]))


def neighbours(s: Session) -> Plan:
    """What was seen right after, right before, between, beside or while."""
    p = s.parsed
    place = yield from relate(s)
    if place.missing is not None:
        return base.not_seen(s, place.missing)
    names = tuple(lead.phrase for lead, _ in place.anchors)
    scene = yield from _scene_of(s, place)
    if not any(sight.name not in names for sight in scene.sights):
        where = _WHERE.get(p.relation, p.relation)
        return base.abstain(f"I know of nothing {where} {listed(the(name) for name in names)} that I can name.")
    sure = 0.6 * min(shown(p, lead) for lead, _ in place.anchors)
    return scene_reply(s, scene, scene.evidence[-1 if p.relation == "before" else 0], sure, names)


def _scene_of(s: Session, place: Place) -> Steps[Scene]:
    """All of a closed window; of an open one the scene at its near end, looked for close first, then further."""
    from_us, near = place.window[0], place.near_us
    if near is None:
        beside = s.parsed.relation in {"while", "side"} and place.anchors
        return (yield from base.inspect(s, place.window, place.anchors[0][1].stream if beside else ""))
    before = s.parsed.relation == "before"
    low, high = (max(from_us or 0, near - _NEXT_US), near - 1) if before else (near + 1, min(near + _NEXT_US, s.question.as_of_us))
    scene = yield from base.inspect(s, (low, high), limit=64)
    if not scene.evidence:
        return scene
    end = scene.evidence[-1 if before else 0]  # only the scene next door, not all that is in reach
    low, high = (max(low, end.t0_us - _SCENE_US), end.t0_us) if before else (end.t0_us, min(high, end.t0_us + _SCENE_US))
    return (yield from base.inspect(s, (low, high), end.stream))
