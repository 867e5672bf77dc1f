"""The tools that survey a memory and write summaries of windows of it, and the writer that goes on with them when the board is idle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from edgemem.answer.tool_base import BaseTool
from edgemem.clock import now_us
from edgemem.records import Document, Evidence
from edgemem.remember.entries import NewDocument, NewJob
from edgemem.see.operations import BaseWriter, BoardIdle, Occasion, Operation, Postpone, ReplaceDocument
from edgemem_vam import summary_key
from edgemem_vam.actions import StreamFacts, Summaries, SummaryStructure, Survey, Surveyed, WindowSummary, WriteSummaries
from edgemem_vam.conversation import conversation, known_habits, learning
from edgemem_vam.roles import SUMMARY_WRITER, Role
from edgemem_vam.search import SUMMARY_KINDS
from edgemem_vam.summary_key import SummaryKey
from edgemem_vam.windows import Window, Windows, document_of, of_streams, stored, written

if TYPE_CHECKING:
    from edgemem.llm.models import Models
    from edgemem.remember.view import View

FOREVER_US = 2**62
WRITER = "vam_summaries"
"""Name of the writer that goes on when the board is idle."""
_LOOKED_THROUGH = 200
"""Windows that one job looks through for some to write, at most."""
_MOST_TRIES = 5
_FIRST_WAIT_S = 60.0
"""After the first failure; then 120, 240 ... as jobs that raise wait."""


class SummarySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How summaries are written."""

    writer: Role = SUMMARY_WRITER
    max_windows: int = 48
    """Windows that one question writes, of each stream; the others are written when the board is idle."""


def structures(view: View) -> tuple[SummaryStructure, ...]:
    """Kinds of summaries that the memory holds, the most frequent first."""
    keys = [key for document in view.documents(kinds=SUMMARY_KINDS) if (key := summary_key.read(document)) is not None]
    groups: dict[tuple[str, float], list[SummaryKey]] = {}
    for key in keys:
        groups.setdefault((key.structure, key.granularity_s), []).append(key)
    made = [SummaryStructure(name=n, granularity_s=g, windows=len(of), focus=of[-1].focus) for (n, g), of in groups.items()]
    return tuple(sorted(made, key=lambda s: (-s.windows, s.name, s.granularity_s)))


class SurveyTool(BaseTool):
    """Carries out `Survey`. Where a question begins a new conversation, what the one before shows of the user is learnt later."""

    name = "survey"
    action = Survey

    def __init__(self, models: Models | None = None) -> None:
        self._models = models

    def run(self, action: Survey, view: View) -> Surveyed:
        facts = (StreamFacts(name=s.name, t0_us=s.t0_us, t1_us=s.t1_us, moments=s.moments) for s in view.streams())
        first_us, last_us = view.bounds() or (None, None)
        return Surveyed(
            streams=tuple(facts), first_us=first_us, last_us=last_us, structures=structures(view),
            conversation=conversation(view, action.asked_us), habits=known_habits(view),
            postponed=learning(view, action.asked_us) if self._models is not None and self._models.there else (),
        )  # fmt: skip


class _Rest(msgspec.Struct, frozen=True, array_like=True):
    """What a job still has to write: the windows of one stream from one index on."""

    windows: Windows
    index: int
    tries: int = 0
    """Times in a row that the model wrote not all of the next windows."""


class SummaryTool(BaseTool):
    """Carries out `WriteSummaries`. A summary is found again by its key as long as nothing new is known of its window and, where a model is
    there, a model wrote it; else it is written anew and takes the old one's place. What no model wrote says so. It is written anew when the
    board is idle, as are the windows beyond `max_windows`.
    """

    name = "write_summaries"
    action = WriteSummaries

    def __init__(self, settings: SummarySettings | None = None, models: Models | None = None) -> None:
        self._settings = settings or SummarySettings()
        self._models = models

    def run(self, action: WriteSummaries, view: View) -> Summaries:
        wanted = Windows(
            from_us=action.from_us, to_us=action.to_us, granularity_s=action.granularity_s, structure=action.structure, focus=action.prompt
        )  # fmt: skip
        number = min(wanted.count, self._settings.max_windows)
        windows = [window for index in range(number) for window in of_streams(wanted.key(index), view)]
        known, model = stored(view), self._models is not None and self._models.there
        stale = [window for window in windows if window.stale(known.get((window.stream, window.key)), model=model)]
        texts, failed = written(stale, view, self._models, self._settings.writer)
        new = dict(zip(map(_name, stale), texts, strict=True))
        known_us = view.as_of_us if view.as_of_us < FOREVER_US else now_us()  # it is made of nothing later than the question's cut-off
        made = [_summary(window, new.get(_name(window)), known, view) for window in windows]
        proofs: dict[str, Evidence] = {one.id: one for summary in made for one in summary.evidence}
        return Summaries(
            evidence=tuple(proofs.values()),
            windows=tuple(made),
            documents=tuple(document_of(window, new[_name(window)], view, known_us) for window in stale),
            postponed=_jobs(wanted, number, windows, view, again=failed > 0),
            notes=_notes(len(stale), failed, model=model),
            limits=_limits(number, wanted.count),
        )


def _name(window: Window) -> tuple[str, SummaryKey]:
    return window.stream, window.key


def _summary(window: Window, text: str | None, known: dict[tuple[str, SummaryKey], Document], view: View) -> WindowSummary:
    key = window.key
    return WindowSummary(
        t0_us=key.t0_us, t1_us=key.t1_us, granularity_s=key.granularity_s, structure=key.structure, focus=key.focus,
        text=summary_key.body(known[_name(window)].text) if text is None else text,
        moment_id=window.moments[-1].id if window.moments else None, evidence=window.evidence(view),
    )  # fmt: skip


def _jobs(wanted: Windows, number: int, windows: list[Window], view: View, *, again: bool) -> tuple[NewJob, ...]:
    """One for each stream that has windows left, or summaries that a model was to write and did not."""
    streams = {window.stream for window in windows} if again else set[str]()
    if number < wanted.count:
        streams |= {stream.name for stream in view.streams()}
    rest = msgspec.msgpack.encode(_Rest(windows=wanted, index=0 if again else number))
    return tuple(NewJob(writer=WRITER, stream=stream, payload=rest) for stream in sorted(streams))


def _notes(count: int, failed: int, *, model: bool) -> tuple[str, ...]:
    if not model and count:
        return ("summaries were put together from the event documents: no language model is configured",)
    if failed:
        return (f"{failed} of {count} summaries were put together from the event documents: the language model did not write them",)
    return ()


def _limits(number: int, count: int) -> tuple[str, ...]:
    if number == count:
        return ()
    rest = f"the other {count - number} are written when the device is idle"
    return (f"only the first {number} of {count} windows were summarised (vam_summarize.max_windows); {rest}",)


class SummaryWriter(BaseWriter):
    """Writes the summaries that questions left over, a few at a time, when the board is idle.

    A job goes from window to window: it writes those that have no summary, an old one, or one that no model wrote where a model is there.
    Where the model fails it waits and tries the same windows again, five times, and then leaves them as they could be put together.
    """

    name = WRITER
    triggers = frozenset({"idle"})
    slow = True

    def __init__(self, settings: SummarySettings | None = None, models: Models | None = None) -> None:
        self._settings = settings or SummarySettings()
        self._models = models

    def write(self, occasion: Occasion) -> list[Operation]:
        if not isinstance(occasion, BoardIdle) or occasion.open_view is None:
            return []
        rest = msgspec.msgpack.decode(occasion.payload, type=_Rest)
        with occasion.open_view() as view:
            known = stored(view)
            stale, index = self._stale(rest, known, view, occasion.stream)
            texts, failed = written(stale, view, self._models, self._settings.writer)
            made = [document_of(window, text, view, occasion.now_us) for window, text in zip(stale, texts, strict=True)]
        operations = [one for window, new in zip(stale, made, strict=True) for one in _operations(new, known.get(_name(window)))]
        return [*operations, *_next(rest, index, failed=failed > 0)]

    def _stale(self, rest: _Rest, known: Mapping[tuple[str, SummaryKey], Document], view: View, stream: str) -> tuple[list[Window], int]:
        """The next windows to write, as many as the model writes at once, and the index of the window after them."""
        model, at_once = self._models is not None and self._models.there, self._models.parallel if self._models is not None else 1
        stale, index = list[Window](), rest.index
        last = min(rest.windows.count, rest.index + _LOOKED_THROUGH)
        while index < last and len(stale) < at_once:
            found = of_streams(rest.windows.key(index), view, stream)
            stale += [window for window in found if window.stale(known.get(_name(window)), model=model)]
            index += 1
        return stale, index


def _operations(document: NewDocument, old: Document | None) -> list[Operation]:
    if old is None:
        return [document]
    return [] if old.text == document.text else [ReplaceDocument(document_id=old.id, document=document)]


def _next(rest: _Rest, index: int, *, failed: bool) -> list[Operation]:
    """The job that goes on: with the same windows a while later where the model failed, else with the next ones at once."""
    if failed and rest.tries < _MOST_TRIES:
        again = msgspec.structs.replace(rest, tries=rest.tries + 1)
        return [Postpone(payload=msgspec.msgpack.encode(again), after_s=_FIRST_WAIT_S * 2**rest.tries)]
    if index >= rest.windows.count:
        return []
    return [Postpone(payload=msgspec.msgpack.encode(_Rest(windows=rest.windows, index=index)))]
