"""Pictures that wait for a server: what is said when it does not answer, and when it is asked again."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from edgemem.errors import BudgetError, EngineError, SourceError
from edgemem.extend.testing import SyntheticCamera
from edgemem.remember.store import Store
from edgemem.see import pixels
from edgemem.serve import waiting
from edgemem.serve.waiting import WaitingPictures, embed_recording
from tests.see.test_waiting import SPACE, Hosted


@pytest.fixture
def store(tmp_path):
    """A memory with four pictures that wait."""
    from edgemem.remember.entries import NewMoment

    with Store.open(tmp_path / "memory") as opened:
        opened.ensure_space(SPACE)
        for frame in SyntheticCamera(4).frames():
            with opened.transaction() as tx:
                tx.add_moment(
                    NewMoment(
                        stream="cam", seq=frame.seq, t_us=frame.t_us, offset_us=frame.offset_us, width_px=240, height_px=180, sharpness=1.0,
                        jpeg=pixels.encode_jpeg(frame.image, 90), vectors={},
                    )
                )  # fmt: skip
        yield opened


def environment(joint: Any, missing: str = "") -> Any:
    return SimpleNamespace(engines=SimpleNamespace(missing=lambda _role: missing, role=lambda _role: joint))


def soon() -> float:
    return time.monotonic() + 60


def test_after_a_recording_what_is_left_is_said_with_its_reason(store):
    said = embed_recording(environment(Hosted(left=0)), store, 1.0)
    assert said.startswith("4 pictures have no vector of far-away yet: the server is away; ")
    assert embed_recording(environment(Hosted(), missing="not fetched"), store, 1.0) == ""
    assert embed_recording(environment(Hosted()), store, 1.0) == ""
    with store.view() as view:
        assert view.moments_without_vector(SPACE.name, 9) == []


def test_a_recording_gives_them_as_long_as_it_took(store, monkeypatch):
    monkeypatch.setattr(waiting, "LEAST_S", -1.0)
    joint = Hosted()
    assert "4 pictures have no vector of far-away yet: the time was not enough" in embed_recording(environment(joint), store, -1.0)
    assert joint.batches == []
    assert embed_recording(environment(joint), store, 60.0) == ""
    assert joint.batches == [4]


@pytest.mark.parametrize(("seeing_s", "given_s"), [(5.0, 60.0), (300.0, 300.0)])
def test_the_time_that_is_given_is_a_minute_at_least(store, monkeypatch, seeing_s, given_s):
    deadlines = []
    monkeypatch.setattr(waiting, "embed_waiting", lambda _store, _joint, deadline_s: deadlines.append(deadline_s - time.monotonic()))
    embed_recording(environment(Hosted()), store, seeing_s)
    assert deadlines == [pytest.approx(given_s, abs=5)]


def test_an_agent_reports_a_failure_once_and_asks_again_later(store, monkeypatch):
    joint, reported = Hosted(left=0), list[str]()
    work = WaitingPictures(environment(joint), store, reported.append)
    assert work(soon()) is False
    assert len(reported) == 1
    assert "the server is away" in reported[0]
    joint.left = 99
    assert work(soon()) is False
    assert joint.batches == [], "it is left alone for a minute"
    assert work._again_s - time.monotonic() == pytest.approx(60, abs=5)
    joint.left = 0
    monkeypatch.setattr(waiting, "_AGAIN_S", 0.0)
    work._again_s = 0.0
    work(soon())
    assert len(reported) == 1, "the same failure is not reported twice"
    joint.left = 99
    assert work(soon()) is False
    assert joint.batches == [4]


def test_there_is_more_to_do_where_the_time_was_not_enough(store):
    work = WaitingPictures(environment(Hosted()), store, pytest.fail)
    assert work(time.monotonic() - 1) is True
    assert WaitingPictures(environment(Hosted(), missing="no card"), store, pytest.fail)(soon()) is False

    def broken(_role):
        raise EngineError("damaged")

    assert WaitingPictures(SimpleNamespace(engines=SimpleNamespace(missing=lambda _: "", role=broken)), store, pytest.fail)(soon()) is False


@pytest.mark.parametrize("error", [BudgetError("budget.disk is used up"), SourceError("a picture is damaged")])
def test_a_memory_that_is_full_or_damaged_is_no_reason_to_stop_the_agent(store, monkeypatch, error):
    def fails(*_):
        raise error

    monkeypatch.setattr(waiting, "embed_waiting", fails)
    reported = list[str]()
    assert WaitingPictures(environment(Hosted()), store, reported.append)(soon()) is False
    assert str(error) in reported[0]
    assert str(error) in embed_recording(environment(Hosted()), store, 1.0)
