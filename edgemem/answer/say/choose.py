"""Choosing among options: each is looked for in the same memory, where the question's time and relation put it, or is compared with what is
answered without them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from itertools import combinations, product
from operator import attrgetter

import msgspec
import numpy as np

from edgemem.answer.compose import at, listed, the, times
from edgemem.answer.gather import Candidate, Lead, Pool, held_shares
from edgemem.answer.retrieve import Episode, episode_of
from edgemem.answer.say import base, order, pictures, scenes, statements
from edgemem.answer.say.base import Plan, Steps, Window
from edgemem.answer.say.options import cited, fits, gaps_s, is_odd, is_time, none_of, places_of, rows_of, says, values, with_option
from edgemem.answer.session import Session
from edgemem.answer.tools import Reply
from edgemem.answer.understand import relations
from edgemem.answer.understand.phrases import noun_phrase
from edgemem.answer.understand.wordings import pattern
from edgemem.answer.understand.words import content_words, number_in, numbered, singular, words
from edgemem.answer.weigh import is_shown, stated_prior, weights
from edgemem.records import US

_NEAR_US = 15 * US
"""What comes "right after": the weight of a candidate falls to 1/e at this distance."""
_PRIOR = 0.05
"""What speaks for none of the options, on the scale of their scores."""
_CLOSE_S = 30.0
"""The weight of a sighting for a time falls to 1/e at this distance."""
_KNOWN = 0.3
"""Where an option says that it cannot be told, less confidence means that one; from it on words answer what does not ask for words."""
_ANCHORS = {"before": 1, "after": 1, "between": 2, "while": 1, "side": 1}
_HELD = 0.4
"""Share of the words that tell an option from the others that words must hold to mean it."""
_SAID = 0.6
"""The same, where it is not said that words are asked for."""
_NAMED = 2
"""So many words with a meaning are a name; more may be a clause."""
_HEARD, _ALIKE = 0.5, 0.6
"""So surely words must answer, and so alike a word of them must be to the name that was misheard."""
_OF_A_TIME = frozenset(("when", "where", "who"))
"""Kinds of a question in which a place in a row is that of a telling: "where was the car last"."""
_VOWELS = re.compile("[aeiouyhw]")
Found = tuple[float, Episode | None]
"""How well an option fits, and the appearance that shows it."""


def choose(s: Session, pool: Pool, ranked: statements.Ranked, free: Plan, answer: Callable[[Session], Plan]) -> Plan:
    """The way of choosing that fits the question and its options; `free` answers it without them, `answer` another question."""
    p, options = s.parsed, s.question.options
    if rows := rows_of(options):
        return (yield from _in_row(s, rows))
    if len(options) > 1 and pattern("OF_CLAIMS").search(p.question):
        return (yield from _claimed(s, answer))
    places, in_words = places_of(options), _from_words(s, ranked)
    valued = any(says(option) or is_time(option) or values(s, option.lower()) for option in options)
    if not (valued or places or none_of(s) is not None):  # things, which the answer without options says nothing of
        return (yield from _looked_for(s, pool, ranked, in_words))
    told = yield from free
    lead = _sightings(s, pool, ranked, told)
    if (reply := _compared(s, told, lead, in_words)) is not None:
        return reply
    if len(places) == len(options):
        return (yield from _placed(s, places, lead))
    return with_option(s, told) if any(map(says, options)) else (yield from _looked_for(s, pool, ranked, in_words))


def _compared(s: Session, told: Reply, lead: Lead, in_words: Reply | None) -> Reply | None:
    """The option that says what the answer without options says: that nothing is known, a number or a time. None where they say no such
    thing.
    """
    p, options, none = s.parsed, s.question.options, none_of(s)
    unknown = (told.status != "answered" or told.confidence < _KNOWN) and (stated_prior(p) >= 0.5 or p.kind not in base.OF_A_KIND)
    if none is not None and unknown and p.kind != "how_many" and lead.episodes:
        return base.answered(options[none], 0.5, base.cite(lead.episodes[:3]), none)
    timed = [p.kind not in {"how_many", "how_long"} and is_time(option) for option in options]
    valued = [p.kind in {"how_many", "how_long"} and bool(values(s, option.lower())) for option in options]
    if 2 * max(sum(timed), sum(valued)) < len(options):
        return None
    if any(timed):  # what is to come is told by words
        stated = in_words is not None and in_words.confidence >= 0.5
        return in_words if stated else None if p.form and stated_prior(p) >= 0.5 else _nearest(s, lead)
    if p.kind == "how_many" and told.status != "answered" and lead.episodes:
        often = times(len(base.strong(lead)))
        told = base.answered(f"{often.capitalize()}, as far as I can tell.", 0.5 * lead.confidence, base.cite(base.strong(lead)))
    return with_option(s, told)


def _looked_for(s: Session, pool: Pool, ranked: statements.Ranked, in_words: Reply | None) -> Plan:
    """The option that stands in the words that answer the question, or that was there where the question puts it."""
    p = s.parsed
    likely = p.hint != "seen" and bool(ranked) and ranked[0][0] >= _KNOWN
    if in_words is not None and not (p.relation or (p.ordinal and p.kind not in _OF_A_TIME)) and (stated_prior(p) >= 0.5 or likely):
        return in_words
    named = all(set(words(noun_phrase(option.lower()))) <= set(words(p.text)) for option in s.question.options)  # by the question itself
    in_turn = p.kind == "order" or (p.ordinal and not p.anchors and p.form != "colour") or (named and pattern("RANKED").search(p.question))
    near = len(p.anchors) == _ANCHORS.get(p.relation) and not order.distance_us(s)
    if often := pattern("SO_OFTEN").search(p.question):
        return (yield from _so_often(s, often))
    reply = yield from (_order(s, pool) if in_turn else _beside(s) if near else _seen(s))
    return reply if reply.status == "answered" else in_words or reply


def _sightings(s: Session, pool: Pool, ranked: statements.Ranked, told: Reply) -> Lead:
    """When the thing was there or was spoken of, as the answer without options has it; where that has none, all that may tell it."""
    if told.status == "answered" and (shown := cited(s, told)):
        return Lead(phrase=s.parsed.target, confidence=told.confidence, episodes=shown)
    said = [msgspec.structs.replace(episode_of(one.evidence[:1]), score=sure) for sure, one in ranked]
    if said and (stated_prior(s.parsed) >= 0.5 or not pool.leads):
        return Lead(phrase=s.parsed.target, confidence=ranked[0][0], episodes=tuple(said))
    return max(pool.leads, key=lambda lead: lead.confidence, default=Lead(phrase=s.parsed.target))


def _from_words(s: Session, ranked: statements.Ranked) -> Reply | None:
    """The option that stands in the words that fit the question best; of what was told several times only in the telling that is meant.
    The option that does not, where that is asked.
    """
    replaced, options = statements.replaced(s.parsed, ranked), s.question.options
    ranked = [pair for pair in ranked if pair[1] not in replaced]
    if not ranked:
        return None
    shares = np.array(fits(s, options, [one.text for _, one in ranked]))  # [options, words]
    sure = np.array([sure for sure, _ in ranked])
    least = _HELD if stated_prior(s.parsed) >= 0.5 else _SAID
    if is_odd(s):
        best = int((shares.mean(axis=0) * (0.5 + sure)).argmax())
        option = int(shares[:, best].argmin())
        clear = np.delete(shares[:, best], option).min(initial=1.0) >= least > shares[option, best]
    else:
        option, best = divmod(int((np.where(shares >= least, 0.5 + shares, 0.0) * sure).argmax()), len(ranked))
        clear = shares[option, best] >= least
    if not clear and sure[0] >= _HEARD and not is_odd(s):  # "Asco" may be Oscar
        best, alike = 0, [_alike(name, ranked[0][1].text) for name in options]
        option, clear = int(np.argmax(alike)), max(alike) >= _ALIKE
    if not clear:
        return None
    told = statements.tell(s, [(max(float(sure[best]), 0.3), ranked[best][1])])
    return msgspec.structs.replace(told, text=f"{options[option].strip()}: {told.text}", option=option)


def _alike(name: str, text: str) -> float:
    """How alike a name of one word and any word of a text are: on average by their letters and by their consonants."""

    def shared(one: str, other: str) -> float:
        return SequenceMatcher(None, one, other).ratio()

    own, bare = name.lower().strip(), _VOWELS.sub("", name.lower().strip())
    return max(((shared(own, word) + shared(bare, _VOWELS.sub("", word))) / 2 for word in content_words(text)), default=0.0)


def _phrases(s: Session) -> list[str]:
    """The options as things to look for; a colour as that of the thing."""
    of = f" {s.parsed.target}" if s.parsed.form == "colour" else ""
    return [f"{noun_phrase(option.lower()) or option.lower()}{of}"[:400] for option in s.question.options]


def _leads(s: Session, phrases: Sequence[str], window: Window, said: Sequence[str], *, told_of: bool = False) -> Steps[list[Lead]]:
    """What was found of each phrase in a stretch of time: in pictures and signs, or in what was said, unless it is asked what was seen.
    Pictures count only where words are asked for and tell of none.
    """
    p, shown = s.parsed, list((yield from base.gather(phrases, window)).leads) or [Lead(phrase=phrase) for phrase in phrases]
    in_words = p.hint in {"said", "read"} or told_of or not statements.SIGNS.isdisjoint(map(singular, words(" ".join(p.things))))
    if (p.hint == "seen" and not in_words) or p.form == "colour":
        return shown
    found = dict[tuple[str, str], Candidate]()
    for phrase in said:
        pool = yield from base.gather((), window, phrase)
        found |= {(one.evidence[0].id, one.text): one for one in pool.candidates}
    channels = {"said": {"speech"}, "read": {"text"}}.get(p.hint, {"speech", "text"})
    told = [one for one in found.values() if one.channel in channels]
    leads = [lead if lead.basis == "text" or not in_words else Lead(phrase=lead.phrase) for lead in shown]
    for i, (lead, held) in enumerate(zip(leads, fits(s, said, [one.text for one in told]), strict=True)):
        best = max(held, default=0.0)
        clause = best >= _SAID and len(content_words(said[i])) > _NAMED  # "somebody told where the car is"
        if (in_words and best >= _HELD) or (clause and best > lead.confidence):
            best_told = [one for one, share in zip(told, held, strict=True) if share >= best]
            episodes = tuple(msgspec.structs.replace(episode_of(one.evidence[:1]), score=best) for one in best_told)
            leads[i] = Lead(phrase=lead.phrase, confidence=best, episodes=tuple(sorted(episodes, key=lambda e: e.t0_us)), basis="text")
    return leads if any(lead.episodes for lead in leads) else shown


def _seen(s: Session) -> Plan:
    """The option that was seen best where the question's relation puts it; of a place or colour in the pictures of the thing."""
    place = yield from order.relate(s)
    if place.missing is not None:
        return base.not_seen(s, place.missing)
    window, p, phrases = place.window, s.parsed, _phrases(s)
    placed = p.kind == "where" and not p.anchors and not any(p.target in phrase for phrase in phrases)
    if p.things and (p.form == "colour" or placed):
        thing = yield from base.look_for(p.target, window)
        shown = base.picked(thing, p.ordinal) if is_shown(p, thing) else None
        window = (shown.t0_us - pictures.BESIDE_US, shown.t1_us + pictures.BESIDE_US) if shown else window
    return _best_option(s, (yield from _leads(s, phrases, window, s.question.options)))


def _marks(s: Session, anchors: Sequence[str]) -> Steps[list[Sequence[Episode]] | Lead]:
    """For each anchor the appearances that it may mean; the anchor that was not seen."""
    marks = list[Sequence[Episode]]()
    for name in anchors:
        ordinal, phrase = relations.take_ordinal(name)
        anchor = yield from base.look_for(phrase, base.window_of(s))
        if not anchor.episodes:
            return anchor
        newest = base.picked(anchor, ordinal)
        near = [one for one in anchor.episodes if abs(one.t0_us - newest.t0_us) <= base.OCCASION_US]
        marks.append([newest] if ordinal else near)
    return marks


def _beside(s: Session) -> Plan:
    """Such as "what came right after the coffee" or "between A and B": the option that was seen best and nearest to where those were."""
    said = yield from order.said_then(s)
    marks = (yield from _marks(s, s.parsed.anchors)) if said is None else [[episode_of(said.evidence[:1])]]
    if isinstance(marks, Lead):
        return base.not_seen(s, marks)
    leads = yield from _leads(s, _phrases(s), base.window_of(s), s.question.options)
    return _best_option(s, leads, [_near(s.parsed.relation, marks, lead) for lead in leads])


def _near(relation: str, marks: Sequence[Sequence[Episode]], lead: Lead) -> Found:
    """How well a thing fits right before, after or between its anchors, and its appearance there.

    Each anchor was at one of its appearances, as likely as the square of its score; the likeliest pair counts. (Of 28 scores on 132
    questions from two generators it was right most often: 90, against 83 with the sum of all pairs.)
    """
    if not lead.episodes:
        return 0.0, None
    pairs = list(product(*marks))
    sure = np.array([math.prod(mark.score**2 for mark in pair) for pair in pairs])
    first_us = np.array([min(pair, key=attrgetter("t0_us")).t1_us for pair in pairs])
    last_us = np.array([max(pair, key=attrgetter("t0_us")).t0_us for pair in pairs])
    times_us, scores = np.array([(e.t0_us, e.t1_us) for e in lead.episodes]), np.array([[e.score] for e in lead.episodes])
    gaps_us = np.stack([times_us[:, :1] - first_us, last_us - times_us[:, 1:]])  # [after and before, appearances, pairs]
    if relation in {"while", "side"}:
        apart_us = np.maximum(gaps_us.max(axis=0), 0)
        fits = (scores * sure * np.exp(-apart_us / scenes.SCENE_US)).max(axis=1)
    else:
        gaps_us = gaps_us[{"after": [0], "before": [1]}.get(relation, [0, 1])]
        fits = np.where(gaps_us.min(axis=0) > 0, scores * sure * np.exp(-np.maximum(gaps_us.mean(axis=0), 0) / _NEAR_US), 0.0).max(axis=1)
    best = int(fits.argmax())
    score = math.sqrt(lead.confidence) * float(fits[best]) / (float(sure.max()) * base.best_score(lead) or 1.0)
    return score, lead.episodes[best] if fits[best] else None


def _best_option(s: Session, leads: Sequence[Lead], found: Sequence[Found] = ()) -> Reply:
    """The option with the highest score, by itself where `found` does not say; confidence is its share against the others."""
    found = found or [(max(base.best_score(lead), lead.confidence), base.pick(lead.episodes, 0)) for lead in leads]
    if is_odd(s):
        return _least_option(s, leads, found)
    none = none_of(s)
    best = max((i for i in range(len(found)) if i != none), key=lambda i: found[i][0], default=0)
    score, episode = found[best] if found else (0.0, None)
    if none is not None and not (found and leads[best].confidence >= weights().surely) and (some := [e for _, e in found if e]):
        return base.answered(s.question.options[none], 0.5, base.cite(some[:3]), none)
    if episode is None:
        return base.abstain("I have not seen any of these in this memory.")
    lead, more = leads[best], tuple(e.evidence[0].id for i, (_, e) in enumerate(found) if e and i != best)
    rest = base.by_score(e for e in base.strong(lead) if e.t0_us != episode.t0_us)
    sure = score / (sum(score for score, _ in found) + _PRIOR) * (0.5 + 0.5 * lead.confidence)
    text = f"{s.question.options[best].strip()}: {at(episode, s.question.tz)}."
    return base.answered(text, sure, base.cite([episode], rest), best, alternatives=more)


def _least_option(s: Session, leads: Sequence[Lead], found: Sequence[Found]) -> Reply:
    """The option of which least was found; as sure as the least sure of the others."""
    options = s.question.options
    least = min(range(len(found)), key=lambda i: (found[i][0], leads[i].confidence), default=0)
    rest = [(i, e) for i, (_, e) in enumerate(found) if e is not None and i != least]
    if not rest:
        return base.abstain("I have not seen any of these in this memory.")
    sure = min(leads[i].confidence for i, _ in rest) * (1 - leads[least].confidence) * len(rest) / (len(options) - 1)
    text = f"{options[least].strip()}. The others: {listed(f'{options[i].strip()} {at(e, s.question.tz)}' for i, e in rest)}."
    return base.answered(text, sure, base.cite(e for _, e in rest), least)


def _so_often(s: Session, often: re.Match[str]) -> Plan:
    """The option that was there most or least often, or as often as the question says."""
    leads = yield from _leads(s, _phrases(s), base.window_of(s), s.question.options)
    tracks = [base.strong(lead) for lead in leads]
    wanted = math.inf if often["most"] or often["again"] else number_in(often["number"] or "") or 0
    seen = [i for i, some in enumerate(tracks) if some]
    best = min(seen, key=lambda i: (abs(min(wanted, 99) - len(tracks[i])), -leads[i].confidence), default=None)
    if best is None:
        return base.abstain("I have not seen any of these in this memory.")
    counts = listed(f"{s.question.options[i].strip()} {times(len(tracks[i]))}" for i in seen)
    sure = 0.5 * min(leads[i].confidence for i in seen)
    return base.answered(f"{s.question.options[best].strip()}. I saw {counts}.", sure, base.cite(tracks[best][:3]), best)


def _order(s: Session, pool: Pool) -> Plan:
    """Which of the options came first or last."""
    leads = yield from _leads(s, _phrases(s), base.window_of(s), s.question.options)
    if sum(bool(lead.episodes) for lead in leads) < 2:
        return _best_option(s, leads)
    reply, best = order.in_order(s, leads, [option.strip() for option in s.question.options], pool)
    return msgspec.structs.replace(reply, option=best)


def _in_row(s: Session, rows: Sequence[Sequence[str]]) -> Plan:
    """The option that puts the most pairs of its things in the order in which they came first."""
    parts, tz, spoken = rows[0], s.question.tz, pattern("SPOKEN_OF").search(s.parsed.text) is not None
    leads = yield from _leads(s, [noun_phrase(part) or part for part in parts], base.window_of(s), parts, told_of=spoken)
    tracks = {part: base.strong(lead)[0] for part, lead in zip(parts, leads, strict=True) if lead.episodes}
    if len(tracks) < 2:
        return base.not_seen(s, next((lead for lead in leads if not lead.episodes), Lead(phrase="")))
    pairs = [[(one, two) for one, two in combinations(row, 2) if one in tracks and two in tracks] for row in rows]
    right = [sum(tracks[one].t0_us < tracks[two].t0_us for one, two in some) for some in pairs]
    best = max(range(len(rows)), key=lambda i: right[i])
    sure = min(lead.confidence for lead in leads if lead.episodes) * right[best] / math.comb(len(parts), 2)
    told = sorted(tracks.items(), key=lambda pair: pair[1].t0_us)
    text = f"{s.question.options[best].strip()}: {listed(f'{the(part)} {at(track, tz)}' for part, track in told)}."
    return base.answered(text, sure, base.cite(track for _, track in told), best)


def _placed(s: Session, places: Sequence[tuple[str, tuple[str, ...]]], lead: Lead) -> Plan:
    """The option whose place in time fits best when the thing was there."""
    found = list[Found]()
    for relation, anchors in places:
        marks = yield from _marks(s, anchors)
        found.append((0.0, None) if isinstance(marks, Lead) else _near(relation, marks, lead))
    return _best_time(s, lead, found)


def _nearest(s: Session, lead: Lead) -> Reply:
    """The option whose time is nearest to when the thing was most surely there."""
    found = list[Found]()
    for option in s.question.options:
        gaps = zip(gaps_s(s, option, lead.episodes), lead.episodes, strict=True)
        found.append(max(((e.score * math.exp(-gap / _CLOSE_S), e) for gap, e in gaps), key=lambda pair: pair[0], default=(0.0, None)))
    return _best_time(s, lead, found)


def _best_time(s: Session, lead: Lead, found: Sequence[Found]) -> Reply:
    """The option at whose time the thing was most surely there."""
    best = max(range(len(found)), key=lambda i: found[i][0])
    score, episode = found[best]
    if episode is None or not score:
        return base.not_seen(s, lead)
    sure = lead.confidence * score / (sum(score for score, _ in found) + _PRIOR)
    text = f"{s.question.options[best].strip()}: {the(lead.phrase)} {at(episode, s.question.tz)}."
    return base.answered(text, sure, base.cite([episode]), best)


def _claimed(s: Session, answer: Callable[[Session], Plan]) -> Plan:
    """The option that is true, or the one that is not: each is asked as a question of its own."""
    truths, proofs = list[float](), list[Reply]()
    for option in s.question.options:
        claim = option.strip(" .")
        told = yield from answer(s.alone(f"is it true that {claim}?"))
        said, figures = says(told.text), {word for word in numbered(claim) if word.isdecimal()}
        truth = 0.5 + {"yes": 0.5, "no": -0.5}.get(said, 0.0) * max(told.confidence, _PRIOR)
        if said not in {"yes", "no"} and figures and told.evidence:  # "the number of the gate was 54": "GATE 82"
            truth = 0.5 + 0.5 * max(told.confidence, _PRIOR) * (1 if figures <= set(numbered(told.text.partition(" at ")[0])) else -1)
        elif said not in {"yes", "no"}:
            found = (yield from base.gather((), base.window_of(s), claim)).candidates
            sure = max(held_shares(content_words(claim), [one.text for one in found], [""] * len(found)), default=0.0)
            truth += 0.5 * sure * (sure >= _SAID)
        truths.append(truth)
        proofs.append(told)
    if is_odd(s):
        truths = [-truth for truth in truths]
    best, second = sorted(range(len(truths)), key=lambda i: -truths[i])[:2]
    sure = truths[best] - truths[second]
    proof = next((one for one in (proofs[best], *proofs) if one.evidence), None)
    if proof is None or not sure:
        return base.abstain("I cannot tell which of these holds.")
    return base.answered(f"{s.question.options[best].strip()}: {proofs[best].text}", sure, proof.evidence, best)
