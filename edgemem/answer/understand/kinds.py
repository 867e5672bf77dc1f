"""The everyday kind of a named thing: a brambling is a bird. Names of species are often wrong where the kind is right."""

from __future__ import annotations

from functools import cache

from edgemem.infer.labels import read_table

KINDS = (
    "dog", "cat", "bird", "fish", "snake", "lizard", "turtle", "frog", "crab", "spider", "insect", "monkey", "ape", "bear", "fruit",
    "vegetable", "fungus", "flower", "boat", "ship", "car", "truck", "train", "aircraft", "musical instrument", "ball", "clock",
    "computer", "bread", "furniture", "clothing", "weapon", "tool", "vehicle", "container", "building", "dish", "food", "animal", "plant",
)  # fmt: skip
"""From the more to the less specific; the first that WordNet puts above a name is its kind."""


@cache
def _table() -> dict[str, str]:
    table: dict[str, str] = {}
    for label in read_table():
        above = set(label.hypernyms)
        kind = next((kind for kind in KINDS if kind in above), "")
        if kind and kind not in label.name.lower().split():
            table.setdefault(label.name, kind)
    return table


def kind_of(name: str) -> str:
    """Such as "bird" for "brambling"; empty where none is known or the name says it."""
    return _table().get(name, "")
