"""The planner `local`: decides from the parsed question and from what was found; needs no language model.

The whole way of a question is one plan (`say.reply`): a generator of actions that returns a reply. The planner holds no state: at every
step the plan runs again over the results that stand in the session, up to the first action that was not tried yet.
"""

from __future__ import annotations

from edgemem.answer.say.base import abstain
from edgemem.answer.say.reply import reply
from edgemem.answer.session import Session
from edgemem.answer.tool_base import BasePlanner
from edgemem.answer.tools import Action, Refused, Reply


class LocalPlanner(BasePlanner):
    """Deterministic: the same question over the same memory always takes the same steps."""

    name = "local"

    def next(self, session: Session) -> Action:
        """The first action of the plan whose result is not known yet, or the reply."""
        last = session.steps[-1] if session.steps else None
        if last and isinstance(last.action, Reply) and isinstance(last.result, Refused):
            return abstain("I found nothing that proves an answer.", last.result.why)
        plan = reply(session)
        try:
            action = next(plan)
            while (result := session.result(action)) is not None:
                action = plan.send(result)
        except StopIteration as stop:
            made: Reply = stop.value
            return made
        return action
