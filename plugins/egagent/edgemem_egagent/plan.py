"""Sub-tasks: what to look for (S), with which tool (T) and which arguments (q), decided together (Algorithm 1, step 1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec

from edgemem.answer.session import Session
from edgemem.answer.tools_graph import relation_text
from edgemem.answer.understand.people import Asked
from edgemem.answer.understand.timespan import TimeSpan
from edgemem.answer.understand.words import content_words, words
from edgemem.llm.readable import UnreadableError
from edgemem.records import US, Record
from edgemem_egagent.actions import ANY_TIME, GraphSearch, Span, ToolName, TranscriptSearch, VisualSearch
from edgemem_egagent.ask import Completes, ask_typed, instructions
from edgemem_egagent.memory import WorkingMemory, on_clock
from edgemem_egagent.settings import MAX_STEPS, PlannerSettings
from edgemem_egagent.spans import spans_of

Search = VisualSearch | TranscriptSearch | GraphSearch
MOST_LOOKS = 8
"""Visual searches of one sub-task: EGAgent makes one for each day that may matter, at most the seven of EgoLife; one more for all days."""
_Text = Annotated[str, msgspec.Meta(max_length=120)]
_Time = Annotated[str, msgspec.Meta(max_length=40)]
_DAY_US = 86_400 * US
_LAST = frozenset(("last", "latest", "recent", "recently", "newest"))


class _When(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Arguments of every tool: see `spans.spans_of`."""

    day: _Time = ""
    from_: _Time = msgspec.field(default="", name="from")
    to: _Time = ""


class Look(_When, frozen=True):
    """Arguments of one visual search."""

    queries: Annotated[tuple[_Text, ...], msgspec.Meta(max_length=3)] = ()
    location: _Text = ""


class Listening(_When, frozen=True):
    """Arguments of a transcript search."""

    queries: Annotated[tuple[_Text, ...], msgspec.Meta(max_length=3)] = ()
    speaker: _Text = ""


class Relating(_When, frozen=True):
    """Arguments of a graph search."""

    source: _Text = ""
    target: _Text = ""
    type: _Text = ""
    sql: Annotated[str, msgspec.Meta(max_length=2000)] = ""


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Arguments by tool. A tool without any gets the words of the sub-task."""

    visual: Annotated[tuple[Look, ...], msgspec.Meta(max_length=MOST_LOOKS)] = ()
    transcript: Listening | None = None
    graph: Relating | None = None


class Revision(Arguments, frozen=True):
    """A sub-task worded anew after what was found. What is left out stays as it was planned."""

    task: Annotated[str, msgspec.Meta(max_length=400)] = ""


class SubTask(Arguments, frozen=True, kw_only=True):
    """One step of the plan."""

    task: Annotated[str, msgspec.Meta(min_length=1, max_length=400)]
    tool: ToolName


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the planner replies."""

    sub_tasks: Annotated[tuple[SubTask, ...], msgspec.Meta(min_length=1, max_length=MAX_STEPS)]


class Work(Record, frozen=True):
    """A sub-task and the searches that carry it out: of one tool, or of all three."""

    task: str
    searches: tuple[Search, ...]


def decompose(models: Completes, session: Session, memory: WorkingMemory, settings: PlannerSettings) -> list[SubTask]:
    """By the language model. Raises ChatError when it gives no valid plan."""
    steps = settings.max_steps
    values = {"steps": str(steps), **_tools(settings)}
    request = {**asked(session), "days": _days(memory)}
    return list(ask_typed(models, "plan", {}, Plan, request=request, values=values, max_tokens=1500).sub_tasks[:steps])


def revise(models: Completes, session: Session, sub_task: SubTask, memory: WorkingMemory, settings: PlannerSettings) -> SubTask:
    """The sub-task with words and arguments that use what was found so far (the tools' own prompts see the working memory, appendix E).

    What the reply leaves out stays as it was planned; so does everything when it cannot be read.
    """
    request = {**asked(session), "days": _days(memory), "sub_task": sub_task}
    try:
        data, values = {"findings": memory.sections()}, _tools(settings)
        made = ask_typed(models, "revise", data, Revision, request=request, values=values, max_tokens=600)
    except UnreadableError:
        return sub_task
    changed = {name: value for name in made.__struct_fields__ if (value := getattr(made, name))}
    return msgspec.structs.replace(sub_task, **changed)


def _tools(settings: PlannerSettings) -> dict[str, str]:
    """What the prompts say of the tools."""
    which = "Give arguments of all three tools: each sub-task goes to all of them." if settings.route == "all" else ""
    return {"tools": instructions("tools"), "route": which, "relations": ", ".join(settings.relations)}


def _days(memory: WorkingMemory) -> list[dict[str, str]]:
    return [{"day": day.date, "from": on_clock(day.first_us, memory.tz), "to": on_clock(day.last_us, memory.tz)} for day in memory.days]


def asked(session: Session) -> dict[str, Any]:
    """The question as models read it: with numbered options and the time of asking."""
    question = session.question
    named = {"from": session.span.from_us, "to": session.span.to_us}
    span = {end: on_clock(t_us, question.tz) for end, t_us in named.items() if t_us is not None}
    return {
        "question": question.text, "options": numbered(question.options),
        "asked_at": on_clock(min(question.asked_us, question.as_of_us), question.tz), **({"time_named": span} if span else {}),
    }  # fmt: skip


def numbered(options: Sequence[str]) -> list[dict[str, Any]]:
    """Options with the numbers that an answer names them by, from 0."""
    return [{"number": number, "text": text} for number, text in enumerate(options)]


def searches(sub_task: SubTask, session: Session, memory: WorkingMemory, settings: PlannerSettings) -> Work:
    """The typed actions of a sub-task: of its tool, or of all three (`route = "all"`: frames, graph, transcript)."""
    tools: Sequence[ToolName] = ("visual", "graph", "transcript") if settings.route == "all" else (sub_task.tool,)
    making = _Making(sub_task, session, memory, settings)
    return Work(task=sub_task.task, searches=tuple(search for tool in tools for search in making.of(tool)))


class _Making:
    """The searches of one sub-task."""

    def __init__(self, sub_task: SubTask, session: Session, memory: WorkingMemory, settings: PlannerSettings) -> None:
        self._task, self._session, self._memory, self._settings = sub_task, session, memory, settings
        self._words = (" ".join(content_words(sub_task.task)) or session.question.text)[:120]

    def of(self, tool: ToolName) -> Iterator[Search]:
        """One search, or one for each look."""
        if tool == "visual":
            for look in self._task.visual or (Look(),):
                yield VisualSearch(queries=_queries(look.queries) or (self._words,), location=look.location[:100], spans=self._spans(look))
        elif tool == "transcript":
            yield self._transcript(self._task.transcript or Listening(queries=(self._words,)))
        else:
            yield self._graph(self._task.graph or Relating())

    def _transcript(self, wanted: Listening) -> TranscriptSearch:
        queries, spans = _queries(wanted.queries), self._spans(wanted)
        whole = not queries and all(span.from_us is not None and span.to_us is not None for span in spans)
        last = bool(_LAST & {*words(self._session.question.text), *words(self._task.task)})
        return TranscriptSearch(
            queries=() if whole else queries or (self._words,), speaker=wanted.speaker[:100], spans=spans, newest_first=last
        )  # fmt: skip

    def _graph(self, wanted: Relating) -> GraphSearch:
        type_ = wanted.type if wanted.type in self._settings.relations else ""
        return GraphSearch(
            source=wanted.source[:100], target=wanted.target[:100], type=type_, sql=wanted.sql, spans=self._spans(wanted),
            min_rows=self._settings.min_rows, about=self._task.task, tz=self._session.question.tz,
        )  # fmt: skip

    def _spans(self, when: _When) -> tuple[Span, ...]:
        """The stretches that the arguments name, as far as they lie in the question's; else the question's; never past its own time.

        The model has read words of the scene, and those may not widen where it looks (`answer.check.WithinQuestion`).
        """
        question, named = self._session.question, self._session.span
        found = spans_of(when.day.strip(), when.from_.strip(), when.to.strip(), self._memory.days, question.tz, question.as_of_us)
        if found:
            bounds = _bounds(named)
            return tuple(span for one in found if (span := _within(one, bounds)) is not None) or (bounds,)
        if named.from_us is None and named.to_us is None:
            return (ANY_TIME,)
        return (Span(from_us=named.from_us, to_us=question.as_of_us if named.to_us is None else min(named.to_us, question.as_of_us)),)


def _bounds(named: TimeSpan) -> Span:
    """Where a question may be looked into: the stretch that it names, a day to either side of a point in time."""
    if named.fell_back:
        return ANY_TIME
    if named.at_us is not None:
        return Span(from_us=named.at_us - _DAY_US, to_us=named.at_us + _DAY_US)
    return Span(from_us=named.from_us, to_us=named.to_us)


def _within(span: Span, bounds: Span) -> Span | None:
    """What of a stretch lies within bounds; None where nothing does."""
    low = max((t_us for t_us in (span.from_us, bounds.from_us) if t_us is not None), default=None)
    high = min((t_us for t_us in (span.to_us, bounds.to_us) if t_us is not None), default=None)
    return None if low is not None and high is not None and high < low else Span(from_us=low, to_us=high)


def _queries(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(query.strip() for query in given if query.strip())


def typed(session: Session, steps: int = MAX_STEPS) -> list[SubTask]:
    """Without a language model: sub-tasks from what the parser understood."""
    p = session.parsed
    made = _about_people(p.asked) if p.asked is not None else []
    made += [_seen(anchor) for anchor in p.anchors if anchor.strip()]
    things = [phrase for phrase in (p.target, *p.choices) if phrase.strip() and p.asked is None]
    made += [_seen(thing, p.place) for thing in things[:2]]
    spoken = " ".join(content_words(p.quote or p.target or session.question.text))[:120]
    if spoken and (p.asked is None or not p.asked.about):
        made.append(SubTask(task=f"what was said about {spoken}"[:400], tool="transcript", transcript=Listening(queries=(spoken,))))
    return made[:steps]


def _seen(what: str, place: str = "") -> SubTask:
    return SubTask(task=f"find {what}"[:400], tool="visual", visual=(Look(queries=(what[:120],), location=place[:120]),))


def _about_people(wanted: Asked) -> list[SubTask]:
    made = []
    if wanted.types:
        name = f"when {relation_text(wanted.source or 'Somebody', wanted.types[0], wanted.target or 'Something', '')}"
        relating = Relating(source=wanted.source[:120], target=wanted.target[:120], type=wanted.types[0])
        made.append(SubTask(task=name[:400], tool="graph", graph=relating))
    if wanted.about:
        task = f"what {wanted.source or 'anybody'} said about {wanted.about}"[:400]
        made.append(SubTask(task=task, tool="transcript", transcript=Listening(queries=(wanted.about[:120],), speaker=wanted.source[:120])))
    return made
