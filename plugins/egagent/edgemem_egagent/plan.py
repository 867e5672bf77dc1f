"""Sub-tasks: what to look for (S), with which tool (T) and which arguments (q), decided together (Algorithm 1, step 1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec

from edgemem.answer.readable import UnreadableError
from edgemem.answer.session import Session
from edgemem.answer.understand.people import Asked
from edgemem.answer.understand.words import content_words
from edgemem.clock import from_iso
from edgemem.errors import UsageError
from edgemem.records import Record
from edgemem_egagent.actions import GraphSearch, ToolName, TranscriptSearch, VisualSearch
from edgemem_egagent.ask import Completes, ask_typed, instructions
from edgemem_egagent.graph import RELATIONS
from edgemem_egagent.memory import WorkingMemory, on_clock

Search = VisualSearch | TranscriptSearch | GraphSearch
MAX_STEPS = 5
"""EGAgent, appendix E."""
_Text = Annotated[str, msgspec.Meta(max_length=120)]


class PlannerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How EGAgent works through a question."""

    max_steps: Annotated[int, msgspec.Meta(ge=1, le=MAX_STEPS)] = MAX_STEPS
    route: Literal["one", "all"] = "one"
    """"one": each sub-task goes to its tool, as the paper says; "all": to all three, as the released code does."""
    early_exit: bool = True
    """Stop when the grader says that the findings suffice, as the paper says."""
    revise: bool = True
    """Later sub-tasks get their arguments anew from what was found: one more call each."""
    min_rows: Annotated[int, msgspec.Meta(ge=1, le=100)] = 1
    """Rows with which a step of the ladder is content: 1 in the paper, 4 in the released code."""
    retries: Annotated[int, msgspec.Meta(ge=0, le=10)] = 3
    spare: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.15
    """Share of the question's tokens and seconds that is kept back for the answer."""
    relations: tuple[str, ...] = RELATIONS
    """Types of relations that a sub-task may name: those that the recipe's writer draws."""


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Arguments of any of the three tools; those of another tool are ignored."""

    queries: Annotated[tuple[_Text, ...], msgspec.Meta(max_length=3)] = ()
    location: _Text = ""
    speaker: _Text = ""
    source: _Text = ""
    target: _Text = ""
    type: _Text = ""
    sql: Annotated[str, msgspec.Meta(max_length=2000)] = ""
    from_: Annotated[str, msgspec.Meta(max_length=40)] = msgspec.field(default="", name="from")
    to: Annotated[str, msgspec.Meta(max_length=40)] = ""


class SubTask(Arguments, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """One step of the plan."""

    task: Annotated[str, msgspec.Meta(min_length=1, max_length=400)]
    tool: ToolName


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the planner replies."""

    sub_tasks: Annotated[tuple[SubTask, ...], msgspec.Meta(min_length=1, max_length=MAX_STEPS)]


class Work(Record, frozen=True):
    """A sub-task and the searches that carry it out: one, or one for each tool."""

    task: str
    searches: tuple[Search, ...]


def decompose(models: Completes, session: Session, settings: PlannerSettings) -> list[SubTask]:
    """By the language model. Raises ChatError when it gives no valid plan."""
    steps = settings.max_steps
    values = {"steps": str(steps), **_tools(settings)}
    return list(ask_typed(models, "plan", {}, Plan, request=_asked(session), values=values, max_tokens=1200).sub_tasks[:steps])


def revise(models: Completes, session: Session, sub_task: SubTask, memory: WorkingMemory, settings: PlannerSettings) -> SubTask:
    """The sub-task with arguments that use what was found so far (the tools' own prompts see the working memory, appendix E).

    What the reply leaves out stays as it was planned; so does everything when it cannot be read.
    """
    request = {**_asked(session), "sub_task": sub_task}
    try:
        data, values = {"findings": memory.sections()}, _tools(settings)
        made = ask_typed(models, "revise", data, Arguments, request=request, values=values, max_tokens=400)
    except UnreadableError:
        return sub_task
    changed = {name: value for name in made.__struct_fields__ if (value := getattr(made, name))}
    return msgspec.structs.replace(sub_task, **changed)


def _tools(settings: PlannerSettings) -> dict[str, str]:
    """What the prompts say of the tools."""
    return {"tools": instructions("tools"), "relations": ", ".join(settings.relations)}


def _asked(session: Session) -> dict[str, Any]:
    question = session.question
    named = {"from": session.span.from_us, "to": session.span.to_us}
    span = {end: on_clock(t_us, question.tz) for end, t_us in named.items() if t_us is not None}
    return {
        "question": question.text, "options": list(question.options),
        "asked_at": on_clock(min(question.asked_us, question.as_of_us), question.tz), **({"time_named": span} if span else {}),
    }  # fmt: skip


def searches(sub_task: SubTask, session: Session, settings: PlannerSettings) -> Work:
    """The typed actions of a sub-task: of its tool, or of all three (`route = "all"`: frames, graph, transcript)."""
    window = _window(sub_task, session)
    tools: Sequence[ToolName] = ("visual", "graph", "transcript") if settings.route == "all" else (sub_task.tool,)
    made = (_search(tool, sub_task, window, session, settings) for tool in tools)
    return Work(task=sub_task.task, searches=tuple(one for one in made if one is not None))


def _window(sub_task: SubTask, session: Session) -> tuple[int | None, int | None]:
    """The stretch that the sub-task names, else the question's; never past the time of the question."""
    low, high = _time(sub_task.from_, session), _time(sub_task.to, session)
    if low is None and high is None:
        low, high = session.span.from_us, session.span.to_us
    end_us = session.question.as_of_us
    low = low if low is None or low <= end_us else None
    high = min(high, end_us) if high is not None else None
    return (low, high) if low is None or high is None or low <= high else (None, high)


def _time(text: str, session: Session) -> int | None:
    """What cannot be read as a time is no bound."""
    try:
        return from_iso(text, session.question.tz) if text else None
    except UsageError:
        return None


def _search(
    tool: ToolName, sub_task: SubTask, window: tuple[int | None, int | None], session: Session, settings: PlannerSettings
) -> Search | None:
    words = tuple(query.strip() for query in sub_task.queries if query.strip())
    own = words or ((" ".join(content_words(sub_task.task)) or session.question.text)[:120],)
    if tool == "visual":
        return VisualSearch(queries=own, location=sub_task.location[:100], from_us=window[0], to_us=window[1])
    if tool == "transcript":
        whole = not words and window[0] is not None and window[1] is not None
        return TranscriptSearch(queries=() if whole else own, speaker=sub_task.speaker[:100], from_us=window[0], to_us=window[1])
    type_ = sub_task.type if sub_task.type in settings.relations else ""
    if not (sub_task.source or sub_task.target or type_ or sub_task.sql):
        return None  # a search for nothing: this sub-task is not about relations
    return GraphSearch(
        source=sub_task.source[:100], target=sub_task.target[:100], type=type_, sql=sub_task.sql, from_us=window[0], to_us=window[1],
        min_rows=settings.min_rows,
    )  # fmt: skip


def typed(session: Session, steps: int = MAX_STEPS) -> list[SubTask]:
    """Without a language model: sub-tasks from what the parser understood."""
    p = session.parsed
    made = _about_people(p.asked) if p.asked is not None else []
    made += [SubTask(task=f"find {anchor}", tool="visual", queries=(anchor[:120],)) for anchor in p.anchors if anchor.strip()]
    things = [phrase for phrase in (p.target, *p.choices) if phrase.strip() and p.asked is None]
    made += [SubTask(task=f"find {thing}", tool="visual", queries=(thing[:120],), location=p.place[:120]) for thing in things[:2]]
    spoken = " ".join(content_words(p.quote or p.target or session.question.text))[:120]
    if spoken and (p.asked is None or not p.asked.about):
        made.append(SubTask(task=f"what was said about {spoken}"[:400], tool="transcript", queries=(spoken,)))
    return made[:steps]


def _about_people(asked: Asked) -> list[SubTask]:
    made = []
    if asked.types:
        name = f"{asked.source or 'who'} {asked.types[0]} {asked.target or 'what'}"
        made.append(SubTask(task=name[:400], tool="graph", source=asked.source[:120], target=asked.target[:120], type=asked.types[0]))
    if asked.about:
        task = f"what {asked.source or 'anybody'} said about {asked.about}"[:400]
        made.append(SubTask(task=task, tool="transcript", queries=(asked.about[:120],), speaker=asked.source[:120]))
    return made
