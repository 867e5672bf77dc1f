"""The planner `egagent`: plan, look, judge, remember, stop when it suffices, answer (Algorithm 1).

With a language model the question is broken into at most five sub-tasks with tools and arguments at once; each result is judged by the
analyzer and kept in a working memory; a grader ends the plan as soon as the findings suffice (EGAgent's own grader never does); the
answer cites what came up. Without one the parsed question gives the sub-tasks and the planner `local` words the answer.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Annotated, Any, Literal

import msgspec

from edgemem.answer.compose import quote, time_text
from edgemem.answer.generator_planner import Thinking, Thought
from edgemem.answer.local import LocalPlanner
from edgemem.answer.readable import UnreadableError
from edgemem.answer.session import Session
from edgemem.answer.tools import Refused, Reply
from edgemem.answer.understand.words import likeness
from edgemem.errors import ChatError
from edgemem.infer.chat import refuses
from edgemem.records import Status
from edgemem_egagent.actions import Analyse, Analysed, Edges, GraphSearch, Lines, Pictures, ToolName, TranscriptSearch, VisualSearch
from edgemem_egagent.ask import Completes, ask_typed
from edgemem_egagent.memory import SECTIONS, Finding, WorkingMemory
from edgemem_egagent.plan import PlannerSettings, SubTask, Work, decompose, revise, searches, typed

_TOOLS: dict[type[Any], ToolName] = {VisualSearch: "visual", TranscriptSearch: "transcript", GraphSearch: "graph"}
_ENOUGH = 0.8
"""Without a model: a finding this sure answers a question that refers to nothing else."""
_CHARS_PER_TOKEN = 3
_ANSWER_TOKENS = 1300
"""Of an answer beside the findings: instructions, schema, and the reply at most."""
_SPEAKS = 0.6
"""Without a model: an utterance that holds this share of the words asked about is told when nothing else answers."""


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
        memory = WorkingMemory(tz=session.question.tz)
        yield from self._gather(session, memory)
        if self._models is not None:
            yield self._answer(session, memory, self._models)
        else:
            yield (yield from _answered_locally(session, memory))

    # Gathering

    def _gather(self, session: Session, memory: WorkingMemory) -> Generator[Any, Any, None]:
        models, steps = self._models, self._settings.max_steps
        tasks = typed(session, steps) if models is None else decompose(models, session, self._settings)
        for number, task in enumerate(tasks):
            sub_task = task
            if models is not None and number and not self._affords(models, memory):
                return
            if models is not None and number and self._settings.revise and memory.findings:
                sub_task = revise(models, session, task, memory, self._settings)
            yield from self._carry_out(searches(sub_task, session, self._settings), memory)
            if self._settings.early_exit and number + 1 < len(tasks) and self._suffices(session, memory, tasks):
                return

    def _affords(self, models: Completes, memory: WorkingMemory) -> bool:
        """Whether enough is left for one more sub-task, whose revision, analysis and grading cost an answer each, and for the answer."""
        answering = len(msgspec.json.encode(memory.sections())) // _CHARS_PER_TOKEN + _ANSWER_TOKENS
        return models.remaining.share > self._settings.spare and models.remaining.tokens >= 4 * answering

    def _carry_out(self, work: Work, memory: WorkingMemory) -> Generator[Any, Any, None]:
        for search in work.searches:
            tool = _TOOLS[type(search)]
            found = yield search
            if not isinstance(found, Pictures | Lines | Edges) or not found.evidence:
                why = found.why if isinstance(found, Refused) else "; ".join(getattr(found, "notes", ()))
                memory.add(Finding(tool=tool, task=work.task, text=f"nothing was found{f' ({why})' if why else ''}"))
                continue
            judged = yield Analyse(task=work.task[:600], tool=tool, items=found.evidence, tz=memory.tz)
            if isinstance(judged, Analysed):
                sure = judged.sure * (found.confidence if isinstance(found, Pictures) and self._models is None else 1.0)
                text = judged.finding
                if isinstance(found, Lines) and found.cut:
                    text += f" (Only the first {len(found.said)} utterances of that time were read.)"
                memory.add(Finding(tool=tool, task=work.task, text=text, evidence=judged.evidence, sure=sure))
            else:
                memory.add(Finding(tool=tool, task=work.task, text="not judged", evidence=found.evidence[:12]))

    def _suffices(self, session: Session, memory: WorkingMemory, tasks: Sequence[SubTask]) -> bool:
        """The grader: "yes" ends the plan. Without a model: a sure finding for a question that is about one thing only."""
        if self._models is None:
            best = memory.best
            return best is not None and best.sure >= _ENOUGH and not session.parsed.anchors
        if not memory.evidence():
            return False
        request = {**_asked(session), "plan": [task.task for task in tasks]}
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
        options, data = session.question.options, {"findings": memory.sections()}
        values = {"sections": ", ".join(SECTIONS.values())}
        known, why, unreadable = memory.evidence(), "", None
        for _ in range(self._settings.retries + 1):
            request = {**_asked(session), **({"last_reply_was_refused_because": why} if why else {})}
            try:
                verdict = ask_typed(models, "answer", data, AnswerReply, request=request, values=values, tries=1)
            except UnreadableError as error:
                why, unreadable = str(error), error
                continue
            if refuses(verdict.answer):
                raise ChatError(f"the language model refused: {verdict.answer.strip()[:120]}")
            cited = tuple(name for name in dict.fromkeys(verdict.evidence) if name in known)
            why, unreadable = _refused(verdict, cited, len(options)), None
            if not why:
                return Reply(
                    text=verdict.answer, status=verdict.status, option=verdict.option, confidence=verdict.confidence, evidence=cited[:10],
                    notes=(verdict.because,) if verdict.because else (),
                )  # fmt: skip
        if unreadable is not None:
            raise unreadable
        return Reply(text="I found nothing that proves an answer.", status="abstained", confidence=0.0, notes=(why,))


def _asked(session: Session) -> dict[str, Any]:
    return {"question": session.question.text, "options": list(session.question.options)}


def _refused(verdict: AnswerReply, cited: Sequence[str], options: int) -> str:
    if verdict.status != "answered":
        return ""
    if not cited:
        return "it cites no evidence that came up"
    if options and (verdict.option is None or not 0 <= verdict.option < options):
        return f"option must be a number from 0 to {options - 1}"
    return "there are no options" if not options and verdict.option is not None else ""


def _answered_locally(session: Session, memory: WorkingMemory) -> Generator[Any, Any, Reply]:
    """The words of the local planner; where it knows nothing, the utterance or row that fits the question best, quoted."""
    local = LocalPlanner()
    while not isinstance(action := local.next(session), Reply):
        yield action
    if action.status == "answered":
        return action
    options = session.question.options
    spoken = [f for f in memory.findings if f.tool != "visual" and f.evidence and f.sure >= _SPEAKS]
    if not spoken:
        return action
    best = max(spoken, key=lambda f: f.sure)
    first = best.evidence[0]
    option = None
    if options:
        scored = [(likeness(option, e.text), -i, e) for i, option in enumerate(options) for e in best.evidence]
        score, place, first = max(scored, key=lambda one: one[:2])
        if score < _SPEAKS:
            return action
        option = -place
    text = f"{quote(first.text, 200)} at {time_text(first.t0_us, session.question.tz)}."
    others = [e.id for e in best.evidence if e.id != first.id]
    return Reply(text=text, option=option, confidence=round(0.6 * best.sure, 4), evidence=(first.id, *others)[:10])
