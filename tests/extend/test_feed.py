"""The feed passes every event to every subscriber, never waits, and counts what a slow one loses."""

from __future__ import annotations

import threading
import time

import msgspec
import pytest

from edgemem.errors import UsageError
from edgemem.events import EntityNamed, Event, Health, QuestionAnswered, SegmentStored, UtteranceHeard
from edgemem.extend.feed import Feed
from edgemem.records import Answer, Entity, Question, Segment, Usage, Utterance


def health(number: int) -> Health:
    return Health(kind="stream", name=f"cam{number}", well=True, t_us=number)


SEGMENT = SegmentStored(segment=Segment(id=1, stream="door", segmenter="fixed_window", t0_us=0, t1_us=9, offset_us=0))
EVENTS: tuple[Event, ...] = (
    SEGMENT,
    UtteranceHeard(utterance=Utterance(stream="door", seq=0, t_us=0, end_us=5, text="hello", speaker="speaker 1")),
    EntityNamed(entity=Entity(id=3, kind="person", name="Tomas"), before="speaker 1", known_us=7),
    QuestionAnswered(
        question=Question(text="who?", asked_us=0, as_of_us=0),
        answer=Answer(
            question="who?", status="abstained", answer="", option=None, confidence=0.0, evidence=(), steps=1, usage=Usage()
        ),
    ),
    health(1),
)  # fmt: skip


def test_events_come_in_order_and_only_of_the_kinds_that_were_asked_for() -> None:
    feed = Feed()
    everything, segments = feed.subscribe(), feed.subscribe(SegmentStored)
    for event in EVENTS:
        feed.publish(event)
    feed.close()
    assert tuple(everything) == EVENTS
    assert list(segments) == [SEGMENT]


def test_a_slow_subscriber_keeps_the_newest_and_knows_what_it_lost() -> None:
    feed = Feed()
    slow, quick = feed.subscribe(size=3), feed.subscribe(size=100)
    for number in range(10):
        feed.publish(health(number))
    feed.close()
    assert [event.t_us for event in slow] == [7, 8, 9]
    assert (slow.lost, quick.lost) == (7, 0)
    assert len(list(quick)) == 10


def test_publishing_does_not_wait_for_a_subscriber_that_waits() -> None:
    feed = Feed()
    subscription = feed.subscribe(Health)
    got: list[Event | None] = []
    thread = threading.Thread(target=lambda: got.append(subscription.get(20.0)))
    thread.start()
    feed.publish(SEGMENT)
    feed.publish(health(5))
    thread.join(5.0)
    assert got == [health(5)]
    assert subscription.get(0.01) is None


def test_closing_wakes_who_waits_and_ends_its_subscription() -> None:
    feed = Feed()
    subscription = feed.subscribe()
    got: list[Event | None] = []
    thread = threading.Thread(target=lambda: got.append(subscription.get()))
    thread.start()
    subscription.close()
    thread.join(5.0)
    assert not thread.is_alive()
    assert got == [None]
    feed.publish(health(1))
    assert subscription.get(0.0) is None
    subscription.close()
    feed.close()
    assert feed.subscribe().closed


def test_many_threads_publish_and_nothing_is_lost_or_doubled() -> None:
    feed = Feed()
    subscriptions = [feed.subscribe(size=10_000) for _ in range(3)]

    def publish(first: int) -> None:
        for number in range(first, first + 500):
            feed.publish(health(number))

    threads = [threading.Thread(target=publish, args=(500 * i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        feed.subscribe().close()
        time.sleep(0.001)
    for thread in threads:
        thread.join()
    feed.close()
    for subscription in subscriptions:
        assert sorted(event.t_us for event in subscription) == list(range(4000))


def test_a_subscription_without_room_is_refused() -> None:
    with pytest.raises(UsageError, match="at least one"):
        Feed().subscribe(size=0)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_every_event_goes_over_a_wire_and_back(event: Event) -> None:
    assert msgspec.json.decode(msgspec.json.encode(event), type=Event) == event
