"""Kept pictures whose vectors a server makes: seeing never waits for them, and they come in batches afterwards."""

from __future__ import annotations

import time

import numpy as np
import pytest

from edgemem.errors import EngineError
from edgemem.extend.testing import FakeJointEmbedder, SyntheticCamera
from edgemem.infer.roles import Space
from edgemem.remember.store import Store
from edgemem.remember.view import View
from edgemem.see.chains import Chain
from edgemem.see.parts import PipelineParts
from edgemem.see.perceive import HeldSpace, JointPerceiver
from edgemem.see.pipeline import Pipeline
from edgemem.see.segment import FixedWindow
from edgemem.see.select import KeepAll
from edgemem.see.waiting import BATCH, embed_waiting, waits

HERE = FakeJointEmbedder()
SPACE = Space(name="far-away", dim=3)


class Hosted(FakeJointEmbedder):
    """A joint embedder whose own vectors, the mean colours, are made elsewhere. It fails when `left` batches are done."""

    space = SPACE

    def __init__(self, left: int = 99) -> None:
        self.left = left
        self.batches: list[int] = []

    @property
    def local(self):
        return HERE

    def glance(self, images):
        return HERE.glance(images)

    def look(self, image):
        return HERE.look(image)

    def embed_images(self, images):
        if not self.left:
            raise EngineError("the server is away")
        self.left -= 1
        self.batches.append(len(images))
        means = np.stack([image.mean(axis=(0, 1)) for image in images]).astype(np.float32)
        return means / np.linalg.norm(means, axis=1, keepdims=True)


@pytest.fixture
def kept(tmp_path):
    """Sees forty pictures with a hosted embedder; returns the directory of the memory."""

    def see(joint, seconds=40):
        parts = PipelineParts(selector=KeepAll(), chains=[Chain(FixedWindow(), [])], perceivers=[JointPerceiver(joint)])
        with Store.open(tmp_path / "memory") as store:
            Pipeline(SyntheticCamera(seconds), parts, store).run()
        return tmp_path / "memory"

    return see


def test_a_perceiver_fills_the_space_of_glances_first_and_declares_the_other():
    assert JointPerceiver(Hosted()).spaces == (HeldSpace(space=HERE.space), HeldSpace(space=SPACE))
    assert JointPerceiver(HERE).spaces == (HeldSpace(space=HERE.space),)


def test_seeing_asks_no_server_and_every_picture_gets_its_vector_afterwards(kept):
    joint = Hosted()
    directory = kept(joint)
    assert joint.batches == []
    with Store.open(directory) as store:
        assert waits(store, joint) == 40
        assert embed_waiting(store, joint, time.monotonic() + 60) is False
        assert waits(store, joint) == 0
        assert embed_waiting(store, joint, time.monotonic() + 60) is False
    assert joint.batches == [BATCH, BATCH, 40 - 2 * BATCH]
    with View.open(directory) as view:
        moments = view.moments()
        assert view.vectors(HERE.space.name, [moment.id for moment in moments]).shape == (40, 64)
        for moment, frame in zip(moments[::7], list(SyntheticCamera(40).frames())[::7], strict=True):
            mean = frame.image.mean(axis=(0, 1))
            (vector,) = view.vectors(SPACE.name, [moment.id])
            assert vector @ (mean / np.linalg.norm(mean)) > 0.999, "each has the vector of its own picture"


def test_what_was_done_before_a_failure_stays_done(kept):
    joint = Hosted(left=1)
    directory = kept(joint)
    with Store.open(directory) as store:
        with pytest.raises(EngineError, match="the server is away"):
            embed_waiting(store, joint, time.monotonic() + 60)
        assert waits(store, joint) == 40 - BATCH
        joint.left = 99
        assert embed_waiting(store, joint, time.monotonic() + 60) is False


def test_one_that_is_left_is_left(kept):
    joint = Hosted()
    directory = kept(joint, seconds=1)
    with Store.open(directory) as store:
        assert embed_waiting(store, joint, time.monotonic() - 1) is True
        assert embed_waiting(store, joint, time.monotonic() + 60) is False


def test_no_batch_begins_after_the_deadline(kept):
    joint = Hosted()
    directory = kept(joint)
    with Store.open(directory) as store:
        assert embed_waiting(store, joint, time.monotonic() - 1) is True
    assert joint.batches == []


def test_a_memory_without_the_space_and_an_embedder_on_the_device_have_nothing_to_wait_for(kept):
    directory, joint = kept(HERE, seconds=4), Hosted()
    with Store.open(directory) as store:
        assert embed_waiting(store, joint, time.monotonic() + 60) is False
        assert embed_waiting(store, HERE, time.monotonic() + 60) is False
        assert (waits(store, joint), waits(store, HERE)) == (0, 0)
        store.ensure_space(SPACE)
        assert waits(store, joint) == 4, "a run with the other embedder makes the older pictures wait too"
    assert joint.batches == []
