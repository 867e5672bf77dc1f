"""Plans for questions about what was read: signs, badges, screens, pages."""

from __future__ import annotations

import re

from edgemem.answer.compose import at, quote
from edgemem.answer.plans import Plan, Steps, abstain, answered, as_scene, look_for, not_seen, relate, window_of
from edgemem.answer.plans_scene import COLOURS
from edgemem.answer.readings import Reading
from edgemem.answer.session import Session
from edgemem.answer.tools import Read, Reply
from edgemem.answer.words import CARRIERS, best_word, content_words, line_of, similar_texts, words
from edgemem.records import US, Record

_FITS = {
    "number": r"\d", "price": r"\d+[.,]\d\d\b|[$€£]\s?\d|\d\s?(?:eur|usd|euro)", "name": r"\b[A-Z][a-z]+ [A-Z][a-z]+|\bname\b|HELLO",
    "address": r"\.\w{2,}|@|\d+ [A-Z]|www", "time": r"\d{1,2}[:.]\d\d", "date": r"\d",
}  # fmt: skip
"""What the answer must look like, by the attribute asked for."""
_QUESTION_WORDS = frozenset("say says said written read show showed shown stand stands stood long many much kind".split())  # noqa: SIM905
_NEAR_US = 5 * US
"""A thing "next to" a sign is in the same picture or one this close."""
_SURE_SCORE = 0.45
"""Below this share of the question's words the reading is taken to be about something else."""


class Ranked(Record, frozen=True):
    """A reading and how well it fits the question, 0..1."""

    reading: Reading
    score: float


def read_text(s: Session) -> Plan:
    """The text that fits the question best, quoted in full."""
    place = yield from relate(s)
    if place.missing is not None:
        return not_seen(s, place.missing)
    ranked = yield from rank(s, place.window)
    if s.parsed.relation in {"before", "after"} and place.near_us is not None and ranked:
        ranked = _nearest(ranked, place.near_us)
    if not ranked or ranked[0].score < _SURE_SCORE:
        return abstain("I have read nothing that answers this.")
    return reply_with(s, ranked)


def reply_with(s: Session, ranked: list[Ranked], option: int | None = None, lead_in: str = "") -> Reply:
    """Quote the best reading."""
    best = ranked[0]
    ids = tuple(dict.fromkeys(f"m{r.reading.moment_id}" for r in ranked if r.score >= 0.8 * best.score))
    margin = best.score - next((r.score for r in ranked if similar_texts(r.reading.text, best.reading.text) < 0.6), 0.0)
    confidence = min(0.95, 0.35 + 0.4 * best.score + 0.3 * margin)
    return answered(f"{lead_in}{quote(best.reading.text)}, read {at(best.reading, s.question.tz)}.", confidence, ids, option)


def _nearest(ranked: list[Ranked], near_us: int) -> list[Ranked]:
    return sorted(ranked, key=lambda r: abs(r.reading.t0_us - near_us))


def rank(s: Session, window: tuple[int | None, int | None]) -> Steps[list[Ranked]]:
    """Every reading in the window by how well it fits: words of the question, shape of the answer, colour and company of the sign."""
    p = s.parsed
    scene = as_scene((yield Read(from_us=window[0], to_us=window[1], about=s.question.text[:400])))
    if not scene.readings:
        return []
    asked = asked_words(s)
    weights = _rarity(asked, scene.readings)
    shape = _FITS.get(p.attribute, "")
    colours = [word for word in words(p.target) if word in COLOURS]
    company = yield from _company(s, window)
    ranked = []
    for reading in scene.readings:
        score = _word_score(asked, weights, reading.text)
        if not asked:
            score = 0.6
        if shape:
            score = 0.75 * score + (0.25 if re.search(shape, reading.text) else 0.0)
        if colours:
            score = (
                0.5 * score + 0.5 * any(c in reading.colours for c in colours)
                if asked
                else float(any(c in reading.colours for c in colours))
            )
        if company:
            score = max(score, max((0.9 * value for t_us, value in company if abs(t_us - reading.t0_us) <= _NEAR_US), default=0.0))
        ranked.append(Ranked(reading=reading, score=min(1.0, score)))
    if p.ordinal and not asked:
        return sorted(ranked, key=lambda r: r.reading.t0_us, reverse=p.ordinal < 0)
    return sorted(ranked, key=lambda r: (-round(r.score, 3), -r.reading.score * min(1.0, len(r.reading.text) / 12), r.reading.t0_us))


def asked_words(s: Session) -> list[str]:
    """Words of the question that may stand in the text: not the carrier, not colours, not what only asks."""
    source = s.parsed.quote or s.question.text
    if s.parsed.anchors or s.parsed.time or len(source) > 300:
        source = s.parsed.quote or s.parsed.target
    return [w for w in dict.fromkeys(content_words(source)) if w not in CARRIERS and w not in COLOURS and w not in _QUESTION_WORDS]


def _rarity(asked: list[str], readings: tuple[Reading, ...]) -> dict[str, float]:
    """A word that stands in few readings tells more; one that stands nowhere tells, less surely, that it is about something else."""
    held = {word: sum(best_word(word, line_of(r.text)) > 0 for r in readings) for word in asked}
    return {word: 0.5 if count == 0 else 1.0 + 1.0 / count for word, count in held.items()}


def _word_score(asked: list[str], weights: dict[str, float], text: str) -> float:
    total = sum(weights.values())
    return sum(weights[word] * best_word(word, line_of(text)) for word in asked) / total if total else 0.0


def _company(s: Session, window: tuple[int | None, int | None]) -> Steps[list[tuple[int, float]]]:
    """Where the thing was seen that the sign stands next to: times and scores."""
    match = re.search(
        r"\b(?:next to|beside|near|by|behind|with|above|under|on|in front of) (?:the |a |an |my )?([\w -]+)$", s.parsed.target
    )
    phrase = match[1] if match else s.parsed.target if not asked_words(s) else ""
    if not phrase or set(words(phrase)) <= CARRIERS | set(COLOURS):
        return []
    lead = yield from look_for(phrase, window)
    return [(e.t0_us, e.score) for episode in lead.strong for e in episode.evidence] if lead.found and lead.basis == "frame" else []


def who(s: Session) -> Plan:
    """Names that were read; faces are not named."""
    window = window_of(s)
    ranked = yield from rank(s, window)
    if ranked and ranked[0].score >= _SURE_SCORE:
        return reply_with(s, ranked)
    return abstain("I do not put names to faces, and I have read no name that answers this.")
