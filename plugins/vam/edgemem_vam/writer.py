"""The event document (VAM section 3.3, B.7.3): written by a language model where one may, else put together from what was recognised."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from edgemem.clock import offset_text, to_iso
from edgemem.errors import ChatError, MemoryDirError
from edgemem.records import Moment, Observation, Origin, least_trusted
from edgemem.remember.entries import NewDocument, NewPassage
from edgemem.see.operations import Closing
from edgemem.see.write import EventDocument, EventDocumentSettings
from edgemem_vam.look import evenly
from edgemem_vam.payload import passages
from edgemem_vam.roles import EVENT_WRITER, Role, request, say

if TYPE_CHECKING:
    from edgemem.answer.models import Models

_log = logging.getLogger("edgemem.vam")
FRAMES = 8
"""Pictures of one event that the model sees (VAM B.5)."""
_COMMITTED_WITHIN_S = 3.0
"""The last pictures of an event are committed together with it, a moment after the writer is asked."""
_HEARD = 12
"""Utterances that a document quotes."""


class VamEventSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How event documents come about."""

    describe: bool = False
    """Show up to 8 pictures of each event to the language model that is configured. Off: nothing leaves while the device looks."""
    writer: Role = EVENT_WRITER
    without: EventDocumentSettings = EventDocumentSettings()
    """The document where no model writes."""


class VamEvent:
    """One document of kind "event" per segment: `[event] id=... | frames=... | time`, then its text, with passages for search by meaning.

    It stands for its last moment. Without a model, or where the model fails, the text is what was recognised, read and heard; an event of
    which nothing is known has only its time.
    """

    name = "vam_event"

    def __init__(self, settings: VamEventSettings | None = None, models: Models | None = None) -> None:
        self._settings = settings or VamEventSettings()
        self._models = models if self._settings.describe and models is not None and models.there else None
        self._plain = EventDocument(self._settings.without)

    @property
    def slow(self) -> bool:
        """It takes its time when it asks a model."""
        return self._models is not None

    def write(self, closing: Closing) -> list[NewDocument]:
        """Never raises for a model that fails: that document is put together instead."""
        segment = closing.segment
        described = self._described(closing)
        text, origin = described or self._put_together(closing)
        document = NewDocument(
            kind="event",
            text=f"{_head(closing)}\n{text}".strip(),
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
        return [msgspec.structs.replace(document, passages=tuple(NewPassage(kind=p.kind, text=p.text, vectors={}) for p in pieces))]

    def _put_together(self, closing: Closing) -> tuple[str, Origin]:
        plain = self._plain.write(closing)
        heard = [f'Heard: "{s.document.text.strip()}"' for s in closing.utterances[:_HEARD]]
        text = "\n".join([*(document.text for document in plain), *heard])
        return text, least_trusted("caption", *(d.origin for d in plain), *(s.document.origin for s in closing.utterances))

    def _described(self, closing: Closing) -> tuple[str, Origin] | None:
        """What the model wrote, None where there is none or it failed. Its words are trusted as little as what it may have read."""
        if self._models is None or not closing.moments:
            return None
        moments = evenly(closing.moments, FRAMES)
        images = _pictures(closing, moments) if self._models.sees("event_writer") else ()
        segment = closing.segment
        body = {
            "request": "Write the document of this event.",
            "relative_time": {"from": offset_text(segment.offset_us), "seconds": (segment.t1_us - segment.t0_us) / 1e6},
            "absolute_time": {"from": to_iso(segment.t0_us), "to": to_iso(segment.t1_us)},
            "pictures": [_note(number, m, closing.observations.get(m.id, ())) for number, m in enumerate(moments, 1)],
            "pictures_shown": len(images),
            "heard": [s.document.text for s in closing.utterances[:_HEARD]],
        }
        try:
            text = say(self._models, request("event_writer", self._settings.writer, body, images))
        except ChatError as error:
            _log.warning("event document without the language model: %s", error)
            return None
        return (text, "ocr" if images or '"' in text else "caption") if text else None


def _head(closing: Closing) -> str:
    segment = closing.segment
    end_us = segment.offset_us + segment.t1_us - segment.t0_us
    frames = ",".join(f"m{moment.id}" for moment in evenly(closing.moments, FRAMES))
    return f"[event] id=s{segment.id} | frames={frames} | {offset_text(segment.offset_us)} to {offset_text(end_us)}"


def _note(number: int, moment: Moment, observations: Sequence[Observation]) -> dict[str, Any]:
    things = sorted((o for o in observations if o.kind in {"label", "object"}), key=lambda o: -o.score)
    read = [o.name.strip() for o in observations if o.kind == "text" and o.name.strip()]
    seen = list(dict.fromkeys(f"{o.colour} {o.name}".strip() for o in things))[:8]
    return {"picture": number, "time": to_iso(moment.t_us), "seen": seen, "read": read[:12]}


def _pictures(closing: Closing, moments: Sequence[Moment]) -> tuple[bytes, ...]:
    """The pictures of the event; () when they cannot be read, then the notes must do."""
    if closing.open_view is None:
        return ()
    until = time.monotonic() + _COMMITTED_WITHIN_S
    while True:
        try:
            with closing.open_view() as view:
                return tuple(view.picture(moment.id) for moment in moments)
        except MemoryDirError:
            if time.monotonic() > until:
                return ()
            time.sleep(0.2)
