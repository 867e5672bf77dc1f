"""The planner `local`: decides from the parsed question and from what was found; needs no language model.

The whole way of a question is one plan (`say.reply`): a generator of actions that returns a reply.
"""

from __future__ import annotations

from edgemem.answer.generator_planner import Thinking, Thought
from edgemem.answer.say.reply import reply, unread
from edgemem.answer.session import Session
from edgemem.answer.tools import Reply


class LocalPlanner(Thinking):
    """Deterministic: the same question over the same memory always takes the same steps."""

    name = "local"

    def refuse(self, session: Session) -> Reply | None:
        return unread(session)

    def think(self, session: Session) -> Thought:
        yield (yield from reply(session))
