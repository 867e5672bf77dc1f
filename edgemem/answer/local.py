"""The planner `local`: decides from the parsed question and from what was found; needs no language model.

The whole way of a question is one plan (`reply`), a generator of actions that returns a reply. Everything is gathered and weighed first;
the kind of question decides only what is done with it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

import msgspec

from edgemem.answer.gather import Candidate, Lead, Pool
from edgemem.answer.generator_planner import Thinking, Thought
from edgemem.answer.retrieve import Query, distinct
from edgemem.answer.say import base, choose, itself, options, order, people, pictures, scenes, statements
from edgemem.answer.say.base import NOTHING, Plan, Steps, Window, abstain, gather, window_of
from edgemem.answer.say.left_out import leave_out
from edgemem.answer.say.verdict import verdict
from edgemem.answer.session import Session
from edgemem.answer.tools import Reply
from edgemem.answer.understand import Parsed, asking, followup, forms, languages, phrases, relations
from edgemem.answer.understand.lexicon import ASKING_VERBS, HAVING, MOVING, SAYING, SEEING, VERBS, WRITING, is_seeable
from edgemem.answer.understand.record import Kind
from edgemem.answer.understand.timespan import TimeSpan
from edgemem.answer.understand.wordings import pattern
from edgemem.answer.weigh import fits_pictures, happened, is_likely, is_seen, is_shown, shown, stated, stated_prior, weights
from edgemem.infer.phrase import COLOUR_WORDS
from edgemem.words import word_classes


class LocalPlanner(Thinking):
    """Deterministic: the same question over the same memory always takes the same steps."""

    name = "local"

    def refuse(self, session: Session) -> Reply | None:
        """What is said without looking: to an empty memory, another language, half a question."""
        p = session.parsed
        if not (p.second or session.question.options) and (unasked := itself.without_looking(session)) is not None:
            return unasked
        if session.empty:
            return abstain("This memory is empty.", "nothing was recorded up to the time of the question")
        if p.language != "en":
            told = f"I understand English questions only; this one seems to be {languages.NAMES[p.language]}."
            return abstain(told, "a language model that is configured puts it into English (models.read_questions)", unverified=(p.text,))
        if p.follows and followup.names_nothing(p, p.words) and not (session.question.options or (p.about and p.second)):
            return abstain(itself.NOTHING_BEFORE, unverified=(p.text,))
        return None

    def think(self, session: Session) -> Thought:
        told, asked = (yield from leave_out(session, reply(session))), session
        for _ in range(_MORE_QUESTIONS):
            if (second := asked.parsed.second) and not session.question.options:
                asked = asked.about(second)
                told = with_second(told, self.refuse(asked) or (yield from leave_out(asked, reply(asked))), second)
        yield told


_MORE_QUESTIONS = 2
"""So many questions behind the first are answered with it."""


def with_second(told: Reply, also: Reply, second: str) -> Reply:
    """Two questions in one, answered one behind the other: as surely as the less sure answer, or as the only one."""
    if also.text in told.text:  # the same words tell both
        return told
    best, other = (also, told) if (told.status, also.status) == ("abstained", "answered") else (told, also)
    both = told.status == also.status == "answered"
    plain = re.sub(r"\bi\b", "I", second)
    text = also.text if both else f"{plain[0].upper()}{plain[1:]}? {also.text}"
    return msgspec.structs.replace(
        best, text=f"{told.text} {text}"[:4000], confidence=min(told.confidence, also.confidence) if both else best.confidence,
        evidence=tuple(dict.fromkeys((*best.evidence[:5], *other.evidence[:5]))), alternatives=(*told.alternatives, *also.alternatives),
        unverified=tuple(dict.fromkeys((*told.unverified, *also.unverified, *(() if both or best is also else (second,))))),
    )  # fmt: skip


def reply(s: Session) -> Plan:
    """The whole way of one question."""
    p = s.parsed
    if p.about and not s.question.options:
        return itself.without_looking(s) or (yield from itself.of_recording(s))
    if p.command and not s.question.options:  # "pick the animal that I saw"
        again = None if statements.carried_out(p.command) else (yield from _again(s))
        return statements.refuse(s, again)
    return (yield from _again_in_words(s)) or (yield from _changed(s)) or (yield from _of_memory(s))


def _of_memory(s: Session) -> Plan:
    """From what was gathered, whatever the question's channel."""
    p = s.parsed
    pool = yield from everything(s)
    told_of = p.asked is not None and (pool.people or people.asks_voices(p.asked))  # people in view are no voices
    if told_of and not s.span.problem and (known := (yield from people.relation(s))) is not None:
        return known if known.option is not None else options.with_option(s, known)
    words = statements.ranked(s, pool)
    day = p.time.day if p.time else ""
    past = day in {"yesterday", "day before yesterday"} or day.endswith("ago") or day.startswith(("last ", "day before ", "day after "))
    named = p.things or p.person or set(p.words) - ASKING_VERBS or p.kind not in {"where", "summary", "other"}
    counted = p.kind in {"how_many", "how_long"}
    said = p.hint == "said" or (p.verb in SAYING and p.kind in base.OF_A_KIND)  # "which film did they say we watch tonight"
    over = past or counted or (_is_over(s) and not (said and (day != "today" or s.span.to_come))) or not named  # "give me Tuesday"
    if s.span.problem and (over or not words or not is_likely(*words[0])):
        return abstain(s.span.problem)
    if s.question.options:
        return (yield from choose.choose(s, pool, words, _free(s, pool), reply))
    plain, pool = yield from _unweighed(s, pool)
    told = plain or _settled(s, pool, words) or (yield from _free(s, pool))
    again = (yield from _again(s)) if told.status == "abstained" else None
    return again or told


def _again_in_words(s: Session) -> Steps[Reply | None]:
    """What words answered before, once more, where it is asked when that was or who said it: the answer tells both. Or what they said the
    time before that ("and before that?").
    """
    text = s.parsed.text.rstrip(" ?!.")
    if not (s.before and s.reads and any(pattern(one).fullmatch(text) for one in ("OF_TOLD", "EARLIER"))):
        return None
    last = s.before[-1].question
    question, (parsed, span) = msgspec.structs.replace(s.question, text=last), s.reads(last, s.before[:-1])

    def ask(again: Parsed) -> Plan:
        return reply(dataclasses.replace(s, question=question, understood=lambda: (again, span), before=()))

    told = yield from ask(parsed)
    known = s.evidence()
    if told.status != "answered" or not {known[id_].channel for id_ in told.evidence} <= {"speech", "text"}:
        return None
    if not pattern("EARLIER").fullmatch(text):  # who said it or when, not "6: speaker 1 said ..."
        quoted = _SHORT.sub("", told.text)
        return msgspec.structs.replace(told, text=quoted[:1].upper() + quoted[1:])
    before = yield from ask(msgspec.structs.replace(parsed, ordinal=-2))
    none = before.status != "answered" or before.evidence[:1] == told.evidence[:1]
    return abstain("I know of nothing that was told before that.", evidence=told.evidence) if none else before


_SHORT = re.compile(r'^[^":]{1,80}: (?=[^"]*")')
"""The short answer in front of the words that it is taken from."""


def _changed(s: Session) -> Steps[Reply | None]:
    """What was told of a thing first in the time that is asked about and what last, where it is asked whether it changed; without a time
    the last two of what was told. None where nothing tells of it.
    """
    p = s.parsed
    if p.kind != "yes_no" or not pattern("CHANGED").search(p.question):
        return None
    left = {word for match in pattern("CHANGED").finditer(p.question) for word in match[0].split()}
    plain = msgspec.structs.replace(
        p, kind="what", predicate="", verb="", things=tuple(one for one in p.things if one not in left), time=None, ordinal=0,
        words=tuple(word for word in p.words if word not in left), core=pattern("CHANGED").sub(" ", p.question),
    )  # fmt: skip
    asked = dataclasses.replace(s, understood=lambda: (plain, TimeSpan()))
    found = statements.ranked(asked, (yield from everything(asked))) if plain.words else []
    told = statements.versions(plain, found) if found and is_likely(*found[0]) else []
    return options.with_option(s, statements.then_and_now(s, told)) if told else None


_MENTIONED = 6
"""Things named beside the question that are looked for, so that a long text costs no more."""
_OF_ONE: tuple[Kind, ...] = ("how_many", "when", "where")
"""Kinds of a question about one thing that pictures show."""
_GUESSED = 0.5
"""Share of the confidence of an answer about a thing that is named beside the question."""
_SETTLED = 0.45
"""Least confidence in words that say yes or no to a claim; chosen, not fitted."""
_FORMS = frozenset(("name", "title", "day", "date", "hour", "time", "number", "price", "cost", "colour", "color"))
"""What a question calls the form of its answer; the answer has the form and not the word."""


def everything(s: Session) -> Steps[Pool]:
    """The question as a whole against all words, its things in pictures of its stretch of time.

    What was told about a day was not told on it: words are looked for at all times where the question is rather for words.
    """
    p, problem, over = s.parsed, bool(s.span.problem), _is_over(s)
    words = tuple(word for word in p.words if not p.form or word not in _FORMS) or p.words
    words = tuple(word for word in words if p.hint != "read" or VERBS.get(word) not in WRITING) or words
    timeless = stated_prior(p) >= 0.5 and not (over and p.time and p.time.within_day)  # "what did the sign at 8:09 say"
    if problem and p.time and not over:  # "who have I got to see on Saturday": the day is a word of it
        words = (*words, *phrases.content(p.time.said.replace("this evening", "tonight")))
    things = (f'"{p.quote}"',) if p.quote else p.things or tuple(filter(None, p.person.lower().split("; ")))
    if pattern("ANYBODY").fullmatch(p.question.rstrip(" ?!.")):
        things = ("people",)
    things = things or (phrases.noun_phrase(p.place),) * (p.kind in {"yes_no", "when"})  # "have I been near a ferret"
    if not (problem or timeless):
        return (yield from _either(p, things, window_of(s), words))
    told = yield from _either(p, (), (None, s.question.as_of_us), words)
    then = (yield from _either(p, (), window_of(s), words)) if p.time and not problem else NOTHING  # in a large memory not among the best
    pool = yield from gather(() if problem else things, window_of(s))
    return msgspec.structs.replace(
        told, candidates=tuple(dict.fromkeys((*told.candidates, *then.candidates))), leads=pool.leads,
        evidence=distinct((*told.evidence, *then.evidence, *pool.evidence)), notes=(*told.notes, *pool.notes),
    )  # fmt: skip


def _is_over(s: Session) -> bool:
    """It is about what was: not "what was the film tonight", where that is still to come."""
    named = s.span.to_come and s.parsed.kind in {"what", "which", "when"} and not re.search(r"\b(?:did|had)\b", s.parsed.text)
    return happened(s.parsed) and not named


def _either(p: Parsed, things: Sequence[str], window: Window, words: Sequence[str]) -> Steps[Pool]:
    """What the question brings, or the same with all that was said around it: why it is asked may name what the answer is about. Each
    candidate as the likelier of the two readings has it.
    """
    core, wanted = (yield from gather(things, window, p.question, words)), phrases.wanted_words(p.text, p.kind)
    if set(wanted) <= set(phrases.wanted_words(p.question, p.kind)):
        return core
    whole = yield from gather((), window, p.text, wanted)
    best = {(one.evidence[0].id, one.text): one for one in sorted((*whole.candidates, *core.candidates), key=lambda one: stated(p, one))}
    likely = sorted(best.values(), key=lambda one: -(one.held + one.cosine))
    return msgspec.structs.replace(core, candidates=tuple(likely), evidence=distinct((*core.evidence, *whole.evidence)))


def _unweighed(s: Session, pool: Pool) -> Steps[tuple[Reply | None, Pool]]:
    """What is told without weighing words against pictures: which of two was seen more often, the signs themselves, the words next to what
    the question refers to. And what is left to weigh: of words those that lie where the question's relation puts them.
    """
    p = s.parsed
    told = order.more_often(s, pool.leads) if len(pool.leads) == 2 and order.is_more(p) else statements.signs(s, pool)
    told = told or statements.how_often(s, pool) or statements.said_or_read(s, pool)
    over = happened(p) or pattern("CAME").search(p.question)
    anything = p.hint == "said" and pattern("ANY_WORDS").search(p.question) is not None
    said = p.hint == "said" or (p.hint == "none" and p.verb in SAYING)
    near = p.relation in {"before", "after", "between"} or said or (p.hint == "read" and p.relation == "while")
    placed = p.anchors and over and near and (p.kind != "yes_no" or anything)
    place = (yield from order.relate(s)) if placed and told is None else None
    if place is None or place.missing is not None:
        return told, pool
    there = Query(text="", from_us=place.window[0], to_us=place.window[1])
    left = tuple(one for one in pool.candidates if there.holds(one.t0_us) and not order.is_anchor(p, one))
    counted = p.kind == "how_many"
    near_by = statements.signs(s, pool, place.window) if counted else (yield from order.next_words(s, place))
    return near_by, msgspec.structs.replace(pool, candidates=left)


def _free(s: Session, pool: Pool) -> Plan:
    """Without options: words or pictures, whichever is likelier to answer it; neither where none is likely."""
    p = s.parsed
    if (plan := order.of_several(s, pool)) is not None:
        return (yield from plan)
    of_scene = not p.things or p.kind == "which" or p.verb in SEEING  # "what creature was I staring at", not "what did the dog eat"
    if p.relation == "while" and p.anchor is None and of_scene and p.hint in {"seen", "none"} and pattern("SPOKEN_OF").search(p.clause):
        return (yield from order.while_said(s))
    words = statements.ranked(s, pool)
    means = any(map(word_classes, p.words)) if p.words else stated_prior(p) > 0.5
    held = bool(p.words and words) and words[0][1].held > 0  # of what is in no dictionary only the word itself tells
    often = p.hint == "seen" and p.kind in base.OF_A_KIND and not p.things and pattern("SO_OFTEN").search(p.question)
    stated = bool(words) and is_likely(*words[0]) and (means or held) and not often
    beside = p.relation and p.anchors and not p.things and (p.kind != "yes_no" or p.verb in SEEING)
    if beside and (p.hint == "seen" or p.anchor is not None or not (stated or p.verb in SAYING)):
        return (yield from order.neighbours(s))
    if not stated and p.hint == "read" and (near := (yield from pictures.read_near(s))) is not None:
        return near
    beside_it = "," in p.question and not any(lead.recognised for lead in pool.leads)  # "sum up 8:02 to 8:03, my memory is like sawdust"
    summed = p.kind == "summary" and p.time and beside_it
    named = not summed and (p.things or p.person or p.quote or p.kind in {"when", "how_many", "how_long"})
    unread = p.kind in {"where", "yes_no"} and not set(p.words) <= ASKING_VERBS  # words for a thing that no slot took
    done = p.predicate and p.verb not in SEEING | (HAVING - MOVING)  # "what did I drink" asks for more than what was there
    doing = p.predicate == "doing" and p.time is not None  # "what was I doing at 10:02": what was there
    open_ = fits_pictures(p) and not done and p.kind != "how_why" and (p.time or p.kind != "yes_no")
    if not (stated or named or unread) and (open_ or doing):
        dark = p.time is None and (pattern("UNREAD_TIME").search(p.question) or re.match(r"(?:in )?between\b", p.clause or p.place))
        unclear = abstain("I do not understand which time this means; give it like 2026-03-01 or 10:02.")
        there = unclear if dark else (yield from scenes.describe(s))
        more = {"text": f"{there.text} What was done I cannot tell.", "unverified": (p.predicate,)} if doing else {}
        return msgspec.structs.replace(there, **more)
    return (yield from _of_thing(s, pool, words if stated else []))


def _of_thing(s: Session, pool: Pool, words: Sequence[tuple[float, Candidate]]) -> Plan:
    """What pictures show of the thing, where the question's relation puts it, or what words that answer the question say."""
    p = s.parsed
    if p.kind == "which" and not (p.form or p.anchors) and pictures.is_listed(p):
        return pictures.each_of(s, pool)
    lead, window = max(pool.leads, key=lambda one: shown(p, one), default=Lead(phrase=p.target or p.person)), window_of(s)
    if p.kind == "how_many":  # "how many eggs has the hen laid" counts eggs
        lead = next((one for one in pool.leads if f"how many {one.phrase}" in p.text), lead)
    if p.anchors and p.things and p.kind != "yes_no":
        place = yield from order.relate(s)
        if place.missing is not None and not words:
            return base.not_seen(s, place.missing, pool)
        if place.missing is None:
            lead, window = (yield from base.look_for(lead.phrase, place.window)), place.window
    if (of_kind := (yield from _of_kind(s, pool, lead, window, bool(words)))) is not None:
        return of_kind
    pictured = is_shown(p, lead) and fits_pictures(p)
    several = len(statements.each_version(s, words)) > 1  # "all gates in order"
    if words and (words[0][0] >= pictures.sureness(p, lead) or not pictured or several or _says_where(p, words[0][1])):
        return _in_words(s, pool, words)
    if not is_shown(p, lead) and (other := (yield from _mentioned(s, pool))) is not None:
        return other
    told = pictures.whether_nth(s, lead) if pictured else None
    if told is None:
        told = (yield from pictures.from_pictures(s, pool, lead)) if is_shown(p, lead) else _unknown(s, pool, lead)
    return told if told.status == "answered" or not words else _in_words(s, pool, words)  # "is the car on level five"


def _of_kind(s: Session, pool: Pool, lead: Lead, window: Window, worded: bool) -> Steps[Reply | None]:
    """What there was of a kind, where that is asked: what came next, or every one; nothing is known where no words tell it either."""
    p = s.parsed
    if not fits_pictures(p) or p.hint not in {"none", "seen"}:
        return None
    if scenes.asks_next(p, lead) and (next_ := (yield from scenes.next_of_kind(s, lead, window))) is not None:
        return next_
    if not scenes.asks_kinds(s, lead, window):
        return None
    kinds = yield from scenes.each_kind(s, lead, window)
    unknown = kinds is None and not (worded or p.ordinal or p.kind in {"yes_no", "how_many"})
    return _unknown(s, pool, lead) if unknown else kinds


def _says_where(p: Parsed, one: Candidate) -> bool:
    """Somebody said where the thing is, not just one of its kind; a picture does not show whose it is."""
    asked = p.kind == "where" and p.verb not in SEEING and p.hint != "seen"
    head = re.escape(p.target.rpartition(" ")[2])
    owned = re.search(rf"\b(?:the|my|our|your|his|her|their) (?:[\w-]+ )?{head}\b", one.text.lower())
    return bool(asked and owned and p.things) and one.channel == "speech" and one.held > base.ALL_HELD and forms.fits("place", one.text)


def _mentioned(s: Session, pool: Pool) -> Steps[Reply | None]:
    """Of what else the whole text names and was surely seen, where nothing that the question seemed to be about means anything in pictures;
    less surely, as it may not be what the question is about.
    """
    p = s.parsed
    counted = p.counts == "at_once"  # "how many pieces were left of it" counts nothing else
    if p.kind not in _OF_ONE or counted or not fits_pictures(p) or any(lead.recognised for lead in pool.leads):
        return None
    names = [one for one in asking.mentioned(p.text) if all(one != lead.phrase for lead in pool.leads)]
    leads = (yield from gather(names[:_MENTIONED], window_of(s))).leads if names else ()
    best = max(leads, key=lambda one: shown(p, one), default=None)
    if best is None or best.basis != "frame" or shown(p, best) < weights().surely:
        return None
    told = yield from pictures.from_pictures(s, msgspec.structs.replace(pool, leads=(best,)), best)
    return msgspec.structs.replace(told, confidence=_GUESSED * told.confidence)


def _again(s: Session) -> Steps[Reply | None]:
    """A second reading, of a question that brought nothing: when, where or how often the thing was seen that the text names and pictures
    surely show, if the text asks for that at all.
    """
    p = s.parsed
    asked = s.question.text.lower()
    kind = next((kind for kind in _OF_ONE if pattern(f"ANEW {kind}").search(asked)), None)
    spoken = p.verb in SAYING and p.kind in {"what", "which", "who"}  # "what did he say about the dog, and when"
    if kind is None or spoken or (p.kind in _OF_ONE and fits_pictures(p)):
        return None
    plain = Parsed(
        kind=kind, text=p.text, core=p.core, ordinal=p.ordinal or relations.place_in_row(p.text, kind), time=p.time, words=p.words,
        verb="see", hint="seen", predicate="" if p.command else p.predicate,
    )  # fmt: skip
    return (yield from _mentioned(dataclasses.replace(s, understood=lambda: (plain, s.span)), NOTHING))


def _settled(s: Session, pool: Pool, words: Sequence[tuple[float, Candidate]]) -> Reply | None:
    """The likeliest words that say yes or no to a claim about what pictures do not show; None where none do."""
    p = s.parsed
    pictured = any(lead.basis == "frame" and is_shown(p, lead) for lead in pool.leads)
    claimed = words if p.kind == "yes_no" and not (p.negated or p.anchors or pictured) else ()
    replaced = statements.replaced(p, words)
    found = next((pair for pair in claimed if pair[1] not in replaced and _verdict(p, pair[1])), None)
    return found and _in_words(s, pool, [(max(_SETTLED, found[0]), found[1])])


def _verdict(p: Parsed, one: Candidate) -> str:
    return verdict(p, one.text, written=one.channel == "text")


def _in_words(s: Session, pool: Pool, words: Sequence[tuple[float, Candidate]]) -> Reply:
    """What was said or read; a yes or a no is taken only from words that hold all of the question, others are quoted."""
    told = statements.tell(s, words, base.others(pool, *words[0][1].evidence))
    if statements.is_of_another_time(s, words[0][1]):
        text = f"I have heard or read nothing of that {s.parsed.time.said if s.parsed.time else 'then'}. At another time: {told.text}"
        return abstain(text, confidence=min(0.4, told.confidence), evidence=told.evidence, alternatives=told.alternatives)
    if s.parsed.kind == "yes_no" and not s.parsed.negated and (said := _verdict(s.parsed, words[0][1])):
        return msgspec.structs.replace(told, text=f"{said}: {told.text}")
    asked = s.parsed.kind == "yes_no" and pattern("ASKS_WHETHER").match(s.parsed.question)  # not "I have forgotten its name"
    if not asked or words[0][1].held > base.ALL_HELD:
        return told
    text, sure = f"I cannot tell. The nearest that I know: {told.text}", min(0.4, told.confidence)
    return abstain(text, confidence=sure, evidence=told.evidence, alternatives=told.alternatives, unverified=s.parsed.words)


def _unknown(s: Session, pool: Pool, lead: Lead) -> Reply:
    """Nothing is likely enough, and why."""
    p = s.parsed
    named = lead.phrase and (lead.recognised or is_seeable(lead.phrase))
    if not named or (stated_prior(p) >= 0.5 and (p.kind == "yes_no" or not fits_pictures(p))):
        faces = " I do not put names to faces." if p.kind == "who" else ""
        text = f"I have heard or read nothing that answers this.{faces}"
        return abstain(text, confidence=0.1, alternatives=base.others(pool), unverified=p.words)
    said = base.not_seen(s, lead, pool)
    told = said.text.startswith("I have not seen")
    asked = p.kind == "yes_no" and is_seen(p) and not p.negated  # "did I lock the door" is not denied
    denied = asked and told and set(base.qualities(lead.phrase)) <= COLOUR_WORDS.keys()
    return msgspec.structs.replace(said, text=f"No, {said.text}") if denied else said
