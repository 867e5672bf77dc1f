"""Numbers of what the memory names itself: "speaker 3", "face 1". None is given twice."""

from __future__ import annotations

from edgemem.remember.store import Store


def number_key(word: str) -> str:
    """Key of the saved state with the last number that was given to an entity of a part."""
    return f"entities/{word}"


def last_number(store: Store, word: str) -> int:
    """The highest number after this word that the memory has now or, as far as it is saved, ever gave. The next new one comes after it."""
    with store.view() as view:
        return max(view.highest_number(word), int(store.state(number_key(word)) or b"0"))
