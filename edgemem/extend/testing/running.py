"""Conformance checks for services and transports, with the signature of those in `edgemem.extend.testing`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from edgemem.events import EntityNamed, Event, Health, QuestionAnswered, SegmentStored, StreamStatus, UtteranceHeard
from edgemem.extend.feed import SIZE, Feed
from edgemem.extend.services import STOP_S
from edgemem.extend.transports import OutboxBatch
from edgemem.isolation import run_thread
from edgemem.records import US, Answer, Entity, Evidence, Question, Segment, Usage, Utterance

Make = Callable[[], Any]

T0_US = 1_777_881_600 * US
"""2026-05-04T08:00:00Z."""


class FakeAgent:
    """An agent without streams: it has a real feed, and its answers abstain. For tests of services."""

    def __init__(self) -> None:
        self.feed = Feed()

    def ask(self, question: str, *, options: Sequence[str] = (), as_of_us: int | None = None) -> Answer:  # noqa: ARG002 - it has no memory
        """Abstains."""
        return Answer(
            question=question, status="abstained", answer="I remember nothing.", option=None, confidence=0.0, evidence=(), steps=1,
            usage=Usage(),
        )  # fmt: skip

    def search(self, query: str, **_: Any) -> tuple[Evidence, ...]:  # noqa: ARG002 - it has no memory
        """Finds nothing."""
        return ()

    def streams(self) -> tuple[StreamStatus, ...]:
        """One stream that sees."""
        return (StreamStatus(stream="door", state="seeing", frames=1),)


def example_events() -> tuple[Event, ...]:
    """One event of every kind."""
    question = Question(text="who came?", asked_us=T0_US, as_of_us=T0_US)
    return (
        SegmentStored(segment=Segment(id=1, stream="door", segmenter="test", t0_us=T0_US, t1_us=T0_US + US, offset_us=0)),
        UtteranceHeard(utterance=Utterance(stream="door", seq=0, t_us=T0_US, end_us=T0_US + US, text="hello", speaker="speaker 1")),
        EntityNamed(entity=Entity(id=1, kind="person", name="Tomas"), before="speaker 1", known_us=T0_US),
        QuestionAnswered(question=question, answer=FakeAgent().ask(question.text)),
        Health(kind="stream", name="door", well=False, t_us=T0_US, why="the camera is gone"),
    )


def check_service(make: Make, who: str) -> None:
    """A service handles every event and too many events, ends soon when it is stopped, and leaves no subscription."""
    idle = make()
    idle.stop()
    agent, service, errors = FakeAgent(), make(), list[Exception]()
    started = run_thread(f"check-{who}", lambda: service.start(agent), errors.append)
    deadline = time.monotonic() + STOP_S
    while started.is_alive() and not agent.feed.subscribers and time.monotonic() < deadline:
        time.sleep(0.01)
    for _ in range(2 * SIZE):
        for event in example_events():
            agent.feed.publish(event)
    agent.feed.close()
    for _ in range(2):
        stopping = run_thread(f"check-{who}", service.stop, errors.append)
        stopping.join(STOP_S)
        assert not stopping.is_alive(), f"{who}: stop did not return within {STOP_S:g} s"
    started.join(STOP_S)
    assert not started.is_alive(), f"{who}: start did not return after stop"
    assert not errors, f"{who}: raised {type(errors[0]).__name__}: {errors[0]}"
    assert not agent.feed.subscribers, f"{who}: is still subscribed after stop"


def check_transport(make: Make, who: str) -> None:
    """A transport delivers a batch once even if it is sent several times, and after a restart it knows where to continue. All have one
    target.
    """
    batches = [OutboxBatch(id=f"check-{number}", made_us=T0_US + number, entries=(b"entry", bytes(range(256)))) for number in range(3)]
    first = make()
    assert first.resume() == "", f"{who}: knows a batch before one was sent"
    for batch in batches[:2]:
        delivery = first.send(batch)
        assert delivery.batch_id == batch.id, f"{who}: returned the id of another batch"
        assert delivery.delivered, f"{who}: did not deliver ({delivery.why})"
        assert not delivery.repeated, f"{who}: says that a new batch was there already"
    again = first.send(batches[1])
    assert (again.delivered, again.repeated) == (True, True), f"{who}: a batch that was sent twice must be known the second time"
    first.close()
    first.close()
    second = make()
    assert second.resume() == batches[1].id, f"{who}: does not know after a restart which batch was the last"
    assert second.send(batches[0]).repeated, f"{who}: stores an old batch a second time after a restart"
    assert second.resume() == batches[1].id, f"{who}: a repeated batch must not change the point from which it continues"
    assert not second.send(batches[2]).repeated, f"{who}: says that a new batch was there already"
    assert second.resume() == batches[2].id, f"{who}: does not know the batch that was just delivered"
    second.close()


CHECKS: dict[str, Callable[[Make, str], None]] = {"services": check_service, "transports": check_transport}
"""By place."""
