"""The writer `caption_summaries`: the captions of every five minutes as one summary (EGAgent, appendix E), where a recipe asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from edgemem.errors import UsageError
from edgemem.records import Document, least_trusted
from edgemem.remember.entries import NewDocument
from edgemem.see.operations import BaseWriter, BoardIdle, Occasion, Operation, Postpone, SegmentsClosed, StreamEnded, Trigger
from edgemem_egagent.ask import Completes, ask_text
from edgemem_egagent.writers import FUSED

SUMMARY = "caption_summary"
"""Kind of the documents that these summaries are."""
_AFTER_S = 5.0
"""Captions by a model are stored a moment after their window closed."""
_REPLY_TOKENS = 1600
"""1,000 words; the released code asks for up to 2,000 of captions that are longer than these."""


class SummarySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which captions become one summary."""

    windows: Annotated[int, msgspec.Meta(ge=2, le=120)] = 10
    """Windows of one summary: ten of 30 s are five minutes."""


class _Stretch(msgspec.Struct, frozen=True, array_like=True):
    """What is summarised when the board is idle."""

    t0_us: int
    t1_us: int
    offset_us: int


class CaptionSummaries(BaseWriter):
    """Asks to be called again when the board is idle, and then writes one document over the captions of the stretch."""

    name = "caption_summaries"
    triggers: frozenset[Trigger] = frozenset({"every_n", "ended", "idle"})
    slow = True

    def __init__(self, settings: SummarySettings | None = None, models: Completes | None = None) -> None:
        """Raises UsageError without a language model: there is no summary by rules."""
        if models is None or not models.there:
            raise UsageError("caption_summaries needs a language model; configure one or leave the writer out of the recipe")
        self._models = models
        self.every_n = (settings or SummarySettings()).windows

    def write(self, occasion: Occasion) -> Iterator[Operation]:
        """A summary of what an earlier call put off; nothing where no caption was written."""
        if isinstance(occasion, SegmentsClosed | StreamEnded) and occasion.segments:
            first, last = occasion.segments[0], occasion.segments[-1]
            stretch = _Stretch(t0_us=first.t0_us, t1_us=max(one.t1_us for one in (first, last)), offset_us=first.offset_us)
            yield Postpone(payload=msgspec.msgpack.encode(stretch), after_s=_AFTER_S)
        elif isinstance(occasion, BoardIdle):
            yield from self._summary(occasion, msgspec.msgpack.decode(occasion.payload, type=_Stretch))

    def _summary(self, idle: BoardIdle, stretch: _Stretch) -> Iterator[NewDocument]:
        captions = _captions(idle, stretch)
        if not captions:
            return
        records = [document.text for document in captions]
        text = ask_text(self._models, "summarise", {"records": records}, max_tokens=_REPLY_TOKENS)
        yield NewDocument(
            kind=SUMMARY, text=text, stream=idle.stream, t0_us=stretch.t0_us, t1_us=stretch.t1_us, offset_us=stretch.offset_us,
            known_us=max([stretch.t1_us, *(document.known_us for document in captions)]),
            origin=least_trusted(*(document.origin for document in captions)),
        )  # fmt: skip


def _captions(idle: BoardIdle, stretch: _Stretch) -> list[Document]:
    if idle.open_view is None:
        return []
    with idle.open_view() as view:
        return view.documents(kinds=(FUSED,), stream=idle.stream, from_us=stretch.t0_us, to_us=stretch.t1_us)
