"""Text in pictures: PP-OCR on whatever runtime its card names, behind a cheap test for text."""

from __future__ import annotations

from typing import Any

import msgspec

from edgemem.extend.hookspecs import Component, Components, hookimpl


class OcrSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of the reader. The bounds keep a reading from costing ten times another."""

    max_side_px: int = 960
    """The detector sees the picture with its longer side at most this long; lines are then cut from the full picture."""
    min_side_px: int = 320
    """Smaller pictures are enlarged to this shorter side, within `max_side_px` and `max_enlarge`."""
    max_enlarge: float = 2.0
    max_lines: int = 40
    """Lines read in one picture: the largest."""
    max_line_ratio: float = 25.0
    """Longer lines (width over height) are squeezed to this."""
    batch: int = 6
    """Lines in one run of the recogniser."""
    min_score: float = 0.6
    """Mean character probability of a line; below it, what is read in textures is nonsense."""
    min_likelihood: float = 0.3
    """Pictures below this `likelihood` are not read at all; 0 reads every picture."""
    codes: bool = False
    """Read QR codes too; about 0.1 s a picture of 960 px. What they hold is kept as text after "QR:", and never followed."""
    pixel_threshold: float = 0.3
    box_threshold: float = 0.5
    unclip_ratio: float = 1.6
    """Of the detector's post-processing (DB, Liao et al. 2020); values of PP-OCRv6 in RapidOCR."""


def _ppocr(settings: OcrSettings, parts: Any) -> Any:
    from edgemem_ocr.reader import PaddleReader

    return PaddleReader(settings, parts)


@hookimpl
def register_decoders() -> Components:
    """The decoder `ppocr`."""
    return (Component("ppocr", _ppocr, OcrSettings, "lines of text, detected and recognised by PP-OCR"),)
