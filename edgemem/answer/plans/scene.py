"""Plans for questions about a scene: what was there, where was it, how many, how long, which colour."""

from __future__ import annotations

from edgemem.answer.compose import a, at, listed, quote, scene_text, span_text, the, things
from edgemem.answer.plans.base import (
    Lead,
    Plan,
    Steps,
    Window,
    abstain,
    answered,
    as_scene,
    cite,
    look_for,
    not_seen,
    pick,
    relate,
    window_of,
)
from edgemem.answer.plans.thing import find, not_enough, target
from edgemem.answer.retrieve import Episode
from edgemem.answer.session import Session
from edgemem.answer.tools import Count, Inspect, Scene, Tally
from edgemem.records import US, Evidence

COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "grey")
"""Basic colour terms (Berlin & Kay 1969)."""
_NEAR_US = 12 * US
"""What follows or precedes is looked for this close first ..."""
_SCENE_US = 5 * US
"""What is this close to the first picture counts as the same scene."""
_POINT_US = 2 * US
"""A count at a point in time is made in the pictures this close to it."""
_FAR_US = 120 * US
"""... and then this far."""
_AROUND_US = 20 * US
"""A sign this close in time says where one is."""


def where(s: Session) -> Plan:
    """What else was seen there, and when. Of several equally good appearances the last: that is where a thing still is."""
    p, tz = s.parsed, s.question.tz
    if not p.target:
        return (yield from what(s))
    lead, strong, none = yield from target(s)
    if none is not None:
        return none
    chosen = pick(strong, p.ordinal or -1) if p.ordinal else _latest_of_best(strong)
    if chosen is None:
        return not_enough(lead, strong)
    scene = as_scene((yield Inspect(from_us=chosen.t0_us - US, to_us=chosen.t1_us + US, stream=chosen.stream)))
    wide = as_scene((yield Inspect(from_us=chosen.t0_us - _AROUND_US, to_us=chosen.t1_us + _AROUND_US, stream=chosen.stream)))
    seen = listed(things(scene.sights, 5, [lead.phrase]))
    read = listed(dict.fromkeys(quote(r.text, 80) for r in _signs(scene, wide)))
    there = "; ".join(part for part in (f"with {seen}" if seen else "", f"near the text {read}" if read else "") if part)
    rest = sorted((e for e in strong if e is not chosen), key=lambda e: -e.score)
    text = f"I {'first' if p.ordinal == 1 else 'last'} saw {the(lead.phrase)} {at(chosen, tz)}{', ' + there if there else ''}."
    return answered(text, lead.confidence, cite([chosen], rest))


def _latest_of_best(strong: list[Episode]) -> Episode | None:
    best = max((e.score for e in strong), default=0.0)
    return next((e for e in reversed(strong) if e.score >= 0.9 * best), None)


def _signs(scene: Scene, wide: Scene) -> list[Evidence]:
    from edgemem.answer.compose import distinct_readings

    ids = {f"m{r.moment_id}" for r in distinct_readings(scene.readings or wide.readings, 2)}
    by_id = {f"m{r.moment_id}": r for r in (*scene.readings, *wide.readings)}
    return [Evidence(id=i, channel="text", stream=r.stream, t0_us=r.t0_us, t1_us=r.t1_us, offset_us=r.offset_us, score=r.score, text=r.text)
            for i, r in by_id.items() if i in ids]  # fmt: skip


def what(s: Session) -> Plan:
    """What was seen at a time, next to something, or around it; a colour; else a search for the thing."""
    p = s.parsed
    if p.attribute == "colour" and p.target:
        return (yield from colour(s))
    if p.target:
        return (yield from find(s))
    if p.anchors:
        return (yield from _beside(s) if p.relation in {"while", "side"} else neighbours(s))
    return (yield from describe(s))


def _beside(s: Session) -> Plan:
    place = yield from relate(s)
    lead = place.anchors[0]
    if place.missing is not None:
        return not_seen(s, lead)
    scene = as_scene((yield Inspect(from_us=lead.best.t0_us, to_us=lead.best.t1_us, stream=lead.best.stream)))
    seen = scene_text(scene, [lead.phrase])
    if not seen:
        return abstain(f"I saw {the(lead.phrase)} {at(lead.best, s.question.tz)}, but nothing else there that I can name.")
    return answered(f"{seen}, {at(lead.best, s.question.tz)}.", 0.6 * lead.confidence, cite([lead.best]))


def neighbours(s: Session) -> Plan:
    """What was seen right after, right before or between."""
    place = yield from relate(s)
    if place.missing is not None:
        return not_seen(s, place.missing)
    scene = yield from scene_of(s, place.window, place.near_us)
    confidence = min(lead.confidence for lead in place.anchors)
    seen = scene_text(scene, [lead.phrase for lead in place.anchors], 6)
    if not seen or not scene.evidence:
        return abstain(f"I know of nothing {s.parsed.relation} {' and '.join(the(lead.phrase) for lead in place.anchors)}.")
    first = scene.evidence[-1] if s.parsed.relation == "before" else scene.evidence[0]
    ordered = scene.evidence[::-1] if s.parsed.relation == "before" else scene.evidence
    return answered(f"{seen}, {at(first, s.question.tz)}.", 0.6 * confidence, cite(ordered, (lead.best for lead in place.anchors)))


def scene_of(s: Session, window: Window, near_us: int | None) -> Steps[Scene]:
    """The scene at the near end of a window (close first, then further), or all of a closed window."""
    from_us, to_us = window
    if near_us is None:
        return as_scene((yield Inspect(from_us=from_us or 0, to_us=to_us if to_us is not None else s.question.as_of_us, max_moments=32)))
    scene = Scene()
    for reach in (_NEAR_US, _FAR_US):
        if s.parsed.relation == "before":
            action = Inspect(from_us=max(from_us or 0, near_us - reach), to_us=near_us - 1, max_moments=64)
        else:
            action = Inspect(from_us=near_us + 1, to_us=min(near_us + reach, s.question.as_of_us), max_moments=64)
        scene = as_scene((yield action))
        if scene.evidence:
            break
    if not scene.evidence:
        return scene
    first = scene.evidence[-1 if s.parsed.relation == "before" else 0]  # only the scene next door, not all that is in reach
    from_us, to_us = (first.t0_us - _SCENE_US, first.t0_us) if s.parsed.relation == "before" else (first.t0_us, first.t0_us + _SCENE_US)
    return as_scene((yield Inspect(from_us=max(from_us, action.from_us), to_us=min(to_us, action.to_us), stream=first.stream)))


def describe(s: Session) -> Plan:
    """What was seen at the time that the question names, first, last, or in all of the memory."""
    p, (from_us, to_us) = s.parsed, window_of(s)
    at_us = s.span.at_us
    if p.target and p.target not in {"day", "everything", "all", "scene", "place", "surroundings", "trip", "walk"}:
        return (yield from find(s))
    if at_us is not None:
        scene = as_scene((yield Inspect(from_us=at_us, to_us=at_us)))
    elif p.ordinal:
        scene = yield from _end_of(s, from_us, to_us)
    else:
        scene = as_scene((yield Inspect(from_us=from_us or 0, to_us=to_us if to_us is not None else s.question.as_of_us, max_moments=32)))
    if not scene.evidence:
        return abstain("Nothing was recorded then.")
    seen = scene_text(scene, limit=5 if at_us is not None else 8)
    first = scene.evidence[0]
    confidence = min(0.9, max((sight.score for sight in scene.sights), default=0.2))
    return answered(f"{(seen or 'Something that I cannot name')}, {at(first, s.question.tz)}.", confidence, cite(scene.evidence))


def _end_of(s: Session, from_us: int | None, to_us: int | None) -> Steps[Scene]:
    """The first or the last scene of a stretch of time."""
    whole = as_scene((yield Inspect(from_us=from_us or 0, to_us=to_us if to_us is not None else s.question.as_of_us, max_moments=2)))
    if not whole.evidence:
        return whole
    t_us = whole.evidence[0 if s.parsed.ordinal > 0 else -1].t0_us
    return as_scene((yield Inspect(from_us=t_us, to_us=t_us)))


def colour(s: Session) -> Plan:
    """Which colour word fits the thing best where it was seen."""
    lead, strong, none = yield from target(s)
    if none is not None:
        return none
    chosen = pick(strong, s.parsed.ordinal) or lead.best
    named = yield from colours_of(lead, chosen, COLOURS)
    if not named:
        return abstain(f"I saw {the(lead.phrase)} {at(chosen, s.question.tz)}, but no colour stands out.")
    rest = sorted((e for e in strong if e is not chosen), key=lambda e: -e.score)
    return answered(
        f"{named[0].capitalize()}: {the(lead.phrase)} {at(chosen, s.question.tz)}.", 0.7 * lead.confidence, cite([chosen], rest)
    )


def colours_of(lead: Lead, chosen: Episode, names: tuple[str, ...]) -> Steps[list[str]]:
    """Colour words from best to worst, by how well "<colour> <thing>" fits the pictures of this appearance."""
    scene = as_scene((yield Inspect(from_us=chosen.best.t0_us, to_us=chosen.best.t0_us, stream=chosen.stream)))
    observed = {sight.colour for sight in scene.sights if sight.colour and sight.name in chosen.best.text}
    scored = []
    for name in names:
        found = yield from look_for(f"{name} {lead.phrase}", (chosen.t0_us, chosen.t1_us))
        if found.strength > 0:
            scored.append((found.strength + (name in observed), name))
    return [name for _, name in sorted(scored, key=lambda pair: -pair[0])]


def how_many(s: Session) -> Plan:
    """Such as "How many times": appearances. "How many people": the most that the detector saw at once, else appearances."""
    p, tz = s.parsed, s.question.tz
    if not p.target:
        return abstain("I do not know what to count; name a thing.")
    if p.counts == "at_once":
        tally = yield from _tally(s)
        if tally.count:
            best = tally.evidence[0]
            return answered(f"{tally.count} {p.target} at once, {at(best, tz)}.", 0.6 * tally.confidence, cite(tally.evidence))
    lead, strong, none = yield from target(s)
    if none is not None:
        return none
    times = f"{len(strong)} time{'s' if len(strong) != 1 else ''}"
    text = f"{times}: I saw {the(lead.phrase)} {listed([at(e, tz) for e in strong[:6]])}{' and later' if len(strong) > 6 else ''}."
    return answered(text, lead.confidence * 0.7, cite(strong))


def _tally(s: Session) -> Steps[Tally]:
    """Count in the picture nearest to a point in time first, then in the whole stretch."""
    window, at_us = window_of(s), s.span.at_us
    for from_us, to_us in ((at_us - _POINT_US, at_us + _POINT_US), window) if at_us is not None else (window,):
        tally = yield Count(name=s.parsed.target[:100], from_us=from_us, to_us=to_us)
        if isinstance(tally, Tally) and tally.count:
            return tally
    return Tally()


def how_long(s: Session) -> Plan:
    """From the first to the last picture of an appearance."""
    lead, strong, none = yield from target(s)
    if none is not None:
        return none
    chosen = pick(strong, s.parsed.ordinal) or lead.best
    total = sum(e.t1_us - e.t0_us for e in strong)
    seconds = (chosen.t1_us - chosen.t0_us) / US
    more = f"; {span_text(total / US)} in all {len(strong)} appearances" if len(strong) > 1 else ""
    text = f"At least {span_text(max(1.0, seconds))}: {a(lead.phrase)} {at(chosen, s.question.tz)}{more}."
    return answered(text, 0.6 * lead.confidence, cite([chosen], strong))
