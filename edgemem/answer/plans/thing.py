"""Plans for questions about a thing: when, did I ever, which came first, find."""

from __future__ import annotations

from edgemem.answer.compose import a, at, scene_text, span_text, the
from edgemem.answer.plans.base import (
    Lead,
    Plan,
    Steps,
    answered,
    as_scene,
    cite,
    doubt,
    look_for,
    look_for_each,
    not_seen,
    others_text,
    pick,
    relate,
    sighting,
    window_of,
)
from edgemem.answer.retrieve import Episode
from edgemem.answer.session import Session
from edgemem.answer.tools import Inspect, Reply
from edgemem.records import US

_ORDINAL_TEXT = {1: "first ", -1: "last "}


def target(s: Session) -> Steps[tuple[Lead, list[Episode], Reply | None]]:
    """Look for the question's target where its time and relation put it: lead, strong appearances in order, or why there are none."""
    place = yield from relate(s)
    if place.missing is not None:
        return place.missing, [], not_seen(s, place.missing)
    lead = yield from look_for(s.parsed.target, place.window, s.parsed.quote)
    if not lead.found:
        return lead, [], not_seen(s, lead)
    strong = lead.strong
    if place.near_us is not None and s.parsed.relation in {"before", "after"} and not s.parsed.ordinal:
        strong = strong[:1] if s.parsed.relation == "after" else strong[-1:]
    return lead, strong, None


def when(s: Session) -> Plan:
    """The wall time of an appearance: the best, or the first, last, n-th."""
    p, tz = s.parsed, s.question.tz
    if not p.target and p.anchors:
        return (yield from _when_anchor(s))
    lead, strong, none = yield from target(s)
    if none is not None:
        return none
    chosen = pick(strong, p.ordinal)
    if chosen is None:
        return not_enough(lead, strong)
    order = _ORDINAL_TEXT.get(p.ordinal, "")
    text = f"I {order}saw {the(lead.phrase)} {sighting(chosen, lead.basis, tz)}."
    ago = (
        f" That is {span_text((s.question.asked_us - chosen.t1_us) / US)} before the question."
        if "how long ago" in s.question.text.lower()
        else ""
    )
    rest = [] if p.ordinal else sorted((e for e in strong if e is not chosen), key=lambda e: -e.score)
    return answered(text + ago + (others_text(strong, chosen, tz) if not p.ordinal else ""), lead.confidence, cite([chosen], rest))


def _when_anchor(s: Session) -> Plan:
    place = yield from relate(s)
    if place.missing is not None:
        return not_seen(s, place.missing)
    lead = place.anchors[0]
    return answered(f"{the(lead.phrase).capitalize()} was there {at(lead.best, s.question.tz)}.", lead.confidence, cite([lead.best]))


def not_enough(lead: Lead, strong: list[Episode]) -> Reply:
    """Asked for the third time, seen twice."""
    times = f"{len(strong)} time{'s' if len(strong) != 1 else ''}"
    return Reply(text=f"I saw {the(lead.phrase)} only {times}.", status="abstained", confidence=doubt(lead), evidence=cite(strong))


def did_ever(s: Session) -> Plan:
    """Yes with the time; "no" for what was never seen is an abstention, because not having seen proves nothing."""
    p, tz = s.parsed, s.question.tz
    if s.span.fell_back and p.time is not None:
        return Reply(text=f"No: nothing was recorded {p.time.said}.", status="abstained", confidence=0.0)
    if p.anchors and p.relation in {"before", "after"}:
        return (yield from _did_before(s))
    if not p.target:
        return (yield from _anything(s))
    lead, strong, none = yield from target(s)
    if none is not None:
        return _no(none)
    chosen = pick(strong, p.ordinal) or lead.best
    if p.ordinal > 1 and pick(strong, p.ordinal) is None:
        return _no(not_enough(lead, strong))
    rest = sorted((e for e in strong if e is not chosen), key=lambda e: -e.score)
    text = f"Yes, I saw {the(lead.phrase)} {sighting(chosen, lead.basis, tz)}.{others_text(strong, chosen, tz)}"
    return answered(text, lead.confidence, cite([chosen], rest))


def _no(reply: Reply) -> Reply:
    return Reply(text=f"No, {reply.text}", status="abstained", confidence=reply.confidence, evidence=reply.evidence, notes=reply.notes)


def _did_before(s: Session) -> Plan:
    """Did I see A before B: both must have been seen, then their times decide."""
    p, tz = s.parsed, s.question.tz
    one = yield from look_for(p.target, window_of(s), p.quote)
    two = yield from look_for(p.anchors[0], window_of(s))
    for lead in (one, two):
        if not lead.found:
            return _no(not_seen(s, lead))
    first, second = one.best, two.best
    before = first.t0_us < second.t0_us
    yes = before == (p.relation == "before")
    order_text = f"{the(one.phrase)} came {'before' if before else 'after'} {the(two.phrase)}"
    text = f"{'Yes' if yes else 'No'}, {order_text}: {at(first, tz)}, and {at(second, tz)}."
    return answered(text, one.confidence * two.confidence, cite([first, second]))


def _anything(s: Session) -> Plan:
    """Such as "did I see anything at 10:05"."""
    from_us, to_us = window_of(s)
    scene = as_scene(
        (
            yield Inspect(
                from_us=from_us if from_us is not None else 0, to_us=to_us if to_us is not None else s.question.as_of_us, max_moments=32
            )
        )
    )
    if not scene.evidence:
        return _no(not_seen(s))
    return answered(f"Yes: {scene_text(scene) or 'something that I cannot name'}.", 0.5, cite(scene.evidence))


def find(s: Session) -> Plan:
    """Show where it is: like `when`, with what the picture shows."""
    p, tz = s.parsed, s.question.tz
    lead, strong, none = yield from target(s)
    if none is not None:
        return none
    chosen = pick(strong, p.ordinal)
    if chosen is None:
        return not_enough(lead, strong)
    scene = as_scene((yield Inspect(from_us=chosen.best.t0_us, to_us=chosen.best.t0_us, stream=chosen.stream)))
    seen = scene_text(scene, [lead.phrase])
    rest = sorted((e for e in strong if e is not chosen), key=lambda e: -e.score)
    company = f", with {seen}" if seen else ""
    text = f"{a(lead.phrase).capitalize()}: {sighting(chosen, lead.basis, tz)}{company}.{others_text(strong, chosen, tz)}"
    return answered(text, lead.confidence, cite([chosen], rest))


def which(s: Session) -> Plan:
    """Such as "A cat or a dog?": the one that was seen; both where both were. Without alternatives it is a search for the kind of thing."""
    p, tz = s.parsed, s.question.tz
    if not p.alternatives:
        return (yield from find(s) if p.target else _anything(s))
    leads = yield from look_for_each(p.alternatives, window_of(s))
    ranked = sorted((lead for lead in leads if lead.found), key=lambda lead: -(len(lead.strong) if p.counts else lead.confidence))
    if not ranked:
        return not_seen(s, max(leads, key=lambda lead: lead.confidence), " or ".join(p.alternatives))
    best = ranked[0]
    others = [lead for lead in ranked[1:] if lead.confidence >= 0.8 * best.confidence] if not p.counts else []
    parts = [f"{the(lead.phrase)} {at(lead.best, tz)}" for lead in (best, *others)]
    return answered(f"{'; '.join(parts)}.".capitalize(), best.confidence, cite([best.best, *(lead.best for lead in others)]))


def order(s: Session) -> Plan:
    """Which came first or last; before or after."""
    p, tz = s.parsed, s.question.tz
    names = (p.target, *p.anchors) if p.anchors else p.alternatives
    leads = yield from look_for_each(names, window_of(s))
    missing = next((lead for lead in leads if not lead.found), None)
    if len(leads) < 2 or (missing is not None and (p.anchors or sum(lead.found for lead in leads) < 2)):
        return not_seen(s, missing)
    last = p.ordinal == -1
    ends = [(pick(lead.strong, -1 if last else 1) or lead.best, lead) for lead in leads if lead.found]
    ends.sort(key=lambda end: end[0].t0_us, reverse=last)
    confidence = min(lead.confidence for _, lead in ends)
    if p.anchors:
        before = ends[0][1].phrase == p.target
        text = f"{'Before' if before else 'After'}: {the(p.target)} came {'before' if before else 'after'} {the(p.anchors[0])}."
        return answered(text, confidence, cite([e for e, _ in ends]))
    text = f"{the(ends[0][1].phrase).capitalize()} came {'last' if last else 'first'}, {at(ends[0][0], tz)}; " + ", ".join(
        f"{the(lead.phrase)} {at(episode, tz)}" for episode, lead in ends[1:]
    )
    return answered(f"{text}.", confidence, cite([e for e, _ in ends]))
