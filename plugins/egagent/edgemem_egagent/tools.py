"""The three search tools and the analyzer. All read an as-of view: nothing that became known after the question's time comes back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from edgemem.answer.compose import quote
from edgemem.answer.models import IMAGE_TOKENS
from edgemem.answer.retrieve import Query, Retriever, held
from edgemem.answer.tool_base import BaseTool
from edgemem.answer.tools_graph import Row, Said, match_entities, row_of, said_of
from edgemem.answer.understand.words import content_words, similar_texts
from edgemem.errors import EdgememError
from edgemem.records import US, Evidence
from edgemem_egagent.actions import Analyse, Analysed, Edges, GraphSearch, Lines, Pictures, TranscriptSearch, VisualSearch
from edgemem_egagent.ask import Completes, ask_typed
from edgemem_egagent.fusion import best_rank_first
from edgemem_egagent.memory import on_clock

if TYPE_CHECKING:
    from edgemem.remember.results import Spoken
    from edgemem.remember.view import View

LOCATION_PICTURES = 200
"""Pictures that may show the place of a location filter."""
_PLACE_SCORE = 0.1
"""Less sure that a picture shows the place, it does not; nor with half the score of the surest one. A retriever ranks all that it has."""
AROUND_PLACE_US = 30 * US
"""A picture this close to one that shows the place was taken there: a view pans away from what names a room."""
READ_LINES = 300
"""Utterances of a bounded stretch that are read as a whole: about 15,000 tokens at most."""
EDGES = 60
"""Rows of the graph that are given back; the newest count where there are more."""
MAX_IMAGES = 50
"""Frames with timestamps that the analyzer is shown (EGAgent, section 3.3)."""
_SAME = 0.92
"""Texts more alike than this say the same."""


class VisualTool(BaseTool):
    """Pictures by what they show."""

    name = "visual_search"
    action = VisualSearch

    def __init__(self, retriever: Retriever) -> None:
        self._retriever = retriever

    def run(self, action: VisualSearch, view: View) -> Pictures:
        """Best `shown` of all queries by `fusion.best_rank_first`."""
        lists, notes, doubt = [], [], 1.0
        found: dict[str, Evidence] = {}
        for text in action.queries:
            hits = self._retriever.retrieve(Query(text=text, from_us=action.from_us, to_us=action.to_us), view, action.per_query)
            notes += [hits.silent] if hits.silent else []
            doubt *= 1 - hits.confidence
            lists.append([e.id for e in hits.evidence])
            for evidence in hits.evidence:
                found.setdefault(evidence.id, evidence)
        if action.location:
            lists, note = self._at(lists, found, action, view)
            notes += [note] if note else []
        shown = tuple(found[name] for name in best_rank_first(lists, action.shown))
        return Pictures(evidence=shown, confidence=1 - doubt if shown else 0.0, notes=tuple(dict.fromkeys(notes)))

    def _at(self, lists: list[list[str]], found: dict[str, Evidence], action: VisualSearch, view: View) -> tuple[list[list[str]], str]:
        """Only what was taken at the place: near a picture that shows it, or while the graph has somebody there."""
        query = Query(text=action.location, from_us=action.from_us, to_us=action.to_us)
        seen = self._retriever.retrieve(query, view, LOCATION_PICTURES).evidence
        sure = max(_PLACE_SCORE, 0.5 * max((e.score for e in seen), default=0.0))
        there = [(e.t0_us, e.t1_us) for e in seen if e.score >= sure]
        for place in (entity for entity in match_entities(view, action.location) if entity.kind == "location"):
            known = view.relations(
                entity_id=place.id, type="INTERACTS_WITH", from_us=action.from_us, to_us=action.to_us, limit=LOCATION_PICTURES
            )
            there += [(r.t0_us, r.t1_us) for r in known]
        if not there:
            return lists, f"nothing is known to be at {quote(action.location)}; pictures of any place are shown"

        def near(evidence: Evidence) -> bool:
            return any(t0 - AROUND_PLACE_US <= evidence.t0_us <= t1 + AROUND_PLACE_US for t0, t1 in there)

        return [[name for name in names if near(found[name])] for names in lists], ""


class TranscriptTool(BaseTool):
    """What was said, by BM25 over full text; or all of a bounded stretch of time, for a model to read."""

    name = "transcript_search"
    action = TranscriptSearch

    def run(self, action: TranscriptSearch, view: View) -> Lines:
        """The union of what the queries find, in the order of time."""
        speakers = {entity.id for entity in match_entities(view, action.speaker)}
        if action.speaker and not speakers:
            return Lines()
        if not action.queries:
            return self._all(action, view, speakers)
        documents: dict[int, float] = {}
        for text in action.queries:
            wanted = content_words(text)
            hits = view.search_text(text, action.per_query, kinds=("utterance",), from_us=action.from_us, to_us=action.to_us)
            for hit in hits:
                documents[hit.document.id] = max(documents.get(hit.document.id, 0.0), held(wanted, hit.document.text))
        said = [said_of(one, documents[one.document.id]) for one in view.spoken(list(documents)) if _by(one, speakers)]
        return _lines(said)

    def _all(self, action: TranscriptSearch, view: View, speakers: set[int]) -> Lines:
        if action.from_us is None or action.to_us is None:
            return Lines()
        spoken = [one for one in view.utterances(from_us=action.from_us, to_us=action.to_us, limit=READ_LINES + 1) if _by(one, speakers)]
        return msgspec.structs.replace(_lines([said_of(one, 0.5) for one in spoken[:READ_LINES]]), cut=len(spoken) > READ_LINES)


def _by(spoken: Spoken, speakers: set[int]) -> bool:
    return not speakers or (spoken.speaker is not None and spoken.speaker.id in speakers)


def _lines(said: Sequence[Said]) -> Lines:
    ordered = tuple(sorted(said, key=lambda one: (one.t0_us, one.evidence.id)))
    return Lines(said=ordered, evidence=tuple({one.evidence.id: one.evidence for one in ordered}.values()))


class GraphTool(BaseTool):
    """Relations, from strict to relaxed."""

    name = "entity_graph_search"
    action = GraphSearch

    def run(self, action: GraphSearch, view: View) -> Edges:
        """What the model's own SELECT brings, if it wrote one that may run; else the ladder."""
        notes: tuple[str, ...] = ()
        if action.sql:
            try:
                rows = self._selected(action, view)
            except EdgememError as error:
                rows, notes = [], (f"the query was not run: {error}",)
            if len(rows) >= action.min_rows:
                return _edges(rows, "sql", notes)
            if not (action.source or action.target or action.type):
                return _edges(rows, "sql", notes)  # nothing to relax
        ladder = view.ladder(
            action.source or None, action.target or None, action.type or None, from_us=action.from_us, to_us=action.to_us,
            min_rows=action.min_rows, limit=EDGES,
        )  # fmt: skip
        return _edges([row_of(view, relation) for relation in ladder.relations], ladder.step or "", notes)

    def _selected(self, action: GraphSearch, view: View) -> list[Row]:
        """Rows of the model's query by their ids; a query without the column `id` brings nothing that could be cited."""
        selected = view.select(action.sql)
        ids = [row[selected.columns.index("id")] for row in selected.rows] if "id" in selected.columns else []
        relations = [relation for id_ in ids[:EDGES] if isinstance(id_, int) and (relation := view.relation(id_)) is not None]
        low, high = action.from_us, action.to_us
        return [
            row_of(view, relation)
            for relation in relations
            if (low is None or relation.t1_us >= low) and (high is None or relation.t0_us <= high)
        ]


def _edges(rows: Sequence[Row], step: str, notes: tuple[str, ...]) -> Edges:
    ordered = tuple(sorted(rows, key=lambda row: row.t0_us))
    proofs: dict[str, list[Row]] = {}
    for row in ordered:
        proofs.setdefault(row.evidence.id, []).append(row)
    return Edges(rows=ordered, evidence=tuple(map(_proof, proofs.values())), step=step if ordered else "", notes=notes)


def _proof(rows: Sequence[Row]) -> Evidence:
    """One piece of evidence for all rows that rest on the same utterance or picture: it tells every one of them."""
    if len(rows) == 1:
        return rows[0].evidence
    by_quote: dict[str, list[str]] = {}
    for row in rows:
        told = by_quote.setdefault(row.quote, [])
        told += [edge] if (edge := f"{row.source} {row.type} {row.target}") not in told else []
    text = "; ".join(", ".join(edges) + (f': "{words}"' if words else "") for words, edges in by_quote.items())
    proofs = [row.evidence for row in rows]
    return msgspec.structs.replace(
        max(proofs, key=lambda proof: proof.score), text=text, t0_us=min(e.t0_us for e in proofs), t1_us=max(e.t1_us for e in proofs)
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------------------------ analyzer


class Judgement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the analyzer replies."""

    finding: Annotated[str, msgspec.Meta(max_length=2000)]
    items: tuple[int, ...] = ()


class AnalyzerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one analysis is shown."""

    images: Annotated[int, msgspec.Meta(ge=0, le=MAX_IMAGES)] = MAX_IMAGES
    """Pictures with their times; each costs about 1,000 tokens of `models.tokens_per_question`."""


class Analyzer(BaseTool):
    """Relevance, evidence and repetitions of what one search brought (Algorithm 1, step 2b)."""

    name = "analyzer"
    action = Analyse

    def __init__(self, models: Completes | None = None, settings: AnalyzerSettings | None = None) -> None:
        self._models = models if models is not None and models.there else None
        self._images = (settings or AnalyzerSettings()).images

    def run(self, action: Analyse, view: View) -> Analysed:
        """By the language model where there is one, else by words. Raises ChatError when the model fails."""
        items = distinct(action.items)
        if not items:
            return Analysed(finding="Nothing was found.")
        return self._by_model(action, items, view) if self._models is not None else by_words(action, items)

    def _by_model(self, action: Analyse, items: Sequence[Evidence], view: View) -> Analysed:
        """With pictures for at most half of what the question may still spend: others follow, and the answer."""
        assert self._models is not None
        most = min(self._images, self._models.remaining.tokens // (2 * IMAGE_TOKENS))
        sees, ids = self._models.sees("egagent_analyse"), list[str]()
        images: list[bytes] = []
        shown: list[dict[str, Any]] = []
        for number, item in enumerate(items[:MAX_IMAGES] if action.tool == "visual" else items):
            picture = self._picture(item, view) if sees and len(images) < most else None
            images += [picture] if picture else []
            ids += [item.id] if picture else []
            told = {"item": number, "time": on_clock(item.t0_us, action.tz), "text": item.text}
            shown.append({**told, "picture": len(images)} if picture else told)
        request = {"sub_task": action.task, "tool": action.tool}
        judged = ask_typed(
            self._models, "analyse", {"items": shown}, Judgement, request=request, images=tuple(images), image_ids=tuple(ids)
        )
        chosen = tuple(items[i] for i in dict.fromkeys(judged.items) if 0 <= i < len(shown))
        return Analysed(finding=judged.finding, evidence=chosen, sure=0.9 if chosen else 0.0)

    @staticmethod
    def _picture(item: Evidence, view: View) -> bytes | None:
        if not item.id.startswith("m"):
            return None
        try:
            return view.picture(int(item.id[1:]))
        except EdgememError:
            return None  # it has faded; its text is left


def distinct(items: Sequence[Evidence]) -> list[Evidence]:
    """Without what another item of about the same time says already; what stands first stays."""
    kept: list[Evidence] = []
    for item in items:
        if not any(item.id == other.id or _repeats(item, other) for other in kept):
            kept.append(item)
    return kept


def _repeats(item: Evidence, other: Evidence) -> bool:
    return abs(item.t0_us - other.t0_us) <= 2 * US and bool(item.text) and similar_texts(item.text, other.text) >= _SAME


def by_words(action: Analyse, items: Sequence[Evidence]) -> Analysed:
    """Without a model: pictures and graph rows as they were ranked; utterances that hold most of the sub-task's words."""
    wanted = content_words(action.task)
    if action.tool == "transcript":
        scored = [(held(wanted, item.text), item) for item in items]
        best = max(score for score, _ in scored)
        chosen = [item for score, item in scored if score >= max(0.34, 0.8 * best)]
        sure = best
    else:
        chosen = list(items[: 12 if action.tool == "visual" else len(items)])
        sure = max(item.score for item in chosen)
    finding = "; ".join(f"{on_clock(item.t0_us, action.tz)} {item.text}" for item in chosen[:6])
    return Analysed(finding=finding or "Nothing fits.", evidence=tuple(chosen), sure=min(1.0, sure))
