"""Sees one source into a memory; used by the daemon, the command line and programs."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from edgemem.allocation import bound_heap
from edgemem.characters import storable
from edgemem.clock import to_local
from edgemem.config import parse_bytes
from edgemem.errors import MemoryDirError, SourceError, UsageError
from edgemem.extend.sources import open_source
from edgemem.extend.stats import save_stats
from edgemem.hear.subtitles import Subtitles, beside
from edgemem.hear.utterances import by_subtitles
from edgemem.records import Record
from edgemem.remember.disk import schema
from edgemem.remember.forget import finish_forgetting
from edgemem.remember.rules import KeepRules, Retainers
from edgemem.remember.store import Store
from edgemem.see.pipeline import Pipeline
from edgemem.see.privacy import Privacy
from edgemem.see.report import INTERRUPTED, STOPPED, IngestReport, Progress
from edgemem.see.resume import seen_as
from edgemem.serve.postponed import PostponedWork
from edgemem.serve.taught import catch_up
from edgemem.serve.waiting import embed_recording

if TYPE_CHECKING:
    from edgemem.extend.environment import Environment
    from edgemem.extend.feed import Feed
    from edgemem.extend.recipe import Recipe
    from edgemem.see.pipeline import PipelineParts
    from edgemem.see.sources.base import Source

MOST_NAME_CHARS = 200
POSTPONED_S = 10.0
"""After a recording, no job of its writers begins later than this, so that the user of the command does not wait long."""


class IngestRequest(Record, frozen=True):
    """A source and how to see it."""

    source: str
    recipe: str = ""
    """"" = the one of the settings."""
    start_us: int | None = None
    """Wall time of a recording's first frame; None = now minus its length."""
    stream: str = ""
    """"" = the file's or camera's name."""
    subtitles: str = ""
    """A file; "" = the file beside the recording; "none" = use speech recognition."""
    again: bool = False
    """Ingest a recording even if it is in the memory already."""


def ingest(environment: Environment, memory: Path, request: IngestRequest, feed: Feed, progress: Progress | None = None) -> IngestReport:
    """See one source to its end into the memory, not twice unless `again`. All possible checks are made before anything is written.

    Raises EdgememError.
    """
    bound_heap()
    settings, name = environment.settings, storable(request.stream)
    if name and (not name.strip() or len(name) > MOST_NAME_CHARS):
        raise UsageError(f"stream: give a name of 1 to {MOST_NAME_CHARS} characters")
    recipe = environment.recipe(request.recipe)
    budget_bytes = parse_bytes(settings.budget.disk)
    source = open_source(
        request.source,
        plugins=environment.plugins,
        rate_fps=recipe.rate_fps,
        stream=name,
        start_us=request.start_us,
        settings=recipe.source,
    )
    try:
        parts, notes = equip(environment, recipe, source, memory, feed)
        if (subtitles := _subtitles(request, source, notes)) is not None:
            parts.hearing = by_subtitles(subtitles, parts.embedder)
        if parts.privacy is not None:
            parts.privacy.require()
        with Store.open(memory, budget_bytes=budget_bytes, durability=settings.store.durability) as store:
            seen = "" if request.again else seen_as(store, source)
            if seen:
                return _nothing_to_do(request, seen, store, settings.timezone)
            report = Pipeline(source, parts, store).run(progress)
            if parts.privacy is None or not parts.privacy.paused:
                KeepRules(settings.retention).catch_up(store)
                if not source.live and not {INTERRUPTED, STOPPED} & set(report.notes):
                    _do_postponed(environment, store, {report.stream: request.recipe})
                    catch_up(environment, store, time.monotonic() + POSTPONED_S)
                    notes += filter(None, [embed_recording(environment, store, report.seconds_spent)])
        end_forgetting(memory, notes.append)
    finally:
        source.close()
        save_stats(environment.home, environment.plugins)
    return msgspec.structs.replace(report, notes=(*notes, *report.notes))


def equip(environment: Environment, recipe: Recipe, source: Source, memory: Path, feed: Feed) -> tuple[PipelineParts, list[str]]:
    """(parts of the pipeline, notes on what is missing): the recipe's parts with the privacy and retention rules of the settings."""
    rules = environment.settings.retention
    parts, notes = environment.parts(recipe)
    parts.privacy = Privacy(environment.settings.privacy, rules, memory, source.name)
    if rules:
        parts.retainer = Retainers([KeepRules(rules), *([parts.retainer] if parts.retainer else [])])
    parts.publish = feed.publish
    parts.taught_by_voice = environment.settings.teach.by_voice
    return parts, notes


def end_forgetting(memory: Path, report: Callable[[str], object]) -> None:
    """Finish the wipe of an interrupted `forget`. If a reader prevents it, this is reported, and seeing starts anyway."""
    if not (memory / schema.DATABASE).exists():
        return
    try:
        finish_forgetting(memory)
    except MemoryDirError as error:
        report(str(error))


def _do_postponed(environment: Environment, store: Store, recipes: dict[str, str]) -> None:
    """Do work that the writers of these streams' recipes postponed, for a short time."""
    PostponedWork(environment, store, lambda: recipes)(time.monotonic() + POSTPONED_S)


def _subtitles(request: IngestRequest, source: Source, notes: list[str]) -> Subtitles | None:
    """Subtitles from the named file, or from a readable one beside the recording; None = use speech recognition."""
    named = request.subtitles
    if named not in {"", "none"}:
        return Subtitles(Path(named), source.t0_us)
    found = None if named or source.live else beside(request.source)
    try:
        return Subtitles(found, source.t0_us) if found is not None else None
    except SourceError as error:
        notes.append(f"the subtitles beside the recording are not used: {error}")
        return None


def _nothing_to_do(request: IngestRequest, seen: str, store: Store, tz: str) -> IngestReport:
    """The report for a recording that is in the memory already, with a note about that."""
    with store.view() as view:
        stream = next((stream for stream in view.streams() if stream.name == seen), None)
        said = view.utterances(stream=seen)
    kept = "nothing of it was kept"
    if stream is not None or said:
        since_us = stream.t0_us if stream is not None else said[0].document.t0_us
        since = to_local(since_us, tz).strftime("%Y-%m-%d %H:%M:%S")
        count, what = (stream.moments, "moment") if stream is not None else (len(said), "utterance")
        kept = f"{count} {what}{'s' if count != 1 else ''} since {since}"
    return IngestReport(
        stream=seen, frames_seen=0, moments_kept=0, segments=0, documents=0, seconds_of_video=0.0, seconds_spent=0.0,
        disk_bytes=store.disk_bytes(), dropped={},
        notes=(f'{request.source} is in this memory already, as "{seen}": {kept}; to ingest it a second time, add --again',),
    )  # fmt: skip
