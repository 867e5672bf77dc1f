"""Long-term memory: a caption of every event, and what changes from one event to the next (EventMemAgent section 3.2.2, appendix C.2).

The tuple of the paper is stored as it is found again: the first frame is the moment that represents the segment, the time span is that of
the segment, the caption is a document of kind "tuple" with its embedding, and a change is a document of kind "change" that belongs to the
later event. It is `change_from_previous` of that event and `change_to_next` of the one before, so neither has to be written twice.

"Indefinitely" in the paper is here: as long as the byte budget lets it. First frames shrink with age like all pictures; what is worth least
goes first; captions are small and go last.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from edgemem.extend import (
    BaseWriter,
    ChatError,
    ChatMessage,
    EdgememError,
    MomentEvicted,
    NewDocument,
    NewPassage,
    Occasion,
    Operation,
    Origin,
    Prompt,
    SegmentClosed,
    least_trusted,
)
from edgemem_eventmem.facts import Facts, Frame, caption, change, facts_of, seen_of
from edgemem_eventmem.prompts import prompt
from edgemem_eventmem.short_term import event_of

if TYPE_CHECKING:
    from edgemem.extend import Models

TUPLE, CHANGE = "tuple", "change"
"""Kinds of the documents."""
CAPTION_TASK, CHANGE_TASK = "eventmem_caption", "eventmem_change"
FRAMES_KEPT = 96
"""Frames of one event whose observations wait for its end: three times K."""
_PICTURES = 8
"""Frames of one event that a model sees."""
_HEARD = 6
"""Utterances that a caption quotes."""
_COMMITTED_WITHIN_S = 3.0
"""The last frames of an event are committed together with it, a moment after the writer is asked."""
_log = logging.getLogger("edgemem.eventmem")


class TupleSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who writes captions and changes."""

    describe: bool = False
    """Show frames of each event to the language model that is configured. Off: nothing leaves while the device looks."""
    max_tokens: int = 220
    """Of a caption (one paragraph) or a change."""


class _Written(msgspec.Struct):
    """The event before, of one stream."""

    facts: Facts
    caption: str
    number: int | None


class _State(msgspec.Struct):
    """What survives a restart: by event, what was recognised in frames that left; and the event before."""

    left: dict[int, list[Frame]] = {}
    before: _Written | None = None


class EventTuple(BaseWriter):
    """A caption for each event that ends, and the change from the event before."""

    name = "event_tuple"
    triggers = frozenset({"segment_closed", "moment_evicted"})

    def __init__(self, settings: TupleSettings | None = None, models: Models | None = None) -> None:
        self._settings = settings or TupleSettings()
        self._models = models if self._settings.describe and models is not None and models.there else None
        self.slow = self._models is not None
        self._state = _State()
        self._pictures: dict[int, list[bytes]] = {}
        """By event: frames that left before a model saw them. They are not saved: after a restart the model sees fewer."""

    def write(self, occasion: Occasion) -> Iterable[Operation]:
        """Documents for a segment that closed; frames that leave are only noted. Never raises for a model that fails."""
        if isinstance(occasion, MomentEvicted):
            self._note(occasion)
        elif isinstance(occasion, SegmentClosed) and occasion.moments:
            return list(self._documents(occasion))
        return []

    def _note(self, gone: MomentEvicted) -> None:
        """An event's frame that leaves before its event ends was replaced in the sample: what it showed still happened in the event."""
        number = event_of(gone.moment.role)
        if number is None or (self._state.before is not None and number <= (self._state.before.number or 0)):
            return
        frames = self._state.left.setdefault(number, [])
        if len(frames) < FRAMES_KEPT:
            frames.append(seen_of(gone.observations))
        if self._models is not None and gone.picture:
            pictures = self._pictures.setdefault(number, [])
            pictures.append(gone.picture)
            del pictures[:-_PICTURES]

    def _documents(self, closed: SegmentClosed) -> Iterator[NewDocument]:
        number = event_of(closed.moments[0].role)
        frames = [*self._take(number), *(seen_of(closed.observations.get(moment.id, ())) for moment in closed.moments)]
        facts, heard = facts_of(frames), [spoken.document.text for spoken in closed.utterances[:_HEARD]]
        origin = least_trusted("caption", facts.origin, *(spoken.document.origin for spoken in closed.utterances))
        text, origin = self._described(closed, number, facts, heard) or (caption(facts, heard), origin)
        before, self._state.before = self._state.before, _Written(facts, text, number)
        self._pictures = {event: pictures for event, pictures in self._pictures.items() if number is None or event > number}
        if text:
            yield self._document(closed, TUPLE, text, origin)
        if before is not None and (changed := self._changed(before, facts, text)):
            yield self._document(closed, CHANGE, changed, least_trusted(origin, before.facts.origin))

    def _take(self, number: int | None) -> list[Frame]:
        """What was noted of this event; what was noted of earlier ones is of no use any more."""
        taken = self._state.left.pop(number, []) if number is not None else []
        self._state.left = {event: frames for event, frames in self._state.left.items() if number is None or event > number}
        return taken

    def _document(self, closed: SegmentClosed, kind: str, text: str, origin: Origin) -> NewDocument:
        segment = closed.segment
        return NewDocument(
            kind=kind, text=text, stream=segment.stream, t0_us=segment.t0_us, t1_us=segment.t1_us, offset_us=segment.offset_us,
            known_us=segment.t1_us, origin=origin, segment_id=segment.id, moment_id=segment.representative_id,
            passages=(NewPassage(kind="document", text=text, vectors={}),) if kind == TUPLE else (),
        )  # fmt: skip

    # With a language model

    def _described(self, closed: SegmentClosed, number: int | None, facts: Facts, heard: Sequence[str]) -> tuple[str, Origin] | None:
        """What the model wrote; None where there is none or it failed. Its words are trusted as little as what it may have read."""
        if self._models is None:
            return None
        images = self._images(closed, number) if self._models.sees(CAPTION_TASK) else ()
        segment = closed.segment
        body = {
            "time_range_s": [segment.offset_us / 1e6, (segment.offset_us + segment.t1_us - segment.t0_us) / 1e6],
            "recognised": caption(facts),
            "heard": heard,
            "pictures_shown": len(images),
        }
        text = self._say(CAPTION_TASK, body, images)
        return (text, "ocr") if text else None

    def _changed(self, before: _Written, facts: Facts, text: str) -> str:
        written = self._say(CHANGE_TASK, {"before": before.caption, "after": text}) if self._models is not None and before.caption else ""
        return written or change(before.facts, facts)

    def _say(self, task: str, body: dict[str, Any], images: Sequence[bytes] = ()) -> str:
        """One paragraph on one line, or "" where the model fails."""
        asked = ChatMessage(role="user", data=body, images=tuple(images))
        system = ChatMessage(role="system", text=prompt(task))
        try:
            assert self._models is not None
            reply = self._models.complete(Prompt(task=task, messages=(system, asked), max_tokens=self._settings.max_tokens))
        except ChatError as error:
            _log.warning("%s by template: %s", task, error)
            return ""
        return " ".join(reply.text.split())

    def _images(self, closed: SegmentClosed, number: int | None) -> tuple[bytes, ...]:
        """Frames of the event, evenly spread: those that left, and those that are stored."""
        kept = [*self._pictures.get(number or 0, ()), *_stored(closed)]
        if len(kept) <= _PICTURES:
            return tuple(kept)
        return tuple(kept[round(i * (len(kept) - 1) / (_PICTURES - 1))] for i in range(_PICTURES))

    def state(self) -> bytes:
        return msgspec.msgpack.encode(self._state)

    def restore(self, state: bytes) -> None:
        self._state = msgspec.msgpack.decode(state, type=_State)


def _stored(closed: SegmentClosed) -> list[bytes]:
    """The pictures of the event's moments that are still there, in the order of time."""
    if closed.open_view is None:
        return []
    pictures: dict[int, bytes] = {}
    until = time.monotonic() + _COMMITTED_WITHIN_S
    while closed.moments and not pictures and time.monotonic() < until:
        with closed.open_view() as view:
            for moment in closed.moments:
                with suppress(EdgememError):
                    pictures[moment.id] = view.picture(moment.id)
        if not pictures:
            time.sleep(0.2)
    return [pictures[moment.id] for moment in closed.moments if moment.id in pictures]
