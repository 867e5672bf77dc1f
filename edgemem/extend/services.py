"""Services run beside the agent, get its events and may ask it questions; for example a server, a voice interface, or standing
questions.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, Protocol

from edgemem.clock import now_us
from edgemem.errors import EdgememError
from edgemem.events import Health, StreamStatus
from edgemem.extend.feed import Feed
from edgemem.isolation import run_thread
from edgemem.records import Answer, Evidence

STOP_S = 5.0
"""Time limit for all services together to stop. After it the agent ends anyway."""


class AgentHandle(Protocol):
    """The interface of the agent for services. Every method may be called from any thread."""

    @property
    def feed(self) -> Feed:
        """The feed of events. It is closed before `Service.stop` is called, so that loops over a subscription end."""
        ...

    def ask(self, question: str, *, options: Sequence[str] = (), as_of_us: int | None = None) -> Answer:
        """Like `edgemem ask`, with the recipe of the settings. Raises EdgememError."""
        ...

    def search(
        self,
        query: str,
        *,
        channel: Literal["frame", "event", "text", "speech", "entity", "any"] = "any",
        from_us: int | None = None,
        to_us: int | None = None,
        top_k: int = 10,
    ) -> tuple[Evidence, ...]:
        """Like `edgemem search`. Raises EdgememError."""
        ...

    def streams(self) -> tuple[StreamStatus, ...]:
        """Status of each stream."""
        ...


class Service(Protocol):
    """Hook `register_services`. It must subscribe in `start`; it does not get earlier events."""

    def start(self, agent: AgentHandle) -> None:
        """Called once, in a separate thread: it may return at once or work until `stop`."""
        ...

    def stop(self) -> None:
        """End soon, from another thread. May be called before `start` returned, and twice. The agent waits 5 s, then ends anyway."""
        ...


class ServiceRunner:
    """Starts and stops services. One that fails is reported, with an event, and never stops the agent or another service."""

    def __init__(self, services: Mapping[str, Service], agent: AgentHandle, report: Callable[[str], object]) -> None:
        self._services = services
        self._agent = agent
        self._report = report
        self._threads: dict[str, threading.Thread] = {}

    def start(self) -> None:
        """Start each service in a separate thread. Returns at once."""
        for name, service in self._services.items():
            start = partial(service.start, self._agent)
            self._threads[name] = run_thread(f"edgemem-service-{name}", start, partial(self._failed, name))

    def stop(self, within_s: float = STOP_S) -> None:
        """Close the feed, then stop all services at the same time. One that does not end within this time is reported and left running."""
        self._agent.feed.close()
        started = list(self._threads.items())
        threads = started + [
            (name, run_thread(f"edgemem-stop-{name}", self._services[name].stop, partial(self._failed, name))) for name, _ in started
        ]
        deadline = time.monotonic() + within_s
        for _, thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        for name in sorted({name for name, thread in threads if thread.is_alive()}):
            self._report(f"service {name}: did not stop within {within_s:g} s")

    def _failed(self, name: str, error: Exception) -> None:
        why = str(error) if isinstance(error, EdgememError) else f"{type(error).__name__}: {error}"
        self._report(f"service {name}: {why}")
        self._agent.feed.publish(Health(kind="service", name=name, well=False, t_us=now_us(), why=why))
