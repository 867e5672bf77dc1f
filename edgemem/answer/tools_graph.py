"""Tools over what is known of people and what they said: `Relate` reads the graph, `Hear` reads utterances. Strict: nothing is relaxed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec

from edgemem.answer.retrieve import document_evidence, held
from edgemem.answer.tool_base import BaseTool, ToolResult, Windowed
from edgemem.answer.understand.people import ME
from edgemem.answer.understand.words import content_words, words
from edgemem.records import Channel, Entity, Evidence, Record, Relation
from edgemem.words import singular

if TYPE_CHECKING:
    from edgemem.remember.results import Spoken
    from edgemem.remember.view import View

Name = Annotated[str, msgspec.Meta(max_length=100)]


class Relate(Windowed, frozen=True, tag="relate"):
    """Who did what to whom or with what. Names match whole words ("phone" also finds "mobile phone"); an empty name matches all."""

    source: Name = ""
    target: Name = ""
    types: tuple[str, ...] = ()
    """TALKS_TO, INTERACTS_WITH, MENTIONS, USES ...; empty for all."""
    either: bool = False
    """Source and target may stand the other way round."""


class Hear(Windowed, frozen=True, tag="hear"):
    """What was said, by whom, about what: utterances by full text, or all of a stretch of time."""

    about: Annotated[str, msgspec.Meta(max_length=400)] = ""
    speaker: Name = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 50


class Row(Record, frozen=True):
    """One relation, and the evidence that it rests on; an utterance has no type and no target."""

    source: str
    t0_us: int
    t1_us: int
    confidence: float
    quote: str
    evidence: Evidence
    type: str = ""
    target: str = ""
    target_kind: str = ""


class Related(ToolResult, frozen=True):
    """Result of `Relate`: rows in the order of time."""

    rows: tuple[Row, ...] = ()
    known: bool = False
    """The memory keeps relations at all."""


class Said(Record, frozen=True):
    """One utterance. `score` 0..1: share of the words asked for that it holds."""

    speaker: str
    text: str
    t0_us: int
    t1_us: int
    score: float
    evidence: Evidence


class Talk(ToolResult, frozen=True):
    """Result of `Hear`: best first, then in the order of time."""

    said: tuple[Said, ...] = ()


PEOPLE = frozenset(("person", "voice", "face"))
"""Kinds of entities that are somebody; a voice is a person whom nobody has named yet."""
_ROWS = 5_000
"""Relations of one name that are read at most; the newest count where there are more."""
_TOLD = 500
"""Rows that are given back, the newest: each is looked up with its proof."""
_WIDER = 4
"""Of so many times the wanted number of hits those that hold most of the words are taken: BM25 also ranks by rare single words."""
_SHARE = 0.5
"""An utterance must hold this share of the words asked about."""


class RelateTool(BaseTool):
    """Read the graph."""

    name = "relate"
    action = Relate

    def run(self, action: Relate, view: View) -> Related:
        """Relations that overlap the action's stretch of time, as they were known at the view's cut-off."""
        sources, targets = match_entities(view, action.source), match_entities(view, action.target)
        known = bool(view.relations(limit=1))
        if not known or (action.source and not sources) or (action.target and not targets):
            return Related(known=known)
        ends = targets if action.target else sources
        found: dict[int, Relation] = {}
        ids: list[int | None] = [entity.id for entity in ends]
        for entity_id in ids or [None]:
            for type_ in action.types or (None,):
                some = view.relations(
                    entity_id=entity_id, type=type_, from_us=action.from_us, to_us=action.to_us, limit=_ROWS, newest_first=True
                )
                found.update((relation.id, relation) for relation in some)
        kept = [relation for relation in found.values() if _fits(relation, action, sources, targets)]
        kept.sort(key=lambda relation: (relation.t0_us, relation.id))
        rows = tuple(row_of(view, relation) for relation in kept[-_TOLD:])
        return Related(rows=rows, evidence=_distinct(row.evidence for row in rows), known=True)


class HearTool(BaseTool):
    """Read utterances."""

    name = "hear"
    action = Hear

    def run(self, action: Hear, view: View) -> Talk:
        """Utterances that hold most of the words asked about; all of them, newest first, when nothing is asked about."""
        speakers = match_entities(view, action.speaker)
        if action.speaker and not speakers:
            return Talk()
        wanted = content_words(action.about) if words(action.about) else []
        window = (action.from_us, action.to_us)
        said = [one for one in utterances(view, wanted, [one.id for one in speakers], window, action.limit) if one.score >= _SHARE]
        said = sorted(said, key=lambda s: (-round(s.score, 2), s.t0_us))[: action.limit]
        return Talk(said=tuple(said), evidence=_distinct(s.evidence for s in said))


def utterances(
    view: View, wanted: Sequence[str], speakers: Sequence[int], window: tuple[int | None, int | None], limit: int, stream: str | None = None
) -> list[Said]:
    """What was said with any of the wanted words, by any of the speakers where some are given; without words all, the newest first."""
    from_us, to_us = window
    if not wanted:
        ids: Sequence[int | None] = speakers or [None]
        found = [
            one
            for who in ids
            for one in view.utterances(speaker_id=who, stream=stream, from_us=from_us, to_us=to_us, limit=limit, newest_first=True)
        ]
        return [said_of(one, 1.0) for one in sorted(found, key=lambda one: -one.document.t0_us)]
    hits = view.search_text(" ".join(wanted), _WIDER * limit, kinds=("utterance",), from_us=from_us, to_us=to_us, stream=stream)
    scores = {hit.document.id: held(wanted, hit.document.text) for hit in hits}
    spoken = {one.document.id: one for one in view.spoken(list(scores))}
    said = [(spoken[number], score) for number, score in scores.items() if number in spoken]
    mine = [(one, score) for one, score in said if not speakers or (one.speaker is not None and one.speaker.id in speakers)]
    return [said_of(one, score) for one, score in mine]


def match_entities(view: View, phrase: str) -> list[Entity]:
    """Entities that a phrase means: by name or alias, as a part of a longer name with the same last word, else by its own last words."""
    wanted = words(phrase)
    if not wanted:
        return []
    found, heads, tails = [], [], []
    one = _singular(wanted)
    for entity in view.entities():
        for name in (entity.name, *entity.aliases):
            own = words(name)
            if own in (wanted, one):
                found.append(entity)
            elif own and _part_of(wanted, one, own, is_person=entity.kind in PEOPLE):
                heads.append(entity)
            elif own and len(own) < len(wanted) and wanted[-len(own) :] == own and entity.kind not in PEOPLE:
                tails.append(entity)
            else:
                continue
            break
    return [*found, *heads] or tails


def _part_of(wanted: Sequence[str], one: Sequence[str], own: Sequence[str], *, is_person: bool) -> bool:
    """A first name is part of a whole one, "phone" of "mobile phone", but not of "phone box"."""
    if is_person:
        return set(wanted) <= set(own)
    return set(one) <= set(_singular(own)) and _singular(own)[-1] == one[-1]


def _singular(parts: Sequence[str]) -> list[str]:
    return [*parts[:-1], singular(parts[-1])]


def _fits(relation: Relation, action: Relate, sources: Sequence[Entity], targets: Sequence[Entity]) -> bool:
    from_ids, to_ids = {entity.id for entity in sources}, {entity.id for entity in targets}

    def way(source: int, target: int) -> bool:
        return (not action.source or source in from_ids) and (not action.target or target in to_ids)

    ends = relation.source.id, relation.target.id
    return way(*ends) or (action.either and way(*ends[::-1]))


def shown_name(name: str) -> str:
    """The wearer is "me" however a transcript writes it."""
    return ME if name.casefold() == ME else name


_VERBS = {
    "TALKS_TO": "talked to", "USES": "used", "MENTIONS": "spoke of", "INTERACTS_WITH": "handled",
    ("INTERACTS_WITH", "person"): "did something with", ("INTERACTS_WITH", "voice"): "did something with",
    ("INTERACTS_WITH", "face"): "did something with", ("INTERACTS_WITH", "location"): "was in",
}  # fmt: skip
"""Relation types, some by the kind of what they lead to, in words."""


def relation_text(source: str, type_: str, target: str, target_kind: str) -> str:
    """A relation as a sentence without its full stop: "Ben used the wrench", "you talked to Anna"."""
    verb = _VERBS.get((type_, target_kind)) or _VERBS.get(type_) or type_.lower().replace("_", " ")
    return f"{_named(source)} {verb} {_named(target)}"


def row_text(row: Row) -> str:
    """A row in words, without its quote."""
    return relation_text(row.source, row.type, row.target, row.target_kind)


def _named(name: str) -> str:
    """A name as it stands in a sentence; what begins with a small letter is a thing and gets an article."""
    if name.casefold() == ME:
        return "you"
    return name if name[:1].isupper() or re.match(r"(?:speaker|face|person) \d|someone$|somebody$", name) else f"the {name}"


def row_of(view: View, relation: Relation) -> Row:
    """A relation as a row; it is proved by the utterance or the picture that its best quote names, else by itself."""
    quote = next((q for q in relation.quotes if q.document_id is not None), relation.quotes[0] if relation.quotes else None)
    text = quote.text if quote else ""
    return Row(
        source=shown_name(relation.source.name), type=relation.type, target=shown_name(relation.target.name),
        target_kind=relation.target.kind, t0_us=relation.t0_us, t1_us=relation.t1_us, confidence=relation.confidence, quote=text,
        evidence=_proof(view, relation, text, quote.document_id if quote else None, quote.moment_id if quote else None),
    )  # fmt: skip


def _proof(view: View, relation: Relation, text: str, document_id: int | None, moment_id: int | None) -> Evidence:
    document = view.document(document_id) if document_id is not None else None
    moment = view.moment(moment_id) if moment_id is not None and document is None else None
    place = (f"m{moment.id}", moment.offset_us) if moment else (f"r{relation.id}", 0)
    place = (f"d{document.id}", document.offset_us) if document else place
    told = relation_text(relation.source.name, relation.type, relation.target.name, relation.target.kind)
    said = f'{told}: "{text}"' if text else told
    channel: Channel = "speech" if document is not None and document.kind == "utterance" else "entity"
    return Evidence(
        id=place[0], channel=channel, stream=relation.stream, t0_us=relation.t0_us, t1_us=relation.t1_us, offset_us=place[1],
        score=relation.confidence, text=said,
    )  # fmt: skip


def said_of(spoken: Spoken, score: float) -> Said:
    """An utterance as evidence: the words as they were heard."""
    document, speaker = spoken.document, shown_name(spoken.speaker.name) if spoken.speaker else ""
    evidence = document_evidence(document, "speech", score, f"{speaker}: {document.text}" if speaker else document.text)
    return Said(speaker=speaker, text=document.text, t0_us=document.t0_us, t1_us=document.t1_us, score=score, evidence=evidence)


def _distinct(evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
    return tuple({one.id: one for one in evidence}.values())
