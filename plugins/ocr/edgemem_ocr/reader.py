"""PP-OCR: a detector finds lines, a recogniser reads them. Both are engines; RapidOCR provides pre- and post-processing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from rapidocr.ch_ppocr_det import TextDetector
from rapidocr.ch_ppocr_det.utils import DBPostProcess
from rapidocr.ch_ppocr_rec.utils import CTCLabelDecode
from rapidocr.utils.process_img import get_rotate_crop_image

from edgemem.errors import EngineError
from edgemem.infer.decode_image import resize, tensor
from edgemem.infer.engines import DecoderParts
from edgemem.infer.large_run import LARGE_RUN
from edgemem.records import Box, Image, Observation

if TYPE_CHECKING:
    import numpy.typing as npt

    from edgemem_ocr import OcrSettings

    Array = npt.NDArray[Any]

MULTIPLE_PX = 32
"""Sides of the detector's input are multiples of its largest stride."""
LINE_PX = 48
"""Height of a line in the recogniser's input."""
BATCH_PX = 1920
"""Width of all lines together that are recognised at once: six of the shortest."""
MIN_RATIO = 320 / LINE_PX
"""Lines are padded to at least this width over height, as in training."""
HALF = (127.5, 127.5, 127.5)
"""Mean and standard deviation for both networks: pixels become -1..1."""


CODE_PX = 960
"""Longer side of the copy that is searched for codes: a code that fills a third of the picture has 5 px per module."""
GLANCE_PX = (256, 128)
"""Longer sides of the copies that are tested for text: one for small text, one for words that fill the picture."""
GLANCE_AREA_PX = 26
"""Least number of pixels of the most probable text on the 256 px copy (a quarter of that on 128 px)."""
TWICE = 0.5
"""Largest scale of the first search, as a part of the detector's."""
ROUGH_PROBABILITY = 0.1
"""Pixels of the first search with at least this probability are looked at again. Lines at full scale begin at .3."""
CONTEXT_PX = 32
"""What the detector sees around text at full scale: its largest stride."""
INSET = 0.8
"""The detector marks the core of a line: the line ends this many thicknesses of the core further out. A core grown by `unclip_ratio` 1.6 is
the line: k + 1.6 k = 1 for its share k of the line's height, and (1 - k) / 2 = 0.8 k."""
LARGE_PX = 480 * 480
"""The detector needs 80 bytes per pixel. Inputs above this size, 18 MB, wait for others that need much memory."""
WHOLE = 0.7
"""Where more than this share of the picture would be looked at again, all of it is."""

Span = tuple[int, int]
"""First and last pixel along one side, the last excluded."""


class PaddleReader:
    """Role `read_text`."""

    def __init__(self, settings: OcrSettings, parts: DecoderParts) -> None:
        self._settings = settings
        self._detection, self._recognition = parts.engines["detection"], parts.engines["recognition"]
        alphabet = self._recognition.metadata.get("character")
        if not alphabet:
            raise EngineError(f"{parts.card.name}: its recogniser has no alphabet; use the file that its card names")
        self._decode: Any = CTCLabelDecode(character=alphabet.splitlines())
        classes = parts.card.models["recognition"].outputs.values()
        if [len(self._decode.character)] != [described.shape[2] for described in classes]:
            raise EngineError(f"{parts.card.name}: the alphabet does not match the recogniser; use the file that its card names")
        self._boxes: Any = DBPostProcess(
            thresh=settings.pixel_threshold, box_thresh=settings.box_threshold, unclip_ratio=settings.unclip_ratio, use_dilation=True
        )
        ((self._detector_input, self._detector_output), (self._line_input, self._line_output)) = (
            (next(iter(model.inputs)), next(iter(model.outputs)))
            for model in (parts.card.models["detection"], parts.card.models["recognition"])
        )

    def read(self, image: Image) -> list[Observation]:
        """Observations of kind `text`: codes, if enabled, then lines from top to bottom; empty if there are none."""
        return [*(codes(image) if self._settings.codes else ()), *self._lines(image)]

    def _lines(self, image: Image) -> list[Observation]:
        if self._settings.min_likelihood and self.likelihood(image) < self._settings.min_likelihood:
            return []
        corners = self.find(image)
        lines = [np.ascontiguousarray(get_rotate_crop_image(image, corner.copy())) for corner in corners]
        return [
            _observation(text, score, corner, image)
            for (text, score), corner in zip(self._recognise(lines), corners, strict=True)
            if score >= self._settings.min_score and any(character.isalnum() for character in text)
        ]

    def likelihood(self, image: Image) -> float:
        """Likelihood of text, 0 (certainly none) to 1, in about a tenth of the time of `find`: it runs the detector on copies of 256 and
        128 px.

        On 181 photographs, film frames and rendered signs, 0.3 accepts 95 % of those with readable text and 34 % of the others. A search
        for rows of letter-like parts (after Epshtein et al. 2010) accepted 90 % and 66 %.
        """
        best = 0.0
        for side in GLANCE_PX:
            scale = side / max(image.shape[:2])
            surest = np.sort(self._text_map(image, scale), axis=None)[-round(GLANCE_AREA_PX * (side / GLANCE_PX[0]) ** 2) :]
            best = max(best, float(surest.mean()))
        return min(best, 1.0)

    def find(self, image: Image) -> list[Array]:
        """Corners of lines in reading order: float32 [4, 2] each, clockwise from the top left, in pixels of `image`."""
        height, width = image.shape[:2]
        scale = self.scale(width, height)
        rough = self._settings.rough_px / max(1, round(max(width, height) * scale))
        (x0, x1), (y0, y1) = self._where(image, scale, rough) if 0 < rough <= TWICE else ((0, width), (0, height))
        if x0 == x1:
            return []
        corners, _ = self._boxes(self._text_map(image[y0:y1, x0:x1], scale)[None, None], (y1 - y0, x1 - x0))
        if not len(corners):
            return []
        areas = np.array([cv2.contourArea(corner) for corner in corners])
        largest = np.sort(np.argsort(-areas, kind="stable")[: self._settings.max_lines])
        return list(TextDetector.sorted_boxes(np.asarray(corners, np.float32)[largest] + np.array((x0, y0), np.float32)))

    def _where(self, image: Image, scale: float, rough: float) -> tuple[Span, Span]:
        """Columns and rows that hold all text of a search at `rough` of the scale; empty spans if there is none."""
        height, width = image.shape[:2]
        found = (self._text_map(image, scale * rough) >= ROUGH_PROBABILITY).astype(np.uint8)
        if not found.any():
            return (0, 0), (0, 0)
        thickness = 2 * float(cv2.distanceTransform(np.pad(found, 1), cv2.DIST_L2, 3).max()) / rough
        spans = [
            span(used[0] / len(marked), (used[-1] + 1) / len(marked), side, scale, CONTEXT_PX + INSET * thickness)
            for marked, side in ((found.max(axis=0), width), (found.max(axis=1), height))
            for used in [np.flatnonzero(marked)]
        ]
        (x0, x1), (y0, y1) = spans
        whole = (x1 - x0) * (y1 - y0) > WHOLE * width * height
        return ((0, width), (0, height)) if whole else (spans[0], spans[1])

    def scale(self, width: int, height: int) -> float:
        """Scale of a picture for the detector: it limits the cost for all sizes and shapes."""
        settings = self._settings
        enlarge = min(settings.max_enlarge, settings.min_side_px / min(width, height))
        return min(max(1.0, enlarge), settings.max_side_px / max(width, height))

    def _text_map(self, image: Image, scale: float) -> Array:
        """Probability of text per pixel of the scaled picture, float32 [height, width]."""
        height, width = (max(1, round(side * scale / MULTIPLE_PX)) * MULTIPLE_PX for side in image.shape[:2])
        pixels = tensor(resize(image, width, height), HALF, HALF, rgb=False)
        with LARGE_RUN if height * width > LARGE_PX else nullcontext():
            arrays = self._detection.infer({self._detector_input: pixels[None]})
        result: Array = np.asarray(arrays[self._detector_output], np.float32)[0, 0]
        return result

    def _recognise(self, lines: list[Image]) -> list[tuple[str, float]]:
        """Text and mean character probability of each line. Lines of similar length are in one batch, so that there is little padding."""
        results: list[tuple[str, float]] = [("", 0.0)] * len(lines)
        ratios = [min(line.shape[1] / line.shape[0], self._settings.max_line_ratio) for line in lines]
        for batch in batches(ratios, self._settings.batch):
            width = _width(ratios[batch[-1]])
            pixels = np.zeros((len(batch), 3, LINE_PX, width), np.float32)
            for row, index in enumerate(batch):
                used = min(width, math.ceil(LINE_PX * ratios[index]))
                pixels[row, :, :, :used] = tensor(_line(lines[index], used), HALF, HALF, rgb=False)
            arrays = self._recognition.infer({self._line_input: pixels})
            read, _ = self._decode(arrays[self._line_output])
            for index, (text, score) in zip(batch, read, strict=True):
                results[index] = (text.strip(), float(score))
        return results


def span(low: float, high: float, side: int, scale: float, margin_px: float) -> Span:
    """The pixels of a side from `low` to `high` (fractions of it), with `margin_px` of the scaled picture at each end.

    The scaled length is a multiple of `MULTIPLE_PX`, so that nothing is stretched; all of the side where there is not enough of it.
    """
    wanted = (high - low) * side * scale + 2 * margin_px
    length = round(math.ceil(wanted / MULTIPLE_PX) * MULTIPLE_PX / scale)
    if length >= side:
        return 0, side
    first = min(max(0, round((low + high) / 2 * side - length / 2)), side - length)
    return first, first + length


def batches(ratios: Sequence[float], most: int) -> Iterator[list[int]]:
    """Indices of lines that run together, by their widths over their heights: the narrowest first, at most `most` at a time.

    Long lines are fewer: what comes back has 18,710 floats for each 8 px of each line, 54 MB for six of the longest.
    """
    batch: list[int] = []
    for index in sorted(range(len(ratios)), key=lambda index: ratios[index]):
        if batch and (len(batch) == most or (len(batch) + 1) * _width(ratios[index]) > BATCH_PX):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _width(ratio: float) -> int:
    """Of a line as it is given to the recogniser, in pixels."""
    return math.ceil(LINE_PX * max(MIN_RATIO, ratio))


def codes(image: Image) -> list[Observation]:
    """The QR codes in a picture, as text after "QR:"."""
    scale = min(1.0, CODE_PX / max(image.shape[:2]))
    small = resize(image, max(1, round(image.shape[1] * scale)), max(1, round(image.shape[0] * scale)))
    _, texts, corners, _ = cv2.QRCodeDetector().detectAndDecodeMulti(small)
    return [
        _observation(f"QR: {text}", 1.0, corner, small)
        for text, corner in zip(texts, () if corners is None else corners, strict=False)
        if text
    ]


def _line(line: Image, width: int) -> Image:
    """A line as in the training of the recogniser: bilinear, even when it gets smaller."""
    return np.asarray(cv2.resize(line, (width, LINE_PX), interpolation=cv2.INTER_LINEAR), np.uint8)


def _observation(text: str, score: float, corner: Array, image: Image) -> Observation:
    height, width = image.shape[:2]
    (x0, y0), (x1, y1) = (np.clip(edge / (width, height), 0, 1).tolist() for edge in (corner.min(axis=0), corner.max(axis=0)))
    return Observation(kind="text", name=text, score=min(score, 1.0), box=Box(x0, y0, x1, y1))
