"""The loop: the planner names one action, checks look at it, a tool carries it out, until it answers or the steps are used up."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from edgemem.answer.check import Check, CitesEvidence, ValidOption, WithinAsOf, WithinQuestion
from edgemem.answer.gather import GatherTool, Pool
from edgemem.answer.local import LocalPlanner
from edgemem.answer.reader import read, worded
from edgemem.answer.retrieve import Retriever
from edgemem.answer.retrievers.frames import Roles
from edgemem.answer.session import Session, Step, Turn
from edgemem.answer.tools import Action, CountTool, Found, InspectTool, ReadTool, Refused, Reply, Result, SearchTool, Tool
from edgemem.answer.tools_graph import HearTool, RelateTool
from edgemem.answer.understand import Parsed, understand
from edgemem.answer.understand.timespan import TimeSpan, resolve
from edgemem.config import QuestionCaps
from edgemem.errors import ChatError, PluginError, PluginFailure, UsageError
from edgemem.llm.models import Models
from edgemem.records import Answer, Question, Usage
from edgemem.remember.rows.reading import FOREVER_US
from edgemem.remember.view import View

OPTIONS_LIMIT = 100
_LONG_NUMBER = re.compile(r"[\d.,:-]{5,}")
_EVIDENCE_LIMIT = 10


class Planner(Protocol):
    """One step of reasoning. Sees only the session; acts only through actions. `BasePlanner` has the defaults."""

    name: str
    tools: Sequence[Tool]
    """Tools of its own, which come along with it."""

    def next(self, session: Session) -> Action:
        """The next action; `Reply` ends the session. A refused action stands in the steps with the reason."""
        ...


@dataclass
class AnswerKit:
    """Everything needed at question time. Engines are behind the retrievers and are loaded when first used."""

    planner: Planner
    retrievers: Sequence[Retriever]
    tools: Sequence[Tool] = ()
    checks: Sequence[Check] = field(default_factory=lambda: (WithinQuestion(), WithinAsOf(), CitesEvidence(), ValidOption()))
    step_limit: int = 140
    """Room for one search per option, and a few more."""
    models: Models = field(default_factory=Models)
    caps: QuestionCaps = field(default_factory=QuestionCaps)
    """What a question may spend on the models, where the settings do not say."""
    fallback: Planner = field(default_factory=LocalPlanner)
    """Finishes a question when the language model does not answer."""
    engines: Roles | None = None
    """For the meaning of words; without them words are compared letter by letter."""

    def __post_init__(self) -> None:
        gather = GatherTool(self.retrievers, self.engines)
        own = (SearchTool(self.retrievers), gather, InspectTool(), ReadTool(), CountTool(), RelateTool(), HearTool())
        self.tools = (*own, *self.planner.tools, *self.tools)

    def tool_for(self, action: Action) -> Tool:
        """The last registered tool for the type of `action`, so that plugins may replace built-ins. Raises PluginError if there is none."""
        for tool in reversed(self.tools):
            if isinstance(action, tool.action):
                return tool
        raise PluginError(f'planner "{self.planner.name}" asked for "{type(action).__name__}", which no tool carries out')


def ask(
    view: View, question: Question, kit: AnswerKit, before: Sequence[Turn] = (), watch: Callable[[str, Step], None] | None = None
) -> tuple[Answer, Session]:
    """Answer `question` from what `view` may see. `before` is what it may go on about, oldest first (`session.turns_before`).

    `watch` gets each step when it is done, with the name of the planner that chose it; it must return at once.

    Raises UsageError when nothing is asked or an option is empty.
    """
    start = time.perf_counter()
    if len(question.options) > OPTIONS_LIMIT or any(not option.strip() for option in question.options):
        raise UsageError(f"give between 0 and {OPTIONS_LIMIT} options, none of them empty")
    if not any(map(str.isalnum, question.text)):
        raise UsageError('the question is empty; ask something like: edgemem ask "where did I leave the mug?" --memory DIR')

    empty = view.bounds() is None
    by_rules = kit.planner.name == kit.fallback.name  # others ask the model themselves, in any language
    reader = kit.models if by_rules else Models()

    def reads(text: str, turns: Sequence[Turn]) -> tuple[Parsed, TimeSpan]:
        return _understood(view, msgspec.structs.replace(question, text=text), turns, reader)

    understood = lambda: reads(question.text, before)  # noqa: E731
    session = Session(question, understood, reads, tuple(before), empty=empty, picture=view.picture, caps=kit.caps)
    with kit.models.answering(session):
        reply = _run(view, session, kit, watch or (lambda _planner, _step: None))
        reply = worded(reply, session, reader)
    return _answer(reply, session, 1000 * (time.perf_counter() - start)), session


def _understood(view: View, question: Question, before: Sequence[Turn], models: Models) -> tuple[Parsed, TimeSpan]:
    """What is asked, of which time. A number that no clock and no count reaches is no time: the question is answered as having none."""
    try:
        parsed = read(question.text, before, models)
        span = resolve(parsed.time, question, view)
        if all(abs(t_us or 0) <= FOREVER_US for t_us in (span.from_us, span.to_us)):
            return parsed, span
    except (OverflowError, ValueError):
        parsed = understand(_LONG_NUMBER.sub("", question.text))
    return parsed, TimeSpan(problem="A number in the question is beyond every time and count that this memory could hold.")


def _run(view: View, session: Session, kit: AnswerKit, watch: Callable[[str, Step], None]) -> Reply:
    planner, notes = kit.planner, tuple[str, ...]()
    while len(session.steps) < kit.step_limit:
        start = time.perf_counter()
        try:
            action = planner.next(session)
        except (ChatError, PluginFailure) as error:
            if planner is kit.fallback:
                raise
            planner, notes = kit.fallback, (f"planner {planner.name}: {error}; the local planner answered",)
            continue
        if planner.name != kit.fallback.name:  # which decides by the question alone, and looks its own actions up in the session
            for check in kit.checks:
                action = check.rewrite(action, session)
        why = next((reason for check in kit.checks if (reason := check.before_action(action, session))), "")
        if isinstance(action, Reply) and not why:
            return msgspec.structs.replace(action, notes=(*notes, *action.notes))
        result = Refused(why=why) if why else _result(kit, action, view)
        session.steps.append(Step(action=action, result=result, ms=1000 * (time.perf_counter() - start)))
        watch(planner.name, session.steps[-1])
    return Reply(text="I could not find an answer in the steps allowed.", status="abstained", confidence=0.0, notes=("step limit reached",))


def _result(kit: AnswerKit, action: Action, view: View) -> Result:
    """What the tool brings; one that fails is said to the planner, which may try another. Only tools that change nothing run here."""
    tool = kit.tool_for(action)
    if tool.effect:
        return Refused(why=f"{tool.name} has an effect: a person starts it from the command line, no planner does")
    try:
        result = tool.run(action, view)
    except (ChatError, PluginFailure) as error:
        return Refused(why=str(error), failed=True)
    if not isinstance(result, Refused) and any(evidence.t0_us > view.as_of_us for evidence in result.evidence):
        return Refused(why=f"{tool.name} brought what is later than the as-of time of the question")
    return result


def _answer(reply: Reply, session: Session, ms: float) -> Answer:
    known, calls = session.evidence(), session.calls
    usage = Usage(tokens_in=sum(c.tokens_in for c in calls), tokens_out=sum(c.tokens_out for c in calls), ms=round(ms, 3))
    evidence = tuple(known[name] for name in dict.fromkeys(reply.evidence) if name in known)[:_EVIDENCE_LIMIT]
    others = tuple(known[name] for name in dict.fromkeys(reply.alternatives) if name in known and name not in reply.evidence)
    heard = reply.status == "answered" and all(item.channel in {"speech", "text"} for item in evidence)
    looked = (step.result for step in session.steps if isinstance(step.result, Found) or (isinstance(step.result, Pool) and not heard))
    silent = (note for result in looked for note in result.notes)
    by_words = (step.result.by_words for step in session.steps if isinstance(step.result, Pool) and step.result.by_words)
    notes = (*session.notes, *reply.notes, *silent, *by_words, *session.picture_notes)
    return Answer(
        question=session.question.text, status=reply.status, answer=reply.text, option=reply.option, confidence=round(reply.confidence, 4),
        evidence=evidence, steps=len(session.steps) + 1, usage=usage, alternatives=others[:_EVIDENCE_LIMIT],
        unverified=reply.unverified, named=reply.named, notes=tuple(dict.fromkeys(notes)),
    )  # fmt: skip
