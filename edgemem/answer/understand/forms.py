"""The form of an answer: what a question asks for ("a number"), and whether words have that form."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import cast

from edgemem.answer.understand.lexicon import FIRST_NAMES, NO_NAMES, PERSONS, STOP, TITLES
from edgemem.answer.understand.record import Form, Kind
from edgemem.answer.understand.wordings import pattern, patterns
from edgemem.answer.understand.words import figures, words

STRICT = frozenset(("time", "date", "number", "price", "duration", "topic", "code", "colour", "address", "phone"))
"""Forms without which words are no answer."""
_FORM_OF_KIND: dict[Kind, Form] = {"who": "name", "how_long": "duration", "where": "place"}
_ANYWHERE = frozenset(("colour", "topic", "time", "place", "price"))


def form_of(kind: Kind, text: str) -> Form:
    """What the answer must look like; "" where the question does not say or what it asks for was seen."""
    if kind == "when":
        return "" if pattern("WHEN_SAID").search(text) else "time" if pattern("OF_WHEN time").search(text) else "date"
    if kind not in {"what", "which", "other"}:
        return "topic" if kind == "how_why" and text.startswith("why") else _FORM_OF_KIND.get(kind, "")
    head = pattern("WHAT_NOT_WHERE").match(text)
    asked = head[0] if head else text
    return cast("Form", next((form for form, asks in patterns("ASKS") if asks.search(text if form in _ANYWHERE else asked)), ""))


def fits(form: Form, text: str, asked: Collection[str] = ()) -> bool:
    """Whether words have the form that is asked for. Figures and names that the question says itself, `asked` in lower case, do not count:
    "BUS 44" is no price of a ticket on bus 44.
    """
    if not form:
        return True
    said = {*asked, *NO_NAMES} - TITLES if asked and form == "name" else asked
    text = re.sub(r"[^\W_][\w'-]*", lambda match: "" if _is_said(form, match[0], said) else match[0], text)
    if form in {"name", "person"} and pattern("NAMED_PERSON").search(text):
        return True
    return pattern(f"FITS {'name' if form == 'person' else form}", re.IGNORECASE).search(text) is not None


def _is_said(form: Form, word: str, said: Collection[str]) -> bool:
    named = word[0].isupper() and (form == "name" or (form == "place" and not word.isupper()))
    return word.lower() in said and (named or (form != "name" and any(map(str.isdigit, word))))


def names(text: str, asked: Collection[str], *, persons: bool = False) -> bool:
    """Whether words hold a name that the question does not have, or a person ("my brother"); of `persons` the title of a film is none."""
    text = pattern("TITLED").sub(" ", text) if persons else text
    called = re.findall(r"\b(?:called|named|name is|name's) (\w+)", text.lower())
    named = (name for match in pattern("NAMED_PERSON").finditer(text) for name in re.findall(r"[^\W\d_]{2,}", match[0].lower()))
    some = (PERSONS | FIRST_NAMES) & set(words(text)) if persons else ()
    return any(name not in asked and name not in STOP | NO_NAMES for name in (*called, *named, *some))


def short_answer(form: Form, text: str, asked: tuple[str, ...] = ()) -> str:
    """The part of the words that has the form asked for; "" where none stands out. What the question itself says is no answer; what stands
    behind a word of it is one first: "FLIGHT LH939" in "C68 C70 FLIGHT LH939" for "flight number".
    """
    short = dict(patterns("SHORT")).get(form)
    if short is None:
        return ""
    plain = text if form in {"place", "name", "address"} else figures(text)
    said = max((match.end() for word in asked for match in re.finditer(rf"\b{re.escape(word)}\b", plain.lower())), default=0)
    matches = list(short.finditer(plain)) if form == "place" else sorted(short.finditer(plain), key=lambda match: match.end() <= said)
    found = [(match[match.lastindex] if match.lastindex else match[0]).strip(" ,") or "" for match in matches]
    new = [one for one in found if one and one.lower() not in asked]
    return ", ".join(dict.fromkeys(new[:2])) if form == "place" else (new[0] if new else "")
