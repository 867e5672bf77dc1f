"""A small memory for checks, and the conformance check for retainers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from edgemem.extend.testing.fakes import T0_US, FakeJointEmbedder, SyntheticCamera
from edgemem.records import US, Observation
from edgemem.remember.entries import NewDocument, NewMoment, NewSegment
from edgemem.remember.store import Store

_STEPS = 1000
"""A retainer that is not done after this number of steps fails."""
_DAY_US = 86_400 * US


@contextmanager
def small_memory(seconds: float = 60.0) -> Iterator[Store]:
    """A memory of the synthetic camera: one moment per second, segments of ten moments, one document per segment."""
    from edgemem.see import pixels

    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "memory") as store:
        embedder = FakeJointEmbedder()
        store.ensure_space(embedder.space)
        ids: list[int] = []
        with store.transaction() as tx:
            for frame in SyntheticCamera(seconds).frames():
                height, width = frame.image.shape[:2]
                observations = (Observation(kind="label", name="coffee mug", score=0.8), Observation(kind="text", name="EXIT", score=0.9))
                ids.append(
                    tx.add_moment(
                        NewMoment(
                            stream=frame.stream, seq=frame.seq, t_us=frame.t_us, offset_us=frame.offset_us, width_px=width,
                            height_px=height, sharpness=50.0, jpeg=pixels.encode_jpeg(frame.image, 90),
                            vectors={embedder.space.name: embedder.glance([frame.image])[0]}, observations=observations,
                        )
                    )
                )  # fmt: skip
            for start in range(0, len(ids), 10):
                _segment(tx, ids[start : start + 10], start)
        yield store


def _segment(tx: Any, ids: list[int], start: int) -> None:
    t0_us, t1_us = T0_US + start * US, T0_US + (start + len(ids) - 1) * US
    segment_id = tx.add_segment(
        NewSegment(
            stream="synthetic", segmenter="check", t0_us=t0_us, t1_us=t1_us, offset_us=start * US, moment_ids=tuple(ids),
            representative_id=ids[0],
        )
    )  # fmt: skip
    tx.add_document(
        NewDocument(
            kind="event", text=f"Scene: coffee mug, stretch {start}.", stream="synthetic", t0_us=t0_us, t1_us=t1_us, offset_us=start * US,
            known_us=t1_us, origin="caption", segment_id=segment_id,
        )
    )  # fmt: skip


def check_retainer(make: Callable[[], Any], who: str) -> None:
    """A retainer ends, and keeps pinned moments, representatives of segments, and the first and last moment of a stream."""
    with small_memory() as store:
        with store.view() as view:
            moments = view.moments()
            kept = {segment.representative_id or 0 for segment in view.segments()} | {moments[0].id, moments[-1].id, moments[5].id}
        with store.transaction() as tx:
            tx.pin(moments[5].id)
        later_us = moments[-1].t_us + 400 * _DAY_US
        retainer = make()
        assert any(retainer.apply(store, later_us).done for _ in range(_STEPS)), f"{who}: is not done after {_STEPS} steps"
        with store.view() as view:
            left = {moment.id for moment in view.moments()}
        assert kept <= left, (
            f"{who}: deleted a moment that is pinned, represents a segment, or is the first or last of its stream: {sorted(kept - left)}"
        )
        retainer.apply(store, later_us)
        with store.view() as view:
            assert {moment.id for moment in view.moments()} == left, f"{who}: is done, but still deletes moments"
