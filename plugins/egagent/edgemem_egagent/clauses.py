"""Who does what with what, from the order of words: subject, verb, object, and what follows a preposition. No model.

English says who acts by the order of words: after a subject and its auxiliaries the next word is the verb, whatever verb it is, and the
noun phrase after that is its object. So verbs need not be known (`verbs.py` lists the few that handle nothing). Only what is said as a
fact about now counts: no question, wish, ability, denial, condition or other day.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Sequence

from edgemem.records import Record
from edgemem_egagent.graph import INTERACTS_WITH, USES, Node
from edgemem_egagent.lexicon import word_set
from edgemem_egagent.phrases import Phrase
from edgemem_egagent.verbs import (
    CLOTHES,
    DEVICES,
    DRESSING,
    DRINKING,
    LISTENING,
    MEETING,
    MOVING,
    NOT_HANDLING,
    PARTICLES,
    PLACING,
    STOPPING,
    SWITCHING,
    TAKING,
    TRANSFER,
    USES_ITS_OBJECT,
    VEHICLES,
    WATCHING,
    WORKING,
    is_form_of,
)

_TOKEN = re.compile(r"[^\W\d_][\w'’-]*|\d+|[,;:—–]")
_BE = word_set("am is are was were be been being")
_HAVE = word_set("have has had having")
_DO = word_set("do does did")
_UNREAL = word_set(
    "can could may might must shall should would cannot can't couldn't mayn't mightn't mustn't shouldn't wouldn't won't not never don't"
    " didn't doesn't isn't aren't wasn't weren't haven't hasn't hadn't neither hardly almost nearly gonna"
)
_ADVERBS = word_set(
    "just already still now also then once finally only currently actually really both all even again always often usually soon later"
    " together here there today well quickly slowly carefully simply almost maybe perhaps"
)
_PARTICIPLES = word_set("read put cut hit let set shut got made had done drunk sung begun run come lost left found won told")
"""Irregular ones whose ending does not tell."""
_CONDITION = word_set("if unless when whenever until before whether")
_NO_DETERMINER_BEFORE = word_set("the a an my your our his her their its this that these those some any no another each every")
_PREPOSITIONS = word_set("in on at to for from by with about of into onto under near behind beside between over through without against")
_ABOARD = word_set("by on in into onto off")
_SWITCHED = word_set("on off up down in")
_RECIPIENTS = word_set("me you him us them myself yourself himself herself ourselves it")
_ENDS = frozenset((",", ";", ":")) | word_set("and or but to while i we he she they who which what where because so")
"""A noun phrase does not go on over these."""
_FOLLOWS_WORDS = 6
"""Words that may stand before the noun of an object: "one of the old red coffee"."""


class Doing(Record, frozen=True):
    """`who` does something with `what`; `sure` is how sure that is where the words are as heard."""

    who: Node
    type: str
    what: Node
    sure: float


class _Word(Record, frozen=True):
    text: str
    low: str
    start: int
    end: int


Subject = Callable[[str], "Node | None"]
"""Who a word at the beginning of a clause means: "I", "you", a name; None where it is no subject."""


def doings(sentence: str, named: Sequence[Phrase], subject: Subject, it: Node | None) -> Iterator[Doing]:
    """Every doing that the sentence states, in order. `it`: what "it" means where nothing in the sentence does."""
    words = [_Word(text=m[0], low=m[0].lower().replace("’", "'"), start=m.start(), end=m.end()) for m in _TOKEN.finditer(sentence)]
    yield from _Reading(words, named, subject, it).all()


class _Reading:
    """One sentence being read."""

    def __init__(self, words: Sequence[_Word], named: Sequence[Phrase], subject: Subject, it: Node | None) -> None:
        self._words, self._subject, self._it = words, subject, it
        self._phrases = {phrase.start: phrase for phrase in named}

    def all(self) -> Iterator[Doing]:
        """Each clause by its subject; a verb after "and" has the subject of the verb before it."""
        who: Node | None = None
        at = 0
        while at < len(self._words):
            own, after = self._subject_at(at)
            if own is not None:
                who = own if self._is_fact_until(at) else None
                at = after
                at = yield from self._predicate(who, at)
                continue
            if self._words[at].low in {"and", "then"} and who is not None and self._begins_verb(at + 1):
                at = yield from self._predicate(who, at + 1)
                continue
            at += 1

    def _subject_at(self, at: int) -> tuple[Node | None, int]:
        """Who acts from here, and the place after it; "let me" and "let's" act too."""
        word = self._words[at]
        low = re.sub(r"'(?:m|re|ve|ll|d|s)$", "", word.low)
        if low == "let" and (word.low == "let's" or (at + 1 < len(self._words) and self._words[at + 1].low == "me")):
            return self._subject("I"), at + (1 if word.low == "let's" else 2)
        phrase = self._phrases.get(word.start)
        if phrase is not None and phrase.node.kind == "person":
            if at and (self._words[at - 1].low in (_PREPOSITIONS | _NO_DETERMINER_BEFORE) - {"that"}):
                return None, at
            if self._is_genitive(phrase, at):
                return None, at
            return self._subject(phrase.node.name), self._after(phrase.end)
        if low in {"i", "we", "you"} and (at == 0 or self._words[at - 1].low not in _PREPOSITIONS):
            return self._subject(low), at + (word.low == low)
        return None, at

    def _is_genitive(self, phrase: Phrase, at: int) -> bool:
        """Such as "Tom's name was", not "Tom's making his bed": no verb in -ing follows."""
        last = next((w for w in self._words[at:] if w.end >= phrase.end), self._words[at])
        after = self._after(phrase.end)
        following = self._words[after].low if after < len(self._words) else ""
        return last.low.endswith("'s") and not (following.endswith("ing") or following in _ADVERBS | {"got", "been"})

    def _after(self, end: int) -> int:
        return next((i for i, word in enumerate(self._words) if word.start >= end), len(self._words))

    def _is_fact_until(self, at: int) -> bool:
        """No condition stands before the subject in its clause, and no auxiliary that makes a question of it."""
        clause = []
        for word in reversed(self._words[:at]):
            if word.low in {",", ";", ":"}:
                break
            clause.append(word.low)
        if set(clause) & _CONDITION:
            return False
        return not clause or clause[0] not in _DO | _BE | _HAVE | _UNREAL | {"will", "to"}

    def _begins_verb(self, at: int) -> bool:
        """After "and": an adverb or a verb, no noun phrase; "and" joins nouns as well."""
        while at < len(self._words) and self._words[at].low in _ADVERBS:
            at += 1
        if at >= len(self._words) or self._words[at].start in self._phrases:
            return False
        following = self._words[at + 1].low if at + 1 < len(self._words) else ""
        return self._words[at].low.isalpha() and following in _NO_DETERMINER_BEFORE | PARTICLES | _RECIPIENTS

    def _predicate(self, who: Node | None, at: int) -> Generator[Doing, None, int]:
        """The doings of one verb; the place where reading goes on."""
        at, auxiliary = self._contraction(at)
        real = who is not None and auxiliary != "d"
        progressive = auxiliary in {"m", "re", "s"}
        perfect = auxiliary == "ve"
        while at < len(self._words):
            low = self._words[at].low
            if low in _UNREAL:
                real = False
            elif low in _BE:
                progressive = True
            elif low in _HAVE and self._is_auxiliary_have(at):
                perfect = True
            elif low in _DO and self._phrase_at(at + 1) is None and low != "done":
                pass
            elif low not in _ADVERBS | {"will"} and not (low.endswith("ly") and low not in {"fly", "apply", "supply"}):
                break
            at += 1
        if at >= len(self._words):
            return at
        return (yield from self._verb(who if real else None, at, progressive=progressive, perfect=perfect))

    def _contraction(self, at: int) -> tuple[int, str]:
        """The place after a contracted subject ("I'm", "Tom's") and what is contracted: "m", "s", "ve", "ll", "d"; "" for none."""
        begins = at < len(self._words) and re.match(r"(?:i|we|you|let)'", self._words[at].low) is not None
        at += begins
        before = self._words[at - 1].low if at else ""
        auxiliary = before.rpartition("'")[2] if "'" in before and before != "let's" else ""
        return at, auxiliary if auxiliary in {"m", "re", "ve", "ll", "d", "s"} else ""

    def _is_auxiliary_have(self, at: int) -> bool:
        """Such as "have already read", not "have a pen": a participle follows."""
        following = next((w.low for w in self._words[at + 1 :] if w.low not in _ADVERBS | _UNREAL), "")
        ends = following.endswith(("ed", "en", "wn", "ught"))
        return ends or following in _PARTICIPLES

    def _verb(self, who: Node | None, at: int, *, progressive: bool, perfect: bool) -> Generator[Doing, None, int]:
        verb = self._words[at].low
        if progressive and not verb.endswith("ing"):
            if self._low(at + 1).endswith("ing") and verb not in _PREPOSITIONS | _NO_DETERMINER_BEFORE:  # "done watering", "busy painting"
                at, verb = at + 1, self._words[at + 1].low
            elif verb == "on" and who is not None:  # "Tom is on the phone"
                yield from self._on_device(who, at + 1)
                return at + 1
            else:
                return at + 1  # an adjective, or something was done to the subject
        is_verb = verb.isalpha() and verb not in _PREPOSITIONS | _NO_DETERMINER_BEFORE and not (perfect and verb == "got")
        if who is not None and is_verb and not self._is_infinitive(at + 1):
            yield from self._done(who, verb, at)
        return at + 1

    def _is_infinitive(self, at: int) -> bool:
        """Such as "to open", not "to the radio"."""
        names = self._phrase_at(at + 1) is not None or self._low(at + 1) in _NO_DETERMINER_BEFORE | _RECIPIENTS
        return self._low(at) == "to" and not names

    def _low(self, at: int) -> str:
        return self._words[at].low if at < len(self._words) else ""

    def _done(self, who: Node, verb: str, at: int) -> Iterator[Doing]:
        """The objects of a verb, and what follows its prepositions."""
        end = at + 1
        particle = self._low(end) if self._low(end) in PARTICLES else ""
        objects = [] if particle else list(self._objects(end, give=is_form_of(verb, TRANSFER)))
        behind = list(self._objects(end + 1, give=False)) if particle else []
        for phrase in objects:
            if type_ := self._type(verb, self._particle_after(phrase), phrase):
                yield Doing(who=who, type=type_, what=phrase.node, sure=0.8)
        for phrase in behind:  # "picked up the box", "got on the bus"
            if type_ := self._type_behind(particle, verb, phrase.node.name.split()[-1]) or self._type(verb, particle, phrase):
                yield Doing(who=who, type=type_, what=phrase.node, sure=0.8)
        yield from self._to_it(who, verb, end, particle, objects or behind)
        yield from self._after_prepositions(who, verb, at)

    def _to_it(self, who: Node, verb: str, end: int, particle: str, objects: Sequence[Phrase]) -> Iterator[Doing]:
        """Such as "I'm using it" and "switched it off"."""
        if objects or self._it is None or self._low(end + bool(particle)) not in {"it", "that", "them"}:
            return
        following = self._low(end + 1)
        if type_ := self._type(verb, particle or (following if following in PARTICLES else ""), None):
            yield Doing(who=who, type=type_, what=self._it, sure=0.6)

    def _particle_after(self, phrase: Phrase) -> str:
        """Such as "had a blue coat on" and "turned the lamp off", not "put the cup on the table"."""
        at = self._after(phrase.end)
        word, following = self._low(at), self._low(at + 1)
        return word if word in PARTICLES and following not in _NO_DETERMINER_BEFORE and not self._phrase_at(at + 1) else ""

    def _phrase_at(self, at: int) -> Phrase | None:
        return self._phrases.get(self._words[at].start) if at < len(self._words) else None

    def _type(self, verb: str, particle: str, phrase: Phrase | None) -> str:
        """The relation of a verb to its object; "" for none."""
        kind = phrase.node.kind if phrase is not None else "object"
        if kind == "person":
            return INTERACTS_WITH if is_form_of(verb, MEETING) else ""
        if kind == "location":
            return ""
        if self._uses(verb, particle, phrase):
            return USES
        handles = is_form_of(verb, STOPPING) or not is_form_of(verb, NOT_HANDLING)
        return INTERACTS_WITH if handles else ""

    @staticmethod
    def _uses(verb: str, particle: str, phrase: Phrase | None) -> bool:
        """The verb says so, or verb and object together: "turn on", "put on a coat", "take the bus", "had soup", "watch TV"."""
        name = phrase.node.name.split()[-1] if phrase is not None else ""
        return (
            is_form_of(verb, USES_ITS_OBJECT)
            or (is_form_of(verb, SWITCHING) and particle in _SWITCHED)
            or (is_form_of(verb, DRESSING) and particle == "on" and name in CLOTHES)
            or (is_form_of(verb, TAKING) and name in VEHICLES)
            or (is_form_of(verb, WATCHING) and name in DEVICES)
            or (verb == "had" and phrase is not None and phrase.is_food)
        )

    def _objects(self, at: int, *, give: bool) -> Iterator[Phrase]:
        """The noun phrase that begins here, and those joined to it by "and" or a comma; "and opened the door" joins a verb."""
        phrase = self._phrase_from(at)
        if phrase is not None and phrase.node.kind == "person" and give:
            phrase = self._phrase_from(self._after(phrase.end)) or phrase
        while phrase is not None:
            yield phrase
            at = self._after(phrase.end)
            joins = 0
            while self._low(at) in {"and", ","}:
                at, joins = at + 1, joins + 1
            phrase = self._phrase_from(at) if joins and not self._begins_verb(at) else None

    def _phrase_from(self, at: int) -> Phrase | None:
        """The first thing that is named here, behind determiners and adjectives; "a cup of tea" is told by its last noun's thing too."""
        for i in range(at, min(at + _FOLLOWS_WORDS, len(self._words))):
            low = self._words[i].low
            phrase = self._phrases.get(self._words[i].start)
            if phrase is not None and phrase.node.kind == "person" and self._words[i].low.endswith("'s"):
                continue  # "Mary's picture"
            if phrase is not None:
                return self._content_of(phrase) or phrase
            if low in _PREPOSITIONS - {"of"} or low in _CONDITION | _BE | _ENDS:
                return None
            if low in _RECIPIENTS and i > at:
                return None
        return None

    def _content_of(self, phrase: Phrase) -> Phrase | None:
        """Such as "a bite of my apple" and "a glass of water": what is meant stands after "of"."""
        at = self._after(phrase.end)
        if self._low(at) != "of":
            return None
        return self._phrase_from(at)

    def _after_prepositions(self, who: Node, verb: str, at: int) -> Iterator[Doing]:
        """What is used or handled behind a preposition: "by boat", "with the knife", "on TV", "from the cup"."""
        for i in range(at, len(self._words)):
            low = self._words[i].low
            if low in {",", ";", ":", "and", "but", "because", "that", "when", "while", "if"} or self._is_pronoun(i):
                return
            if low not in _PREPOSITIONS | {"off"}:
                continue
            phrase = self._phrase_from(i + 1)
            if phrase is None or phrase.node.kind != "object":
                continue
            if type_ := self._type_behind(low, verb, phrase.node.name.split()[-1]):
                yield Doing(who=who, type=type_, what=phrase.node, sure=0.75)

    def _is_pronoun(self, at: int) -> bool:
        return self._words[at].low in {"i", "we", "he", "she", "they", "you"}

    @staticmethod
    def _type_behind(preposition: str, verb: str, name: str) -> str:
        """The relation to what stands behind a preposition; "" for none."""
        if preposition in {"on", "with"} and is_form_of(verb, WORKING) and name not in DEVICES:
            return INTERACTS_WITH
        uses = (
            (preposition in _ABOARD and name in VEHICLES and is_form_of(verb, MOVING))
            or (preposition == "on" and name in DEVICES and not is_form_of(verb, PLACING))
            or (preposition == "with" and not is_form_of(verb, NOT_HANDLING))
            or (preposition in {"from", "of"} and is_form_of(verb, DRINKING))
            or (preposition == "to" and is_form_of(verb, LISTENING) and name in DEVICES)
        )
        return USES if uses else ""

    def _on_device(self, who: Node, at: int) -> Iterator[Doing]:
        phrase = self._phrase_from(at)
        if phrase is not None and phrase.node.name.split()[-1] in DEVICES:
            yield Doing(who=who, type=USES, what=phrase.node, sure=0.75)
