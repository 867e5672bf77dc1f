"""Plans for questions about what was read: signs, badges, screens, pages."""

from __future__ import annotations

import re
from itertools import pairwise

from edgemem.answer.compose import at, quote
from edgemem.answer.language.words import CARRIERS, best_word, content_words, line_of, similar_texts, tidy, words
from edgemem.answer.plans.base import Plan, Steps, abstain, answered, as_scene, look_for, not_seen, relate, window_of
from edgemem.answer.plans.scene import COLOURS
from edgemem.answer.retrievers.readings import OcrReading
from edgemem.answer.session import Session
from edgemem.answer.tools import Read, Reply
from edgemem.records import US, Record

_CUES = tuple(
    (re.compile(asked), re.compile(read, re.IGNORECASE))
    for asked, read in (
        (r"\bbadges?\b|\bintroduced?\b|\bname badge\b", r"\bhello\b|my ?name|name ?is|\bname:|visitor|\bstaff\b"),
        (r"\b(?:parcel|letter|package|envelope|addressed)\b", r"\bto: ?|ship to|deliver|attn"),
        (r"\baddress\b", r"\d+ ?\w+ ?(?:street|st\.|road|rd|lane|avenue|ave|square|park|way|drive)|@|www"),
        (r"\b(?:opening|hours|opens?|closes?)\b", r"\bopen|\bclosed?\b|hours|\d[:.]\d\d ?[-\u2013] ?\d"),
        (r"\b(?:leaves?|departs?|departure)\b", r"depart|leaves|\d[:.]\d\d"),
        (r"\b(?:phone|telephone|call)\b", r"\d{3}[- /]?\d{3,}|\btel"),
        (r"\b(?:password|passcode|wifi|wi-fi)\b", r"pass|pwd|wi-?fi|\bkey\b|code"),
        (r"\b(?:price|cost|costs|much)\b", r"\d+[.,]\d\d|[$\u20ac\u00a3] ?\d|\d ?(?:eur|usd)"),
        (r"\b(?:number|room|gate|platform|bus|line|track|route|flight)\b", r"\d"),
        (r"\bwhose|\bwho\b|\bname\b", r"[A-Z][a-z]+ ?[A-Z][a-z]+"),
    )
)
"""What a question asks for -> how a text that answers it looks. The first line that fits the question counts."""
_ASKING = (
    "themselves himself herself going goes go works work live lives should call say says said written read show showed shown stand stands"
    " stood long many much kind"
)
_QUESTION_WORDS = frozenset(_ASKING.split())
_NEAR_US = 5 * US
"""A thing "next to" a sign is in the same picture or one this close."""
_ANY_TEXT = 0.6
"""Score of any text where the question names none of its words: "what did the sign say"."""
_SURE_SCORE = 0.45
"""Below this share of the question's words the reading is taken to be about something else."""


class Ranked(Record, frozen=True):
    """A reading and how well it fits the question, 0..1."""

    reading: OcrReading
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
        heard = s.parsed.asked is not None and s.parsed.asked.wanted == "said"
        return abstain(f"I have {'heard or read' if heard else 'read'} nothing that answers this.")
    return reply_with(s, ranked)


def reply_with(s: Session, ranked: list[Ranked], option: int | None = None, lead_in: str = "") -> Reply:
    """Quote the best reading."""
    best = ranked[0]
    ids = tuple(dict.fromkeys(f"m{r.reading.moment_id}" for r in ranked if r.score >= 0.8 * best.score))
    margin = best.score - next((r.score for r in ranked if similar_texts(r.reading.text, best.reading.text) < 0.6), 0.0)
    confidence = min(0.95, 0.35 + 0.4 * best.score + 0.3 * margin)
    clear = tidy(best.reading.text)
    meant = f" ({clear})" if clear != best.reading.text else ""
    return answered(f"{lead_in}{quote(best.reading.text)}{meant}, read {at(best.reading, s.question.tz)}.", confidence, ids, option)


def _nearest(ranked: list[Ranked], near_us: int) -> list[Ranked]:
    return sorted(ranked, key=lambda r: abs(r.reading.t0_us - near_us))


def rank(s: Session, window: tuple[int | None, int | None]) -> Steps[list[Ranked]]:
    """Every reading in the window by how well it fits: words of the question, shape of the answer, colour and company of the sign."""
    p = s.parsed
    scene = as_scene((yield Read(from_us=window[0], to_us=window[1], about=s.question.text[:400])))
    if not scene.readings:
        return []
    asked = asked_words(s)
    cue = next((cue for cue in _CUES if cue[0].search(s.question.text.lower())), None)
    generic = {word for word in asked if word in CARRIERS or (cue and cue[0].search(word))}
    weights = _rarity(asked, generic, scene.readings)
    colours = _sign_colours(p.target)
    company = yield from _company(s, window)
    any_text = _ANY_TEXT / 2 if _COMPANY.search(p.target) else _ANY_TEXT
    ranked = []
    for reading in scene.readings:
        score = _word_score(asked, weights, reading.text) if set(asked) - generic else any_text
        if cue:
            share = 0.25 if set(asked) - generic else 0.5
            score = (1 - share) * score + (share if cue[1].search(reading.text) else 0.0)
        if colours:
            score = 0.5 * score + (0.5 if any(c in reading.colours for c in colours) else 0.0)
        nearby = (0.9 * value for t_us, value in company if abs(t_us - reading.t0_us) <= _NEAR_US)
        ranked.append(Ranked(reading=reading, score=min(1.0, max(score, *nearby, 0.0))))
    if p.ordinal and not asked:
        return sorted(ranked, key=lambda r: r.reading.t0_us, reverse=p.ordinal < 0)
    return sorted(ranked, key=lambda r: (-round(r.score, 3), -r.reading.score * min(1.0, len(r.reading.text) / 12), r.reading.t0_us))


def _sign_colours(target: str) -> list[str]:
    """Colour words that stand before what carries the text: "blue sign", not "green tea"."""
    spoken = words(target)
    return [one for one, other in pairwise(spoken) if one in COLOURS and other in CARRIERS]


def asked_words(s: Session) -> list[str]:
    """Words of the question that may stand in the text; what only asks is left out."""
    source = s.parsed.quote or s.question.text
    if s.parsed.anchors or s.parsed.time or len(source) > 300:
        source = s.parsed.quote or s.parsed.target
    source = _COMPANY.sub("", source.lower())
    colours = _sign_colours(s.parsed.target)
    kept = [w for w in dict.fromkeys(content_words(source)) if w not in _QUESTION_WORDS and w not in colours]
    return kept if any(w not in CARRIERS for w in kept) or "name" in kept else []


def _rarity(asked: list[str], generic: set[str], readings: tuple[OcrReading, ...]) -> dict[str, float]:
    """Weight of each word: a figure must be there, a word that few readings hold tells more, a generic one ("sign", "number") little."""
    held = {word: sum(best_word(word, line_of(r.text)) > 0 for r in readings) for word in asked}
    return {word: 0.25 if word in generic else 2.0 if word.isdigit() else 1.0 + 1.0 / max(1, n) for word, n in held.items()}


def _word_score(asked: list[str], weights: dict[str, float], text: str) -> float:
    total = sum(weights.values())
    return sum(weights[word] * best_word(word, line_of(text)) for word in asked) / total if total else 0.0


_COMPANY = re.compile(r"\b(?:next to|beside|near|behind|above|under|in front of) (?:the |a |an |my )?([\w -]+?)(?= say| read|$|\?)")
"""What a sign stands next to."""


def _company(s: Session, window: tuple[int | None, int | None]) -> Steps[list[tuple[int, float]]]:
    """Where the thing was seen that the sign stands next to: times and scores."""
    match = _COMPANY.search(s.parsed.target)
    phrase = match[1] if match else ""
    if not phrase or set(words(phrase)) <= CARRIERS | set(COLOURS):
        return []
    lead = yield from look_for(phrase, window)
    return [(e.t0_us, e.score) for episode in lead.strong for e in episode.evidence] if lead.found and lead.basis == "frame" else []


def read_instead(s: Session, reply: Reply, least: float | None = None) -> Plan:
    """For what was not seen but is asked in the present ("when does the bus leave"): the answer may have been read."""
    if s.parsed.anchors or not _PRESENT.search(s.question.text.lower()):
        return reply
    ranked = yield from rank(s, window_of(s))
    return reply_with(s, ranked) if ranked and ranked[0].score >= (least or _SURE_SCORE) else reply


_PRESENT = re.compile(r"\b(?:when|where|what time|which day|what day|date)\b.*?\b(?:does|do|is|are|will|can)\b")


def who(s: Session) -> Plan:
    """Names that were read; faces are not named."""
    window = window_of(s)
    ranked = (yield from rank(s, window)) if s.parsed.target else []
    if ranked and ranked[0].score >= _SURE_SCORE:
        return reply_with(s, ranked)
    return abstain("I do not put names to faces, and I have read no name that answers this.")
