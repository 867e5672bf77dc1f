"""Edges from a transcript without a language model: who talks to whom, who mentions, uses or handles what.

Turns give TALKS_TO, named things give MENTIONS, and a small grammar of verbs gives USES and INTERACTS_WITH: only for what is said as a fact
about now ("I'm using the drill"), never for questions, wishes, denials or other days.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

import msgspec

from edgemem.records import US, Record
from edgemem_egagent.graph import INTERACTS_WITH, ME, MENTIONS, TALKS_TO, USES, Edge, Extraction, Line, Node, SameAs, joined, person, quoted
from edgemem_egagent.lexicon import FIRST_NAMES, MEET, NOT_NAMES, TOUCH, USE, word_set
from edgemem_egagent.phrases import Phrase, phrases, sentences

TURN_GAP_US = 8 * US
"""An answer comes within this: in the labelled set (tools/eval/extraction.py) gaps in a talk are up to 3 s, between talks from 15 s on."""
_FOLLOWS_CHARS = 40
_UNREAL = re.compile(
    r"\b(?:not|never|won't|don't|didn't|doesn't|isn't|aren't|wasn't|can't|cannot|couldn't|wouldn't|haven't|hasn't|would|could|should|might|may"
    r"|must|if|unless|when|want(?:s|ed)?|need(?:s|ed)?|going to|gonna|have to|has to|had to|try(?:ing)? to|plan(?:s|ning)? to|hope|wish)\b",
    re.IGNORECASE,
)
_OTHER_DAY = re.compile(
    r"\b(?:yesterday|tomorrow|ago|last (?:week|month|year|night|time|summer|winter)|next (?:week|month|year|time)"
    r"|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|later|soon|used to|always|usually|every (?:day|week|morning))\b",
    re.IGNORECASE,
)
_ADVERB = r"(?:just|already|still|now|also|really|finally|quickly|only|currently|actually|almost|both|all)"
_SUBJECT = re.compile(
    rf"(?:^|\b)(?P<who>I|we|you|let me|let's|(?:[^\W\d_][\w-]+)(?: [A-Z][\w-]+)?)(?:['’](?:m|re|ve|ll|s|d))?"
    rf"(?: (?:am|is|are|was|were|have|has|had|been|will|{_ADVERB}))* $"
)
_PASS = re.compile(r"\b(?:pass|hand|give|bring|get|throw|fetch|lend)(?:ing)? (?:me|us|over) ", re.IGNORECASE)
_ACCEPT = re.compile(
    r"^(?:here|there you|sure|okay|ok\b|of course|got it|coming|yes|yeah|catch|take it|no problem|one second|right away)", re.IGNORECASE
)
_PRESENT_AT = re.compile(
    r"\b(?:(?:I|we)(?:['’](?:m|re)| am| are)(?: \w+)?|here(?: (?:we are|I am))?|welcome) (?:in|at|inside|on|to)(?: the| my| our| this)? $",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"\b(?:my name is|my name['’]s|I am called|call me|this is|I['’]m|I am) (?P<name>[A-Z][\w-]+(?: [A-Z][\w-]+)*)"
    r"(?= speaking|[.,!]|$| and)"
)


class Turn(Record, frozen=True):
    """A line, its speaker as a node, what it names, and who it is spoken to (where known) with how sure that is."""

    line: Line
    speaker: Node
    to: Node | None
    sure: float


def speaker_name(name: str, wearer: str = "") -> str:
    """The node's name of a speaker: the wearer is `ME` whatever their name."""
    plain = " ".join(name.split())
    return ME if plain.casefold() in {ME, "i", "myself"} or (wearer and plain.casefold() == wearer.casefold()) else plain


def read_speech(lines: Sequence[Line], known: Collection[str] = (), wearer: str = "") -> Extraction:
    """Edges and names from utterances in the order of time; `known` are people's names that were met before."""
    ordered = sorted((line for line in lines if line.speaker.strip()), key=lambda line: (line.t0_us, line.t1_us))
    people = {*known, *(speaker_name(line.speaker, wearer) for line in ordered)}
    turns = [_turn(ordered, i, people, wearer) for i in range(len(ordered))]
    edges: list[Edge] = []
    it: Node | None = None
    for i, turn in enumerate(turns):
        if i and turn.line.t0_us - turns[i - 1].line.t1_us > TURN_GAP_US:
            it = None
        told, it = _line_edges(turn, people, wearer, it)
        edges += told
        edges += _passed(turn, turns[i + 1] if i + 1 < len(turns) else None, people)
    return Extraction(edges=joined(edges), same=tuple(same for turn in turns for same in _introduced(turn)))


def _turn(lines: Sequence[Line], i: int, people: Collection[str], wearer: str) -> Turn:
    line, name = lines[i], speaker_name(lines[i].speaker, wearer)
    for sentence in sentences(line.text):
        for phrase in phrases(sentence, people):
            called = speaker_name(phrase.node.name, wearer)
            if phrase.vocative and called != name:
                return Turn(line=line, speaker=person(name), to=person(_met(called, people)), sure=0.9)
    after = next((speaker_name(other.speaker, wearer) for other in lines[i + 1 :] if other.t0_us - line.t1_us <= TURN_GAP_US), "")
    before = next((speaker_name(other.speaker, wearer) for other in reversed(lines[:i]) if line.t0_us - other.t1_us <= TURN_GAP_US), "")
    after, before = after if after != name else "", before if before != name else ""
    to = after or before
    return Turn(line=line, speaker=person(name), to=person(to) if to else None, sure=0.85 if after and after == before else 0.75)


def _met(name: str, people: Collection[str]) -> str:
    """As the known person of that name is written."""
    return next((other for other in people if other.casefold() == name.casefold()), name)


def _line_edges(turn: Turn, people: Collection[str], wearer: str, it: Node | None) -> tuple[list[Edge], Node | None]:
    """The edges of one line, and the thing that "it" means after it; `it` is what it meant before."""
    edges = [] if turn.to is None else [_edge(turn, turn.speaker, TALKS_TO, turn.to, turn.sure)]
    for sentence in sentences(turn.line.text):
        named = [
            msgspec.structs.replace(p, node=person(_met(speaker_name(p.node.name, wearer), people))) if p.node.kind == "person" else p
            for p in phrases(sentence, people)
        ]
        edges += [
            _edge(turn, turn.speaker, MENTIONS, phrase.node, 0.85 if phrase.node.kind != "object" else 0.75)
            for phrase in named
            if not phrase.vocative and phrase.node != turn.speaker
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
            yield _edge(turn, turn.speaker, INTERACTS_WITH, phrase.node, 0.7)
    subject: Node | None = None
    for match, type_ in _verbs(sentence):
        before = sentence[: match.start()]
        own = _subject(before, turn, people)
        if own is not None:
            subject = own
        elif not re.search(r"\b(?:and|then)(?: then)? $", before):
            subject = None
        clause = re.split(r"[,;:]", before)[-1]
        if subject is None or _UNREAL.search(clause):
            continue
        objects = list(_objects(sentence, match, named, type_))
        if tool := _instrument(sentence, match, objects, named):
            yield _edge(turn, subject, USES, tool.node, 0.8)
        if not objects and it is not None and re.match(r" (?:it|that|this|them)\b", sentence[match.end() :]):
            yield _edge(turn, subject, type_[0], it, 0.6)
        for phrase in objects:
            yield _edge(turn, subject, type_[0] if phrase.node.kind != "person" else INTERACTS_WITH, phrase.node, 0.8)


def _instrument(sentence: str, verb: re.Match[str], objects: Sequence[Phrase], named: Sequence[Phrase]) -> Phrase | None:
    """What something is done with: "cutting the onions with the big knife"."""
    at = objects[-1].end if objects else verb.end()
    for phrase in named:
        between = sentence[at : phrase.start]
        if phrase.start >= at and phrase.node.kind == "object" and re.fullmatch(r" (?:it |them |this )?with (?:[a-z]+ ){0,2}", between):
            return phrase
    return None


def _verbs(sentence: str) -> list[tuple[re.Match[str], tuple[str, bool]]]:
    """Verbs in order with (relation type, its object is a person); a verb of use counts before one of touch at the same place."""
    found: dict[int, tuple[re.Match[str], tuple[str, bool]]] = {}
    for pattern, type_ in ((USE, (USES, False)), (TOUCH, (INTERACTS_WITH, False)), (MEET, (INTERACTS_WITH, True))):
        for match in pattern.finditer(sentence):
            if match.start() == 0 or sentence[match.start() - 1] == " ":
                found.setdefault(match.start(), (match, type_))
    return [found[start] for start in sorted(found)]


def _subject(before: str, turn: Turn, people: Collection[str]) -> Node | None:
    """Who does it: the speaker, who is spoken to, or someone named; None where the words do not say."""
    match = _SUBJECT.search(before)
    if match is None:
        return None
    who = match["who"]
    if who.lower() in {"i", "we", "let me", "let's"}:
        return turn.speaker
    if who.lower() == "you":
        return turn.to
    first = who.split()[0]
    is_name = who[:1].isupper() and (
        first.lower() in FIRST_NAMES or first.casefold() in {p.casefold().split()[0] for p in people if p.strip()}
    )
    return person(_met(who, people)) if is_name and first.lower() not in NOT_NAMES else None


def _objects(sentence: str, verb: re.Match[str], named: Sequence[Phrase], type_: tuple[str, bool]) -> Iterator[Phrase]:
    """What the verb is done to: the phrase that follows, and those joined to it by "and" or a comma."""
    at = verb.end()
    if re.match(r" to\b", sentence[at:]):  # "used to"
        return
    for phrase in (p for p in named if p.start >= at):
        gap = sentence[at : phrase.start]
        words = re.findall(r"[\w']+", gap.lower())
        if len(gap) > _FOLLOWS_CHARS or len(words) > 3 or re.search(r"[.;:]", gap) or set(words) & _BREAKS:
            return
        if at > verb.end() and not set(words) & {"and"} and "," not in gap:
            return
        if (phrase.node.kind == "person") == type_[1] and phrase.node.kind != "location":
            yield phrase
        at = phrase.end


_BREAKS = word_set("""
in at to for from about because so but that which who when if while you i we he she they is was are were than until
""")


def _passed(turn: Turn, following: Turn | None, people: Collection[str]) -> Iterator[Edge]:
    """Such as "pass me the salt", "here you go": both had it in their hands. Without a yes it is only mentioned."""
    if following is None or following.speaker == turn.speaker or following.line.t0_us - turn.line.t1_us > TURN_GAP_US:
        return
    if not _ACCEPT.search(following.line.text.strip()):
        return
    for sentence in sentences(turn.line.text):
        if match := _PASS.search(sentence):
            for phrase in phrases(sentence, people):
                if phrase.node.kind == "object" and 0 <= phrase.start - match.end() <= _FOLLOWS_CHARS // 2:
                    whole = msgspec.structs.replace(turn.line, t1_us=following.line.t1_us)
                    for who, sure in ((following.speaker, 0.7), (turn.speaker, 0.65)):
                        yield _edge(Turn(line=whole, speaker=turn.speaker, to=None, sure=sure), who, INTERACTS_WITH, phrase.node, sure)
                    break


def _introduced(turn: Turn) -> Iterator[SameAs]:
    """Such as "my name is Tomas Novak" said by "speaker 3" or "Tomas"."""
    match = _NAMED.search(turn.line.text)
    if match is None or turn.speaker.name == ME:
        return
    name = match["name"]
    said = match[0].lower()
    plain = said.startswith(("i'm", "i’m", "i am ", "this is")) and not said.startswith("i am called")
    if name.split()[0].lower() in NOT_NAMES or (plain and name.split()[0].lower() not in FIRST_NAMES):
        return
    own = turn.speaker.name
    if name.casefold() != own.casefold() and (own.startswith("speaker") or own.casefold() in name.casefold().split()):
        yield SameAs(other=own, name=name)


def _edge(turn: Turn, source: Node, type_: str, target: Node, sure: float) -> Edge:
    line = turn.line
    return Edge(
        source=source, type=type_, target=target, t0_us=line.t0_us, t1_us=line.t1_us,
        confidence=round(sure * line.confidence, 3), quotes=(quoted(line),),
    )  # fmt: skip
