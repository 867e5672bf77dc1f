"""The phrases of a question: things, place, person, deed and state, cut at stop words and verbs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from edgemem.answer.understand import lexicon
from edgemem.answer.understand.lexicon import DETERMINERS, PERSONS, PLACE_WORDS, STATES, STOP, VERBS
from edgemem.answer.understand.record import Kind
from edgemem.answer.understand.spelling import is_adjective
from edgemem.answer.understand.words import NUMBERS, spelt
from edgemem.infer.phrase import COLOUR_WORDS


def noun_phrase(text: str) -> str:
    """The first thing that a clause names, without subject, verbs, articles and filler: "did I leave my red mug" -> "red mug"."""
    found = _phrases(tokens_of(text))
    best = found[0] or tuple(phrase for phrase in (found[1].partition(" ")[2],) if phrase)
    return _bare(best[0]) if best else ""


def tokens_of(text: str) -> list[str]:
    text = re.sub(r"'(?:m|ve|re|ll|d)\b|'(?=\s|$)|(?<!\w)'", "", text)
    return re.findall(r"[^\W_]+(?:['&.-][^\W_]+)*\.?(?=\s|$)|[^\W_]+(?:['&-][^\W_]+)*|,", text)


def content(text: str) -> list[str]:
    """Words that a piece of evidence should hold: everything but the closed classes."""
    return [
        word.removesuffix("'s")
        for word in dict.fromkeys(tokens_of(text))
        if word.removesuffix("'s") not in STOP and word != "," and not _is_silent(word)
    ]


def wanted_words(text: str, kind: Kind) -> tuple[str, ...]:
    """What the evidence should hold; "where did I put it" is answered by where it is."""
    return tuple(word for word in content(text) if kind != "where" or VERBS.get(word, "") not in lexicon.PLACING)


def _is_silent(word: str) -> bool:
    base = VERBS.get(word, "")
    return base in lexicon.SEEING - {"film", "record", "show", "watch", "pass", "catch"} or base in {
        "be",
        "have",
        "do",
        "get",
        "come",
        "go",
        "tell",
    }


class _Runs:
    """Runs of content words, joined over "of", cut at every stop word and verb; those behind a preposition are the place."""

    def __init__(self, words: Sequence[str], *, noun_first: bool) -> None:
        self.things: list[str] = []
        self.places: list[str] = []
        self._run: list[str] = []
        self._where = ""
        self._verbed = False
        self._named = False
        self._either = "or" in words
        self._did = any(word in _DID for word in words)
        before = "many" if noun_first else ""
        for word, following in zip(words, (*words[1:], ""), strict=False):
            self._take(word, before, following)
            before = word
        self._close()
        self.place = (" or " if self._either else " ").join(self.places)

    def _take(self, word: str, before: str, following: str) -> None:
        run = self._run
        self._named = self._named if run else before in _ARTICLES
        if self._goes_on(word, before, following):
            run.append(word)
        elif run and run[-1] == "of" and word in DETERMINERS:
            pass
        elif (word in PLACE_WORDS or "&" in word) and following and following not in PLACE_WORDS and VERBS.get(before, "") != "look":
            self._close()
            self._where = word
        elif self._where and not run and word in DETERMINERS:
            self._where = f"{self._where} {word}"
        elif word in STOP or word == "," or (word == "back" and before in VERBS):
            self._close()
        elif _is_verb(word, before, following, seen=self._verbed, run=run, did=self._did):
            self._close()
            self._verbed = True
        else:
            run.append(word)

    def _goes_on(self, word: str, before: str, following: str) -> bool:
        """Stop words inside a name: "cups of tea", "the tin can", "the first aid kit"."""
        if word == "of":
            return bool(self._run and following and not self._where) and before not in {"kind", "sort", "type", "lot", "out"}
        return (word in {"can", "one"} and bool(self._run)) or (
            word in {"first", "last"} and following in {"aid", "name", "class", "floor"}
        )

    def _close(self) -> None:
        while self._run and self._run[-1] == "of":
            self._run.pop()
        if self._run and (self._named or not set(self._run) <= STATES):
            phrase = _bare(" ".join(self._run))
            if self._where:
                self.places.append(f"{self._where} {phrase}")
            else:
                self.things.append(phrase)
        self._run, self._where = [], ""


_ARTICLES = frozenset(("the", "a", "an", "my", "our"))
_DID = frozenset(("did", "do", "does", "will", "can", "could", "would", "should"))
_DOERS = frozenset(("i", "we", "you", "he", "she", "they"))


def _phrases(words: Sequence[str], *, noun_first: bool = False) -> tuple[tuple[str, ...], str]:
    """Things and the place among them. `noun_first`: the first word is no verb ("how many books")."""
    runs = _Runs(words, noun_first=noun_first)
    return tuple(dict.fromkeys(thing for thing in runs.things if thing)), runs.place


def is_action(word: str, before: str) -> bool:
    """Behind "I", "we" ... stands what was done, known or not: "where I chucked it"."""
    return before in _DOERS and word not in STOP and word not in STATES and (word in VERBS or word.endswith("ed"))


def _is_verb(word: str, before: str, following: str, *, seen: bool, run: Sequence[str], did: bool) -> bool:
    """A verb's form where a verb may stand: not behind an article, a preposition or in the middle of a name."""
    if is_action(word, before):
        return True
    if word not in VERBS:
        return bool(run) and len(word) > 4 and word.endswith("ed") and following in STOP | {""} and not before.endswith(".")
    if before in DETERMINERS or (before in lexicon.PREPOSITIONS and before != "to") or before in COLOUR_WORDS:
        return False
    return not _is_named(word, before, following, seen=seen, run=run, did=did) and _may_act(word, before, following, run=run)


def _is_named(word: str, before: str, following: str, *, seen: bool, run: Sequence[str], did: bool) -> bool:
    """A verb's form that is a noun here: "the phone", "two iron bars"."""
    base = VERBS[word]
    if seen and word == base and before not in {"i", "to", "we", "you"}:
        return True
    plural = word.endswith("s") and base in lexicon.AMBIGUOUS
    if run and ((word == base and not did) or plural or before.endswith(".")):
        return True
    return word in lexicon.AMBIGUOUS and not (before in lexicon.PRONOUNS | {"to"} or (bool(run) and did and following in STOP | {""}))


def _may_act(word: str, before: str, following: str, *, run: Sequence[str]) -> bool:
    leads = word.endswith(("ed", "ing")) and following and following not in STOP
    if leads and before not in lexicon.PRONOUNS | lexicon.AUXILIARIES and not run:
        return before != ""
    return before in lexicon.PRONOUNS | lexicon.AUXILIARIES | lexicon.FILLER | {"", ",", "to"} or (bool(run) and before != "of")


def _bare(phrase: str) -> str:
    words = _MEASURE.sub("", phrase.removesuffix("'s")).split()
    while len(words) > 1 and (words[-1] in STATES or words[-1] == "of" or (words[-1].endswith("ing") and words[-1] not in VERBS)):
        words.pop()
    while len(words) > 1 and (words[0] in _CARDINALS or words[0] in {"different", "same"}):
        words.pop(0)
    if len(words) == 2 and words[-1] in COLOUR_WORDS and words[0] not in COLOUR_WORDS:
        words.reverse()
    return " ".join(words)


_MEASURE = re.compile(r"^(?:pairs?|bunch|piece|bits?|heap|set|copy|lots?) of ")


def slots(rest: str, raw: str, kind: Kind) -> tuple[tuple[str, ...], str, str, str, str]:
    """Things, place, person, main verb and its particle."""
    tokens = tokens_of(_COMPOUND.sub(lambda match: match[0].replace(" ", "&"), rest))
    verb, particle = _main_verb(tokens, kind)
    things, place = _phrases(tokens, noun_first=kind in {"how_many", "which"} and tokens[:1] != ["of"] and not _is_past(tokens[:1]))
    names = _names(raw)
    things = tuple(thing for thing in things if thing not in {"name", "surname"} or kind != "who")
    things = tuple(thing.removeprefix("name of ") for thing in things) if kind == "who" else things
    things = tuple(thing for thing in things if thing != particle)
    people = [thing for thing in things if set(thing.split()) & names or thing.split()[-1] in PERSONS or thing.split()[0] in PERSONS]
    place = place.replace("&", " ")
    if (
        place
        and (held := place.partition(" ")[2])
        and (held in names or held.split()[-1] in PERSONS)
        and " " not in held.removeprefix("my ")
    ):
        people, place = [*people, held.removeprefix("my ")], ""
    person = "; ".join(dict.fromkeys(_as_written(thing, raw) for thing in people))
    person = person or next((word for word in tokens if word in {"he", "she", "him", "her"} and kind != "where"), "")
    return tuple(thing for thing in things if thing not in people), place, person, verb, particle


_COMPOUND = re.compile(r"\b(?:on top of|in front of|out of|to the (?:left|right) of|at the (?:back|bottom|top|end|side) of)\b")


def _is_past(first: Sequence[str]) -> bool:
    return any(word in VERBS and word != VERBS[word] and not word.endswith("s") for word in first)


def _names(raw: str) -> frozenset[str]:
    """Words written with a capital inside a sentence, without the weekdays, months and what is written in capitals throughout."""
    inside = re.findall(r"(?<![.?!:]\s)(?<!^)(?<=\s)((?:Dr\. )?[A-Z][a-z]+)(?:'s)?\b", raw)
    return frozenset(word.lower() for name in inside for word in name.split() if word.lower() not in _CALENDAR)


_CARDINALS = frozenset(word for word in NUMBERS if not word.endswith(("st", "nd", "rd", "th", "ce")))
_CALENDAR = frozenset(spelt("monday tuesday wednesday thursday friday saturday sunday january february march april may june july august"
    " september october november"
    " december christmas easter utc wifi pin pdf"))  # fmt: skip


def _as_written(phrase: str, raw: str) -> str:
    at = raw.lower().find(phrase)
    return raw[at : at + len(phrase)] if at >= 0 else phrase


def _main_verb(tokens: Sequence[str], kind: Kind) -> tuple[str, str]:
    """Base of the last verb that stands behind its subject, and a particle ("came round"); "" where only "to be" does."""
    found = ""
    particle = ""
    did = any(word in _DID for word in tokens)
    for i, word in enumerate(tokens):
        before = tokens[i - 1] if i else ""
        base = VERBS.get(word, word if is_action(word, before) or _is_done(tokens, i) else "")
        if base == "do" and before in {"i", "we", "you"} and not found:
            return "do", ""
        noun = (
            (word in lexicon.AMBIGUOUS or (word == f"{base}s" and base in lexicon.AMBIGUOUS and kind == "how_many"))
            and before not in lexicon.PRONOUNS | {"to"}
            and (not did or before in STOP)
        )
        if (
            not base
            or noun
            or (base in {"be", "have", "do"} and i < len(tokens) - 1)
            or before in DETERMINERS | lexicon.PLACE_WORDS
            or (word == base and word in STATES and not did and before not in _DOERS)
        ):
            continue
        subject = before in lexicon.PRONOUNS | lexicon.AUXILIARIES | lexicon.FILLER | {"to", ","} or (
            i == 0 and kind in {"who", "what", "which", "where", "how_many"}
        )
        if not found and (subject or (before and before not in STOP and (did or word != base or kind == "who" or word not in VERBS))):
            found = base
            following = tokens[i + 1] if i + 1 < len(tokens) else ""
            particle = (
                following
                if following in _PARTICLES
                or (following == "to" and found in _TOWARDS)
                or (found in {"start", "stop", "finish", "keep"} and following in VERBS)
                else ""
            )
            if not particle and tokens[-1] in _LAST and i < len(tokens) - 1:
                particle = tokens[-1] if tokens[-1] != "on" or found in {"turn", "switch", "leave"} else ""
            particle = "next to" if following == "next" and tokens[i + 2 : i + 3] == ["to"] else particle
            if found == "go" and following in VERBS and following.endswith("ing"):
                found = VERBS[following]
            if found == "spend" and (doing := next((VERBS[w] for w in tokens[i + 1 :] if w.endswith("ing") and w in VERBS), "")):
                found = doing
    return found, particle


def _is_done(tokens: Sequence[str], i: int) -> bool:
    """An unknown participle behind what it is said of: "is the bathroom furnished"."""
    ends = i + 1 == len(tokens) or tokens[i + 1] in STOP
    return (
        ends
        and i > 0
        and tokens[i].endswith(("ed", "ing") if tokens[0] in _BEING else "ed")
        and len(tokens[i]) > 4
        and tokens[i - 1] not in STOP
    )


_BEING = frozenset(("is", "was", "are", "were", "isn't", "wasn't", "aren't"))
_TALKING = frozenset(("talk", "speak", "call", "answer", "promise", "agree"))
_TOWARDS = frozenset(("talk", "speak", "reply", "write", "listen", "belong"))
_LAST = frozenset(("off", "on", "up", "down", "out", "away", "back", "over"))
_PARTICLES = frozenset(("round", "by", "up", "off", "down", "out", "away", "over", "home"))


def predicate(kind: Kind, verb: str, particle: str, rest: str, detail: str) -> str:
    """What is claimed: the deed of the main verb, else a state that the question ends with."""
    if detail == "colour":
        return "colour"
    if (either := re.search(r"\b(\w+) or (\w+)$", rest.strip())) and {either[1], either[2]} <= STATES:
        return either[0]
    if verb in lexicon.PLACING and kind in {"where", "which", "when", "what", "yes_no"} and not (kind != "where" and verb == "leave"):
        return ""
    if verb == "do" and kind in {"what", "how_many"}:
        return "doing" if "doing" in rest else "done"
    moved = verb in {"go", "come"} and kind in {"where", "what", "order", "which"} and not particle
    silent = verb == "read" and not re.search(r"\b(?:i|we)\b", rest)
    if verb and not silent and verb not in lexicon.SEEING | (lexicon.SAYING - _TALKING) | {"be", "have", "do", "get"} and not moved:
        deed = f"{lexicon.PARTICIPLES.get(verb, verb)} {particle}".strip() if verb != "come" or not particle else f"came {particle}"
        return f"{deed} longer" if "longer" in rest.split() else deed
    return _compared(rest, kind) or (_state(rest, kind) if kind in {"yes_no", "which", "how_many", "how_why", "what"} else "")


_MORE = re.compile(r"\b(?:more|less) (?:often|\w+(?= than\b))|\b(?:more|fewer|less)\b(?=.*\b(?:or|than)\b)")
_RANK = re.compile(r"\b(?:came|come|comes|arrived?) (first|last)\b")
_LIKE = re.compile(r"\b(\w{3,}er) (?:than\b|to the\b)|\b(?:is|was|are|were) (?!there)(\w{3,}er)\b|\b(same as)\b")


def _compared(rest: str, kind: Kind) -> str:
    """What things are compared by: "more often", "taller" (than), "came first"."""
    if kind == "order" and (ranked := _RANK.search(rest)):
        return f"came {ranked[1]}"
    if kind in {"yes_no", "which"} and (more := _MORE.search(rest)):
        return more[0] if more[0].split()[-1] == "often" else more[0].split()[0]
    found = _LIKE.search(rest) if kind in {"yes_no", "which"} else None
    return next((group for group in found.groups() if group and group not in PERSONS), "") if found else ""


def _state(rest: str, kind: Kind) -> str:
    """The state that a question names, or the adjective that it ends with."""
    tail = [word for word in tokens_of(rest) if word != ","]
    state = next((word for word in reversed(tail) if word in STATES and word != "same"), "")
    if state or not tail:
        return state
    last = tail[-1]
    asserts = kind == "yes_no" and tail[0] in _BEING and len(tail) > 2
    return last if last in {"on", "off"} or (asserts and last not in STOP and last not in COLOUR_WORDS and is_adjective(last)) else ""
