"""`edgemem timeline`: what happened, in order."""

from __future__ import annotations

from pathlib import Path

import click

from edgemem.cli.app import (
    CommandContext,
    FilePath,
    common_options,
    json_option,
    memory_option,
    note,
    pass_environment,
    print_json,
    print_line,
    table,
)
from edgemem.clock import offset_text, to_local
from edgemem.records import US


@click.command()
@memory_option
@click.option("--from", "from_", metavar="ISO8601", help="Only what ended after then.")
@click.option("--to", metavar="ISO8601", help="Only what began before then.")
@click.option("--stream", metavar="NAME", help="Only this stream.")
@click.option("--sheet", type=FilePath(dir_okay=False), metavar="FILE.png", help="Also draw a contact sheet.")
@json_option
@common_options
@pass_environment
def timeline(
    environment: CommandContext, memory: Path, from_: str | None, to: str | None, stream: str | None, sheet: Path | None, as_json: bool
) -> None:
    """List the events of a memory in order: when, how many moments were kept, and what was written about them."""
    from edgemem.remember.disk.directory import require_outside
    from edgemem.serve.rendering import timeline_json

    if sheet is not None:
        require_outside(memory, sheet)
    entries = environment.memory(memory).timeline(from_=from_, to=to, stream=stream)
    if sheet is not None:
        from edgemem.cli.sheet import draw_sheet

        note(f"contact sheet: {draw_sheet(memory, entries, sheet)}")
    if as_json:
        print_json(timeline_json(entries))
        return
    tz = environment.settings.timezone
    rows = [
        (
            f"s{entry.segment.id}",
            to_local(entry.segment.t0_us, tz).strftime("%Y-%m-%d %H:%M:%S"),
            offset_text(entry.segment.offset_us),
            f"{(entry.segment.t1_us - entry.segment.t0_us) / US:.0f} s",
            str(entry.moments),
            entry.segment.stream,
            " ".join(entry.text.split())[:100],
        )
        for entry in entries
    ]
    if rows:
        table(rows, ("id", "time", "offset", "length", "moments", "stream", "what"))
    else:
        print_line("nothing is remembered for that time")
