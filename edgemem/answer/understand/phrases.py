"""The slots of a question, filled from the parts of its clause: things, place, person, deed and state."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from edgemem.answer.understand import lexicon
from edgemem.answer.understand.claims import claim, either_state, linked_state
from edgemem.answer.understand.clause import read_clause
from edgemem.answer.understand.lexicon import CARRIERS, FIRST_NAMES, PERSONS, STATES, STOP, VERBS
from edgemem.answer.understand.parts import Clause, Phrase, VerbPhrase, tokens_of
from edgemem.answer.understand.record import Kind
from edgemem.answer.understand.wordings import ORDINALS
from edgemem.answer.understand.words import NUMBERS, PLURALS
from edgemem.infer.labels import nouns
from edgemem.infer.phrase import COLOUR_WORDS
from edgemem.records import Record
from edgemem.words import word_classes


class Slots(Record, frozen=True):
    """What a clause names, by its part."""

    things: tuple[str, ...] = ()
    place: str = ""
    person: str = ""
    verb: str = ""
    claim: str = ""
    choices: tuple[str, ...] = ()
    order: str = ""
    """What is told to be done: "turn off"."""
    written: bool = False
    """Asked for is what stands on a thing: "what number was on the van"."""
    attribute: str = ""
    """What is asked of a thing: its "price", "full"."""


def noun_phrase(text: str) -> str:
    """The first thing that a clause names, without subject, verbs, articles and filler: "did I leave my red mug" -> "red mug"."""
    phrases = read_clause(tokens_of(text)).phrases
    best = next((phrase for phrase in phrases if not phrase.prep), phrases[0] if phrases else None)
    return _bare(best.words) if best else ""


def content(text: str) -> list[str]:
    """Words that a piece of evidence should hold: everything but the closed classes."""
    tokens = tokens_of(text)
    tools = {"saw"} if any(word == "saw" and before in lexicon.DETERMINERS for before, word in pairwise(tokens)) else set[str]()
    words = (word.removesuffix("'s") for word in dict.fromkeys(tokens))
    return [word for word in words if word not in STOP and word != "," and "&" not in word and word not in _SILENT - tools]


def wanted_words(text: str, kind: Kind) -> tuple[str, ...]:
    """What the evidence should hold; "where did I put it" is answered by where it is."""
    return tuple(word for word in content(text) if kind != "where" or VERBS.get(word, "") not in lexicon.PLACING - {"park"})


_UNSAID = (lexicon.SEEING - {"film", "record", "show", "watch", "pass", "catch"}) | {"be", "have", "do", "get", "come", "go", "tell"}
_SILENT = frozenset(form for form, base in VERBS.items() if base in _UNSAID) - {"meeting"} | {"number", "supposed", "meant"}
"""Forms of verbs that evidence need not hold; a "meeting" is a thing."""


def read_slots(text: str, raw: str, kind: Kind) -> Slots:
    """`text` is the question without its time and what that refers to, `raw` the question as written."""
    names = _names(raw)
    either, been = either_state(text), "been to" in text
    tokens = tokens_of(text.strip().removesuffix(either) + "," if COLOUR_WORDS.keys() & either.split() else text)
    clause = read_clause(tokens, names)
    clause = msgspec.structs.replace(clause, phrases=_of_their_kind(clause.phrases, tokens))
    verb = next((deed for deed in clause.deeds if not deed.relative), clause.deeds[0] if clause.deeds else None)
    found = _Found([], [], [])
    attribute, phrases = _attribute(clause.phrases, kind)
    linked = linked_state(clause, verb)
    for phrase in phrases:
        purpose = kind == "other" and phrase.prep.startswith("for") and bool(found.things)  # "the saw for the shelf, where is it"
        denied = tokens[0] == "not" and phrase.at < 3  # "not the silver car, the other one"
        fixed = phrase.prep.startswith("to") and VERBS.get(clause.state) in lexicon.FIXING
        if fixed:
            found.places.append(f"{phrase.prep} {phrase.text}")
        elif not (
            _bare(phrase.words) in either.split() or _is_no_thing(phrase) or phrase is linked or phrase.text == "order" or purpose or denied
        ):
            _take(phrase, found, names, kind, verb, been=been)
    things, places, people = found
    if kind in {"other", "summary"} and people and (told := re.search(rf"\b{re.escape(people[0])} (?:who|that) .+", text)):
        people[0] = told[0]
    if kind == "how_many" and not things and (pointed := re.search(r"\bof (these|those|them)\b", text)):
        things.append(pointed[1])
    on = bool(places) and places[0].startswith("on ")
    if kind == "what" and on and verb and verb.base in lexicon.WRITING and verb.pronoun not in {"i", "we"}:
        things.append(re.sub(r"^on (?:the |my |a |that )?", "", places.pop(0)))
    asks_attribute = attribute or (clause.phrases and clause.phrases[0].words[-1] in lexicon.ATTRIBUTES)
    written = (bool(asks_attribute) and any(phrase.prep.startswith("on") for phrase in clause.phrases)) or _says(clause, verb, names)
    place = (" or " if any(phrase.either for phrase in clause.phrases) else " ").join(places) or clause.where
    pronoun = re.search(r"\b(?:s?he|him|her(?! (?!" + "|".join(sorted(STOP)) + r")\w))\b", text) if kind != "where" else None
    return Slots(
        things=tuple(dict.fromkeys(things)), place=place, verb=verb.base if verb else "",
        person="; ".join(dict.fromkeys(_as_written(one, raw) for one in people)) or (pronoun[0] if pronoun else ""),
        claim="" if kind == "summary" else claim(kind, clause, text, bool(place)), attribute=attribute, written=written,
        order=" ".join(filter(None, (verb.base, verb.then, verb.particle))) if verb else "",
        choices=_choices(clause),
    )  # fmt: skip


def _of_their_kind(phrases: Sequence[Phrase], tokens: Sequence[str]) -> tuple[Phrase, ...]:
    """With the noun that "one" stands for, or that is left out: "the brown parcel or the white one", "which dress, the blue or the red".

    "The clothespin, the wooden one" is one thing.
    """
    made, noun = list[Phrase](), tuple[str, ...]()
    for i, phrase in enumerate(phrases):
        words, either = phrase.words, phrase.either or any(after.either for after in phrases[i + 1 : i + 2])
        if noun and phrase.named and len(words) > 1 and words[-1] in {"one", "ones"}:
            compared = either or "than" in tokens[phrase.at - 2 : phrase.at] or tokens[0] == "not"
            if not compared and phrases[i - 1].end == phrase.at - 2:  # a comma and an article
                continue
            words = (*words[:-1], *noun) if compared else words
            if phrase.words[0] in ORDINALS and (before := tokens[made[-1].at - 1]) in ORDINALS:  # "the first room or the second one"
                made[-1] = msgspec.structs.replace(made[-1], words=(before, *made[-1].words))
        elif noun and either and "orange" not in words and all(_is_quality(word, named=phrase.named) for word in words):
            words = (*words, *noun)
        elif not _is_no_thing(phrase):
            described = next((k for k, word in enumerate(words) if not _describes(word)), len(words) - 1)
            noun = words[described:]
        made.append(msgspec.structs.replace(phrase, words=words))
    return tuple(made)


def _is_quality(word: str, *, named: bool) -> bool:
    return word in COLOUR_WORDS or (named and word not in STATES and lexicon.is_adjective(word))


def _describes(word: str) -> bool:
    """Tells one from others of its kind: "brown", "first", "other", "big"."""
    return word in COLOUR_WORDS or word in ORDINALS or "ADJ" in word_classes(word)


class _Found(NamedTuple):
    things: list[str]
    places: list[str]
    people: list[str]


def _take(phrase: Phrase, found: _Found, names: frozenset[str], kind: Kind, verb: VerbPhrase | None, *, been: bool) -> None:
    """Puts what a phrase names with the things, places or people."""
    things, places, people = found
    bare, words = _bare(phrase.words, inside=bool(phrase.inner)), phrase.words
    named = next((i for i, word in enumerate(words) if word.strip(".").removesuffix("'s") in names), 0)
    if words[0].removesuffix("'s") in names and words[0].endswith("'s") and len(words) > 1 and words[-1] not in PERSONS:
        people.append(words[0].removesuffix("'s"))
        things.append(" ".join(words[1:]))
    elif named == len(words) - 1 > 0 and not (
        words[named - 1] in PERSONS | names or _is_common(words[named]) or "ADJ" in word_classes(words[named - 1]) or "." in bare
    ):
        people.append(words[named])
        things.append(" ".join(words[:named]))
    elif _is_person(phrase, names) and not _is_premises(phrase, verb, been=been):
        people.append(bare)
        things += [" ".join(phrase.inner)] if phrase.inner and "from" not in words else []
    elif _makes_place(phrase, verb, been=been):
        places.append(f"{phrase.prep} {phrase.text}")
        things += [" ".join(phrase.inner)] if _is_people(phrase.inner) else []  # "on a street with people"
    else:
        of = [words[-1]] if kind == "command" and "of" in words and words[-1] in PERSONS | names else []
        carrier, *owner = _apart(bare, kind)
        people += of + [one for one in owner if one in PERSONS]
        things += [carrier, *(one for one in owner if one not in PERSONS)]


def _apart(thing: str, kind: Kind) -> list[str]:
    """What carries a text, and what it belongs to: "label of the lamp", "lamp's label"; two persons' gifts stay one."""
    owner, owned, carrier = thing.rpartition("'s ")
    if owned and carrier in CARRIERS and owner.split()[-1] not in PERSONS:
        return [owner, carrier]
    head, _, of = thing.partition(" of ")
    return [head, of] if of and kind == "what" and head in CARRIERS else [thing]


def _attribute(phrases: Sequence[Phrase], kind: Kind) -> tuple[str, tuple[Phrase, ...]]:
    """What is asked of a thing ("the number of the house", "what size are the curtains"), and the phrases with the thing alone."""
    head = phrases[0] if phrases and kind in {"what", "which", "who"} and not phrases[0].prep else None
    if head is None:
        return "", tuple(phrases)
    first, _, of = head.text.partition(" of ")
    if first.split()[-1] not in lexicon.ATTRIBUTES:
        return "", tuple(phrases)
    if of:
        return first, (msgspec.structs.replace(head, words=tuple(of.split())), *phrases[1:])
    owner = next((i for i, word in enumerate(head.words, 1) if word.endswith("'s")), 0)
    if owner:
        thing = msgspec.structs.replace(head, words=(*head.words[: owner - 1], head.words[owner - 1].removesuffix("'s")))
        return " ".join(head.words[owner:]), (thing, *phrases[1:])
    if len(phrases) == 2 and phrases[1].prep.startswith("on"):
        return ("", tuple(phrases)) if kind == "which" else (first, (msgspec.structs.replace(phrases[1], prep=""),))
    return (first if len(phrases) > 1 else ""), tuple(phrases[1:] or phrases)


def _says(clause: Clause, verb: VerbPhrase | None, names: frozenset[str]) -> bool:
    """A thing says or mentions something: it is read."""
    if verb is None or verb.particle or verb.base not in {"say", "mention", "state", "tell", "show", "display", "list"}:
        return False
    subject = next((phrase for phrase in reversed(clause.phrases) if phrase.end <= verb.at and not phrase.prep), None)
    return subject is not None and not verb.pronoun and subject.words[-1] not in lexicon.VOICES and not _is_person(subject, names)


def _is_no_thing(phrase: Phrase) -> bool:
    """A state, or a comparison ("faster") that stands alone."""
    return (not phrase.prep and all(word in _CARDINALS for word in phrase.words)) or (
        not phrase.named and (set(phrase.words) <= STATES | {"one"} or (not phrase.prep and lexicon.is_comparative(phrase.text)))
    )


def _is_premises(phrase: Phrase, verb: VerbPhrase | None, *, been: bool) -> bool:
    """A person or name that stands for a place: "to the dentist", "in Cardiff", "at Tesco"."""
    prep, head = phrase.prep.partition(" ")[0], phrase.words[-1].removesuffix("'s")
    moved = prep == "to" and (been or (verb is not None and verb.base in lexicon.MOTION - lexicon.TRANSITIVE))
    return (moved or prep in {"in", "at", "into", "inside", "outside"}) and (head in lexicon.PREMISES or head not in PERSONS)


def _is_person(phrase: Phrase, names: frozenset[str]) -> bool:
    words = phrase.words[: len(phrase.words) - len(phrase.inner)]
    head = [
        word for word in words[: words.index("of") if "of" in words else len(words)] if word not in {"with", "from", "in", "the", "a", "an"}
    ]
    titled = head[0].strip(".") in lexicon.TITLES  # "says that Doctor Lindqvist ..."
    known = names & FIRST_NAMES if phrase.named and not titled else names
    alone = titled or head[0] in names | PERSONS or len(head) == 1
    named = any(word.strip(".") in known and (alone or not _is_common(word)) for word in head)  # not "stars Winter Forest"
    brand = head[0] in names and head[-1] not in names and bool(nouns().senses(head[-1]))  # "the Sysco truck"
    return (named and not head[0].endswith("'s") and (titled or not brand)) or head[-1] in PERSONS


def _makes_place(phrase: Phrase, verb: VerbPhrase | None, *, been: bool) -> bool:
    """Where it is said to be: behind a preposition of place, or of the way that something moved."""
    prep = phrase.prep.split()[0] if phrase.prep else ""
    if prep == "on" and verb is not None and verb.base in lexicon.AIMED_ON:
        return False
    if prep == "to":
        led = verb is not None and verb.base in lexicon.MOTION | lexicon.FIXING
        return phrase.prep.startswith(("to the left", "to the right")) or phrase.near or led or been
    return bool(prep) and prep not in lexicon.NO_PLACE


def _choices(clause: Clause) -> tuple[str, ...]:
    """Things to choose from: those around an "or"."""
    last = next((i for i, phrase in reversed(list(enumerate(clause.phrases))) if phrase.either), 0)
    first = next((i for i in range(last, 0, -1) if not clause.phrases[i].chained), 0)
    named = clause.phrases[first : last + 1] if last else ()
    found = [_bare(phrase.words) for phrase in named if not phrase.prep and not _is_no_thing(phrase)]
    return tuple(found) if len(found) > 1 else ()


_CARDINALS = frozenset(word for word in NUMBERS if not word.endswith(("st", "nd", "rd", "th", "ce")))


def _bare(phrase: Sequence[str], *, inside: bool = False) -> str:
    words = list(phrase)
    while len(words) > 1 and words[1] not in {"with", "of", "for"} and (words[0] in _CARDINALS or words[0] in {"different", "same"}):
        words.pop(0)
    while len(words) > 1 and _acts(words[-2:]):
        words.pop()
    coloured = len(words) > 1 and words[-1] in COLOUR_WORDS and words[0].strip(".") not in {"dr", "mr", "mrs", "ms", "miss"}
    if coloured and words[-1] != "orange" and not nouns().senses(" ".join(words)):  # "door red", not "blood orange"
        words.insert(0, words.pop())
    return " ".join(words).removesuffix("'s") if not inside else " ".join(words)


def _acts(words: Sequence[str]) -> bool:
    """The second word says what the first does: "wasp buzzing", "folk wander"."""
    if _is_noun(words[1]) or words[0].endswith("'s"):
        return False
    known = words[1] not in VERBS or not lexicon.is_adjective(words[0])  # not "dry cleaning"
    return (words[1].endswith("ing") and known) or (_is_people(words[:1]) and words[1] in VERBS)


def _is_people(words: Sequence[str]) -> bool:
    """People as such: "folk", "pedestrians"."""
    return bool(words) and PLURALS.get(words[-1]) == "person"


def _is_noun(word: str) -> bool:
    """Such as "evening" and "lighting", not "snorkelling"."""
    return word_classes(word).keys() == {"NOUN"} or bool(nouns().senses(word))


def _is_common(word: str) -> bool:
    """A noun that is no name of a person, though it may be written like one: "the red Beetle", "The Winter Forest"."""
    return _is_noun(word) and word not in FIRST_NAMES | PERSONS


def _names(raw: str) -> frozenset[str]:
    """Words written with a capital inside a sentence, without the weekdays, months and what is written in capitals throughout."""
    inside = re.findall(r"(?<![.?!:]\s)(?<!^)(?<=\s)((?:Dr\. )?[A-Z][a-z]+)(?:'s)?\b", raw)
    written = (word.lower() for name in inside for word in name.split() if word.lower() not in lexicon.NO_NAMES)
    return frozenset(written) | (FIRST_NAMES & set(re.findall(r"[a-z]+", raw.lower())))


def _as_written(phrase: str, raw: str) -> str:
    at = raw.lower().find(phrase)
    return raw[at : at + len(phrase)] if at >= 0 else phrase
