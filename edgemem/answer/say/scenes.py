"""Answers from what a scene or a stretch of time shows: all that was there, what came first or next, what there was of a kind."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from edgemem.answer.compose import LISTED, NAMED, SURE, apart, at, listed, quote, scene_text, the, things, time_text, times
from edgemem.answer.gather import Lead
from edgemem.answer.retrieve import CLEAR, Episode
from edgemem.answer.say import base, pictures
from edgemem.answer.say.base import Plan, Steps, Window
from edgemem.answer.session import Session
from edgemem.answer.sights import LEAST_PROBABILITY, SeenName, beside, in_time
from edgemem.answer.tools import GLANCE_US, Reply, Scene
from edgemem.answer.tools_graph import Hear, Related
from edgemem.answer.understand import Parsed
from edgemem.answer.understand.wordings import pattern
from edgemem.answer.understand.words import number_in, singular
from edgemem.answer.weigh import is_seen, is_shown, shown
from edgemem.infer.labels import has_kinds, is_kind_of
from edgemem.records import US, Evidence


def describe(s: Session) -> Plan:
    """What was seen at the time that the question names, first, last, or in all of the memory."""
    window, at_us, ordinal = base.window_of(s), s.span.at_us, s.parsed.ordinal
    if at_us is not None:
        scene = yield from base.inspect((at_us, at_us))
    elif ordinal:
        ends = (yield from base.inspect(window, limit=2)).evidence
        scene = (yield from scene_next(ends[0].t0_us, ends[-1].t0_us, last=ordinal < 0)) if ends else Scene()
    else:
        scene = yield from in_stretch(window)
    if not scene.evidence:
        return base.abstain("Nothing was recorded then.")
    reply = scene_reply(s, scene, 0.6 if ordinal and at_us is None else 0.9)
    if s.parsed.kind in base.OF_A_KIND and pattern("SO_OFTEN").search(s.parsed.question):  # backgrounds come most often
        text = f"How often each thing came I can tell of a kind only, such as animals. {reply.text}"
        return base.abstain(text, confidence=0.1, evidence=reply.evidence)
    if at_us is not None or s.parsed.kind != "summary":
        return reply
    said = (yield from base.brought(Hear(from_us=window[0], to_us=window[1], limit=_HEARD), Related)).rows
    text = f"{reply.text} I heard: {listed(quote(row.quote, 120) for row in said)}" if said else reply.text
    evidence = (*reply.evidence[: 10 - len(said)], *(row.evidence.id for row in said))
    return msgspec.structs.replace(reply, text=text, evidence=evidence)


_HEARD = 4
"""So many utterances are told of a stretch of time, the newest."""


def in_stretch(window: Window, stream: str = "", without: Sequence[str] = ()) -> Steps[Scene]:
    """What is seen in a stretch of time; of a long one what probably appeared in it, in the order of time, without these names."""
    scene = yield from base.inspect(window, stream, limit=32)
    long = any(one.t0_us for one in scene.sights)
    return msgspec.structs.replace(scene, sights=tuple(in_time(apart(scene.sights, without), LISTED))) if long else scene


_NEXT_US = 120 * US
"""What follows or precedes is looked for this close."""
SCENE_US = 5 * US
"""What is this close to the first picture is of the same scene, and told where nothing probable appeared."""


def scene_next(low: int, high: int, *, last: bool) -> Steps[Scene]:
    """What appeared first in a stretch of time, or last, with pictures of the most probable of it: the first 15 s of it, or the last."""
    low, high = (max(low, high - _NEXT_US), high) if last else (low, min(high, low + _NEXT_US))
    scene = yield from base.inspect((low, high), limit=64)
    if near := beside(scene.sights, low, high, last=last):
        begun, ended = near[0].t0_us, near[0].t1_us
        span = (max(begun, ended - GLANCE_US), ended) if last else (begun, min(ended, begun + GLANCE_US))
        return msgspec.structs.replace((yield from base.inspect(span, near[0].stream)), sights=tuple(near))
    if not scene.evidence:
        return scene
    end = scene.evidence[-1 if last else 0]
    around = (max(low, end.t0_us - SCENE_US), end.t0_us) if last else (end.t0_us, min(high, end.t0_us + SCENE_US))
    return (yield from base.inspect(around, end.stream))


def scene_reply(s: Session, scene: Scene, sure: float, *, last: bool = False) -> Reply:
    """What a scene shows, and when. It is as sure as its names are on average."""
    ordered = scene.evidence[::-1] if last else scene.evidence
    begun, ended = scene.evidence[0], scene.evidence[-1]
    long = ended.t0_us - begun.t0_us > GLANCE_US
    timed = long and any(one.t0_us for one in scene.sights)
    seen = scene_text(scene, s.question.tz if timed else "") or "something that I cannot name"
    when = at(begun if long else ordered[0], s.question.tz)
    when = f"from {when.removeprefix('at ')} to {time_text(ended.t0_us, s.question.tz)}" if long else when
    scores = [sight.score for sight in scene.sights if sight.kind != "text"][: LISTED if timed else NAMED] or [_UNNAMED]
    names = tuple(one.name for one in scene.sights if one.kind != "text")[:NAMED]
    return base.answered(f"{seen[:1].upper()}{seen[1:]}, {when}.", sure * sum(scores) / len(scores), base.cite(ordered), named=names)


_UNNAMED = 0.2
"""Confidence in a scene of which nothing can be named."""


_SORTS = frozenset(("kinds", "sorts", "types", "species", "varieties"))
_ANY = "(?<!hardly )(?<!barely )(?<!scarcely )any|some|see|seen|saw|spot|spotted|meet|met|pass|passed|across|past|there"


def _is_kind(lead: Lead) -> bool:
    """It was found by another name than its own, and has names below it: "bird" by a hen."""
    best = max(lead.episodes, key=lambda e: e.score, default=None)
    return best is not None and best.evidence[0].text != singular(lead.phrase) and has_kinds(lead.phrase)


def asks_kinds(s: Session, lead: Lead, window: Window) -> bool:
    """Asks what there was in a long stretch of a kind that has other names below it, or whether there was anything of it: "which birds did
    I see", "were there any birds", not "which red cars".
    """
    p, (from_us, to_us) = s.parsed, window
    long = to_us - (from_us or 0) > GLANCE_US
    one = p.anchors and singular(lead.phrase) == lead.phrase  # "what animal came after the dog"
    in_row = p.ordinal and (p.ordinal not in {1, -1} or p.anchors or p.kind == "yes_no")
    bare = is_seen(p) and not (one or in_row or p.choices or p.place or p.form or base.qualities(lead.phrase))
    any_ = p.kind == "yes_no" and singular(lead.phrase) != lead.phrase and not (p.negated or pattern("UNSEEN").search(p.question))
    any_ = any_ and re.search(rf"(?:^|\b(?:{_ANY}) ){re.escape(lead.phrase)}\b", p.question) is not None  # not "hardly any", "three birds"
    counted = p.kind == "how_many" and not _SORTS.isdisjoint(p.words)  # "how many kinds of bird"
    return (any_ or counted or p.kind in base.OF_A_KIND) and len(p.things) == 1 and long and bare and _is_kind(lead)


def each_kind(s: Session, lead: Lead, window: Window) -> Steps[Reply | None]:
    """What there was of a kind ("which birds did I see"): names below it in WordNet that probably appeared, and others by which it was
    found that surely did. None where nothing did.
    """
    found = {one.text for track in lead.episodes for one in track.evidence if one.score >= CLEAR * base.best_score(lead)}
    near = [one for one in (yield from base.inspect(window)).sights if one.t1_us]
    kinds = [one for one in near if is_kind_of(one.name, lead.phrase) and one.score >= LEAST_PROBABILITY]
    kinds = [one for one in kinds if one.name != singular(lead.phrase)] or kinds
    also = [one for one in near if one.name in found and one.score >= SURE and one not in kinds]
    told = in_time([*kinds, *also], NAMED, LEAST_PROBABILITY)
    if s.parsed.ordinal and told:
        row = sorted((*kinds, *also), key=lambda one: one.t0_us)
        first = s.parsed.ordinal > 0
        return (yield from _end_of_kind(s, lead, row[0 if first else -1], "first" if first else "last"))
    if told and (lasted := pattern("LASTED").search(s.parsed.question)):
        row = sorted((*kinds, *also), key=lambda one: one.t1_us - one.t0_us)
        return (yield from _end_of_kind(s, lead, row[0 if lasted["short"] else -1], "shortest" if lasted["short"] else "longest"))
    if told and (often := pattern("SO_OFTEN").search(s.parsed.question)):
        return (yield from _so_often(s, often, [one.name for one in (*kinds, *also)], window))
    certain, whether = any(one.score >= SURE for one in told), s.parsed.kind == "yes_no"
    shown_too = whether and is_shown(s.parsed, lead)
    if not told or (whether and not (certain or shown_too)):
        return None
    proof: list[Evidence] = []
    for one in sorted(told, key=lambda one: -one.score):
        proof += (yield from base.inspect((one.best_us, one.best_us), one.stream)).evidence
    text = listed(things(told, NAMED, tz=s.question.tz))
    sure = pictures.SHARES["how_many"] * sum(one.score for one in told) / len(told)
    if whether and not shown_too:  # a name that is sure is no proof of the kind: of 88 kinds that were not there it affirms 8 more
        unsure = f"I am not sure; I may have seen {the(lead.phrase)}: {text}."
        return base.abstain(unsure, confidence=min(0.25, sure), evidence=base.cite(proof), unverified=(lead.phrase,))
    saw = f"I {'saw' if certain or whether else 'may have seen'} {the(lead.phrase)}: {text}."
    saw = f"At least {len(told)}: {saw}" if s.parsed.kind == "how_many" else saw
    names = tuple(one.name for one in told[:NAMED])
    return base.answered(f"Yes: {saw}" if whether else saw, shown(s.parsed, lead) if whether else sure, base.cite(proof), named=names)


def asks_next(p: Parsed, lead: Lead) -> bool:
    """Asks what of a kind came next after something, or last before it: "which animal came after the bus sign"."""
    one = p.kind in base.OF_A_KIND and singular(lead.phrase) == lead.phrase and not (p.form or p.place or base.qualities(lead.phrase))
    beside = p.relation in {"before", "after"} and p.anchors and len(p.things) == 1 and p.ordinal in {0, 1, -1}
    return bool(_is_kind(lead) and one and beside and is_seen(p))


def next_of_kind(s: Session, lead: Lead, window: Window) -> Steps[Reply | None]:
    """What of a kind appeared first in a stretch of time that begins with what the question refers to, or last in one that ends with it.
    None where nothing did.

    Of 840 such questions about six life logs on which no limit of it was chosen 353 are right and 32 wrong and confident, by the best
    picture of the kind 327 and 20 (`tools/eval/kinds.py --next`).
    """
    near = (yield from base.inspect(window)).sights
    kinds = [one for one in near if one.t1_us and is_kind_of(one.name, lead.phrase) and one.score >= LEAST_PROBABILITY]
    end = (max if s.parsed.relation == "before" else min)(kinds, key=lambda one: one.t0_us, default=None)
    if end is None:
        return None
    seen = (yield from base.inspect((end.best_us, end.best_us), end.stream)).evidence
    when = f", {at(seen[0], s.question.tz)}" if seen else ""
    name = f"{'' if end.score >= SURE else 'perhaps '}{the(end.name)}"
    sure = pictures.SHARES["ordinal"] * end.score
    return base.answered(f"{name[:1].upper()}{name[1:]}{when}.", sure, base.cite(seen), named=(end.name,))


def _so_often(s: Session, often: re.Match[str], names: Sequence[str], window: Window) -> Plan:
    """What of a kind came most often, or as often as the question says: "which animal did I see most often", "more than once".

    Of 55 kinds of which one thing came most often on eleven life logs 21 are answered, 16 of them rightly (`tools/eval/kinds.py --often`).
    """
    tracks: dict[str, tuple[Lead, list[Episode]]] = {}  # by the best picture: a cock is a rooster
    for lead in sorted((yield from base.gather(names, window)).leads, key=lambda one: one.confidence):
        if lead.episodes and lead.confidence >= SURE:
            tracks[base.by_score(lead.episodes)[0].evidence[0].id] = (lead, base.strong(lead))
    counts = {lead.phrase: len(own) for lead, own in tracks.values()}
    wanted = number_in(often["number"] or "") or 0
    goal = max(counts.values(), default=0) if often["most"] else min(counts.values(), default=0) if often["least"] else wanted
    chosen = [(lead, own) for lead, own in tracks.values() if (len(own) > 1 if often["again"] else len(own) == goal)]
    if not chosen or (often["most"] and goal < _OFTEN):
        return base.abstain("I know of nothing of the kind that came so often.", evidence=base.cite(own[0] for _, own in tracks.values()))
    chosen = sorted(chosen, key=lambda pair: -pair[0].confidence)[:NAMED]
    said = listed(f"{the(lead.phrase)} {times(len(own))}" for lead, own in chosen)
    sure = pictures.SHARES["how_many"] * min(lead.confidence for lead, _ in chosen)
    when = listed(at(e, s.question.tz) for e in chosen[0][1][:4])
    return base.answered(f"I saw {said}: {when}.", sure, base.cite(e for _, own in chosen for e in own))


_OFTEN = 2
"""What came once came not often."""


def _end_of_kind(s: Session, lead: Lead, end: SeenName, row: str) -> Plan:
    """The first or the last of a kind, or the one in view the longest: "which bird did I see first".

    Of 98 such questions about a composed stream, not in view when this was chosen, its time is right for 35, that of what looks like the
    kind itself for 23; of 402 about nine life logs, which were in view, for 187 and 161.
    """
    seen = (yield from base.inspect((end.best_us, end.best_us), end.stream)).evidence
    sure = "" if end.score >= SURE else "perhaps "
    how = f"{row} {singular(lead.phrase)} that I saw" if row in {"first", "last"} else f"{singular(lead.phrase)} that I saw the {row}"
    text = f"The {how}: {sure}{the(end.name)}"
    when = f", {at(seen[0], s.question.tz)}" if seen else ""
    return base.answered(f"{text}{when}.", pictures.SHARES["ordinal"] * end.score, base.cite(seen), named=(end.name,))
