"""From a question in words to `Parsed`: its kind by `kinds`, the parts of its clause by `clause`, its time by `timeref`.

English. Any text ends in a `Parsed`, except one without a single letter or figure, which raises UsageError.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

import msgspec

from edgemem.answer.understand import lexicon
from edgemem.answer.understand.asking import main_clause, second_question, story_of, two_questions, without_greeting, without_lead
from edgemem.answer.understand.context import in_full
from edgemem.answer.understand.followup import followed, goes_on, leans, points_back, related
from edgemem.answer.understand.forms import form_of
from edgemem.answer.understand.kinds import kind_of
from edgemem.answer.understand.languages import language_of
from edgemem.answer.understand.lexicon import AUXILIARIES, VERBS, is_seeable
from edgemem.answer.understand.normal import LIMIT_CHARS, normalise, take_quote, take_vague, take_without
from edgemem.answer.understand.parts import tokens_of
from edgemem.answer.understand.people import Asked, read_asked
from edgemem.answer.understand.phrases import Slots, content, noun_phrase, read_slots, wanted_words
from edgemem.answer.understand.record import About, Hint, Kind, Parsed
from edgemem.answer.understand.relations import place_in_row, pointed_relation, take_ordinal, take_relation
from edgemem.answer.understand.timeref import TimeRef, take_time
from edgemem.answer.understand.wordings import ORDINALS, pattern, patterns
from edgemem.infer.phrase import COLOUR_WORDS
from edgemem.records import Record


def understand(text: str, before: Parsed | None = None) -> Parsed:
    """The one way in. `before` is the question that this one may go on about. Raises UsageError when nothing is asked."""
    plain, notes = normalise(text)
    language = language_of(text)
    if language != "en":
        plain = " ".join(text.lower().split())[:LIMIT_CHARS]
        return Parsed(kind="other", text=plain, language=language, words=tuple(re.findall(r"\w+", plain)))
    plain, its = in_full(plain, before) if before is not None else (plain, None)
    plain, quote = take_quote(plain)
    plain, without = take_without(plain)
    plain, second = two_questions(plain)
    plain, second, compared = (plain, second, False) if second else _two_days(plain)
    body = without_greeting(plain.rstrip(" ?!."))
    parsed = _addressed(plain, body, before) or _command(text, plain, body) or _parsed(text, plain, without_lead(body), quote)
    bare = parsed.anchors != () and all(one in ORDINALS for one in parsed.anchors)  # "how long between the first and the second?"
    parsed = msgspec.structs.replace(parsed, follows=parsed.follows or bare or points_back(parsed))
    if before is not None and (parsed.follows or its or leans(parsed)):
        parsed = related(parsed, its, before) if its else followed(parsed, before)
    parsed = msgspec.structs.replace(parsed, kind="how_many", counts="times", predicate="") if compared else parsed
    return msgspec.structs.replace(parsed, without=without, notes=notes, second=second or second_question(parsed.text, parsed.core))


def _two_days(plain: str) -> tuple[str, str, bool]:
    """A question about two days is one about the first, and the same about the other; and whether it asks on which there was more."""
    counted = re.search(r"\b(?:more|fewer|most|fewest) (\w+)", plain)
    more = counted is not None and not lexicon.is_adjective(counted[1])  # not "more expensive"
    for joint in re.finditer(r",? (?:and|or|than)\b", plain) if take_time(plain)[0] else ():
        (first, _), (other, rest) = take_time(plain[: joint.start()]), take_time(plain[joint.end() :])
        days = first and other and first.day and other.day and first.day != other.day and not (content(rest) or "between" in plain)
        if days and other and (more or joint[0].endswith("and")):
            return plain[: joint.start()], f"and {other.said}", more
    return plain, "", False


_NOW_S = 30.0
"""What was in view so long before it is asked is in view now."""


_EMPTY = lexicon.STOP - lexicon.PRONOUNS - lexicon.PLACE_ADVERBS - lexicon.PREPOSITIONS | {",", "wait"}
"""Words that say nothing alone."""


def _addressed(plain: str, body: str, before: Parsed | None) -> Parsed | None:
    """What is said to edgemem and asks for nothing that was: "good morning", "are you sure"; or for what is there now."""
    now = TimeRef(said="now", last_s=_NOW_S)
    body = pattern("BETWEEN_WORDS").sub("", body).strip() or body
    of_before = before is not None and not before.about and pattern("OF_BEFORE").search(body)  # "what time is it", of a meeting
    for asked in dict.fromkeys((*_begins(body), *_begins(without_lead(body)))):
        if pattern("IN_VIEW").fullmatch(asked):
            return Parsed(kind="what", text=plain, verb="see", hint="seen", time=now)
        time, timeless = take_time(asked)
        about = next(
            (name for name, form in patterns("ABOUT") if form.fullmatch(timeless.strip(" ,") if name == "recording" else asked)), ""
        )
        if about in {"clock", "recording", "device"} and of_before:
            return None
        if about and (about not in {"told", "clock"} or len(asked) == len(body)):  # "what day is it I meet Anna"
            time = now if about == "here" else time if about == "recording" else None
            return Parsed(kind="other", text=plain, about=cast("About", about), time=time, follows=about == "told")
    said = any(map(_is_courtesy, _begins(plain)))
    empty = set(tokens_of(plain)) <= _EMPTY and not (pattern("ASKING").match(body) or goes_on(plain) or take_time(plain)[0])
    return Parsed(kind="other", text=plain, about="nothing") if said or empty else None


def _is_courtesy(text: str) -> bool:
    """Nothing else is said than "thanks", "never mind" and the like, one after the other."""
    while text and (match := pattern("COURTEOUS").match(text)):
        text = text[match.end() :]
    return not text


def _begins(text: str) -> Iterator[str]:
    """The text, and what stands in it before somebody goes on without a stop and asks no more: "where am i i seem to be lost"."""
    yield text
    for match in pattern("GOES_ON").finditer(text):
        begin, rest = text[: match.start()], re.sub(r"^(?:if|when) ", "", text[match.end() :])
        asks = any(pattern(name).search(rest) for name in ("EMBEDDED", "INVERTED", "SEEN", "WANTED")) or take_time(rest)[0]
        if begin.count(" ") > 1 and not asks:
            yield begin


def _command(raw: str, plain: str, body: str) -> Parsed | None:
    """What is to be done, as if it were said "you ...". Verbs that ask for an answer are no commands."""
    command = pattern("COMMAND").match(body)
    if command is None:
        command = pattern("IMPERATIVE").match(body)
        if command is None or VERBS.get(command[1]) != command[1] or command[1] in lexicon.ASKING_VERBS:
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


class _Text(Record, frozen=True):
    """A question in the parts that stand one behind the other."""

    topic: str
    """What is told in front of it: "the mug"."""
    story: str
    """The same where it is a sentence: "I had it here"."""
    main: str
    """The clause that asks."""
    timeless: str
    """The same without its time."""
    time: TimeRef | None
    vague: str
    """A time that has no bounds: "a while ago"."""
    core: str


def _apart(plain: str, body: str) -> _Text:
    topic, body = main_clause(body)
    core = f"{topic}, {body}" if topic else body
    whole = core in plain and len(content(core)) == len(content(plain)) and not second_question(plain, core)
    core = "" if whole else f"{core}{'?' * plain.endswith('?')}"
    body, vague = take_vague(without_lead(body))
    if not vague and pattern("VAGUE").fullmatch(topic):  # "just now, what did he say"
        topic, vague = "", topic
    now, then = _while_spoken(body)
    time, topic, timeless = _times(topic, now)
    timeless = _as_question(timeless + then) or ("" if goes_on(plain) else "what did i see")
    return _Text(topic=topic, story=story_of(topic), main=body, timeless=timeless, time=time, vague=vague, core=core)


def _parsed(raw: str, plain: str, body: str, quote: str) -> Parsed:
    text = _apart(plain, body)
    topic, story, timeless, vague = text.topic, text.story, text.timeless, text.vague

    # what is asked, and to what it is related
    kind, detail, rest = kind_of(plain, timeless)
    kind = "yes_no" if kind == "where" and "where" not in plain and pattern("TAGGED").search(raw.lower()) else kind
    kind = "what" if kind == "where" and "," not in rest and pattern("RELATION").match(rest) else kind  # "right after the bus sign?"
    rest, relation, anchors, clause = (timeless, "", (), "") if kind == "order" else take_relation(rest, kind)
    by_topic = pointed_relation(topic, f"{timeless} {vague}") if kind in {"what", "which", "who", "order"} and not relation else None
    if by_topic:
        (relation, anchors, clause), vague = by_topic, ""

    # what each part names
    alone_asks = pattern("WHOLE").search(timeless) and not pattern("POINTS").search(timeless)
    about = read_slots("" if alone_asks else story or topic, raw, "other")
    alone = read_slots(pattern("MEDIUM").sub(" ", rest), raw, kind)
    if kind in {"when", "how_many"} and alone.verb not in {"", "be"}:  # not "I took my tablets, when was that"
        about = msgspec.structs.replace(about, claim="")
    of_it = pattern("PLACE_OF_IT").search(timeless) is not None  # "which drawer is it in"
    own, named = set(alone.things) - ORDINALS.keys(), _with_topic(alone, about, kind, told=bool(story), of_it=of_it)
    if kind == "which" and " or " in named.place and named.verb in lexicon.PLACING and timeless.partition(" ")[0] in AUXILIARIES:
        kind = "where"  # "did I leave it at work or on the bus"
    parsed = Parsed(
        kind=kind, text=plain, core=text.core, things=named.things if own or not by_topic else (), place=named.place, verb=named.verb,
        predicate=named.claim, relation=relation, anchors=anchors, clause=clause, choices=() if anchors else named.choices, time=text.time,
        negated=pattern("NOT").search(re.sub(r"^\w+n't\b", "", timeless)) is not None,  # "didn't I ...?" asks whether I did
        follows=goes_on(plain) and not by_topic,
    )  # fmt: skip

    # what its order, its choices and its quotes make of that
    parsed = _of_order(_beside(parsed, named), timeless, raw)
    parsed = _of_two(parsed, () if own else _seeable(about.things), text.main)
    quoted = pattern("NAMED_TEXT").search(rest)
    quote = quote or (quoted[1].strip() if quoted else "")
    parsed = msgspec.structs.replace(parsed, quote=quote, things=(quote,) if quote else _without_chosen(parsed))

    # what only the whole text tells: the channel, the form, who and when
    kind, clause = parsed.kind, parsed.clause
    while_ = read_slots(clause, raw, "other")
    asked = timeless.replace(clause or " ", " ") if parsed.relation != "side" else timeless
    hinted = asked if by_topic or pattern("SAID_MYSELF").search(story) else f"{topic} {asked}".strip()
    hint = _hint(hinted, named, kind)
    if kind in {"when", "how_many"} and hint == "said" and parsed.things and _asks_itself(own, rest, raw, kind):
        hint = "none"
    said = text.time.said if text.time else " "  # "on March the first" is no first time
    of_anchor = parsed.clause if any(take_ordinal(anchor)[0] for anchor in parsed.anchors) and kind in {"what", "which"} else " "
    often = detail == "times" or (detail == "at_once" and pattern("OFTEN").search(plain))  # "the mug, each time: how many"
    parsed = msgspec.structs.replace(
        _pointed(msgspec.structs.replace(parsed, hint=hint), before=bool(about.things)),
        person=named.person or (while_.person if while_.verb or AUXILIARIES & set(clause.split()) else ""),
        form=(kind != "when" and form_of(kind, asked)) or form_of(kind, asked if own and topic else hinted),
        words=wanted_words(_whole_text(topic, story, timeless), kind),
        predicate=_predicate(kind, detail, named), counts="times" if often else "at_once" if detail == "at_once" else "",
        ordinal=next(filter(None, (place_in_row(one.replace(said, " ").replace(of_anchor, " "), kind) for one in (text.core, plain))), 0),
        clause=" ".join(filter(None, (clause, vague))), asked=None if quote else _asked_of(timeless, about),
    )  # fmt: skip
    return _of_colours(parsed)


def _asked_of(timeless: str, about: Slots) -> Asked | None:
    """What is asked of people; nothing where it names no thing and one stands in front: "wifi password, what was it they told me"."""
    asked = read_asked(timeless)
    return None if asked and about.things and not (asked.about or asked.target) else asked


def _asks_itself(own: set[str], rest: str, raw: str, kind: Kind) -> bool:
    """Asks of what was seen, whoever told to ask: "they told me to ask when I saw it", not "he told me to call her, when was that"."""
    verb = read_slots(rest.rpartition(" , ")[2], raw, kind).verb
    return verb not in lexicon.SAYING and bool(own or verb not in {"", "be"})


def _beside(parsed: Parsed, named: Slots) -> Parsed:
    """What is in a place, where nothing else is named: "what is on the desk"."""
    bare = not (parsed.things or parsed.anchors or named.attribute) and named.verb in {"", "be"}
    if parsed.kind != "what" or not parsed.place or not bare:
        return parsed
    return msgspec.structs.replace(parsed, relation="side", anchors=(noun_phrase(parsed.place),), clause=parsed.place, place="", choices=())


def _of_order(parsed: Parsed, timeless: str, raw: str) -> Parsed:
    """Two things in the order that is asked about: "did the dog bark before the bell rang"."""
    order = pattern("BEFORE_OR_AFTER").search(timeless) if parsed.kind == "order" else None
    if order is None:
        return parsed
    own = () if timeless[order.end() :].strip() else read_slots(timeless[: order.start()], raw, "order").things
    if own:  # "the dog and the cat, did the cat come before or after"
        return msgspec.structs.replace(parsed, things=own[:1], anchors=tuple(one for one in parsed.things if one != own[0])[:1], choices=())
    clause = timeless[order.start() :] if pattern("TOLD").match(timeless[order.end() :].strip()) else ""
    at = len(read_slots(timeless[: order.start()], raw, "order").things) if clause else 1
    behind = () if clause else read_slots(timeless[order.end() :], raw, "order").things[:1]  # not a thing: "before or after the parking"
    things, anchors = parsed.things[:at], parsed.things[at : at + 1] or behind
    return msgspec.structs.replace(parsed, clause=clause, things=things, anchors=anchors, choices=() if anchors else parsed.choices)


def _of_colours(parsed: Parsed) -> Parsed:
    """Asks which of two colours a thing has: "is the mug white or blue"."""
    either = set(parsed.predicate.split(" or "))
    if parsed.kind != "which" or not COLOUR_WORDS.keys() >= either:
        return parsed
    return msgspec.structs.replace(parsed, form="colour", words=tuple(word for word in parsed.words if word not in either))


def _of_two(parsed: Parsed, before: tuple[str, ...], body: str) -> Parsed:
    """The order of two things that are named, here or before: "tomato, pear, who came earlier"."""
    compared = parsed.anchors or lexicon.is_comparative(parsed.predicate)
    if parsed.kind not in {"what", "which", "who", "where", "yes_no"} or compared or not pattern("RANKED").search(body):
        return parsed
    choices = parsed.choices or before
    return msgspec.structs.replace(parsed, choices=choices, kind="order" if len(choices) == 2 else parsed.kind)


def _whole_text(topic: str, story: str, timeless: str) -> str:
    """The question with what stands before it; of a story only the parts that name something ("I should be ashamed to get it wrong")."""
    bare = not story or not any(word for word in content(timeless) if VERBS.get(word) not in lexicon.SAYING)
    return " ".join((*(part for part in topic.split(" , ") if bare or noun_phrase(part)), timeless)).strip()


def _while_spoken(body: str) -> tuple[str, str]:
    """Apart what they said then: a time in it is no time of the question."""
    told = pattern("WHILE").search(body)
    if told and pattern("SPOKEN_OF").search(body, told.end()) and pattern("SEEN").search(body, 0, told.start()):
        return body[: told.start()], body[told.start() :]
    return body, ""


def _as_question(body: str) -> str:
    """The same for an attribute that is named alone: "serial number of the router"."""
    asked_of = pattern("ASKED_OF").match(body)
    if asked_of is None:
        return body
    of = body[asked_of.end() :].split()
    known = of[0] in lexicon.DETERMINERS | lexicon.PRONOUNS or any(word.endswith("'s") for word in of[:3])
    return " ".join(("what is", *(() if known else ("the",)), *of))


def _without_chosen(parsed: Parsed) -> tuple[str, ...]:
    """Its things without what it is told apart from or chosen from; of "which car, the red or the blue" without the car."""
    mine = (one for one in parsed.things if one not in parsed.anchors and (parsed.kind != "order" or one not in parsed.choices))
    return tuple(one for one in mine if not any(choice.endswith(f" {one}") for choice in parsed.choices))


def _with_topic(named: Slots, about: Slots, kind: Kind, *, told: bool, of_it: bool) -> Slots:
    """With what stands before the question: "the mug, where is it"; of a sentence ("I had it here, but where ...") only its things."""
    about = msgspec.structs.replace(about, things=_seeable(about.things))
    if about.things and kind in {"when", "where", "how_many"}:
        named = msgspec.structs.replace(named, things=tuple(one for one in named.things if not pattern("VAGUE_THING").fullmatch(one)))
    things = named.things if not about.things or any(map(is_seeable, named.things)) else ()
    person = about.person if about.person and named.person in {"he", "she", "him", "her"} else named.person or about.person
    if told:
        met = about.claim if kind == "who" and named.verb in {"", "be"} and not named.things else ""
        of_story = (*things, *about.things[:of_it]) or about.things[: 2 if kind in {"which", "order"} else 1]
        return msgspec.structs.replace(named, things=of_story, person=person, claim=named.claim or met)
    told_of = about.claim if about.things or about.person else ""
    return msgspec.structs.replace(
        named, things=tuple(dict.fromkeys((*about.things, *things))), person=person,
        place=named.place or (about.place if kind != "where" else ""), verb=about.verb if named.verb in {"", "be"} else named.verb,
        claim=named.claim or ("" if named.things else told_of),
    )  # fmt: skip


def _seeable(things: tuple[str, ...]) -> tuple[str, ...]:
    """Without what cannot be seen and parts of the body, where another is named: "I could have sworn there was a mouse"."""
    return tuple(one for one in things if is_seeable(one) and one.partition(" with ")[0].rpartition(" ")[2] not in lexicon.BODY) or things


def _pointed(parsed: Parsed, *, before: bool) -> Parsed:
    """Without words for when it was ("the minute", "my first look"); where it was seen, without what cannot be seen."""
    if parsed.kind not in {"when", "where", "how_many"}:
        return parsed
    named = tuple(one for one in parsed.things if not pattern("VAGUE_THING").fullmatch(one)) or parsed.things
    seen = parsed.hint in {"none", "seen"} and (parsed.kind == "when" or (parsed.kind == "where" and before))
    return msgspec.structs.replace(parsed, things=_seeable(named) if seen and len(named) > 1 else named)


def _predicate(kind: Kind, detail: str, named: Slots) -> str:
    """What is claimed or asked: a deed or state, the attribute that is asked for; of persons that they are "named"."""
    if (kind == "who" and named.attribute in {"name", "surname"}) or detail == "named":
        return "named"
    return named.attribute or (detail if detail not in {"times", "at_once", "price"} else "") or named.claim


def _times(topic: str, body: str) -> tuple[TimeRef | None, str, str]:
    """The time of the question or of what stands before it, and both without it. Compared are two: "this week than last week"."""
    time, timeless = take_time(body)
    if time and _is_purpose(time, body) and pattern("TO_COME").search(time.said):
        time = None  # "which film is it for tonight"
    told, rest = take_time(topic) if topic and (time is None or not time.day) else (None, topic)
    to_come = told and (pattern("TO_COME").search(told.said) or (story_of(topic) and _is_purpose(told, topic)))
    over = pattern("OVER").search(body)
    told_of = re.search(r"\b(?:it|its|that|they|them|he|she|him|her|there|then)\b", body) and not pattern("PLANNED").search(topic)
    of_it = over and not to_come and told_of  # "there was a rose on Sunday, what came after it"
    if time is None and (not story_of(topic) or of_it):
        time, topic = None if to_come and over else told, rest
    elif time and told and told.day and over and not to_come and time.relation == told.relation == "at" and (time.first or time.offsets_s):
        time = msgspec.structs.replace(time, day=told.day, said=f"{told.said} {time.said}")  # "on Monday ..., what was there at eight"
    if time is not None and re.search(r"\b(?:than|as|or)\b", timeless):
        other, timeless = take_time(timeless)
        time = msgspec.structs.replace(time, said=f"{time.said} {other.said}") if other else time
    return time, topic, re.sub(r"(?<!\S)'s\b", "", timeless).strip(" ,;:-'")


def _is_purpose(time: TimeRef, text: str) -> bool:
    """What it is for, not when it was: "for Friday's lunch"."""
    return f"for {time.said}" in text or f"{time.said}'s " in text


def _hint(text: str, named: Slots, kind: Kind) -> Hint:
    """What "says" something without being somebody is read; "called" is no saying."""
    says_text = pattern("SAYS_TEXT").search(text) is not None
    if pattern("SAID").search(text) and not says_text and not pattern("NO_SPEAKER").search(text):
        return "read" if named.written else "said"
    carried = kind in {"what", "which", "who", "how_why", "other"} and pattern("CARRIED").search(text)
    if says_text or carried or pattern("READ").search(text) or pattern("STANDS_ON").search(text):
        return "read"
    return "seen" if pattern("SEEN").search(text) and not named.claim.endswith(" seen") else "read" if named.written else "none"
