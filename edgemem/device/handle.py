"""The interface of the agent for services: `extend.services.AgentHandle`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from edgemem.clock import now_us
from edgemem.events import StreamStatus
from edgemem.extend.feed import Feed
from edgemem.records import Answer, Evidence
from edgemem.serve.messages import MAX_QUESTION_CHARS, AskRequest, SearchRequest

if TYPE_CHECKING:
    from edgemem.extend.environment import Environment
    from edgemem.serve.dispatch import Dispatcher, MemoryWriter


class Handle:
    """The agent's feed, its answers, and the status of its streams."""

    def __init__(self, feed: Feed, dispatcher: Dispatcher, environment: Environment, writer: MemoryWriter) -> None:
        self.feed = feed
        self._dispatcher = dispatcher
        self._settings = environment.settings
        self._writer = writer

    def ask(self, question: str, *, options: Sequence[str] = (), as_of_us: int | None = None) -> Answer:
        """Like `edgemem ask`, with the recipe of the settings; streams that see nothing are in the notes. Raises EdgememError."""
        request = AskRequest(
            question=question[:MAX_QUESTION_CHARS], asked_us=now_us() if as_of_us is None else as_of_us, as_of_us=as_of_us,
            options=tuple(options), tz=self._settings.timezone, recipe=self._settings.recipe,
        )  # fmt: skip
        reply = self._dispatcher.ask(request)
        return msgspec.structs.replace(reply.answer, notes=(*reply.answer.notes, *reply.notes))

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
        request = SearchRequest(
            query=query[:MAX_QUESTION_CHARS], channel=channel, from_us=from_us, to_us=to_us, top_k=top_k, recipe=self._settings.recipe
        )
        return self._dispatcher.search(request).evidence

    def streams(self) -> tuple[StreamStatus, ...]:
        """Status of each stream."""
        return self._writer.streams()
