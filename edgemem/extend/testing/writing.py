"""Conformance check for writers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, get_args

from edgemem.extend.testing.fakes import T0_US
from edgemem.records import US, Moment, Observation, Segment
from edgemem.remember.entries import NewDocument
from edgemem.see.operations import (
    BoardIdle,
    MomentEvicted,
    Occasion,
    Operation,
    Postpone,
    ReplaceDocument,
    SegmentClosed,
    SegmentsClosed,
    StreamEnded,
    Trigger,
)


def check_writer(make: Callable[[], Any], who: str) -> None:
    """A writer names its triggers, writes nothing later than the occasion, sets correct origins, handles an occasion without data,
    continues from its own state, and understands its postponed payloads.
    """
    writer = make()
    known = set(get_args(Trigger))
    assert writer.triggers and writer.triggers <= known, f"{who}: triggers must be some of {', '.join(sorted(known))}"  # noqa: PT018
    assert "every_n" not in writer.triggers or writer.every_n > 0, f'{who}: the trigger "every_n" needs every_n above 0'
    assert isinstance(writer.slow, bool), f"{who}: slow must be True or False"
    postponed: list[bytes] = []
    for trigger, occasion in _occasions():
        if trigger in writer.triggers:
            for operation in writer.write(occasion):
                _check_operation(operation, occasion, who)
                postponed += [operation.payload] if isinstance(operation, Postpone) else []
    make().restore(writer.state())
    _check_postponed(make, postponed, who)


def _check_postponed(make: Callable[[], Any], payloads: list[bytes], who: str) -> None:
    """Another object of the writer, as after a restart, understands each payload."""
    for payload in payloads:
        writer = make()
        assert "idle" in writer.triggers, f'{who}: it postpones work and therefore needs the trigger "idle"'
        occasion = BoardIdle(payload=payload, stream="synthetic", now_us=T0_US + 60 * US, shown=frozenset({"ocr"}))
        for operation in writer.write(occasion):
            _check_operation(operation, occasion, who)


def _check_operation(operation: Operation, occasion: Occasion, who: str) -> None:
    document = operation.document if isinstance(operation, ReplaceDocument) else operation
    if not isinstance(document, NewDocument):
        return
    assert document.t0_us <= document.t1_us <= occasion.known_us, f"{who}: writes about a time after its occasion"
    assert not isinstance(occasion, SegmentClosed) or document.t0_us >= occasion.segment.t0_us, f"{who}: writes about a time before"
    assert document.known_us >= document.t0_us, f"{who}: a document cannot be known before what it is about"
    assert document.text.strip(), f"{who}: writes an empty document"
    assert "EXIT" not in document.text or document.origin == "ocr", f"{who}: text that was read needs the origin ocr"


def _occasions() -> Iterator[tuple[str, Occasion]]:
    moments = [
        Moment(
            id=i + 1, stream="synthetic", seq=i, t_us=T0_US + i * US, offset_us=i * US, width_px=320, height_px=240,
            sharpness=50.0, tier="recent", segment_id=1,
        )
        for i in range(3)
    ]  # fmt: skip
    segment = Segment(id=1, stream="synthetic", segmenter="test", t0_us=T0_US, t1_us=T0_US + 2 * US, offset_us=0, representative_id=2)
    seen = {
        moments[0].id: (Observation(kind="object", name="cup", score=0.8, colour="red"), Observation(kind="text", name="EXIT", score=0.9)),
        moments[1].id: (Observation(kind="label", name="coffee mug", score=0.7),),
    }
    yield "segment_closed", SegmentClosed(segment=segment, moments=tuple(moments), observations=seen)
    yield "segment_closed", SegmentClosed(segment=segment, moments=tuple(moments))
    yield "moment_evicted", MomentEvicted(moment=moments[0], observations=seen[moments[0].id])
    yield "moment_evicted", MomentEvicted(moment=moments[2])
    yield "every_n", SegmentsClosed(segments=(segment,))
    yield "ended", StreamEnded(stream="synthetic", t_us=segment.t1_us)
