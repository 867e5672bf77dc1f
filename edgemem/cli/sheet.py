"""A contact sheet: the timeline of a memory as one picture, with one row per event."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from edgemem import files
from edgemem.clock import offset_text
from edgemem.records import Moment

if TYPE_CHECKING:
    from PIL.Image import Image as Picture
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

    from edgemem.remember.view import View
    from edgemem.serve.results import TimelineEntry

WIDTH_PX, MARGIN_PX = 1500, 28
THUMB_PX, GAP_PX = (208, 117), 10
TEXT_PX = 300
"""Width of the column with time and text, left of the pictures."""
PER_ROW = (WIDTH_PX - 2 * MARGIN_PX - TEXT_PX) // (THUMB_PX[0] + GAP_PX)
ROW_PX, HEAD_PX = THUMB_PX[1] + 34, 92
MAX_ROWS = 60
"""Most events on a sheet; of a longer memory they are chosen at equal distances."""

INK, DIM, PAPER, CARD, ACCENT = (236, 238, 241), (150, 158, 168), (22, 25, 30), (33, 37, 44), (88, 166, 255)


def draw_sheet(memory: Path, entries: Sequence[TimelineEntry], file: Path) -> Path:
    """Draw the timeline of a memory to a PNG file and return the file."""
    from edgemem.remember.administration import open_view

    with open_view(memory) as view:
        files.write_file(file, contact_sheet(view, entries))
    return file


def contact_sheet(view: View, entries: Sequence[TimelineEntry]) -> bytes:
    """PNG of the events in order: time, text and up to five moments of each."""
    from PIL import Image, ImageDraw

    chosen = _spread(entries, MAX_ROWS)
    sheet = Image.new("RGB", (WIDTH_PX, HEAD_PX + max(1, len(chosen)) * ROW_PX + MARGIN_PX), PAPER)
    draw = ImageDraw.Draw(sheet)
    _head(draw, view, len(entries), len(chosen))
    for row, entry in enumerate(chosen):
        _event(sheet, draw, HEAD_PX + row * ROW_PX, view, entry)
    buffer = io.BytesIO()
    sheet.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _spread(items: Sequence[TimelineEntry], limit: int) -> list[TimelineEntry]:
    if len(items) <= limit:
        return list(items)
    return [items[round(i * (len(items) - 1) / (limit - 1))] for i in range(limit)]


def _font(size: int) -> FreeTypeFont | ImageFont:
    from PIL import ImageFont

    return ImageFont.load_default(size)


def _head(draw: ImageDraw, view: View, events: int, shown: int) -> None:
    stats = view.stats()
    draw.text((MARGIN_PX, 24), "What edgemem remembers", fill=INK, font=_font(30))
    facts = f"{stats.moments} moments in {events} events, {stats.disk_bytes / 2**20:.1f} MiB on disk"
    if shown < events:
        facts += f"; {shown} events shown"
    draw.text((MARGIN_PX, 62), facts if events else "nothing yet", fill=DIM, font=_font(17))


def _event(sheet: Picture, draw: ImageDraw, top: int, view: View, entry: TimelineEntry) -> None:
    segment = entry.segment
    draw.rounded_rectangle((MARGIN_PX - 12, top, WIDTH_PX - MARGIN_PX + 12, top + ROW_PX - 8), radius=10, fill=CARD)
    draw.rectangle((MARGIN_PX - 12, top + 10, MARGIN_PX - 8, top + ROW_PX - 18), fill=ACCENT)
    moments = view.segment_moments(segment.id)
    end_us = segment.offset_us + segment.t1_us - segment.t0_us
    draw.text((MARGIN_PX + 4, top + 12), f"{offset_text(segment.offset_us)} to {offset_text(end_us)}", fill=INK, font=_font(20))
    kept = f"{len(moments)} moment{'' if len(moments) == 1 else 's'}"
    draw.text((MARGIN_PX + 4, top + 38), f"{segment.stream} · {kept}", fill=DIM, font=_font(14))
    words = " ".join(entry.text.split())
    for line, text in enumerate(_wrapped(draw, words, TEXT_PX - 24, lines=4)):
        draw.text((MARGIN_PX + 4, top + 60 + 18 * line), text, fill=DIM, font=_font(14))
    for column, moment in enumerate(_pick(moments, segment.representative_id)):
        left = MARGIN_PX + TEXT_PX + column * (THUMB_PX[0] + GAP_PX)
        _thumbnail(sheet, draw, (left, top + 8), view, moment, best=moment.id == segment.representative_id)


def _pick(moments: Sequence[Moment], representative: int | None) -> list[Moment]:
    """At most a row of moments at equal distances, including the representative."""
    if len(moments) <= PER_ROW:
        return list(moments)
    chosen = {moments[round(i * (len(moments) - 1) / (PER_ROW - 1))].id for i in range(PER_ROW)}
    if representative is not None and representative not in chosen:
        nearest = min(chosen - {moments[0].id}, key=lambda key: abs(key - representative))
        chosen = (chosen - {nearest}) | {representative}
    return [moment for moment in moments if moment.id in chosen]


def _thumbnail(sheet: Picture, draw: ImageDraw, at: tuple[int, int], view: View, moment: Moment, *, best: bool) -> None:
    from PIL import Image, ImageOps

    picture = view.picture(moment.id)
    if picture is None:  # evicted: only its text is left
        draw.rectangle((*at, at[0] + THUMB_PX[0], at[1] + THUMB_PX[1]), outline=DIM)
    else:
        with Image.open(io.BytesIO(picture)) as image:
            image.draft("RGB", (THUMB_PX[0] * 2, THUMB_PX[1] * 2))
            sheet.paste(ImageOps.fit(image.convert("RGB"), THUMB_PX), at)
    if best:
        draw.rectangle((at[0] - 2, at[1] - 2, at[0] + THUMB_PX[0] + 1, at[1] + THUMB_PX[1] + 1), outline=ACCENT, width=2)
    draw.text((at[0], at[1] + THUMB_PX[1] + 2), f"{offset_text(moment.offset_us)}  m{moment.id}", fill=DIM, font=_font(12))


def _wrapped(draw: ImageDraw, text: str, width_px: int, lines: int) -> list[str]:
    """At most `lines` lines of `text` that fit into `width_px`."""
    out = [""]
    for word in text.split():
        longer = f"{out[-1]} {word}".strip()
        if draw.textlength(longer, font=_font(14)) <= width_px or not out[-1]:
            out[-1] = longer
        elif len(out) == lines:
            out[-1] += " …"
            break
        else:
            out.append(word)
    return out
