"""One stream of the agent: a pause that comes too late loses nothing."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from daemons import wait_until

from edgemem.device.stream_worker import StreamWorker
from edgemem.errors import EdgememError
from edgemem.extend.feed import Feed
from edgemem.extend.testing import FakeJointEmbedder, SyntheticCamera
from edgemem.infer.roles import Matrix
from edgemem.remember.store import Store
from edgemem.see.perceive import JointPerceiver
from edgemem.see.pipeline import Pipeline, PipelineParts
from edgemem.see.select import KeepAll
from edgemem.see.sources.base import Source

SECONDS = 8


class Slow(FakeJointEmbedder):
    """Takes as long for the first picture as the test wants."""

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()

    def glance(self, images: object) -> Matrix:
        self.begun.set()
        self.go_on.wait(60.0)
        return super().glance(images)


class Recording:
    """Sets up a recording whose first frame takes long; `runs` counts its attempts."""

    rate_fps = 1.0

    def __init__(self, slow: Slow) -> None:
        self.slow, self.runs = slow, 0

    def source(self) -> Source:
        return SyntheticCamera(seconds=SECONDS)

    def pipeline(self, source: Source, store: Store) -> tuple[Pipeline, list[str]]:
        self.runs += 1
        parts = PipelineParts(gates=[], selector=KeepAll(), chains=[], perceivers=[JointPerceiver(self.slow)])
        return Pipeline(source, parts, store), []


def test_a_recording_that_did_not_pause_in_time_is_seen_to_its_end(tmp_path: Path) -> None:
    slow, said = Slow(), []
    setup = Recording(slow)
    with Store.open(tmp_path / "memory") as store:
        worker = StreamWorker("walk", setup, store, Feed(), lambda text, **_: said.append(text))
        worker.start()
        assert slow.begun.wait(60.0)
        with pytest.raises(EdgememError, match="did not pause within 0 s"), worker.suspended(0.01):
            pass
        slow.go_on.set()
        wait_until(lambda: not worker.is_alive())
        assert (worker.status.state, worker.status.frames, setup.runs) == ("seen", SECONDS, 2)
    assert not any("interrupted" in line for line in said)
