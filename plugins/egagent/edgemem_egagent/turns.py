"""Who speaks to whom: from who follows whom, from names that are called, and not with a voice that only broadcasts."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise

from edgemem.records import US, Record
from edgemem_egagent.graph import ME, Line, Node, person
from edgemem_egagent.phrases import phrases, sentences

TURN_GAP_US = 8 * US
"""An answer comes within this: in the labelled set (tools/eval/extraction.py) gaps in a talk are up to 3 s, between talks from 15 s on."""
RUN_US = 20 * US
"""Who speaks so long without a stop, and is never spoken to, is a radio, a screen or a lecture: nobody talks with it."""
RUN_GAP_US = 2 * US
"""Pauses within such a run are shorter."""
_NUMBERED = re.compile(r"speaker \d+")
"""A voice that nobody has named. Who has a name is a person."""
_ADDRESSES = re.compile(r"\b(?:you|your|yours)\b(?! (?:go|know|are welcome)\b)|\?", re.IGNORECASE)


class Turn(Record, frozen=True):
    """A line, its speaker as a node, and who it is spoken to (where known) with how sure that is."""

    line: Line
    speaker: Node
    to: Node | None
    sure: float


def speaker_name(name: str, wearer: str = "") -> str:
    """The node's name of a speaker: the wearer is `ME` whatever their name."""
    plain = " ".join(name.split())
    return ME if plain.casefold() in {ME, "i", "myself"} or (wearer and plain.casefold() == wearer.casefold()) else plain


def met(name: str, people: Collection[str]) -> str:
    """As the known person of that name is written."""
    return next((other for other in people if other.casefold() == name.casefold()), name)


def turns_of(lines: Sequence[Line], people: Collection[str], wearer: str) -> list[Turn]:
    """Each line, in the order given, with who it is spoken to."""
    names = [speaker_name(line.speaker, wearer) for line in lines]
    silent = broadcasting(lines, names)
    return [_turn(lines, names, i, people, wearer, silent) for i in range(len(lines))]


def broadcasting(lines: Sequence[Line], names: Sequence[str]) -> frozenset[str]:
    """Unnamed voices that speak for `RUN_US` on end and that nobody around them speaks to."""
    found = set()
    begin = 0
    for i in range(1, len(lines) + 1):
        goes_on = i < len(lines) and names[i] == names[begin] and lines[i].t0_us - lines[i - 1].t1_us <= RUN_GAP_US
        if goes_on:
            continue
        if lines[i - 1].t1_us - lines[begin].t0_us >= RUN_US and _NUMBERED.fullmatch(names[begin]):
            found.add(names[begin])
        begin = i
    return frozenset(name for name in found if not _is_addressed(name, lines, names))


def _is_addressed(name: str, lines: Sequence[Line], names: Sequence[str]) -> bool:
    """Somebody else's line right after one of this voice asks, or says "you"."""
    return any(
        names[i] == name and names[j] != name and lines[j].t0_us - lines[i].t1_us <= TURN_GAP_US and _ADDRESSES.search(lines[j].text)
        for i, j in pairwise(range(len(lines)))
    )


def _turn(
    lines: Sequence[Line], names: Sequence[str], i: int, people: Collection[str], wearer: str, silent: Collection[str]
) -> Turn:  # fmt: skip
    line, name = lines[i], names[i]
    called = "" if name in silent else _called(line, name, people, wearer)
    if called:
        return Turn(line=line, speaker=person(name), to=person(called), sure=0.9)
    after = _nearest(range(i + 1, len(lines)), lines, names, i, silent)
    before = _nearest(range(i - 1, -1, -1), lines, names, i, silent)
    to = "" if name in silent else after or before
    return Turn(line=line, speaker=person(name), to=person(to) if to else None, sure=0.85 if after and after == before else 0.75)


def _called(line: Line, name: str, people: Collection[str], wearer: str) -> str:
    """Whom a line calls by name; "" for nobody."""
    for sentence in sentences(line.text):
        for phrase in phrases(sentence, people):
            called = speaker_name(phrase.node.name, wearer)
            if phrase.vocative and called != name:
                return met(called, people)
    return ""


def _nearest(
    order: Sequence[int], lines: Sequence[Line], names: Sequence[str], i: int, silent: Collection[str]
) -> str:  # fmt: skip
    """The speaker of the next line in that direction that no broadcast is; "" where it is too far away, or the same speaker goes on."""
    for j in order:
        if max(lines[j].t0_us - lines[i].t1_us, lines[i].t0_us - lines[j].t1_us) > TURN_GAP_US:
            return ""
        if names[j] not in silent:
            return names[j] if names[j] != names[i] else ""
    return ""
