"""Windows of time and their summaries: what a window holds, who writes about it, and which document keeps it (VAM section 3.4, B.7.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from edgemem.answer.retrieve import as_evidence
from edgemem.clock import offset_text, to_iso
from edgemem.errors import ChatError
from edgemem.infer.chat import Prompt
from edgemem.records import US, Document, Evidence, Moment, Origin, Record, least_trusted
from edgemem.remember.entries import NewDocument, NewPassage
from edgemem_vam import summary_key
from edgemem_vam.context import SUMMARY_SCORE
from edgemem_vam.look import evenly, evidence_of, ids_of, notes_of, shown_of
from edgemem_vam.payload import PLAIN, passages
from edgemem_vam.roles import Role, request
from edgemem_vam.search import EVENT_KINDS, SUMMARY_KINDS
from edgemem_vam.shorten import shortened
from edgemem_vam.summary_key import SummaryKey

if TYPE_CHECKING:
    from edgemem.llm.models import Models
    from edgemem.remember.view import View

MIN_WINDOW_S = 5.0
"""Shortest window (VAM)."""
FRAMES = 6
"""Pictures of one window (VAM: 6, at most 8)."""
DOCUMENTS = 8
"""Event documents of one window (VAM)."""
_DOCUMENT_CHARS = 2500
"""Of an event document that the writer of a summary reads: its 700 tokens."""
_QUOTED_CHARS = 400
"""Of an event document in a summary that no model wrote."""


class Windows(Record, frozen=True):
    """A stretch of time cut into windows, and what their summaries are about."""

    from_us: int
    to_us: int
    granularity_s: float
    structure: str
    focus: str

    @property
    def step_us(self) -> int:
        """Length of a window."""
        return round(max(MIN_WINDOW_S, self.granularity_s) * US)

    @property
    def count(self) -> int:
        """How many there are: at least one."""
        return len(range(self.from_us, max(self.to_us, self.from_us + 1), self.step_us))

    def key(self, index: int) -> SummaryKey:
        """What the summary of a window is known by; the last window ends with the stretch."""
        start_us = self.from_us + index * self.step_us
        end_us = min(start_us + self.step_us, max(self.to_us, start_us + 1)) - 1
        return summary_key.key_of(start_us, end_us, self.granularity_s, self.structure, self.focus)


class Window(Record, frozen=True):
    """What a summary is written from: one window of one stream."""

    key: SummaryKey
    stream: str
    start_us: int
    """When the stream began."""
    moments: tuple[Moment, ...]
    documents: tuple[Document, ...]

    @property
    def offset_us(self) -> int:
        """Where the window begins in its stream."""
        return max(0, self.key.t0_us - self.start_us)

    def evidence(self, view: View) -> tuple[Evidence, ...]:
        """What proves it: its pictures; where nothing was seen, what was heard or written."""
        if self.moments:
            return evidence_of(evenly(self.moments, FRAMES), view, SUMMARY_SCORE)
        score = SUMMARY_SCORE
        return tuple(as_evidence(d, "speech" if d.kind == "utterance" else "event", score, d.text) for d in self.documents)

    def stale(self, old: Document | None, *, model: bool) -> bool:
        """Whether its summary is to be written: there is none, something became known since, or a model may write what none wrote."""
        if old is None or (model and summary_key.is_plain(summary_key.body(old.text))):
            return True
        known = any(document.known_us > old.known_us for document in self.documents)
        return known or any(moment.t_us > old.known_us for moment in self.moments)


def of_streams(key: SummaryKey, view: View, stream: str | None = None) -> Iterator[Window]:
    """What was kept in a window, each stream by itself: a summary of several would outlive the forgetting of one of them."""
    found = view.documents(kinds=EVENT_KINDS, from_us=key.t0_us, to_us=key.t1_us, stream=stream)
    kept = view.moments(from_us=key.t0_us, to_us=key.t1_us, stream=stream)
    known = {stream.name: stream.t0_us for stream in view.streams()}  # of those that were seen
    starts = {name: known[name] for name in {moment.stream for moment in kept}}
    starts |= {one.stream: known.get(one.stream, one.t0_us - one.offset_us) for one in found}
    for name, start_us in sorted(starts.items(), key=lambda pair: pair[::-1]):
        moments = tuple(moment for moment in kept if moment.stream == name)
        documents = evenly([document for document in found if document.stream == name], DOCUMENTS)
        yield Window(key=key, stream=name, start_us=start_us, moments=moments, documents=tuple(documents))


def stored(view: View) -> dict[tuple[str, SummaryKey], Document]:
    """Summaries that the memory holds, by stream and key."""
    return {(d.stream, key): d for d in view.documents(kinds=SUMMARY_KINDS) if (key := summary_key.read(d)) is not None}


def written(windows: Sequence[Window], view: View, models: Models | None, role: Role) -> tuple[list[str], int]:
    """(text of each window, how many the model was to write and did not). What no model wrote is put together, and says so.

    The model is asked for several at once. When a whole group of calls fails, the rest is not asked for: the server is gone.
    """
    if models is None or not models.there:
        return [put_together(window, view) for window in windows], 0
    texts: list[str] = []
    for start in range(0, len(windows), models.parallel):
        group = windows[start : start + models.parallel]
        replies = models.complete_all([_prompt(window, view, models, role) for window in group])
        texts += ["" if isinstance(reply, ChatError) else reply.text.strip() for reply in replies]
        if all(isinstance(reply, ChatError) for reply in replies):
            break
    texts += [""] * (len(windows) - len(texts))
    failed = sum(not text for text in texts)
    return [text or put_together(window, view) for window, text in zip(windows, texts, strict=True)], failed


def put_together(window: Window, view: View) -> str:
    """A summary without a model: the event documents in order; without any, what was seen in the pictures."""
    lines = [PLAIN, f"{to_iso(window.key.t0_us)} to {to_iso(window.key.t1_us)}"]
    lines += [shortened(" ".join(document.text.split()), _QUOTED_CHARS) for document in window.documents]
    if not window.documents:
        notes = notes_of(evenly(window.moments, FRAMES), view)
        lines += [f"{note['time']}: {', '.join(note['seen'])} {' '.join(note.get('read', ()))}".strip() for note in notes]
    return "\n".join(lines)


def document_of(window: Window, text: str, view: View, known_us: int) -> NewDocument:
    """The document that keeps a summary."""
    key = window.key
    origins: list[Origin] = ["caption", *(document.origin for document in window.documents)]
    seen = view.observations([moment.id for moment in window.moments])
    if '"' in text or any(o.kind == "text" for observations in seen.values() for o in observations):
        origins.append("ocr")
    time_range = f"{to_iso(key.t0_us)} to {to_iso(key.t1_us)}"
    fields = {"focus": key.focus, "summary_structure": key.structure, "time_range": time_range}
    return NewDocument(
        kind="summary",
        text=summary_key.head(key, window.offset_us) + text,
        stream=window.stream,
        t0_us=key.t0_us,
        t1_us=key.t1_us,
        offset_us=window.offset_us,
        known_us=known_us,
        origin=least_trusted(*origins),
        moment_id=window.moments[-1].id if window.moments else None,
        passages=tuple(NewPassage(kind=p.kind, text=p.text, vectors={}) for p in passages(text, fields)),
    )


def _prompt(window: Window, view: View, models: Models, role: Role) -> Prompt:
    key = window.key
    moments, images = shown_of("summary_writer", evenly(window.moments, FRAMES), view, models)
    body = {
        "request": key.focus,
        "window": {"from": to_iso(key.t0_us), "to": to_iso(key.t1_us), "offset": offset_text(window.offset_us)},
        "granularity_seconds": key.granularity_s,
        "summary_structure": key.structure,
        "event_documents": [
            {"from": to_iso(d.t0_us), "to": to_iso(d.t1_us), "document": shortened(d.text, _DOCUMENT_CHARS)} for d in window.documents
        ],
        "pictures": notes_of(moments, view),
        "pictures_shown": len(images),
    }
    return request("summary_writer", role, body, images, image_ids=ids_of(moments, images))
