"""Answers about order: which came first, before or after, and what came next to, between or while."""

from __future__ import annotations

from collections.abc import Sequence

from edgemem.answer.compose import at, the
from edgemem.answer.gather import Lead, Pool
from edgemem.answer.retrieve import Episode
from edgemem.answer.say.base import (
    Plan,
    Steps,
    Window,
    abstain,
    answered,
    as_scene,
    best_of,
    cite,
    look_for,
    not_seen,
    others,
    pick,
    strong,
    window_of,
)
from edgemem.answer.say.pictures import inspect, scene_reply
from edgemem.answer.session import Session
from edgemem.answer.tools import Inspect, Reply, Scene
from edgemem.answer.understand.parse import take_ordinal
from edgemem.answer.weigh import is_shown, shown
from edgemem.records import US, Record

_NEAR_US = 12 * US
"""What follows or precedes is looked for this close first ..."""
_FAR_US = 120 * US
"""... and then this far."""
_SCENE_US = 5 * US
"""What is this close to the first picture counts as the same scene."""


class Place(Record, frozen=True):
    """The window in which a relation ("after the coffee") puts the thing, and what it refers to."""

    window: Window
    anchors: tuple[tuple[Lead, Episode], ...] = ()
    near_us: int | None = None
    """The end of the window that is nearest to the anchor."""
    missing: Lead | None = None
    """The anchor that was not seen."""


def relate(s: Session) -> Steps[Place]:
    """Find the anchors of the question's relation and turn them into a window inside the question's own."""
    p, (from_us, to_us) = s.parsed, window_of(s)
    anchors: list[tuple[Lead, Episode]] = []
    for anchor in p.anchors:
        ordinal, phrase = take_ordinal(anchor)
        lead = yield from look_for(phrase, (from_us, to_us))
        if not is_shown(p, lead):
            return Place(window=(from_us, to_us), anchors=tuple(anchors), missing=lead)
        anchors.append((lead, pick(strong(lead, ordinal), ordinal) or best_of(lead)))
    if not anchors:
        return Place(window=(from_us, to_us))
    first = anchors[0][1]
    if p.relation == "between" and len(anchors) > 1:
        one, two = sorted((first, anchors[1][1]), key=lambda e: e.t0_us)
        return Place(window=(one.t1_us + 1, max(one.t1_us + 1, two.t0_us - 1)), anchors=tuple(anchors))
    if p.relation == "after":
        return Place(window=(first.t1_us + 1, to_us), anchors=tuple(anchors), near_us=first.t1_us)
    if p.relation == "before":
        return Place(window=(from_us, first.t0_us - 1), anchors=tuple(anchors), near_us=first.t0_us)
    return Place(window=(first.t0_us, first.t1_us), anchors=tuple(anchors), near_us=first.t0_us)


def in_order(s: Session, leads: Sequence[Lead], names: Sequence[str], pool: Pool, *, granted: bool = False) -> tuple[Reply, int | None]:
    """Which of several things came first or last, and its number; of one asked before or after another, which it is.

    With `granted` all were there, because the options say so.
    """
    p, tz, last = s.parsed, s.question.tz, s.parsed.ordinal == -1
    seen = [i for i, lead in enumerate(leads) if lead.episodes and (granted or is_shown(p, lead))]
    missing = next((lead for i, lead in enumerate(leads) if i not in seen), None)
    if len(leads) < 2 or len(seen) < min(2, len(leads)):
        return not_seen(s, missing, pool=pool), None
    end = -1 if last else 1
    ends = {i: pick(strong(leads[i], end), end) or best_of(leads[i]) for i in seen}
    ordered = sorted(seen, key=lambda i: ends[i].t0_us, reverse=last)
    sure = min(shown(p, leads[i]) for i in seen) * (1.0 if len(seen) == len(leads) else 0.8)
    proof, more = cite([ends[i] for i in ordered]), others(pool, *ends.values())
    if p.anchors and len(leads) == 2:
        word = "before" if ordered[0] == 0 else "after"
        text = f"{word.capitalize()}: {the(names[0])} came {word} {the(names[1])}, {at(ends[0], tz)} and {at(ends[1], tz)}."
        return answered(text, sure, proof, alternatives=more), 0 if word == "before" else 1
    best = ordered[0]
    rest = ", ".join(f"{the(names[i])} {at(ends[i], tz)}" for i in ordered[1:])
    text = f"{the(names[best]).capitalize()} came {'last' if last else 'first'}, {at(ends[best], tz)}; {rest}."
    return answered(text, sure, proof, alternatives=more), best


def happened_before(s: Session, lead: Lead) -> Plan:
    """Such as "did I see the cat before the rocket": yes or no, with both."""
    p, tz = s.parsed, s.question.tz
    anchor = yield from look_for(p.anchors[0], window_of(s))
    if not is_shown(p, lead) or not is_shown(p, anchor):
        return not_seen(s, anchor if is_shown(p, lead) else lead)
    one, two = strong(lead), best_of(anchor)
    fitting = [e for e in one if (e.t0_us < two.t0_us) == (p.relation == "before")]
    chosen = fitting[0] if fitting else one[0]
    word = "Yes" if fitting else "No"
    relation = p.relation if fitting else {"before": "after", "after": "before"}[p.relation]
    text = f"{word}, {the(lead.phrase)} was there {relation} {the(anchor.phrase)}: {at(chosen, tz)}, and {at(two, tz)}."
    return answered(text, shown(p, lead) * shown(p, anchor), cite([chosen, two]))


def neighbours(s: Session) -> Plan:
    """What was seen right after, right before, between, beside or while."""
    p = s.parsed
    place = yield from relate(s)
    if place.missing is not None:
        return not_seen(s, place.missing)
    names = tuple(lead.phrase for lead, _ in place.anchors)
    sure = 0.6 * min(shown(p, lead) for lead, _ in place.anchors)
    if p.relation in {"while", "side"}:
        (_, episode), *_ = place.anchors
        scene = as_scene((yield Inspect(from_us=episode.t0_us, to_us=episode.t1_us, stream=episode.stream)))
        if not any(sight.name not in names for sight in scene.sights):
            return abstain(f"I saw {the(names[0])} {at(episode, s.question.tz)}, but nothing else there that I can name.")
        return scene_reply(s, scene, scene.evidence[0], sure, names)
    scene = yield from _scene_of(s, place)
    if not scene.evidence or not scene.sights:
        return abstain(f"I know of nothing {p.relation} {' and '.join(the(name) for name in names)}.")
    return scene_reply(s, scene, scene.evidence[-1 if p.relation == "before" else 0], sure, names)


def _scene_of(s: Session, place: Place) -> Steps[Scene]:
    """The scene at the near end of a window (close first, then further), or all of a closed window."""
    from_us, to_us = place.window
    if place.near_us is None:
        return (yield from inspect(s, from_us, to_us))
    near, before = place.near_us, s.parsed.relation == "before"
    scene = Scene()
    action = Inspect(from_us=near, to_us=near)
    for reach in (_NEAR_US, _FAR_US):
        low, high = (max(from_us or 0, near - reach), near - 1) if before else (near + 1, min(near + reach, s.question.as_of_us))
        action = Inspect(from_us=low, to_us=high, max_moments=64)
        scene = as_scene((yield action))
        if scene.evidence:
            break
    if not scene.evidence:
        return scene
    first = scene.evidence[-1 if before else 0]  # only the scene next door, not all that is in reach
    low, high = (first.t0_us - _SCENE_US, first.t0_us) if before else (first.t0_us, first.t0_us + _SCENE_US)
    return as_scene((yield Inspect(from_us=max(low, action.from_us), to_us=min(high, action.to_us), stream=first.stream)))
