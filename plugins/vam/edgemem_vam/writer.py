"""The event document (VAM section 3.3, B.7.3): written by a language model where one may, else put together from what was recognised."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from edgemem.clock import offset_text, to_iso
from edgemem.errors import ChatError, MemoryDirError
from edgemem.records import Document, Moment, Observation, Origin, Segment, least_trusted
from edgemem.remember.entries import NewDocument, NewPassage
from edgemem.see.operations import BaseWriter, BoardIdle, Occasion, Operation, Postpone, ReplaceDocument, SegmentClosed, Trigger
from edgemem.see.write import EventDocument, EventDocumentSettings
from edgemem_vam.look import evenly
from edgemem_vam.payload import PLAIN, passages
from edgemem_vam.roles import EVENT_WRITER, Role, request

if TYPE_CHECKING:
    from edgemem.llm.models import Models
    from edgemem.remember.view import View

_log = logging.getLogger("edgemem.vam")
FRAMES = 8
"""Pictures of one event that the model sees (VAM B.5)."""
_COMMITTED_WITHIN_S = 3.0
"""The last pictures of an event are committed together with it, a moment after the writer is asked."""
_RETRY_S = 60.0
"""After a model failed, a document is written anew not before so many seconds."""
_HEARD = 12
"""Utterances that a document quotes."""


class VamEventSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How event documents come about."""

    describe: bool = False
    """Show up to 8 pictures of each event to the language model that is configured. Off: nothing leaves while the device looks."""
    writer: Role = EVENT_WRITER
    without: EventDocumentSettings = EventDocumentSettings()
    """The document where no model writes."""


class VamEvent(BaseWriter):
    """One document of kind "event" per segment: `[event] id=... | frames=... | time`, then its text, with passages for search by meaning.

    It stands for its last moment. Without a model the text is what was recognised, read and heard; an event of which nothing is known has
    only its time. So it is where the model fails or is behind a live stream: such a document says so, and is written anew when the board is
    idle.
    """

    name = "vam_event"

    def __init__(self, settings: VamEventSettings | None = None, models: Models | None = None) -> None:
        self._settings = settings or VamEventSettings()
        self._models = models if self._settings.describe and models is not None and models.there else None
        self._plain = EventDocument(self._settings.without)
        self.slow = self._models is not None
        self.triggers: frozenset[Trigger] = frozenset({"segment_closed", "idle"} if self.slow else {"segment_closed"})

    def write(self, occasion: Occasion) -> list[Operation]:
        """For a segment never raises for a model that fails. Raises ChatError when it fails for a document that is to be written anew."""
        if isinstance(occasion, BoardIdle):
            return self._written_anew(occasion)
        if not isinstance(occasion, SegmentClosed):
            return []
        if self._models is None or not occasion.moments:
            return [self._document(occasion, *self._put_together(occasion))]
        try:
            return [self._document(occasion, *self._described(occasion, self._models))]
        except ChatError as error:
            _log.warning("event document without the language model: %s", error)
            return self._for_later(occasion, _RETRY_S)

    def write_at_once(self, occasion: Occasion) -> list[Operation]:
        return self._for_later(occasion, 0.0) if isinstance(occasion, SegmentClosed) else []

    def _for_later(self, closed: SegmentClosed, after_s: float) -> list[Operation]:
        """The document without the model, marked as such, and the wish to write it anew."""
        text, origin = self._put_together(closed)
        payload = msgspec.msgpack.encode(closed.segment.id)
        return [self._document(closed, text, origin, marked=True), Postpone(payload=payload, after_s=after_s)]

    def _written_anew(self, idle: BoardIdle) -> list[Operation]:
        """The document of a segment in the words of the model, if it still is the one that was put together. Raises ChatError."""
        if self._models is None or idle.open_view is None:
            return []
        closed = idle.segment_closed(msgspec.msgpack.decode(idle.payload, type=int))
        if closed is None:
            return []
        with idle.open_view() as view:
            old = _plain_document(closed.segment, view)
        if old is None:
            return []
        new = self._document(closed, *self._described(closed, self._models))
        return [ReplaceDocument(document_id=old.id, document=msgspec.structs.replace(new, known_us=idle.now_us))]

    def _document(self, closed: SegmentClosed, text: str, origin: Origin, *, marked: bool = False) -> NewDocument:
        segment = closed.segment
        head = f"{_head(closed)}\n{PLAIN}" if marked else _head(closed)
        document = NewDocument(
            kind="event",
            text=f"{head}\n{text}".strip(),
            stream=segment.stream,
            t0_us=segment.t0_us,
            t1_us=segment.t1_us,
            offset_us=segment.offset_us,
            known_us=segment.t1_us,
            origin=origin,
            segment_id=segment.id,
            moment_id=segment.representative_id,
        )
        time_range = f"{to_iso(segment.t0_us)} to {to_iso(segment.t1_us)}"
        pieces = passages(text, {"time_range": time_range})
        return msgspec.structs.replace(document, passages=tuple(NewPassage(kind=p.kind, text=p.text, vectors={}) for p in pieces))

    def _put_together(self, closed: SegmentClosed) -> tuple[str, Origin]:
        plain = self._plain.describe(closed)
        heard = [f'Heard: "{s.document.text.strip()}"' for s in closed.utterances[:_HEARD]]
        text = "\n".join([*(document.text for document in plain), *heard])
        return text, least_trusted("caption", *(d.origin for d in plain), *(s.document.origin for s in closed.utterances))

    def _described(self, closed: SegmentClosed, models: Models) -> tuple[str, Origin]:
        """What the model wrote. Its words are trusted as little as what it may have read. Raises ChatError."""
        moments = evenly(closed.moments, FRAMES)
        images = _pictures(closed, moments) if models.sees("event_writer") else ()
        segment = closed.segment
        body = {
            "request": "Write the document of this event.",
            "relative_time": {"from": offset_text(segment.offset_us), "seconds": (segment.t1_us - segment.t0_us) / 1e6},
            "absolute_time": {"from": to_iso(segment.t0_us), "to": to_iso(segment.t1_us)},
            "pictures": [_note(number, m, closed.observations.get(m.id, ())) for number, m in enumerate(moments, 1)],
            "pictures_shown": len(images),
            "heard": [s.document.text for s in closed.utterances[:_HEARD]],
        }
        ids = tuple(f"m{moment.id}" for moment in moments[: len(images)])
        text = models.complete(request("event_writer", self._settings.writer, body, images, image_ids=ids)).text.strip()
        if not text:
            raise ChatError("the language model wrote nothing")
        return text, "ocr" if images or '"' in text else "caption"


def _plain_document(segment: Segment, view: View) -> Document | None:
    """The document of a segment, if no model wrote it."""
    found = view.documents(kinds=("event",), stream=segment.stream, from_us=segment.t0_us, to_us=segment.t1_us)
    own = (document for document in found if document.segment_id == segment.id)
    return next((document for document in own if PLAIN in document.text.splitlines()[1:2]), None)


def _head(closed: SegmentClosed) -> str:
    segment = closed.segment
    end_us = segment.offset_us + segment.t1_us - segment.t0_us
    frames = ",".join(f"m{moment.id}" for moment in evenly(closed.moments, FRAMES))
    return f"[event] id=s{segment.id} | frames={frames} | {offset_text(segment.offset_us)} to {offset_text(end_us)}"


def _note(number: int, moment: Moment, observations: Sequence[Observation]) -> dict[str, Any]:
    things = sorted((o for o in observations if o.kind in {"label", "object"}), key=lambda o: -o.score)
    read = [o.name.strip() for o in observations if o.kind == "text" and o.name.strip()]
    seen = list(dict.fromkeys(f"{o.colour} {o.name}".strip() for o in things))[:8]
    return {"picture": number, "time": to_iso(moment.t_us), "seen": seen, "read": read[:12]}


def _pictures(closed: SegmentClosed, moments: Sequence[Moment]) -> tuple[bytes, ...]:
    """The pictures of the event; () when they cannot be read, then the notes must do."""
    if closed.open_view is None:
        return ()
    until = time.monotonic() + _COMMITTED_WITHIN_S
    while True:
        try:
            with closed.open_view() as view:
                return tuple(view.picture(moment.id) for moment in moments)
        except MemoryDirError:
            if time.monotonic() > until:
                return ()
            time.sleep(0.2)
