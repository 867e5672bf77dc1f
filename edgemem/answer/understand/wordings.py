"""The wordings by which questions are read, as regular expressions (`times.txt`, `wordings.txt`), compiled when they are first used."""

from __future__ import annotations

import re
from functools import cache

from edgemem.answer.understand.lexicon import CARRIERS, HANDLING, PERSONS, PREPOSITIONS, USING, VERBS, pairs_of, read_table
from edgemem.infer.phrase import COLOUR_WORDS

ORDINALS = {word: int(place) for word, place in pairs_of("ORDINALS").items()}
"""What a word says about the place in a row: 1 = first, -1 = last."""


@cache
def _sources() -> tuple[tuple[str, str], ...]:
    classes = {
        "PERSONS": PERSONS,
        "COLOURS": frozenset(COLOUR_WORDS),
        "CARRIERS": CARRIERS - {"word", "words"},
        "ORDINALS": frozenset(ORDINALS),
        "PREPOSITIONS": PREPOSITIONS,
    }
    classes |= {
        name: frozenset(f for f, base in VERBS.items() if base in bases) for name, bases in (("USING", USING), ("HANDLING", HANDLING))
    }
    known = {name: "|".join(sorted(words, key=len, reverse=True)) for name, words in classes.items()}
    made = list[tuple[str, str]]()
    for name, lines in (*read_table("times.txt"), *read_table("wordings.txt")):
        source = re.sub(r"<([A-Z]+)>", lambda match: f"(?:{known[match[1]]})", "|".join(lines))
        known[name] = source
        made.append((name, source))
    return tuple(made)


@cache
def pattern(name: str, flags: int = 0) -> re.Pattern[str]:
    """Such as that of "FITS colour"; KeyError where there is none."""
    return re.compile(dict(_sources())[name], flags)


@cache
def patterns(group: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Those of a group in order, by what stands behind its name: "HEAD what price" is "what price" of "HEAD"."""
    own = ((name.removeprefix(group).strip(), source) for name, source in _sources() if name.split()[0] == group)
    return tuple((name, re.compile(source)) for name, source in own)
