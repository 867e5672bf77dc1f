"""Answers about order: which came first, before or after, and what came next to, between or while."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, product

import msgspec

from edgemem.answer.compose import apart, at, listed, span_text, the, times
from edgemem.answer.gather import Candidate, Lead, Pool
from edgemem.answer.retrieve import Episode, episode_of
from edgemem.answer.say import base, scenes, statements
from edgemem.answer.say.base import Plan, Steps, Window
from edgemem.answer.session import Session
from edgemem.answer.sights import LEAST_LISTED
from edgemem.answer.tools import Reply
from edgemem.answer.understand import Parsed, followup, relations, timeref, timespan
from edgemem.answer.understand.lexicon import ATTRIBUTES, CARRIERS, SAYING, VERBS, WRITING
from edgemem.answer.understand.wordings import pattern
from edgemem.answer.understand.words import content_words, similar_texts, singular, words
from edgemem.answer.weigh import is_likely, is_seen, is_shown, is_there, shown, stated
from edgemem.records import AFTER_END_US, US, Evidence, Record

_VERBATIM = 0.9
"""Confidence in words that hold all that something is called."""


class Place(Record, frozen=True):
    """The window in which a relation ("after the coffee") puts the thing, and what it refers to."""

    window: Window
    anchors: tuple[tuple[Lead, Episode], ...] = ()
    missing: Lead | None = None
    """The anchor that was not seen."""


def relate(s: Session) -> Steps[Place]:
    """Find the anchors of the question's relation and turn them into a window inside the question's own."""
    p, (from_us, to_us) = s.parsed, base.window_of(s)
    anchors: list[tuple[Lead, Episode]] = []
    during = p.relation == "while" and (s.question.options or p.hint == "read" or p.kind == "yes_no")
    by_words = p.anchor is None and (p.relation in {"before", "after"} or during)
    said = (yield from said_then(s)) if by_words else None
    if p.anchor is not None:
        anchors.append((yield from _appearance(s, p.anchors[0], p.anchor)))
    if said is not None:
        anchors.append((Lead(phrase="".join(p.anchors[:1]), confidence=stated(p, said)), episode_of(said.evidence[:1])))
    for anchor in () if anchors else p.anchors:
        ordinal, phrase = relations.take_ordinal(anchor)
        lead = yield from referred(phrase, (from_us, to_us), spoken=pattern("SPOKEN_OF").search(p.clause) is not None)
        if not is_there(lead):
            return Place(window=(from_us, to_us), missing=lead)
        anchors.append((lead, base.picked(lead, ordinal)))
    ends = sorted((episode for _, episode in anchors), key=lambda e: e.t0_us)
    if len(ends) > 1:  # "between" has two
        from_us = ends[0].t1_us + 1
        to_us = max(from_us, ends[1].t0_us - 1)
    elif ends and (far_us := distance_us(s)):
        at_us = ends[0].t1_us + far_us if p.relation == "after" else ends[0].t0_us - far_us
        from_us, to_us = at_us - timespan.slack_us(far_us), min(at_us + timespan.slack_us(far_us), s.question.as_of_us)
    elif ends:
        around_us = 0 if said is None else scenes.SCENE_US
        beside: dict[str, Window] = {"after": (ends[0].t1_us + 1, to_us), "before": (from_us, ends[0].t0_us - 1)}
        from_us, to_us = beside.get(p.relation, (ends[0].t0_us - around_us, ends[0].t1_us + around_us))
    return Place(window=(from_us, to_us), anchors=tuple(anchors))


def _appearance(s: Session, phrase: str, told: Evidence) -> Steps[tuple[Lead, Episode]]:
    """What the answer before told of: the appearance of the thing then, or else the words or the picture that it cites."""
    lead = NOT_SEEN if told.channel != "frame" or phrase == followup.IT else (yield from base.look_for(phrase, base.window_of(s)))
    there = base.at_near(msgspec.structs.replace(s.parsed, near=told, step=0), base.strong(lead)) or episode_of((told,))
    return Lead(phrase=phrase, confidence=told.score, episodes=(there,), basis="frame" if told.channel == "frame" else "text"), there


NOT_SEEN = Lead(phrase="")


def is_anchor(p: Parsed, one: Candidate) -> bool:
    """The words that the relation refers to, and the same sign in another picture."""
    if p.anchor is None or one.channel != p.anchor.channel:
        return False
    same = one.channel == "text" and similar_texts(one.text, p.anchor.text) >= statements.ALIKE
    return same or any(proof.id == p.anchor.id for proof in one.evidence)


def distance_us(s: Session) -> int:
    """How long before or after its anchor: "ten minutes before the bus". 0 where that is not said."""
    said = pattern("RELATION").match(s.parsed.clause)
    return round(min(timeref.duration_s(s.parsed.clause[: said.start(1)]) * US, AFTER_END_US // 2)) if said else 0


def in_order(s: Session, leads: Sequence[Lead], names: Sequence[str], pool: Pool) -> tuple[Reply, int | None]:
    """Which of several things came first or last, and its number; of one asked before or after another, which it is.

    Each was there at the first of its tracks, or the last. Where there are options, they say that it was there.
    """
    p, tz = s.parsed, s.question.tz
    paired = bool(p.anchors) and p.relation != "between"
    row = 0 if paired else p.ordinal or relations.place_in_row(p.question, "order")  # "after the second cat" counts the cats
    last = row in {-1, len(leads)}  # the second of two is the last
    seen = [i for i, lead in enumerate(leads) if lead.episodes and (s.question.options or is_shown(p, lead))]
    if len(seen) < 2:
        return base.not_seen(s, next((lead for i, lead in enumerate(leads) if i not in seen), Lead(phrase="")), pool), None
    late = {i for i in seen if last or (i == 0 and p.relation == "after")}  # one of its tracks after the anchor is enough
    each = {i: base.strong(leads[i]) for i in seen}
    if p.time is None:
        each = _of_one_occasion(each)
    tracks = {i: own[-1 if i in late else 0] for i, own in each.items()}
    best = (max if last else min)(tracks, key=lambda i: (tracks[i].t0_us, -i))
    if paired and len(leads) == 2:
        word = "before" if best == 0 else "after"
        said = word.capitalize() + ":" if p.kind != "yes_no" else "Yes," if word == p.relation else "No,"
        text = f"{said} {the(names[0])} came {word} {the(names[1])}, "
    else:
        text = f"{the(names[best]).capitalize()} came {'last' if last else 'first'}, "
    told = tracks.items() if len(tracks) == 2 else sorted(tracks.items(), key=lambda pair: pair[1].t0_us)
    text += listed(f"{the(names[i])} {at(track, tz)}" for i, track in told)
    sure, proof = min(leads[i].confidence for i in seen), sorted(tracks, key=lambda i: i != best)
    rest = base.others(pool, *tracks.values())
    return base.answered(f"{text}.", sure, base.cite(tracks[i] for i in proof), alternatives=rest, named=(names[best],)), best


def of_several(s: Session, pool: Pool) -> Plan | None:
    """How things lie to each other in time: in which order they came, whether they were there together, or one of them during another."""
    p = s.parsed
    whether = p.kind == "yes_no" and p.things
    if p.kind == "order" or (whether and p.relation in {"before", "after"} and p.anchors and p.anchor is None):
        return _ordered(s, (p.target, *p.anchors) if p.anchors else p.choices or p.things, pool)
    if whether and len(p.things) == 2 and not p.anchors and pattern("TOGETHER").search(p.question):
        return together(s)
    placed = p.anchors or (p.relation == "while" and pattern("SPOKEN_OF").search(p.clause))
    then = whether and (p.relation in {"while", "between"} or p.anchor is not None) and placed and is_seen(p) and p.hint in {"none", "seen"}
    return _whether_then(s) if then else None


def _ordered(s: Session, names: Sequence[str], pool: Pool) -> Plan:
    """Which came first of things that pictures show, or words where no picture surely shows them."""
    if len({*names} - {""}) < 2 and (s.parsed.near is None or all(names)):
        return base.abstain("I do not know which two this means.", unverified=tuple(filter(None, names)))
    leads = list((yield from base.gather(names, base.window_of(s))).leads)
    spoken, heard = pattern("SPOKEN_OF").search(s.parsed.clause) is not None, s.parsed.hint == "said" and s.parsed.verb in SAYING
    for i, lead in enumerate(leads):
        if heard or not is_shown(s.parsed, lead) or (spoken and lead.phrase in s.parsed.anchors):
            leads[i] = yield from referred(lead.phrase, base.window_of(s), spoken=True, heard=heard)
    if s.parsed.near is not None and s.parsed.anchors:  # "was that before the film"
        leads[0], _ = yield from _appearance(s, names[0], s.parsed.near)
    return in_order(s, leads, names, pool)[0]


def _of_one_occasion(tracks: dict[int, list[Episode]]) -> dict[int, list[Episode]]:
    """The tracks of the last occasion on which every thing was there; all where there was none."""
    for end in sorted(chain(*tracks.values()), key=lambda e: -e.t0_us):
        then = {i: [e for e in own if 0 <= end.t0_us - e.t0_us <= base.OCCASION_US] for i, own in tracks.items()}
        if all(then.values()):
            return then
    return tracks


def together(s: Session) -> Plan:
    """Whether two things were there at the same time: "did the dog and a mug ever show up together"."""
    leads = (yield from base.gather(s.parsed.things, base.window_of(s))).leads
    if len(leads) < 2:
        return base.abstain("I have not seen both of these.")
    one, other = leads
    if not (is_shown(s.parsed, one) and is_shown(s.parsed, other)):
        return base.not_seen(s, next(lead for lead in leads if not is_shown(s.parsed, lead)))
    pairs = product(base.strong(one), base.strong(other))
    gap_us, first, second = min(((max(a.t0_us - b.t1_us, b.t0_us - a.t1_us), a, b) for a, b in pairs), key=lambda pair: pair[0])
    seen = f"I saw {the(one.phrase)} {at(first, s.question.tz)} and {the(other.phrase)} {at(second, s.question.tz)}."
    sure = min(one.confidence, other.confidence)
    if first.stream == second.stream and gap_us <= scenes.SCENE_US:
        return base.answered(f"Yes: {seen}", sure, base.cite([first, second]))
    return base.answered(f"No, not that I know: {seen}", 0.5 * sure, base.cite([first, second]))


def _whether_then(s: Session) -> Plan:
    """Whether a thing was there during something or between two things: "was the teddy there while they talked about the shopping"."""
    p, place = s.parsed, (yield from relate(s))
    if place.missing is not None:
        return base.not_seen(s, place.missing)
    if not place.anchors:
        return base.abstain("I have heard nothing of that.", unverified=(p.clause,))
    then = yield from base.look_for(p.target, place.window)
    if is_shown(p, then):
        sure = min(shown(p, then), *(lead.confidence for lead, _ in place.anchors))
        return base.answered(f"Yes: I saw {the(p.target)} {at(base.picked(then), s.question.tz)}.", sure, base.cite([base.picked(then)]))
    ever = yield from base.look_for(p.target, base.window_of(s))
    if not is_shown(p, ever):
        return base.not_seen(s, ever)
    told = f"I saw {the(p.target)} {at(base.picked(ever), s.question.tz)}, but not then that I know."
    return base.abstain(told, confidence=0.2, evidence=base.cite([base.picked(ever)]), unverified=(p.clause,))


MORE = frozenset(("more", "more often", "fewer", "less", "less often", "longer"))
"""What is said of the number of appearances, or of how long they lasted."""


def is_more(p: Parsed) -> bool:
    """Compares the number of appearances, with or without a deed that pictures show: "more", "came across more"."""
    deed = p.predicate.removesuffix(" often").rpartition(" ")[0]
    compared = p.predicate.removeprefix(f"{deed} ")
    more = p.predicate in MORE or (compared in MORE and is_seen(msgspec.structs.replace(p, predicate=deed)))
    return more and not pattern("COMPARED").search(p.question)  # "longer than 2 hours"


def more_often(s: Session, leads: Sequence[Lead]) -> Reply:
    """Which of two things was there more often, or fewer times: "did I see more cats than dogs"."""
    p, tracks = s.parsed, [base.strong(lead) if is_shown(s.parsed, lead) else [] for lead in leads]
    lasted = p.predicate.endswith("longer")
    counts = [sum(e.t1_us - e.t0_us for e in some) / US if lasted else len(some) for some in tracks]
    told = [f"for {span_text(max(1.0, n))}" if lasted else times(round(n)) for n in counts]
    text = f"I saw {listed(f'{the(one.phrase)} {often}' for one, often in zip(leads, told, strict=True))}."
    if not all(tracks) or (lasted and counts[0] == counts[1]):  # what was not recognised may have been there all the same
        return base.abstain(text, confidence=0.2, evidence=base.cite(base.by_score(chain(*tracks))[:3]), unverified=(p.predicate,))
    first = counts[0] < counts[1] if "less" in p.predicate or "fewer" in p.predicate else counts[0] > counts[1]
    better = f"{the(leads[0 if first else 1].phrase).capitalize()}: " if counts[0] != counts[1] else "Neither: "
    said = ("Yes: " if first else "No: ") if p.kind == "yes_no" else better
    return base.answered(said + text, 0.5 * min(one.confidence for one in leads), base.cite(chain(*tracks)))


def neighbours(s: Session) -> Plan:
    """What was seen right after, right before, between, beside or while."""
    p = s.parsed
    place = yield from relate(s)
    if place.missing is not None and pattern("SAID_THAT").match(place.missing.phrase):
        return base.abstain("I have heard nothing of that.", unverified=(p.clause,))
    if place.missing is not None:
        return base.not_seen(s, place.missing)
    if p.kind == "how_long":
        return _time_between(s, place)
    names, (from_us, to_us) = tuple(lead.phrase for lead, _ in place.anchors), place.window
    looks = (one.text for lead, track in place.anchors for one in track.evidence if lead.basis == "frame")
    own = (*names, *looks)  # the trumpet that looks like a "cornet" is not beside it
    if p.relation in {"before", "after"} and not distance_us(s):  # only what appeared next to it
        scene = yield from scenes.scene_next(from_us or 0, to_us, last=p.relation == "before")
    else:
        stream = place.anchors[0][1].stream if p.relation in {"while", "side"} else ""
        scene = yield from scenes.in_stretch(place.window, stream, own)
    if not scene.evidence and distance_us(s):
        return base.abstain("Nothing was recorded then.")
    seen = [one for one in apart(scene.sights, own) if p.relation != "side" or one.score >= LEAST_LISTED]
    if not seen:
        where = p.relation if p.relation in {"before", "after", "between"} else "beside"
        return base.abstain(f"I know of nothing {where} {listed(the(name) for name in names)} that I can name.")
    sure = 0.6 * min(lead.confidence for lead, _ in place.anchors)
    scene = msgspec.structs.replace(scene, sights=tuple(seen))
    return scenes.scene_reply(s, scene, sure, last=p.relation == "before")


def _time_between(s: Session, place: Place) -> Reply:
    """How long it was from one thing to another: "how long was it between the elephant and the mouse"."""
    if len(place.anchors) < 2:
        return base.abstain("I cannot tell how long that was.", unverified=(s.parsed.clause,))
    (_, first), (_, last) = ends = sorted(place.anchors, key=lambda anchor: anchor[1].t0_us)
    seen = listed(f"{the(lead.phrase)} {at(track, s.question.tz)}" for lead, track in ends)
    if first == last:  # "between the first two", of what came once
        return base.abstain(f"I know of one time only: {seen.partition(' and ')[0]}.", evidence=base.cite([first]))
    sure = 0.6 * min(lead.confidence for lead, _ in ends)
    return base.answered(f"{span_text((last.t0_us - first.t0_us) / US)}: {seen}.", sure, base.cite([first, last]))


def while_said(s: Session) -> Plan:
    """What was seen while something was said: "what did I look at when she told me where the tent is"."""
    found = yield from said_then(s)
    if found is None:
        return base.abstain("I have heard nothing of that.", unverified=(s.parsed.clause,))
    scene = yield from base.inspect((found.evidence[0].t0_us, found.evidence[0].t1_us), found.evidence[0].stream)
    if not scene.evidence:
        return base.abstain("I saw nothing while that was said.", evidence=base.cite(found.evidence))
    shown_then = scenes.scene_reply(s, scene, 0.6 * stated(s.parsed, found))
    return msgspec.structs.replace(shown_then, evidence=(*shown_then.evidence[:9], found.evidence[0].id))


def said_then(s: Session) -> Steps[Candidate | None]:
    """What was said at the time that the question refers to; None where it refers to no such time or nothing was said of it."""
    p = s.parsed
    if not p.relation or not pattern("SPOKEN_OF").search(p.clause):
        return None
    wanted = [word for word in p.words if VERBS.get(word) not in SAYING]
    pool = yield from base.gather((), base.window_of(s), p.clause, wanted)
    found = sorted(((stated(p, one), one) for one in pool.candidates if one.channel == "speech"), key=lambda pair: -pair[0])
    told = statements.versions(p, found) if found and is_likely(*found[0]) else []
    return told[-1][1] if told else None


def referred(phrase: str, window: Window, *, spoken: bool, heard: bool = False) -> Steps[Lead]:
    """What a relation refers to: what was said or read with all of these words where it is spoken of ("the meeting being mentioned") or no
    label has a word for it, else the thing in pictures. `heard`: what was only read is no answer.
    """
    lead = yield from base.look_for(phrase, window)
    if not spoken and (is_there(lead) or lead.recognised):
        return lead
    own = [word for word in content_words(phrase) if word not in ATTRIBUTES | CARRIERS] or content_words(phrase)  # "coffee price"
    found = (yield from base.gather((), window, phrase, own)).candidates
    told = next((one for one in found if one.held > base.ALL_HELD and not (heard and one.channel == "text")), None)
    return (
        lead
        if told is None
        else Lead(phrase=phrase, confidence=_VERBATIM * told.held, episodes=(episode_of(told.evidence[:1]),), basis="text")
    )


def next_words(s: Session, place: Place) -> Steps[Reply | None]:
    """What was said or read next to what the question refers to, where it asks for no more: "what did she say after the toolbox"."""
    p = s.parsed
    carriers = {word for word in (*p.words, *words(p.target)) if singular(word) in CARRIERS}
    asked = [word for word in p.words if word not in {*words(p.clause), *carriers} and VERBS.get(word) not in WRITING | {"hear"}]
    person = "" if set(words(p.person)) <= set(words(p.clause)) else p.person  # "when they mentioned the meeting with Sarah"
    bare = msgspec.structs.replace(p, relation="", anchors=(), time=None, things=() if carriers else p.things, person=person)
    said = p.hint == "said" or p.verb in SAYING | {"hear"}
    if not (said or p.hint == "read") or not followup.names_nothing(bare, asked) or not ATTRIBUTES.isdisjoint(asked):
        return None
    low, high = place.window
    near = (max(0, (low or 0) - scenes.SCENE_US), high + scenes.SCENE_US) if p.relation == "while" else place.window
    pool = yield from base.gather((), near, p.question, p.words)
    others = (one for one in pool.candidates if not is_anchor(p, one))
    mine = [one for one in others if (one.channel == "speech") == said and (said or statements.is_text(one.text))]
    best = (max if p.relation == "before" else min)(mine, key=lambda one: one.t0_us, default=None)
    whether = p.kind == "yes_no"
    if best is None:
        none = "I heard nothing being said then." if said else "I read nothing then."
        return base.abstain(f"No, {none}" if whether else none)
    told = statements.tell(s, [(0.6 * min(lead.confidence for lead, _ in place.anchors), best)])
    return msgspec.structs.replace(told, text=f"Yes: {told.text}") if whether else told
