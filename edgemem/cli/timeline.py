"""`edgemem timeline`: what happened, in order."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgemem.cli.app import CommandContext, common_options, json_option, memory_option, note, pass_session, print_json, table
from edgemem.cli.ask import WRITTEN
from edgemem.clock import from_iso, offset_text, to_iso, to_local
from edgemem.records import US, Document

if TYPE_CHECKING:
    from edgemem.remember.view import View


@click.command()
@memory_option
@click.option("--from", "from_", metavar="ISO8601", help="Only what ended after then.")
@click.option("--to", metavar="ISO8601", help="Only what began before then.")
@click.option("--stream", metavar="NAME", help="Only this stream.")
@click.option("--sheet", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.png", help="Also draw a contact sheet.")
@json_option
@common_options
@pass_session
def timeline(
    session: CommandContext, memory: Path, from_: str | None, to: str | None, stream: str | None, sheet: Path | None, as_json: bool
) -> None:
    """List the events of a memory in order: when, how many moments were kept, and what was written about them."""
    from edgemem.remember.view import View

    tz = session.settings.timezone
    from_us, to_us = (from_iso(text, tz) if text else None for text in (from_, to))
    with View.open(memory) as view:
        segments = view.segments(from_us=from_us, to_us=to_us, stream=stream)
        documents = written(view, from_us, to_us, stream)
        counts = {s.id: len(view.segment_moments(s.id)) for s in segments}
        if sheet is not None:
            from edgemem.cli.sheet import contact_sheet

            sheet.write_bytes(contact_sheet(view, segments, documents))
            note(f"contact sheet: {sheet}")
    if as_json:
        print_json({
            "events": [
                {
                    "id": f"s{s.id}", "stream": s.stream, "segmenter": s.segmenter, "t0": to_iso(s.t0_us), "t1": to_iso(s.t1_us),
                    "offset_s": s.offset_us / US, "moments": counts[s.id], "text": documents[s.id].text if s.id in documents else "",
                }
                for s in segments
            ]
        })  # fmt: skip
        return
    rows = []
    for s in segments:
        text = " ".join(documents[s.id].text.split()) if s.id in documents else ""
        length = f"{(s.t1_us - s.t0_us) / US:.0f} s"
        rows.append(
            (
                f"s{s.id}",
                to_local(s.t0_us, tz).strftime("%Y-%m-%d %H:%M:%S"),
                offset_text(s.offset_us),
                length,
                str(counts[s.id]),
                s.stream,
                text[:100],
            )
        )
    if rows:
        table(rows, ("id", "time", "offset", "length", "moments", "stream", "what"))
    else:
        click.echo("nothing is remembered for that time")


def written(view: View, from_us: int | None = None, to_us: int | None = None, stream: str | None = None) -> dict[int, Document]:
    """By segment, what was written about it."""
    found = view.documents(kinds=WRITTEN, from_us=from_us, to_us=to_us, stream=stream)
    return {document.segment_id: document for document in found if document.segment_id is not None}
