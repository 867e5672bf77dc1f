"""`edgemem ingest`: remember a source to its end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from edgemem.cli.app import CommandContext, common_options, json_option, note, pass_session, print_json
from edgemem.clock import from_iso, offset_text, to_local
from edgemem.config import parse_bytes
from edgemem.errors import MemoryDirError, SourceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgemem.hear.subtitles import Subtitles
    from edgemem.remember.store import Store
    from edgemem.see.pipeline import IngestReport
    from edgemem.see.sources.base import Source


@click.command()
@click.argument("source")
@click.option(
    "--memory", type=click.Path(path_type=Path), required=True, metavar="DIR", help="The memory's directory; made if it is not there."
)
@click.option("--recipe", metavar="NAME", help="How to see and what to keep (default: the settings').")
@click.option("--start", metavar="ISO8601", help="Wall time of a recording's first frame (default: now minus its length).")
@click.option("--stream", default="", metavar="NAME", help="Name of the stream (default: the file's or camera's name).")
@click.option(
    "--subtitles",
    default="",
    metavar="FILE",
    help="What was said: .srt or .vtt (default: the file's own, beside it; none: listen).",
)
@click.option("--again", is_flag=True, help="Also take a recording that is in the memory already: as a second stream, NAME-2.")
@json_option
@common_options
@pass_session
def ingest(
    session: CommandContext,
    source: str,
    memory: Path,
    recipe: str | None,
    start: str | None,
    stream: str,
    subtitles: str,
    again: bool,
    as_json: bool,
) -> None:
    """Remember SOURCE to its end: a video file, a recording of sound, a folder of pictures, a camera (0, /dev/video0), a microphone
    (alsa:default), both (0+alsa:default) or a URL (rtsp://...).

    Run again after an interruption, it goes on where it stopped; after the end there is nothing left to do.
    """
    start_us = from_iso(start, session.settings.timezone) if start else None
    report = run_ingest(session, source, memory, recipe, start_us, stream, subtitles, again=again)
    for text in report.notes:
        note(f"note: {text}")
    if as_json:
        print_json({key: value for key, value in msgspec.to_builtins(report).items() if key != "notes"})  # notes are for people
        return
    click.echo(
        f"{report.stream}: {report.frames_seen} frames seen, {report.moments_kept} kept, "
        f"{report.segments} segments, {report.documents} documents; "
        f"{report.seconds_of_video:.1f} s of video in {report.seconds_spent:.1f} s; {report.disk_bytes / 2**20:.1f} MiB on disk"
    )
    if report.dropped:
        click.echo(
            "dropped: " + ", ".join(f"{reason} {count}" for reason, count in sorted(report.dropped.items(), key=lambda item: -item[1]))
        )


def run_ingest(
    session: CommandContext, source: str, memory: Path, recipe: str | None, start_us: int | None, stream: str, subtitles: str = "", *,
    again: bool = False,
) -> IngestReport:  # fmt: skip
    """See one source to its end into the memory, not twice unless `again`. What can be refused is refused before a byte is written."""
    from edgemem.extend.assembly import make_parts
    from edgemem.extend.sources import open_source
    from edgemem.extend.stats import save_stats
    from edgemem.hear.utterances import by_subtitles
    from edgemem.remember.rules import KeepRules, Retainers
    from edgemem.remember.store import Store
    from edgemem.see.pipeline import Pipeline
    from edgemem.see.privacy import Privacy
    from edgemem.see.resume import seen_as

    if stream and (not stream.strip() or len(stream) > 200):
        raise UsageError("--stream: give a name of 1 to 200 characters")
    chosen = session.recipes.read(recipe or session.settings.recipe)
    budget_bytes = parse_bytes(session.settings.budget.disk)
    parts, notes = make_parts(session.recipes, chosen, session.context, session.plugins)
    opened = open_source(
        source, plugins=session.plugins, rate_fps=chosen.rate_fps, stream=stream, start_us=start_us, settings=chosen.source
    )  # fmt: skip
    rules = session.settings.retention
    parts.privacy = Privacy(session.settings.privacy, rules, memory, opened.name)
    if rules:
        parts.retainer = Retainers([KeepRules(rules), *([parts.retainer] if parts.retainer else [])])
    try:
        if (said := _subtitles(source, subtitles, opened, notes)) is not None:
            parts.hearing = by_subtitles(said, parts.embedder)
        parts.privacy.require()
        with (
            Store.open(memory, budget_bytes=budget_bytes, durability=session.settings.store.durability) as store,
            _progress_bar() as advance,
        ):
            seen = "" if again else seen_as(store, opened)
            if seen:
                return _nothing_to_do(session, source, seen, store)
            report = Pipeline(opened, parts, store).run(advance)
            if not parts.privacy.paused:
                KeepRules(rules).catch_up(store)
        _end_forgetting(memory)
    finally:
        opened.close()
        save_stats(session.home, session.plugins)
    return msgspec.structs.replace(report, notes=(*notes, *report.notes))


def _subtitles(source: str, named: str, opened: Source, notes: list[str]) -> Subtitles | None:
    """What was said, from the file that is named, or from one beside a recording where it can be read; None: listen."""
    from edgemem.hear.subtitles import Subtitles, beside

    if named not in {"", "none"}:
        return Subtitles(Path(named), opened.t0_us)
    found = None if named or opened.live else beside(source)
    try:
        return Subtitles(found, opened.t0_us) if found is not None else None
    except SourceError as error:
        notes.append(f"the subtitles beside the recording are not used: {error}")
        return None


def _nothing_to_do(session: CommandContext, source: str, seen: str, store: Store) -> IngestReport:
    """The report on a recording that is in the memory already, which its note says."""
    from edgemem.see.pipeline import IngestReport

    with store.view() as view:
        stream = next((stream for stream in view.streams() if stream.name == seen), None)
        said = view.utterances(stream=seen)
    kept = "nothing of it was kept"
    if stream is not None or said:
        since_us = stream.t0_us if stream is not None else said[0].document.t0_us
        since = to_local(since_us, session.settings.timezone).strftime("%Y-%m-%d %H:%M:%S")
        count, what = (stream.moments, "moment") if stream is not None else (len(said), "utterance")
        kept = f"{count} {what}{'s' if count != 1 else ''} since {since}"
    return IngestReport(
        stream=seen, frames_seen=0, moments_kept=0, segments=0, documents=0, seconds_of_video=0.0, seconds_spent=0.0,
        disk_bytes=store.disk_bytes(), dropped={},
        notes=(f'{source} is in this memory already, as "{seen}": {kept}; to take it a second time, add --again',),
    )  # fmt: skip


def _end_forgetting(memory: Path) -> None:
    """Wipe what an interrupted `forget` left to be wiped; a reader in the way is said, and no reason to fail."""
    from edgemem.remember.forget import finish_forgetting

    try:
        finish_forgetting(memory)
    except MemoryDirError as error:
        note(f"note: {error}")


class _progress_bar:  # noqa: N801 - used like the function it stands for
    """A bar on a terminal, nothing when piped. A live source has no end, so its position is shown instead."""

    def __enter__(self) -> Callable[[int, int | None], None] | None:
        self._shown = False
        return self._show if sys.stderr.isatty() else None

    def _show(self, done_us: int, total_us: int | None) -> None:
        self._shown = True
        width = 30
        if total_us:
            filled = min(width, width * done_us // total_us)
            bar = f"[{'#' * filled}{'-' * (width - filled)}] {offset_text(done_us)} of {offset_text(total_us)}"
        else:
            bar = f"watching, {offset_text(done_us)}"
        click.echo(f"\r{bar} ", nl=False, err=True)

    def __exit__(self, *_: object) -> None:
        if self._shown:
            click.echo(err=True)
