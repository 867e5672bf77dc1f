"""The feed: typed events from the agent to its subscribers. The agent never waits for a subscriber.

Each subscriber has its own bounded queue. When it is full, the oldest event is dropped for the newest, and the loss is counted.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING

from edgemem.errors import UsageError
from edgemem.events import Event

if TYPE_CHECKING:
    from typing_extensions import Self

SIZE = 256
"""Most events that may wait for a subscriber: more than an hour, with one segment and a few utterances per minute."""


class Subscription:
    """The events of one subscriber, in the order in which they were published. `Feed.subscribe` creates it; one thread uses it."""

    def __init__(self, feed: Feed, kinds: tuple[type[Event], ...], size: int) -> None:
        self._feed = feed
        self._kinds = kinds
        self._waiting: deque[Event] = deque()
        self._size = size
        self._changed = threading.Condition()
        self._closed = False
        self._lost = 0

    @property
    def lost(self) -> int:
        """Number of events that this subscriber lost because it was too slow."""
        return self._lost

    @property
    def closed(self) -> bool:
        """Whether no further event comes; waiting ones can still be read."""
        return self._closed

    def get(self, timeout: float | None = None) -> Event | None:
        """The next event, after at most `timeout` seconds (None: wait until there is one). None if none came, or if it is closed and
        empty.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while not self._waiting and not self._closed:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return None
                self._changed.wait(left)
            return self._waiting.popleft() if self._waiting else None

    def close(self) -> None:
        """End the subscription; a thread that waits in `get` continues at once. Calling it twice does nothing."""
        self._feed.remove(self)
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def put(self, event: Event) -> None:
        """Add an event if this subscriber wants its kind. Returns at once."""
        if self._kinds and not isinstance(event, self._kinds):
            return
        with self._changed:
            if self._closed:
                return
            if len(self._waiting) >= self._size:
                self._waiting.popleft()
                self._lost += 1
            self._waiting.append(event)
            self._changed.notify()

    def __iter__(self) -> Iterator[Event]:
        """Every event until the subscription or the feed is closed."""
        while (event := self.get()) is not None:
            yield event

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class Feed:
    """Accepts events from any thread and passes them to every subscriber."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._subscriptions: tuple[Subscription, ...] = ()
        self._closed = False

    @property
    def subscribers(self) -> int:
        """How many subscriptions are open."""
        return len(self._subscriptions)

    def publish(self, event: Event) -> None:
        """Pass an event to every subscriber. Never waits for one, never raises."""
        for subscription in self._subscriptions:
            subscription.put(event)

    def subscribe(self, *kinds: type[Event], size: int = SIZE) -> Subscription:
        """Events of these kinds (none given: all) from now on; at most `size` of them wait. Raises UsageError for a size below 1.

        If the feed is closed, the subscription is closed too.
        """
        if size < 1:
            raise UsageError(f"a subscription needs a size of at least one event, not {size}")
        subscription = Subscription(self, kinds, size)
        with self._lock:
            closed = self._closed
            if not closed:
                self._subscriptions = (*self._subscriptions, subscription)
        if closed:
            subscription.close()
        return subscription

    def remove(self, subscription: Subscription) -> None:
        """Stop publishing to this subscription."""
        with self._lock:
            self._subscriptions = tuple(one for one in self._subscriptions if one is not subscription)

    def close(self) -> None:
        """End every subscription. Calling it twice does nothing."""
        with self._lock:
            self._closed = True
        for subscription in self._subscriptions:
            subscription.close()
