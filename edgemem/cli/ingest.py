"""`edgemem ingest`: remember sources to their end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgemem.cli.app import CommandContext, FilePath, common_options, json_option, note, pass_environment, print_json, print_line, progress
from edgemem.clock import offset_text
from edgemem.errors import UsageError
from edgemem.secret import address

if TYPE_CHECKING:
    from edgemem.serve.results import Ingested, IngestReport

_SIGNALLED = 128
"""Added to the number of a signal it is the exit code, as in shells."""


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--memory", type=FilePath(), required=True, metavar="DIR", help="The memory's directory; created if it does not exist.")
@click.option("--recipe", default="", metavar="NAME", help="Recipe: how to see and what to keep (default: the one of the settings).")
@click.option("--start", metavar="ISO8601", help="Wall time of a recording's first frame (default: now minus its length). One source only.")
@click.option("--stream", default="", metavar="NAME", help="Name of the stream (default: the file's or camera's name). One source only.")
@click.option(
    "--subtitles",
    default="",
    metavar="FILE",
    help="Subtitles: .srt or .vtt (default: the file beside the recording; none: speech recognition). One source only.",
)
@click.option("--again", is_flag=True, help="Ingest a recording again that is in the memory already: as a second stream, NAME-2.")
@json_option
@common_options
@pass_environment
def ingest(
    environment: CommandContext,
    sources: tuple[str, ...],
    memory: Path,
    recipe: str,
    start: str | None,
    stream: str,
    subtitles: str,
    again: bool,
    as_json: bool,
) -> None:
    """Remember each SOURCE to its end: a video file, a recording of sound, a folder of pictures, a camera (0, /dev/video0), a microphone
    (alsa:default), both (0+alsa:default) or a URL (rtsp://...).

    Several sources are ingested one after the other. If one fails, this is reported, the others continue, and the exit code is 1. If the
    command is run again after an interruption, it continues where it stopped; after the end there is nothing left to do.

    A recording that SIGINT or SIGTERM stopped before its end gives the exit code 130 or 143, and "interrupted": true with --json. A camera
    or a microphone has no end: to stop it is no interruption.
    """
    if len(sources) == 1:
        _ingest_one(environment, sources[0], memory, recipe, start, stream, subtitles, again=again, as_json=as_json)
        return
    given = [name for name, value in (("--start", start), ("--stream", stream), ("--subtitles", subtitles)) if value]
    if given:
        raise UsageError(f"{' and '.join(given)} can be given for one source only, not for {len(sources)}; ingest that source separately")
    _ingest_all(environment, sources, memory, recipe, again=again, as_json=as_json)


def _ingest_one(
    environment: CommandContext, source: str, memory: Path, recipe: str, start: str | None, stream: str, subtitles: str, *, again: bool,
    as_json: bool,
) -> None:  # fmt: skip
    from edgemem.serve.rendering import ingest_json

    shown = str(address(source))
    with progress(_watching) as advance:
        report = environment.memory(memory).ingest(
            source, recipe=recipe, start=start, stream=stream, subtitles=subtitles, again=again,
            progress=lambda done_us, total_us: advance(shown, done_us, total_us),
        )  # fmt: skip
    _print_notes(report)
    if as_json:
        print_json(ingest_json(report))
    else:
        _print_report(report)
    _exit_if_interrupted(report)


def _ingest_all(environment: CommandContext, sources: tuple[str, ...], memory: Path, recipe: str, *, again: bool, as_json: bool) -> None:
    from edgemem.serve.rendering import ingests_json

    results: list[Ingested] = []
    with progress(_watching) as advance:
        for result in environment.memory(memory).ingest_all(sources, recipe=recipe, again=again, progress=advance):
            results.append(result)
            advance.end()
            if result.report is None:
                note(f"edgemem: {result.error}")
                continue
            _print_notes(result.report)
            if not as_json:
                _print_report(result.report)
    if as_json:
        print_json(ingests_json(results))
    for result in results:
        _exit_if_interrupted(result.report)
    if any(result.report is None for result in results):
        raise click.exceptions.Exit(1)


def _exit_if_interrupted(report: IngestReport | None) -> None:
    """End as shells say that a signal ended a command, so that nothing after `&&` takes the recording as remembered."""
    if report is not None and report.interrupted:
        raise click.exceptions.Exit(_SIGNALLED + report.signal)


def _watching(done_us: int) -> str:
    return f"watching, {offset_text(done_us)}"


def _print_notes(report: IngestReport) -> None:
    for text in report.notes:
        note(f"note: {text}")


def _print_report(report: IngestReport) -> None:
    print_line(
        f"{report.stream}: {report.frames_seen} frames seen, {report.moments_kept} kept, "
        f"{report.segments} segments, {report.documents} documents; "
        f"{report.seconds_of_video:.1f} s of video in {report.seconds_spent:.1f} s; {report.disk_bytes / 2**20:.1f} MiB on disk"
    )
    if report.dropped:
        print_line(
            "dropped: " + ", ".join(f"{reason} {count}" for reason, count in sorted(report.dropped.items(), key=lambda item: -item[1]))
        )
