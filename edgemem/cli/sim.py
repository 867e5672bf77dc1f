"""`edgemem sim`: the daemon in simulated time, with recordings as cameras."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from edgemem.cli.app import (
    CommandContext,
    FilePath,
    NumberRange,
    common_options,
    json_option,
    note,
    pass_environment,
    print_json,
    print_line,
)
from edgemem.clock import from_iso, now_us
from edgemem.config import RunSource, Settings, convert

_PATH = FilePath()


@click.command()
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@click.option("--memory", type=_PATH, metavar="DIR", help="The memory's directory (default: run.memory of the settings).")
@click.option("--faults", "faults_file", type=_PATH, metavar="FILE", help="TOML file that says what goes wrong, and when.")
@click.option("--seconds", type=NumberRange(min=0, min_open=True, max=1e8), default=60.0, show_default=True, help="Simulated time.")
@click.option("--start", default="", metavar="ISO8601", help="Wall time at the start (default: now).")
@click.option("--root", type=_PATH, metavar="DIR", help="Write the board's files below this directory, such as sys/class/thermal.")
@json_option
@common_options
@pass_environment
def sim(
    environment: CommandContext,
    sources: tuple[str, ...],
    memory: Path | None,
    faults_file: Path | None,
    seconds: float,
    start: str,
    root: Path | None,
    as_json: bool,
) -> None:
    """Run the daemon in simulated time. Each SOURCE (default: run.sources), a video or a folder of pictures, is a camera that starts again
    when it ends.

    Time stands still while the daemon works and jumps ahead while it waits. The faults are: a camera that is gone ("blind") or repeats its
    last picture ("frozen"), a wall clock that is set ("clock"), a disk that is slow ("slow_disk"), a board that gets hot ("thermal").
    """
    from edgemem.device.simulation import Faults, read_faults, simulate

    environment.use(_settings(environment.settings, sources, memory))
    report = simulate(
        environment,
        read_faults(faults_file) if faults_file is not None else Faults(),
        seconds=seconds,
        start_us=from_iso(start, environment.settings.timezone) if start else now_us(),
        root=root,
        report=lambda line: note(f"{line.at_s:10.1f} s  {line.stream + ': ' if line.stream else ''}{line.text}"),
    )
    if as_json:
        print_json(report)
        return
    for stream in report.streams:
        print_line(f"{stream.stream}: {stream.shown} frames shown, {stream.seen} seen, {stream.moments} moments in the memory")
    print_line(f"{report.seconds:.0f} s in {report.took_s:.1f} s")


def _settings(settings: Settings, sources: tuple[str, ...], memory: Path | None) -> Settings:
    """The settings with what the command names."""
    run = settings.run
    if sources:
        run = msgspec.structs.replace(run, sources=[convert({"source": source}, RunSource, "SOURCE") for source in sources])
    if memory is not None:
        run = msgspec.structs.replace(run, memory=str(memory))
    return msgspec.structs.replace(settings, run=run)
