"""Names of entities: which of them the memory numbers itself, and when two names are the same."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping

from edgemem.remember.rows.text import words

VOICE = "speaker"
"""Voices are "speaker 1", "speaker 2"; entities that parts of pictures show have their kind before the number, such as "face 1"."""
_NUMBERED = re.compile(rf"\b({VOICE}|person|object|location|face|voice|concept) ([1-9]\d{{0,8}})\b", re.ASCII)
"""Nine digits: as many as `edgemem name` takes."""

OWNER = r"my|our|his|her|their|mum's|dad's|the"
"""Words before the name of a thing that say whose it is."""
_OWNED = re.compile(rf"^(?:{OWNER}|an?|your)(?:\s+|$)", re.IGNORECASE)


def bare_name(name: str) -> str:
    """A thing is called the same whoever's it is: "my keys" are the "keys"."""
    return _OWNED.sub("", " ".join(name.split()))


def spelling(text: str) -> str:
    """The text in lower case, with one code for letters and apostrophes that have several (Unicode form NFKC)."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).replace("\u2019", "'")


def spoken_words(text: str) -> list[str]:
    """The words of a name or a text, without blanks and marks: "Street-Sign" is "street", "sign"."""
    return words(spelling(text))


def plain_name(name: str) -> str:
    """The form in which names are compared: "The  Street-sign" and "street sign" are the same; "" for a name without a letter or digit."""
    return " ".join(words(bare_name(spelling(name))) or spoken_words(name))


def saying(names: Iterable[str]) -> Callable[[str], bool]:
    """Whether a text contains one of these names, as whole words, with anything between the words."""
    spelt = {"[\\W_]+".join(map(re.escape, spoken)) for name in names if (spoken := spoken_words(name))}
    pattern = re.compile(rf"(?<![^\W_])(?:{'|'.join(sorted(spelt, key=len, reverse=True))})(?![^\W_])")
    return lambda text: pattern.search(spelling(text)) is not None


def holds(texts: Iterable[bytes | str], names: Iterable[str]) -> bool:
    """Whether one of these names is anywhere in one of the texts, or in bytes of an unknown format."""
    plain = [" ".join(spoken_words(text.decode(errors="replace") if isinstance(text, bytes) else text)) for text in texts]
    return any(name in text for text in plain for name in filter(None, (" ".join(spoken_words(name)) for name in names)))


def number_of(name: str) -> tuple[str, int] | None:
    """("speaker", 3) for "speaker 3"; None for a name that a person or a writer gave."""
    match = _NUMBERED.fullmatch(name)
    return (match[1], int(match[2])) if match else None


def renumbered_names(text: str, highest: Mapping[str, int]) -> str:
    """The text with each number after one of these words raised by the highest of that word here: "speaker 1 says" is of another voice."""
    return _NUMBERED.sub(lambda match: f"{match[1]} {int(match[2]) + highest[match[1]]}" if match[1] in highest else match[0], text)
