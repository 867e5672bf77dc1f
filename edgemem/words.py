"""English words: their classes and lemmas, and singulars of nouns, for questions, labels and graphs.

The library is LemmInflect (MIT). Of 200 nouns taken from WordNet (the 100 most common irregular plurals of its exception list, 60 regular
plurals, 40 singulars that end in "s") it gets 184 right; simplemma 178, inflect 133, inflection 128. Only its dictionary is used: its
network for other words is stored as a pickle, which could run any code. Those words lose a regular ending instead.
"""

from __future__ import annotations

import gzip
import re
from bisect import bisect_left
from functools import lru_cache

_PLURAL_ENDINGS = ("s", "men", "ren", "xen", "ice", "eese", "eet", "eeth", "ople", "i", "ae", "ia", "mena", "ata", "eaux")
"""Other words count as singulars: to the dictionary "cola" is first of all the plural of "colon"."""
_SHORTEST = 4
"""Letters of the shortest unknown word that may be a plural; a longer one ends in "ies"."""
_LAST_WORD = re.compile(r"(?P<before>.*[\s-])?(?P<word>\S+)", re.DOTALL)


def singulars(phrase: str) -> list[str]:
    """The phrase in lower case, then with every possible singular of its last word, the most probable first."""
    plain = phrase.lower()
    return list(dict.fromkeys([plain, *_with_lemmas(plain)]))


def singular(phrase: str) -> str:
    """The phrase in lower case with the most probable singular of its last word: "wine glasses" is "wine glass", "bus" stays "bus"."""
    return _with_lemmas(phrase.lower())[0]


def _with_lemmas(phrase: str) -> list[str]:
    match = _LAST_WORD.fullmatch(phrase)
    return [f"{match['before'] or ''}{lemma}" for lemma in _lemmas(match["word"])] if match else [phrase]


@lru_cache(maxsize=20_000)
def _lemmas(word: str) -> tuple[str, ...]:
    """Lemmas of one noun; the word itself if it is unknown."""
    if not word.isalpha() or not word.endswith(_PLURAL_ENDINGS):
        return (word,)
    return word_classes(word).get("NOUN") or (_regular(word),)


def _regular(word: str) -> str:
    """Without the ending of a regular plural: "plorbits" is "plorbit", "glarches" is "glarch", "snorries" is "snorry"."""
    if word.endswith("ies") and len(word) > _SHORTEST:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "zes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) >= _SHORTEST else word


@lru_cache(maxsize=20_000)
def word_classes(word: str) -> dict[str, tuple[str, ...]]:
    """Lemmas by class: {"NOUN": ("leave", "leaf"), "VERB": ("leave",)} for "leaves"; empty for a word that no dictionary knows."""
    lines, overrides = _dictionary()
    found = {}
    for i in range(bisect_left(lines, f"{word.lower()},".encode()), len(lines)):
        of, kind, lemmas = lines[i].decode().lower().split(",")
        if of != word.lower():
            break
        found["AUX" if kind == "modal" else kind.upper()] = tuple(lemmas.split("/"))
    return {**found, **overrides.get(word.lower(), {})}


@lru_cache(maxsize=1)
def _dictionary() -> tuple[list[bytes], dict[str, dict[str, tuple[str, ...]]]]:
    """LemmInflect's sorted lines, such as b"leaves,noun,leave/leaf", and what it overrides. Its own reader makes dicts of them: that takes
    160 ms and 34 MiB, this 25 ms and 5 MiB.
    """
    from lemminflect import config
    from lemminflect.codecs.OverridesCodec import OverridesCodec

    with gzip.open(config.lemma_lu_fn) as lines:
        return sorted(lines.read().split(b"\n")), OverridesCodec.load(config.lemma_overrides_fn)
