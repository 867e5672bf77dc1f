"""Names of entities: which of them the memory numbers itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgemem.remember.store import Store

VOICE = "speaker"
"""Voices are "speaker 1", "speaker 2"; entities that parts of pictures show have their kind before the number, such as "face 1"."""
_NUMBERED = re.compile(rf"({VOICE}|person|object|location|face|voice|concept) ([1-9]\d{{0,8}})", re.ASCII)
"""Nine digits: as many as `edgemem name` takes."""


def number_of(name: str) -> tuple[str, int] | None:
    """("speaker", 3) for "speaker 3"; None for a name that a person or a writer gave."""
    match = _NUMBERED.fullmatch(name)
    return (match[1], int(match[2])) if match else None


def number_key(word: str) -> str:
    """Key of the saved state with the last number that was given to an entity of a part."""
    return f"entities/{word}"


def last_number(store: Store, word: str) -> int:
    """The highest number after this word that the memory has now or, as far as it is saved, ever gave. The next new one comes after it."""
    with store.view() as view:
        return max(view.highest_number(word), int(store.state(number_key(word)) or b"0"))
