"""The tools that survey a memory and write summaries of windows of it (VAM section 3.4, B.7.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from edgemem.answer.retrieve import document_evidence
from edgemem.answer.tool_base import BaseTool
from edgemem.clock import now_us, offset_text, to_iso
from edgemem.errors import ChatError
from edgemem.records import US, Document, Evidence, Moment, Origin, Record, least_trusted
from edgemem.remember.entries import NewDocument, NewPassage
from edgemem_vam import summary_key
from edgemem_vam.actions import Note, StreamFacts, Structure, Summaries, Survey, Surveyed, WriteSummaries
from edgemem_vam.conversation import conversation
from edgemem_vam.look import evenly, evidence_of, ids_of, notes_of, shown_of
from edgemem_vam.payload import passages
from edgemem_vam.roles import SUMMARY_WRITER, Role, request, say
from edgemem_vam.search import EVENT_KINDS, SUMMARY_KINDS
from edgemem_vam.summary_key import SummaryKey

if TYPE_CHECKING:
    from edgemem.answer.models import Models
    from edgemem.remember.view import View

MIN_WINDOW_S = 5.0
"""Shortest window (VAM)."""
FRAMES = 6
"""Pictures of one window (VAM: 6, at most 8)."""
DOCUMENTS = 8
"""Event documents of one window (VAM)."""
FOREVER_US = 2**62


class SummarySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How summaries are written."""

    writer: Role = SUMMARY_WRITER
    max_windows: int = 48
    """Windows that one action writes, of each stream; more would use up the question's share of the model."""


def structures(view: View) -> tuple[Structure, ...]:
    """Kinds of summaries that the memory holds, the most frequent first."""
    keys = [key for document in view.documents(kinds=SUMMARY_KINDS) if (key := summary_key.read(document)) is not None]
    groups: dict[tuple[str, float], list[SummaryKey]] = {}
    for key in keys:
        groups.setdefault((key.structure, key.granularity_s), []).append(key)
    made = [Structure(name=n, granularity_s=g, windows=len(of), focus=of[-1].focus) for (n, g), of in groups.items()]
    return tuple(sorted(made, key=lambda s: (-s.windows, s.name, s.granularity_s)))


class SurveyTool(BaseTool):
    """Carries out `Survey`."""

    name = "survey"
    action = Survey

    def run(self, action: Survey, view: View) -> Surveyed:
        facts = (StreamFacts(name=s.name, t0_us=s.t0_us, t1_us=s.t1_us, moments=s.moments) for s in view.streams())
        first_us, last_us = view.bounds() or (None, None)
        return Surveyed(
            streams=tuple(facts), first_us=first_us, last_us=last_us, structures=structures(view),
            conversation=conversation(view, action.asked_us),
        )  # fmt: skip


class _Window(Record, frozen=True):
    """What a summary is written from."""

    key: SummaryKey
    stream: str
    start_us: int
    """When the stream began."""
    moments: tuple[Moment, ...]
    documents: tuple[Document, ...]

    @property
    def offset_us(self) -> int:
        return max(0, self.key.t0_us - self.start_us)

    def evidence(self, view: View) -> tuple[Evidence, ...]:
        """What proves it: its pictures; where nothing was seen, what was heard or written."""
        if self.moments:
            return evidence_of(evenly(self.moments, FRAMES), view, score=0.5)
        return tuple(document_evidence(d, "speech" if d.kind == "utterance" else "event", 0.5, d.text) for d in self.documents)


class SummaryTool(BaseTool):
    """Carries out `WriteSummaries`. A summary is found again by its key as long as nothing new is known of its window; else it is
    written anew and takes the old one's place. Where the model fails, the summary is put together from the documents and says so.
    """

    name = "write_summaries"
    action = WriteSummaries

    def __init__(self, settings: SummarySettings | None = None, models: Models | None = None) -> None:
        self._settings = settings or SummarySettings()
        self._models = models

    def run(self, action: WriteSummaries, view: View) -> Summaries:
        windows, notes = self._windows(action)
        made: list[Note] = []
        documents: list[NewDocument] = []
        proofs: dict[str, Evidence] = {}
        down = ""
        known = {(d.stream, key): d for d in view.documents(kinds=SUMMARY_KINDS) if (key := summary_key.read(d)) is not None}
        keys = [summary_key.key_of(t0_us, t1_us, action.granularity_s, action.structure, action.prompt) for t0_us, t1_us in windows]
        for window in (window for key in keys for window in _of_streams(key, view)):
            key, old = window.key, known.get((window.stream, window.key))
            text = None if old is None or _newer(window, old) else summary_key.body(old.text)
            if text is None:
                text, down = self._write(window, action, view, down)
                documents.append(_document(window, text, view))
            evidence = window.evidence(view)
            proofs.update({one.id: one for one in evidence})
            made.append(
                Note(
                    t0_us=key.t0_us, t1_us=key.t1_us, granularity_s=key.granularity_s, structure=key.structure, text=text,
                    moment_id=window.moments[-1].id if window.moments else None, evidence=evidence,
                )
            )  # fmt: skip
        notes += [down] if down else []
        return Summaries(evidence=tuple(proofs.values()), windows=tuple(made), documents=tuple(documents), notes=tuple(notes))

    def _windows(self, action: WriteSummaries) -> tuple[list[tuple[int, int]], list[str]]:
        step_us = round(max(MIN_WINDOW_S, action.granularity_s) * US)
        starts = range(action.from_us, max(action.to_us, action.from_us + 1), step_us)
        limit = self._settings.max_windows
        windows = [(start, min(start + step_us, max(action.to_us, start + 1)) - 1) for start in starts[:limit]]
        return windows, [f"only the first {limit} of {len(starts)} windows were summarised"] if len(starts) > limit else []

    def _write(self, window: _Window, action: WriteSummaries, view: View, down: str) -> tuple[str, str]:
        """(text, why the model was not asked or did not answer)."""
        shown = evenly(window.moments, FRAMES)
        if self._models is None or not self._models.there:
            down = down or "summaries were put together from the event documents: no language model is configured"
        if not down and self._models is not None:
            moments, images = shown_of("summary_writer", shown, view, self._models)
            body = {
                "request": action.prompt,
                "window": {"from": to_iso(window.key.t0_us), "to": to_iso(window.key.t1_us), "offset": offset_text(window.offset_us)},
                "granularity_seconds": action.granularity_s,
                "summary_structure": action.structure,
                "event_documents": [{"from": to_iso(d.t0_us), "to": to_iso(d.t1_us), "document": d.text[:1200]} for d in window.documents],
                "pictures": notes_of(moments, view),
                "pictures_shown": len(images),
            }
            try:
                text = say(self._models, request("summary_writer", self._settings.writer, body, images, image_ids=ids_of(moments, images)))
            except ChatError as error:
                down = f"summaries were put together from the event documents: {error}"
            else:
                if text:
                    return text, down
        return _put_together(window, shown, view), down


def _of_streams(key: SummaryKey, view: View) -> Iterator[_Window]:
    """What was kept in a window, each stream by itself: a summary of several would outlive the forgetting of one of them."""
    found = view.documents(kinds=EVENT_KINDS, from_us=key.t0_us, to_us=key.t1_us)
    kept = view.moments(from_us=key.t0_us, to_us=key.t1_us)
    known = {stream.name: stream.t0_us for stream in view.streams()}  # of those that were seen
    starts = {name: known[name] for name in {moment.stream for moment in kept}}
    starts |= {one.stream: known.get(one.stream, one.t0_us - one.offset_us) for one in found}
    for stream, start_us in sorted(starts.items(), key=lambda pair: pair[::-1]):
        moments = tuple(moment for moment in kept if moment.stream == stream)
        documents = evenly([document for document in found if document.stream == stream], DOCUMENTS)
        yield _Window(key=key, stream=stream, start_us=start_us, moments=moments, documents=tuple(documents))


def _put_together(window: _Window, shown: Sequence[Moment], view: View) -> str:
    """A summary without a model: the event documents in order; without any, what was seen in the pictures."""
    lines = [f"{to_iso(window.key.t0_us)} to {to_iso(window.key.t1_us)}"]
    lines += [" ".join(document.text.split())[:400] for document in window.documents]
    if not window.documents:
        lines += [f"{note['time']}: {', '.join(note['seen'])} {' '.join(note.get('read', ()))}".strip() for note in notes_of(shown, view)]
    return "\n".join(lines)


def _newer(window: _Window, old: Document) -> bool:
    """Something of the window became known after the summary was written."""
    documents = any(document.known_us > old.known_us for document in window.documents)
    return documents or any(moment.t_us > old.known_us for moment in window.moments)


def _document(window: _Window, text: str, view: View) -> NewDocument:
    """Known from the cut-off of the question on: it is made of nothing later."""
    key = window.key
    origins: list[Origin] = ["caption", *(document.origin for document in window.documents)]
    seen = view.observations([moment.id for moment in window.moments])
    if '"' in text or any(o.kind == "text" for observations in seen.values() for o in observations):
        origins.append("ocr")
    fields = {
        "focus": key.focus, "summary_structure": key.structure, "time_range": f"{to_iso(key.t0_us)} to {to_iso(key.t1_us)}"
    }  # fmt: skip
    return NewDocument(
        kind="summary",
        text=summary_key.head(key, window.offset_us) + text,
        stream=window.stream,
        t0_us=key.t0_us,
        t1_us=key.t1_us,
        offset_us=window.offset_us,
        known_us=view.as_of_us if view.as_of_us < FOREVER_US else now_us(),
        origin=least_trusted(*origins),
        moment_id=window.moments[-1].id if window.moments else None,
        passages=tuple(NewPassage(kind=p.kind, text=p.text, vectors={}) for p in passages(text, fields)),
    )
