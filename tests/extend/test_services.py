"""Services cannot harm the agent: one that raises, blocks or floods is reported and left behind. Transports deliver once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from edgemem.events import Health
from edgemem.extend.feed import Subscription
from edgemem.extend.services import AgentHandle, ServiceRunner
from edgemem.extend.testing.running import FakeAgent, check_service, check_transport
from edgemem.extend.transports import Delivery, OutboxBatch


class Counter:
    """A service that works in `start` until the feed ends."""

    def __init__(self) -> None:
        self.seen = 0
        self._subscription: Subscription | None = None
        self._stopped = False

    def start(self, agent: AgentHandle) -> None:
        self._subscription = agent.feed.subscribe()
        if self._stopped:
            self._subscription.close()
        for _ in self._subscription:
            self.seen += 1

    def stop(self) -> None:
        self._stopped = True
        if self._subscription is not None:
            self._subscription.close()


class Raises(Counter):
    def start(self, agent: AgentHandle) -> None:
        assert agent
        raise ValueError("no network")


class FailsLater(Counter):
    def start(self, agent: AgentHandle) -> None:
        for event in agent.feed.subscribe():
            raise RuntimeError(type(event).__name__)


class NeverEnds(Counter):
    def start(self, agent: AgentHandle) -> None:
        assert agent
        threading.Event().wait(20.0)


class BlocksInStop(Counter):
    def stop(self) -> None:
        threading.Event().wait(20.0)


class StaysSubscribed(Counter):
    def start(self, agent: AgentHandle) -> None:
        agent.feed.close = lambda: None  # type: ignore[method-assign]
        self._subscription = agent.feed.subscribe()

    def stop(self) -> None:
        pass


class RaisesInStop(Counter):
    def stop(self) -> None:
        raise OSError("port is gone")


def test_a_sound_service_passes_the_check() -> None:
    check_service(Counter, "counter")


@pytest.mark.parametrize(
    ("service", "says"),
    [
        (Raises, "raised ValueError: no network"),
        (FailsLater, "raised RuntimeError"),
        (BlocksInStop, "stop did not return"),
        (NeverEnds, "start did not return"),
        (StaysSubscribed, "still subscribed"),
        (RaisesInStop, "port is gone"),
    ],
)
def test_the_check_finds_what_is_wrong(service: Callable[[], Any], says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgemem.extend.testing.running.STOP_S", 0.3)
    with pytest.raises((AssertionError, OSError), match=says):
        check_service(service, "service")


def run(*services: Any) -> tuple[list[str], FakeAgent, ServiceRunner, Subscription]:
    said: list[str] = []
    agent = FakeAgent()
    health = agent.feed.subscribe(Health)
    runner = ServiceRunner({f"s{number}": service for number, service in enumerate(services)}, agent, said.append)
    runner.start()
    return said, agent, runner, health


def test_one_that_fails_is_reported_and_the_others_go_on() -> None:
    counter = Counter()
    said, agent, runner, health = run(Raises(), counter)
    failed = health.get(5.0)
    assert isinstance(failed, Health)
    assert (failed.kind, failed.name, failed.well, failed.why) == ("service", "s0", False, "ValueError: no network")
    while agent.feed.subscribers < 2:
        time.sleep(0.01)
    agent.feed.publish(failed)
    runner.stop()
    assert counter.seen >= 1
    assert said == ["service s0: ValueError: no network"]


def test_services_that_do_not_end_are_left_behind_all_at_once() -> None:
    said, _, runner, _ = run(NeverEnds(), BlocksInStop(), NeverEnds(), Counter())
    began = time.monotonic()
    runner.stop(within_s=0.5)
    assert time.monotonic() - began < 5.0
    assert said == [f"service s{number}: did not stop within 0.5 s" for number in (0, 1, 2)]


def test_one_that_takes_its_time_is_waited_for() -> None:
    ended = threading.Event()

    class TakesItsTime(Counter):
        def stop(self) -> None:
            time.sleep(0.3)
            ended.set()

    said, _, runner, _ = run(TakesItsTime())
    runner.stop()
    assert ended.is_set()
    assert said == []


def test_one_that_fails_in_stop_is_reported() -> None:
    said, _, runner, _ = run(RaisesInStop())
    runner.stop()
    assert said == ["service s0: OSError: port is gone"]


class FolderTransport:
    """Batches as files in a folder; a file of the last one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def send(self, batch: OutboxBatch) -> Delivery:
        file = self._folder / batch.id
        repeated = file.exists()
        if not repeated:
            file.write_bytes(msgspec.msgpack.encode(batch))
            (self._folder / "last").write_text(batch.id)
        return Delivery(batch_id=batch.id, delivered=True, repeated=repeated)

    def resume(self) -> str:
        last = self._folder / "last"
        return last.read_text() if last.exists() else ""

    def close(self) -> None:
        pass


class Forgetful(FolderTransport):
    def resume(self) -> str:
        return ""


class Doubles(FolderTransport):
    def send(self, batch: OutboxBatch) -> Delivery:
        return msgspec.structs.replace(super().send(batch), repeated=False)


class MovesBack(FolderTransport):
    def send(self, batch: OutboxBatch) -> Delivery:
        delivery = super().send(batch)
        (self._folder / "last").write_text(batch.id)
        return delivery


def test_a_sound_transport_passes_the_check(tmp_path: Path) -> None:
    check_transport(lambda: FolderTransport(tmp_path), "folder")


@pytest.mark.parametrize(
    ("transport", "says"),
    [(Forgetful, "which batch was the last"), (Doubles, "must be known the second time"), (MovesBack, "must not change the point")],
)
def test_the_check_finds_a_transport_that_doubles_or_forgets(transport: type[FolderTransport], says: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=says):
        check_transport(lambda: transport(tmp_path), "folder")
