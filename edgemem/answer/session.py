"""One question being answered: what was asked, and every step that was taken with what it brought."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from edgemem.answer.retrieve import distinct
from edgemem.answer.tools import Action, Refused, Reply, Result
from edgemem.answer.understand import Parsed, understand
from edgemem.answer.understand.record import Answered
from edgemem.answer.understand.timespan import TimeSpan
from edgemem.config import QuestionCaps
from edgemem.errors import UsageError
from edgemem.llm.calls import Call
from edgemem.records import US, Evidence, Question, Record
from edgemem.remember.results import SessionLog
from edgemem.remember.view import View


class Step(Record, frozen=True):
    """An action, its result, and how long it took."""

    action: Action
    result: Result
    ms: float

    @property
    def summary(self) -> str:
        """One line for logs and prompts."""
        what = " ".join(str(value) for value in (getattr(self.action, name, "") for name in ("query", "name")) if value)
        told = f"refused, {self.result.why}" if isinstance(self.result, Refused) else f"{len(self.result.evidence)} hits"
        return f"{type(self.action).__name__.lower()} {what}: {told}".replace(" :", ":")


class Turn(Record, frozen=True):
    """A question that was asked before, and what it was answered."""

    question: str
    answered: Answered = Answered()


@dataclass
class Session:
    """What a planner sees: the question in words and, once it asks for that, parsed; its stretch of time, and the steps so far."""

    question: Question
    understood: Callable[[], tuple[Parsed, TimeSpan]] | None = None
    """Reads the question's English, the first time that `parsed` or `span` is looked at."""
    reads: Callable[..., tuple[Parsed, TimeSpan]] | None = None
    """Reads another question, and the one that it goes on about: this one where none is given."""
    before: tuple[Turn, ...] = ()
    """What this one may go on about, oldest first."""
    empty: bool = False
    """The memory holds nothing up to the as-of time."""
    caps: QuestionCaps = field(default_factory=QuestionCaps)
    """What its recipe lets it spend on language models."""
    steps: list[Step] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    """Every time a language model was asked."""
    reserved_tokens: int = 0
    """What calls that are under way may take at most."""
    unshown: dict[str, str] = field(default_factory=dict)
    """Tasks that wanted to show pictures and could not, with the reason."""
    thoughts: dict[str, Generator[Any, Any, None]] = field(default_factory=dict)
    """Where planners that are generators are in this question, by their names."""
    picture: Callable[[int], bytes] | None = None
    """The JPEG of a moment, in the view of this question; raises MemoryDirError where it has faded. For planners that show pictures."""

    @property
    def picture_notes(self) -> tuple[str, ...]:
        """One line for every task that was to show pictures and showed none."""
        shown = {call.task for call in self.calls if call.pictures and not call.error}
        return tuple(f"no picture was shown to the {task}: {why}" for task, why in self.unshown.items() if task not in shown)

    @cached_property
    def _read(self) -> tuple[Parsed, TimeSpan]:
        return self.understood() if self.understood is not None else (understand(self.question.text), TimeSpan())

    def about(self, text: str) -> Session:
        """The same for another question that goes on about this one; what was found for either stands in the steps of both."""

        def read() -> tuple[Parsed, TimeSpan]:
            turns = (*self.before, Turn(question=self.question.text))
            parsed, span = self.reads(text, turns) if self.reads else (understand(text, self.parsed), self.span)
            same = parsed.time is None and parsed.verb in {"", "be"}  # "which doctor was there on Monday, and what room"
            return (msgspec.structs.replace(parsed, time=self.parsed.time), self.span) if same else (parsed, span)

        return dataclasses.replace(self, question=msgspec.structs.replace(self.question, text=text), understood=read)

    def alone(self, text: str) -> Session:
        """The same for another question that stands by itself and has no options."""
        question, reads = msgspec.structs.replace(self.question, text=text, options=()), self.reads
        return dataclasses.replace(self, question=question, understood=(lambda: reads(text, ())) if reads else None, before=())

    @property
    def parsed(self) -> Parsed:
        """What the question means, by the rules for English."""
        return self._read[0]

    @property
    def span(self) -> TimeSpan:
        """The stretch of time that it names in this memory."""
        return self._read[1]

    @property
    def notes(self) -> tuple[str, ...]:
        """What reading the question left to say; nothing where no planner had it read."""
        return (*self.parsed.notes, *self.span.notes) if "_read" in self.__dict__ else ()

    def evidence(self) -> dict[str, Evidence]:
        """Everything that came up so far, by id. What came up again stands as it was first: a search comes before an inspection."""
        return {one.id: one for one in distinct(one for step in self.steps for one in step.result.evidence)}


_ID_DIGITS = 18
"""What SQLite can count to has more."""
_RECENT = 8
"""A conversation is read back so far: what more of them leave out stands in none of these."""
_WORDS = 0.8
"""How surely words that were told are those that a question goes on about, however sure it was that they answer the one before; chosen."""
_PAUSE_US = 600 * US
"""A longer pause ends a conversation."""


def turns_before(view: View, which: str) -> tuple[Turn, ...]:
    """The conversation that ends with the session of this number, or with the "last" one, oldest first; nothing for "".

    It begins with a question that went on about none, or behind a pause; what asks for nothing ("thank you") is left out. Raises UsageError
    for an unknown session.
    """
    if not which:
        return ()
    kept = view.session(int(which)) if which.isdecimal() and len(which) <= _ID_DIGITS else None
    if kept is None and which != "last":
        raise UsageError(f'this memory has no session "{which}"; give a number from edgemem sessions list, or "last"')
    ids = [kept.id - i for i in range(_RECENT)] if kept else [head.id for head in view.sessions(limit=_RECENT)]
    turns, next_us, begun = list[Turn](), None, False
    for log in filter(None, map(view.session, ids)):
        if begun or (next_us is not None and next_us - log.asked_us > _PAUSE_US):
            break
        answered, begun = _answered(log)
        next_us = log.asked_us
        if understand(log.question).about in {"", "told"}:
            turns.insert(0, Turn(question=log.question, answered=answered))
    return tuple(turns)


class _Cited(Record, frozen=True):
    """What the last step of a stored session brought."""

    evidence: tuple[Evidence, ...] = ()
    begins: bool = False
    """Its question went on about none."""


def _answered(log: SessionLog) -> tuple[Answered, bool]:
    """What a stored session answered, and whether a conversation begins with it. Its last step is the answer, with what it cites.

    Of an abstention only words were told ("the nearest that I know"): its pictures show what may have been there.
    """
    if not log.steps:
        return Answered(), False
    try:
        reply = msgspec.json.decode(log.steps[-1].action_json, type=Reply)
        cited = msgspec.json.decode(log.steps[-1].result_json, type=_Cited)
    except msgspec.DecodeError:  # of a version that stored it in another way
        return Answered(text=log.answer), False
    in_words = {one.id: one.channel in {"speech", "text"} for one in cited.evidence}
    told = (one for one in cited.evidence if log.status == "answered" or in_words[one.id])
    evidence = tuple(msgspec.structs.replace(one, score=max(log.confidence, _WORDS * in_words[one.id])) for one in told)
    return Answered(text=log.answer, names=reply.named, evidence=evidence), cited.begins
