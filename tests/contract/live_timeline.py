"""A service that keeps a live timeline: a JSON file with what the agent saw and heard last, and the streams that see nothing. It uses only
the public contract.
"""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec

from edgemem.extend import (
    AgentHandle,
    Component,
    EntityNamed,
    Event,
    Health,
    PluginContext,
    QuestionAnswered,
    SegmentStored,
    Subscription,
    UtteranceHeard,
    hookimpl,
)


class TimelineSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """File and length of the timeline."""

    file: str
    most: int = 1000
    """Entries that are kept, the latest."""


class Entry(msgspec.Struct):
    """One line of the timeline."""

    t_us: int
    kind: str
    stream: str
    text: str
    speaker: str = ""


class Page(msgspec.Struct):
    """What the file holds."""

    entries: list[Entry]
    blind: dict[str, str]
    lost: int = 0
    """Number of events that were lost because writing was too slow."""


class LiveTimeline:
    """Subscribes in `start`, writes after each event, ends when the feed is closed."""

    def __init__(self, settings: TimelineSettings) -> None:
        self._settings = settings
        self._page = Page(entries=[], blind={})
        self._subscription: Subscription | None = None
        self._stopped = threading.Event()

    def start(self, agent: AgentHandle) -> None:
        """Works until `stop`."""
        self._subscription = subscription = agent.feed.subscribe()
        if self._stopped.is_set():
            subscription.close()
        self._write()
        for event in subscription:
            self._take(event)
            self._page.lost = subscription.lost
            self._write()

    def stop(self) -> None:
        """Ends the loop of `start`."""
        self._stopped.set()
        if self._subscription is not None:
            self._subscription.close()

    def _take(self, event: Event) -> None:
        if isinstance(event, SegmentStored):
            segment = event.segment
            self._add(Entry(segment.t0_us, "segment", segment.stream, f"{(segment.t1_us - segment.t0_us) / 1e6:.0f} s"))
        elif isinstance(event, UtteranceHeard):
            said = event.utterance
            self._add(Entry(said.t_us, "utterance", said.stream, said.text, said.speaker))
        elif isinstance(event, QuestionAnswered):
            self._add(Entry(event.question.asked_us, "question", "", f"{event.question.text} {event.answer.answer}"))
        elif isinstance(event, EntityNamed):
            for entry in self._page.entries:
                entry.speaker = event.entity.name if entry.speaker == event.before else entry.speaker
        elif isinstance(event, Health) and event.kind == "stream":
            self._page.blind.pop(event.name, None)
            if not event.well:
                self._page.blind[event.name] = event.why

    def _add(self, entry: Entry) -> None:
        self._page.entries.append(entry)
        self._page.entries.sort(key=lambda one: one.t_us)
        del self._page.entries[: -self._settings.most]

    def _write(self) -> None:
        file = Path(self._settings.file)
        partial = file.with_suffix(".part")
        partial.write_bytes(msgspec.json.encode(self._page))
        partial.replace(file)


@hookimpl
def register_services() -> tuple[Component, ...]:
    def make(settings: TimelineSettings, _context: PluginContext) -> LiveTimeline:
        return LiveTimeline(settings)

    return (Component("live_timeline", make, TimelineSettings, "a JSON file with what the agent saw and heard last"),)
