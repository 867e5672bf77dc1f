"""Evidence as a table for people."""

from __future__ import annotations

from collections.abc import Iterable

from edgemem.cli.app import short, table
from edgemem.clock import offset_text, to_local
from edgemem.records import Evidence


def print_evidence(items: Iterable[Evidence], tz: str) -> None:
    """Print position in the stream, time and text of each piece of evidence; nothing if there is none."""
    rows = [
        (
            e.id,
            e.channel,
            offset_text(e.offset_us),
            to_local(e.t0_us, tz).strftime("%Y-%m-%d %H:%M:%S"),
            f"{e.score:.2f}",
            e.stream,
            short(e.text, 90),
        )
        for e in items
    ]
    if rows:
        table(rows, ("id", "channel", "offset", "time", "score", "stream", "text"))
