"""What is in the two memories now: the frames of short-term memory, the events of long-term memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from edgemem.extend import Evidence, Moment, Record, Segment, describe_moment
from edgemem_eventmem.segmenter import Events
from edgemem_eventmem.short_term import event_of
from edgemem_eventmem.writer import CHANGE, TUPLE

if TYPE_CHECKING:
    from edgemem.extend import View

_READ = 4
"""So many times K moments are read to find the K of short-term memory: others may have been kept beside them by another recipe."""


class ShortTermFrame(Record, frozen=True):
    """One frame of short-term memory. `index` is 0 for the oldest."""

    index: int
    moment: Moment
    text: str
    """What was recognised in it, in one line."""

    @property
    def evidence(self) -> Evidence:
        """The frame as evidence."""
        m = self.moment
        return Evidence(
            id=f"m{m.id}", channel="frame", stream=m.stream, t0_us=m.t_us, t1_us=m.t_us, offset_us=m.offset_us, score=1.0, text=self.text
        )


class LongTermEvent(Record, frozen=True):
    """The tuple of one event (EventMemAgent section 3.2.2)."""

    id: int
    """Of the segment."""
    stream: str
    t0_us: int
    t1_us: int
    offset_us: int
    """Where in the stream it begins."""
    caption: str
    first_frame: int | None
    """The moment; None where it was forgotten."""
    change_from_previous: str = ""
    change_to_next: str = ""
    score: float = 0.0
    """Cosine of caption and query; 0 where it was found by time or by words."""
    document_id: int | None = None

    @property
    def evidence(self) -> Evidence:
        """The caption as evidence, else the first frame."""
        name = f"d{self.document_id}" if self.document_id is not None else f"m{self.first_frame}"
        return Evidence(
            id=name, channel="event", stream=self.stream, t0_us=self.t0_us, t1_us=self.t1_us, offset_us=self.offset_us,
            score=self.score, text=self.caption,
        )  # fmt: skip


def short_term(view: View, frames: int) -> list[ShortTermFrame]:
    """The frames that short-term memory held at the view's time, oldest first; of the stream that was seen last.

    Of an event that left only its first frame is stored, so events that have another frame are here, and the one that goes on. The first
    frame of an event that ended is the representative of its segment. In a view of an earlier time the frames that left since are missing.
    """
    newest = view.moments(newest_first=True, limit=1)
    if not newest:
        return []
    kept = view.moments(stream=newest[0].stream, newest_first=True, limit=_READ * frames)
    others = [moment for moment in kept if event_of(moment.role) is not None]
    events = {moment.segment_id for moment in others if moment.segment_id is not None}
    firsts = [moment for moment in kept if moment.role == "representative" and moment.segment_id in events]
    held = sorted([*others, *firsts] or kept[:1], key=lambda moment: (moment.t_us, moment.id))[-frames:]
    seen = view.observations([moment.id for moment in held])
    return [ShortTermFrame(index=i, moment=m, text=describe_moment(seen.get(m.id, ()))) for i, m in enumerate(held)]


def long_term(view: View, segments: Sequence[Segment], scores: Sequence[float] = ()) -> list[LongTermEvent]:
    """The tuples of these segments, in their order. Segments without a caption have an empty one."""
    found = []
    for number, segment in enumerate(segments):
        near = view.documents(kinds=(TUPLE, CHANGE), stream=segment.stream, from_us=segment.t0_us, to_us=segment.t1_us + 1)
        own = {document.kind: document for document in near if document.segment_id == segment.id}
        after = next((d.text for d in near if d.kind == CHANGE and d.segment_id != segment.id and d.t0_us > segment.t0_us), "")
        caption = own.get(TUPLE)
        found.append(
            LongTermEvent(
                id=segment.id, stream=segment.stream, t0_us=segment.t0_us, t1_us=segment.t1_us, offset_us=segment.offset_us,
                caption=caption.text if caption else "", first_frame=segment.representative_id,
                change_from_previous=own[CHANGE].text if CHANGE in own else "", change_to_next=after,
                score=scores[number] if scores else 0.0, document_id=caption.id if caption else None,
            )
        )  # fmt: skip
    return found


def event(view: View, event_id: int) -> LongTermEvent | None:
    """One event by its number; None for a number that is none."""
    segment = view.segment(event_id)
    return long_term(view, [segment])[0] if segment is not None and segment.segmenter == Events.name else None
