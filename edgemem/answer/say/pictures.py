"""Answers from pictures: when and where a thing was seen, whether, how often, how long, in which colour."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import date
from typing import Any

import msgspec

from edgemem.answer.compose import NAMED, a, at, distinct_readings, listed, quote, span_text, the, things, times
from edgemem.answer.gather import Lead, Pool
from edgemem.answer.retrieve import Episode, held
from edgemem.answer.say import base
from edgemem.answer.say.base import Plan, Steps
from edgemem.answer.say.verdict import verdict
from edgemem.answer.session import Session
from edgemem.answer.tools import Count, Reply, Tally
from edgemem.answer.understand import Parsed, phrases
from edgemem.answer.understand.lexicon import CARRIERS, FILLER, LINKING, VERBS, is_adverb
from edgemem.answer.understand.wordings import pattern
from edgemem.answer.understand.words import NUMBERS, singular, words
from edgemem.answer.weigh import is_seen, is_shown, is_there, shown, weights
from edgemem.clock import to_local
from edgemem.infer.phrase import COLOUR_WORDS, COLOURS
from edgemem.records import US

BESIDE_US = 5 * US
"""A place that was seen this close to a thing is where the thing was."""
_POINT_US = 2 * US
"""A count at a point in time is made in the pictures this close to it."""
_FIRST = {1: "first ", -1: "last "}
_SAW = re.compile(r"^I (first |last )?saw")
SHARES = {"how_many": 0.5, "how_long": 0.6, "colour": 0.7, "ordinal": 0.77}
"""Which share of the confidence in the thing an answer deserves that says more than when it was there. Where a thing came several times in
three composed streams and its best picture was right, its first or last time was so in 134 of 174 cases and their number in 48 of 87
(`tools/eval/tracks.py`)."""


def from_pictures(s: Session, pool: Pool, lead: Lead) -> Plan:
    """The kind of question decides what is said of the thing's appearances."""
    p, tracks = s.parsed, base.tracks_of(s.parsed, lead)
    next_ = {"after": 1, "before": -1}.get(p.relation, 0) * (bool(p.anchors) and p.kind in base.OF_A_KIND)  # "what came after the dog"
    there = yield from _placed(s, lead, tracks)
    named = list(pool.leads if p.kind == "yes_no" else pool.leads[: p.kind == "what"])  # "a cat and a dog", "what mileage has the car"
    named = [one for one in named if p.kind != "yes_no" or not re.search(r"\bor\b", p.question) or is_shown(p, one)]
    chosen = base.pick(tracks, p.ordinal or next_) or base.picked(lead)
    qualities = _unseen(p, lead, chosen)
    qualities += [word for one in named if one is not lead and is_shown(p, one) for word in _unseen(p, one, base.picked(one))]
    for had in [one for one in qualities if one.startswith("with ")]:  # "the duck with a camel"
        if (yield from _is_beside(s, had.removeprefix("with "), chosen)):
            qualities.remove(had)
    least = pattern("AT_LEAST").search(p.text)  # "more than once" is proved by so many appearances
    often = set(least[0].split()) if least and len(tracks) >= NUMBERS.get(least["least"] or "", 2) else set[str]()
    claims = [one for one in _claims(p, lead, chosen, named, [*qualities, p.place * (not there)]) if not set(one.split()) <= often]
    if unsaid := [one for one in claims if not any(one in other for other in claims if other != one)]:
        return _unchecked(s, pool, lead, chosen, *unsaid)
    lead = msgspec.structs.replace(lead, phrase=_without(lead.phrase, qualities))
    tracks, elsewhere = there or tracks, () if there or often else (p.place,)
    longest = _longest(p, tracks)
    at_time = longest or _meant(p, tracks, next_)
    if at_time is None:
        text = f"I saw {the(lead.phrase)} only {times(len(tracks))}."
        return base.abstain(text, confidence=min(0.25, shown(p, lead)), evidence=base.cite(tracks))
    tracks = [at_time] if longest or next_ or p.step else tracks
    if p.counts == "at_once" and (tally := (yield from _tally(s, lead.phrase))).count > 1:
        text = f"{tally.count} {lead.phrase} at once, {at(tally.evidence[0], s.question.tz)}."
        return base.answered(text, 0.6 * tally.confidence, base.cite(tally.evidence))
    named = [one for one in named if singular(one.phrase) not in CARRIERS]  # "a sign for bus 60" is one
    if p.kind == "yes_no" and len(named) > 1 and not p.negated:
        return _all_seen(s, named)
    look = {"where": _where, "colour": _colour}.get("colour" if p.form == "colour" else p.kind)
    text = (yield from look(s, lead, at_time)) if look else _plain(s, lead, tracks, at_time)
    if not text:
        return _unchecked(s, pool, lead, at_time, "colour")
    done = [p.predicate] if p.predicate and not (often or is_seen(msgspec.structs.replace(p, kind="yes_no"))) else []
    done += _occasion(p)
    by = [p.person] if p.person and p.things and p.kind != "yes_no" and lead.basis == "frame" else []  # "when did Laura see the dog"
    text = _as_sure(p, lead, text)
    text += f" Whether {listed(elsewhere)}, I cannot tell." if elsewhere else ""
    beside = [*done, *by, *(one for one in qualities if one.startswith("with "))]
    text += f" About {listed(map(quote, beside))} I cannot tell." if beside else ""
    proof = base.cite([at_time], base.by_score(e for e in tracks if e is not at_time))
    several = p.kind in base.OF_A_KIND and not (p.ordinal or p.anchors) and len({e.evidence[0].text for e in tracks}) > 1
    sure = SHARES["how_many"] * shown(p, lead) if often or several else sureness(p, lead)  # "which animals" is right only as a whole
    sure *= (SHARES["how_long"] if longest else 1.0) / (1 + len(by) + len(elsewhere))
    sure *= at_time.score / base.best_score(lead) if p.kind in base.OF_A_KIND else 1.0  # another of its kind than the best one
    return base.answered(text, sure, proof, alternatives=base.others(pool, at_time), unverified=(*elsewhere, *done, *by, *qualities))


def _meant(p: Parsed, tracks: Sequence[Episode], next_: int) -> Episode | None:
    """The appearance that the answer before told of, or so many steps from it, else the one with the place in the row that is asked for."""
    near = base.at_near(p, tracks)
    if p.step or (near is not None and not p.ordinal):
        return near
    return base.pick(tracks, p.ordinal or next_ or -(p.kind == "where"))  # where it was last seen is where it still is


def whether_nth(s: Session, lead: Lead) -> Reply | None:
    """Whether the appearance that the answer before told of was the first or the last, where that is asked: "was that the first time?"."""
    p, tracks = s.parsed, base.tracks_of(s.parsed, lead)
    here, there = base.at_near(p, tracks), base.pick(tracks, p.ordinal)
    asked = p.kind == "yes_no" and p.ordinal and pattern("NTH_TIME").search(p.question)
    if not (asked and here and there):
        return None
    text = f"Yes: {_seen(s, lead, here)}." if here is there else f"No: {_seen(s, lead, there)}."
    return base.answered(text, SHARES["ordinal"] * shown(p, lead), base.cite([there, here]))


def _all_seen(s: Session, named: Sequence[Lead]) -> Reply:
    """Several things of one question: a yes with each of them, as sure as the least sure."""
    each = [base.picked(one) for one in named]
    text = listed(_seen(s, one, track) for one, track in zip(named, each, strict=True))
    said = "No" if any(_is_excluded(s.parsed, one) for one in named) else "Yes"
    return base.answered(f"{said}: {text}.", min(shown(s.parsed, one) for one in named), base.cite(each))


def _days(s: Session, tracks: Sequence[Episode]) -> list[date]:
    """The day of each appearance, on the clock of the one who asks."""
    return [to_local(track.t0_us, s.question.tz).date() for track in tracks]


def _longest(p: Parsed, tracks: Sequence[Episode]) -> Episode | None:
    """When it was in view the longest, or the shortest, where that is asked: right for 19 of 42 things of nine life logs that came several
    times (one of its times for 31), and for 6 of 10 of a composed stream.
    """
    asked = pattern("LASTED").search(p.question) if p.kind in {"when", "which", "what"} and len(tracks) > 1 else None
    return asked and (min if asked["short"] else max)(tracks, key=lambda e: e.t1_us - e.t0_us)


def is_listed(p: Parsed) -> bool:
    """Its last things stand one behind the other ("which did I see, a drum, a guitar or a flute"), or it asks which "of these"."""
    row = re.compile(r"(?:,| and| or)+ (?:an? |the )?".join(map(re.escape, p.things[-3:])))
    return len(p.things) > 1 and bool((len(p.things) > 2 and row.search(p.question)) or pattern("OF_THESE").search(p.question))


def each_of(s: Session, pool: Pool) -> Reply:
    """Which of several things were seen and which were not: "which of these did I see: a drum, a guitar"."""
    leads = [lead for lead in pool.leads if f"which {lead.phrase} " not in s.parsed.question]  # "which tools: a saw, a hammer"
    seen = [lead for lead in leads if is_shown(s.parsed, lead)]
    missed = tuple(lead.phrase for lead in leads if lead not in seen)
    if not seen:
        none = f"I have not seen {' or '.join(map(a, missed))} in this memory."
        return base.abstain(none, alternatives=base.others(pool), unverified=missed)
    tracks = [base.picked(lead) for lead in seen]
    text = listed(f"{the(lead.phrase)} {at(track, s.question.tz)}" for lead, track in zip(seen, tracks, strict=True))
    more = f" I have not seen {' or '.join(map(a, missed))}." if missed else ""
    sure = SHARES["how_many"] * min(shown(s.parsed, lead) for lead in seen)
    return base.answered(f"I saw {text}.{more}", sure, base.cite(tracks), unverified=missed)


def _is_excluded(p: Parsed, lead: Lead) -> bool:
    """Said not to have been there with the others: "a parrot but no toucan"."""
    return re.search(rf"\b(?:but|and) (?:no|not (?:an?|the|any)) {re.escape(lead.phrase)}\b", p.question) is not None


def _claims(p: Parsed, lead: Lead, chosen: Episode, leads: Sequence[Lead], unproved: list[str]) -> list[str]:
    """What the question says or asks beyond that things were there: deeds, things that were not seen, and what it says of those seen."""
    often = pattern("AT_LEAST").search(p.predicate)
    deed = p.predicate.replace(often[0], "").strip() if often else p.predicate
    claims = [often[0]] if often else []
    claims += [] if is_seen(msgspec.structs.replace(p, predicate=deed)) and p.kind != "how_why" else [deed or p.verb or "how"]
    claims += [f"no {one.phrase}" if _is_excluded(p, one) else one.phrase for one in leads if not is_shown(p, one)]
    claims += ["not"] if p.negated and p.kind in base.OF_A_KIND else []
    if p.kind == "yes_no":
        claims += [*unproved, *(one[0] for one in pattern("UNSEEN").finditer(p.question))]
        claims += [word for word in words(p.question) if is_adverb(word) and word not in FILLER]  # "clearly"
        claims += [p.person] if p.things or " of " in p.person else []
        claims += _occasion(p)
    if p.form == "place":  # "which drawer are the pliers in"
        claims += [f"which {one}" for one in p.things if re.search(rf"\b(?:which|what) {re.escape(one)}\b", p.question)]
    if lead.basis == "text":
        named = {singular(word) for word in words(lead.phrase)}  # "Dr. Lindberg, room 409" is not the doctor
        is_text = p.quote or p.hint == "read" or not named.isdisjoint(CARRIERS) or any(map(str.isdigit, lead.phrase))
        claims += ["seen"] if p.kind == "yes_no" and not (any(claims) or is_text) else []
        claims = [one for one in claims if held(words(one), chosen.evidence[0].text) < 1]
    return list(filter(None, claims))


def _occasion(p: Parsed) -> list[str]:
    """An occasion that no picture shows: "while it rained"; "while I was out" is any time."""
    unseen = p.relation == "while" and not (p.anchors or p.anchor) and re.search(r"\b(?:it|he|she|they)\b", p.clause)
    return [p.clause] if unseen else []


def _as_sure(p: Parsed, lead: Lead, text: str) -> str:
    """Not "I saw it" where it is not sure enough to say that it was there at all."""
    if lead.basis != "frame" or shown(p, lead) >= weights().surely:
        return text
    text = _SAW.sub(r"I may \1have seen" if shown(p, lead) < weights().ordinal else r"I think I \1saw", text)
    return text if text.startswith("I ") else f"Probably {text[:1].lower()}{text[1:]}"


def sureness(p: Parsed, lead: Lead) -> float:
    """Probability that what pictures of the thing tell is what is asked: its colour is less sure than when it was there."""
    return SHARES.get("ordinal" if p.ordinal else "colour" if p.form == "colour" else p.kind, 1.0) * shown(p, lead)


def _unseen(p: Parsed, lead: Lead, chosen: Episode) -> list[str]:
    """What the question says of the thing and no picture was checked for: how it is, how many they are, a colour that was not seen."""
    phrase = lead.phrase.lower()
    if lead.basis != "frame" or lead.phrase not in p.things:
        return []
    said = base.qualities(phrase)
    if {COLOUR_WORDS.get(word) for word in said} & set(chosen.evidence[0].text.split()[:1]):
        said = [word for word in said if word not in COLOUR_WORDS]
    said = [word for word in said if word not in words(chosen.evidence[0].text)]
    before = re.search(rf"(\w+) {re.escape(phrase)}\b", p.text)
    number = before[1] if before else ""
    many = NUMBERS.get(number, int(number) if number.isdecimal() else 0) > 1
    return [*said, number] if many else said


def _placed(s: Session, lead: Lead, tracks: list[Episode]) -> Steps[list[Episode]]:
    """The appearances that were in the place that the question names; without a place all."""
    place, there = phrases.noun_phrase(s.parsed.place), []
    place = "" if place == lead.phrase else place  # "how often did I come up to the tyre"
    for track in tracks[:8] if place else ():
        there += [track] if (yield from _is_beside(s, place, track)) else []
    return there if place else tracks


def _is_beside(s: Session, thing: str, track: Episode) -> Steps[bool]:
    """Surely seen where the appearance is."""
    found = yield from base.look_for(phrases.noun_phrase(thing) or thing, (track.t0_us - BESIDE_US, track.t1_us + BESIDE_US))
    return is_shown(s.parsed, found) and found.confidence >= weights().surely


def _unchecked(s: Session, pool: Pool, lead: Lead, chosen: Episode, *claims: str) -> Reply:
    """The thing was seen; what is claimed of it or asked about it is more than a picture shows."""
    claimed = tuple(dict.fromkeys(claims))
    mine = {"i", "we"} & set(s.parsed.question.split())
    rest: dict[str, Any] = {"alternatives": base.others(pool, chosen), "unverified": claimed}
    whether = s.parsed.kind == "yes_no"
    told = verdict(s.parsed, chosen.evidence[0].text, written=True) if lead.basis == "text" and whether and not s.parsed.negated else ""
    state = whether and not told and s.parsed.predicate and s.parsed.verb in LINKING | {"", "be"}  # "was the coffee good"
    if lead.basis == "text" and not (mine or state):  # "is flight KL383 delayed" the sign may say, not what I did
        text = f"{told}{': ' * bool(told)}{_seen(s, lead, chosen)}."
        return base.answered(text, 0.5 * shown(s.parsed, lead), base.cite([chosen]), **rest)
    tracks = base.strong(lead)
    if lead.basis == "frame" and all(map(pattern("COUNTED").fullmatch, claimed)):  # "only once"
        return base.answered(_how_many(s, lead, tracks), SHARES["how_many"] * shown(s.parsed, lead), base.cite(tracks), **rest)
    seen = msgspec.structs.replace(lead, phrase=_without(lead.phrase, claimed))
    text = _as_sure(s.parsed, lead, f"{_seen(s, seen, chosen)}; about {listed(map(quote, claimed))} I cannot tell.")
    return base.abstain(text, confidence=0.2, evidence=base.cite([chosen], base.by_score(tracks)), **rest)


def _seen(s: Session, lead: Lead, chosen: Episode) -> str:
    """What was seen or read, and when."""
    return f"I {_what(lead, chosen)} {at(chosen, s.question.tz)}"


def _what(lead: Lead, chosen: Episode) -> str:
    """Such as "saw the mug", 'read "GATE 18"'."""
    return f"read {quote(chosen.evidence[0].text)}" if lead.basis == "text" else f"saw {the(lead.phrase)}"


def _without(phrase: str, unseen: Collection[str]) -> str:
    """What was seen of it: "broken guitar" is a guitar."""
    for one in unseen:
        phrase = " ".join(re.sub(rf"\b{re.escape(one)}\b", "", phrase).split()) or phrase
    return phrase


def _plain(s: Session, lead: Lead, tracks: list[Episode], chosen: Episode) -> str:
    """What the appearances alone say: the wall time of one, "yes" or "no, you have", how many there are, how long they lasted."""
    p, tz, seconds = s.parsed, s.question.tz, (chosen.t1_us - chosen.t0_us) / US
    also = "" if p.ordinal else base.others_text(tracks, chosen, tz)
    if p.kind == "yes_no":
        return f"{'No, you have' if p.negated else 'Yes'}: {_seen(s, lead, chosen)}.{also}"
    if p.kind == "how_many" or (p.kind == "when" and pattern("BY_DAY").search(p.question)):
        return _how_many(s, lead, tracks)
    if p.kind == "how_long":
        total = sum(e.t1_us - e.t0_us for e in tracks) / US
        more = f"; {span_text(total)} in all {len(tracks)} appearances" if len(tracks) > 1 else ""
        return f"At least {span_text(max(1.0, seconds))}: {a(lead.phrase)} {at(chosen, tz)}{more}."
    lasted = f" for {round(seconds)} s" if seconds >= 2 and lead.basis != "text" else ""
    since = span_text((s.question.asked_us - chosen.t1_us) / US)
    ago = f" That is {since} before the question." if "how long ago" in p.text else ""
    names = dict.fromkeys(e.evidence[0].text for e in (chosen, *tracks)[: 1 if p.ordinal else None] if lead.basis == "frame")
    kinds = [a(name) for name in names if name and name != singular(lead.phrase)] if p.kind in base.OF_A_KIND else []
    if len(kinds) > 1 and not p.anchors:  # each kind at its best appearance
        best = {e.evidence[0].text: e for e in sorted(tracks, key=lambda e: e.score)}
        clear = [(e.t0_us, f"{a(name)} {at(e, tz)}") for name, e in reversed(best.items()) if name][:NAMED]
        return f"I {_what(lead, chosen)}: what looked like {listed(text for _, text in sorted(clear))}."
    looked = f" It looked like {listed(kinds)}." if kinds else ""
    return f"I {_FIRST.get(p.ordinal, '')}{_what(lead, chosen)} {at(chosen, tz)}{lasted}.{ago}{also}{looked}"


def _how_many(s: Session, lead: Lead, tracks: list[Episode]) -> str:
    if pattern("BY_DAY").search(s.parsed.question):
        days = sorted(set(_days(s, tracks)))
        return f"{len(days)} day{'s' * (len(days) > 1)}: I {_what(lead, tracks[0])} on {listed(f'{day:%A %Y-%m-%d}' for day in days)}."
    shown_at = listed(at(e, s.question.tz) for e in tracks[:6])
    return f"{times(len(tracks))}: I {_what(lead, tracks[0])} {shown_at}{' and later' if len(tracks) > 6 else ''}."


def _where(s: Session, lead: Lead, chosen: Episode) -> Steps[str]:
    """What else was seen and read there, and when."""
    near = yield from base.inspect((chosen.t0_us - US, chosen.t1_us + US), chosen.stream)
    seen = listed(things(near.sights, 5, [lead.phrase]))
    read = listed(dict.fromkeys(quote(r.text, 80) for r in distinct_readings(near.readings, 2)))
    there = "; ".join(part for part in (f"with {seen}" if seen else "", f"near the text {read}" if read else "") if part)
    first = "first" if s.parsed.ordinal == 1 else "last"
    return f"I {first} {_what(lead, chosen)} {at(chosen, s.question.tz)}{', ' + there if there else ''}."


def read_near(s: Session) -> Steps[Reply | None]:
    """What was read where the thing was that the question names as the place: "the sign next to the lion". None where it was not seen, or
    where more is asked than what stands there ("the maximum speed on the sign").
    """
    if not set(s.parsed.words) <= {*words(s.parsed.place), *CARRIERS, *VERBS, *COLOUR_WORDS}:
        return None
    lead = yield from base.look_for(phrases.noun_phrase(s.parsed.place), base.window_of(s))
    if not is_there(lead):
        return None
    chosen = base.picked(lead, s.parsed.ordinal)
    near = yield from base.inspect((chosen.t0_us - BESIDE_US, chosen.t1_us + BESIDE_US), chosen.stream)
    signs = distinct_readings(near.readings, 2)
    if not signs:
        return None
    text = f"{listed(quote(sign.text) for sign in signs)}, read {at(signs[0].evidence, s.question.tz)}, near {the(lead.phrase)}."
    return base.answered(text, lead.confidence / len(signs), base.cite([*(sign.evidence for sign in signs), chosen]))


def _colour(s: Session, lead: Lead, chosen: Episode) -> Steps[str]:
    """The colour word with which the thing fits the pictures of this appearance best, of those to choose from; "" where none does."""
    names = s.parsed.predicate.split(" or ") if " or " in s.parsed.predicate else COLOURS
    pool = yield from base.gather([f"{name} {lead.phrase}" for name in names], (chosen.t0_us, chosen.t1_us))
    best = max(pool.leads, key=base.best_score, default=Lead(phrase=""))
    named = best.phrase.partition(" ")[0].capitalize()
    return f"{named}: {the(lead.phrase)} {at(chosen, s.question.tz)}." if best.episodes else ""


def _tally(s: Session, phrase: str) -> Steps[Tally]:
    """Things in one picture, counted by the detector: near the point in time that is asked about, else in the whole stretch."""
    at_us = s.span.at_us
    from_us, to_us = base.window_of(s) if at_us is None else (at_us - _POINT_US, at_us + _POINT_US)
    return (yield from base.brought(Count(name=phrase[:100], from_us=from_us, to_us=to_us), Tally))
