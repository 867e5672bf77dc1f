"""Answers from words: what was said or read, the short answer first and then the quote. The words are never our own."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from edgemem.answer.compose import at, legible, quote, time_text, times
from edgemem.answer.gather import Candidate, Pool, held_shares
from edgemem.answer.retrieve import Query, held
from edgemem.answer.say.base import ALL_HELD, CITED, OCCASION_US, Window, abstain, answered, window_of
from edgemem.answer.session import Session
from edgemem.answer.tools import Reply
from edgemem.answer.understand import Parsed
from edgemem.answer.understand.forms import STRICT, fits, names, short_answer
from edgemem.answer.understand.lexicon import (
    ASKING_VERBS,
    ATTRIBUTES,
    CARRIERS,
    FIRST_NAMES,
    NO_NAMES,
    PERSONS,
    SAYING,
    SEEING,
    STOP,
    VERBS,
    WORN,
    WRITING,
)
from edgemem.answer.understand.record import Form
from edgemem.answer.understand.timeref import WEEKDAYS
from edgemem.answer.understand.wordings import ORDINALS, pattern
from edgemem.answer.understand.words import (
    best_word,
    likeness,
    line_of,
    meaning,
    number_in,
    numbered,
    root,
    similar_texts,
    singular,
    spaced,
    squeeze,
    words,
)
from edgemem.answer.weigh import asked_already, happened, heard_right, is_likely, stated, stated_prior
from edgemem.infer.phrase import COLOUR_WORDS
from edgemem.words import word_classes

_MINE = re.compile(rf"\b(?:i|we) (?:{'|'.join(sorted(SAYING))})\b")
"""The one who asks said it; a person in such a question was told it or is what it is about."""
_NAMED = frozenset(("named", "name", "surname", "called"))
"""What is asked for is a name, which stands in what was said with a capital."""
SIGNS = frozenset(("sign", "signboard", "notice", "poster", "plaque", "billboard", "banner", "nameplate"))
_LETTERING = frozenset(("writing", "text", "lettering", "print"))
"""What stands on all of them, but for a text that is said, sent or written."""
_NUMBERS = frozenset(("numbers", "figures", "digits"))
_TEXTS = SIGNS | _LETTERING | {singular(word) for word in _NUMBERS}
_OF_ALL = frozenset(("what", "which", "list", "summary", "yes_no"))
"""Kinds of a question that may ask for all that was read."""
_SENT = SAYING | {"write", "get", "send"}
_SHORTEST, _TOLD = 3, 10
"""Shorter readings are hardly signs; so many signs are told at once."""
_FIGURES = frozenset(("price", "time", "duration"))
"""What a question asks for in so many words that a figure which it says itself is none."""
_CLEAR = 0.67
"""Two of three times right, so that it need not be said that words were hardly heard."""
_UNHEARD = 0.6
"""What is left of the confidence in a name that nobody is known to have: of 60 spoken names 4 of 12 such were right and 27 of 48 others
(`tools/eval/heard.py`); of answers on life logs 0 of 12, with three names, and 59 of 62."""
_AS_LIKELY = 0.85
"""A second thing that was said is told as well where it is at least this share as likely."""
_COUNTED = 0.5
"""Share of the confidence in words that their number deserves; chosen, not fitted."""
ALIKE = 0.6
"""Words that are less alike say something else."""


Ranked = Sequence[tuple[float, Candidate]]
"""Words by how likely they answer the question, best first."""


def ranked(s: Session, pool: Pool) -> Ranked:
    """Words by how likely they answer the question, best first; of two alike the newer. What was told several times ("the car is on level
    3", the next day 5) is first as it was told last in the time that is asked about, or as the question's place in a row has it.
    """
    p, asked = s.parsed, _asked(s)
    of_anchor = words(p.anchors[0]) if p.relation == "before" and p.anchors else []  # "what was it called before Daisy"
    until = [one for one in pool.candidates if of_anchor and held(of_anchor, one.text) >= 1]
    mine = [one for one in pool.candidates if may_tell(p, one)]
    likely = ((stated(p, one), one) for one in pool.candidates if one in mine or one in until)
    found = sorted(likely, key=lambda pair: (-round(pair[0], 3), -pair[1].t0_us))
    told = versions(p, found)
    day = p.time.day if p.time and p.time.day in WEEKDAYS else ""  # "who is it on Saturday": the day is what they tell
    of_day = [pair for pair in told if day and day in pair[1].text.lower()]
    then = of_day or [pair for pair in told if asked.holds(pair[1].t0_us)] or told
    place = p.ordinal - (p.ordinal > 0) if p.ordinal else -1
    if until:
        place = next((i for i, (_, one) in enumerate(then) if one in until), 0) - 1
        place = len(then) if place < 0 else place
    best = [pair for pair in found if pair[1] in mine]
    if p.ordinal < -1 and then:  # what it was before is another than what it is
        then = [pair for pair in then if _differ(pair[1], then[-1][1])]
        place += 1
        best = best if then else []
    if not -len(then) <= place < len(then):
        return best
    return [(found[0][0], then[place][1]), *(pair for pair in best if pair is not then[place])]


def _asked(s: Session) -> Query:
    """The time that is asked about."""
    return Query(text="", from_us=s.span.from_us, to_us=s.span.to_us)


def versions(p: Parsed, found: Ranked) -> Ranked:
    """The likeliest words and others that tell the same of another time, oldest first: of the same channel, as likely or nearly
    the same words, and hold all of the question's words but figures that those hold ("is he a 43": now he is a 46).
    """
    if not found:
        return []
    sure, best = found[0]
    naming = {word for thing in (*p.things, p.person) if not thing[:1].isdigit() for word in numbered(thing)}  # "bus 87", not "5 euros"
    asked = (word for word in numbered(" ".join(p.words)) if not word.isdigit() or word in naming)
    own = [word for word in asked if best_word(word, line_of(best.text))]
    mine = (pair for pair in found if pair[1].channel == best.channel and all(best_word(word, line_of(pair[1].text)) for word in own))
    same = [pair for pair in mine if similar_texts(pair[1].text, best.text) >= ALIKE or (pair[0] >= _AS_LIKELY * sure and is_likely(*pair))]
    return sorted(same, key=lambda pair: pair[1].t0_us)


def replaced(p: Parsed, found: Ranked) -> list[Candidate]:
    """What the first of these words was told as on another occasion."""
    return [one for _, one in versions(p, found) if abs(one.t0_us - found[0][1].t0_us) > OCCASION_US]


def may_tell(p: Parsed, one: Candidate) -> bool:
    """Not what another than the one asked about said, nor what is of another ("Dr. Keller" for "Dr. Patel"), nor what has no number or name
    where one is asked; talk about a thing is no sight of it, and a sign with its name does not tell how often it came.
    """
    carried = not CARRIERS.isdisjoint(map(singular, (*p.words, *words(p.target))))
    on_sign = one.channel == "text" and p.hint == "said" and p.verb in SAYING - {"ask"} and not carried  # what somebody said
    if on_sign or (p.verb not in SAYING and _of_another(p, one)) or _of_other_things(p, one) or _is_echo(p, one):
        return False
    by_another = p.person and one.speaker and not set(words(p.person)) & set(words(one.speaker))
    if p.hint == "said" and by_another and p.verb in SAYING and not _MINE.search(p.text):
        return set(words(p.person)) <= set(words(one.text))
    counted: Form = "frequency" if pattern("FREQUENCY").search(p.question) else "number"
    placed = p.form == "place" and pattern("DESTINATION" if one.channel == "text" else "WH").search(p.question)
    form: Form = counted if p.kind == "how_many" else p.form if p.form in STRICT or placed else ""
    if not fits(form, one.text, asked_already(p) if form in _FIGURES or p.kind == "how_many" else ()):
        return False
    of_whom = p.person and not p.things and p.verb in {"", "be"}  # "who is Robert" asks for more than a name
    named = (p.predicate in _NAMED and p.kind != "yes_no") or (p.kind == "who" and p.verb not in SAYING and not of_whom)
    if named and one.channel == "speech" and not names(one.text, words(" ".join((p.text, *p.without))), persons=p.kind == "who"):
        return False
    unsaid = p.kind == "yes_no" and p.hint == "said"  # nor that it was said
    if one.channel == "text" and (unsaid or (p.counts == "times" and p.hint == "none" and counted == "number")):
        return False
    return p.hint != "seen" or p.kind in {"what", "which", "who"} or stated_prior(p) >= 0.5


def _is_echo(p: Parsed, one: Candidate) -> bool:
    """A sign that says no more than the question: "TOOLS" to "what tools did I see", "any tools"."""
    of_any = p.hint == "none" and _asks_of_any(p)
    seen = one.channel == "text" and (of_any or (p.hint == "seen" and p.kind in {"what", "which", "list"}))
    return seen and {root(word) for word in numbered(one.text)} <= {root(word) for word in numbered(p.question)}


def _of_another(p: Parsed, one: Candidate) -> bool:
    """The words name somebody, and not the one whom the question names; or "my brother's" where "my sister's" is asked about."""
    owners, others = (PERSONS & set(re.findall(r"\w+(?='s\b)|(?<=of my )\w+", text.lower())) for text in (p.text, one.text))
    owners |= PERSONS & set(words(p.person))  # "my sister, what size does she take"
    if p.kind != "who" or p.predicate in _NAMED:  # not "who should be called", said of "my mother"
        others |= PERSONS & set(re.findall(r"(?<=\bmy )\w+", one.text.lower()))
    if owners and others and not set(map(meaning, owners)) & set(map(meaning, others)):
        return True
    asked, line = [word for word in numbered(p.person) if word not in PERSONS | STOP | NO_NAMES], line_of(one.text)
    return bool(asked) and not any(best_word(word, line) for word in asked) and names(one.text, words(p.text))


def _of_other_things(p: Parsed, one: Candidate) -> bool:
    """A sign with the price of something else, the name alone where more is asked of who has it ("what breed is Rocky"), or, where it is
    asked what somebody wore or held, words that do not say it.
    """
    line, things = line_of(one.text), [word for thing in p.things for word in words(thing) if word not in ATTRIBUTES | CARRIERS]
    if p.form == "price" and one.channel == "text":
        return not (any(best_word(word, line) for word in things) if things else pattern("MONEY").search(one.text))
    if p.form == "colour" and best_word(singular(p.target), line):  # "the car is next to the green pillar" tells no colour of the car
        said = re.findall(rf"\b(?:{'|'.join(COLOUR_WORDS)})\b(?: (\w+))?", one.text.lower())
        if said and all("NOUN" in word_classes(noun) and not best_word(noun, line_of(p.text)) for noun in said):
            return True
    told = re.search(r"\b(?:called|named|name is) ([\w-]+)\W*$", one.text.lower())
    if told and p.predicate in ATTRIBUTES - _NAMED and told[1] in words(p.text):
        return True
    return p.kind == "what" and not p.form and p.verb in WORN and all(VERBS.get(word) != p.verb for word in line.words)


def signs(s: Session, pool: Pool, window: Window | None = None) -> Reply | None:
    """The signs themselves: the first or last one, or all: "what signs did I see", "list everything I read". None where more is asked, or
    there was none. Those in a window, where the question's relation puts them in one.
    """
    p = s.parsed
    asked, (from_us, to_us) = {singular(word) for word in (*p.words, *words(p.target))} - ORDINALS.keys(), window or window_of(s)
    asked -= set(words(p.clause)) - SIGNS if window else set()
    ordinal = p.ordinal or ORDINALS.get(p.target.partition(" ")[0], 0)  # "the second sign"
    several = asked & SIGNS and (window or not p.anchors) and (ordinal or singular(p.target) != p.target)
    figures = not _NUMBERS.isdisjoint((*p.things, *(f"{one}s" for one in p.things[1:]))) and (  # "which signs have a number"
        p.hint == "read" or p.kind == "list" or p.verb in SEEING | WRITING or _asks_of_any(p)
    )
    lettering = (p.target in _LETTERING or figures) and p.kind in _OF_ALL and p.verb not in _SENT
    every = p.verb in {"read", "write"} and p.hint == "read" and p.kind in _OF_ALL - {"yes_no"} and not (p.target or p.person or p.place)
    whether = p.kind == "yes_no"
    seen = SEEING if whether else SEEING | WRITING | {p.verb}
    beside = {form for form, base in VERBS.items() if base in seen} | ASKING_VERBS  # not "signs about parking"
    if not (several or lettering or every) or not asked <= _TEXTS | beside or (whether and not _asks_of_any(p)):
        return None
    now = Query(text="", from_us=from_us, to_us=to_us)
    read = [one for one in pool.candidates if one.channel == "text" and now.holds(one.t0_us)]
    read = [one for one in read if (any(map(str.isdigit, one.text)) if figures else is_text(one.text))]
    read.sort(key=lambda one: one.t0_us)
    kept = [one for i, one in enumerate(read) if all(similar_texts(one.text, other.text) < ALIKE for other in read[:i])]
    some = kept[ordinal - 1 if ordinal > 0 else ordinal :][:1] if ordinal else kept
    if not some:
        return None
    told = " ".join(_statement(s, one) for one in some[:_TOLD])
    more = f"{len(some)} sign{'s' * (len(some) != 1)}. " if p.kind == "how_many" else "Yes: " if whether else ""
    told += f" And {len(some) - _TOLD} more." if len(some) > _TOLD else ""
    return answered(more + told, 0.5, tuple(one.evidence[0].id for one in some))


def _asks_of_any(p: Parsed) -> bool:
    """Whether there was any text at all: "any signs"."""
    return not (p.negated or p.person or p.place or p.predicate) and re.search(r"\bany\b", p.question) is not None


def said_or_read(s: Session, pool: Pool) -> Reply | None:
    """Whether something was said or read, where that is asked ("level three, was that on a sign or did somebody say it"): by what holds
    most of it, or both. None where nothing holds half of it.
    """
    p = s.parsed
    if p.kind not in {"yes_no", "which"} or not pool.candidates or not pattern("SAID_OR_READ").search(p.text):
        return None
    meant = [word for word in p.words if VERBS.get(word) not in SAYING | WRITING | {"hear"} and singular(word) not in SIGNS]
    own = numbered(" ".join(meant))
    shares = held_shares(own, [one.text for one in pool.candidates], [one.around for one in pool.candidates])
    share, best = max(zip(shares, pool.candidates, strict=True), key=lambda pair: pair[0])
    if not own or share < _HALF:
        return None
    pairs = zip(shares, pool.candidates, strict=True)
    other = [one for held, one in pairs if one.channel != best.channel and held >= _AS_LIKELY * share][:1]
    was, not_ = ("read", "said") if best.channel == "text" else ("said", "read")
    begin = "It was said and read" if other else f"It was {was}, not {not_} that I know"
    both = [best, *other]
    return answered(f"{begin}: {' '.join(_statement(s, one) for one in both)}", 0.6 * share, tuple(one.evidence[0].id for one in both))


_HALF = 0.5
"""Share of a question's words from which on words may be what it is about."""


def is_text(text: str) -> bool:
    """One of its words is a word: not the print on a circuit board ("C68 R40")."""
    return len(squeeze(text)) > _SHORTEST and legible(text) > 0


def tell(s: Session, best: Ranked, others: tuple[str, ...] = ()) -> Reply:
    """The likeliest words, and the next where they fit as well and say something else."""
    sure, one = best[0]
    if len(every := each_version(s, best)) > 1:
        text = f"{' '.join(_statement(s, two) for _, two in every[:_TOLD])}{f' And {len(every) - _TOLD} more.' * (len(every) > _TOLD)}"
        return answered(text, min(share * heard_right(two) for share, two in every), tuple(two.evidence[0].id for _, two in every))
    asked = _asked(s)
    then = [pair for pair in best[1:] if asked.holds(pair[1].t0_us) or not asked.holds(one.t0_us)]
    also = [two for share, two in then if share >= _AS_LIKELY * sure and similar_texts(one.text, two.text) < ALIKE][:1]
    clear = heard_right(one) * (_UNHEARD if is_unheard(s.parsed, one) else 1.0)
    text = _statement(s, one) + "".join(f" It may also be this: {_statement(s, two)}" for two in also)
    text += "" if clear >= _CLEAR else " I did not hear it clearly."
    text += _earlier(s, one, best)
    rest = dict.fromkeys((*(two.evidence[0].id for _, two in best[1 : 1 + CITED]), *others))
    ids = dict.fromkeys(e.id for e in (one.evidence[0], *(two.evidence[0] for two in also), *one.evidence[1:3]))
    return answered(text, sure * clear, tuple(ids), option_of(s, [one.text]), alternatives=tuple(rest))


def each_version(s: Session, best: Ranked) -> Ranked:
    """All that was told in the time that is asked about, where several are asked for ("all buses since Sunday"): each text once, as it was
    told first.
    """
    p, asked = s.parsed, _asked(s)
    if p.ordinal or not best or singular(p.target) == p.target or not pattern("ALL_OF").search(p.question):
        return []
    told = [pair for pair in versions(p, best) if asked.holds(pair[1].t0_us)]
    return [pair for i, pair in enumerate(told) if all(_differ(pair[1], other) for _, other in told[:i])]


def _differ(one: Candidate, other: Candidate) -> bool:
    """Each of them has a word that the other has not, as far as can be heard and read."""
    lines = line_of(one.text), line_of(other.text)
    return any(not best_word(word, lines[1]) for word in lines[0].words) and any(not best_word(word, lines[0]) for word in lines[1].words)


def how_often(s: Session, pool: Pool) -> Reply | None:
    """How often something was said: each time once. None where that is not asked, or nothing holds all words of it."""
    p = s.parsed
    if p.kind != "how_many" or p.counts != "times" or p.hint != "said":
        return None
    found = {one.evidence[0].id: one for one in pool.candidates if one.channel == "speech" and one.held > ALL_HELD}
    told = sorted(found.values(), key=lambda one: one.t0_us)
    if not told:
        return None
    text = f"{times(len(told))}: {' '.join(_statement(s, one) for one in told[:_TOLD])}"
    return answered(text, _COUNTED * min(map(heard_right, told)), tuple(one.evidence[0].id for one in told))


def is_of_another_time(s: Session, one: Candidate) -> bool:
    """It was told outside of the past time that is asked about, and does not name that time itself ("on Saturday")."""
    p, span = s.parsed, s.span
    asked = p.time is not None and (happened(p) or p.verb in SAYING) and not (span.problem or span.to_come)
    own = p.time is not None and bool(set(words(p.time.said)) & set(WEEKDAYS) & set(words(one.text)))
    return asked and not own and not _asked(s).holds(one.t0_us)


def then_and_now(s: Session, told: Ranked) -> Reply:
    """Whether what was told changed since the time that is asked about, or since it was told before."""
    within = [pair for pair in told if s.span.from_us is not None and _asked(s).holds(pair[1].t0_us)]
    sure, now = (within or told)[-1]
    before = [one for _, one in told if one.t0_us < now.t0_us]
    then = within[0][1] if len(within) > 1 else before[-1] if before else None
    if then is None:
        return answered(f"I know only this: {_statement(s, now)}", _COUNTED * sure, (now.evidence[0].id,))
    same = re.search(r"\bsame\b", s.parsed.question) is not None
    said = "Yes: " if _differ(now, then) != same else "No: "
    if which_way := pattern("BECAME").search(s.parsed.question):
        less, more = (pattern(name).search(which_way[0]) for name in ("LESS", "MORE"))
        here, there = number_in(now.text), number_in(then.text)
        said = ""
        if (less or more) and here is not None and there is not None:
            said = "Yes: " if (here < there if less else here > there) else "No: "
    text = f"{said}{'now' if said else 'Now'} {_statement(s, now)} Then {_statement(s, then)}"
    return answered(text, _COUNTED * sure * min(heard_right(now), heard_right(then)), (now.evidence[0].id, then.evidence[0].id))


def _earlier(s: Session, one: Candidate, best: Ranked) -> str:
    """What was told before it, on another occasion and in other words, where no time is asked about."""
    told = [two for _, two in versions(s.parsed, best) if two.t0_us < one.t0_us - OCCASION_US and _differ(one, two)]
    return f" Before that: {_statement(s, told[-1])}" if told and s.parsed.time is None and s.parsed.kind != "yes_no" else ""


def is_unheard(p: Parsed, one: Candidate) -> bool:
    """A name was said that is no word and no first name: "Asco", where it was "Oscar"."""
    asked = (p.form == "name" or p.predicate in _NAMED) and one.channel == "speech"
    named = words(short_answer("name", one.text, p.words)) if asked else []
    return bool(named) and not any(word in FIRST_NAMES | PERSONS or word_classes(word) for word in named)


def _statement(s: Session, one: Candidate) -> str:
    plain = spaced(" ".join(one.text.split()))
    said = quote(plain)
    short = short_answer(s.parsed.form, one.text, s.parsed.words)
    lead = f"{short[:1].upper()}{short[1:]}: " if short and short.lower() != plain.lower() else ""
    if one.channel == "speech":
        who = {"me": "you", "": "somebody"}.get(one.speaker, one.speaker)
        who = who if lead else who[:1].upper() + who[1:]
        return f"{lead}{who} said {said} at {time_text(one.t0_us, s.question.tz)}."
    return f"{lead}{said}, read {at(one.evidence[0], s.question.tz)}."


def option_of(s: Session, texts: Sequence[str]) -> int | None:
    """The option whose words stand in the likeliest of the texts, None where none does."""
    shares = ([likeness(option, text) for option in s.question.options] for text in texts)
    return next((share.index(max(share)) for share in shares if max(share, default=0.0) >= 0.5), None)


_COMMANDS = {
    "edgemem forget --memory DIR --from ... --to ... (first with --dry-run)": "forget delete erase remove wipe clear redact blur",
    "edgemem run": "record resume start",
    'edgemem name ID "NAME" --memory DIR': "name save label rename remember merge",
    "edgemem memory export FILE --memory DIR": "export share send download",
    "edgemem memory backup FILE --memory DIR": "back",
    "edgemem pause --memory DIR": "pause turn switch stop",
}
"""What carries out what is asked for by each verb."""


def carried_out(command: str) -> str:
    """What carries out a command in words, "" where nothing does."""
    return next((own for own, verbs in _COMMANDS.items() if re.split(r"\W", command)[0] in verbs.split()), "")


def refuse(s: Session, told: Reply | None = None) -> Reply:
    """A question changes nothing: the command that does what was asked for is named, or what else the text asks for is `told` with it
    ("note down when I saw the dog").
    """
    command, refusal = s.parsed.command, f'I do not carry out commands ("{s.parsed.command}").'
    if told is not None:
        return msgspec.structs.replace(told, text=f"{refusal} {told.text}", unverified=tuple(dict.fromkeys((command, *told.unverified))))
    own = carried_out(command)
    does = f"This does: {own}" if own else "I only answer questions about what was seen and heard."
    return abstain(f"{refusal} {does}", unverified=(command,))
