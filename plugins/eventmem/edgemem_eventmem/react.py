"""The planner `react`: one thought, one action, one result at a time (EventMemAgent section 3.4, appendix C.1).

A language model chooses the actions, within bounds. Without one the tool-choice policy of `local` does.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from edgemem.extend import US, ChatError, ChatMessage, EdgememError, Prompt, Refused, Reply, Thinking, Thought, ToolResult
from edgemem_eventmem.actions import Events, Frames, Looked, RecallFrames
from edgemem_eventmem.compose import reply_from
from edgemem_eventmem.local import LocalPolicy
from edgemem_eventmem.overlay import event_label, frame_label, labelled
from edgemem_eventmem.prompts import prompt
from edgemem_eventmem.recall import LongTermEvent, ShortTermFrame
from edgemem_eventmem.settings import ReactSettings
from edgemem_eventmem.wire import Turn, WireError, decode_turn, option_of, schema, typed

if TYPE_CHECKING:
    from edgemem.extend import Models, Session

TASK = "eventmem_react"
IMAGE_TOKENS = 1000
"""Estimate for one picture, as the core counts before it asks."""
_EXPECTED_TURNS = 4
"""Every turn shows the pictures again; so many turns must fit into the question's share of tokens."""
_REPAIR = "That reply cannot be used: {problem}. Reply again with only one JSON object in the format of the instructions."
_LAST = "This is the last turn: give your final answer."
_QUOTED = 1500
"""Characters of a broken reply that go back to the model."""


class ReactPlanner(Thinking):
    """Short-term memory, then one action at a time. What was found answers where the model fails half-way."""

    name = "react"

    def __init__(self, settings: ReactSettings | None, models: Models, tools: Sequence[Any] = ()) -> None:
        super().__init__()
        self._settings = settings or ReactSettings()
        self._models = models
        self.tools = tuple(tools)
        self._policy = LocalPolicy.shipped()

    def think(self, session: Session) -> Thought:
        recalled = yield RecallFrames(frames=self._settings.frames)
        frames = recalled if isinstance(recalled, Frames) else Frames()
        if not self._models.there:
            yield (yield from self._policy.answer(session, frames))
            return
        yield (yield from self._loop(session, frames))

    def _loop(self, session: Session, frames: Frames) -> Generator[Any, Any, Reply]:
        talk = _Talk(session, frames, self._shown(frames))
        for number in range(1, self._settings.turns + 1):
            last = number == self._settings.turns
            try:
                turn = self._turn(talk, last=last)
            except ChatError as error:
                if not talk.results:
                    raise
                return reply_from(session, frames, talk.results, f"the language model failed ({error}); this is what was found")
            if turn is None:
                break
            if turn.call is None:
                return self._answer(turn, talk)
            if last:
                break
            yield from self._carry_out(turn, talk)
        return reply_from(session, frames, talk.results, "the language model gave no usable answer")

    def _shown(self, frames: Frames) -> int:
        """How many frames are shown as pictures in every turn."""
        if not self._models.sees(TASK):
            return 0
        fit = self._models.remaining.tokens * 2 // (3 * _EXPECTED_TURNS * IMAGE_TOKENS)
        return min(self._settings.shown, fit, len(frames.frames))

    def _turn(self, talk: _Talk, *, last: bool) -> Turn | None:
        """The next reply, asked for once more where it breaks the format; None where it breaks it again. Raises ChatError."""
        talk.begin_turn(_LAST if last else "")
        for _ in range(2):
            asked = Prompt(
                task=TASK, messages=tuple(talk.messages), max_tokens=self._settings.max_tokens, schema=schema(last=last),
                schema_name="turn", thinking_tokens=self._settings.thinking_tokens, logprobs=self._settings.logprobs,
            )  # fmt: skip
            text = self._models.complete(asked).text
            talk.say("assistant", text[:_QUOTED] or "(empty)")
            try:
                turn = decode_turn(text)
                if turn.call is not None:
                    typed(turn.call, talk.frames.stream_t0_us)
            except WireError as error:
                talk.say("user", _REPAIR.format(problem=error))
                continue
            return turn
        return None

    def _carry_out(self, turn: Turn, talk: _Talk) -> Thought:
        assert turn.call is not None
        action = typed(turn.call, talk.frames.stream_t0_us)
        if action in talk.done:
            talk.observe({"note": "you did exactly this before; its result stands above"})
            return
        result = yield action
        talk.done.append(action)
        if isinstance(result, Refused):
            talk.observe({"note": f"this could not be done: {result.why.partition(': ')[0]}"})
            return
        talk.results.append(result)
        talk.show(result)

    def _answer(self, turn: Turn, talk: _Talk) -> Reply:
        """The model's answer with what it cites. An option needs no citation in the paper: what was looked at last stands for it."""
        assert turn.answer is not None
        options = talk.session.question.options
        option = option_of(turn.answer, options) if options else None
        if options and option is None:
            return reply_from(talk.session, talk.frames, talk.results, "the language model chose none of the options")
        evidence = tuple(dict.fromkeys(name for cite in turn.cites if (name := talk.cited(cite))))
        looked_at = () if evidence or option is None else talk.looked_at()
        return Reply(
            text=options[option] if option is not None else turn.answer, option=option, evidence=evidence or looked_at,
            status="answered" if evidence or looked_at else "abstained",
            confidence=_CITED if evidence else _UNCITED if looked_at else 0.0,
            notes=() if evidence else ("the language model cited nothing",),
        )  # fmt: skip


@dataclass
class _Talk:
    """The conversation about one question."""

    session: Session
    frames: Frames
    shown: int
    """Frames that are shown as pictures."""
    messages: list[ChatMessage] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)
    done: list[Any] = field(default_factory=list)
    """Actions that were carried out."""
    events: dict[int, LongTermEvent] = field(default_factory=dict)
    """Events that came up, by number."""

    def __post_init__(self) -> None:
        question, frames = self.session.question, self.frames.frames
        pictures = self._pictures(evenly(frames, self.shown))
        body: dict[str, Any] = {
            "question": question.text,
            "asked_at": seconds(question.asked_us, self.frames.stream_t0_us),
            "short_term": [
                {"frame": f.index, "time_s": seconds(f.moment.t_us, self.frames.stream_t0_us), "recognised": f.text} for f in frames
            ],
            "pictures": [f"frame {index}" for index in pictures],
        }
        if question.options:
            body["options"] = {chr(65 + index): option for index, option in enumerate(question.options)}
        span = self.session.span
        ends = {"from_s": span.from_us, "to_s": span.to_us}
        if named := {key: seconds(t_us, self.frames.stream_t0_us) for key, t_us in ends.items() if t_us is not None}:
            body["question_names_time"] = named
        ids = tuple(f"m{frames[index].moment.id}" for index in pictures)
        self.messages.append(ChatMessage(role="system", text=prompt(TASK)))
        self.messages.append(ChatMessage(role="user", data=body, images=tuple(pictures.values()), image_ids=ids))

    def begin_turn(self, rule: str) -> None:
        """Say the rule of this turn, where there is one."""
        if rule:
            self.say("user", rule)

    def say(self, role: Any, text: str) -> None:
        """Append a message."""
        self.messages.append(ChatMessage(role=role, text=text))

    def observe(self, body: dict[str, Any], images: Sequence[bytes] = (), ids: tuple[str, ...] = ()) -> None:
        """Append what an action brought."""
        self.messages.append(ChatMessage(role="user", data={"result": body}, images=tuple(images), image_ids=ids))

    def show(self, result: ToolResult) -> None:
        """A result as the model reads it: events with their first frame as a picture."""
        if isinstance(result, Events):
            self.events |= {event.id: event for event in result.events}
            pictures = {event.id: jpeg for event in result.events if self.shown and (jpeg := self._first_frame(event))}
            told = [self._event(event) for event in result.events]
            ids = tuple(f"m{self.events[number].first_frame}" for number in pictures)
            notes = list(result.notes) or ([] if told else ["no event fits"])
            self.observe({"events": told, "pictures": [f"event {n}" for n in pictures], "notes": notes}, (*pictures.values(),), ids)
        elif isinstance(result, Looked):
            found = [
                {"name": one.name, "confidence": round(one.confidence, 2), "box": None if one.box is None else _box(one.box)}
                for one in result.found
            ]
            self.observe({"found": found, "cannot_be_recognised_here": result.unknown, "notes": result.notes})

    def cited(self, cite: str) -> str:
        """The evidence id of "frame 3" or "event 12"; "" for what never came up."""
        word, _, number = cite.strip().casefold().partition(" ")
        if not number.isdecimal():
            return ""
        if word == "frame" and int(number) < len(self.frames.frames):
            return self.frames.frames[int(number)].evidence.id
        return self.events[int(number)].evidence.id if word == "event" and int(number) in self.events else ""

    def looked_at(self) -> tuple[str, ...]:
        """Evidence ids of the last result that has any, else of the newest frame."""
        for result in reversed(self.results):
            if isinstance(result, Events | Looked) and result.evidence:
                return tuple(one.id for one in result.evidence)
        return tuple(frame.evidence.id for frame in self.frames.frames[-1:])

    def _event(self, event: LongTermEvent) -> dict[str, Any]:
        t0_us = self.frames.stream_t0_us
        return {
            "event_id": event.id, "start_s": seconds(event.t0_us, t0_us), "end_s": seconds(event.t1_us, t0_us), "caption": event.caption,
            "change_from_previous": event.change_from_previous, "change_to_next": event.change_to_next,
        }  # fmt: skip

    def _pictures(self, frames: Sequence[ShortTermFrame]) -> dict[int, bytes]:
        """Labelled pictures by frame number; those that have faded are left out."""
        shown = {}
        for frame in frames:
            label = frame_label(frame.index, seconds(frame.moment.t_us, self.frames.stream_t0_us))
            if jpeg := self._labelled(frame.moment.id, label):
                shown[frame.index] = jpeg
        return shown

    def _first_frame(self, event: LongTermEvent) -> bytes | None:
        t0_us = self.frames.stream_t0_us
        label = event_label(event.id, seconds(event.t0_us, t0_us), seconds(event.t1_us, t0_us))
        return self._labelled(event.first_frame, label) if event.first_frame is not None else None

    def _labelled(self, moment_id: int, label: str) -> bytes | None:
        try:
            return labelled(self.session.picture(moment_id), label) if self.session.picture is not None else None
        except EdgememError:
            return None


_CITED, _UNCITED = 0.8, 0.4
"""Confidence of an answer with and without evidence that it names."""


def evenly(frames: Sequence[ShortTermFrame], count: int) -> list[ShortTermFrame]:
    """At most `count` of them, evenly spread; the last is always among them."""
    if len(frames) <= count:
        return list(frames)
    return [frames[len(frames) - 1 - int(index * len(frames) / count)] for index in reversed(range(count))]


def seconds(t_us: int, t0_us: int) -> float:
    """Since the first frame of the stream, to a tenth."""
    return round((t_us - t0_us) / US, 1)


def _box(box: Any) -> list[float]:
    return [round(edge, 3) for edge in (box.x0, box.y0, box.x1, box.y1)]
