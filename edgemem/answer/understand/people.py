"""Questions about people, what they did with what, and what they said: from words to a typed `Asked`.

"I", "me" and "we" mean the one who carries the camera: the person node called "me" (`ME`). Wordings that are not here stay what
`question.parse` makes of them.
"""

from __future__ import annotations

import re
from typing import Literal, cast

from edgemem.answer.understand.lexicon import ANYONE, CARRIERS, USING, VERBS
from edgemem.answer.understand.wordings import patterns
from edgemem.answer.understand.words import words
from edgemem.records import Record

ME = "me"
"""Name of the person node of the wearer. A voice becomes it by name: `edgemem name speaker:3 me`."""
TALKS_TO, INTERACTS_WITH, MENTIONS, USES = "TALKS_TO", "INTERACTS_WITH", "MENTIONS", "USES"

Wanted = Literal["who", "how_many", "what", "when", "how_often", "did", "with", "said"]


class Asked(Record, frozen=True):
    """A question about relations. What is "" is either asked for or does not matter."""

    wanted: Wanted
    types: tuple[str, ...] = ()
    """Relation types that answer it, the most fitting first; empty for what was said and who was there."""
    source: str = ""
    """Who does it: `ME` or a name."""
    target: str = ""
    """To whom or to what it is done."""
    verb: str = ""
    """The verb's stem where it says more than the type: "drink", "open"."""
    about: str = ""
    """What was spoken of, or what went on while somebody was there."""
    ordinal: int = 0
    """1 = the first time, -1 = the last, 0 = not said."""


_STEMS = {"switch": "turn on", "turn": "turn on", "pick": "pick up", "repair": "fix", "handle": "touch", "interact": "touch"}
_LAST = re.compile(r"\b(?:the )?(first|last|most recent|latest)(?: time| one)?(?: that| when)?\b")
_ARTICLE = re.compile(r"^(?:the|a|an|my|our|your|his|her|their|some|any|this|that) ")


def read_asked(body: str) -> Asked | None:
    """`body` is a question in lower case, without its time and without "please tell me"; None when it is about something else."""
    ranked = _LAST.search(body)
    ordinal = 0 if ranked is None else 1 if ranked[1] == "first" else -1
    plain = " ".join(_LAST.sub(" ", body, count=1).split())
    for name, form in patterns("ASKED"):
        wanted, _, kind = cast("tuple[Wanted, str, str]", name.partition(" "))
        if match := form.fullmatch(plain):
            return _asked(match, wanted, kind, ordinal)
    return None


def read_statement(clause: str) -> Asked | None:
    """Such as "i used the drill" behind "who was with me when": something that was done or talked about."""
    found = ((kind, form.fullmatch(clause)) for kind, form in patterns("STATEMENT"))
    return next((_asked(match, "when", kind, 0) for kind, match in found if match), None)


def _asked(match: re.Match[str], wanted: Wanted, kind: str, ordinal: int) -> Asked | None:
    groups = match.groupdict()
    first, second = _name(re.sub(r"^it (.+) (?:who|that)$", r"\1", groups.get("p") or "")), _name(groups.get("q"))
    if CARRIERS.union({"it"}).intersection(words(groups.get("p") or "")[-1:]):
        return None  # "what did the sign say", "there was a sign, what did it say"
    if kind.startswith("talk"):
        types = (TALKS_TO, INTERACTS_WITH) if kind == "talk_or_meet" else (TALKS_TO,)
        return Asked(wanted=wanted, types=types, source=first, target=second, ordinal=ordinal)
    if kind == "do":
        base = VERBS[groups["v"].partition(" ")[0]]
        stem, types = _STEMS.get(base, base), (USES, INTERACTS_WITH) if base in USING else (INTERACTS_WITH, USES)
        of = groups.get("of") or ""
        target = "" if wanted == "what" or of.startswith(("it ", "them ")) else _name(of)  # "did I eat it in the end"
        if not (target or wanted in {"who", "what"} or (first and wanted != "did")):
            return None  # "did they wash it" names nobody and nothing, "did I eat it" not what
        return Asked(
            wanted=wanted, types=types, source=first, target=target, verb="" if stem in {"use", "touch"} else stem, ordinal=ordinal
        )
    return Asked(wanted=wanted, source=first, about=_bare(groups.get("about") or ""), ordinal=ordinal)


def same_verb(stem: str, text: str) -> bool:
    """The verb stands in the text in any of its forms."""
    return any(_STEMS.get(base, base) == stem for word in words(text) if (base := VERBS.get(word, "")))


def _name(phrase: str | None) -> str:
    plain = _bare(phrase or "")
    if plain in {"i", "me", "we", "us", "myself"}:
        return ME
    return "" if plain in ANYONE | {"that", "this"} or plain.startswith("thing") else plain  # "what was the last thing that was said"


def _bare(phrase: str) -> str:
    return _ARTICLE.sub("", phrase.strip(" ,.?!")).removesuffix("'s").strip()
