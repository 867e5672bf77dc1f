"""A planner written as one generator per question: it yields actions, is sent what they brought, and yields the reply.

class MyPlanner(Thinking):
name = "mine"

def think(self, session):
found = yield Search(query=session.question.text)
yield Reply(text=..., evidence=...)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import Any

from edgemem.answer.session import Session
from edgemem.answer.tool_base import BasePlanner
from edgemem.answer.tools import Refused, Reply

Thought = Generator[Any, Any, None]

_AT_ONCE = 64
"""Questions that one planner may be in the middle of; what was given up must not stay for ever."""


class Thinking(BasePlanner, ABC):
    """Base of such planners. One object may answer several questions at once, each in a thread of its own."""

    def __init__(self) -> None:
        self._thoughts: dict[int, Thought] = {}

    @abstractmethod
    def think(self, session: Session) -> Thought:
        """Yields actions, the last of them a `Reply`. A refused action brings a `Refused`."""

    def refuse(self, session: Session) -> Reply | None:
        """What ends a question before it begins: an empty memory, or a time that is none."""
        if session.empty or session.span.problem:
            return Reply(text=session.span.problem or "This memory is empty.", status="abstained", confidence=0.0)
        return None

    def next(self, session: Session) -> Any:
        """The next action or the reply. A reply that was refused ends the question here."""
        last = session.steps[-1] if session.steps else None
        if last is not None and isinstance(last.action, Reply) and isinstance(last.result, Refused):
            return Reply(text="I found nothing that proves an answer.", status="abstained", confidence=0.0, notes=(last.result.why,))
        thought = self._thoughts.pop(id(session), None)
        if last is None or thought is None:
            if (reply := self.refuse(session)) is not None:
                return reply
            thought, last = self.think(session), None
        action = thought.send(last.result if last is not None else None)  # `None` starts a generator
        if not isinstance(action, Reply):
            self._thoughts[id(session)] = thought
            if len(self._thoughts) > _AT_ONCE:
                self._thoughts.pop(list(self._thoughts)[0], None)  # noqa: RUF015 - other threads change it: an iterator would fail
        return action
