"""`Memory`: the interface for programs. The command line and the daemon use the same services."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec

from edgemem.characters import storable
from edgemem.clock import from_iso, now_us
from edgemem.config import parse_bytes
from edgemem.errors import EdgememError, MemoryDirError, UsageError
from edgemem.events import Event, QuestionAnswered, QuestionStep
from edgemem.extend.environment import Environment
from edgemem.extend.feed import SIZE, Feed, Subscription
from edgemem.records import Answer, Entity, Evidence, Question
from edgemem.remember.administration import open_view
from edgemem.remember.disk.directory import require_not_paused
from edgemem.remember.forget import forget as forget_it
from edgemem.remember.forgetting.selection import Receipt, Wanted
from edgemem.remember.results import Stats
from edgemem.remember.store import Store
from edgemem.remember.view import FOREVER_US
from edgemem.secret import address
from edgemem.see.report import INTERRUPTED, STOPPED, IngestReport, Progress
from edgemem.serve import lookup
from edgemem.serve.client import AgentUnavailable, call
from edgemem.serve.messages import (
    MAX_QUESTION_CHARS,
    AskReply,
    AskRequest,
    ForgetReply,
    ForgetRequest,
    MergeReply,
    MergeRequest,
    NameReply,
    NameRequest,
    NameThingRequest,
    Reply,
    Request,
    SearchReply,
    SearchRequest,
    ThingReply,
)
from edgemem.serve.questions import QuestionService
from edgemem.serve.results import Ingested, Shown, TimelineEntry
from edgemem.serve.session_log import Trace, keep_if_free

if TYPE_CHECKING:
    from typing_extensions import Self

R = TypeVar("R", bound=Reply)
OnStep = Callable[[QuestionStep], object]

Time = int | str | datetime
"""A time: microseconds since 1970 UTC, ISO 8601 text, or a datetime. Without a time zone, that of the settings is used."""
SearchChannel = Literal["frame", "event", "text", "speech", "entity", "any"]


def _ignored(_: QuestionStep) -> None: ...


NAME_WAIT_S = 60.0
THING_WAIT_S = 300.0
FORGET_WAIT_S = 3600.0
"""Longest wait for the agent to forget: it suspends the streams and wipes a large file. It continues even if the caller ends."""
SEARCH_WAIT_S = 60.0
"""How long a search of the agent is waited for; a question gets `models.seconds_per_question` besides."""
MODEL_WAIT_S = 3600.0
"""For a question whose recipe says how long it may wait for the model: reading the recipe would cost more than it tells."""


@dataclass(frozen=True)
class TracedAnswer:
    """An answer, its trace and its notes."""

    answer: Answer
    trace: str
    """How it was found, step by step, if requested."""
    notes: tuple[str, ...]
    """Notes about the question and the agent; the answer has its own notes."""
    _memory: Path
    _unlogged: Trace | None

    def log(self) -> str:
        """Store how the answer was found, unless the agent did; returns "" or one line on why that is not possible."""
        return "" if self._unlogged is None else keep_if_free(self._memory, self._unlogged)


class Memory:
    """A memory: ingest recordings and cameras, ask, search, show evidence, forget.

    If an agent (`edgemem run`) has the memory open, it answers; else this process does, with the same result. Several threads may ask and
    search at the same time; only one process at a time may ingest and forget.

    >>> from edgemem import Memory
    >>> with Memory.open("walk.memory") as memory:
    ...     report = memory.ingest("walk.mp4", start="2026-05-04T08:00:00Z")
    ...     answer = memory.ask("Where did I see a cup of coffee?")
    ...     if answer.status == "answered":
    ...         picture = memory.show(answer.evidence[0].id).picture
    """

    def __init__(self, directory: str | Path, environment: Environment, report: Callable[[str], object] = lambda _: None) -> None:
        """Use an existing environment. `report` is called with messages for a person, for example that an agent does not respond."""
        self.directory = Path(directory)
        self.environment = environment
        self.feed = Feed()
        self._report = report
        self._questions = QuestionService(self.directory, environment, self.feed)

    @classmethod
    def open(cls, directory: str | Path, *, config: str | Path | None = None, overrides: Iterable[str] = ()) -> Self:
        """The memory in `directory`; `ingest` creates it if it does not exist.

        `config` is a settings file (default: `EDGEMEM_CONFIG`, else the defaults), `overrides` are settings such as "budget.disk=64MiB".
        Raises UsageError for wrong settings.
        """
        environment = Environment.load(None if config is None else Path(config), overrides)
        assert environment.settings is not None  # raise errors now, not at the first question
        return cls(directory, environment)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the subscriptions. All data is stored already. Calling it twice does nothing."""
        self.feed.close()

    def ingest(
        self,
        source: str | Path,
        *,
        recipe: str = "",
        start: Time | None = None,
        stream: str = "",
        subtitles: str = "",
        again: bool = False,
        progress: Progress | None = None,
    ) -> IngestReport:
        """Ingest one source to its end: a video, a recording of sound, a folder of pictures, a camera ("0"), or a URL ("rtsp://...").

        `start` is the wall time of a recording's first frame (default: now minus its length), `stream` the name of its stream (default: the
        file's), `subtitles` a subtitle file ("none": use speech recognition). A recording that is in the memory already is ingested again
        only with `again`. `progress(done_us, total_us)` is called after each frame; the total of a live source is None.

        Raises SourceError for a source that cannot be read, UsageError, MemoryDirError.
        """
        start_us = self._us(start)
        from edgemem.serve import ingest  # a question does not need it, nor admin and taught: 60 ms

        request = ingest.IngestRequest(
            source=address(source), recipe=recipe, start_us=start_us, stream=stream, subtitles=subtitles, again=again
        )
        return ingest.ingest(self.environment, self.directory, request, self.feed, progress)

    def ingest_all(
        self,
        sources: Iterable[str | Path],
        *,
        recipe: str = "",
        again: bool = False,
        progress: Callable[[str, int, int | None], None] | None = None,
    ) -> Iterator[Ingested]:
        """Ingest several sources, one after the other; yields the result of each. If one fails, the others continue.

        An interruption, or a memory that cannot be written, stops all of them. `progress` gets the source too. Raises UsageError for a
        wrong recipe.
        """
        self.environment.recipe(recipe)
        stopped = ""
        for source in map(address, sources):
            if stopped:
                yield Ingested(source=str(source), error=f"{source}: not ingested: {stopped}")
                continue
            advance = None if progress is None else partial(progress, source)
            try:
                report = self.ingest(source, recipe=recipe, again=again, progress=advance)
            except EdgememError as error:
                stopped = "the memory cannot be written" if isinstance(error, MemoryDirError) else ""
                yield Ingested(source=str(source), error=str(error))
            else:
                stopped = "interrupted" if {INTERRUPTED, STOPPED} & set(report.notes) else ""
                yield Ingested(source=str(source), report=report)

    def ask(
        self,
        question: str,
        *,
        options: Sequence[str] = (),
        as_of: Time | None = None,
        recipe: str = "",
        planner: str = "",
        session: str = "",
    ) -> Answer:
        """Answer from the memory, with evidence; the status is "abstained" if there is none.

        `options`: the possible answers. `as_of`: answer as of that time; nothing that became known later is read. `session`: the number of
        the session that the question continues, or "last". Raises UsageError for an empty question, MemoryDirError if there is no memory.
        """
        asked = self.ask_traced(question, options=options, as_of=as_of, recipe=recipe, planner=planner, session=session, trace=False)
        asked.log()
        return msgspec.structs.replace(asked.answer, notes=(*asked.answer.notes, *asked.notes))

    def ask_traced(
        self,
        question: str,
        *,
        options: Sequence[str] = (),
        as_of: Time | None = None,
        recipe: str = "",
        planner: str = "",
        session: str = "",
        trace: bool = True,
    ) -> TracedAnswer:
        """Like `ask`, with a text that says step by step how the answer was found. It is stored when `TracedAnswer.log` is called."""
        question, options = storable(question), [storable(option) for option in options]
        if not question.strip():
            raise UsageError('the question is empty; ask something, such as "where did I leave my keys?"')
        as_of_us = self._us(as_of)
        request = AskRequest(
            question=question[:MAX_QUESTION_CHARS],
            asked_us=as_of_us if as_of_us is not None else now_us(),
            as_of_us=as_of_us,
            options=tuple(options),
            tz=self.environment.settings.timezone,
            recipe=recipe or self.environment.settings.recipe,
            planner=planner,
            session=session,
            trace=trace,
            steps=self.feed.subscribers > 0,
        )
        reply, unlogged = self._answered(request)
        cut = [f"only the first {MAX_QUESTION_CHARS} characters of the question were read"] if len(question) > MAX_QUESTION_CHARS else []
        return TracedAnswer(reply.answer, reply.trace, (*cut, *reply.notes), self.directory, unlogged)

    def search(
        self,
        query: str,
        *,
        channel: SearchChannel = "any",
        from_: Time | None = None,
        to: Time | None = None,
        top_k: int = 10,
        recipe: str = "",
    ) -> tuple[Evidence, ...]:
        """Moments, events and text that match, best first: at most `top_k` (1 to 200). Raises UsageError, MemoryDirError."""
        query = storable(query)
        if not query.strip():
            raise UsageError('the query is empty; search for something, such as "red mug"')
        if not 1 <= top_k <= 200:
            raise UsageError(f"top_k must be 1 to 200, not {top_k}")
        from_us, to_us = self._span(from_, to)
        request = SearchRequest(
            query=query[:MAX_QUESTION_CHARS], channel=channel, from_us=from_us, to_us=to_us, top_k=top_k,
            recipe=recipe or self.environment.settings.recipe,
        )  # fmt: skip
        reply = self._of_agent(request, SearchReply, SEARCH_WAIT_S) or self._questions.search(request)
        return reply.evidence

    def show(self, evidence_id: str) -> Shown:
        """A piece of evidence by its id, such as "m12": all known facts, and its picture as JPEG. Raises UsageError, MemoryDirError."""
        with open_view(self.directory) as view:
            return lookup.show(view, evidence_id)

    def timeline(self, *, from_: Time | None = None, to: Time | None = None, stream: str | None = None) -> tuple[TimelineEntry, ...]:
        """The segments of that time in order, with the text about each. Raises MemoryDirError."""
        with open_view(self.directory) as view:
            return lookup.timeline(view, self._us(from_), self._us(to), None if stream is None else storable(stream))

    def forget(
        self,
        *,
        from_: Time | None = None,
        to: Time | None = None,
        entity: str = "",
        stream: str = "",
        evidence: Sequence[str] = (),
        recipe: str = "",
        dry_run: bool = False,
    ) -> Receipt:
        """Forget permanently, in exactly one way: a time range, an entity, a stream, or pieces of evidence. There is no undo.

        The writers of the recipe describe again what is left of a segment. `dry_run` only counts. Raises UsageError if the memory does not
        have what is named, MemoryDirError.
        """
        if sum((from_ is not None or to is not None, bool(entity), bool(stream), bool(evidence))) != 1:
            raise UsageError("say what to forget in one way: from_ with to, entity, stream or evidence")
        if (from_ is None) != (to is None):
            raise UsageError("give both from_ and to: the two ends of the time range to forget")
        from_us, to_us = self._span(from_, to)
        entity, stream, evidence = storable(entity), storable(stream), [storable(one) for one in evidence]
        wanted = Wanted(from_us=from_us, to_us=to_us, entity=entity, stream=stream, evidence=tuple(evidence))
        request = ForgetRequest(wanted=wanted, recipe=recipe or self.environment.settings.recipe)
        if dry_run:
            self.environment.recipe(request.recipe)
            return forget_it(self.directory, wanted, dry_run=True)
        sent = msgspec.structs.replace(request, recipe=_recipe_anywhere(request.recipe))
        reply = self._called(sent, ForgetReply, FORGET_WAIT_S, "")
        from edgemem.serve import admin

        return (reply or admin.forget(self.directory, request, self.environment)).receipt

    def name_voice(self, number: int, name: str) -> int:
        """Say that the voice "speaker <number>" is `name`, "" to take that back; returns how many utterances it has. Raises UsageError."""
        request = NameRequest(number=number, known_us=now_us(), name=storable(name))
        from edgemem.serve import admin

        return self._changed(request, NameReply, NAME_WAIT_S, lambda store: admin.name_voice(store, request, self.feed)).utterances

    def merge_entities(self, name: str, into: str = "", kind: str = "") -> Entity:
        """Say that `name` is another name of `into`, "" to take that back; what it is called then. Raises UsageError."""
        request = MergeRequest(name=name, known_us=now_us(), into=into, kind=kind)
        from edgemem.serve import admin

        return self._changed(request, MergeReply, NAME_WAIT_S, lambda store: admin.merge_entities(store, request, self.feed)).entity

    def name_thing(
        self,
        shown: int | str | Path | None,
        name: str = "",
        *,
        box: tuple[float, float, float, float] | None = None,
        undo: bool = False,
        progress: Callable[[int, int], object] | None = None,
    ) -> ThingReply:
        """What a moment (by its number) or a picture file shows is called so, such as "my keys"; it is found again from now on.

        `box` says where in the picture it is: left, top, right, bottom in pixels or as fractions. `undo` takes the lesson of that moment
        back, or with `shown` None all lessons of that name. `progress(done, total)` is called while moments that were kept without vectors
        of their parts are looked at again; an agent does that later. Raises UsageError, SourceError, EngineError, MemoryDirError.
        """
        if isinstance(shown, str | Path):
            require_not_paused(self.directory)
        moment_id, picture = (shown, "") if isinstance(shown, int) else (0, str(Path(shown).resolve()) if shown is not None else "")
        request = NameThingRequest(known_us=now_us(), name=name, moment_id=moment_id, picture=picture, box=box, undo=undo)
        from edgemem.serve import taught

        learn = partial(taught.name_thing, request=request, environment=self.environment, seconds=taught.COMMAND_S, progress=progress)
        return self._changed(request, ThingReply, THING_WAIT_S, partial(learn, feed=self.feed))

    def _changed(self, request: Request, kind: type[R], wait_s: float, change: Callable[[Store], R]) -> R:
        """What the agent that owns the memory replies; without an agent `change` does it here."""
        reply = self._called(request, kind, wait_s, "")
        if reply is not None:
            return reply
        settings = self.environment.settings
        budget_bytes, durability = parse_bytes(settings.budget.disk), settings.store.durability
        with Store.open(self.directory, create=False, budget_bytes=budget_bytes, durability=durability) as store:
            return change(store)

    def stats(self) -> Stats:
        """Number of stored items, their times, and the size on disk. Raises MemoryDirError."""
        with open_view(self.directory) as view:
            stats = view.stats()
        return msgspec.structs.replace(stats, budget_bytes=stats.budget_bytes or parse_bytes(self.environment.settings.budget.disk))

    def subscribe(self, *kinds: type[Event], size: int = SIZE) -> Subscription:
        """Events of this object from now on: stored segments, answered questions and their steps as they happen (no kind given: all).

        At most `size` wait; more drop the oldest, which `Subscription.lost` counts. Events of an agent go to its own services.
        """
        return self.feed.subscribe(*kinds, size=size)

    def _answered(self, request: AskRequest) -> tuple[AskReply, Trace | None]:
        """The reply, and what is still to be logged of it."""
        wait_s = self.environment.settings.models.seconds_per_question
        reply = self._of_agent(request, AskReply, SEARCH_WAIT_S + (MODEL_WAIT_S if wait_s is None else wait_s), self.feed.publish)
        if reply is None:
            return self._questions.ask(request)
        as_of_us = FOREVER_US if request.as_of_us is None else request.as_of_us
        question = Question(text=request.question, asked_us=request.asked_us, as_of_us=as_of_us, options=request.options, tz=request.tz)
        self.feed.publish(QuestionAnswered(question=question, answer=reply.answer))
        return reply, None

    def _of_agent(self, request: AskRequest | SearchRequest, kind: type[R], wait_s: float, on_step: OnStep = _ignored) -> R | None:
        """The agent's answer, if it has our settings."""
        sent = msgspec.structs.replace(request, recipe=_recipe_anywhere(request.recipe), settings=self.environment.digest)
        return self._called(sent, kind, wait_s, "; the memory was read without it", on_step)

    def _called(self, request: Request, kind: type[R], wait_s: float, then: str, on_step: OnStep = _ignored) -> R | None:
        """The agent's reply; None when there is none, which is reported unless nothing is wrong."""
        try:
            return call(self.directory, request, kind, wait_s, on_step)
        except AgentUnavailable as unavailable:
            if not unavailable.expected:
                self._report(f"the agent of this memory did not answer: {unavailable.why}{then}")
            return None

    def _us(self, time: Time | None) -> int | None:
        time = time.isoformat() if isinstance(time, datetime) else time
        return from_iso(time, self.environment.settings.timezone) if isinstance(time, str) else time

    def _span(self, from_: Time | None, to: Time | None) -> tuple[int | None, int | None]:
        from_us, to_us = self._us(from_), self._us(to)
        if from_us is not None and to_us is not None and from_us > to_us:
            raise UsageError("the beginning is later than the end; swap them")
        return from_us, to_us


def _recipe_anywhere(recipe: str) -> str:
    """The recipe with an absolute path, because the agent has another working directory."""
    return str(Path(recipe).resolve()) if re.search(r"[/.]", recipe) else recipe
