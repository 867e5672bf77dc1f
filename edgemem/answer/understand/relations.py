"""Order and relation in a question: "first", "the last", "after the coffee", "between A and B", "while the phone rang"."""

from __future__ import annotations

import re

from edgemem.answer.understand.asking import mentioned
from edgemem.answer.understand.phrases import noun_phrase
from edgemem.answer.understand.record import Kind, Relation
from edgemem.answer.understand.wordings import ORDINALS, pattern


def place_in_row(text: str, kind: Kind) -> int:
    """What a text says about it: 1 = first, -1 = last, -2 = the one before, 0 = nothing. Of two the later one is the last."""
    found = pattern("ORDINAL").finditer(text)
    two = {"earlier", "later", "sooner"} if kind != "order" else set[str]()  # they compare, unless it is "the later one"
    match = next((m for m in found if m[0] not in two or re.match(r" one\b", text[m.end() :])), None)
    lasts = kind == "how_long" and re.search(r"\blast\W*$", text)
    if match is None and kind in {"where", "what", "which", "who"} and pattern("EARLIER_ONE").search(text):
        return -2
    if match is None or lasts or (match[0] != "second" and pattern("LAST_FEW").search(text)):
        return 0
    if match[0] == "second":
        return {"order": -1, "when": 2, "where": 2, "which": 2}.get(kind, 0)
    return ORDINALS[match[0]]


def take_ordinal(text: str) -> tuple[int, str]:
    """Cut "first", "the last" ... out of a phrase: 1, 2 ..., -1 = last, 0 = none, and the rest."""
    match = pattern("ORDINAL").search(text)
    return (ORDINALS[match[0]], f"{text[: match.start()]} {text[match.end() :]}".strip(" ,")) if match else (0, text)


def take_relation(body: str, kind: Kind) -> tuple[str, Relation, tuple[str, ...], str]:
    """Split off "(right) after the coffee", "between A and B", "while ...": the rest, the relation, its anchors, and the clause as said."""
    if (match := pattern("BETWEEN").search(body)) and not pattern("LIES").match(body):
        first, second = (group for group in match.groups() if group)
        anchors = _pair(first, second)
        if len(anchors) == 2:
            return body[: match.start()], "between", anchors, match[0]
    if match := pattern("RELATION").search(body):
        word: Relation = "before" if match[1] in {"before", "prior to", "ahead of", "until", "preceded"} else "after"
        head, tail, main = body[: match.start()].strip(" ,"), body[match.end() :], ""
        if re.search(r"\b(?:was|is) it\b", head):  # "was it after the tree that I had the duck?"
            tail, _, main = tail.partition(" that ")
        head = f"{head} {main}".strip()
        if anchor := _anchor(tail) or (tail if pattern("SAID_THAT").match(tail) else ""):
            return head, word, (anchor,), f"{match[0]}{tail}"
        return head, "", (), body[match.start() :]
    if (match := pattern("WHILE").search(body)) and (kind != "when" or "when" not in match[0]):
        phrase = _anchor(body[match.end() :])
        return body[: match.start()].strip(" ,"), "while", (phrase,) if phrase else (), body[match.start() :].strip()
    return body, "", (), ""


def pointed_relation(topic: str, asked: str) -> tuple[Relation, tuple[str, ...], str] | None:
    """When or where it was by what is told in front: "the bus went by, what came right after it"."""
    pointed, named = pattern("POINTED").search(asked), mentioned(topic)[-1:]
    if not pointed or not named:
        return None
    relation: Relation = "before" if re.search(r"\b(?:before|ahead|previous)", pointed[0]) else "after"
    return "side" if pointed[0].startswith(("next to", "beside", "along", "near", "together")) else relation, named, pointed[0]


def _pair(first: str, second: str) -> tuple[str, ...]:
    """Two things, or two times of one: "the first and the last look at the mug" is "first mug", "last mug"."""
    anchors = [_anchor(first), _anchor(second)]
    if anchors[1].endswith(" one") and anchors[0]:  # "the bus sign and the flight one"
        anchors[1] = f"{anchors[1].removesuffix(' one')} {anchors[0].rpartition(' ')[2]}"
    for i, said in enumerate((first, second)):
        ordinal, other = pattern("ORDINAL").search(said), take_ordinal(anchors[1 - i])[1]
        if ordinal and noun_phrase(said) in {"", "one", "time", ordinal[0], f"{ordinal[0]} one", f"{ordinal[0]} time"}:
            anchors[i] = ordinal[0] if other in {"", *ORDINALS} else f"{ordinal[0]} {other}"
    return tuple(filter(None, anchors))


def _anchor(text: str) -> str:
    """What a relation refers to, with its ordinal: "the last mug" is "last mug"."""
    text = pattern("LOOK_AT").sub("", text)
    phrase, ordinal = noun_phrase(text), pattern("ORDINAL").search(text)
    return f"{ordinal[0]} {phrase.removeprefix(f'{ordinal[0]} ')}" if ordinal and phrase else phrase
