"""A planner written as one generator per question: `found = yield Search(...)` for every action, and at last `yield Reply(...)`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import Any

from edgemem.answer.session import Session
from edgemem.answer.tool_base import BasePlanner
from edgemem.answer.tools import Refused, Reply

Thought = Generator[Any, Any, None]


class Thinking(BasePlanner, ABC):
    """Base of such planners. One object may answer several questions at once: where it is in each stands in the session."""

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
        thought = session.thoughts.get(self.name)
        if last is not None and thought is not None:
            return thought.send(last.result)
        if (reply := self.refuse(session)) is not None:
            return reply
        session.thoughts[self.name] = self.think(session)
        return next(session.thoughts[self.name])
