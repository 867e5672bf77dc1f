"""What all plans of the planner `local` share: looking for a thing, picking an appearance, and the words for what was found."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TypeVar

from edgemem.answer.compose import a, at, listed, quote
from edgemem.answer.language.question import take_ordinal
from edgemem.answer.language.words import CARRIERS, content_words, squeeze, words
from edgemem.answer.retrieve import Episode
from edgemem.answer.session import Session
from edgemem.answer.tools import Action, ChannelName, Found, Reply, Result, Scene, Search
from edgemem.records import US, Evidence, Record

T = TypeVar("T")
Steps = Generator[Action, Result, T]
"""Yields actions, is sent their results, returns a T."""
Plan = Steps[Reply]

SURE = 0.25
"""Below this confidence the evidence is taken for background: abstain. Over 180 composed questions .20 to .30 answered alike (65 % right,
abstention F1 64 to 67); .15 and .40 lost a point or more of one of them (tools/eval, seeds 101 to 103)."""
STRONG = 0.6
"""An appearance counts when its score is at least this share of the best one's."""
_AGREE = 0.25
"""Share of the remaining doubt that a second channel removes when it points at the same stretch of time."""
_ONLY_EVENTS = 0.5 * SURE
"""Words in a document about an event, while the pictures show nothing of the kind: below `SURE`."""
Window = tuple[int | None, int | None]


class Lead(Record, frozen=True):
    """What was found of one phrase."""

    phrase: str
    confidence: float = 0.0
    episodes: tuple[Episode, ...] = ()
    """Oldest first, all that were found."""
    basis: ChannelName = "frame"

    @property
    def strong(self) -> list[Episode]:
        """Appearances that are not much weaker than the best one, oldest first."""
        best = max((e.score for e in self.episodes), default=0.0)
        return [e for e in self.episodes if e.score >= STRONG * best]

    @property
    def best(self) -> Episode:
        """The appearance with the best sighting."""
        return max(self.episodes, key=lambda e: e.score)

    @property
    def found(self) -> bool:
        """Better than background."""
        return bool(self.episodes) and self.confidence >= SURE

    def evidence_ids(self) -> tuple[str, ...]:
        """Ids of the best sightings."""
        return cite(sorted(self.episodes, key=lambda e: -e.score)[:3])

    @property
    def strength(self) -> float:
        """Score of the best sighting, 0 without one. Documents only have ranks, so there the confidence stands for it."""
        return self.confidence if self.basis == "event" else max((e.score for e in self.episodes), default=0.0)


def search(phrase: str, channel: ChannelName, window: Window, top_k: int = 40) -> Steps[Found]:
    """One search; nothing is found where the phrase is empty or the action was refused."""
    if not words(phrase):
        return Found()
    result = yield Search(query=phrase[:400], channel=channel, from_us=window[0], to_us=window[1], top_k=top_k)
    return result if isinstance(result, Found) else Found()


def look_for(phrase: str, window: Window = (None, None), quoted: str = "") -> Steps[Lead]:
    """Look for a thing in pictures, in what was read, and in what was written about events; the strongest channel leads."""
    frame = yield from search(phrase, "frame", window)
    text = yield from search(quoted or phrase, "text", window)
    event = yield from search(phrase, "event", window)
    if text.evidence and text.confidence >= 0.8 and (quoted or (_is_reading(phrase, text.evidence[0]) and frame.confidence < 0.7)):
        return Lead(phrase=phrase, confidence=0.9 * text.confidence, episodes=text.episodes, basis="text")
    if frame.evidence:
        agree = any(e.t0_us <= frame.evidence[0].t0_us <= e.t1_us for e in event.evidence[:3]) and event.confidence == 1
        confidence = frame.confidence + (_AGREE * (1 - frame.confidence) if agree else 0)
        return Lead(phrase=phrase, confidence=confidence, episodes=frame.episodes, basis="frame")
    if event.evidence:
        weight = _ONLY_EVENTS if "frame" in frame.searched else 0.6
        return Lead(phrase=phrase, confidence=weight * event.confidence, episodes=event.episodes, basis="event")
    return Lead(phrase=phrase)


def look_for_each(phrases: Iterable[str], window: Window) -> Steps[list[Lead]]:
    """One lead per phrase, in order."""
    leads: list[Lead] = []
    for phrase in phrases:
        leads += [(yield from look_for(phrase, window))]
    return leads


def _is_reading(phrase: str, reading: Evidence) -> bool:
    """The phrase names the text itself: it has a figure in it, two words or more, or is most of what stands there."""
    named = [word for word in content_words(phrase) if word not in CARRIERS]
    share = len(squeeze("".join(named))) / max(1, len(squeeze(reading.text)))
    return len("".join(named)) >= 3 and (
        len(named) > 1 or any(c.isdigit() for c in phrase) or share >= 0.5 or len(named) < len(content_words(phrase))
    )


def pick(episodes: Iterable[Episode], ordinal: int) -> Episode | None:
    """The n-th appearance, the last (-1), or the one with the best sighting (0); None when there are not that many."""
    ordered = list(episodes)
    if not ordered:
        return None
    if ordinal == 0:
        return max(ordered, key=lambda e: e.score)
    position = ordinal - 1 if ordinal > 0 else len(ordered) + ordinal
    return ordered[position] if 0 <= position < len(ordered) else None


def cite(first: Iterable[Episode | Evidence], then: Iterable[Episode | Evidence] = ()) -> tuple[str, ...]:
    """Ids to cite: the best of each appearance in the order given, then their other sightings."""
    best, rest = [], []
    for item in [*first, *then]:
        evidence = item.evidence if isinstance(item, Episode) else (item,)
        best.append(evidence[0].id)
        rest += [e.id for e in evidence[1:4]]
    return tuple(dict.fromkeys(best + rest))


def others_text(episodes: Iterable[Episode], chosen: Episode, tz: str, limit: int = 4) -> str:
    """Such as "; also at 10:05:01, 10:07:30" for the other appearances."""
    rest = [e for e in episodes if e is not chosen]
    if not rest:
        return ""
    more = f" and {len(rest) - limit} more times" if len(rest) > limit else ""
    return f" Also {listed([at(e, tz) for e in rest[:limit]])}{more}."


def not_seen(s: Session, lead: Lead | None = None, phrase: str = "") -> Reply:
    """Abstain: nothing better than background. The weak evidence is cited, so that one can look for oneself."""
    name = phrase or (a(lead.phrase) if lead and lead.phrase else "that")
    when = f" ({s.parsed.time.said})" if s.parsed.time else ""
    evidence = cite(sorted(lead.episodes, key=lambda e: -e.score)[:3]) if lead else ()
    return Reply(
        text=f"I have not seen {name} in this memory{when}.",
        status="abstained",
        confidence=doubt(lead),
        evidence=evidence,
    )


def doubt(lead: Lead | None) -> float:
    """Confidence that goes with an abstention: that the weak evidence is right after all."""
    return min(SURE, lead.confidence) if lead else 0.0


def abstain(text: str, *notes: str) -> Reply:
    """Nothing can be said, and why."""
    return Reply(text=text, status="abstained", confidence=0.0, notes=notes)


def answered(text: str, confidence: float, evidence: tuple[str, ...], option: int | None = None, notes: tuple[str, ...] = ()) -> Reply:
    """An answer with its evidence."""
    return Reply(text=text, confidence=round(min(1.0, max(0.0, confidence)), 4), evidence=evidence[:10], option=option, notes=notes)


def window_of(s: Session) -> Window:
    """The stretch of time that the question names, ending at the as-of time."""
    to_us = s.span.to_us
    return s.span.from_us, to_us if to_us is None else min(to_us, s.question.as_of_us)


def sighting(episode: Episode, basis: str, tz: str) -> str:
    """Where an appearance stands in time; a reading is quoted."""
    when = at(episode, tz)
    lasted = episode.t1_us - episode.t0_us
    until = f" for {round(lasted / US)} s" if lasted >= 2 * US and basis == "frame" else ""
    return f"{when}{until}{', where I read ' + quote(episode.best.text) if basis == 'text' else ''}"


def as_scene(result: Result) -> Scene:
    """The result of an inspection; an empty scene when it was refused."""
    return result if isinstance(result, Scene) else Scene()


class Place(Record, frozen=True):
    """The window in which a relation ("after the coffee") puts the target, and what it refers to."""

    window: Window
    anchors: tuple[Lead, ...] = ()
    near_us: int | None = None
    """The end of the window that is nearest to the anchor."""
    missing: Lead | None = None
    """The anchor that was not seen."""


def relate(s: Session) -> Steps[Place]:
    """Find the anchors of the question's relation and turn them into a window inside the question's own."""
    p, (from_us, to_us) = s.parsed, window_of(s)
    leads: list[Lead] = []
    for anchor in p.anchors:
        ordinal, phrase = take_ordinal(anchor)
        lead = yield from look_for(phrase, (from_us, to_us))
        if not lead.found:
            return Place(window=(from_us, to_us), anchors=(*leads, lead), missing=lead)
        chosen = pick(lead.strong, ordinal) or lead.best
        leads.append(Lead(phrase=phrase, confidence=lead.confidence, episodes=(chosen,), basis=lead.basis))
    if not leads:
        return Place(window=(from_us, to_us))
    first = leads[0].best
    if p.relation == "between" and len(leads) > 1:
        one, two = sorted((first, leads[1].best), key=lambda e: e.t0_us)
        return Place(window=(one.t1_us + 1, max(one.t1_us + 1, two.t0_us - 1)), anchors=tuple(leads))
    if p.relation == "after":
        return Place(window=(first.t1_us + 1, to_us), anchors=tuple(leads), near_us=first.t1_us)
    if p.relation == "before":
        return Place(window=(from_us, first.t0_us - 1), anchors=tuple(leads), near_us=first.t0_us)
    return Place(window=(first.t0_us, first.t1_us), anchors=tuple(leads), near_us=first.t0_us)
