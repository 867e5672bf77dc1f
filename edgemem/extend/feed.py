"""The feed: typed events from the agent to whoever subscribed, without ever making the agent wait.

Each subscriber has a bounded queue of its own. When it is full the oldest event makes room for the newest, and the loss is counted.
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
"""Events that may wait for a subscriber: at one segment and a few utterances a minute more than an hour."""


class Subscription:
    """The events of one subscriber, in the order in which they were published. Made by `Feed.subscribe`; used by one thread."""

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
        """Events that this subscriber will never get, because it was too slow."""
        return self._lost

    @property
    def closed(self) -> bool:
        """True when no further event comes; those that wait can still be taken."""
        return self._closed

    def get(self, timeout: float | None = None) -> Event | None:
        """The next event, waited for `timeout` seconds (None: until there is one). None when none came, or when it is closed and empty."""
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while not self._waiting and not self._closed:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return None
                self._changed.wait(left)
            return self._waiting.popleft() if self._waiting else None

    def close(self) -> None:
        """Subscribe no longer; a thread that waits in `get` goes on at once. Calling it twice does nothing."""
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
    """Takes events from any thread and hands them to every subscriber."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._subscriptions: tuple[Subscription, ...] = ()
        self._closed = False

    def publish(self, event: Event) -> None:
        """Hand an event to every subscriber. Never waits for one, never raises."""
        for subscription in self._subscriptions:
            subscription.put(event)

    def subscribe(self, *kinds: type[Event], size: int = SIZE) -> Subscription:
        """Events of these kinds (none named: of all) from now on; at most `size` of them wait. Raises UsageError for a size below 1.

        Of a feed that is closed the subscription is closed, too.
        """
        if size < 1:
            raise UsageError(f"a subscription needs room for at least one event, not {size}")
        subscription = Subscription(self, kinds, size)
        with self._lock:
            closed = self._closed
            if not closed:
                self._subscriptions = (*self._subscriptions, subscription)
        if closed:
            subscription.close()
        return subscription

    def remove(self, subscription: Subscription) -> None:
        """Publish to this subscription no longer."""
        with self._lock:
            self._subscriptions = tuple(one for one in self._subscriptions if one is not subscription)

    def close(self) -> None:
        """End every subscription. Calling it twice does nothing."""
        with self._lock:
            self._closed, subscriptions = True, self._subscriptions
        for subscription in subscriptions:
            subscription.close()
