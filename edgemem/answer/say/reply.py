"""What is said to a question: everything is gathered and weighed first; the kind of question decides only what is done with it."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from edgemem.answer.compose import quote
from edgemem.answer.gather import Lead, Pool
from edgemem.answer.say.base import Plan, Steps, abstain, gather, look_for, not_seen, others, recognised, window_of
from edgemem.answer.say.choose import choose, same_option, with_option
from edgemem.answer.say.order import happened_before, in_order, neighbours, relate
from edgemem.answer.say.people import relation
from edgemem.answer.say.pictures import describe, from_pictures
from edgemem.answer.say.statements import ranked, refuse, tell
from edgemem.answer.session import Session
from edgemem.answer.tools import Reply
from edgemem.answer.understand import Parsed
from edgemem.answer.understand.languages import NAMES
from edgemem.answer.weigh import fits_pictures, is_shown, is_stated, shown, stated_prior


def reply(s: Session) -> Plan:
    """The whole way of one question."""
    p = s.parsed
    pool = yield from everything(s)
    if p.asked is not None and pool.people and not s.span.problem and (known := (yield from relation(s))) is not None:
        return with_option(known, same_option(s, known)) if s.question.options and known.option is None else known
    words = ranked(p, pool)
    over = re.search(r"\b(?:did|was|were)\b", p.text) is not None and p.hint != "said"
    if s.span.problem and (over or not words or not is_stated(p, words[0][1]) or stated_prior(p) < 0.5):
        return abstain(s.span.problem)
    free = _free(s, pool)
    return (yield from choose(s, pool, words, free)) if s.question.options else (yield from free)


def unread(s: Session) -> Reply | None:
    """What is said without looking: to an empty memory, a command, another language, half a question; None for all others."""
    p = s.parsed
    if s.empty:
        return abstain("This memory is empty.", "nothing was recorded up to the time of the question")
    if p.command:
        return refuse(s)
    if p.language != "en":
        return abstain(f"I understand English questions only; this one seems to be {NAMES[p.language]}.", unverified=(p.text,))
    if p.follows and not (p.things or p.person or p.words):
        return abstain("I do not know what this goes on about; name it, or ask with --session last.", unverified=(p.text,))
    return None


_NAMED_BY: dict[str, tuple[str, ...]] = {
    "name": ("name",),
    "date": ("day", "date"),
    "time": ("time",),
    "number": ("number",),
    "price": ("price",),
}
"""What a question calls the form of its answer; the answer has the form and not the word."""


def everything(s: Session) -> Steps[Pool]:
    """The question as a whole against all words, its things in pictures of its stretch of time.

    What was told about a day was not told on it: a time in a question for words is one of its words.
    """
    p, problem = s.parsed, bool(s.span.problem)
    timeless = stated_prior(p) >= 0.5
    asked = [word for word in p.words if word not in _NAMED_BY.get(p.form, ())] or p.words
    words = (*asked, *(p.time.said.split() if p.time and timeless and not p.words else ()))
    things = (f'"{p.quote}"',) if p.quote else p.things or tuple(filter(None, p.person.lower().split("; ")))
    window, seen = (None, s.question.as_of_us), window_of(s)
    if not problem and (not timeless or window == seen):
        return (yield from gather(things, seen, p.text, words))
    told = yield from gather((), window, p.text, words)
    pool = yield from gather(() if problem else things, seen)
    return msgspec.structs.replace(told, leads=pool.leads, evidence=(*told.evidence, *pool.evidence), notes=(*told.notes, *pool.notes))


def _free(s: Session, pool: Pool) -> Plan:
    """Without options: words or pictures, whichever is likelier to answer it; neither where none is likely."""
    p = s.parsed
    if p.kind == "order":
        names = (p.target, *p.anchors) if p.anchors else p.choices
        return in_order(s, (yield from gather(names, window_of(s))).leads, names, pool)[0]
    words = ranked(p, pool)
    stated = bool(words) and is_stated(p, words[0][1])
    if not stated and (plan := _of_scenes(p)) is not None:
        return (yield from plan(s))
    lead, missing = yield from _lead(s, pool)
    if stated and words[0][0] >= shown(p, lead):
        sure = p.kind != "yes_no" or words[0][1].held > _ALL_HELD
        return tell(s, words, others(pool, *words[0][1].evidence[:1])) if sure else _perhaps(s, pool)
    if missing is not None and not stated:
        return not_seen(s, missing, pool=pool)
    if not is_shown(p, lead):
        return _unknown(s, pool, lead)
    before = p.kind == "yes_no" and p.relation in {"before", "after"} and p.anchors
    return (yield from happened_before(s, lead) if before else from_pictures(s, pool, lead))


_ALL_HELD = 0.99
"""Yes and no are taken from words only where they hold every word of the question."""


def _of_scenes(p: Parsed) -> Callable[[Session], Plan] | None:
    """How a question that names no thing is answered from pictures: by what is beside its anchor, or by all that was there."""
    if p.relation and p.kind in {"what", "which", "list", "where", "summary"} and p.anchors and not p.things:
        return neighbours
    named = p.things or p.person or p.quote
    return _scene if not named and p.kind in {"summary", "list", "what", "yes_no", "which", "where", "other"} else None


def _lead(s: Session, pool: Pool) -> Steps[tuple[Lead, Lead | None]]:
    """The thing that pictures are asked for, where the question's relation puts it; and the anchor that was not seen, if one was not."""
    p = s.parsed
    lead = max(pool.leads, key=lambda one: shown(p, one), default=Lead(phrase=p.target or p.person))
    if p.kind == "yes_no" or not p.anchors or not p.things:
        return (pool.leads[0] if pool.leads and p.kind == "yes_no" else lead), None
    place = yield from relate(s)
    return (lead if place.missing is not None else (yield from look_for(lead.phrase, place.window))), place.missing


def _scene(s: Session) -> Plan:
    """Such as "what did I see at ten": all that was there."""
    p = s.parsed
    if p.kind == "yes_no" and not p.time:
        return abstain("I do not know what to look for; name a thing.", unverified=p.words)
    if p.predicate and not p.time and not p.ordinal:
        return abstain(f"I have heard and read nothing that says so. About {quote(p.predicate)} I cannot tell.", unverified=(p.predicate,))
    return (yield from describe(s))


def _perhaps(s: Session, pool: Pool) -> Reply:
    """What was said comes near a yes or a no, and is neither: it is quoted, and nothing claimed."""
    told = tell(s, ranked(s.parsed, pool)[:1])
    text, sure = f"I cannot tell. The nearest that I know: {told.text}", min(0.4, told.confidence)
    return abstain(text, confidence=sure, evidence=told.evidence, alternatives=others(pool), unverified=s.parsed.words)


def _unknown(s: Session, pool: Pool, lead: Lead) -> Reply:
    """Nothing is likely enough: why, and the nearest evidence."""
    p, said = s.parsed, not_seen(s, lead, pool=pool)
    if p.kind == "yes_no" and lead.phrase and recognised(lead):
        return said if p.negated else msgspec.structs.replace(said, text=f"No, {said.text}")
    if (stated_prior(p) >= 0.5 and not fits_pictures(p)) or not lead.phrase:
        near = tuple(one.evidence[0].id for _, one in ranked(p, pool)[:3])
        missing = " I do not put names to faces." if p.kind == "who" else ""
        text = f"I have heard or read nothing that answers this.{missing}"
        return abstain(text, confidence=0.1, evidence=near, alternatives=others(pool), unverified=p.words)
    return said
