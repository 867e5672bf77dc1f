"""Edges from a transcript without a language model: who talks to whom, who mentions, uses or handles what.

Turns give TALKS_TO, named things give MENTIONS, and clauses (`clauses.py`) give USES and INTERACTS_WITH: only for what is said as a fact
about now ("I'm using the drill"), never for questions, wishes, denials or other days.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

import msgspec

from edgemem_egagent.clauses import doings
from edgemem_egagent.graph import (
    INTERACTS_WITH,
    ME,
    MENTIONS,
    SOMEONE,
    TALKS_TO,
    Edge,
    Extraction,
    Line,
    Node,
    SameAs,
    joined,
    person,
    quoted,
)
from edgemem_egagent.lexicon import FIRST_NAMES, NOT_NAMES
from edgemem_egagent.phrases import Phrase, phrases, sentences
from edgemem_egagent.turns import TURN_GAP_US, Turn, met, speaker_name, turns_of

_FOLLOWS_CHARS = 20
"""Letters that may stand between "pass me" and what is passed."""
_OTHER_DAY = re.compile(
    r"\b(?:yesterday|tomorrow|ago|last (?:week|month|year|night|time|summer|winter)|next (?:week|month|year|time)"
    r"|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|later|soon|used to|always|usually|every (?:day|week|morning))\b",
    re.IGNORECASE,
)
_PASS = re.compile(r"\b(?:pass|hand|give|bring|get|throw|fetch|lend)(?:ing)? (?:me|us|over) ", re.IGNORECASE)
_ACCEPT = re.compile(
    r"^(?:here|there you|sure|okay|ok\b|of course|got it|coming|yes|yeah|catch|take it|no problem|one second|right away)", re.IGNORECASE
)
_PRESENT_AT = re.compile(
    r"\b(?:(?:I|we)(?:['’](?:m|re)| am| are)(?: \w+)?|here(?: (?:we are|I am))?|welcome) (?:in|at|inside|on|to)(?: the| my| our| this)? $",
    re.IGNORECASE,
)
_NAME = r"(?P<name>[A-Z][\w-]+(?: [A-Z][\w-]+)*)"
_OWN_NAME = re.compile(
    rf"\b(?:[Mm]y name is|[Mm]y name['’]s|I am called|[Cc]all me|I['’]m|I am) {_NAME}(?= speaking| calling|[.,!]|$| and)"
)
_GREETING = r"(?:hi|hello|hey|good (?:morning|afternoon|evening|day))"
_CALLER = re.compile(rf"(?:^|[.!?] )(?i:{_GREETING})(?:,? [A-Z][\w-]+)?[,.!]? [Tt]his is {_NAME}(?=[.!?]|$)")
_ON_THE_PHONE = re.compile(rf"\b[Tt]his is {_NAME}(?= (?:speaking|calling|here)\b)")
"""Who begins a call or a talk so names himself; in the middle of one "this is Felix" names somebody else."""


def read_speech(lines: Sequence[Line], known: Collection[str] = (), wearer: str = "", before: Sequence[Line] = ()) -> Extraction:
    """Edges and names from utterances in the order of time; `known` are people's names that were met before.

    `before` are the lines that were said last before these: a talk goes on over the end of a window. Their own edges were drawn then; what
    only the new lines show of them is drawn now. Whoever no voice is known for is "someone".
    """
    people = {*known, *(speaker_name(line.speaker, wearer) for line in (*before, *lines) if line.speaker.strip())}
    edges, turns = _read([*before, *lines], people, wearer)
    if before:
        earlier = _read(before, people, wearer)[0]
        spoken_to = {edge.t0_us for edge in earlier if edge.type == TALKS_TO}
        drawn = {_what(edge) for edge in earlier}
        starts = {line.t0_us for line in before}
        edges = [
            edge for edge in edges
            if _what(edge) not in drawn and not (edge.type == TALKS_TO and edge.t0_us in starts and edge.t0_us in spoken_to)
        ]  # fmt: skip
    own = {line.t0_us for line in lines}
    same = tuple(one for turn in turns if turn.line.t0_us in own for one in _introduced(turn))
    return Extraction(edges=joined(edges), same=same)


def _what(edge: Edge) -> tuple[Node, str, Node, int]:
    return edge.source, edge.type, edge.target, edge.t0_us


def _read(lines: Sequence[Line], people: Collection[str], wearer: str) -> tuple[list[Edge], list[Turn]]:
    """The edges of all lines, one by one, and their turns."""
    named = [line if line.speaker.strip() else msgspec.structs.replace(line, speaker=SOMEONE) for line in lines]
    turns = turns_of(sorted(named, key=lambda line: (line.t0_us, line.t1_us)), people, wearer)
    edges: list[Edge] = []
    it: Node | None = None
    for i, turn in enumerate(turns):
        if i and turn.line.t0_us - turns[i - 1].line.t1_us > TURN_GAP_US:
            it = None
        told, it = _line_edges(turn, people, wearer, it)
        edges += told
        edges += _passed(turn, turns[i + 1] if i + 1 < len(turns) else None, people)
    return edges, turns


def _line_edges(turn: Turn, people: Collection[str], wearer: str, it: Node | None) -> tuple[list[Edge], Node | None]:
    """The edges of one line, and the thing that "it" means after it; `it` is what it meant before."""
    edges = [] if turn.to is None else [_edge(turn.line, turn.speaker, TALKS_TO, turn.to, turn.sure)]
    for sentence in sentences(turn.line.text):
        named = [
            msgspec.structs.replace(p, node=person(met(speaker_name(p.node.name, wearer), people))) if p.node.kind == "person" else p
            for p in phrases(sentence, people)
        ]
        edges += [
            _edge(turn.line, turn.speaker, MENTIONS, phrase.node, 0.85 if phrase.node.kind != "object" else 0.75)
            for phrase in named
            if not phrase.vocative
        ]
        edges += _done(turn, sentence, [p for p in named if not p.vocative], people, it)
        it = next((p.node for p in reversed(named) if p.node.kind == "object"), it)
    return edges, it


def _done(turn: Turn, sentence: str, named: Sequence[Phrase], people: Collection[str], it: Node | None) -> Iterator[Edge]:
    """USES and INTERACTS_WITH of one sentence."""
    if sentence.rstrip().endswith("?") or _OTHER_DAY.search(sentence):
        return
    for phrase in named:
        if phrase.node.kind == "location" and _PRESENT_AT.search(sentence[: phrase.start]):
            yield _edge(turn.line, turn.speaker, INTERACTS_WITH, phrase.node, 0.7)

    def subject(word: str) -> Node | None:
        if word.lower() in {"i", "we"}:
            return turn.speaker
        return turn.to if word.lower() == "you" else person(met(word, people))

    for doing in doings(sentence, named, subject, it):
        yield _edge(turn.line, doing.who, doing.type, doing.what, doing.sure)


def _passed(turn: Turn, following: Turn | None, people: Collection[str]) -> Iterator[Edge]:
    """Such as "pass me the salt", "here you go": both had it in their hands. Without a yes it is only mentioned."""
    if following is None or following.speaker == turn.speaker or following.line.t0_us - turn.line.t1_us > TURN_GAP_US:
        return
    if not _ACCEPT.search(following.line.text.strip()):
        return
    for sentence in sentences(turn.line.text):
        if match := _PASS.search(sentence):
            for phrase in phrases(sentence, people):
                if phrase.node.kind == "object" and 0 <= phrase.start - match.end() <= _FOLLOWS_CHARS:
                    whole = msgspec.structs.replace(turn.line, t1_us=following.line.t1_us)
                    for who, sure in ((following.speaker, 0.7), (turn.speaker, 0.65)):
                        yield _edge(whole, who, INTERACTS_WITH, phrase.node, sure)
                    break


def _introduced(turn: Turn) -> Iterator[SameAs]:
    """Such as "my name is Tomas Novak" said by "speaker 3" or "Tomas"."""
    own, text = turn.speaker.name, turn.line.text
    match = _OWN_NAME.search(text) or _CALLER.search(text) or _ON_THE_PHONE.search(text)
    if match is None or own in {ME, SOMEONE}:
        return
    name = match["name"]
    certain = match[0].lower().startswith(("my name", "i am called", "call me"))
    if name.split()[0].lower() in NOT_NAMES or (not certain and name.split()[0].lower() not in FIRST_NAMES):
        return
    if name.casefold() != own.casefold() and (own.startswith("speaker") or own.casefold() in name.casefold().split()):
        yield SameAs(other=own, name=name)


def _edge(line: Line, source: Node, type_: str, target: Node, sure: float) -> Edge:
    return Edge(
        source=source, type=type_, target=target, t0_us=line.t0_us, t1_us=line.t1_us,
        confidence=round(sure * line.confidence, 3), quotes=(quoted(line),),
    )  # fmt: skip
