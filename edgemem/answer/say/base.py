"""What all ways of answering share: plans, leads, tracks, windows, evidence to cite, and the replies for what is not known."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Sequence
from itertools import zip_longest
from typing import Any, TypeVar

import msgspec

from edgemem.answer.compose import a, at, listed
from edgemem.answer.gather import Gather, Lead, Pool
from edgemem.answer.retrieve import CLEAR, Episode, episode_of, runs
from edgemem.answer.retrievers.match import APPEARANCE_US
from edgemem.answer.session import Session
from edgemem.answer.tools import Action, Inspect, Reply, Result, Scene, Tally
from edgemem.answer.tools_graph import Related
from edgemem.answer.understand import Parsed
from edgemem.answer.understand.lexicon import FUNCTION, MATERIALS
from edgemem.answer.understand.words import singular
from edgemem.answer.weigh import weights
from edgemem.infer.labels import nouns
from edgemem.infer.phrase import COLOUR_WORDS
from edgemem.records import US, Evidence
from edgemem.words import word_classes

T = TypeVar("T")
R = TypeVar("R", Pool, Scene, Tally, Related)
Steps = Generator[Action, Result, T]
"""Yields actions, is sent their results, returns a T."""
Plan = Steps[Reply]
Window = tuple[int | None, int]

STRONG = 0.5
"""What is less surely the same thing as the best sighting is an accident."""
SAME_TRACK_US = 30 * US
"""Two sightings closer than this are one appearance, even with a picture between them in which the thing was missed."""
OCCASION_US = 3600 * US
"""What is told or seen within an hour is of one occasion. Who asks about a thing of several days means the last of them first: of 53 things
that six life logs in one memory show on several days the best picture of the last occasion is right for 30, the best of all for 32."""
_AS_CLEAR = 0.8
"""What scores less than this share of the best is no newer sight of it: with that 31 of the 53 are right. Nor is a sign with another number
a second one of it."""
ALL_HELD = 0.99
"""Above this share of a question's words, words hold all of it."""
CITED, OTHERS = 3, 5
OF_A_KIND = frozenset(("what", "which", "list"))
"""Kinds of a question that asks which of several things there was."""
NOTHING = Pool()


def brought(action: Action, kind: type[R]) -> Steps[R]:
    """What an action brings; nothing when it was refused."""
    result = yield action
    return result if isinstance(result, kind) else kind()


def gather(things: Sequence[str], window: Window, question: str = "", words: Sequence[str] = ()) -> Steps[Pool]:
    """One look at everything; empty when it was refused."""
    if not question and not any(things):
        return NOTHING
    looked_for = tuple(thing[:400] for thing in things if thing)
    action = Gather(question=question[:400], words=tuple(words), things=looked_for, from_us=window[0], to_us=window[1])
    return (yield from brought(action, Pool))


def look_for(phrase: str, window: Window) -> Steps[Lead]:
    """One thing in pictures, signs and events."""
    pool = yield from gather((phrase,), window)
    return pool.leads[0] if pool.leads else Lead(phrase=phrase)


def inspect(window: Window, stream: str = "", limit: int = 16) -> Steps[Scene]:
    """Everything in a stretch of time, open ends included; an empty scene when it was refused."""
    return (yield from brought(Inspect(from_us=window[0] or 0, to_us=window[1], stream=stream, max_moments=limit), Scene))


def window_of(s: Session) -> Window:
    """The stretch of time that the question names, ending at the as-of time."""
    as_of_us = s.question.as_of_us
    return s.span.from_us, as_of_us if s.span.to_us is None else min(s.span.to_us, as_of_us)


def strong(lead: Lead) -> list[Episode]:
    """Its appearances as tracks, oldest first: those that surely show the same thing as the best sighting, and of these what is close
    together as one. Where looks were not compared, the share of the best score tells how sure it is.
    """
    best, least = best_score(lead), _AS_CLEAR if lead.basis == "text" else STRONG
    likely = (e for e in lead.episodes if any(lead.same.get(one.id, one.score / best if best else 1.0) >= least for one in e.evidence))
    near = runs(likely, lambda track, e: track[-1].stream == e.stream and e.t0_us - max(one.t1_us for one in track) < SAME_TRACK_US)
    return [episode_of(sighting for episode in track for sighting in episode.evidence) for track in near]


def tracks_of(p: Parsed, lead: Lead) -> list[Episode]:
    """Its appearances as tracks, oldest first; where it is asked what there was of a kind ("which animals"), those of all clear ones."""
    best = max(lead.episodes, key=lambda e: e.score, default=None)
    of_a_kind = p.kind in OF_A_KIND and best is not None and best.evidence[0].text != singular(lead.phrase)
    return strong(msgspec.structs.replace(lead, same={}) if of_a_kind else lead)


def best_score(lead: Lead) -> float:
    """Score of the best sighting."""
    return max((e.score for e in lead.episodes), default=0.0)


def by_score(episodes: Iterable[Episode]) -> list[Episode]:
    """Best first."""
    return sorted(episodes, key=lambda e: -e.score)


def pick(episodes: Sequence[Episode], ordinal: int) -> Episode | None:
    """The n-th appearance, the last (-1), or of the last occasion the one with the best sighting (0); None when there are not that many."""
    if not ordinal:
        clear = [e for e in episodes if e.score >= _AS_CLEAR * max(one.score for one in episodes)]
        last_us = max((e.t0_us for e in clear), default=0)
        return max((e for e in clear if last_us - e.t0_us <= OCCASION_US), key=lambda e: e.score, default=None)
    position = ordinal - 1 if ordinal > 0 else ordinal
    if not -len(episodes) <= position < len(episodes):
        return None
    track = episodes[position]
    if ordinal != -1:
        return track
    latest = max((e for e in track.evidence if e.score >= CLEAR * track.score), key=lambda e: e.t0_us)  # proves until when it was seen
    return msgspec.structs.replace(track, evidence=(latest, *(e for e in track.evidence if e is not latest)))


def at_near(p: Parsed, episodes: Sequence[Episode]) -> Episode | None:
    """The appearance that the answer before told of, or so many steps from it; None where the question goes on about none, or where there
    is none.
    """
    if p.near is None:
        return None
    gaps = [max(e.t0_us - p.near.t1_us, p.near.t0_us - e.t1_us, 0) for e in episodes]
    here = min(range(len(episodes)), key=lambda i: gaps[i], default=-1)
    there = here + p.step
    return episodes[there] if here >= 0 and gaps[here] < SAME_TRACK_US and 0 <= there < len(episodes) else None


def picked(lead: Lead, ordinal: int = 0) -> Episode:
    """The n-th of its tracks, the best where there are not that many. The lead must have appearances."""
    return pick(strong(lead), ordinal) or max(lead.episodes, key=lambda e: e.score)


def cite(first: Iterable[Episode | Evidence], then: Iterable[Episode | Evidence] = ()) -> tuple[str, ...]:
    """Ids to cite: the best of each appearance in the order given, then sightings of the same ones at another time."""
    best, rest = [], []
    for item in [*first, *then]:
        evidence = item.evidence if isinstance(item, Episode) else (item,)
        best.append(evidence[0].id)
        rest += [e.id for e in evidence[:4] if abs(e.t0_us - evidence[0].t0_us) > APPEARANCE_US]
    return tuple(dict.fromkeys(best + rest))


def others(pool: Pool, *shown_first: Episode | Evidence) -> tuple[str, ...]:
    """Ids of what else it might be: the next appearances of the first thing, and the words that are nearest to the question."""
    beside = [(item.t0_us - APPEARANCE_US, item.t1_us + APPEARANCE_US) for item in shown_first if isinstance(item, Episode)]
    seen = [e.evidence[0] for lead in pool.leads[:1] for e in by_score(lead.episodes)]
    leads = [one.id for one in seen if not any(low <= one.t0_us <= high for low, high in beside)]
    told = [one.evidence[0].id for one in pool.candidates[:CITED] if one.held > 0 or one.cosine > 0.3]
    taken = {item.evidence[0].id if isinstance(item, Episode) else item.id for item in shown_first}
    mixed = dict.fromkeys(name for pair in zip_longest(leads, told) for name in pair)
    return tuple(name for name in mixed if name and name not in taken)[:OTHERS]


def others_text(episodes: Iterable[Episode], chosen: Episode, tz: str, limit: int = 4) -> str:
    """Such as " Also at 10:05:01, 10:07:30." for the other appearances."""
    rest = [e for e in episodes if e is not chosen]
    more = f" and {len(rest) - limit} more times" if len(rest) > limit else ""
    return f" Also {listed(at(e, tz) for e in rest[:limit])}{more}." if rest else ""


def answered(
    text: str, confidence: float, evidence: tuple[str, ...], option: int | None = None, *, unverified: Iterable[str] = (), **more: Any
) -> Reply:
    """An answer with its evidence; `more` are notes and alternatives."""
    sure, unsure = round(min(1.0, max(0.0, confidence)), 4), tuple(dict.fromkeys(unverified))
    return Reply(text=text[:4000], confidence=sure, evidence=evidence[:10], option=option, unverified=unsure, **more)


def abstain(text: str, *notes: str, confidence: float = 0.0, **more: Any) -> Reply:
    """Nothing can be said, and why; the confidence is that the evidence is right after all."""
    return Reply(text=text, status="abstained", confidence=confidence, notes=notes, **more)


def not_seen(s: Session, lead: Lead, pool: Pool = NOTHING) -> Reply:
    """Abstain: nothing better than background, or not sure enough. The weak evidence is cited, so that one can look for oneself."""
    bare = lead.phrase and re.search(rf"\b(?:see|saw|seen|of|any|some) {re.escape(lead.phrase)}\b", s.parsed.text)  # "did I see garlic"
    name = f"anything {lead.phrase}" if lead.phrase in COLOUR_WORDS else lead.phrase if bare else a(lead.phrase) if lead.phrase else "that"
    when = f" ({s.parsed.time.said})" if s.parsed.time else ""
    if lead.recognised and lead.episodes and lead.named and lead.confidence >= weights().granted:
        text = f"I am not sure that I saw {name}{when}; it may have been {at(by_score(lead.episodes)[0], s.question.tz)}."
    else:  # where it cannot be recognised, what comes nearest was it in 1 of 11 cases (four sets for life logs 1 and 2, five of templates)
        text = f"{'' if lead.recognised else f'I cannot recognise {name}. '}I have not seen {name}{when or ' in this memory'}."
    unsure, proof, unverified = min(0.25, lead.confidence), cite(by_score(lead.episodes)[:CITED]), tuple(filter(None, [lead.phrase]))
    return abstain(text, confidence=unsure, evidence=proof, alternatives=others(pool), unverified=unverified)


def qualities(phrase: str) -> list[str]:
    """What says how a thing is, of what or by whom it is made, whose it is, its colour, what it has ("with a rider"); none of its name
    ("polar bear").
    """
    name, with_, had = phrase.partition(" with ")
    head = nouns().find(name)[0]
    before = name.partition(head)[0].split() if head else []
    names_only = [word for word in before if "NOUN" in word_classes(word) and "ADJ" not in word_classes(word)]  # "toy", not "broken"
    how = [word for word in before if word not in FUNCTION and (word in COLOUR_WORDS or word in MATERIALS or word not in names_only)]
    return [*how, f"with {had}"] if with_ else how
