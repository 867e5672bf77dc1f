"""Idle work runs in short slices, only while nothing else is in progress, and its failures have no effect on others."""

from __future__ import annotations

import threading
import time

import pytest
from daemons import wait_until

from edgemem.device import idle
from edgemem.device.idle import SLICE_S, IdleRunner


class Work:
    def __init__(self, more: bool = True) -> None:
        self.deadlines: list[float] = []
        self.more = more
        self.fails = False

    def __call__(self, deadline_s: float) -> bool:
        self.deadlines.append(deadline_s - time.monotonic())
        if self.fails:
            raise ValueError("a job is broken")
        return self.more


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle, "_TICK_S", 0.01)
    monkeypatch.setattr(idle, "_NOTHING_S", 0.3)
    monkeypatch.setattr(idle, "_FAILED_S", 0.3)


def test_it_is_called_while_idle_with_a_deadline_and_not_while_busy() -> None:
    work, busy, said = Work(), threading.Event(), list[str]()
    busy.set()
    runner = IdleRunner(work, busy.is_set, said.append)
    runner.start()
    time.sleep(0.2)
    assert not work.deadlines
    busy.clear()
    wait_until(lambda: len(work.deadlines) > 5)
    busy.set()
    time.sleep(0.05)
    count = len(work.deadlines)
    time.sleep(0.1)
    assert len(work.deadlines) == count
    runner.stop(5.0)
    assert not runner.is_alive()
    assert all(0 < left <= SLICE_S for left in work.deadlines)
    assert not said


def test_without_work_it_is_asked_seldom() -> None:
    work = Work(more=False)
    runner = IdleRunner(work, lambda: False, lambda _: None)
    runner.start()
    time.sleep(0.5)
    runner.stop(5.0)
    assert 1 <= len(work.deadlines) <= 3


def test_a_failure_is_reported_and_tried_again_later() -> None:
    work, said = Work(), list[str]()
    work.fails = True
    runner = IdleRunner(work, lambda: False, said.append)
    runner.start()
    wait_until(lambda: len(said) == 2)
    work.fails = False
    wait_until(lambda: len(work.deadlines) > 5)
    runner.stop(5.0)
    assert set(said) == {"idle work: ValueError: a job is broken"}


def test_while_it_is_suspended_nothing_runs() -> None:
    work = Work()
    runner = IdleRunner(work, lambda: False, lambda _: None)
    runner.start()
    wait_until(lambda: work.deadlines)
    with runner.suspended():
        count = len(work.deadlines)
        time.sleep(0.1)
        assert len(work.deadlines) == count
    wait_until(lambda: len(work.deadlines) > count)
    runner.stop(5.0)
