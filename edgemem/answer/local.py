"""The planner `local`: decides from the parsed question and from what was found; needs no language model.

Each kind of question has a plan: a generator of actions that returns a reply. The planner holds no state: at every step the plan runs
again over the results that stand in the session, up to the first action that was not tried yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from edgemem.answer.language.vocabulary import Kind
from edgemem.answer.plans.base import Plan, abstain
from edgemem.answer.plans.choice import map_reply, with_options
from edgemem.answer.plans.relation import relation
from edgemem.answer.plans.scene import describe, how_long, how_many, what, where
from edgemem.answer.plans.speech import told_instead
from edgemem.answer.plans.text import read_text, who
from edgemem.answer.plans.thing import did_ever, find, order, when, which
from edgemem.answer.session import Session
from edgemem.answer.tools import Action, Refused, Reply

PLANS: Mapping[Kind, Callable[[Session], Plan]] = {
    "where": where,
    "when": when,
    "what": what,
    "text": read_text,
    "which": which,
    "order": order,
    "how_many": how_many,
    "how_long": how_long,
    "who": who,
    "did_ever": did_ever,
    "find": find,
    "describe": describe,
}


def _seen(session: Session) -> Plan:
    """From pictures and signs, at a time that was recorded."""
    if session.span.problem:
        return (yield from _done(abstain(session.span.problem)))
    free = PLANS[session.parsed.kind](session)
    return (yield from with_options(session, free) if session.question.options else free)


def _relation_or(session: Session, other: Plan) -> Plan:
    """From relations and utterances where the question is about people; from pictures and signs where those know nothing."""
    reply = yield from relation(session)
    if reply is None:
        return (yield from other)
    mapped = reply.option is None and reply.status == "answered" and session.question.options
    return (yield from map_reply(session, _done(reply))) if mapped else reply


def _done(reply: Reply) -> Plan:
    yield from ()
    return reply


class LocalPlanner:
    """Deterministic: the same question over the same memory always takes the same steps."""

    name = "local"

    def next(self, session: Session) -> Action:
        """The first action of the plan whose result is not known yet, or the reply."""
        if session.empty:
            return abstain("This memory is empty.", "nothing was recorded up to the time of the question")
        last = session.steps[-1] if session.steps else None
        if last and isinstance(last.action, Reply) and isinstance(last.result, Refused):
            return abstain("I found nothing that proves an answer.", last.result.why)
        plan = told_instead(session, _seen(session))
        plan = _relation_or(session, plan) if session.parsed.asked is not None and not session.span.problem else plan
        try:
            action = next(plan)
            while (result := session.result(action)) is not None:
                action = plan.send(result)
        except StopIteration as stop:
            reply: Reply = stop.value
            return reply
        return action
