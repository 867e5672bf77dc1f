"""Tools over what is known of people and what they said: `Relate` reads the graph, `Hear` reads utterances. Strict: nothing is relaxed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from typing import Annotated, Any

import msgspec

from edgemem.answer.retrieve import Query, as_evidence, distinct, held
from edgemem.answer.tool_base import BaseTool, ToolResult, Windowed
from edgemem.answer.understand.people import ME
from edgemem.answer.understand.words import content_words, words
from edgemem.records import Entity, Evidence, Record, Relation
from edgemem.remember.results import Spoken
from edgemem.remember.view import View
from edgemem.words import singular

Name = Annotated[str, msgspec.Meta(max_length=100)]


class Relate(Windowed, frozen=True, tag="relate"):
    """Who did what to whom or with what. Names match whole words ("phone" also finds "mobile phone"); an empty name matches all."""

    source: Name = ""
    target: Name = ""
    type: str = ""
    """TALKS_TO, INTERACTS_WITH, MENTIONS, USES ...; empty for all."""
    either: bool = False
    """Source and target may stand the other way round."""


class Hear(Windowed, frozen=True, tag="hear"):
    """What was said, by whom, about what: utterances by full text, or all of a stretch of time."""

    about: Annotated[str, msgspec.Meta(max_length=400)] = ""
    speaker: Name = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 50


class Row(Record, frozen=True):
    """One relation, and the evidence that it rests on. An utterance has no type and no target: its source said the quote."""

    source: str
    t0_us: int
    t1_us: int
    confidence: float
    """0..1; of an utterance the share of the words asked for that it holds."""
    quote: str
    evidence: Evidence
    type: str = ""
    target: str = ""
    target_kind: str = ""


class Related(ToolResult, frozen=True):
    """Result of `Relate` and `Hear`: rows in the order of time."""

    rows: tuple[Row, ...] = ()
    known: bool = False
    """The memory keeps relations at all."""


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
        found: dict[int, Relation] = {}
        window: Any = {"from_us": action.from_us, "to_us": action.to_us}
        ids: list[int | None] = [one.id for one in targets or sources]
        for id_ in ids or [None]:
            some = view.relations(entity_id=id_, type=action.type or None, limit=_ROWS, newest_first=True, **window)
            found.update((relation.id, relation) for relation in some if _fits(relation, action, sources, targets))
        kept = sorted(found.values(), key=lambda relation: (relation.t0_us, relation.id))
        rows = tuple(row_of(view, relation) for relation in kept[-_TOLD:])
        return Related(rows=rows, evidence=distinct(row.evidence for row in rows), known=True)


class HearTool(BaseTool):
    """Read utterances."""

    name = "hear"
    action = Hear

    def run(self, action: Hear, view: View) -> Related:
        """Utterances that hold most of the words asked about, the best; all of them, the newest, when nothing is asked about."""
        speakers = match_entities(view, action.speaker)
        if action.speaker and not speakers:
            return Related()
        wanted = content_words(action.about) if words(action.about) else []
        query = Query(text=action.about, from_us=action.from_us, to_us=action.to_us)
        said = [row for row in utterances(view, query, wanted, [one.id for one in speakers], action.limit) if row.confidence >= _SHARE]
        best = sorted(said, key=lambda row: (-row.confidence, row.t0_us))[: action.limit]
        rows = tuple(sorted(best, key=lambda row: row.t0_us))
        return Related(rows=rows, evidence=distinct(row.evidence for row in rows))


def utterances(view: View, query: Query, wanted: Sequence[str], speakers: Sequence[int], limit: int) -> list[Row]:
    """What was said in the query's stretch of time with any of the wanted words, by any of the speakers where some are given.

    Without words all that was said, the newest first.
    """
    window: Any = {"from_us": query.from_us, "to_us": query.to_us}
    if not wanted:
        each = (view.utterances(speaker_id=who, limit=limit, newest_first=True, **window) for who in speakers or (None,))
        return [said_of(one, 1.0) for one in sorted(chain(*each), key=lambda one: -one.document.t0_us)]
    hits = view.search_text(" ".join(wanted), _WIDER * limit, kinds=("utterance",), **window)
    spoken = view.spoken([hit.document.id for hit in hits])
    mine = (one for one in spoken if not speakers or (one.speaker is not None and one.speaker.id in speakers))
    return [said_of(one, held(wanted, one.document.text)) for one in mine]


def match_entities(view: View, phrase: str) -> list[Entity]:
    """Entities that a phrase means: by name or alias, as a part of a longer name with the same last word, else by its own last words."""
    wanted = words(phrase)
    fits = [(max(_fit(wanted, words(name), one.kind) for name in (one.name, *one.aliases)), one) for one in view.entities()]
    least = min(_PART, max((fit for fit, _ in fits), default=0))
    return [one for fit, one in sorted(fits, key=lambda pair: -pair[0]) if 0 < fit >= least]


_SAME, _PART, _TAIL = 3, 2, 1


def _fit(wanted: Sequence[str], own: Sequence[str], kind: str) -> int:
    """A first name is part of a whole one, "phone" of "mobile phone", but not of "phone box"."""
    if not wanted or not own:
        return 0
    if kind in PEOPLE:
        return _SAME if wanted == own else _PART if set(wanted) <= set(own) else 0
    one, other = ([*parts[:-1], singular(parts[-1])] for parts in (wanted, own))
    if one[-1] != other[-1]:
        return 0
    return _SAME if one == other else _PART if set(one) <= set(other) else _TAIL if wanted[-len(own) :] == own else 0


def _fits(relation: Relation, action: Relate, sources: Sequence[Entity], targets: Sequence[Entity]) -> bool:
    """Its ends are among those asked for; where nobody is asked for, anybody is."""
    ends = relation.source.id, relation.target.id
    wanted = [{entity.id for entity in entities} or set(ends) for entities in (sources, targets)]
    return any(one in wanted[0] and other in wanted[1] for one, other in (ends, ends[::-1])[: 1 + action.either])


def shown_name(name: str) -> str:
    """The wearer is "me" however a transcript writes it."""
    return ME if name.casefold() == ME else name


_VERBS = {"TALKS_TO": "talked to", "USES": "used", "MENTIONS": "spoke of", "INTERACTS_WITH": "handled"}
"""Relation types in words."""
_HANDLED = {"location": "was in", **dict.fromkeys(PEOPLE, "did something with")}
"""INTERACTS_WITH in words, by the kind of what it leads to."""


def relation_text(source: str, type_: str, target: str, target_kind: str) -> str:
    """A relation as a sentence without its full stop: "Ben used the wrench", "you talked to Anna"."""
    verb = _VERBS.get(type_, type_.lower().replace("_", " "))
    verb = _HANDLED.get(target_kind, verb) if type_ == "INTERACTS_WITH" else verb
    verb = verb.replace("was ", "were ") if source.casefold() == ME else verb
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
    quote = min(relation.quotes, key=lambda quote: quote.document_id is None, default=None)
    text = quote.text if quote else ""
    document = view.document(quote.document_id) if quote and quote.document_id is not None else None
    moment = view.moment(quote.moment_id) if quote and quote.moment_id is not None else None
    proof = document or moment
    id_, offset_us = (f"{'d' if document else 'm'}{proof.id}", proof.offset_us) if proof else (f"r{relation.id}", 0)
    told = relation_text(relation.source.name, relation.type, relation.target.name, relation.target.kind)
    evidence = Evidence(
        id=id_, channel="speech" if document and document.kind == "utterance" else "entity", stream=relation.stream, t0_us=relation.t0_us,
        t1_us=relation.t1_us, offset_us=offset_us, score=relation.confidence, text=f'{told}: "{text}"' if text else told,
    )  # fmt: skip
    return Row(
        source=shown_name(relation.source.name), type=relation.type, target=shown_name(relation.target.name),
        target_kind=relation.target.kind, t0_us=relation.t0_us, t1_us=relation.t1_us, confidence=relation.confidence, quote=text,
        evidence=evidence,
    )  # fmt: skip


def said_of(spoken: Spoken, score: float) -> Row:
    """An utterance as a row: the words as they were heard."""
    document, speaker = spoken.document, shown_name(spoken.speaker.name) if spoken.speaker else ""
    evidence = as_evidence(document, "speech", score, f"{speaker}: {document.text}" if speaker else document.text)
    return Row(source=speaker, t0_us=document.t0_us, t1_us=document.t1_us, confidence=score, quote=document.text, evidence=evidence)
