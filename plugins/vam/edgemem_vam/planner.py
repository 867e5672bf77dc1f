"""The planner `vam`: VAM's bounded loop of a router and a planner that search, inspect, summarize and answer (section 3.4, appendix B).

Every question is one generator: it yields typed actions, is sent their results, and yields the reply. What the model writes is decoded
strictly (`wire`), resolved to ids and times, and carried out by the same tools, checks and session log as the local planner's actions.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import msgspec

from edgemem.answer.generator_planner import Thinking, Thought
from edgemem.answer.session import Session
from edgemem.answer.tools import Refused, Reply
from edgemem.errors import ChatError
from edgemem.infer.chat import refuses
from edgemem_vam import summary_key, wire
from edgemem_vam.actions import SOURCES, Hits, HybridSearch, Inspect, Inspected, Summaries, Survey, Surveyed, Target, WriteSummaries
from edgemem_vam.anchors import Span, stretch
from edgemem_vam.context import Context, Turn, inspected_results, note_results, results_of, target_of
from edgemem_vam.reply import answer, from_hits, letters
from edgemem_vam.roles import PLANNER, ROUTER, Role, decide, request

if TYPE_CHECKING:
    from edgemem.answer.models import Models
    from edgemem.infer.chat import Prompt

_CHARS_PER_TOKEN = 3
"""Of English text a token is about 4 characters; `answer.models` counts before sending with 3 as well."""


class PlannerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds of the loop."""

    turns: int = 20
    """VAM, `VAM_AGENT_MAX_TURNS`."""
    few_turns: int = 2
    """With so many turns left and something found, only an answer is taken (VAM B.7.2)."""
    stagnation: int = 3
    """Turns without a new result after which an answer is asked for. VAM's code can never reach its own limit."""
    inspections: int = 10
    """Candidates that one search has looked at, at most."""
    spare: float = 0.15
    """Share of the question's tokens and seconds that is kept back: when the rest is used up, the loop answers from what it has."""
    route: bool = True
    """Ask the router first; without it every question is searched for."""
    router: Role = ROUTER
    planner: Role = PLANNER


class VamPlanner(Thinking):
    """Needs a language model: without one `next` raises ChatError and the local planner answers."""

    name = "vam"

    def __init__(self, settings: PlannerSettings | None, models: Models, *, tokens_limit: int = 0, seconds_limit: float = 0.0) -> None:
        """`tokens_limit`, `seconds_limit`: what one question may spend on the model; 0 = no limit is known."""
        super().__init__()
        self._settings = settings or PlannerSettings()
        self._models = models
        self._limits = (tokens_limit, seconds_limit)
        self.tools: tuple[Any, ...] = ()
        """What carries out its actions; recipes may name others."""

    def think(self, session: Session) -> Thought:
        surveyed = yield Survey(asked_us=session.question.asked_us)
        known = surveyed if isinstance(surveyed, Surveyed) else Surveyed()
        context = Context.of(known, session.question.tz)
        route = self._route(session)
        if isinstance(route, wire.Final):
            reply = Reply(text=route.text[:4000], status="abstained", confidence=0.0, notes=("answered without looking into the memory",))
        elif isinstance(route, wire.SummarizeTool):
            reply = yield from self._timeline(route.args, context)
        else:
            goal = route.args.question if isinstance(route, wire.Retrieve) else session.question.text
            reply = yield from self._retrieve(goal, context, known, session)
            if session.question.options and reply.status == "answered" and reply.option is None:
                raise ChatError(f"the language model chose none of the options ({'; '.join(reply.notes) or reply.text[:80]})")
        yield reply

    def _route(self, session: Session) -> wire.Route | None:
        """None when the router's reply cannot be read, or is a refusal: then the question is searched for as it is (VAM B.7.1)."""
        if not self._settings.route or session.question.options:
            return None
        asked = request("router", self._settings.router, {"request": session.question.text}, schema=wire.ROUTE_SCHEMA)
        route = decide(self._models, asked, wire.decode_route, repair=False)
        return None if isinstance(route, wire.Final) and refuses(route.text) else route

    def _retrieve(self, goal: str, context: Context, known: Surveyed, session: Session) -> Generator[Any, Any, Reply]:
        stale = 0
        for turn in range(1, self._settings.turns + 1):
            left = self._settings.turns - turn + 1
            last = left == 1 or (context.found and (left <= self._settings.few_turns or stale >= self._settings.stagnation))
            asked = self._prompt(goal, context, known, session, left, only_answer=last)
            if context.turns and self._spent(session, asked):
                return from_hits(context, "the question's share of the language model is nearly used up")
            action = decide(self._models, asked, wire.decode_action)
            if action is None and turn == 1 and not last:
                action = wire.Search(queries=[wire.Query(q=goal, threshold=0.0)], thought="permissive search: no valid action")
            if isinstance(action, wire.Answer):
                if refuses(action.response):
                    raise ChatError(f"the language model refused: {action.response.strip()[:120]}")
                return answer(action, context, session.question.options)
            if action is None or last:
                return from_hits(context, "the language model gave no usable answer" if action is None else "the search was stopped")
            before = context.unique
            yield from self._carry_out(action, context)
            stale = 0 if context.unique > before else stale + 1
        return from_hits(context, "all turns are used up")

    def _prompt(self, goal: str, context: Context, known: Surveyed, session: Session, left: int, *, only_answer: bool) -> Prompt:
        body: dict[str, Any] = {
            "request": session.question.text,
            "goal": goal,
            "asked_at": context.clock(min(session.question.asked_us, session.question.as_of_us)),
            "memory": {
                "streams": [
                    {"stream": s.name, "start": context.seconds(s.t0_us), "end": context.seconds(s.t1_us), "clock": context.clock(s.t0_us)}
                    for s in known.streams
                ]
            },
            "available_summary_structures": [
                {"summary_structure": s.name, "granularity_seconds": s.granularity_s, "windows": s.windows, "focus": s.focus}
                for s in known.structures
            ],
            "context": context.render(),
            "remaining_turns": left,
        }
        if session.question.options:
            body["options"] = letters(session.question.options)
        span = {"min": session.span.from_us, "max": session.span.to_us}
        if ends := {end: context.seconds(t_us) for end, t_us in span.items() if t_us is not None}:
            body["asked_time"] = ends
        if known.conversation:
            body["conversation"] = [{"user": e.question, "text": e.answer} for e in known.conversation]
        if only_answer:
            body["next_step"] = "Answer now with the best evidence there is."
        schema = wire.ANSWER_SCHEMA if only_answer else wire.ACTION_SCHEMA
        return request("planner", self._settings.planner, body, schema=schema)

    def _spent(self, session: Session, asked: Prompt) -> bool:
        """Whether one more prompt would come near the question's share; asked beyond it, the model would refuse and all be lost."""
        tokens, seconds = self._limits
        used = sum(call.tokens_in + call.tokens_out for call in session.calls)
        wanted = sum(message.chars for message in asked.messages) // _CHARS_PER_TOKEN + asked.max_tokens
        waited_s = sum(call.ms for call in session.calls) / 1000
        share = 1 - self._settings.spare
        return bool((tokens and used + wanted > share * tokens) or (seconds and waited_s > share * seconds))

    # The actions

    def _carry_out(self, action: wire.Action, context: Context) -> Thought:
        turn = context.begin(action)
        span = yield from stretch(getattr(action, "time_range", None), context, turn)
        if span is None:
            return
        if isinstance(action, wire.Search):
            yield from self._search(action, span, context, turn)
        elif isinstance(action, wire.Inspect):
            yield from self._inspect(action, span, context, turn)
        elif isinstance(action, wire.Summarize):
            yield from self._summarize(_summaries(action, span, context), context, turn)

    def _search(self, action: wire.Search, span: Span, context: Context, turn: Turn) -> Thought:
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
            visual_id=visual_id, notes=tuple(context.notes),
        )  # fmt: skip
        if not isinstance(hits, Hits):
            turn.notes.append(_why(hits))
            return
        turn.results = results_of(hits)
        turn.notes += [*hits.notes, *(["nothing was found"] if not hits.rows else [])]
        ahead = [target_of(result) for result in turn.results if result.row.look_ahead]
        if len(ahead) > self._settings.inspections:
            turn.notes.append(f"only the {self._settings.inspections} best of {len(ahead)} candidates were looked at")
        if ahead := ahead[: self._settings.inspections]:
            prompt = action.inspection_prompt.strip() or action.queries[0].q
            yield from self._look(ahead, prompt, turn, joint=action.joint_inspection)

    def _look(self, targets: list[Target], prompt: str, turn: Turn, *, joint: bool = False, max_frames: int = 6) -> Thought:
        inspected = yield Inspect(targets=tuple(targets), prompt=prompt[:2000], joint=joint, max_frames=max_frames)
        if not isinstance(inspected, Inspected):
            turn.notes.append(_why(inspected))
            return
        turn.findings += inspected.findings
        turn.notes += inspected.notes
        if not turn.results:
            turn.results = inspected_results(inspected)

    def _inspect(self, action: wire.Inspect, span: Span, context: Context, turn: Turn) -> Thought:
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

    def _summarize(self, action: WriteSummaries, context: Context, turn: Turn) -> Thought:
        made = yield action
        if not isinstance(made, Summaries):
            turn.notes.append(_why(made))
            return
        context.notes += made.windows
        turn.results = note_results(made.windows)
        turn.notes += [*made.notes, *(["nothing was kept in that stretch of time"] if not made.windows else [])]

    def _timeline(self, args: wire.SummarizeArgs, context: Context) -> Generator[Any, Any, Reply]:
        """The router's summaries are the answer."""
        wanted = wire.Summarize(
            time_range=wire.TimeRange(min=args.min_time, max=args.max_time, mode=args.time_mode),
            granularity_seconds=args.granularity_seconds, prompt=args.prompt, summary_structure=args.summary_structure,
        )  # fmt: skip
        yield from self._carry_out(wanted, context)
        turn = context.turns[-1]
        if not turn.results:
            return Reply(text="Nothing was kept in that stretch of time.", status="abstained", confidence=0.0, notes=tuple(turn.notes))
        return Reply(
            text="\n\n".join(result.row.text for result in turn.results)[:4000], status="answered", confidence=0.7,
            evidence=tuple(dict.fromkeys(result.row.id for result in turn.results)), notes=tuple(turn.notes),
        )  # fmt: skip


def _summaries(action: wire.Summarize, span: Span, context: Context) -> WriteSummaries:
    """Open ends are those of the memory."""
    return WriteSummaries(
        from_us=context.base_us if span.from_us is None else max(span.from_us, context.base_us),
        to_us=context.end_us + 1 if span.to_us is None else min(span.to_us, context.end_us + 1),
        granularity_s=action.granularity_seconds,
        prompt=action.prompt.strip(),
        structure=summary_key.structure_of(action.summary_structure or ""),
    )


def _why(result: Any) -> str:
    """For the planner, without the words of another model or of a server: those may be what a picture told it to say."""
    return f"this could not be done: {result.why.partition(': ')[0]}" if isinstance(result, Refused) else "this could not be done"
