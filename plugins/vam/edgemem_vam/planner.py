"""The planner `vam`: VAM's bounded loop of a router and a planner that search, inspect, summarize and answer (section 3.4, appendix B).

Every question is one generator: it yields typed actions, is sent their results, and yields the reply. What the model writes is decoded
strictly (`wire`), resolved to ids and times, and carried out by the same tools, checks and session log as the local planner's actions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from edgemem.answer.generator_planner import Thinking, Thought
from edgemem.answer.session import Session
from edgemem.answer.tools import Reply
from edgemem.errors import ChatError
from edgemem.infer.chat import refuses
from edgemem.llm.readable import UnreadableError, readable_reply
from edgemem_vam import summary_key, wire
from edgemem_vam.actions import (
    SOURCES,
    HybridHits,
    HybridSearch,
    Inspected,
    Summaries,
    Survey,
    Surveyed,
    Target,
    VisualInspection,
    WriteSummaries,
)
from edgemem_vam.anchored import Span
from edgemem_vam.anchors import stretch
from edgemem_vam.context import PlannerTurn, RetrievalContext, inspected_results, results_of, summary_results, target_of, why_not
from edgemem_vam.planner_view import CHARS_PER_TOKEN, render, surroundings
from edgemem_vam.progress import Progress
from edgemem_vam.reply import ANSWER_CHARS, answer, from_hits
from edgemem_vam.roles import PlannerSettings, request

if TYPE_CHECKING:
    from edgemem.infer.chat import Prompt
    from edgemem.llm.calls import Call
    from edgemem.llm.models import Models


class VamPlanner(Thinking):
    """Needs a language model: without one `next` raises ChatError and the local planner answers. So it does when the model fails before
    anything was found; what was found by then is answered from.
    """

    name = "vam"

    def __init__(self, settings: PlannerSettings | None, models: Models) -> None:
        super().__init__()
        self._settings = settings or PlannerSettings()
        self._models = models
        self.tools: tuple[Any, ...] = ()
        """What carries out its actions; recipes may name others."""

    def think(self, session: Session) -> Thought:
        surveyed = yield Survey(asked_us=session.question.asked_us)
        known = surveyed if isinstance(surveyed, Surveyed) else Surveyed()
        context = RetrievalContext.of(known, session.question.tz)
        route = self._route(session)
        if isinstance(route, wire.Final):
            reply = Reply(
                text=route.text[:ANSWER_CHARS], status="abstained", confidence=0.0, notes=("answered without looking into the memory",)
            )
        elif isinstance(route, wire.SummarizeTool):
            reply = yield from self._timeline(route.args, context)
        else:
            goal = route.args.question if isinstance(route, wire.Retrieve) else session.question.text
            reply = yield from self._retrieve(goal, context, known, session)
            if session.question.options and reply.status == "answered" and reply.option is None:
                raise ChatError(f"the language model chose none of the options ({'; '.join(reply.notes) or reply.text[:80]})")
        yield msgspec.structs.replace(reply, notes=tuple(dict.fromkeys((*reply.notes, *context.limits, *failures(session.calls)))))

    def _route(self, session: Session) -> wire.Route | None:
        """None when the router fails, is refused, or cannot be read even after its repair: then the question is searched for as it is
        (VAM B.7.1).
        """
        if not self._settings.route or session.question.options:
            return None
        asked = request("router", self._settings.router, {"request": session.question.text}, schema=wire.ROUTE_SCHEMA)
        try:
            route = readable_reply(self._models, asked, wire.decode_route)
        except ChatError:
            return None
        return None if isinstance(route, wire.Final) and refuses(route.text) else route

    def _retrieve(self, goal: str, context: RetrievalContext, known: Surveyed, session: Session) -> Generator[Any, Any, Reply]:
        progress, limits, options = Progress(), self._settings, session.question.options
        for turn in range(1, limits.turns + 1):
            left = limits.turns - turn + 1
            stopped = progress.stagnant >= limits.stagnation
            last = left == 1 or stopped or (context.found and left <= limits.few_turns)
            asked = self._prompt(goal, context, known, session, left, only_answer=last)
            if context.turns and (cap := self._spent(asked)):
                return from_hits(context, f"answered from what was found, because {cap} is nearly used up", options)
            try:
                action = self._next_action(asked, goal, first=turn == 1 and not last)
            except ChatError as error:
                if not context.found:
                    raise
                return from_hits(context, f"answered from what was found, because the planner's model failed: {error}", options)
            if isinstance(action, wire.AnswerAction):
                return answer(action, context, options)
            if action is None or last:
                return from_hits(context, _why_stopped(action, limits, stopped=stopped, left=left), options)
            yield from self._carry_out(action, context)
            progress.take(context.turns[-1])
        return from_hits(context, f"all {limits.turns} turns are used up (plan.turns)", options)

    def _next_action(self, asked: Prompt, goal: str, *, first: bool) -> wire.PlannerAction | None:
        """None where the reply cannot be read even after its repair; on the first turn that is a permissive search (VAM B.6).

        Raises ChatError when the model does not answer, or refuses.
        """
        try:
            action = readable_reply(self._models, asked, wire.decode_action)
        except UnreadableError:
            return wire.SearchAction(queries=[wire.SubQuery(q=goal, threshold=0.0)], thought="no valid action") if first else None
        if isinstance(action, wire.AnswerAction) and refuses(action.response):
            raise ChatError(f"the language model refused: {action.response.strip()[:120]}")
        return action

    def _prompt(self, goal: str, context: RetrievalContext, known: Surveyed, session: Session, left: int, *, only_answer: bool) -> Prompt:
        body: dict[str, Any] = {
            "request": session.question.text,
            "goal": goal,
            **surroundings(context, known, session),
            "context": render(context, self._settings.text_tokens, self._settings.line_tokens),
            "remaining_turns": left,
        }
        if only_answer:
            body["next_step"] = "Answer now with the best evidence there is."
        schema = wire.ANSWER_SCHEMA if only_answer else wire.ACTION_SCHEMA
        return request("planner", self._settings.planner, body, schema=schema)

    def _spent(self, asked: Prompt) -> str:
        """The cap that one more prompt would come near; "" for none. Asked beyond it, the model would refuse and all be lost."""
        left, kept_back = self._models.remaining, self._settings.spare
        wanted = sum(message.chars for message in asked.messages) // CHARS_PER_TOKEN + asked.max_tokens
        if left.tokens - wanted < kept_back * left.caps.tokens_per_question:
            return f"models.tokens_per_question = {left.caps.tokens_per_question}"
        if left.share < kept_back:
            return f"models.seconds_per_question = {left.caps.seconds_per_question:g}"
        return ""

    # The actions

    def _carry_out(self, action: wire.PlannerAction, context: RetrievalContext) -> Thought:
        turn = context.begin(action)
        span = yield from stretch(getattr(action, "time_range", None), context, turn)
        if span is None:
            return
        if isinstance(action, wire.SearchAction):
            yield from self._search(action, span, context, turn)
        elif isinstance(action, wire.InspectAction):
            yield from self._inspect(action, span, context, turn)
        elif isinstance(action, wire.SummarizeAction):
            yield from self._summarize(_summaries(action, span, context), context, turn)

    def _search(self, action: wire.SearchAction, span: Span, context: RetrievalContext, turn: PlannerTurn) -> Thought:
        visual_id: int | None = None
        if action.visual_ref is not None:
            seen = context.resolve(action.visual_ref)
            visual_id = seen.row.moment_id if seen else None
            if visual_id is None:
                turn.notes.append("visual_ref: that result does not exist or has no picture")
                return
        wanted = action.summary_filter or wire.SummaryFilter()
        hits = yield HybridSearch(
            queries=tuple(action.queries),
            sources=tuple(dict.fromkeys(action.sources or SOURCES)),
            from_us=span.from_us, to_us=span.to_us,
            structure=summary_key.structure_of(wanted.summary_structure) if wanted.summary_structure else None,
            granularity_s=wanted.granularity_seconds,
            visual_id=visual_id, summaries=tuple(context.summaries),
        )  # fmt: skip
        if not isinstance(hits, HybridHits):
            turn.notes.append(why_not(hits))
            return
        turn.results = results_of(hits)
        turn.notes += [*hits.notes, *(["nothing was found"] if not hits.rows else [])]
        ahead = [target_of(result) for result in turn.results if result.row.look_ahead]
        if len(ahead) > self._settings.inspections:
            _limited(
                f"only the {self._settings.inspections} best of {len(ahead)} candidates were looked at", "plan.inspections", turn, context
            )
        if ahead := ahead[: self._settings.inspections]:
            prompt = action.inspection_prompt.strip() or action.queries[0].q
            yield from self._look(ahead, prompt, turn, joint=action.joint_inspection)

    def _look(self, targets: list[Target], prompt: str, turn: PlannerTurn, *, joint: bool = False, max_frames: int = 6) -> Thought:
        inspected = yield VisualInspection(targets=tuple(targets), prompt=prompt[:2000], joint=joint, max_frames=max_frames)
        if not isinstance(inspected, Inspected):
            turn.notes.append(why_not(inspected))
            return
        turn.findings += inspected.findings
        turn.notes += inspected.notes
        if not turn.results:
            turn.results = inspected_results(inspected, prompt)

    def _inspect(self, action: wire.InspectAction, span: Span, context: RetrievalContext, turn: PlannerTurn) -> Thought:
        """A reference goes before a stretch of time, where both are given."""
        if action.ref is not None:
            result = context.resolve(action.ref)
            if result is None:
                turn.notes.append(f"there is no result {action.ref.turn_idx}, {action.ref.result_idx}")
                return
            turn.results = [result]
            target = target_of(result)
        else:
            from_us = context.base_us if span.from_us is None else span.from_us
            to_us = context.end_us if span.to_us is None else span.to_us
            target = Target(id=f"t{from_us}", stream="", from_us=min(from_us, to_us), to_us=to_us)
        yield from self._look([target], action.prompt, turn, max_frames=action.max_frames)

    def _summarize(self, action: WriteSummaries, context: RetrievalContext, turn: PlannerTurn) -> Thought:
        made = yield action
        if not isinstance(made, Summaries):
            turn.notes.append(why_not(made))
            return
        context.summaries += made.windows
        context.limits += made.limits
        turn.results = summary_results(made.windows)
        turn.notes += [*made.notes, *made.limits, *(["nothing was kept in that stretch of time"] if not made.windows else [])]

    def _timeline(self, args: wire.SummarizeArgs, context: RetrievalContext) -> Generator[Any, Any, Reply]:
        """The router's summaries are the answer."""
        wanted = wire.SummarizeAction(
            time_range=wire.TimeRange(min=args.min_time, max=args.max_time, mode=args.time_mode),
            granularity_seconds=args.granularity_seconds, prompt=args.prompt, summary_structure=args.summary_structure,
        )  # fmt: skip
        yield from self._carry_out(wanted, context)
        turn = context.turns[-1]
        if not turn.results:
            return Reply(text="Nothing was kept in that stretch of time.", status="abstained", confidence=0.0, notes=tuple(turn.notes))
        whole = "\n\n".join(result.row.text for result in turn.results)
        if len(whole) > ANSWER_CHARS:
            context.limits.append(f"the answer was cut after {ANSWER_CHARS} of {len(whole)} characters; the summaries are kept whole")
        return Reply(
            text=whole[:ANSWER_CHARS], status="answered", confidence=0.7,
            evidence=tuple(dict.fromkeys(result.row.id for result in turn.results)), notes=tuple(turn.notes),
        )  # fmt: skip


def _summaries(action: wire.SummarizeAction, span: Span, context: RetrievalContext) -> WriteSummaries:
    """Open ends are those of the memory."""
    return WriteSummaries(
        from_us=context.base_us if span.from_us is None else max(span.from_us, context.base_us),
        to_us=context.end_us + 1 if span.to_us is None else min(span.to_us, context.end_us + 1),
        granularity_s=action.granularity_seconds,
        prompt=action.prompt.strip(),
        structure=summary_key.structure_of(action.summary_structure or ""),
    )


def _limited(what: str, setting: str, turn: PlannerTurn, context: RetrievalContext) -> None:
    """Says to the planner and to the one who asked what a limit cut short, to the latter also which."""
    turn.notes.append(what)
    context.limits.append(f"{what} ({setting})")


def _why_stopped(action: wire.PlannerAction | None, limits: PlannerSettings, *, stopped: bool, left: int) -> str:
    if action is None:
        return "the language model gave no usable answer"
    if stopped:
        return f"the search was stopped after {limits.stagnation} turns without anything new (plan.stagnation)"
    return f"the search was stopped with {left} of {limits.turns} turns left (plan.turns)"


def failures(calls: Sequence[Call]) -> tuple[str, ...]:
    """For the one who asked: which tasks of the language model failed, how often, and why."""
    failed = Counter((call.task, why) for call in calls if (why := _failure(call)))
    every = Counter(call.task for call in calls)
    return tuple(f"{number} of {every[task]} calls of the {task} failed: {error}" for (task, error), number in failed.items())


def _failure(call: Call) -> str:
    return call.error or ("the language model refused" if call.finish == "refusal" or refuses(call.reply) else "")
