"""One question being answered: what was asked, and every step that was taken with what it brought."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from edgemem.answer.retrieve import distinct
from edgemem.answer.tools import Action, Refused, Result
from edgemem.answer.understand import Parsed, followup, understand
from edgemem.answer.understand.timespan import TimeSpan
from edgemem.config import QuestionCaps
from edgemem.errors import UsageError
from edgemem.llm.calls import Call
from edgemem.records import Evidence, Question, Record
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


@dataclass
class Session:
    """What a planner sees: the question in words and, once it asks for that, parsed; its stretch of time, and the steps so far."""

    question: Question
    understood: Callable[[], tuple[Parsed, TimeSpan]] | None = None
    """Reads the question's English, the first time that `parsed` or `span` is looked at."""
    reads: Callable[..., tuple[Parsed, TimeSpan]] | None = None
    """Reads another question, and the one that it goes on about: this one where none is given."""
    before: str = ""
    """The question that this one may go on about."""
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
            parsed, span = self.reads(text) if self.reads else (understand(text, self.parsed), self.span)
            own, parsed = parsed.time, followup.resolved(parsed, self.parsed)
            return parsed, span if parsed.time == own else self.span

        return dataclasses.replace(self, question=msgspec.structs.replace(self.question, text=text), understood=read)

    def alone(self, text: str) -> Session:
        """The same for another question that stands by itself and has no options."""
        question, reads = msgspec.structs.replace(self.question, text=text, options=()), self.reads
        return dataclasses.replace(self, question=question, understood=(lambda: reads(text, "")) if reads else None, before="")

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
_RECENT = 10
"""Sessions that are looked through for a question that stands by itself."""


def question_before(view: View, which: str) -> str:
    """The question that a follow-up goes on about: of the session with this number, or of the "last" one; "" for "".

    The last that stands by itself: a follow-up says too little to go on about. Raises UsageError for an unknown session.
    """
    if not which:
        return ""
    if which == "last":
        asked = (head.question for head in view.sessions(limit=_RECENT))
        return next((question for question in asked if not ((one := understand(question)).follows or one.about)), "")
    kept = view.session(int(which)) if which.isdecimal() and len(which) <= _ID_DIGITS else None
    if kept is None:
        raise UsageError(f'this memory has no session "{which}"; give a number from edgemem sessions list, or "last"')
    return kept.question
