"""The parts of a question: phrases, deeds and states, found from left to right by what may stand where.

English orders a question so strictly that the words around it tell what a word is: behind "did I" stands a deed, whatever the word; behind
"did" and a subject a verb's base; behind "have" a participle; behind "was" and a subject a participle, an "-ing" form or a state; behind
"who" or a name and pronoun ("the shoes I wore") a finite verb. A list of verbs and, for other words, a dictionary decide between several.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from edgemem.answer.understand import lexicon
from edgemem.answer.understand.lexicon import BE, DETERMINERS, DO, JOINTS, PARTICLES, PREPOSITIONS, PRONOUNS, STATES, STOP, VERBS, WH
from edgemem.answer.understand.parts import Clause, Phrase, VerbPhrase
from edgemem.answer.understand.words import NUMBERS
from edgemem.infer.labels import nouns
from edgemem.infer.phrase import COLOUR_WORDS
from edgemem.words import word_classes

_Needs = Literal["", "base", "participle", "state", "finite"]
"""The verb that must still come: in its base ("did"), a participle ("have"), a participle or state ("was"), a finite form ("who")."""


_AUX = DO | lexicon.HAVE | BE
_CUTS = _AUX | WH | JOINTS | {"of", "not"}
_MODALS = frozenset(("could", "would", "should", "might", "may", "must"))
_DEFINITE = frozenset(("the", "my", "our", "his", "her", "their", "this", "that", "these", "those"))
_GET = frozenset(("get", "got", "gets", "getting"))
"""Verbs of their own where they lead somewhere ("got back", "get to the station"), else words without weight."""


def read_clause(tokens: Sequence[str], names: frozenset[str] = frozenset()) -> Clause:
    """Reads with the known verbs; where one must stand and none was found, with every verb of the dictionary and unknown words."""
    reader = _Reader(tokens, names, wide=False)
    return (_Reader(tokens, names, wide=True) if reader.lacks_verb else reader).clause()


class _Reader:
    def __init__(self, tokens: Sequence[str], names: frozenset[str], *, wide: bool) -> None:
        self._tokens, self._names, self._wide = tokens, names, wide
        self._needs: _Needs = ""
        self._near = self._subject = self._relative = self._either = self._chained = False
        self._prep = self._det = self._state = self._where = self._pronoun_before = ""
        self._phrases: list[Phrase] = []
        self._deeds: list[VerbPhrase] = []
        self._end = self._verb_end = -1  # where the last phrase and the last verb ended
        self._pending: _Needs = ""  # the verb that must come behind a relative clause
        i = 0
        while i < len(tokens):
            i = self._step(i)

    @property
    def lacks_verb(self) -> bool:
        return self._needs in {"base", "participle"}

    def clause(self) -> Clause:
        deeds, last = list(self._deeds), self._tokens[-1] if self._tokens else ""
        stranded = {"on", "in"} if self._tokens[:1] and self._tokens[0] not in WH else frozenset()
        if deeds and not deeds[-1].particle and last in PARTICLES | stranded and self._prep == last:
            deeds[-1] = msgspec.structs.replace(deeds[-1], particle=last)
        return Clause(phrases=tuple(self._phrases), deeds=tuple(deeds), state=self._state, where=self._where)

    def _word(self, i: int) -> str:
        return self._tokens[i] if 0 <= i < len(self._tokens) else ""

    def _is_plain(self, i: int) -> bool:
        word = self._word(i)
        return bool(word) and word not in STOP and word not in _CUTS and "&" not in word and not lexicon.is_adverb(word)

    def _begins_name(self, i: int) -> bool:
        """Such as "video" of "the video camera", not of "the video showed"."""
        return self._word(i - 1) in DETERMINERS and word_classes(self._word(i + 1)).keys() == {"NOUN"}

    def _is_open(self, i: int, *, inside: bool = False) -> bool:
        """A word that names, or a stop word in the place of one: "the tin can", "the first aid kit", "the back gate"."""
        word, before, following = self._word(i), self._word(i - 1), self._word(i + 1)
        if word in {"right", "back"}:
            return before in DETERMINERS and (word == "back" or following == "one" or self._is_plain(i + 1))
        named = inside or before in {"the", "other", "which", "this", "that"}
        return (
            self._is_plain(i)
            or (word in {"can", "one"} and named)
            or (word == "and" and inside and COLOUR_WORDS.keys() >= {before, following})
            or (word == "other" and following in {"one", "ones"})
            or (word == "other" and before in {"the", "my", "our"} and following != "way" and self._is_plain(i + 1))
            or (word == "till" and before in DETERMINERS)
            or (word in lexicon.COMPOUNDED and self._is_plain(i + 1) and (_is_compound((word, following), 1) or self._begins_name(i)))
            or (word in {"bit", "bits"} and inside and _is_compound((before, "bit"), 1))
            or (word in lexicon.MEDIA and self._tokens[0] == "you")
            or (word in {"first", "last"} and following in {"aid", "name", "class", "floor", "page", "one", "ones"})
            or (word in {"like", "sort", "type", "view", "stream"} and self._needs == "base" and self._subject)
            or (word == "home" and before in PREPOSITIONS | {"way"})
        )

    # ------------------------------------------------------------------------------------------------ one word after another

    def _step(self, i: int) -> int:
        word = self._word(i)
        if self._is_open(i):
            return self._run(i)
        if word in _AUX:
            self._auxiliary(i)
        elif word in JOINTS:
            self._joint(word, i)
        elif word in PRONOUNS and not (word in DETERMINERS and self._is_open(i + 1)):
            self._pronoun(i)
        elif self._asks_or_relates(word, i) or self._begins_infinitive(word, i):
            self._prep = ""
        elif word in _GET:
            self._get(i)
        elif (word in PREPOSITIONS | PARTICLES and word != "of") or "&" in word:
            self._preposition(i)
        elif word in lexicon.PLACE_ADVERBS:
            self._place_adverb(i)
        elif word in DETERMINERS:
            return self._determiner(word, i)
        return i + 1

    def _determiner(self, word: str, i: int) -> int:
        """In front of a thing or of an adjective ("more crowded")."""
        described = self._needs == "state" and "ADJ" in word_classes(self._word(i + 1)) and not self._is_open(i + 2)
        if word in {"more", "less"} and described:
            self._state, self._needs = f"{word} {self._word(i + 1)}", ""
            return i + 2
        if word in {"more", "most"} and lexicon.is_adverb(self._word(i + 1)):
            return i + 2  # "when did I most recently see it"
        self._det = word
        return i + 1

    def _get(self, i: int) -> None:
        """What is done ("did it get walked"), or a deed ("got back", "get to the station"); else it says nothing."""
        following = self._word(i + 1)
        if following in lexicon.PASTS:
            self._needs, self._subject = "participle", True
        elif self._needs and following in PARTICLES | {"to"}:
            self._add_verb(i, "get")
        elif self._needs == "base":
            self._needs = ""

    def _joint(self, word: str, i: int) -> None:
        """Behind "or" and "between ... and" the preposition goes on."""
        last = self._phrases[-1].prep.split(" ")[0] if self._phrases and self._end == i else ""
        self._prep, self._det = last if word == "or" else "and" if word == "and" and last == "between" else "", ""
        self._either = word == "or"

    def _asks_or_relates(self, word: str, i: int) -> bool:
        """A question word, or a pronoun that begins a relative clause or stands for a thing ("where's that gone")."""
        if word in {"who", "that", "which", "whom"} and self._end == i:
            self._pending = self._needs
            self._needs, self._relative, self._subject = "finite", True, True
        elif word in WH:
            verb = self._word(i + 1) in lexicon.PASTS and self._word(i + 2) not in _AUX
            self._needs, self._subject = "finite", word in {"who", "what"} or verb or self._word(i + 1) in BE
            self._det = word if word in {"which", "whose"} and not verb else ""
        elif word == "that" and self._needs and self._word(i + 1) in lexicon.PASTS - {"saw"}:
            self._subject = True
        else:
            return False
        return True

    def _auxiliary(self, i: int) -> None:
        word = self._word(i)
        done = word == "have" and self._word(i + 1) in lexicon.PASTS and not _MODALS.isdisjoint(self._tokens[:i])  # "could I have left it"
        if self._needs in {"base", "participle"} and self._subject and word in {"have", "had", "do", "does"} and not done:
            self._add_verb(i, VERBS.get(word, "do"))
        elif word == "been" and self._word(i + 1) in PARTICLES:
            self._add_verb(i, "be")
        elif word in BE and self._needs == "base":  # "could be seen"
            self._needs, self._subject = "state", True
        else:
            self._needs = "base" if word in DO else "participle" if word in lexicon.HAVE else "state"
            follows = self._end == i or self._word(i - 1) in lexicon.SUBJECTS
            named = word in _MODALS and follows and self._word(i + 1) != "have"  # "they said the plumber would come"
            self._subject = (
                named or (self._subject and (word not in DO or self._word(i + 1) == "not")) or self._word(i - 1) in {"many", "ones"}
            )
        self._prep = self._det = ""

    def _pronoun(self, i: int) -> None:
        word = self._pronoun_before = self._word(i)
        if not self._needs and word in lexicon.SUBJECTS and self._verb_end != i:
            self._needs, self._relative = "finite", bool(self._phrases)
        if self._verb_end == i:
            self._verb_end = i + 1
        self._subject, self._prep, self._det = True, "", ""

    def _begins_infinitive(self, word: str, i: int) -> bool:
        following = self._word(i + 1)
        leads = self._word(i + 2) in DETERMINERS | PRONOUNS | PARTICLES
        base = VERBS.get(following) == following and (following not in lexicon.AMBIGUOUS or leads)
        if word != "to" or not (base or (self._verb_end == i and self._word(i - 1) == "going" and following in VERBS)):
            return False
        chained = bool(self._deeds) and self._deeds[-1].base not in lexicon.REPORTS
        self._needs, self._subject, self._chained, self._det = "base", True, chained, ""
        return True

    def _preposition(self, i: int) -> None:
        word, following = self._word(i), self._word(i + 1)
        deed = self._deeds[-1] if self._deeds else None
        left = deed and deed.base in {"leave", "keep"} and word in {"on", "off"} and following in PREPOSITIONS  # "the light on in the hall"
        if deed and not deed.particle and (left or (self._verb_end == i and self._is_particle(word, following, deed.base))):
            self._deeds[-1] = msgspec.structs.replace(deed, particle=word.replace("&", " "))
            self._verb_end, self._prep = i + 1, ""
        else:
            before = self._word(i - 2) if self._word(i - 1) in {"up", "over", "down"} else self._word(i - 1)
            looks = word in {"at", "for"} and VERBS.get(before) == "look"
            self._prep, self._near = "of" if looks else word, self._word(i - 1) in lexicon.NEAR
        self._det = ""

    def _is_particle(self, word: str, following: str, base: str) -> bool:
        ends = not following or (following in STOP and following not in DETERMINERS | PRONOUNS) or following == ","
        if word in {"to", "next&to"}:
            return base in (lexicon.TOWARDS if word == "to" else lexicon.POSTURE)
        if (
            f"{base}_{word}" in lexicon.MEETS
            or (word in {"at", "for"} and base in lexicon.AIMED)
            or (following in {"me", "us"} and base in lexicon.HAVING and word in lexicon.PLACE_WORDS)
        ):
            return True
        if word in PARTICLES and not (word in {"over", "round"} and base in lexicon.POSTURE and not ends):
            return ends or base not in lexicon.MOTION - lexicon.TRANSITIVE
        asked = not following and self._tokens[0] in WH
        stranded = asked and (word == "on" or (word == "in" and base not in lexicon.GETS_IN))
        return (ends and not stranded and word in {"on", "in", "by", "past", "through"}) or (word == "on" and base in {"turn", "switch"})

    def _place_adverb(self, i: int) -> None:
        word = self._word(i)
        be = self._word(i - 1) in BE | {"not"} or self._word(i + 1) in BE
        if word != "there" or not be or "who" in self._tokens:  # "who else was there" is a place
            self._where = word

    # --------------------------------------------------------------------------------------------------------- runs of words

    def _run(self, i: int) -> int:
        """A run of words without a stop word: a phrase, a state, or a subject, its verb and an object."""
        end = i + 1
        while self._is_open(end, inside=True):
            end += 1
        run = [self._word(j) for j in range(i, end)]
        if run[0] in lexicon.PERSONS | self._names and self._deeds and self._deeds[-1].base in lexicon.GIVES:
            run = run[: 1 if self._verb_end == i - bool(self._det) else len(run)]
            end = i + len(run)
        if len(run) > 1 and self._deeds and self._deeds[-1].base in {"leave", "keep", "find"} and not self._needs and run[-1] in STATES:
            self._state, run = run[-1], run[:-1]  # "leave the gate open"
        run = run[:-1] if run[-1] in NUMBERS and self._word(end) == "times" else run  # "the cat three times"
        if not run:
            return end
        done = self._word(i - 1) == "of" or (self._word(i - 1) == "with" and len(run) == 1 and self._word(end) in DETERMINERS)
        if done and self._end != i - 1 and run[0] in lexicon.GERUNDS:
            self._add_verb(i, VERBS[run[0]])  # "I had thought of stopping"
            return i + 1
        led = len(run) > 1 and self._det and self._word(i - 2) in _GET | lexicon.HAVE
        had = led and run[-1] in lexicon.PASTS and run[-1] != "saw"  # "get my nails done"
        asked = len(run) == 1 and self._word(i - 1) in {"what", "which"} and VERBS.get(run[0]) == run[0] and self._word(end) in _AUX
        at = None if asked else len(run) - 1 if had else self._verb_in(run, i, end)  # "what breed is the dog"
        if at is None or at:
            self._phrase(run[:at], i, end if at is None else i + at)
        if at is None:
            return end
        word = run[at]
        known = word in lexicon.PASTS or word.endswith(("ed", "ing"))
        if self._needs == "state" and (run[-1] in STATES | {"left"} or not known):
            self._state, self._needs = " ".join(run[at:]), ""
            return end
        self._add_verb(i + at, lexicon.base_of(word))
        return i + at + 1

    @property
    def _leads(self) -> bool:
        """The subject is complete and nothing begins a new phrase."""
        return self._subject and not self._det and not self._prep

    def _phrase(self, run: Sequence[str], i: int, end: int) -> None:
        gap = self._tokens[self._end : i]
        chained = bool(gap) and gap[0] in JOINTS and all(word in JOINTS | DETERMINERS | PREPOSITIONS for word in gap)
        words, prep = tuple(run), f"{self._prep} {self._det}".strip().replace("&", " ") if self._prep else ""
        before = self._phrases[-1] if self._phrases else None
        joins = self._word(i - 1 - bool(self._det))
        if before and joins == "of" and self._end >= i - 2:
            self._phrases[-1] = _with_of(before, words)
        elif before and self._attaches(run, i):
            inner = tuple(word for word in (self._prep, self._det, *words) if word)
            self._phrases[-1] = msgspec.structs.replace(before, words=(*before.words, *inner), inner=words)
        else:
            self._phrases.append(
                Phrase(words=words, prep=prep, at=i, end=end, chained=chained, either=self._either, named=bool(self._det), near=self._near)
            )
        self._subject = self._subject or not prep
        self._prep, self._det, self._either, self._end = "", "", False, end

    def _attaches(self, run: Sequence[str], i: int) -> bool:
        """Behind a thing "with" belongs to it, but where something was done with it; behind a person what the person wears ("in a hat")."""
        acted = any(deed.base not in lexicon.PLACING | lexicon.SEEING | {"meet", "be"} for deed in self._deeds)
        dressed = self._prep == "in" and self._phrases[-1].words[-1] in lexicon.PERSONS and bool(set(run) & lexicon.CLOTHES)
        last, joined = self._phrases[-1].words[-1], self._end == i - 1 - bool(self._det)
        of = joined and self._prep in (
            {"from", "for", "about"} if last in lexicon.DOCUMENTS else {"from"} if last in lexicon.PERSONS else ()
        )
        if (self._prep != "with" and not dressed and not of) or self._word(i) in self._names:
            return False
        return (of or not acted) and self._word(i) not in lexicon.PERSONS

    def _add_verb(self, i: int, base: str) -> None:
        word, last = self._word(i), self._deeds[-1] if self._deeds else None
        if last and (self._chained or (word.endswith("ing") and self._verb_end == i)):
            silent = last.base in lexicon.SILENT_VERBS or (last.base == "take" and last.pronoun == "it")
            word, base = ("", last.base) if last.base == "use" else (word, base)
            self._deeds[-1] = msgspec.structs.replace(last, base=base if silent else last.base, said=word, then="" if silent else word)
        else:
            self._deeds.append(VerbPhrase(base=base, said=word, at=i, relative=self._relative, pronoun=self._pronoun_before))
        self._pronoun_before = ""
        self._needs, self._chained, self._verb_end = "finite" if base in lexicon.REPORTS else "", False, i + 1
        self._relative, self._subject = self._relative or base in lexicon.REPORTS, self._subject and base not in lexicon.REPORTS
        if self._pending:
            self._needs, self._pending, self._relative, self._subject = self._pending, "", False, True
        self._prep = self._det = ""

    # -------------------------------------------------------------------------------------------------------- which is the verb

    def _verb_in(self, run: Sequence[str], i: int, end: int) -> int | None:
        """Where in a run the verb stands."""
        first = run[0]
        if not self._needs:
            return self._unasked_verb(run, i, end)
        if self._word(i - 1) in lexicon.SUBJECTS and first not in self._names and (self._needs != "state" or self._fits(first)):
            return 0
        whole = len(run) > 1 and self._det in _DEFINITE and self._tokens[0] in BE and not (self._subject or run[-1] in COLOUR_WORDS)
        told = whole or (len(run) == 1 and self._leads)  # "were those peppers organic", "is it still warm"
        ends = told and end == len(self._tokens) and "ADJ" in word_classes(run[-1])
        fitting = [
            k for k, word in enumerate(run) if (k or self._leads) and word not in self._names and self._fits(word, k == len(run) - 1, ends)
        ]
        fitting = [k for k in fitting if not (k and run[k - 1].endswith("'s") and VERBS.get(run[k]) == run[k])]  # "grandma's ring"
        sure = [k for k in fitting if not (k and _is_compound(run, k))]  # "did the tape measure turn up", but "did the bus stop"
        fitting = sure or [k for k in fitting if not (k and run[k] == "saw" and self._det)]  # "where was the hand saw"
        if self._needs == "state":
            fitting = self._states(run, end, sure)
        if not fitting:
            return self._second_verb(run, end)
        sure = fitting if self._needs == "finite" else [k for k in fitting if run[k] not in lexicon.AMBIGUOUS]
        return sure[0] if sure else fitting[-1]

    def _states(self, run: Sequence[str], end: int, fitting: Sequence[int]) -> list[int]:
        """Of those the ones that may be said of a subject: the last word, a comparison, what somebody is doing."""
        if lexicon.is_comparative(run[-1]) and (self._leads or self._word(end) in {"than", "to"}):
            return [len(run) - 1]
        if self._leads and run[0].endswith("ing"):
            return [0]
        last = len(run) - 1
        if self._det == "the" and len(run) == 1 and lexicon.is_superlative(run[0]):
            return [0]
        if len(run) > 2 and run[-1] in STATES and run[-2] in lexicon.PASTS:  # "was the gate left open"
            return [len(run) - 2]
        acting = [k for k in fitting if k == last or (run[k].endswith("ing") and (k == 0 or self._may_act(run[:k])))]
        named = run[last].endswith("ing") or (self._det in {"a", "an"} and "NOUN" in word_classes(run[last]))  # "a beautiful rose"
        return [k for k in acting if k < last or not (named and self._is_thing(run))]

    def _unasked_verb(self, run: Sequence[str], i: int, end: int) -> int | None:
        """Where no verb must come: "carry" behind "help", a command ("give me"), a second verb."""
        if VERBS.get(run[0]) == run[0]:
            helps = bool(self._deeds) and self._deeds[-1].base == "help"
            self._chained = self._chained or helps
            told = run[0] not in lexicon.AMBIGUOUS and self._word(i + 1) in DETERMINERS | PRONOUNS
            if helps or told:
                return 0
        if len(run) == 1 and run[0] in lexicon.GERUNDS and self._word(end) in DETERMINERS | {"at"}:  # "good at finding the keys"
            return 0
        return None if self._prep else self._second_verb(run, end)

    def _second_verb(self, run: Sequence[str], end: int) -> int | None:
        """Such as "ironing" behind "start", "running" of "leave the tap running"; a finite verb of "everything Dad said"."""
        if run[0] in lexicon.GERUNDS and self._word(self._verb_end) == run[0]:
            return 0
        kept = next((j for j in range(1, len(run) - 1) if run[j] == "kept" and run[j + 1] in lexicon.GERUNDS), None)
        if kept:  # "the dog kept barking"
            return kept
        k = len(run) - 1
        stands = VERBS.get(run[k]) in lexicon.POSTURE | lexicon.GAITS and self._word(end) in lexicon.PLACE_WORDS  # "walking in the street"
        acts = stands or (not self._needs and self._deeds) or self._word(end) in DETERMINERS | PARTICLES
        if k and acts and run[k] in lexicon.GERUNDS and not self._is_thing(run):
            return k
        rare = run[k].endswith("ed") and word_classes(run[k]).keys() == {"VERB"}  # "a penguin waddled into view"
        past = (run[k] in lexicon.PASTS and run[k] != VERBS[run[k]] and run[k] not in STATES) or rare
        may = self._acts_now(run[k], end) or (past and not self._needs)
        if k and may and self._needs in {"", "finite"} and not (self._prep or _is_compound(run, k) or self._is_thing(run)):
            self._relative = bool(self._phrases)
            return k
        return None

    def _acts_now(self, word: str, end: int) -> bool:
        """A finite verb in the present: "a bus goes by", "that the dog barks"."""
        named = self._needs == "finite" and self._det in {"a", "an", "the", "my"}
        closes = self._word(end) in PARTICLES | {"by", "past"} or (named and end == len(self._tokens))
        return closes and word.endswith("s") and VERBS.get(word, word) != word

    def _may_act(self, subject: Sequence[str]) -> bool:
        return subject[-1] in lexicon.PERSONS | self._names or (len(subject) == 1 and not lexicon.is_adjective(subject[0]))

    def _is_thing(self, run: Sequence[str]) -> bool:
        """What looks like a verb and has nothing but adjectives in front of it: "the tall building", "a long meeting", "a red rose"."""
        some = self._det in {"a", "an"}
        plain = (w in COLOUR_WORDS or lexicon.is_adjective(w) or (some and "ADJ" in word_classes(w)) for w in run[:-1])
        return len(run) > 1 and all(plain)

    def _fits(self, word: str, last: bool = False, ends: bool = False) -> bool:
        """Whether a word has the form of the verb that must come; at the end of a question any adjective says how something is."""
        base = VERBS.get(word, "")
        if not base and self._wide and not word.endswith("'s"):
            base = lexicon.base_of(word) if "VERB" in word_classes(word) or not word_classes(word) else ""
        if self._needs == "base":
            return base == word
        past = word in lexicon.PASTS or (word.endswith("ed") and (bool(base) or len(word) > 4))
        if self._needs == "participle":
            return past
        if self._needs == "state":
            return (
                past
                or (word.endswith("ing") and base != word and (bool(base) or (last and "VERB" in word_classes(word))))
                or word in STATES
                or (last and self._tokens[0] != "where" and (ends or lexicon.is_adjective(word)))
            )
        return past or (bool(base) and word.endswith("s") and word != base and base not in lexicon.AMBIGUOUS)


def _with_of(before: Phrase, run: tuple[str, ...]) -> Phrase:
    """A phrase with what stands behind its "of"; a measure says nothing itself: "a man with a pair of glasses" is one with glasses."""
    led = before.words[: -len(before.inner)] if before.inner else ()
    if before.words[-1] in lexicon.MEASURES:
        led = led[:-1] if led and led[-1] in DETERMINERS else led
        return msgspec.structs.replace(before, words=(*led, *run), inner=run if led else ())
    return msgspec.structs.replace(before, words=(*before.words, "of", *run), inner=(*before.inner, "of", *run) if led else ())


def _is_compound(run: Sequence[str], k: int) -> bool:
    """The name of a thing of two words: "tape measure"."""
    return bool(nouns().senses(f"{run[k - 1]} {run[k]}"))
