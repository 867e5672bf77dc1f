"""Asking while the server of a hosted embedder is away or has not seen the pictures yet: another engine answers, which is said."""

from __future__ import annotations

import numpy as np
import pytest

from edgemem.answer.retrieve import Hits, Query, pictures
from edgemem.answer.retrievers.frames import FrameRetriever, HostedMatcher, VectorMatcher
from edgemem.errors import EngineError
from edgemem.infer.roles import Space
from edgemem.records import US
from edgemem.remember.entries import NewMoment
from edgemem.remember.store import Store
from edgemem.remember.view import View

FAR = Space(name="far", dim=2)


class Near:
    """A joint embedder on the device."""

    space = Space(name="near", dim=2)

    @property
    def local(self):
        return self

    def embed_text(self, texts):
        return np.tile(np.array([0.0, 1.0], np.float32), (len(texts), 1))


class Far(Near):
    """One behind a server: a mug lies in one direction, everything else in the other."""

    space = FAR

    def __init__(self) -> None:
        self.away = ""
        self.here = Near()

    @property
    def local(self):
        return self.here

    def embed_text(self, texts):
        if self.away:
            raise EngineError(self.away)
        return np.array([(1.0, 0.0) if text == "mug" else (0.0, 1.0) for text in texts], np.float32)


class Guess:
    """A matcher of the engine on the device, which always finds the first picture."""

    def match(self, query, view, k):
        del query, k
        return Hits(evidence=pictures(view, [(1, 0.4, "mug")]), confidence=0.4, firing=0.3)


@pytest.fixture
def memory(tmp_path):
    """Three pictures: two have vectors of the server, the third has none yet."""
    with Store.open(tmp_path / "memory") as store:
        store.ensure_space(FAR)
        for second, vector in enumerate([(0.8, 0.6), (1.0, 0.0), None]):
            with store.transaction() as tx:
                tx.add_moment(
                    NewMoment(
                        stream="s", seq=second, t_us=second * US, offset_us=second * US, width_px=4, height_px=4, sharpness=1.0,
                        jpeg=b"picture %d" % second, vectors={} if vector is None else {"far": np.array(vector, np.float32)},
                    )
                )  # fmt: skip
    return tmp_path / "memory"


def match(memory, joint, **query):
    with View.open(memory) as view:
        return HostedMatcher(joint, Guess()).match(Query(text="mug", **query), view, 5)


def test_the_vectors_of_the_server_decide_where_they_are(memory):
    found = match(memory, Far(), to_us=US)
    assert [one.id for one in found.evidence] == ["m2", "m1"]
    assert found.firing == 1.0
    assert found.note == "the pictures that have no vector of far yet were not searched"


def test_nothing_is_said_where_every_picture_has_its_vector(memory):
    with Store.open(memory) as store, store.transaction() as tx:
        tx.add_moment_vector(3, "far", np.array([0.0, 1.0], np.float32))
    assert match(memory, Far()).note == ""


def test_the_engine_on_the_device_searches_where_the_server_does_not_answer(memory):
    joint = Far()
    joint.away = "far: 10.0.0.1 cannot be reached"
    found = match(memory, joint)
    assert (found.evidence[0].id, found.confidence, found.firing) == ("m1", 0.4, 0.3)
    assert found.note == "pictures were searched by the engine on this device, not by far: far: 10.0.0.1 cannot be reached"


def test_the_engine_on_the_device_searches_pictures_that_have_no_vector_yet(memory):
    found = match(memory, Far(), from_us=2 * US)
    assert found.evidence[0].text == "mug"
    assert found.note.endswith("not by far: none of these pictures has its vector yet")


def test_a_time_without_pictures_is_searched_by_nobody_else(memory):
    with Store.open(memory) as store, store.transaction() as tx:
        tx.drop_moment(3)
    assert match(memory, Far(), from_us=9 * US) == Hits()


class Roles:
    """One joint embedder."""

    def __init__(self, joint):
        self._joint = joint

    def missing(self, _role):
        return ""

    def role(self, _role):
        return self._joint


def test_the_channel_says_how_it_looked(memory):
    joint = Far()
    joint.away = "no answer"
    with View.open(memory) as view:
        hits = FrameRetriever(Roles(joint)).retrieve(Query(text="mug"), view, 5)
        assert hits.note == "pictures were searched by the engine on this device, not by far: no answer"
        assert hits.silent == ""
        assert FrameRetriever(Roles(Near())).retrieve(Query(text="mug"), view, 5).note == ""
        joint.away = ""
        assert [one.id for one in FrameRetriever(Roles(joint)).retrieve(Query(text="mug"), view, 5).evidence] == ["m2", "m1"]


def test_confidence_is_measured_against_what_everyday_queries_reach(memory):
    with View.open(memory) as view:
        matcher = VectorMatcher(Far())
        assert matcher.match(Query(text="mug"), view, 5).confidence > 0.9
        assert matcher.match(Query(text="a giraffe"), view, 5).confidence == pytest.approx(0.5, abs=0.01)
