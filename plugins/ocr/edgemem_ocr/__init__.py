"""Text in pictures: PP-OCR on any runtime, after a fast test for text."""

from __future__ import annotations

from typing import Any

import msgspec

from edgemem.extend.hookspecs import Component, Components, hookimpl


class OcrSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of the reader. The limits keep the time per picture similar."""

    max_side_px: int = 960
    """Longer side of the picture for the detector; lines are then cut from the full picture."""
    min_side_px: int = 320
    """Smaller pictures are enlarged to this shorter side, limited by `max_side_px` and `max_enlarge`."""
    max_enlarge: float = 2.0
    max_lines: int = 40
    """Most lines that are read in one picture: the largest."""
    max_line_ratio: float = 25.0
    """Longer lines (width divided by height) are compressed to this ratio."""
    batch: int = 6
    """Lines in one run of the recogniser."""
    min_score: float = 0.6
    """Least mean character probability of a line; below it, the text comes from textures."""
    min_likelihood: float = 0.3
    """Pictures below this `likelihood` are not read at all; 0 reads every picture."""
    rough: float = 0.5
    """Scale of a first search for text, as a part of the detector's; only where it finds some, the detector looks again at full scale.
    0 = at once at full scale, which takes 1.8 times as long and reads the same signs (`tools/bench/reading.py`)."""
    codes: bool = False
    """Read QR codes too; about 0.1 s per picture of 960 px. Their content is kept as text after "QR:"; links are never opened."""
    pixel_threshold: float = 0.3
    box_threshold: float = 0.5
    unclip_ratio: float = 1.6
    """Parameters of the detector's post-processing (DB, Liao et al. 2020); values of PP-OCRv6 in RapidOCR."""


def _ppocr(settings: OcrSettings, parts: Any) -> Any:
    from edgemem_ocr.reader import PaddleReader

    return PaddleReader(settings, parts)


@hookimpl
def register_decoders() -> Components:
    """The decoder `ppocr`."""
    return (Component("ppocr", _ppocr, OcrSettings, "lines of text, detected and recognised by PP-OCR"),)
