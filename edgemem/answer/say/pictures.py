"""Answers from pictures: when and where a thing was seen, whether, how often, how long, in which colour."""

from __future__ import annotations

from edgemem.answer.compose import a, at, distinct_readings, listed, quote, scene_text, span_text, the, things
from edgemem.answer.gather import Lead, Pool
from edgemem.answer.retrieve import Episode
from edgemem.answer.say.base import (
    Plan,
    Steps,
    abstain,
    answered,
    as_scene,
    best_of,
    best_score,
    by_score,
    cite,
    gather,
    look_for,
    others,
    others_text,
    pick,
    strong,
    window_of,
)
from edgemem.answer.session import Session
from edgemem.answer.tools import Count, Inspect, Reply, Scene, Tally
from edgemem.answer.weigh import is_seen, shown
from edgemem.records import US, Evidence

COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "grey")
"""Basic colour terms (Berlin & Kay 1969)."""
_AROUND_US = 20 * US
"""A sign this close in time says where one is."""
_BESIDE_US = 5 * US
"""A place that was seen this close to a thing is where the thing was."""
_POINT_US = 2 * US
"""A count at a point in time is made in the pictures this close to it."""
_ORDINAL_TEXT = {1: "first ", -1: "last "}


def from_pictures(s: Session, pool: Pool, lead: Lead) -> Plan:
    """The kind of question decides what is said of the thing's appearances."""
    p = s.parsed
    tracks = strong(lead, p.ordinal)
    placed = yield from _placed(s, tracks)
    there = [track for track, ok in zip(tracks, placed, strict=True) if ok]
    if not is_seen(p) or (p.place and not there and p.kind == "yes_no"):
        return _unchecked(s, pool, lead, tracks)
    tracks = there or tracks
    unverified = () if there or not p.place else (p.place,)
    if p.form == "colour":
        return (yield from colour(s, pool, lead, tracks))
    plan = {"yes_no": yes_no, "how_many": how_many, "how_long": how_long, "where": where}.get(p.kind, when)
    return (yield from plan(s, pool, lead, tracks, unverified))


def _placed(s: Session, tracks: list[Episode]) -> Steps[list[bool]]:
    """Whether each appearance was in the place that the question names; without a place all were."""
    place = s.parsed.place.partition(" ")[2].removeprefix("the ").removeprefix("my ")
    if not place or not tracks:
        return [True] * len(tracks)
    made = []
    for track in tracks[:8]:
        lead = yield from look_for(place, (track.t0_us - _BESIDE_US, track.t1_us + _BESIDE_US))
        made.append(bool(lead.episodes) and shown(s.parsed, lead) >= 0.5)
    return made + [False] * (len(tracks) - len(made))


def _unchecked(s: Session, pool: Pool, lead: Lead, tracks: list[Episode]) -> Reply:
    """The thing was seen; what is claimed of it is more than a picture shows."""
    p = s.parsed
    claims = tuple(claim for claim in (p.predicate if not is_seen(p) else "", p.place, p.person) if claim)
    chosen = pick(tracks, p.ordinal) or best_of(lead)
    text = f"I saw {the(lead.phrase)} {at(chosen, s.question.tz)}; about {listed(quote(claim) for claim in claims)} I cannot tell."
    return Reply(
        text=text, status="abstained", confidence=0.2, evidence=cite([chosen], by_score(tracks)), alternatives=others(pool, chosen),
        unverified=claims,
    )  # fmt: skip


def _rest(tracks: list[Episode], chosen: Episode) -> list[Episode]:
    return by_score(e for e in tracks if e is not chosen)


def when(s: Session, pool: Pool, lead: Lead, tracks: list[Episode], unverified: tuple[str, ...]) -> Plan:
    """The wall time of an appearance: the best, or the first, last, n-th."""
    yield from ()
    p, tz = s.parsed, s.question.tz
    chosen = pick(tracks, p.ordinal)
    if chosen is None:
        return _not_enough(s, lead, tracks)
    read = f", where I read {quote(chosen.best.text)}" if lead.basis == "text" else ""
    lasted = chosen.t1_us - chosen.t0_us
    until = f" for {round(lasted / US)} s" if lasted >= 2 * US and not read else ""
    long_ago = "how long ago" in p.text
    ago = f" That is {span_text((s.question.asked_us - chosen.t1_us) / US)} before the question." if long_ago else ""
    more = others_text(tracks, chosen, tz) if not p.ordinal else ""
    text = f"I {_ORDINAL_TEXT.get(p.ordinal, '')}saw {the(lead.phrase)} {at(chosen, tz)}{until}{read}.{ago}{more}{_but(unverified)}"
    return answered(
        text, shown(p, lead), cite([chosen], _rest(tracks, chosen)), alternatives=others(pool, chosen), unverified=unverified
    )  # fmt: skip


def _but(unverified: tuple[str, ...]) -> str:
    return f" Whether {listed(unverified)}, I cannot tell." if unverified else ""


def _not_enough(s: Session, lead: Lead, tracks: list[Episode]) -> Reply:
    """Asked for the third time, seen twice."""
    text = f"I saw {the(lead.phrase)} only {len(tracks)} time{'s' if len(tracks) != 1 else ''}."
    return Reply(text=text, status="abstained", confidence=min(0.25, shown(s.parsed, lead)), evidence=cite(tracks))


def where(s: Session, pool: Pool, lead: Lead, tracks: list[Episode], unverified: tuple[str, ...]) -> Plan:
    """What else was seen there, and when. Of several equally good appearances the last: that is where a thing still is."""
    p, tz = s.parsed, s.question.tz
    best = max((e.score for e in tracks), default=0.0)
    chosen = pick(tracks, p.ordinal) if p.ordinal else next((e for e in reversed(tracks) if e.score >= 0.9 * best), None)
    if chosen is None:
        return _not_enough(s, lead, tracks)
    scene = as_scene((yield Inspect(from_us=chosen.t0_us - US, to_us=chosen.t1_us + US, stream=chosen.stream)))
    wide = as_scene((yield Inspect(from_us=chosen.t0_us - _AROUND_US, to_us=chosen.t1_us + _AROUND_US, stream=chosen.stream)))
    seen = listed(things(scene.sights, 5, [lead.phrase]))
    read = listed(dict.fromkeys(quote(r.text, 80) for r in distinct_readings(scene.readings or wide.readings, 2)))
    there = "; ".join(part for part in (f"with {seen}" if seen else "", f"near the text {read}" if read else "") if part)
    first = "first" if p.ordinal == 1 else "last"
    text = f"I {first} saw {the(lead.phrase)} {at(chosen, tz)}{', ' + there if there else ''}.{_but(unverified)}"
    return answered(
        text, shown(p, lead), cite([chosen], _rest(tracks, chosen)), alternatives=others(pool, chosen), unverified=unverified
    )  # fmt: skip


def yes_no(s: Session, pool: Pool, lead: Lead, tracks: list[Episode], _unverified: tuple[str, ...]) -> Plan:
    """Whether it was seen: "yes" with the picture; "no, you have" where the question denies it."""
    p, tz = s.parsed, s.question.tz
    chosen = pick(tracks, p.ordinal)
    if chosen is None:
        return _not_enough(s, lead, tracks)
    for thing in p.things[1:]:  # "a cat and a dog": both must have been there
        other = yield from look_for(thing, window_of(s))
        if not other.episodes or shown(p, other) < 0.5:
            return _missing_too(s, lead, thing, chosen)
    word = "No, you have" if p.negated else "Yes"
    text = f"{word}: I saw {the(lead.phrase)} {at(chosen, tz)}.{others_text(tracks, chosen, tz)}"
    return answered(text, shown(p, lead), cite([chosen], _rest(tracks, chosen)), alternatives=others(pool, chosen))


def _missing_too(s: Session, lead: Lead, thing: str, chosen: Episode) -> Reply:
    text = f"I saw {the(lead.phrase)} {at(chosen, s.question.tz)}; of {quote(thing)} I cannot tell."
    return Reply(text=text, status="abstained", confidence=0.2, evidence=cite([chosen]), unverified=(thing,))


def how_many(s: Session, pool: Pool, lead: Lead, tracks: list[Episode], unverified: tuple[str, ...]) -> Plan:
    """Appearances; of things at once the most that the detector saw in one picture, where it knows them."""
    p, tz = s.parsed, s.question.tz
    if p.counts == "at_once":
        tally = yield from _tally(s, lead.phrase)
        if tally.count > 1:
            best = tally.evidence[0]
            return answered(f"{tally.count} {lead.phrase} at once, {at(best, tz)}.", 0.6 * tally.confidence, cite(tally.evidence))
    times = f"{len(tracks)} time{'s' if len(tracks) != 1 else ''}"
    text = f"{times}: I saw {the(lead.phrase)} {listed([at(e, tz) for e in tracks[:6]])}{' and later' if len(tracks) > 6 else ''}."
    sure = shown(p, lead) * _distinct(lead, tracks)
    return answered(text, sure, cite(by_score(tracks)), alternatives=others(pool, *tracks), unverified=unverified)


def _distinct(lead: Lead, tracks: list[Episode]) -> float:
    """How clearly the counted appearances stand out from the best that was not counted, 0.4..0.8."""
    counted = {e.id for track in tracks for e in track.evidence}
    best = best_score(lead)
    weakest = min((e.score for e in tracks), default=0.0)
    next_best = max((e.score for e in lead.episodes if e.evidence[0].id not in counted), default=0.0)
    return 0.4 + 0.4 * min(1.0, (weakest - next_best) / best * 2) if best else 0.4


def _tally(s: Session, phrase: str) -> Steps[Tally]:
    """Count in the picture nearest to a point in time first, then in the whole stretch."""
    window, at_us = window_of(s), s.span.at_us
    for from_us, to_us in ((at_us - _POINT_US, at_us + _POINT_US), window) if at_us is not None else (window,):
        tally = yield Count(name=phrase[:100], from_us=from_us, to_us=to_us)
        if isinstance(tally, Tally) and tally.count:
            return tally
    return Tally()


def how_long(s: Session, pool: Pool, lead: Lead, tracks: list[Episode], unverified: tuple[str, ...]) -> Plan:
    """From the first to the last picture of an appearance."""
    yield from ()
    chosen = pick(tracks, s.parsed.ordinal)
    if chosen is None:
        return _not_enough(s, lead, tracks)
    seconds, total = (chosen.t1_us - chosen.t0_us) / US, sum(e.t1_us - e.t0_us for e in tracks)
    more = f"; {span_text(total / US)} in all {len(tracks)} appearances" if len(tracks) > 1 else ""
    text = f"At least {span_text(max(1.0, seconds))}: {a(lead.phrase)} {at(chosen, s.question.tz)}{more}."
    return answered(
        text, 0.6 * shown(s.parsed, lead), cite([chosen], _rest(tracks, chosen)), alternatives=others(pool, chosen), unverified=unverified
    )  # fmt: skip


def colour(s: Session, pool: Pool, lead: Lead, tracks: list[Episode]) -> Plan:
    """Which colour word fits the thing best where it was seen."""
    chosen = pick(tracks, s.parsed.ordinal) or best_of(lead)
    named = yield from colours_of(lead, chosen, COLOURS)
    if not named:
        text = f"I saw {the(lead.phrase)} {at(chosen, s.question.tz)}, but no colour stands out."
        return abstain(text, evidence=cite([chosen]), unverified=("colour",))
    text = f"{named[0].capitalize()}: {the(lead.phrase)} {at(chosen, s.question.tz)}."
    return answered(text, 0.7 * shown(s.parsed, lead), cite([chosen], _rest(tracks, chosen)), alternatives=others(pool, chosen))


def colours_of(lead: Lead, chosen: Episode, names: tuple[str, ...]) -> Steps[list[str]]:
    """Colour words from best to worst, by how well "<colour> <thing>" fits the pictures of this appearance."""
    scene = as_scene((yield Inspect(from_us=chosen.best.t0_us, to_us=chosen.best.t0_us, stream=chosen.stream)))
    observed = {sight.colour for sight in scene.sights if sight.colour and sight.name in chosen.best.text}
    pool = yield from gather([f"{name} {lead.phrase}" for name in names], (chosen.t0_us, chosen.t1_us))
    scored = [(best_score(one) + (name in observed), name) for name, one in zip(names, pool.leads, strict=False) if one.episodes]
    return [name for _, name in sorted(scored, key=lambda pair: -pair[0])]


# ------------------------------------------------------------------------------------------------------------------- scenes


def describe(s: Session) -> Plan:
    """What was seen at the time that the question names, first, last, or in all of the memory."""
    (from_us, to_us), at_us = window_of(s), s.span.at_us
    if at_us is not None:
        scene = as_scene((yield Inspect(from_us=at_us, to_us=at_us)))
    elif s.parsed.ordinal:
        scene = yield from _end_of(s, from_us, to_us)
    else:
        scene = yield from inspect(s, from_us, to_us)
    if not scene.evidence:
        return abstain("Nothing was recorded then.")
    return scene_reply(s, scene, scene.evidence[0], min(0.9, max((sight.score for sight in scene.sights), default=0.2)))


def scene_reply(s: Session, scene: Scene, first: Evidence, sure: float, without: tuple[str, ...] = (), limit: int = 6) -> Reply:
    """What a scene shows, and when."""
    seen = scene_text(scene, without, limit) or "Something that I cannot name"
    ordered = scene.evidence if first is scene.evidence[0] else scene.evidence[::-1]
    return answered(f"{seen}, {at(first, s.question.tz)}.", sure, cite(ordered))


def inspect(s: Session, from_us: int | None, to_us: int | None, limit: int = 32) -> Steps[Scene]:
    """Everything in a stretch of time, open ends included."""
    return as_scene((yield Inspect(from_us=from_us or 0, to_us=to_us if to_us is not None else s.question.as_of_us, max_moments=limit)))


def _end_of(s: Session, from_us: int | None, to_us: int | None) -> Steps[Scene]:
    """The first or the last scene of a stretch of time."""
    whole = yield from inspect(s, from_us, to_us, 2)
    if not whole.evidence:
        return whole
    t_us = whole.evidence[0 if s.parsed.ordinal > 0 else -1].t0_us
    return as_scene((yield Inspect(from_us=t_us, to_us=t_us)))
