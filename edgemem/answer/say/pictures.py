"""Answers from pictures: when and where a thing was seen, whether, how often, how long, in which colour; and what a scene shows."""

from __future__ import annotations

from edgemem.answer.compose import a, at, distinct_readings, listed, quote, scene_text, span_text, the, things
from edgemem.answer.gather import Lead, Pool
from edgemem.answer.retrieve import Episode
from edgemem.answer.say import base
from edgemem.answer.say.base import Plan, Steps
from edgemem.answer.session import Session
from edgemem.answer.tools import Count, Reply, Scene, Tally
from edgemem.answer.weigh import is_seen, is_shown, shown
from edgemem.records import US, Evidence

COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "grey")
"""Basic colour terms (Berlin & Kay 1969)."""
_AROUND_US = 20 * US
"""A sign this close in time says where one is."""
_BESIDE_US = 5 * US
"""A place that was seen this close to a thing is where the thing was."""
_POINT_US = 2 * US
"""A count at a point in time is made in the pictures this close to it."""
_FIRST = {1: "first ", -1: "last "}
Told = Steps[tuple[str, float]]
"""What is said, and which share of the confidence in the thing it deserves."""


def from_pictures(s: Session, pool: Pool, lead: Lead) -> Plan:
    """The kind of question decides what is said of the thing's appearances."""
    p = s.parsed
    tracks = base.strong(lead)
    there = yield from _placed(s, tracks)
    if not is_seen(p) or (p.place and not there and p.kind == "yes_no"):
        return _unchecked(s, pool, lead, base.pick(tracks, p.ordinal) or base.best_of(lead))
    tracks, unverified = there or tracks, () if there or not p.place else (p.place,)
    chosen = base.pick(tracks, p.ordinal or -(p.kind == "where"))  # where it was last seen is where it still is
    if chosen is None:
        text = f"I saw {the(lead.phrase)} only {len(tracks)} time{'s' if len(tracks) != 1 else ''}."
        return base.abstain(text, confidence=min(0.25, shown(p, lead)), evidence=base.cite(tracks))
    if p.kind == "yes_no" and (thing := (yield from _not_there(s))):
        text = f"I saw {the(lead.phrase)} {at(chosen, s.question.tz)}; of {quote(thing)} I cannot tell."
        return base.abstain(text, confidence=0.2, evidence=base.cite([chosen]), unverified=(thing,))
    if p.counts == "at_once" and (tally := (yield from _tally(s, lead.phrase))).count > 1:
        text = f"{tally.count} {lead.phrase} at once, {at(tally.evidence[0], s.question.tz)}."
        return base.answered(text, 0.6 * tally.confidence, base.cite(tally.evidence))
    kind = "colour" if p.form == "colour" else p.kind
    say = {"yes_no": _yes, "how_many": _how_many, "how_long": _how_long, "where": _where, "colour": _colour}.get(kind, _when)
    text, share = yield from say(s, lead, tracks, chosen)
    if not text:
        text = f"I saw {the(lead.phrase)} {at(chosen, s.question.tz)}, but no colour stands out."
        return base.abstain(text, evidence=base.cite([chosen]), unverified=("colour",))
    text += f" Whether {listed(unverified)}, I cannot tell." if unverified else ""
    proof = base.cite([chosen], base.by_score(e for e in tracks if e is not chosen))
    return base.answered(text, share * shown(p, lead), proof, alternatives=base.others(pool, chosen), unverified=unverified)


def _placed(s: Session, tracks: list[Episode]) -> Steps[list[Episode]]:
    """The appearances that were in the place that the question names; without a place all."""
    place = s.parsed.place.partition(" ")[2].removeprefix("the ").removeprefix("my ")
    there = []
    for track in tracks[:8] if place else ():
        lead = yield from base.look_for(place, (track.t0_us - _BESIDE_US, track.t1_us + _BESIDE_US))
        there += [track] if is_shown(s.parsed, lead) else []
    return there if place else tracks


def _unchecked(s: Session, pool: Pool, lead: Lead, chosen: Episode) -> Reply:
    """The thing was seen; what is claimed of it is more than a picture shows."""
    p = s.parsed
    claims = tuple(claim for claim in (p.predicate if not is_seen(p) else "", p.place, p.person) if claim)
    text = f"I saw {the(lead.phrase)} {at(chosen, s.question.tz)}; about {listed(quote(claim) for claim in claims)} I cannot tell."
    proof = base.cite([chosen], base.by_score(base.strong(lead)))
    return base.abstain(text, confidence=0.2, evidence=proof, alternatives=base.others(pool, chosen), unverified=claims)


def _not_there(s: Session) -> Steps[str]:
    """Of "a cat and a dog" the first that was not seen: both must have been there."""
    for thing in s.parsed.things[1:]:
        other = yield from base.look_for(thing, base.window_of(s))
        if not is_shown(s.parsed, other):
            return thing
    return ""


def _when(s: Session, lead: Lead, tracks: list[Episode], chosen: Episode) -> Told:
    """The wall time of an appearance: the best, or the first, last, n-th."""
    yield from ()
    p, tz = s.parsed, s.question.tz
    read = f", where I read {quote(chosen.best.text)}" if lead.basis == "text" else ""
    lasted = chosen.t1_us - chosen.t0_us
    until = f" for {round(lasted / US)} s" if lasted >= 2 * US and not read else ""
    since = span_text((s.question.asked_us - chosen.t1_us) / US)
    ago = f" That is {since} before the question." if "how long ago" in p.text else ""
    more = "" if p.ordinal else base.others_text(tracks, chosen, tz)
    return f"I {_FIRST.get(p.ordinal, '')}saw {the(lead.phrase)} {at(chosen, tz)}{until}{read}.{ago}{more}", 1.0


def _where(s: Session, lead: Lead, _tracks: list[Episode], chosen: Episode) -> Told:
    """What else was seen there, and when."""
    near = yield from base.inspect(s, (chosen.t0_us - US, chosen.t1_us + US), chosen.stream)
    wide = yield from base.inspect(s, (chosen.t0_us - _AROUND_US, chosen.t1_us + _AROUND_US), chosen.stream)
    seen = listed(things(near.sights, 5, [lead.phrase]))
    read = listed(dict.fromkeys(quote(r.text, 80) for r in distinct_readings(near.readings or wide.readings, 2)))
    there = "; ".join(part for part in (f"with {seen}" if seen else "", f"near the text {read}" if read else "") if part)
    first = "first" if s.parsed.ordinal == 1 else "last"
    return f"I {first} saw {the(lead.phrase)} {at(chosen, s.question.tz)}{', ' + there if there else ''}.", 1.0


def _yes(s: Session, lead: Lead, tracks: list[Episode], chosen: Episode) -> Told:
    """It was seen: "yes" with the picture; "no, you have" where the question denies it."""
    yield from ()
    word, tz = "No, you have" if s.parsed.negated else "Yes", s.question.tz
    return f"{word}: I saw {the(lead.phrase)} {at(chosen, tz)}.{base.others_text(tracks, chosen, tz)}", 1.0


def _how_many(s: Session, lead: Lead, tracks: list[Episode], _chosen: Episode) -> Told:
    """Appearances, and how clearly the counted ones stand out from the best that was not counted."""
    yield from ()
    counted = {e.id for track in tracks for e in track.evidence}
    weakest = min(e.score for e in tracks)
    next_best = max((e.score for e in lead.episodes if e.evidence[0].id not in counted), default=0.0)
    times = f"{len(tracks)} time{'s' if len(tracks) != 1 else ''}"
    shown_at = listed([at(e, s.question.tz) for e in tracks[:6]])
    text = f"{times}: I saw {the(lead.phrase)} {shown_at}{' and later' if len(tracks) > 6 else ''}."
    return text, 0.4 + 0.4 * min(1.0, (weakest - next_best) / base.best_score(lead) * 2)


def _tally(s: Session, phrase: str) -> Steps[Tally]:
    """Things in one picture, counted by the detector: near a point in time first, then in the whole stretch."""
    window, at_us = base.window_of(s), s.span.at_us
    for from_us, to_us in ((at_us - _POINT_US, at_us + _POINT_US), window) if at_us is not None else (window,):
        tally = yield Count(name=phrase[:100], from_us=from_us, to_us=to_us)
        if isinstance(tally, Tally) and tally.count:
            return tally
    return Tally()


def _how_long(s: Session, lead: Lead, tracks: list[Episode], chosen: Episode) -> Told:
    """From the first to the last picture of an appearance."""
    yield from ()
    seconds, total = (chosen.t1_us - chosen.t0_us) / US, sum(e.t1_us - e.t0_us for e in tracks)
    more = f"; {span_text(total / US)} in all {len(tracks)} appearances" if len(tracks) > 1 else ""
    return f"At least {span_text(max(1.0, seconds))}: {a(lead.phrase)} {at(chosen, s.question.tz)}{more}.", 0.6


def _colour(s: Session, lead: Lead, _tracks: list[Episode], chosen: Episode) -> Told:
    """Which colour word fits the thing best where it was seen."""
    named = yield from colours_of(s, lead, chosen, COLOURS)
    return (f"{named[0].capitalize()}: {the(lead.phrase)} {at(chosen, s.question.tz)}." if named else ""), 0.7


def colours_of(s: Session, lead: Lead, chosen: Episode, names: tuple[str, ...]) -> Steps[list[str]]:
    """Colour words from best to worst, by how well "<colour> <thing>" fits the pictures of this appearance."""
    scene = yield from base.inspect(s, (chosen.best.t0_us, chosen.best.t0_us), chosen.stream)
    observed = {sight.colour for sight in scene.sights if sight.colour and sight.name in chosen.best.text}
    pool = yield from base.gather([f"{name} {lead.phrase}" for name in names], (chosen.t0_us, chosen.t1_us))
    scored = [(base.best_score(one) + (name in observed), name) for name, one in zip(names, pool.leads, strict=False) if one.episodes]
    return [name for _, name in sorted(scored, key=lambda pair: -pair[0])]


def describe(s: Session) -> Plan:
    """What was seen at the time that the question names, first, last, or in all of the memory."""
    window, at_us, ordinal = base.window_of(s), s.span.at_us, s.parsed.ordinal
    if at_us is None and ordinal:
        ends = (yield from base.inspect(s, window, limit=2)).evidence
        at_us = ends[0 if ordinal > 0 else -1].t0_us if ends else None
    scene = yield from base.inspect(s, window if at_us is None else (at_us, at_us), limit=32)
    if not scene.evidence:
        return base.abstain("Nothing was recorded then.")
    return scene_reply(s, scene, scene.evidence[0], min(0.9, max((sight.score for sight in scene.sights), default=0.2)))


def scene_reply(s: Session, scene: Scene, first: Evidence, sure: float, without: tuple[str, ...] = (), limit: int = 6) -> Reply:
    """What a scene shows, and when."""
    seen = scene_text(scene, without, limit) or "Something that I cannot name"
    ordered = scene.evidence if first is scene.evidence[0] else scene.evidence[::-1]
    return base.answered(f"{seen}, {at(first, s.question.tz)}.", sure, base.cite(ordered))
