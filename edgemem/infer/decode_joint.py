"""Dual encoders: pictures and text in one space (Radford et al. 2021; Zhai et al. 2023)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from edgemem.errors import EngineError
from edgemem.infer.decode_image import resize, tensor, unit
from edgemem.infer.decode_settings import DualSettings
from edgemem.infer.decode_text import TextTokenizer
from edgemem.infer.engines import DecoderParts
from edgemem.infer.roles import Crop, ImageAnalysis
from edgemem.records import Box, Image, Matrix

if TYPE_CHECKING:
    import numpy.typing as npt

    Arrays = dict[str, npt.NDArray[Any]]


class DualEncoder:
    """Role `embed_joint`, for a card with the models `image` and `text`, or one `model` that takes both at once.

    With a part for the role `detect`, `look` also finds objects; the encoder alone has no names.
    """

    crop_space = None

    def __init__(self, settings: DualSettings, parts: DecoderParts) -> None:
        if parts.card.space is None:
            raise EngineError(f"{parts.card.name}: its card has no [space]")
        self.space = parts.card.space
        self._settings = settings
        self._image = parts.engines.get("image") or parts.engines["model"]
        self._text = parts.engines.get("text") or parts.engines["model"]
        self._both = self._image is self._text
        self._half = {t.dtype for m in parts.card.models.values() for t in m.inputs.values()} & {"float16"}
        self._tokenizer = TextTokenizer(parts.files["tokenizer"], settings.max_tokens, settings.pad_token, settings.end_token)
        self._detector = parts.uses.get("detect")

    def glance(self, images: Sequence[Image]) -> Matrix:
        """float32 [n, dim], unit length."""
        vectors = [self._embed_images(images[i : i + self._settings.batch]) for i in range(0, len(images), self._settings.batch)]
        return np.concatenate(vectors) if vectors else np.empty((0, self.space.dim), np.float32)

    @property
    def local(self) -> DualEncoder:
        """Itself."""
        return self

    def embed_images(self, images: Sequence[Image]) -> Matrix:
        """The same as `glance`."""
        return self.glance(images)

    def look(self, image: Image) -> ImageAnalysis:
        """The same vector as `glance`, with the objects of the detector."""
        observations = tuple(self._detector.detect(image)) if self._detector is not None else ()
        return ImageAnalysis(vector=self.glance([image])[0], observations=observations)

    def crops(self, image: Image, boxes: Sequence[Box] = ()) -> tuple[Crop, ...]:
        """Never called: a dozen runs of the encoder for every kept picture are too dear."""
        del image, boxes
        raise EngineError("a dual encoder has no vectors of parts of pictures")

    def embed_text(self, texts: Sequence[str]) -> Matrix:
        """Vectors of queries: float32 [n, dim], unit length."""
        vectors = [self._embed_texts(texts[i : i + self._settings.batch]) for i in range(0, len(texts), self._settings.batch)]
        return np.concatenate(vectors) if vectors else np.empty((0, self.space.dim), np.float32)

    def _embed_images(self, images: Sequence[Image]) -> Matrix:
        arrays: Arrays = self._pixels(images)
        if self._both:
            arrays.update(self._tokens([""] * len(images)))
        return self._vectors(self._image.infer(arrays), self._settings.image_output)

    def _embed_texts(self, texts: Sequence[str]) -> Matrix:
        arrays = self._tokens(texts)
        if self._both:
            side = self._settings.side_px
            arrays.update(self._pixels([np.zeros((side, side, 3), np.uint8)] * len(texts)))
        return self._vectors(self._text.infer(arrays), self._settings.text_output)

    def _vectors(self, arrays: Arrays, output: str) -> Matrix:
        vectors = arrays[output]
        if vectors.ndim != 2 or vectors.shape[1] != self.space.dim:
            raise EngineError(f"{output} has the shape {list(vectors.shape)}, space.dim of the card says {self.space.dim}")
        return unit(vectors.astype(np.float32))

    def _pixels(self, images: Sequence[Image]) -> Arrays:
        mean, std = ([255 * v for v in values] for values in (self._settings.mean, self._settings.std))
        batch = np.stack([tensor(self._square(image), mean, std, rgb=True) for image in images])
        return {self._settings.image_input: batch.astype(np.float16) if self._half else batch}

    def _square(self, image: Image) -> Image:
        side = self._settings.side_px
        if self._settings.resize == "stretch":
            return resize(image, side, side)
        height, width = image.shape[:2]
        fit = min if self._settings.resize == "crop" else max
        scale = side / fit(height, width)
        image = resize(image, max(1, round(width * scale)), max(1, round(height * scale)))
        height, width = image.shape[:2]
        top, left = (height - side) // 2, (width - side) // 2
        if self._settings.resize == "crop":
            return image[top : top + side, left : left + side]
        fill = [255 * value for value in reversed(self._settings.mean)]
        return np.asarray(cv2.copyMakeBorder(image, -top, side - height + top, -left, side - width + left, cv2.BORDER_CONSTANT, value=fill))

    def _tokens(self, texts: Sequence[str]) -> Arrays:
        wrapped = [self._settings.prompt.format(text.lower() if self._settings.lower_case else text) for text in texts]
        ids, mask = self._tokenizer(wrapped, self._settings.max_tokens if self._settings.fixed_length else 0)
        arrays: Arrays = {self._settings.text_input: ids}
        if self._settings.text_mask:
            arrays[self._settings.text_mask] = mask
        return arrays
