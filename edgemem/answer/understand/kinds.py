"""Which kind of question it is: by its question word, by what a statement asks, and by what stands in a fragment."""

from __future__ import annotations

import re
from typing import cast

from edgemem.answer.understand.asking import of_meeting
from edgemem.answer.understand.lexicon import STATES
from edgemem.answer.understand.phrases import content
from edgemem.answer.understand.record import Kind
from edgemem.answer.understand.wordings import pattern, patterns


def kind_of(plain: str, timeless: str) -> tuple[Kind, str, str]:
    """The kind of question, its detail and the clause."""
    forms = patterns("TOLD_LAST") if pattern("ASKING").match(timeless) else (*patterns("TOLD_AS"), *patterns("TOLD_LAST"))
    for told_as, form in forms:
        if (plainer := form.sub(" ", timeless)) != timeless:
            return cast("Kind", told_as), "", " ".join(plainer.split())
    kind, detail, rest = _head(timeless)
    if kind == "where" and plain.startswith(("and ", "or ")) and not re.search(r"\b(?:where|find|show)", plain):
        kind = "other"
    if kind == "yes_no" and timeless.endswith(" or"):  # "on saturday or on sunday"
        kind = "which"
    statement = not pattern("ASKING").match(re.sub(r"^(\w+)n't\b", r"\1", pattern("JOINT").sub("", timeless)))
    if statement and kind in {"yes_no", "where", "other"}:
        return _asked_by(plain, timeless, kind, detail, rest)
    if kind == "yes_no" and (more := _asked_too(plain)):
        return more, "times" if more == "how_many" else "", re.split(r", | and whe(?:re|n)\b", timeless)[0]
    return kind, detail, rest


def _head(body: str) -> tuple[Kind, str, str]:
    """Kind, detail and the clause: behind its question word, or whole where the begin belongs to it."""
    body = pattern("JOINT").sub("", body.strip(" ,"))
    for name, begin in patterns("HEAD"):
        kind, _, detail = cast("tuple[Kind, str, str]", name.partition(" "))
        if match := begin.match(body):
            of = (" of " in match[0] and detail != "times") or (kind == "which" and "which" not in match[0].split())
            if of or kind in {"order", "yes_no"} or (kind not in {"summary", "list"} and pattern("SUBJECT").match(match[0])):
                return kind, detail, body
            asks = pattern("ASKING").match(match[0]) and re.match(r"how(?: many)?|wh\w+", kind.replace("_", " "))
            word = "which" if match[0].startswith("whose") else asks[0] if asks else ""
            return kind, detail or next(filter(None, match.groups()), ""), f"{word} {body[match.end() :]}".strip()
    inner = pattern("EMBEDDED").search(body)
    if inner and inner.start():
        kind, detail, rest = _head(body[inner.start() :])
        return kind, detail, f"{body[: inner.start()]} , {rest}"
    return _fragment(body)


def _asked_by(plain: str, body: str, kind: Kind, detail: str, rest: str) -> tuple[Kind, str, str]:
    """What a statement asks: what it says so of anywhere ("I lost track of how often"), or when that was what it tells of."""
    cues = _cues(plain)
    met = pattern("MET_WITH").search(body)
    if cues:
        kind = cast("Kind", max(cues)[1])
        detail = "times" if kind == "how_many" else ""
    elif kind == "yes_no" and met and not pattern("WHETHER").search(body):
        kind = "when"
    return kind, detail, of_meeting(body) if met and kind in {"when", "where", "how_many"} else rest


def _asked_too(plain: str) -> Kind | None:
    """Which of a thing's times, places or numbers is asked for as well, so that a yes says too little: "was there a cat? what time?"."""
    _, _, tail = re.sub(r"[.?!;] |,? (?=and whe(?:re|n)\b)", ", ", plain).partition(", ")
    often = re.search(r"\b(?:often|times)\b", tail) is not None
    if bare := pattern("BARE_TOO").fullmatch(tail.rpartition(", ")[2]):
        return cast("Kind", bare[1])
    return cast("Kind | None", next((kind for _, kind in _cues(tail) if kind == "when" or (kind == "how_many" and often)), None))


def _cues(text: str) -> list[tuple[int, str]]:
    """Where a text says what is wanted of what it tells ("give me the time"), and which kind of question that makes."""
    return [(match.start(), name) for name, cue in patterns("CUE") for match in cue.finditer(text.rstrip(" ?!."))]


def _fragment(body: str) -> tuple[Kind, str, str]:
    """Of a text without a question word: "telly still on", "the bulbs, cupboard or loft", "last sighting", "red mug"."""
    last = body.rpartition(" ")[2]
    claimed = pattern("AT_LEAST").search(body) or pattern("COMPARED").search(body)  # "coffee under 10 euros"
    if (last in STATES | {"on", "off"} and last != body) or (claimed and body.endswith(claimed[0]) and last != "again"):
        return "yes_no", "", f"is {body}"
    if apart := re.fullmatch(r"([^,]+), ((?:\w+ )+or \w+(?: \w+)*)", body):
        return "where", "", f"{apart[1]} at {apart[2]}"
    timed = re.search(r"\b(?:sighting|(?<!\bon )(?<!\bin )time|first|last)\b", body)
    if pattern("STATED").fullmatch(body) and not timed:
        return "yes_no", "", body
    if noticed := pattern("NOTICED").fullmatch(body):
        return "list", "", f"which {noticed[1]} did i see"
    if re.match(r"(?:the )?(?:very )?(?:first|last) things?\b", body):
        return "what", "", f"what was {body}"
    return "when" if timed else "where" if content(body) else "other", "", body
