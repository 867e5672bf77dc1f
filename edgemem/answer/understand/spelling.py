"""Slips in spelling: an unknown word is taken for the known one that was most probably meant.

The noisy channel of Kernighan, Church and Gale (COLING 1990): the probability of the word times that of the slip. Words have the frequency
of films' subtitles (pyspellchecker, MIT); slips are those of Damerau (Communications of the ACM 7/3, 1964) with the more probable ones
cheaper: letters swapped, doubled or not, a vowel for a vowel, letters that sound alike. Words of the
dictionaries and of the labels are never changed.
"""

from __future__ import annotations

import math
import re
from functools import cache, lru_cache
from itertools import accumulate

from edgemem.answer.understand import lexicon
from edgemem.answer.understand.timeref import CALENDAR
from edgemem.answer.understand.words import NUMBERS
from edgemem.infer.labels import nouns, other_names, read_table
from edgemem.words import word_classes

_SHORTEST = 3
"""Shorter words have too many neighbours one letter away."""
_NO_SLIP = 8
"""Nouns of so many letters are meant, however rare: "snakewood"."""
_LONGEST = 30
"""No word that is meant is longer."""
_RAREST = 200
"""Rarer words (of 7e8 in the subtitles) are not what somebody meant."""
_SELDOM = 51
"""Words that are rarer and in no dictionary are slips that stand in the subtitles."""
_LEADS = (lexicon.PREPOSITIONS | lexicon.DETERMINERS) - {"her", "his"} | {"how", "when", "where"}
"""Words that run into the next one: "inthe"."""
_GRAMMAR = lexicon.STOP | lexicon.PERSONS | lexicon.KNOWN | lexicon.VERBS.keys()
_COMMON = 4000
"""The least frequency of words of grammar, of time and of labels, of which films speak less."""
_WEIGHT = 3.0
"""How much a slip of cost 1 counts against the logarithm of the frequency."""
_BOUNDS = ((4, 1.2, 6.2), (5, 1.3, 5.5), (7, 1.7, 3.4), (_LONGEST, 3.0, 2.5))
"""Up to how many letters, the dearest slip, and the least logarithm of the probability (without a constant) of what was meant."""
_VOWELS = frozenset("aeiouy")
_ALIKE = frozenset(["ck", "kc", "cs", "sc", "sz", "zs", "gj", "jg", "fv", "vf", "iy", "yi", "qk", "kq"])
_SOUND_LIKE_VERBS = frozenset(("by", "here", "where", "were"))


@cache
def _known() -> frozenset[str]:
    """Words of grammar and of time, and the words of labels and their explanations."""
    texts = (text for row in read_table() for text in (row.name, *row.synonyms, *row.hypernyms, row.gloss))
    labels = frozenset(word for text in (*texts, *other_names()) for word in re.findall(r"\b[a-z]{3,}\b", text))
    return labels | _GRAMMAR | lexicon.STATES | CALENDAR | NUMBERS.keys()


@cache
def _frequencies() -> dict[str, int]:
    from spellchecker import SpellChecker  # 0.3 s, with the first unknown word

    return dict(SpellChecker(language="en").word_frequency.dictionary)


@cache
def _beginning(letter: str) -> list[tuple[str, frozenset[str], float]]:
    """The words that may be meant, by their first letter, with their letters and the logarithm of their frequency; the commonest first."""
    counts = {word: count for word, count in _frequencies().items() if count >= _RAREST and word[0] == letter}
    counts |= {word: max(_COMMON, counts.get(word, 0)) for word in _known() if word[0] == letter}
    return [(word, frozenset(word), math.log(count)) for word, count in sorted(counts.items(), key=lambda pair: -pair[1])]


@lru_cache(maxsize=4096)
def repaired(word: str) -> str:
    """The known word that a lower-case word is a slip of, else the word itself."""
    if (
        not (_SHORTEST <= len(word) <= _LONGEST and word.isalpha() and word.isascii())
        or word in _GRAMMAR
        or word_classes(word)
        or {word, word.removesuffix("s"), word.removesuffix("es")} & _known()
        or _frequencies().get(word, 0) >= _SELDOM
        or (len(word) >= _NO_SLIP and nouns().find(word)[1])
    ):
        return word
    for cut in range(2, len(word) - 2):
        parts = word[:cut], word[cut:]
        if (parts[0] in _LEADS or min(map(len, parts)) > 3) and all(
            part in _known() and _frequencies().get(part, 0) >= _RAREST for part in parts
        ):
            return " ".join(parts)
    limit, least = next(bounds for length, *bounds in _BOUNDS if len(word) <= length)
    best = least, word
    for letter in (word[0], *sorted(pair[1] for pair in _ALIKE if pair[0] == word[0]), *("kw" if word[0] in "nr" else "")):
        for other, theirs, value in _beginning(letter):
            if value - 0.6 * _WEIGHT <= best[0]:
                break
            if abs(len(other) - len(word)) > 2 or len(theirs.symmetric_difference(word)) > 3:
                continue
            cost = _least_cost(word, other)
            if cost <= limit + 0.3 * (other in lexicon.STOP) and value - _WEIGHT * cost > best[0]:
                best = value - _WEIGHT * cost, other
    return best[1]


@lru_cache(maxsize=4096)
def base_meant(word: str) -> str:
    """The verb that is meant where only a verb's base may stand ("did i leev", "did i by"), else the word itself."""
    if word in lexicon.VERBS or "VERB" in word_classes(word) or (word in lexicon.STOP and word not in _SOUND_LIKE_VERBS):
        return word
    bases = [base for base in lexicon.PARTICIPLES if base[0] == word[0] and len(base) > 2 and abs(len(base) - len(word)) <= 2]
    cost, base = min(((_least_cost(word, base), base) for base in bases), default=(math.inf, word))
    return base if cost <= 1.8 else word


@lru_cache(maxsize=4096)
def _heard(word: str) -> str:
    return lexicon.rewritten(word, "HEARD")


def _least_cost(slip: str, word: str) -> float:
    """That of making `slip` of `word` as they are written, or as they are heard."""
    return min(_cost(slip, word), 0.3 + _cost(_heard(slip), _heard(word)))


def _cost(slip: str, word: str) -> float:
    """What it costs to make `slip` of `word`."""
    left_out = [_single(word, j, 0.9, 1.2) for j in range(len(word))]
    before, row = list[float](), [0.0, *accumulate(left_out)]
    for i, letter in enumerate(slip):
        put_in = _single(slip, i, 1.1, 1.6)
        older, before, row = before, row, [row[0] + put_in]
        for j, other in enumerate(word):
            best = min(before[j] + _swapped(letter, other, i), row[j] + left_out[j], before[j + 1] + put_in)
            if i and j and letter == word[j - 1] and other == slip[i - 1]:
                best = min(best, older[j - 1] + 0.8)
            row.append(best)
    return row[-1]


def _swapped(letter: str, other: str, i: int) -> float:
    if letter == other or letter + other in _ALIKE:
        return 0.0 if letter == other else 0.9
    return (0.9 if {letter, other} <= _VOWELS else 1.7) + (0.0 if i else 1.0)


def _single(word: str, i: int, vowel: float, consonant: float) -> float:
    """What it costs to leave out a letter or to put one in."""
    return 2.5 if not i else 0.6 if word[i] == word[i - 1] else vowel if word[i] in _VOWELS else consonant
