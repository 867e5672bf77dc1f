"""PP-OCR: a detector finds lines, a recogniser reads them. Both are engines; RapidOCR provides pre- and post-processing."""

from __future__ import annotations

import math
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
from edgemem.records import Box, Image, Observation

if TYPE_CHECKING:
    import numpy.typing as npt

    from edgemem_ocr import OcrSettings

    Array = npt.NDArray[Any]

MULTIPLE_PX = 32
"""Sides of the detector's input are multiples of its largest stride."""
LINE_PX = 48
"""Height of a line in the recogniser's input."""
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
        corners, _ = self._boxes(self._text_map(image, self.scale(width, height))[None, None], (height, width))
        if not len(corners):
            return []
        areas = np.array([cv2.contourArea(corner) for corner in corners])
        largest = np.sort(np.argsort(-areas, kind="stable")[: self._settings.max_lines])
        return list(TextDetector.sorted_boxes(np.asarray(corners, np.float32)[largest]))

    def scale(self, width: int, height: int) -> float:
        """Scale of a picture for the detector: it limits the cost for all sizes and shapes."""
        settings = self._settings
        enlarge = min(settings.max_enlarge, settings.min_side_px / min(width, height))
        return min(max(1.0, enlarge), settings.max_side_px / max(width, height))

    def _text_map(self, image: Image, scale: float) -> Array:
        """Probability of text per pixel of the scaled picture, float32 [height, width]."""
        height, width = (max(1, round(side * scale / MULTIPLE_PX)) * MULTIPLE_PX for side in image.shape[:2])
        pixels = tensor(resize(image, width, height), HALF, HALF, rgb=False)
        arrays = self._detection.infer({self._detector_input: pixels[None]})
        result: Array = np.asarray(arrays[self._detector_output], np.float32)[0, 0]
        return result

    def _recognise(self, lines: list[Image]) -> list[tuple[str, float]]:
        """Text and mean character probability of each line. Lines of similar length are in one batch, so that there is little padding."""
        results: list[tuple[str, float]] = [("", 0.0)] * len(lines)
        ratios = [min(line.shape[1] / line.shape[0], self._settings.max_line_ratio) for line in lines]
        order = sorted(range(len(lines)), key=lambda index: ratios[index])
        for start in range(0, len(order), self._settings.batch):
            batch = order[start : start + self._settings.batch]
            width = math.ceil(LINE_PX * max(MIN_RATIO, *(ratios[index] for index in batch)))
            pixels = np.zeros((len(batch), 3, LINE_PX, width), np.float32)
            for row, index in enumerate(batch):
                used = min(width, math.ceil(LINE_PX * ratios[index]))
                pixels[row, :, :, :used] = tensor(_line(lines[index], used), HALF, HALF, rgb=False)
            arrays = self._recognition.infer({self._line_input: pixels})
            read, _ = self._decode(arrays[self._line_output])
            for index, (text, score) in zip(batch, read, strict=True):
                results[index] = (text.strip(), float(score))
        return results


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
