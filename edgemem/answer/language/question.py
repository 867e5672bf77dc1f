"""From words to a typed `Parsed`: what is asked (kind), about what (target), in which relation to what else, and when.

Deterministic and table-driven; English, with best effort elsewhere (an unknown wording is a search for its words). Any text ends in a
`Parsed`, except one without a single letter or figure, which raises UsageError.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from typing import Literal

import msgspec

from edgemem.answer.language import vocabulary
from edgemem.answer.language.asked import Asked, read_asked
from edgemem.answer.language.timeref import TimeRef, take_time
from edgemem.answer.language.vocabulary import Kind
from edgemem.errors import UsageError
from edgemem.infer.phrase import COLOUR_WORDS
from edgemem.records import Record

LIMIT_CHARS = 600
"""Longer questions are cut to their last sentence with a question mark, else to this many characters."""

Relation = Literal["", "before", "after", "between", "while", "side"]


class Parsed(Record, frozen=True):
    """A question as the planner sees it."""

    kind: Kind
    target: str = ""
    """The thing asked about, without articles and filler: "red mug". Empty when the thing is the answer."""
    ordinal: int = 0
    """1 = first, 2 = second ..., -1 = last, 0 = not said."""
    relation: Relation = ""
    anchors: tuple[str, ...] = ()
    """What the relation refers to: one thing, two for "between"."""
    alternatives: tuple[str, ...] = ()
    """Things named inside the question: "the cat or the rocket"."""
    place: str = ""
    """Where the target is said to be: "on the table"."""
    quote: str = ""
    """Words that were read, given in the question: the word "EXIT"."""
    attribute: str = ""
    """A property asked for: "colour", "number", "price", "name"."""
    counts: Literal["", "times", "at_once"] = ""
    """For `how_many`: appearances, or things visible together."""
    time: TimeRef | None = None
    asked: Asked | None = None
    """What is asked about people, what they did and what they said; the other fields say what else the words may mean."""
    notes: tuple[str, ...] = ()


class _Clause(Record, frozen=True):
    """A question on its way through the parser: what stands after the question word, and what was cut out of it so far."""

    kind: Kind
    detail: str
    whole: str
    rest: str
    relation: Relation = ""
    anchors: tuple[str, ...] = ()
    quote: str = ""


def parse(text: str) -> Parsed:
    """The one way in. `text` in any case, with typos and any length; raises UsageError when nothing is asked."""
    plain, notes = _normalise(text)
    plain, quote = _take_quote(plain)
    body, lead = plain.rstrip(" ?!."), None
    while lead != body:
        lead, body = body, vocabulary.LEAD.sub("", body, count=1)
    body = body or plain
    for pattern, other in vocabulary.ALIASES:
        body = pattern.sub(other, body)
    time, body = take_time(body)
    body = body.strip(" ?!.,;:-'") or "what did i see"
    whole, relation, anchors = _take_relation(body)
    kind, detail, rest = _head(whole)
    clause = _Clause(kind=kind, detail=detail, whole=whole, rest=rest, relation=relation, anchors=anchors, quote=quote)
    return msgspec.structs.replace(_assemble(_retype(clause)), time=time, asked=None if quote else read_asked(body), notes=notes)


def _normalise(text: str) -> tuple[str, tuple[str, ...]]:
    notes: tuple[str, ...] = ()
    text = " ".join(unicodedata.normalize("NFKC", text[:100_000]).replace("\u2019", "'").replace("\x00", " ").split())
    if not re.search(r"\w", text):
        raise UsageError('the question is empty; ask something like: edgemem ask "where did I leave the mug?" --memory DIR')
    if len(text) > LIMIT_CHARS:
        asked = [sentence for sentence in re.findall(r"[^.?!]*\?", text) if re.search(r"\w", sentence)]
        text = (asked[-1].strip() if asked else text)[:LIMIT_CHARS]
        notes = (f'the question is long; only this part was read: "{text[:80]}..."',)
    return " ".join(_untypo(word) for word in text.lower().split(" ")), notes


def _untypo(token: str) -> str:
    """Repair a function word with one slip (wher, waht, yesterdy); words of content are left alone."""
    core = token.strip("?!.,;:'\"")
    if len(core) < 4 or core in vocabulary.TYPO_WORDS or core in vocabulary.NOT_TYPOS or not core.isalpha():
        return token
    for word in vocabulary.TYPO_WORDS:
        if core[0] == word[0] and abs(len(core) - len(word)) <= 1:
            swapped = sorted(core) == sorted(word)
            if swapped or (len(word) > 4 and difflib.SequenceMatcher(None, core, word).ratio() > 0.85):
                return token.replace(core, word)
    return token


def _take_quote(text: str) -> tuple[str, str]:
    """Words in quotation marks are what was read; they stay in the text as plain words."""
    match = vocabulary.QUOTED.search(text)
    if match is None:
        return text.replace('"', " "), ""
    quote = (match[1] or match[2] or "").strip(" .,!?")
    return f"{text[: match.start()]}{quote}{text[match.end() :]}".replace('"', " "), quote


def _head(clause: str) -> tuple[Kind, str, str]:
    """Kind, detail and what follows the question word; the question word may stand in the middle ("the mug, where is it")."""
    for pattern, kind, detail in vocabulary.HEADS:
        if match := pattern.match(clause):
            return kind, detail, clause[match.end() :].strip()
    for pattern, kind, detail in vocabulary.HEADS[: vocabulary.QUESTION_WORDS]:
        if match := re.search(rf"[,;:.?!] (?:and |so )?(?:{pattern.pattern})", clause):
            return kind, detail, f"{clause[match.end() :]} {clause[: match.start()]}".strip()
    return "find", "", clause


def _take_relation(body: str) -> tuple[str, Relation, tuple[str, ...]]:
    """Split off "(right) after the coffee", "between A and B", "while ..."; a leading clause counts as well."""
    if (between := _take_between(body)) is not None:
        return between
    if re.search(r"\bbefore or (?:is |was )?(?:it )?after\b|\bafter or before\b", body):
        target, _, anchor = re.sub(r"(?:before or (?:is |was )?(?:it )?after|after or before)", "|", body).partition("|")
        return target.strip(), "before", (clean(anchor), _EITHER)
    if match := vocabulary.RELATION.search(body):
        word: Relation = "before" if match[1] in {"before", "prior to", "until"} else "after"
        tail, head = body[match.end() :], body[: match.start()].strip(" ,")
        if not head:  # "after the coffee, what did I see"
            anchor, rest = _split_leading(tail)
            return rest or "what", word, (clean(anchor),)
        if anchor := clean(tail):
            return head, word, (anchor,)
    if (match := vocabulary.WHILE.search(body)) and (anchor := clean(body[match.end() :])):
        return body[: match.start()].strip(" ,"), "while", (anchor,)
    return body, "", ()


_EITHER = "?"
"""Stands behind the anchor of "before or after the rocket"."""


def _take_between(body: str) -> tuple[str, Relation, tuple[str, ...]] | None:
    both = re.search(
        r"\b(?:between|in between|from) (?:when i )?(.+?) (?:and|to|until) (.+?)(?:, (?=what|where|when|did|which|who|how|was)|$)", body
    )
    after_before = re.search(r"\bafter (.+?) (?:and|but) before (.+)$", body)
    if match := after_before:
        return body[: match.start()].strip(" ,") or "what", "between", (clean(match[1]), clean(match[2]))
    if both is None or both[0].startswith("from the") or (both[0].startswith("from") and " and " in both[0]):
        return None
    anchors = (clean(both[1]), clean(both[2]))
    if not all(anchors) or "difference" in body:
        return None
    return f"{body[: both.start()]} {body[both.end() :]}".strip(" ,") or "what", "between", anchors


def _split_leading(tail: str) -> tuple[str, str]:
    match = re.search(r"(?:,\s*| )(?=(?:what|where|which|who|when|how|did|was|were|is|are|have|show|describe|list)\b)", tail)
    return (tail[: match.start()], tail[match.end() :]) if match else (tail, "")


def _retype(c: _Clause) -> _Clause:
    """What the words after the question word say about its kind: text that was read, a name, an order."""
    kind, detail, relation, anchors, rest = c.kind, c.detail, c.relation, c.anchors, c.rest
    if kind == "what" and c.relation in {"before", "after"} and _is_empty(c.whole):
        rest = ""
    textual = c.detail != "colour" and vocabulary.TEXTUAL.search(c.whole) and not vocabulary.ORDER.search(c.whole)
    if (textual and kind in {"what", "which", "find", "describe"}) or (
        kind == "who" and re.search(r"\b(?:name|written|signed|wrote)\b", c.whole)
    ):
        kind = "text"
    if (
        kind in {"what", "find", "describe", "which"}
        and not relation
        and (side := vocabulary.SIDE.search(rest))
        and _is_empty(rest[: side.start()])
    ):
        kind, relation, anchors, rest = "what", "side", (clean(rest[side.end() :]),), ""
    return msgspec.structs.replace(c, kind=kind, detail=detail, rest=rest, relation=relation, anchors=anchors)


def _assemble(c: _Clause) -> Parsed:
    ordinal, rest = take_ordinal(c.rest)
    if c.anchors and c.anchors[-1] == _EITHER:
        return Parsed(kind="order", target=clean(rest), relation="before", anchors=c.anchors[:1], alternatives=("before", "after"))
    if alternatives := _alternatives(rest) if c.kind in {"which", "what", "did_ever", "when", "who", "find"} else ():
        return _between_alternatives(c, ordinal, alternatives)
    if c.kind == "text":
        attribute = c.detail or next((name for name, pattern in vocabulary.ATTRIBUTES.items() if re.search(pattern, c.whole)), "")
        target = clean(_text_target(rest))
        return Parsed(
            kind="text", target=target, ordinal=ordinal, relation=c.relation, anchors=c.anchors, quote=c.quote, attribute=attribute
        )
    kind: Kind = "order" if c.kind == "which" and ordinal and re.match(r"(?:one )?(?:of |came|was|did|appeared)", rest) else c.kind
    target, place, quote = _take_place(vocabulary.MEDIUM.sub("", rest), c.quote)
    if kind == "find" and not target:
        kind = "when" if c.anchors else "describe"
    return Parsed(
        kind=kind, target=target, ordinal=ordinal, relation=c.relation, anchors=c.anchors, place=place, quote=quote,
        attribute="colour" if c.detail == "colour" else "",
        counts="times" if c.detail == "times" else "at_once" if c.detail == "at_once" else "",
    )  # fmt: skip


def _between_alternatives(c: _Clause, ordinal: int, alternatives: tuple[str, ...]) -> Parsed:
    """Such as "Which came first, A or B", "did I see A or B"."""
    ordered = bool(ordinal) or vocabulary.ORDER.search(c.whole) is not None
    if ordered and not ordinal:
        ordinal = -1 if re.search(r"\b(?:last|later|latest|after)\b", c.whole) else 1
    often = re.search(r"\b(?:more often|most often|more times|more frequently)\b", c.whole)
    return Parsed(
        kind="order" if ordered else "which", ordinal=ordinal, relation=c.relation, anchors=c.anchors, alternatives=alternatives,
        counts="times" if often else "",
    )  # fmt: skip


def _take_place(rest: str, quote: str) -> tuple[str, str, str]:
    """Target, the place it is said to be at, and words it is said to carry (the word EXIT)."""
    named = vocabulary.NAMED_TEXT.search(rest)
    if quote or named:
        said = quote or clean(named[1] if named else "")
        return said, "", said
    if (match := vocabulary.PLACE.search(rest)) and clean(rest[: match.start()]):
        return clean(rest[: match.start()]), clean(match[1]), ""
    return clean(rest), "", ""


def take_ordinal(text: str) -> tuple[int, str]:
    """Cut "first", "the last time" ... out of a phrase: 1, 2 ..., -1 = last, 0 = none, and the rest."""
    match = vocabulary.ORDINAL.search(text)
    if match is None:
        return 0, text
    return vocabulary.ORDINALS[match[1]], f"{text[: match.start()]} {text[match.end() :]}".strip(" ,")


def _alternatives(rest: str) -> tuple[str, ...]:
    """Such as "the cat, the dog or the rocket" -> three cleaned names; what stands before a colon or a question mark is dropped."""
    if " or " not in rest:
        return ()
    tail = re.split(r"[:;?]\s+|\b(?:first|last|often|earlier|later|sooner|frequently|see|saw),\s+", rest)[-1]
    parts = [clean(part) for part in re.split(r",\s*(?:or\s+)?|\s+or\s+", tail)]
    named = tuple(dict.fromkeys(part for part in parts if part and part not in {"came", "sooner", "earlier", "later", "not"}))
    return named if len(named) > 1 else ()


def _text_target(rest: str) -> str:
    """What carries the text: "written on the badge" -> badge, "the blue sign say" -> blue sign."""
    rest = re.sub(rf"\b{vocabulary.TEXT_VERB}\b", " ", rest)
    rest = re.sub(
        r"\b(?:text|words?|wording|writing|letters?|message|inscription)\b(?= *(?:was|is|were|are|did|does|on|in|of|there|that|i|$))",
        " ",
        rest,
    )
    rest = re.sub(r"(?<=\w) (?:did|does|was|were|is|are|have|had|do)\b.*", "", " ".join(rest.split()))
    return re.sub(r"^(?:[a-z']+ ){0,3}?(?:on|in) (?=the |a |my |that )", "", rest)


def clean(text: str) -> str:
    """A noun phrase without subject, verbs, articles and filler: "did I leave my red mug" -> "red mug"."""
    text = " ".join(re.sub(r"[?!.,;:\"()\[\]{}]+(?=\s|$)|^[^\w']+|[\"()\[\]{}?]", " ", text).split())
    text = vocabulary.CLAUSE.sub("", vocabulary.MEDIUM.sub(" ", text)).strip()
    previous = None
    while previous != text:
        previous = text
        for pattern in vocabulary.PEELED:
            text = pattern.sub("", text, count=1).strip(" ,-")
        words = text.split()
        while words and words[0].strip(",'") in vocabulary.STOP:
            words.pop(0)
        while words and words[-1].strip(",'") in vocabulary.TRAIL:
            words.pop()
        text = " ".join(words)
    return _colour_first(text.removesuffix("'s"))


def _colour_first(text: str) -> str:
    """What "was the balloon red" asks about is a red balloon."""
    words = text.split()
    return " ".join([words[-1], *words[:-1]]) if len(words) == 2 and words[-1] in COLOUR_WORDS and words[0] not in COLOUR_WORDS else text


def _is_empty(text: str) -> bool:
    """Nothing but function words."""
    return not clean(re.sub(r"^(?:what|who|which|that|things?|else)(?:'s)?\b|\belse\b|\bhappened\b", " ", text).strip())
