"""From a question in words to `Parsed`: a dozen kinds by their question words, the parts of its clause by `clause`, time by `timeref`.

English. Any text ends in a `Parsed`, except one without a single letter or figure, which raises UsageError.
"""

from __future__ import annotations

import re
from typing import cast

import msgspec

from edgemem.answer.understand.clause import read_clause
from edgemem.answer.understand.followup import followed, goes_on
from edgemem.answer.understand.forms import form_of
from edgemem.answer.understand.languages import language_of
from edgemem.answer.understand.lexicon import AMBIGUOUS, ASKING_VERBS, AUXILIARIES, MENTAL, PASTS, PERSONS, PRESENTS, STATES, STOP, VERBS, is_comparative, is_seeable, word_classes
from edgemem.answer.understand.normal import normalise, take_quote, take_vague
from edgemem.answer.understand.parts import tokens_of
from edgemem.answer.understand.people import read_asked
from edgemem.answer.understand.phrases import Slots, content, noun_phrase, read_slots, wanted_words
from edgemem.answer.understand.record import Hint, Kind, Parsed, Relation
from edgemem.answer.understand.timeref import TimeRef, take_time
from edgemem.answer.understand.wordings import ORDINALS, pattern, patterns


def understand(text: str, before: Parsed | None = None) -> Parsed:
    """The one way in. `before` is the question that this one may go on about. Raises UsageError when nothing is asked."""
    plain, notes = normalise(text)
    language = language_of(text)
    if language != "en":
        return Parsed(kind="other", text=plain, language=language, words=tuple(re.findall(r"\w+", plain)))
    plain, quote = take_quote(plain)
    body = _without_greeting(plain.rstrip(" ?!."))
    parsed = _command(text, plain, body) or _parsed(text, plain, _without_lead(body), quote)
    parsed = followed(parsed, before) if before is not None and parsed.follows else parsed
    return msgspec.structs.replace(parsed, notes=notes)


def _command(raw: str, plain: str, body: str) -> Parsed | None:
    """What is to be done, as if it were said "you ...". Verbs that ask for an answer are no commands."""
    parts = pattern("APART").split(body)[1:]
    if any(_asks_itself(part) for part in parts):
        return None
    command = pattern("COMMAND").match(body)
    if command is None:
        command = pattern("IMPERATIVE").match(body)
        if command is None or VERBS.get(command[1]) != command[1] or command[1] in ASKING_VERBS:
            return None
    negated = pattern("NOT").match(body) is not None
    time, rest = take_time(re.sub(r"^(?:don't|do not|never) ", "", body) if negated else body[command.start(1) :])
    rest, vague = take_vague(rest)
    if while_ := pattern("COMMAND_TIME").search(rest):
        rest, vague = rest[: while_.start()], f"{while_[0]} {vague}".strip()
    rest = pattern("MEDIUM").sub(" ", rest)
    named = read_slots(f"you {rest}", raw, "command")
    return Parsed(
        kind="command", text=plain, command=command[1], things=named.things, place=named.place, person=named.person, time=time,
        predicate="remind" if command[1].startswith("remind") else named.order or command[1],
        clause=vague, negated=negated, words=tuple(content(rest)[1:]),
        hint=next((hint for hint in ("seen", "said") if pattern(hint.upper()).search(rest)), "none"),
    )  # fmt: skip


def _asks_itself(part: str) -> bool:
    """Another question or search behind what looks like a command: "cut my thumb. Find the plaster"."""
    return not pattern("BARE_ASK").match(part) and any(pattern(name).match(part) for name in ("WH", "SEARCH"))


def _parsed(raw: str, plain: str, body: str, quote: str) -> Parsed:
    topic, body = _main_clause(body)
    core = f"{topic}, {body}" if topic else body
    core = "" if core in plain and len(content(core)) == len(content(plain)) else f"{core}{'?' * plain.endswith('?')}"
    body, vague = take_vague(_without_lead(body))
    told = pattern("WHILE").search(body)
    told = told if told and pattern("SPOKEN_OF").search(body, told.end()) and pattern("SEEN").search(body, 0, told.start()) else None
    time, topic, timeless = _times(topic, body[: told.start()] if told else body)
    story = _story(topic)
    timeless += body[told.start() :] if told else ""  # of what time they spoke then is no time of the question
    timeless = pattern("ASKED_OF").sub("what is ", timeless) or ("" if goes_on(plain) else "what did i see")
    kind, detail, rest = _head(timeless)
    if kind == "where" and plain.startswith(("and ", "or ")) and not re.search(r"\b(?:where|find|show)", plain):
        kind = "other"
    kind = "which" if kind == "yes_no" and timeless.endswith(" or") else kind  # "on saturday or on sunday"
    if kind in {"yes_no", "where", "other"} and not pattern("ASKING").match(re.sub(r"^(\w+)n't\b", r"\1", pattern("JOINT").sub("", timeless))):
        met = pattern("MET_WITH").search(timeless)
        kind, detail = _cue(plain) or ("when" if kind == "yes_no" and met and not pattern("WHETHER").search(timeless) else kind, detail)
        rest = _of_meeting(timeless) if met and kind in {"when", "where", "how_many"} else rest
    rest, relation, anchors, clause = (timeless, "", (), "") if kind == "order" else _take_relation(rest, kind)
    quoted = pattern("NAMED_TEXT").search(rest)
    about = read_slots(story or topic, raw, "other")
    named = read_slots(pattern("PICTURED").sub(" ", pattern("MEDIUM").sub(" ", rest)), raw, kind)
    if kind in {"when", "how_many"} and named.verb not in {"", "be"}:  # not "I took my tablets, when was that"
        about = msgspec.structs.replace(about, claim="")
    own, named = named.things, _with_topic(named, about, kind, told=bool(story))
    things, place = named.things, named.place
    if kind == "what" and place and not (things or anchors or named.attribute) and named.verb in {"", "be"}:
        relation, anchors, clause, place = "side", (noun_phrase(place),), place, ""
    if kind == "order" and things and pattern("BEFORE_OR_AFTER").search(timeless):
        things, anchors = things[:1], things[1:2]
    choices = named.choices if not anchors else ()
    if kind in _OF_TWO and not (anchors or is_comparative(named.claim)) and pattern("RANKED").search(body):  # "tomato, pear, who came earlier"
        choices = choices or (() if own else _seeable(about.things))
        kind = "order" if len(choices) == 2 else kind
    quote = quote or (quoted[1].strip() if quoted else "")
    things = (quote,) if quote else tuple(one for one in things if one not in anchors and (kind != "order" or one not in choices))
    while_ = read_slots(clause, raw, "other")
    person = named.person or (while_.person if while_.verb or AUXILIARIES & set(clause.split()) else "")
    bare = not story or not content(timeless)  # "I should be ashamed to get it wrong" names nothing
    told_of = " ".join(part for part in topic.split(" , ") if bare or noun_phrase(part))
    text, asked = f"{told_of} {timeless}".strip(), timeless.replace(clause or " ", " ") if relation != "side" else timeless
    hinted = asked if re.search(r"\b(?:i|we) (?:told|said|mentioned|asked)\b", story) else f"{topic} {asked}".strip()
    hint = _hint(hinted, named, kind)
    if kind in {"when", "where", "how_many"}:
        things = _pointed(things, seen=hint in {"none", "seen"} and (kind == "when" or (kind == "where" and bool(about.things))))
    form = (kind != "when" and form_of(kind, asked)) or form_of(kind, hinted)
    return Parsed(
        kind=kind, text=plain, core=core, form=form, things=things, place=place, person=person,
        predicate=_predicate(kind, detail, named) or _of_bare(kind, timeless, topic), verb=named.verb, negated=_negated(timeless), hint=hint,
        ordinal=place_in_row(core, kind) or place_in_row(plain, kind), relation=relation, anchors=anchors, choices=choices, quote=quote,
        counts=detail if detail in {"times", "at_once"} else "",  # type: ignore[arg-type]
        time=time, clause=" ".join(filter(None, (clause, vague))), words=wanted_words(text, kind),
        follows=goes_on(plain), asked=None if quote else read_asked(_without_lead(timeless)),
    )  # fmt: skip


_OF_TWO = frozenset(("what", "which", "who", "where", "yes_no"))
"""Kinds of a question that names two things and asks for their order."""


def _with_topic(named: Slots, about: Slots, kind: Kind, *, told: bool) -> Slots:
    """With what stands before the question: "the mug, where is it"; of a sentence ("I had it here, but where ...") only its things."""
    about = msgspec.structs.replace(about, things=_seeable(about.things))
    things = named.things if not about.things or any(map(is_seeable, named.things)) else ()
    person = about.person if about.person and named.person in {"he", "she", "him", "her"} else named.person or about.person
    if told:
        return msgspec.structs.replace(named, things=things or about.things[:1], person=person)
    told_of = about.claim if about.things or about.person else ""
    return msgspec.structs.replace(
        named, things=tuple(dict.fromkeys((*about.things, *things))), person=person,
        place=named.place or (about.place if kind != "where" else ""), verb=about.verb if named.verb in {"", "be"} else named.verb,
        claim=named.claim or ("" if named.things else told_of),
    )  # fmt: skip


def _seeable(things: tuple[str, ...]) -> tuple[str, ...]:
    """Without what cannot be seen, where another is named: "I could have sworn there was a mouse"."""
    return tuple(filter(is_seeable, things)) or things


def _pointed(things: tuple[str, ...], *, seen: bool) -> tuple[str, ...]:
    """Without words for when it was ("the minute", "my first look"); where it was seen, without what cannot be seen."""
    named = tuple(one for one in things if not pattern("VAGUE_THING").fullmatch(one)) or things
    return _seeable(named) if seen else named


def _predicate(kind: Kind, detail: str, named: Slots) -> str:
    """What is claimed or asked: a deed or state, the attribute that is asked for; of persons that they are "named"."""
    if (kind == "who" and named.attribute) or detail == "named":
        return "named"
    return named.attribute or (detail if detail not in {"times", "at_once", "price"} else "") or named.claim


def _of_bare(kind: Kind, timeless: str, topic: str) -> str:
    """What "does it?" asks whether it is so: the last that was told."""
    bare = kind == "yes_no" and re.fullmatch(r"\w+(?:n't)? (?:it|that|this|they|he|she|i|we)", timeless)
    return " ".join(content(topic.rpartition(" , ")[2])) if bare else ""


# --------------------------------------------------------------------------------------------------------------- whole text


def _without_greeting(body: str) -> str:
    while (match := pattern("LEAD").match(body)) and match.end() < len(body):
        body = body[match.end() :].strip()
    return body


def _without_lead(body: str) -> str:
    """Without greetings and "do you know": the question itself."""
    body = _without_greeting(body)
    asked = pattern("EMBEDDED").search(body)
    before = set(tokens_of(body[: asked.start()])) if asked else set()
    bare = before & MENTAL and before <= STOP | MENTAL | {","} and "when" not in before
    requested = asked and pattern("REQUEST").fullmatch(body[: asked.start()].strip()) and noun_phrase(body[asked.end() :])
    if asked and (bare or requested):
        body = body[asked.start() :]
    return body or "what did i see"


def _main_clause(body: str) -> tuple[str, str]:
    """What stands before the question itself ("the mug, where is it"), and the question, both without why it is asked."""
    parts = _telling([part.strip(" ?!.;") for part in pattern("APART").split(_without_cut(body)) if re.search(r"\w", part)] or [body])
    asks = [pattern("ASKING").match(part.strip(" '")) is not None for part in parts]
    if len(parts) > 1 and pattern("WHEN_CLAUSE").match(parts[0]):
        later = asks.index(True, 1) if True in asks[1:] else 0
        return "", f"{pattern('SECOND').split(', '.join(parts[later:]))[0]} {parts[0]}" if later else body
    bare = [part.strip(" '") if asks[0] else _without_lead(pattern("JOINT").sub("", part.strip(" '"))) for part in parts]
    wh = [pattern("WH").match(part) is not None for part in bare]
    joined = [pattern("ASKING").match(pattern("JOINT").sub("", part.strip(" '"))) is not None for part in parts]
    told_to = [pattern("TOLD_TO").match(part) is not None for part in bare]
    first = next((found.index(True) for found in (wh, joined, told_to) if True in found), 0)
    asked = pattern("SECOND").split(pattern("JOINT").sub("", ", ".join(parts[first:])))[0]
    topic = " , ".join(parts[:first])
    return (topic, asked) if first and (content(topic) or take_time(topic)[0]) else ("", asked)


def _telling(parts: list[str]) -> list[str]:
    """Without why it is asked and what goes on meanwhile: "I'm cooking", "he needs it tomorrow".

    It stays where it names what the rest calls "it": "I need the saw, where is it".
    """
    asking = [part for part in parts if not pattern("BARE_ASK").match(part.strip(" '"))]
    kept = [part for part in asking if not _is_reason(part.strip(" '"))]
    points = any(pattern("POINTS").search(part) for part in kept)
    bare = points or any(pattern("OF_SEEN").search(part) for part in kept)
    said = any(map(_names_thing, kept)) or (not bare and any(set(content(part)) - MENTAL - ASKING_VERBS for part in kept))
    first = 0 if said else asking.index(kept[0]) if kept else 0
    begun = next((i for i, part in enumerate(kept) if pattern("WH").match(part.strip(" '"))), len(kept))
    kept = [part for i, part in enumerate(kept) if i <= begun or _asks(part) or not _says_nothing(part)]
    return [*asking[:first], *kept] or asking or parts


def _says_nothing(part: str) -> bool:
    """What somebody adds that names neither a thing nor a place: "I was half asleep"."""
    phrases = read_clause(tokens_of(take_time(part)[1])).phrases
    return pattern("TOLD").match(part) is not None and not any(phrase.prep or is_seeable(phrase.text) for phrase in phrases)


def _names_thing(part: str) -> bool:
    """Names what can be seen, but for where it was: "where is it in the newspaper" names none."""
    found = read_clause(tokens_of(pattern("MEDIUM").sub(" ", take_time(part)[1]))).phrases
    named = [phrase.text for phrase in found if not phrase.prep]
    return any(is_seeable(one) and not pattern("VAGUE_THING").fullmatch(one) for one in named)


_NOW = frozenset("am is are isn't aren't will won't would should must might can can't cannot have has do does don't doesn't promised".split())
_FACTS = frozenset(("say", "says", "know", "remember", "recall", "think", "believe", "reckon", "swear", "bet"))
"""Behind these stands what was so rather than what is going on."""


def _is_reason(part: str) -> bool:
    """Why it is asked, or what somebody does now or will do: "in case he asks", "my son needs it"."""
    doing = pattern("MEANWHILE_OF").match(part)
    verb, *after = (doing[2] or "is", *tokens_of(part[doing.end() :])[:1]) if doing else ("",)
    if _asks(part):
        return part.startswith("before ") and _is_now(verb)  # "before I ask what kind it was"
    if doing and doing["thing"] and verb in {"is", "are"}:  # "my heel is bleeding", not "our car is beside the pillar"
        return any(word.endswith("ing") for word in after)
    return pattern("REASON").match(part) is not None or (verb not in _FACTS and any(map(_is_now, (verb, *after))))


def mentioned(text: str) -> tuple[str, ...]:
    """Everything in a text that can be seen, whatever is asked about it."""
    clauses = [read_clause(tokens_of(part)) for part in pattern("APART").split(text) if part and content(part)]
    named = [[word for word in phrase.words if not pattern("VAGUE_THING").fullmatch(word)] for one in clauses for phrase in one.phrases]
    return tuple(dict.fromkeys(" ".join(words) for words in named if words and words[-1] not in PERSONS and is_seeable(" ".join(words))))


def _is_now(verb: str) -> bool:
    past = verb in PASTS or verb == "was"
    return verb in _NOW | (PRESENTS - AMBIGUOUS) or (verb.endswith("s") and not past and "VERB" in word_classes(verb))


def _asks(part: str) -> bool:
    """Somewhere it asks, or names what is wanted: "I need the time of it"."""
    return any(pattern(name).search(part.removeprefix("if ")) is not None for name in ("EMBEDDED", "WANTED"))


def _without_cut(body: str) -> str:
    """The same for a clause that hangs on the question: "when did I see the pear, since I'm keeping a diary"."""
    shorter = pattern("CUT").sub(lambda match: match[0] if _asks(match[0]) else "", body)
    return shorter if content(shorter) else body


def _story(topic: str) -> str:
    """Of what is told before a question the last that names something: "I cut my hand, there was a plaster here, where is it?"."""
    parts = topic.split(" , ")
    told = [part for part in reversed(parts) if pattern("TOLD").match(part)]
    timeless = [take_time(part)[1] for part in (*told, *parts) if told]
    named = [part for part in timeless if noun_phrase(part)]
    met = [(part, pattern("MET_WITH").search(part)) for part in named]
    named = [_of_meeting(part) for part, found in met if found] + [part for part, found in met if not found]
    return next((part for part in named if noun_phrase(part).rpartition(" ")[2] not in PERSONS), (*named, *told, "")[0])


def _of_meeting(part: str) -> str:
    """From where it tells what was there: "nobody believes that I saw an ape"."""
    found = pattern("MET_WITH").search(part)
    return part[found.start() :] if found and noun_phrase(part[found.start() :]) else part


def _times(topic: str, body: str) -> tuple[TimeRef | None, str, str]:
    """The time of the question or of what stands before it, and both without it. Compared are two: "this week than last week"."""
    time, timeless = take_time(body)
    if topic and time is None and not _story(topic):
        time, topic = take_time(topic)
    if time is not None and re.search(r"\b(?:than|as|or)\b", timeless):
        other, timeless = take_time(timeless)
        time = msgspec.structs.replace(time, said=f"{time.said} {other.said}") if other else time
    return time, topic, re.sub(r"(?<!\S)'s\b", "", timeless).strip(" ,;:-'")


_WORD_OF: dict[Kind, str] = {
    "where": "where", "when": "when", "how_many": "how many", "how_long": "how", "how_why": "how", "who": "who", "what": "what",
    "which": "which",
}  # fmt: skip
"""The question word that a clause begins with when all that is said about the kind is cut."""


def _head(body: str) -> tuple[Kind, str, str]:
    """Kind, detail and the clause: behind its question word, or whole where the begin belongs to it."""
    body = pattern("JOINT").sub("", body.strip(" ,"))
    for name, begin in patterns("HEAD"):
        kind, _, detail = cast("tuple[Kind, str, str]", name.partition(" "))
        if match := begin.match(body):
            whole = (
                kind in {"order", "yes_no"}
                or (" of " in match[0] and detail != "times")
                or (kind == "which" and "which" not in match[0].split())
            )
            if whole or pattern("SUBJECT").match(match[0]):
                return kind, detail, body
            word = "which" if match[0].startswith("whose") else _WORD_OF.get(kind, "") if pattern("ASKING").match(match[0]) else ""
            return kind, detail or next(filter(None, match.groups()), ""), f"{word} {body[match.end() :]}".strip()
    inner = pattern("EMBEDDED").search(body)
    if inner and inner.start():
        kind, detail, rest = _head(body[inner.start() :])
        return kind, detail, f"{body[: inner.start()]} , {rest}"
    return _fragment(body)


def _cue(text: str) -> tuple[Kind, str] | None:
    """What is asked for anywhere in a text that has no question word where one stands: "I lost track of how often"."""
    found = [(match.start(), name) for name, cue in patterns("CUE") for match in cue.finditer(text.rstrip(" ?!."))]
    kind = cast("Kind", max(found)[1]) if found else None
    return (kind, "times" if kind == "how_many" else "") if kind else None


def _fragment(body: str) -> tuple[Kind, str, str]:
    """Of a text without a question word: "telly still on", "the bulbs, cupboard or loft", "last sighting", "red mug"."""
    last = body.rpartition(" ")[2]
    if last in STATES | {"on", "off"} and last != body:
        return "yes_no", "", f"is {body}"
    if apart := re.fullmatch(r"([^,]+), ((?:\w+ )+or (?:\w+ ?)+)", body):
        return "where", "", f"{apart[1]} at {apart[2]}"
    if re.search(r"\b(?:sighting|time|first|last)\b", body):
        return "when", "", body
    return "where" if content(body) else "other", "", body


# ------------------------------------------------------------------------------------------------------- order, relation, time


def place_in_row(text: str, kind: Kind) -> int:
    """What a text says about it: 1 = first, -1 = last, 0 = nothing. Of two the second and the later one is the last."""
    match = pattern("ORDINAL").search(text)
    if match and match[1] == "second" and kind == "order":
        return -1
    if match is None or pattern("LAST_FEW").search(text) or (match[1] == "second" and kind not in {"when", "where", "which"}):
        return 0
    return 0 if match[1] in {"earlier", "later", "sooner"} and kind != "order" else ORDINALS[match[1]]


def take_ordinal(text: str) -> tuple[int, str]:
    """Cut "first", "the last" ... out of a phrase: 1, 2 ..., -1 = last, 0 = none, and the rest."""
    match = pattern("ORDINAL").search(text)
    return (ORDINALS[match[1]], f"{text[: match.start()]} {text[match.end() :]}".strip(" ,")) if match else (0, text)


def _take_relation(body: str, kind: Kind) -> tuple[str, Relation, tuple[str, ...], str]:
    """Split off "(right) after the coffee", "between A and B", "while ...": the rest, the relation, its anchors, and the clause as said."""
    if (match := pattern("BETWEEN").search(body)) and not pattern("LIES").match(body):
        first, second = (group for group in match.groups() if group)
        anchors = tuple(filter(None, (_anchor(first), _anchor(second))))
        if len(anchors) == 2:
            return body[: match.start()], "between", anchors, match[0]
    if match := pattern("RELATION").search(body):
        word: Relation = "before" if match[1] in {"before", "prior to", "until", "preceded"} else "after"
        tail, *main = re.split(r" that (?=(?:i|we|he|she|they|my|the) )", body[match.end() :], maxsplit=1)
        head = " ".join((body[: match.start()].strip(" ,"), *main))
        if anchor := _anchor(tail):
            return head, word, (anchor,), f"{match[0]}{tail}"
        return head, "", (), body[match.start() :]
    if (match := pattern("WHILE").search(body)) and (kind != "when" or "when" not in match[0]):
        phrase = noun_phrase(body[match.end() :])
        return body[: match.start()].strip(" ,"), "while", (phrase,) if phrase else (), body[match.start() :].strip()
    return body, "", (), ""


def _anchor(text: str) -> str:
    """What a relation refers to, with its ordinal: "the last mug" is "last mug"."""
    phrase, ordinal = noun_phrase(text), pattern("ORDINAL").search(text)
    return f"{ordinal[1]} {phrase}" if ordinal and phrase else phrase


def _hint(text: str, named: Slots, kind: Kind) -> Hint:
    """What "says" something without being somebody is read; "called" is no saying."""
    says_text = pattern("SAYS_TEXT").search(text) is not None
    if pattern("SAID").search(text) and not says_text and not pattern("NO_SPEAKER").search(text):
        return "read" if named.written else "said"
    carried = pattern("STANDS_ON").search(text) or (
        kind in {"what", "which", "who", "how_why", "other"} and pattern("CARRIED").search(text)
    )
    if says_text or pattern("READ").search(text) or carried:
        return "read"
    return "seen" if pattern("SEEN").search(text) and not named.claim.endswith(" seen") else "read" if named.written else "none"


def _negated(body: str) -> bool:
    """Whether it is denied: "didn't I ...?" asks whether I did; "have I not", "never" and "no milk" ask whether not."""
    return pattern("NOT").search(re.sub(r"^\w+n't\b", "", body)) is not None
