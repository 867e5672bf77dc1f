"""Closed classes of English words and the forms of verbs (`lexicon.txt`), and what the dictionary says of all others."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from edgemem.infer.labels import label_names, labels_called, nouns
from edgemem.words import singulars, word_classes


def read_table(file: str) -> list[tuple[str, list[str]]]:
    """The classes of a text file of this room and their lines: a line without an indent opens a class; lines with "#" are remarks."""
    table: list[tuple[str, list[str]]] = []
    for line in files("edgemem.answer.understand").joinpath(file).read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            table[-1][1].append(line.strip())
        elif not line.startswith("#"):
            table.append((line.partition("  #")[0], []))
    return table


_LISTS = {name: " ".join(lines).split() for name, lines in read_table("lexicon.txt")}
_CLASSES = {name: frozenset(words) for name, words in _LISTS.items()}


def __getattr__(name: str) -> frozenset[str]:
    """Every class of `lexicon.txt` under its name there, where remarks say what is in it: `lexicon.SEEING`."""
    if name not in _CLASSES:
        raise AttributeError(name)
    return _CLASSES[name]


def pairs_of(name: str) -> dict[str, str]:
    """What stands for each word of a class of pairs in `lexicon.txt`: "u=you"; "_" is a space."""
    return {word: other for word, _, other in (pair.replace("_", " ").partition("=") for pair in _LISTS[name])}


PREPOSITIONS = _CLASSES["PLACE_WORDS"] | _CLASSES["PREPOSITIONS"]
STOP = PREPOSITIONS.union(*(_CLASSES[name] for name in ("PRONOUNS", "DETERMINERS", "AUXILIARIES", "FILLER", "PLACE_ADVERBS")))


def _forms() -> list[tuple[str, str, str, str, str]]:
    """Of every verb its base, past, participle, "-ing" form and third person."""
    doubled, made = _CLASSES["DOUBLED"], list[tuple[str, str, str, str, str]]()
    for verb in (*_LISTS["IRREGULAR"], *_LISTS["REGULAR"]):
        base, *irregular = verb.split("/")
        mute = base.endswith("e") and not base.endswith("ee") and base != "be"
        stem = base + base[-1] if base in doubled else base[:-1] if mute else base
        bare = f"{base[:-1]}i" if base[-1] == "y" and base[-2] not in "aeiou" else ""
        past = bare + "ed" if bare else f"{base}d" if base.endswith("ee") else f"{stem}ed"
        third = f"{bare}es" if bare else f"{base}{'es' if base.endswith(('s', 'z', 'sh', 'ch', 'x', 'o')) else 's'}"
        stem = f"{base[:-2]}y" if base.endswith("ie") else stem
        made.append((base, *(irregular or (past, past)), f"{stem}ing", third))
    return made


_EVERY = _forms()
VERBS = {form: base for base, *forms in reversed(_EVERY) for form in (base, *forms)}
"""Every form of a verb and its base: "bought" is "buy"."""
PARTICIPLES = {base: participle for base, _, participle, *_ in _EVERY}
"""Base of a verb and its past participle, by which an action is named: "buy" is "bought"."""
PASTS = frozenset(form for _, past, participle, *_ in _EVERY for form in (past, participle))

GERUNDS = frozenset(doing for *_, doing, _ in _EVERY)
"""Such as "running", not "ring"."""
PRESENTS = frozenset(form for base, *_, third in _EVERY for form in (base, third)) - PASTS
"""Forms of verbs that tell what is done now: "need", "needs"."""


@cache
def _rewritings(*classes: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    lines = (line.partition(" =>") for name, lines in read_table("spoken.txt") if name in classes for line in lines)
    return tuple((re.compile(written), plain.removeprefix(" ")) for written, _, plain in lines)


def rewritten(text: str, *classes: str) -> str:
    """The text with what is written as it is spoken as it is meant, by classes of `spoken.txt`."""
    for written, plain in _rewritings(*classes):
        text = written.sub(plain, text)
        if "  " in text:
            text = " ".join(text.split())
    return text


def is_seeable(phrase: str) -> bool:
    """May be seen: a "mouse" and what no dictionary knows, not a "clue" or a "morning"."""
    last = phrase.rpartition(" ")[2]
    named = not label_names().isdisjoint(singulars(phrase)) or bool(labels_called(phrase))  # "band aids"
    return named or bool(nouns().find(phrase)[1]) or last in _CLASSES["PERSONS"] or last in pairs_of("PLURALS") or not word_classes(last)


def base_of(form: str) -> str:
    """The base of a verb, "overflow" of "overflowing"; the word itself where no dictionary knows it as a verb."""
    return VERBS.get(form) or next(iter(word_classes(form).get("VERB", ())), form)


def participle(base: str, said: str) -> str:
    """The past participle by which a deed is named: "sharpened" of "sharpen"; `said` where `base` is no base that a dictionary knows."""
    from lemminflect import getInflection

    known = base in word_classes(base).get("VERB", ())
    return PARTICIPLES.get(base) or next(iter(getInflection(base, "VBN") if known else ()), said)


def is_comparative(word: str) -> bool:
    """A comparison: "taller", "further"."""
    return word in _CLASSES["COMPARATIVES"] or (
        word.endswith("er") and any(word not in word_classes(word).get(name, (word,)) for name in ("ADJ", "ADV"))
    )


def is_superlative(word: str) -> bool:
    """Such as "heaviest"."""
    return word in {"best", "worst"} or (word.endswith("est") and any(word != base for base in word_classes(word).get("ADJ", ())))


def is_adverb(word: str) -> bool:
    """An adverb in "-ly" and nothing else: "nearly"."""
    return word.endswith("ly") and word_classes(word).keys() == {"ADV"}


def is_adjective(word: str) -> bool:
    """An adjective and no noun: "muddy"."""
    return "ADJ" in word_classes(word) and "NOUN" not in word_classes(word)
