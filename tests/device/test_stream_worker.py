"""One stream of the agent: a pause that comes too late loses nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from daemons import wait_until

from edgemem.device.stream_worker import StreamWorker
from edgemem.errors import EdgememError
from edgemem.extend.feed import Feed
from edgemem.extend.testing import FakeJointEmbedder, SyntheticCamera
from edgemem.hear.listen import Heard
from edgemem.hear.utterances import by_recogniser
from edgemem.infer.roles import Matrix
from edgemem.records import BEFORE_START_US, SOUND_RATE_HZ, US, Sound
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

    def __init__(self, slow: FakeJointEmbedder) -> None:
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


class Broken(FakeJointEmbedder):
    """Fails at every picture; the second takes as long as the test wants."""

    def __init__(self) -> None:
        self.pictures, self.go_on = 0, threading.Event()

    def glance(self, images: object) -> Matrix:
        del images
        self.pictures += 1
        if self.pictures > 1:
            self.go_on.wait(60.0)
        raise RuntimeError("out of memory")


def test_what_fails_is_said_while_it_sees(tmp_path: Path) -> None:
    """The run of a camera lasts weeks."""
    said, broken = list[tuple[str, str]](), Broken()
    with Store.open(tmp_path / "memory") as store:
        worker = StreamWorker("door", Recording(broken), store, Feed(), lambda text, level="info", **_: said.append((level, text)))
        worker.start()
        wait_until(lambda: worker.report_changes() or said)
        worker.report_changes()
        assert said == [("warning", "embedding: RuntimeError: out of memory")], "once"
        broken.go_on.set()
        wait_until(lambda: not worker.is_alive())


class Talking(SyntheticCamera):
    """A recording of two pictures and ten seconds of sound."""

    has_sound = True

    def sounds(self, after_us: int = 0) -> Iterator[Sound]:
        for number in range(20):
            if number * US // 2 > after_us:
                samples = np.zeros(SOUND_RATE_HZ // 2, np.float32)
                yield Sound(stream=self.name, t_us=self.t0_us + number * US // 2, offset_us=number * US // 2, samples=samples)


class SlowEar:
    """Waits for the test at the fifth sound."""

    name = "slow ear"

    def __init__(self) -> None:
        self.until_us, self.notes, self.heard = BEFORE_START_US, dict[str, int](), 0
        self.begun, self.go_on = threading.Event(), threading.Event()

    def hear(self, sound: Sound) -> list[Heard]:
        self.heard += 1
        if self.heard == 5:
            self.begun.set()
            self.go_on.wait(60.0)
        self.until_us = sound.end_us
        return []

    def flush(self) -> list[Heard]:
        return []

    def state(self) -> bytes:
        return b""

    def restore(self, state: bytes) -> None:
        pass


def test_while_the_rest_of_the_sound_is_heard_it_does_not_hang(tmp_path: Path) -> None:
    ear = SlowEar()

    class Setup:
        rate_fps = 1.0

        def source(self) -> Source:
            return Talking(2.0)

        def pipeline(self, source: Source, store: Store) -> tuple[Pipeline, list[str]]:
            parts = PipelineParts(gates=[], selector=KeepAll(), chains=[], perceivers=[], hearing=by_recogniser(ear, None))
            return Pipeline(source, parts, store), []

    with Store.open(tmp_path / "memory") as store:
        worker = StreamWorker("talk", Setup(), store, Feed(), lambda *_, **__: None)
        worker.start()
        assert ear.begun.wait(60.0)
        wait_until(lambda: worker.status.frames == 2 and worker.responsive(0.0))
        assert worker.status.state == "seeing"
        ear.go_on.set()
        wait_until(lambda: not worker.is_alive())
        assert ear.heard == 20
