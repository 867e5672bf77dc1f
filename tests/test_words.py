"""The singular of a noun."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgemem.words import singular, singulars


@pytest.mark.parametrize(
    ("many", "one"),
    [
        ("mugs", "mug"), ("knives", "knife"), ("mice", "mouse"), ("teeth", "tooth"), ("women", "woman"), ("batteries", "battery"),
        ("watches", "watch"), ("houses", "house"), ("cookies", "cookie"), ("shoes", "shoe"), ("potatoes", "potato"),
        ("criteria", "criterion"), ("bus", "bus"), ("glass", "glass"), ("gas", "gas"), ("news", "news"),
        ("series", "series"), ("focus", "focus"),
        ("Wine Glasses", "wine glass"), ("step-sisters", "step-sister"), ("iPhones", "iphone"),
        ("", ""), ("  ", "  "), ("42s", "42s"), ("room 214", "room 214"),
    ],
)  # fmt: skip
def test_the_last_word_comes_in_the_singular(many, one):
    assert singular(many) == one


def test_what_may_be_the_plural_of_several_words_is_all_of_them():
    assert singulars("green leaves") == ["green leaves", "green leave", "green leaf"]
    assert singulars("bus") == ["bus"]


@given(st.text(max_size=40))
def test_any_text_is_taken(text):
    assert singulars(text)[0] == text.lower()
    assert singular(text) in singulars(text)
