"""The search tool: pictures, event documents and summaries for each query, merged by the best score (VAM section 3.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from edgemem.answer.retrieve import Query as CoreQuery
from edgemem.answer.retrieve import as_evidence
from edgemem.answer.retrievers.frames import FrameRetriever
from edgemem.answer.retrievers.readings import TextRetriever
from edgemem.answer.tool_base import BaseTool
from edgemem.answer.tools import describe_moment
from edgemem.answer.understand.words import content_words
from edgemem.errors import EngineError, MemoryDirError
from edgemem.records import Document, Evidence, Observation, Record, Vector
from edgemem_vam import summary_key
from edgemem_vam.actions import By, HybridHits, HybridSearch, ResultRow, WindowSummary
from edgemem_vam.relevance import FLOOR, SURE, kept, relevance
from edgemem_vam.shorten import shortened
from edgemem_vam.wire import SourceName, SubQuery

if TYPE_CHECKING:
    from edgemem.infer.engines import Engines
    from edgemem.remember.view import View

EVENT_KINDS = ("event", "caption", "utterance", "episodic", "semantic", "fused", "session")
"""Documents that the source `event` holds: whatever was written about stretches of the stream, by any recipe."""
SUMMARY_KINDS = ("summary",)
QUERIES = 8
"""Queries of one search that are carried out; the rest is said in the notes."""
_CHUNK_MARGIN, _FIELD_MARGIN = 0.01, 0.005
"""By so much a chunk or a field must beat the whole document for its text to be shown instead (VAM, `search_memory_documents`)."""
_TEXT_CHARS = 8000
"""Of one text: several times the 700 tokens of an event document; what is longer is cut and says so."""
_SHOWN_CHARS = 600
"""Of the quote that stands in evidence, for people."""


class SearchSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How pictures are scored."""

    frame_floor: float = FLOOR
    raw_cosine: bool = False
    """Take cosines of pictures as they are, for a joint space that VAM's numbers were made for, instead of the calibrated scores."""


class ScoredResult(Record, frozen=True):
    """A result with its evidence."""

    row: ResultRow
    evidence: Evidence


class HybridSearchTool(BaseTool):
    """Carries out `HybridSearch`. Score of a picture: what the recipe's joint space says; of a document: its best passage or its words."""

    name = "hybrid_search"
    action = HybridSearch

    def __init__(self, settings: SearchSettings | None = None, engines: Engines | None = None) -> None:
        self._settings = settings or SearchSettings()
        self._engines = engines
        self._frames = FrameRetriever(engines)
        self._readings = TextRetriever()

    def run(self, action: HybridSearch, view: View) -> HybridHits:
        notes: dict[str, None] = {}
        if len(action.queries) > QUERIES:
            notes[f"only the first {QUERIES} of {len(action.queries)} queries were searched"] = None
        if action.visual_id is not None:
            top_k = max((query.top_k for query in action.queries), default=5)
            ahead = max((query.inspect_k for query in action.queries), default=0)
            alike = _best(self._looks_like(action, view, action.visual_id, top_k, notes), 0.0, top_k, ahead)
            return _hits(_found_by(alike, f"looks like m{action.visual_id}"), notes)
        lists = []
        for query in action.queries[:QUERIES]:
            found = [one for source in action.sources for one in self._source(source, query, action, view, notes)]
            lists.append(_found_by(_best(found, query.threshold, query.top_k, query.inspect_k), query.q))
        return _hits(_merged([one for found in lists for one in found]), notes)

    def _source(self, source: SourceName, query: SubQuery, action: HybridSearch, view: View, notes: dict[str, None]) -> list[ScoredResult]:
        if source == "frame":
            return self._pictures(query, action, view, notes)
        found = self._documents(source, query, action, view, notes)
        return found if source == "event" else [*found, *self._session_summaries(query, action, notes)]

    # Pictures

    def _pictures(self, query: SubQuery, action: HybridSearch, view: View, notes: dict[str, None]) -> list[ScoredResult]:
        wanted = CoreQuery(text=query.q, from_us=action.from_us, to_us=action.to_us)
        found: list[tuple[Evidence, By]] = []
        if self._settings.raw_cosine:
            found = [(evidence, "picture") for evidence in self._by_cosine(query, action, view, notes)]
        else:
            seen = self._frames.retrieve(wanted, view, query.top_k)
            if why := seen.silent or seen.note:
                notes[why] = None
            found = [(evidence, "picture") for evidence in seen.evidence]
        read = self._readings.retrieve(wanted, view, query.top_k).evidence
        found += [(msgspec.structs.replace(evidence, score=SURE * evidence.score), "reading") for evidence in read]
        above = [(evidence, by) for evidence, by in found if evidence.score >= self._settings.frame_floor]
        return [_picture(view, evidence, by) for evidence, by in above]

    def _by_cosine(self, query: SubQuery, action: HybridSearch, view: View, notes: dict[str, None]) -> list[Evidence]:
        if self._engines is None or not self._engines.has("embed_joint"):
            return []
        joint = self._engines.role("embed_joint")
        try:
            vector = joint.embed_text([query.q])[0]
        except EngineError as error:
            notes[f"pictures were not searched: {error}"] = None
            return []
        found = view.vector_search(joint.space.name, vector, query.top_k, from_us=action.from_us, to_us=action.to_us)
        return _moments(view, [(moment_id, min(1.0, max(0.0, cosine))) for moment_id, cosine in found])

    def _looks_like(self, action: HybridSearch, view: View, moment_id: int, top_k: int, notes: dict[str, None]) -> list[ScoredResult]:
        """Pictures whose stored vectors are like that of one picture, itself left out. Both sides are pictures: cosines as they are."""
        if self._engines is None or (why := self._engines.missing("embed_joint")):
            notes[f"nothing can be searched by its looks: {why if self._engines else 'no engines are configured'}"] = None
            return []
        space = self._engines.role("embed_joint").space.name  # a joint space made of parts is named after them, not as its card
        try:
            vector = view.vectors(space, [moment_id])[0]
        except MemoryDirError:
            notes["that picture cannot be searched by: no vector of it is stored that the engine in use could compare"] = None
            return []
        found = view.vector_search(space, vector, top_k + 1, from_us=action.from_us, to_us=action.to_us)
        others = [(other, cosine) for other, cosine in found if other != moment_id and cosine >= self._settings.frame_floor]
        return [_picture(view, evidence, "picture") for evidence in _moments(view, others)]

    # Documents

    def _documents(
        self, source: SourceName, query: SubQuery, action: HybridSearch, view: View, notes: dict[str, None]
    ) -> list[ScoredResult]:
        kinds = EVENT_KINDS if source == "event" else SUMMARY_KINDS
        between: dict[str, Any] = {"kinds": kinds, "from_us": action.from_us, "to_us": action.to_us}
        best: dict[int, ScoredResult] = {}

        def offer(document: Document, score: float, text: str, by: By) -> None:
            if source == "summary" and not _wanted(document, action):
                return
            if document.id not in best or score > best[document.id].row.score:
                best[document.id] = _document(document, source, score, text, by)

        for document, score, text, by in self._by_passages(query, between, view, notes):
            offer(document, score, text, by)
        for hit in view.search_text(query.q, query.top_k, **between):
            offer(hit.document, SURE * word_share(query.q, hit.document.text), hit.snippet, "words")
        return sorted(best.values(), key=_order)[: query.top_k]

    def _by_passages(
        self, query: SubQuery, between: dict[str, Any], view: View, notes: dict[str, None]
    ) -> list[tuple[Document, float, str, By]]:
        embedded = self._embed(query.q, (), notes)
        if embedded is None:
            return []
        space, vectors, calibration = embedded
        by_document: dict[int, list[Any]] = {}
        for hit in view.search_passages(space, vectors[0], query.top_k * _PASSAGES_PER_DOCUMENT, **between):
            by_document.setdefault(hit.document.id, []).append(hit)
        found = []
        for hits in by_document.values():
            score, text, by = best_passage([(hit.passage_kind, hit.text, relevance(hit.score, calibration)) for hit in hits])
            found.append((hits[0].document, score, text or hits[0].document.text, by))
        return found

    def _session_summaries(self, query: SubQuery, action: HybridSearch, notes: dict[str, None]) -> list[ScoredResult]:
        """Summaries that this session wrote, which the memory does not hold yet."""
        chosen = [summary for summary in action.summaries if _fits(summary, action)]
        embedded = self._embed(query.q, [summary.text for summary in chosen], notes) if chosen else None
        found = []
        for index, summary in enumerate(chosen, 1):
            score = SURE * word_share(query.q, summary.text)
            if embedded is not None:
                _, vectors, calibration = embedded
                score = max(score, relevance(float(vectors[0] @ vectors[index]), calibration))
            found.append(_summary(summary, score))
        return [one for one in found if one is not None]

    def _embed(self, query: str, texts: Sequence[str], notes: dict[str, None]) -> tuple[str, Sequence[Vector], Mapping[str, float]] | None:
        """The text space, the vectors of the query and of the texts, and what its cosines mean; None, with a note, where there are none."""
        if self._engines is None or self._engines.missing("embed_text"):
            notes["documents were found by their words alone: no engine embeds text"] = None
            return None
        embedder = self._engines.role("embed_text")
        try:
            vectors = [*embedder.embed_query([query]), *(embedder.embed_text(texts) if texts else ())]
        except EngineError as error:
            notes[f"documents were found by their words alone: {error}"] = None
            return None
        return embedder.space.name, vectors, embedder.space.calibration


_PASSAGES_PER_DOCUMENT = 4
"""A document has up to 13 passages, of which few are near a query: enough for `top_k` documents in all but odd cases."""


def best_passage(passages: Sequence[tuple[str, str, float]]) -> tuple[float, str, By]:
    """(score, text to show, kind) of a document from its passages (kind, text, score). "" where the whole document is shown.

    The score is the largest of all. A chunk is shown when it beats the document by .01, a field when it beats both by .005.
    """
    by_kind: dict[str, tuple[float, str]] = {}
    for kind, text, score in passages:
        if kind not in by_kind or score > by_kind[kind][0]:
            by_kind[kind] = (score, text)
    nothing = (0.0, "")
    whole, chunk, field = (by_kind.get(kind, nothing)[0] for kind in ("document", "chunk", "field"))
    score, text, shown = whole, "", whole
    by: By = "document"
    if chunk > shown + _CHUNK_MARGIN:
        text, shown, by = by_kind["chunk"][1], chunk, "chunk"
    if field > shown + _FIELD_MARGIN:
        text, by = by_kind["field"][1], "field"
    return max(score, chunk, field), text, by


def word_share(query: str, text: str) -> float:
    """Share of the query's words that the text holds, compared by their first five letters."""
    wanted = content_words(query)
    have = {word[:5] for word in content_words(text)}
    return sum(word[:5] in have for word in wanted) / len(wanted) if wanted else 0.0


def _order(found: ScoredResult) -> tuple[float, int, str]:
    return (-found.row.score, found.evidence.t0_us, found.row.id)


def _merged(found: Sequence[ScoredResult]) -> list[ScoredResult]:
    """Each id once, with its best score, best first."""
    best: dict[str, ScoredResult] = {}
    for one in found:
        known = best.get(one.row.id)
        ahead = one.row.look_ahead or (known is not None and known.row.look_ahead)
        chosen = one if known is None or one.row.score > known.row.score else known
        best[one.row.id] = _with_row(chosen, look_ahead=ahead)
    return sorted(best.values(), key=_order)


def _best(found: Sequence[ScoredResult], threshold: float, top_k: int, inspect_k: int) -> list[ScoredResult]:
    merged = _merged(found)
    number = kept([one.row.score for one in merged], threshold, top_k)
    return [_with_row(one, look_ahead=at < inspect_k) for at, one in enumerate(merged[:number])]


def _found_by(found: Sequence[ScoredResult], query: str) -> list[ScoredResult]:
    return [_with_row(one, query=query) for one in found]


def _with_row(one: ScoredResult, **fields: Any) -> ScoredResult:
    return msgspec.structs.replace(one, row=msgspec.structs.replace(one.row, **fields))


def _hits(found: Sequence[ScoredResult], notes: Mapping[str, None]) -> HybridHits:
    return HybridHits(evidence=tuple(one.evidence for one in found), rows=tuple(one.row for one in found), notes=tuple(notes))


def _moments(view: View, scored: Sequence[tuple[int, float]]) -> list[Evidence]:
    moments = [(view.moment(moment_id), score) for moment_id, score in scored]
    return [as_evidence(moment, "frame", score, "") for moment, score in moments if moment is not None]


def _picture(view: View, evidence: Evidence, by: By) -> ScoredResult:
    """A picture with what is known of it; text that was read makes its origin "ocr"."""
    moment_id = int(evidence.id[1:])
    seen = view.observations([moment_id]).get(moment_id, ())
    shown = describe_moment(seen)
    text = _whole_text(seen, shown)
    origin = "ocr" if any(o.kind == "text" for o in seen) else "caption"
    row = ResultRow(
        id=evidence.id,
        source="frame",
        score=evidence.score,
        text=text,
        by=by,
        origin=origin,  # type: ignore[arg-type]
        moment_id=moment_id,
    )
    return ScoredResult(row=row, evidence=msgspec.structs.replace(evidence, text=shown or evidence.text))


def _whole_text(seen: Sequence[Observation], shown: str) -> str:
    """What was recognised, as `shown` says it, with everything that was read instead of its beginning."""
    read = " ".join(o.name.strip() for o in seen if o.kind == "text" and o.name.strip())
    things = shown.partition('text "')[0] if read else shown
    return shortened(f'{things}text "{read}"' if read else shown, _TEXT_CHARS)


def _document(document: Document, source: SourceName, score: float, text: str, by: By) -> ScoredResult:
    channel = "speech" if document.kind == "utterance" else "event"
    row = ResultRow(
        id=f"d{document.id}", source=source, score=score, text=shortened(document.text, _TEXT_CHARS), by=by, origin=document.origin,
        moment_id=document.moment_id, passage="" if text == document.text else text,
    )  # fmt: skip
    shown = shortened(text or document.text, _SHOWN_CHARS)
    return ScoredResult(row=row, evidence=as_evidence(document, channel, score, shown))  # type: ignore[arg-type]


def _summary(summary: WindowSummary, score: float) -> ScoredResult | None:
    """A summary of this session, proved by the picture it was written from; None where nothing proves it."""
    if not summary.evidence:
        return None
    proof = msgspec.structs.replace(summary.evidence[0], score=score, t0_us=summary.t0_us, t1_us=summary.t1_us)
    row = ResultRow(
        id=proof.id, source="summary", score=score, text=shortened(summary.text, _TEXT_CHARS), by="words", origin="ocr",
        moment_id=summary.moment_id,
    )  # fmt: skip
    return ScoredResult(row=row, evidence=proof)


def _fits(summary: WindowSummary, action: HybridSearch) -> bool:
    inside = (action.to_us is None or summary.t0_us <= action.to_us) and (action.from_us is None or summary.t1_us >= action.from_us)
    structure = action.structure is None or summary.structure == action.structure
    return inside and structure and (action.granularity_s is None or summary.granularity_s == action.granularity_s)


def _wanted(document: Document, action: HybridSearch) -> bool:
    if action.structure is None and action.granularity_s is None:
        return True
    key = summary_key.read(document)
    structure = key is not None and (action.structure is None or key.structure == action.structure)
    return structure and key is not None and (action.granularity_s is None or key.granularity_s == action.granularity_s)
