"""What is verified around a step: before an action is run, and before an answer leaves."""

from __future__ import annotations

from typing import Protocol

import msgspec

from edgemem.answer.session import Session
from edgemem.answer.tool_base import Timed
from edgemem.answer.tools import Action, Reply
from edgemem.records import US

_DAY_US = 86_400 * US


class Check(Protocol):
    """What is verified around a step. Without methods of its own it allows everything and changes nothing."""

    name: str

    def before_action(self, _action: Action, _session: Session) -> str:
        """An empty text to allow, else one line that says why not; the planner gets it back."""
        return ""

    def rewrite(self, action: Action, _session: Session) -> Action:
        """The action as it may run, such as with a narrower stretch of time; the same one where nothing is to change."""
        return action


class BaseCheck(Check):
    """Base of checks."""

    name = ""


class WithinQuestion(BaseCheck):
    """What a language model asks for stays within the stretch of time that the question named: the model has read words of the scene, and
    those may not widen where it looks. A point in time leaves it a day to either side.
    """

    name = "within_question"

    def rewrite(self, action: Action, session: Session) -> Action:
        if not session.calls or isinstance(action, Reply) or not isinstance(action, Timed) or session.span.fell_back:
            return action
        span = session.span
        from_us, to_us = (span.at_us - _DAY_US, span.at_us + _DAY_US) if span.at_us is not None else (span.from_us, span.to_us)
        lows = [time_us for time_us in (action.from_us, from_us) if time_us is not None]
        highs = [time_us for time_us in (action.to_us, to_us) if time_us is not None]
        within: Action = msgspec.structs.replace(action, from_us=max(lows, default=None), to_us=min(highs, default=None))
        return within


class WithinAsOf(BaseCheck):
    """No action may look past the as-of time, or at a stretch that ends before it begins."""

    name = "within_as_of"

    def before_action(self, action: Action, session: Session) -> str:
        from_us, to_us = (action.from_us, action.to_us) if isinstance(action, Timed) else (None, None)
        if from_us is not None and from_us > session.question.as_of_us:
            return "the stretch of time begins after the as-of time of the question"
        if from_us is not None and to_us is not None and to_us < from_us:
            return "the stretch of time ends before it begins"
        return ""


class CitesEvidence(BaseCheck):
    """An answer must cite evidence, and only evidence that came up in this session."""

    name = "cites_evidence"

    def before_action(self, action: Action, session: Session) -> str:
        if not isinstance(action, Reply) or action.status != "answered":
            return ""
        if not action.evidence:
            return "an answer must cite evidence; abstain instead"
        known = session.evidence()
        unknown = [name for name in action.evidence if name not in known]
        return f"evidence {unknown[0]} did not come up in this session" if unknown else ""


class ValidOption(BaseCheck):
    """A chosen option must be one of those that were given."""

    name = "valid_option"

    def before_action(self, action: Action, session: Session) -> str:
        if isinstance(action, Reply) and action.option is not None and not 0 <= action.option < len(session.question.options):
            return f"option {action.option} is none of the {len(session.question.options)} given"
        return ""
