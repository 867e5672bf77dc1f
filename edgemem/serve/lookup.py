"""Reading a memory without a question: open a piece of evidence, list what happened."""

from __future__ import annotations

from edgemem.errors import UsageError
from edgemem.records import US, Document, Moment, Relation, Segment
from edgemem.remember.view import View
from edgemem.serve.results import Shown, TimelineEntry

BESIDE_US = 5 * US
"""An utterance is shown with a moment that is at most this far from it."""
WRITTEN = ("event", "fused")
"""Kinds of documents that describe a segment."""


def show(view: View, evidence_id: str) -> Shown:
    """`m<moment>`, `d<document>`, `s<segment>` or `r<relation>` with all known facts. Raises UsageError for anything else.

    An utterance has no picture: it is shown with the moment that was seen at that time.
    """
    item = _item(view, evidence_id)
    moment_id, text, speaker = _moment_id(view, item), "", None
    if isinstance(item, Document):
        text = item.text
        for spoken in view.spoken([item.id]):
            moment_id = _seen_at(view, item)
            speaker = spoken.speaker.name if spoken.speaker else ""
    elif isinstance(item, Segment):
        found = view.documents(kinds=WRITTEN, stream=item.stream, from_us=item.t0_us, to_us=item.t1_us)
        text = " ".join(document.text for document in found if document.segment_id == item.id)
    shown = Shown(id=evidence_id, item=item, text=text, speaker=speaker)
    return shown if moment_id is None else _with_moment(view, shown, moment_id)


def timeline(view: View, from_us: int | None = None, to_us: int | None = None, stream: str | None = None) -> tuple[TimelineEntry, ...]:
    """The segments that overlap a time range, in order of their beginning."""
    found = view.documents(kinds=WRITTEN, from_us=from_us, to_us=to_us, stream=stream)
    documents = {document.segment_id: document for document in found if document.segment_id is not None}
    return tuple(
        TimelineEntry(segment=segment, moments=len(view.segment_moments(segment.id)), document=documents.get(segment.id))
        for segment in view.segments(from_us=from_us, to_us=to_us, stream=stream)
    )


def _item(view: View, evidence_id: str) -> Moment | Document | Segment | Relation:
    kind, number = evidence_id[:1], evidence_id[1:]
    if kind not in {"m", "d", "s", "r"} or not number.isdecimal():
        raise UsageError(f'"{evidence_id[:40]}" is not an evidence id; take one from ask or search, such as m12 or d3')
    find = {"m": view.moment, "d": view.document, "s": view.segment, "r": view.relation}[kind]
    item: Moment | Document | Segment | Relation | None = find(int(number[:18]))
    if item is None:
        raise UsageError(f"this memory has no {evidence_id}: it never existed, or it was evicted")
    return item


def _moment_id(view: View, item: Moment | Document | Segment | Relation) -> int | None:
    """The moment that is its evidence."""
    if isinstance(item, Moment):
        return item.id
    if isinstance(item, Document):
        return item.moment_id
    if isinstance(item, Segment):
        return item.representative_id
    return next((quote.moment_id for quote in item.quotes if quote.moment_id is not None), None) or _seen_at(view, item)


def _with_moment(view: View, shown: Shown, moment_id: int) -> Shown:
    moment = view.moment(moment_id)
    return Shown(
        id=shown.id, item=shown.item, text=shown.text, speaker=shown.speaker, moment=moment,
        observations=view.observations([moment_id]).get(moment_id, ()),
        picture=None if moment is None or moment.tier == "stub" else view.picture(moment_id),
    )  # fmt: skip


def _seen_at(view: View, item: Document | Relation) -> int | None:
    """The moment nearest to the middle of a document or relation, if it is within `BESIDE_US`."""
    near = view.nearest((item.t0_us + item.t1_us) // 2, item.stream)
    return near.id if near and item.t0_us - BESIDE_US <= near.t_us <= item.t1_us + BESIDE_US else None
