"""The planner `egagent`: plan, look, judge, remember, stop when it suffices, answer (Algorithm 1).

With a language model the question is broken into at most five sub-tasks with tools and arguments at once; each result is judged by the
analyzer and kept in a working memory; a grader ends the plan as soon as the findings suffice (EGAgent's own grader never does); the
answer cites what came up. Without one the parsed question gives the sub-tasks and the planner `local` words the answer.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Annotated, Any, Literal

import msgspec

from edgemem.answer.generator_planner import Thinking, Thought
from edgemem.answer.session import Session
from edgemem.answer.tools import Refused, Reply
from edgemem.errors import ChatError
from edgemem.infer.chat import refuses
from edgemem.llm.readable import UnreadableError
from edgemem.records import Status
from edgemem_egagent.actions import Analyse, Analysed, Brought, Days, Edges, GraphSearch, ListDays, Pictures, ToolName, VisualSearch
from edgemem_egagent.ask import Completes, ask_typed
from edgemem_egagent.memory import SECTIONS, Finding, WorkingMemory
from edgemem_egagent.plan import Search, SubTask, Work, asked, decompose, revise, searches, typed
from edgemem_egagent.settings import PlannerSettings
from edgemem_egagent.without_model import answered_locally

_ENOUGH = 0.8
"""Without a model: a finding this sure answers a question that refers to nothing else."""
_CHARS_PER_TOKEN = 3
_ANSWER_TOKENS = 1300
"""Of an answer beside the findings: instructions, schema, and the reply at most."""
_CALLS = 4
"""Of one sub-task: its revision, analysis and grading cost about an answer each, and the answer follows."""
_CITED = 10
_UNJUDGED = 12
"""Items that are kept of a search whose analysis failed."""
_NAMES = frozenset(("source", "target"))
_DOUBTED = 0.5
"""Most confidence in an answer that rests on relations of another time or type than those searched for."""


class Grade(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the grader replies."""

    sufficient: Literal["yes", "no"]
    why: Annotated[str, msgspec.Meta(max_length=400)] = ""


class AnswerReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the answering model replies."""

    answer: Annotated[str, msgspec.Meta(min_length=1, max_length=2000)]
    evidence: tuple[str, ...] = ()
    option: int | None = None
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5
    status: Status = "answered"
    because: Annotated[str, msgspec.Meta(max_length=1000)] = ""


class EgagentPlanner(Thinking):
    """One generator per question: yields typed actions, is sent their results, yields the reply."""

    name = "egagent"

    def __init__(self, settings: PlannerSettings | None = None, models: Completes | None = None, tools: Sequence[Any] = ()) -> None:
        super().__init__()
        self._settings = settings or PlannerSettings()
        self._models = models if models is not None and models.there else None
        self.tools = tuple(tools)
        """What carries out its actions; recipes may name others."""

    def think(self, session: Session) -> Thought:
        """Where the model fails after something was found, the answer is made of that; where nothing was, the local planner begins anew."""
        memory = WorkingMemory(tz=session.question.tz)
        notes: tuple[str, ...] = ()
        try:
            yield from self._gather(session, memory)
            if self._models is not None:
                yield self._answer(session, memory, self._models)
        except ChatError as error:
            if not memory.evidence():
                raise
            notes = (f"{error}; the local planner answered from what was found",)
        reply = yield from answered_locally(session, memory)
        yield msgspec.structs.replace(reply, notes=(*notes, *reply.notes))

    # Gathering

    def _gather(self, session: Session, memory: WorkingMemory) -> Generator[Any, Any, None]:
        models = self._models
        tasks = typed(session, self._settings.max_steps) if models is None else (yield from self._planned(models, session, memory))
        for number, task in enumerate(tasks):
            sub_task = task
            if models is not None and number and not self._affords(models, memory):
                return
            if models is not None and number and self._settings.revise and memory.findings:
                sub_task = revise(models, session, task, memory, self._settings)
            yield from self._carry_out(searches(sub_task, session, memory, self._settings), session, memory)
            if self._settings.early_exit and number + 1 < len(tasks) and self._suffices(session, memory, tasks[: number + 1], tasks):
                return

    def _planned(self, models: Completes, session: Session, memory: WorkingMemory) -> Generator[Any, Any, list[SubTask]]:
        days = yield ListDays(tz=session.question.tz)
        memory.days = days.days if isinstance(days, Days) else ()
        return decompose(models, session, memory, self._settings)

    def _affords(self, models: Completes, memory: WorkingMemory) -> bool:
        """Whether enough is left for one more sub-task and for the answer."""
        answering = len(msgspec.json.encode(memory.sections())) // _CHARS_PER_TOKEN + _ANSWER_TOKENS
        return models.remaining.share > self._settings.spare and models.remaining.tokens >= _CALLS * answering

    def _carry_out(self, work: Work, session: Session, memory: WorkingMemory) -> Generator[Any, Any, None]:
        for search in work.searches:
            found = yield search
            if not isinstance(found, Brought) or not found.evidence:
                why = found.why if isinstance(found, Refused) else "; ".join(found.notes) if isinstance(found, Brought) else ""
                memory.add(Finding(tool=_tool_of(search), task=work.task, text=f"nothing was found{f' ({why})' if why else ''}"))
                continue
            hints = found.hints if isinstance(found, Edges) else ()
            judged = yield self._analysis(search, work.task, found, session, memory)
            if not isinstance(judged, Analysed):
                left = found.evidence[:_UNJUDGED]
                memory.add(Finding(tool=_tool_of(search), task=work.task, text="not judged", evidence=left, hints=hints))
                continue
            sure = judged.sure * (found.confidence if isinstance(found, Pictures) and self._models is None else 1.0)
            text = " ".join((judged.finding, *(f"({note})" for note in found.notes)))
            memory.add(Finding(tool=_tool_of(search), task=work.task, text=text, evidence=judged.evidence, sure=sure, hints=hints))

    @staticmethod
    def _analysis(search: Search, task: str, found: Brought, session: Session, memory: WorkingMemory) -> Analyse:
        question = session.question
        return Analyse(
            task=task[:600], tool=_tool_of(search), items=found.evidence, hints=found.hints if isinstance(found, Edges) else (),
            question=question.text, options=question.options, asked_us=min(question.asked_us, question.as_of_us), known=memory.lines(),
            tz=memory.tz,
        )  # fmt: skip

    def _suffices(self, session: Session, memory: WorkingMemory, done: Sequence[SubTask], tasks: Sequence[SubTask]) -> bool:
        """The grader: "yes" ends the plan. Without a model: a sure finding for a question that is about one thing only."""
        if self._models is None:
            best = memory.best
            return best is not None and best.sure >= _ENOUGH and not session.parsed.anchors
        if not memory.evidence().keys() - memory.hints().keys():
            return False
        request = {**asked(session), "plan": [task.task for task in tasks], "done": [task.task for task in done]}
        try:
            grade = ask_typed(self._models, "grade", {"findings": memory.sections()}, Grade, request=request, max_tokens=200)
        except UnreadableError:
            return False
        return grade.sufficient == "yes"

    # Answering

    def _answer(self, session: Session, memory: WorkingMemory, models: Completes) -> Reply:
        """Temperature 0; a reply without proof, or with an option that is none, is asked for again.

        Raises ChatError when not one reply could be read: then the local planner answers.
        """
        values = {"sections": ", ".join(SECTIONS.values())}
        known, hints, why, unreadable = memory.evidence(), memory.hints(), "", None
        for _ in range(self._settings.retries + 1):
            request = {**asked(session), **({"last_reply_was_refused_because": why} if why else {})}
            try:
                verdict = ask_typed(models, "answer", {"findings": memory.sections()}, AnswerReply, request=request, values=values, tries=1)
            except UnreadableError as error:
                why, unreadable = str(error), error
                continue
            if refuses(verdict.answer):
                raise ChatError(f"the language model refused: {verdict.answer.strip()[:120]}")
            cited = tuple(name for name in dict.fromkeys(verdict.evidence) if name in known)
            fails = [hints.get(name, ()) for name in cited]
            why, unreadable = _refused(verdict, fails, len(session.question.options)), None
            if not why:
                return _reply(verdict, cited, doubted=bool(fails) and all(fails))
        if unreadable is not None:
            raise unreadable
        return Reply(
            text="I found nothing that proves an answer.", status="abstained", confidence=0.0, notes=(why,), alternatives=(*hints,)
        )


def _tool_of(search: Search) -> ToolName:
    return "visual" if isinstance(search, VisualSearch) else "graph" if isinstance(search, GraphSearch) else "transcript"


def _reply(verdict: AnswerReply, cited: Sequence[str], *, doubted: bool) -> Reply:
    notes = (verdict.because,) if verdict.because else ()
    confidence = verdict.confidence
    if doubted and verdict.status == "answered":
        notes = (*notes, "this rests on relations of another time or type than those searched for")
        confidence = min(confidence, _DOUBTED)
    return Reply(
        text=verdict.answer, status=verdict.status, option=verdict.option, confidence=confidence, notes=notes,
        evidence=tuple(cited[:_CITED]),
    )  # fmt: skip


def _refused(verdict: AnswerReply, fails: Sequence[Sequence[str]], options: int) -> str:
    """Why a reply cannot stand; `fails` are the conditions that each cited item misses."""
    if verdict.status != "answered":
        return ""
    if not fails:
        return "it cites no evidence that came up"
    if all(_NAMES & set(missed) for missed in fails):
        return "it cites only hints about somebody or something else than was searched for; abstain where nothing else came up"
    if options and (verdict.option is None or not 0 <= verdict.option < options):
        return f"option must be a number from 0 to {options - 1}"
    return "there are no options" if not options and verdict.option is not None else ""
