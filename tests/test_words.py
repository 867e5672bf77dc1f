"""The singular of a noun."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lemminflect import config, getAllLemmas, getLemma
from lemminflect.codecs.LemmaLUCodec import LemmaLUCodec

from edgemem.words import _PLURAL_ENDINGS, _lemmas, singular, singulars, word_classes


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


def test_every_plural_of_the_dictionary_has_the_lemmas_that_the_whole_dictionary_has():
    whole = LemmaLUCodec.load(config.lemma_lu_fn)
    asked = [word for word in whole if word.isalpha() and word.endswith(_PLURAL_ENDINGS)]
    assert len(asked) > 20_000
    nouns = [word for word in asked if "NOUN" in whole[word] and word.islower()]
    assert len(nouns) > 15_000
    assert [word for word in nouns if _lemmas(word) != getLemma(word, "NOUN")] == []


@pytest.mark.parametrize(
    ("many", "one"),
    [
        ("plorbits", "plorbit"), ("glarches", "glarch"), ("snorries", "snorry"), ("trexes", "trex"), ("frasses", "frass"),
        ("brizzes", "brizz"), ("flushes", "flush"),
        ("gloss", "gloss"), ("vrus", "vrus"), ("tris", "tris"), ("zos", "zos"), ("zoes", "zoe"), ("qies", "qie"),
        ("xies", "xie"), ("quies", "quy"), ("plorbi", "plorbi"), ("plormen", "plormen"),
    ],
)  # fmt: skip
def test_words_outside_the_dictionary_lose_a_regular_ending(many, one):
    assert singular(many) == one


def test_no_pickle_is_loaded():
    code = "import pickle, edgemem.words as w; pickle.load = pickle.loads = None; print(w.singular('plorbits'), w.singular('mice'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["plorbit", "mouse"]


def test_every_word_has_the_classes_and_lemmas_that_the_library_finds():
    whole = [word for word in LemmaLUCodec.load(config.lemma_lu_fn) if word.islower()]
    assert len(whole) > 60_000
    assert [word for word in (*whole, "all", "zqx", "", ",", "leave,noun") if word_classes(word) != getAllLemmas(word)] == []
    assert word_classes("Leaves") == {"NOUN": ("leave", "leaf"), "VERB": ("leave",)}
    assert word_classes("can") == {"AUX": ("can",), "NOUN": ("can",), "VERB": ("can",)}


@given(st.text(max_size=40))
def test_any_text_is_taken(text):
    assert singulars(text)[0] == text.lower()
    assert singular(text) in singulars(text)
