"""What must hold across the lines of an export, looked at before the first row is written: references, spans, vectors, pictures, sizes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from edgemem.errors import UsageError
from edgemem.records import MOST_PIXELS, Box
from edgemem.remember.disk import page_budget
from edgemem.remember.entries import NewCall, NewMention
from edgemem.remember.import_files import loads, read_lines, read_picture, vector
from edgemem.remember.import_lines import (
    About,
    AliasLine,
    DocumentLine,
    EntityLine,
    MergeLine,
    MomentLine,
    ParentLine,
    PartLine,
    RelationLine,
    SegmentLine,
    SessionLine,
)
from edgemem.remember.rows.sessions import renumbered_request
from edgemem.remember.vectors.search import Holds

_EXTRA_PAGES = 16
"""For roles, pins and the note of how far the import is."""


def check_export(source: Path, about: About, tables: list[str], budget_bytes: int | None) -> int:
    """Read all of it; returns the number of its lines. Raises UsageError that names file and line."""
    checking, count = _Checking(source, about, most_pages(budget_bytes)), 0
    for table in tables:
        check = getattr(checking, f"check_{table}", None)
        for where, row in read_lines(source, table):
            count += 1
            try:
                if check is not None:
                    check(row)
            except ValueError as error:
                raise UsageError(f"{where}: {error}") from None
    return count


def most_pages(budget_bytes: int | None) -> int | None:
    """Pages that one line may touch; None without a budget."""
    if budget_bytes is None:
        return None
    return page_budget.BudgetShares.of(budget_bytes).transaction_pages - page_budget.BASE_PAGES - _EXTRA_PAGES


class _Checking:
    """Ids that came so far. What refers to a moment, a document or a segment that is not in the export is taken in without it."""

    def __init__(self, source: Path, about: About, most_pages: int | None) -> None:
        self._source, self._most_pages = source, most_pages
        self._spaces = {space.name: space for space in about.spaces}
        self._begins: dict[str, dict[int, int]] = {"moment": {}, "document": {}}
        """Times of moments and documents by their ids."""
        self._levels: dict[int, int] = {}
        self._entities: set[int] = set()
        self._relations: set[int] = set()

    def check_moments(self, row: MomentLine) -> None:
        self._new(row.id, self._begins["moment"])
        self._begins["moment"][row.id] = row.t_us
        for seen in row.observations:
            _require_score(seen.score)
            _require_box(seen.box)
        vector_bytes = self._vectors(row.vectors, "moment")
        if row.picture is not None:
            require_picture(read_picture(self._source, row.picture), row.picture)
        self._fits(page_budget.moment_pages(0, vector_bytes, page_budget.seen_pages(seen.name for seen in row.observations)))

    def check_segments(self, row: SegmentLine) -> None:
        self._new(row.id, self._levels)
        self._levels[row.id] = row.level
        _require_span(row.t0_us, row.t1_us)
        if len(set(row.moments)) < len(row.moments):
            raise ValueError("it holds a moment twice")
        self._fits(page_budget.segment_pages(len(row.moments)))

    def check_parents(self, row: ParentLine) -> None:
        child, parent = self._levels.get(row.segment_id), self._levels.get(row.parent_id)
        if child is not None and parent is not None and child >= parent:
            raise ValueError(f"segment {row.parent_id} is of no higher level than {row.segment_id}")

    def check_entities(self, row: EntityLine) -> None:
        self._new(row.id, self._entities)
        self._entities.add(row.id)
        self._fits(page_budget.relation_pages(len(row.name)) + page_budget.part_pages(self._vectors(row.vectors, "entity")))

    def check_documents(self, row: DocumentLine) -> None:
        self._new(row.id, self._begins["document"])
        self._begins["document"][row.id] = row.t0_us
        _require_span(row.t0_us, row.t1_us)
        if row.until_us is not None and row.until_us < row.known_us:
            raise ValueError("it was replaced before it was known")
        if row.speaker_id is not None:
            self._require_entity(row.speaker_id)
        passages = (page_budget.passage_pages(len(one.text), self._vectors(one.vectors, "passage")) for one in row.passages)
        self._fits(page_budget.document_pages(len(row.text)) + sum(passages))

    def check_parts(self, row: PartLine) -> None:
        if (row.moment_id is None) == (row.document_id is None):
            raise ValueError("it belongs to one moment or to one document")
        _require_box(row.box)
        owner, key = ("moment", row.moment_id) if row.document_id is None else ("document", row.document_id)
        begins = None if key is None else self._begins[owner].get(key)
        if begins is not None:
            _require_span(begins if row.t0_us is None else row.t0_us, row.t1_us)
        self._fits(page_budget.part_pages(self._vectors(row.vectors, "part")))

    def check_aliases(self, row: AliasLine) -> None:
        self._require_entity(row.entity_id)
        self._fits(page_budget.relation_pages(len(row.name)))

    def check_merges(self, row: MergeLine) -> None:
        self._require_entity(row.from_id)
        self._require_entity(row.into_id)

    def check_mentions(self, row: NewMention) -> None:
        self._require_entity(row.entity_id)

    def check_relations(self, row: RelationLine) -> None:
        self._new(row.id, self._relations)
        self._relations.add(row.id)
        self._require_entity(row.source_id)
        self._require_entity(row.target_id)
        _require_span(row.t0_us, row.t1_us)
        self._fits(page_budget.relation_pages(sum(len(quote.text) for quote in row.quotes)))

    def check_sessions(self, row: SessionLine) -> None:
        for step in row.steps:
            for text in (step.action_json, step.result_json):
                _require_json(text)
        for call in row.calls:
            renumbered_call(call, {kind: {} for kind in "mdusr"})
        self._fits(page_budget.session_pages(0, len(row.came_up) + len(row.evidence)))

    def _new(self, key: int, known: Any) -> None:
        if key in known:
            raise ValueError(f"id {key} came before")

    def _require_entity(self, key: int) -> None:
        if key not in self._entities:
            raise ValueError(f"entity {key} is not in entities.jsonl; export again")

    def _vectors(self, encoded: Mapping[str, Any], holds: Holds) -> int:
        """Bytes of the vectors, all of which fit their spaces."""
        total = 0
        for name, text in encoded.items():
            space = self._spaces.get(name)
            if space is None or space.holds != holds:
                raise ValueError(f"memory.json names no space {name[:80]!r} of {holds} vectors")
            if not isinstance(text, str) or len(vector(text)) != space.dim:
                raise ValueError(f"a vector of {name[:80]!r} has not {space.dim} dimensions")
            total += 2 * space.dim
        return total

    def _fits(self, pages: int) -> None:
        if self._most_pages is not None and pages > self._most_pages:
            kib = page_budget.PAGE_BYTES >> 10
            raise ValueError(f"it takes {pages * kib} KiB at once, budget.disk allows {self._most_pages * kib} KiB: raise it")


def renumbered_call(given: Any, ids: Mapping[str, Mapping[int, int]]) -> NewCall:
    """A call of a session with new ids. Raises ValueError where it is neither of this version of the format nor of an earlier one."""
    try:
        if isinstance(given, str):
            old = loads(given.encode())
            request = msgspec.msgpack.encode({"prompt": old.get("prompt", "")})
            given = {"step": 0, "task": "", "model": "", "reply": "", **old, "request": request.hex()}
        given = {**given, **{name: bytes.fromhex(given.get(name, "")) for name in ("request", "logprobs")}}
        call = msgspec.convert({name: given[name] for name in NewCall.__struct_fields__ if name in given}, NewCall)
        return replace(call, request=renumbered_request(call.request, ids))
    except (ValueError, TypeError, AttributeError, RecursionError, msgspec.MsgspecError) as error:
        raise ValueError(f"a call cannot be read: {error}") from None


def _require_span(t0_us: int, t1_us: int | None) -> None:
    if t1_us is not None and t1_us < t0_us:
        raise ValueError("it ends before it begins")


def _require_score(score: float) -> None:
    if abs(score) > 1e9:
        raise ValueError(f"{score} is no score")


def _require_box(box: Box | None) -> None:
    if box is not None and not (0 <= box.x0 <= box.x1 <= 1 and 0 <= box.y0 <= box.y1 <= 1):
        raise ValueError("its box does not lie in the picture, or ends before it begins")


def _require_json(text: str) -> None:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("a step holds what is no JSON") from None


def require_picture(data: bytes, name: str) -> None:
    """Raise ValueError unless it is a JPEG of a size that can be decoded."""
    import simplejpeg

    size = None
    with suppress(ValueError):
        size = simplejpeg.decode_jpeg_header(data)[:2]
    if size is None:
        raise ValueError(f"{name[:80]} is no JPEG")
    if not 0 < size[0] * size[1] <= MOST_PIXELS:
        raise ValueError(f"{name[:80]} has {size[1]} x {size[0]} pixels: at most {MOST_PIXELS // 10**6} megapixels are taken")
