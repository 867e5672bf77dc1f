"""Plans for what was told: "when does the plumber come" is seen in no picture, but somebody said it, or it was written down.

Seeing comes first. What was said answers where the pictures show nothing of the kind, or where a question asks for a time to come, which
no picture knows. The answer is a quote, never our own words: who said it, and when.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from operator import itemgetter

import msgspec

from edgemem.answer.compose import quote, time_text
from edgemem.answer.language import vocabulary
from edgemem.answer.language.kinds import meanings
from edgemem.answer.language.vocabulary import SEE, SUBJECT, Kind
from edgemem.answer.language.words import CARRIERS, content_words, words
from edgemem.answer.plans.base import SURE, Plan, Steps, Window, answered, window_of
from edgemem.answer.plans.relation_words import Item, as_talk, ids_of, option_of, speaker_text, when_said
from edgemem.answer.plans.text import read_instead
from edgemem.answer.session import Session
from edgemem.answer.tools import Reply, singular
from edgemem.answer.tools_graph import Hear, Said, held

_CLEAR = 0.6
"""Pictures that are this sure show the thing, whatever their labels are called: of 23 phrases looked for in two streams that showed none
of them, none reached .47 (tools/eval, seeds 100 and 101)."""
_NOT_SHOWN = 0.8
"""Share of the question's words that a reading holds, for it to stand against a picture."""
_SURE, _LIKELY = 0.85, 0.7
"""Confidence in a quote that holds every word asked; and in one that says "is" where the question says "comes". In two written dialogues
(112 questions) all of 61 such quotes answered; the rest is left for words that were misheard."""

_SIGHT = re.compile(
    rf"\b{SUBJECT}(?: \w+){{0,2}}? {SEE}\b|\b(?:seen|saw|visible|spotted|appear(?:s|ed|ing)?|shown|show(?:s|ed)? up|look(?:s|ed)? like"
    r"|colou?rs?|show me|wears?|wearing|wore|in view|in sight|on camera)\b"
)
"""Asks what the camera saw: a word that was only said is no sign of that."""
_SIGN = re.compile(r"\b(?:signs?|posters?|badges?|screens?|banners?|plates?|says?|said|written|writing|printed|reads?)\b")
_TO_COME = re.compile(r"\b(?:when|what (?:time|day|date)|which (?:day|date))(?:'s| (?:does|do|is|are|will|can|shall|should|must|am))\b")
"""Asks for the time of what is not over."""
_STILL_OPEN = re.compile(r"^(?:is|are|am|will|does|do|can|should|must)\b(?! (?:i|we|there)\b)")
_NUMBER = r"two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirty|half|quarter"
_TIME = (
    r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day|\b(?:today|tonight|tomorrow|yesterday|now|soon|later|noon|midday|midnight|morning"
    r"|afternoon|evening|night|weekend|week|month|year|hour|minute|daily|spring|summer|autumn|winter|january|february|march|april|june"
    rf"|july|august|september|october|november|december|{_NUMBER})s?\b|\bin may\b|\b(?:at|by|past) one\b"
)
_PLACE = (
    r"\b(?:in|on|at|under|behind|beside|near|inside|above|below|by|between|from|next to|opposite|outside|upstairs|downstairs|here|there"
    r"|to the)\b"
)
_SHAPES: dict[Kind, re.Pattern[str]] = {
    "when": re.compile(_TIME),
    "where": re.compile(_PLACE),
    "how_many": re.compile(rf"\d|\b(?:no|one|once|twice|{_NUMBER})\b"),
    "how_long": re.compile(rf"\d|\b(?:until|till|for|an? (?:hour|day|week|minute)|{_NUMBER})\b"),
}
"""How words look that answer a question of this kind."""
_ASKS = re.compile(r"^(?:when|where|what|who|whose|which|why|how|did|do|does|is|are|was|were|can|could|would|should|have|has|had)\b")
_SAME = re.compile(r"^(?:and |but |so |then )?(?:he|she|it|they|that|this|those)\b")
_SAYING = re.compile(
    r"\b(?:did|does|do|has|have) (?P<who>\w[\w' ]*?) (?:say|says|said|tell|told)(?: (?:me|us))?(?: that)? (?!about\b|of\b)"
)
"""Who is asked to have said it: "when did Anna say the plumber comes"."""
_SOMEBODY = frozenset(("i", "we", "you", "he", "she", "they", "it", "anyone", "anybody", "someone", "somebody"))
_WHAT_IS = re.compile(r"^\W*what(?:'s| is| are| was| were) (?:the|my|our|your|\w+'s)\b")
"""Asks for a name or a number: a statement that has no "is" talks about something else of it."""
_ALL = 0.99
"""Share of words held that counts as all of them."""
_STANDS_FOR_IS = (
    "come comes came coming go goes going gone went arrive arrives arriving leave leaves leaving left start starts begin begins take takes"
    " place happen happens put keep kept lose lost"
)
_LOOSE = frozenset(_STANDS_FOR_IS.split())
"""Verbs that "is" may stand for: "the plumber will be here at nine" says when he comes."""
_IS = re.compile(r"\b(?:is|are|was|were|be)\b|'s\b")
_ASKING = (
    "should could would will can must shall may might am been get got need needs many much long time times day date kind sort type exactly"
    " please tell told say says said know any anything something someone somebody else until whose whom us he she they them his her their s"
)
_FILLER = frozenset(_ASKING.split())
"""Words that only ask."""


def told_instead(s: Session, free: Plan) -> Plan:
    """The reply of `free`, unless its pictures show nothing of what is asked while somebody said it, or it was read."""
    reply = yield from free
    shown = _shows(s, reply)
    unseen = _asks_for_unseen(s)
    if shown and not unseen:
        return reply
    said = yield from _said(s)
    if said is not None:
        return said
    if s.span.problem or s.question.options or s.parsed.kind not in {"when", "where"}:
        return reply
    read = yield from read_instead(s, reply, _NOT_SHOWN if reply.status == "answered" else None)
    if read is not reply or shown or not unseen or reply.status != "answered":
        return read
    text = f"I have heard and read nothing that says {s.parsed.kind}."
    return Reply(text=text, status="abstained", confidence=0.5 * SURE, evidence=reply.evidence)


def _shows(s: Session, reply: Reply) -> bool:
    """What the reply cites shows or holds the words of its target."""
    if reply.status != "answered":
        return False
    cited = [e for e in s.evidence().values() if e.id in reply.evidence]
    target = words(s.parsed.target)
    if any(e.channel not in {"frame", "text"} for e in cited) or not (target or _asked_words(s)):
        return True
    if target and reply.confidence >= _CLEAR and all(e.channel == "frame" for e in cited):
        return True
    wanted = [singular(word) for word in content_words(s.parsed.target) or _asked_words(s)]
    return any(held(wanted, meanings(e.text) if e.channel == "frame" else e.text) >= _ALL for e in cited)


def _asks_for_unseen(s: Session) -> bool:
    """A time to come, or what somebody said: no picture tells."""
    text = s.question.text.lower()
    to_come = s.parsed.kind == "when" and _TO_COME.search(text) is not None
    return (to_come and not _asks_of_sight(s)) or bool(_speaker(s))


def _speaker(s: Session) -> str:
    """Who is said to have told it; "" where nobody is."""
    saying = _SAYING.search(s.question.text.lower())
    return saying["who"] if saying and saying["who"] not in _SOMEBODY else ""


def _asks_of_sight(s: Session) -> bool:
    return _SIGHT.search(s.question.text.lower()) is not None


def _asked_words(s: Session) -> list[str]:
    """Words of the question, without its time, that must have been said."""
    text = _SAYING.sub(" ", vocabulary.LEAD.sub("", s.question.text[:600].lower().strip()))
    said = s.parsed.time.said if s.parsed.time else ""
    spoken = words(text.replace(said, " ") if said else text)
    return [word for word in dict.fromkeys(spoken) if word not in _FILLER and content_words(f"the {word}") == [word]][:12]


def _may_be_told(s: Session) -> bool:
    """Not of sight, not of signs, about one thing; whether something happened is not proved by talk about it."""
    p, text = s.parsed, s.question.text.lower()
    if p.anchors or p.alternatives or p.quote or p.kind in {"order", "describe"} or _asks_of_sight(s):
        return False
    if p.kind == "text" and (_SIGN.search(text) or set(words(p.target)) <= CARRIERS):
        return False
    return p.kind != "did_ever" or _STILL_OPEN.search(text) is not None


def _said(s: Session) -> Steps[Reply | None]:
    """The newest statement that holds what is asked and looks like an answer; None without one."""
    asked = _asked_words(s)
    if not asked or not _may_be_told(s):
        return None
    said: list[Said] = []
    if s.parsed.time:  # "on Tuesday" may be a word that was said, or the day on which something was
        dated = list(dict.fromkeys((*asked, *content_words(s.parsed.time.said))))
        said = yield from _statements(s, dated, (None, s.question.as_of_us))
    if not said and not s.span.problem:
        said = yield from _statements(s, asked, window_of(s))
    if not said:
        return None
    newest = said[0] if s.parsed.ordinal == 1 else said[-1]
    sure = newest.score
    items = [Item(name=newest.text, confidence=sure, proofs=(newest.evidence,), t0_us=newest.t0_us)]
    option = option_of(s, items, phrases=True)
    if s.question.options and option is None:
        return None
    text = f"{speaker_text(newest)} said {quote(newest.text)} at {time_text(newest.t0_us, s.question.tz)}."
    return answered(text[:1].upper() + text[1:], sure, ids_of([newest.evidence, *(one.evidence for one in reversed(said))]), option)


def _statements(s: Session, asked: Sequence[str], window: Window) -> Steps[list[Said]]:
    """Utterances that tell something with all these words, oldest first, cut to the words that tell it; scored by how sure that answers."""
    about, speaker = " ".join(asked)[:400], _speaker(s)[:100]
    talk = as_talk((yield Hear(about=about, speaker=speaker, from_us=window[0], to_us=window[1])))
    names = _WHAT_IS.match(s.question.text.lower()) is not None
    told = []
    for one in talk.said:
        sure, part = max(((_fit(part, asked, s.parsed.kind), part) for part in _told(one.text)), key=itemgetter(0), default=(0.0, ""))
        if sure and not (names and not _IS.search(part.lower())):
            told.append(msgspec.structs.replace(one, text=part, score=sure))
    return sorted(told, key=when_said)


def _fit(part: str, asked: Sequence[str], kind: Kind) -> float:
    """How surely these words answer a question of this kind with the words asked; 0 where they do not."""
    plain, shape = part.lower(), _SHAPES.get(kind)
    must = [word for word in asked if word not in _LOOSE] or asked
    if held(must, plain) < _ALL or (shape is not None and not shape.search(plain)):
        return 0.0
    return _SURE if held(asked, plain) >= _ALL else _LIKELY if _IS.search(plain) else 0.0


def _told(text: str) -> list[str]:
    """Every sentence that asks nothing, and each with a next one that goes on about the same: "the plumber called. He comes at nine"."""
    sentences = [(part, not part.endswith("?") and not _ASKS.match(part.lower())) for part in re.split(r"(?<=[.!?])\s+", text.strip())]
    pairs = [f"{one} {two}" for (one, tells), (two, goes_on) in pairwise(sentences) if tells and goes_on and _SAME.match(two.lower())]
    return [part for part, tells in sentences if tells] + pairs
