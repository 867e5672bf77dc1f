"""Decoders of face models: detection and embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from edgemem.errors import EngineError
from edgemem.infer.decode_image import resize, strongest, tensor, unit
from edgemem.infer.decode_settings import FaceSettings
from edgemem.infer.engines import DecoderParts
from edgemem.infer.roles import Face
from edgemem.records import Box, Image, Vector

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

STRIDE_PX = 4
"""Stride of CenterFace's output (Xu et al. 2019, section 3.1)."""
MULTIPLE_PX = 32
"""Sides of the picture must be multiples of the largest stride."""
ALIGNED_PX = 112
ALIGNED_LANDMARKS = ((38.2946, 51.6963), (73.5318, 51.5014), (56.0252, 71.7366), (41.5493, 92.3655), (70.7299, 92.2041))
"""Positions of the landmarks of an aligned 112 px face (ArcFace, Deng et al. 2019)."""


class CenterFace:
    """Role `detect_face`: peaks of a heat map, with the box and the landmarks at each peak."""

    def __init__(self, settings: FaceSettings, parts: DecoderParts) -> None:
        self._settings = settings
        self._engine = parts.engines["model"]

    def detect_faces(self, image: Image) -> list[Face]:
        """Faces, best first."""
        height, width = image.shape[:2]
        scale = min(1.0, self._settings.max_side_px / max(height, width, 1))
        height, width = (max(1, -(-round(side * scale) // MULTIPLE_PX)) * MULTIPLE_PX for side in (height, width))
        pixels = tensor(resize(image, width, height), (0, 0, 0), (1, 1, 1), rgb=True)
        arrays = self._engine.infer({"image": pixels[None]})
        heat, scales, offsets, marks = (arrays[name][0] for name in ("heatmap", "scale", "offset", "landmarks"))
        rows, columns = np.nonzero(heat[0] >= self._settings.min_score)
        sizes = np.exp(scales[:, rows, columns]) * STRIDE_PX  # height, width
        top = (rows + offsets[0, rows, columns] + 0.5) * STRIDE_PX - sizes[0] / 2
        left = (columns + offsets[1, rows, columns] + 0.5) * STRIDE_PX - sizes[1] / 2
        boxes = np.stack([left, top, left + sizes[1], top + sizes[0]], axis=1)
        scores = heat[0, rows, columns]
        points = marks[:, rows, columns].reshape(5, 2, -1)[:, ::-1] * sizes[None, ::-1] + np.stack([left, top])[None]
        whole = np.array([width, height], np.float32)
        kept = strongest(boxes, scores, np.zeros(len(boxes)), self._settings.max_overlap)
        return [_face(boxes[i], float(scores[i]), points[:, :, i], whole) for i in kept]


def _face(corners: Array, score: float, points: Array, whole: Array) -> Face:
    x0, y0, x1, y1 = (float(v) for v in np.clip(corners.reshape(2, 2) / whole, 0, 1).ravel())
    landmarks = tuple((float(x), float(y)) for x, y in points / whole)
    return Face(box=Box(x0, y0, x1, y1), score=min(score, 1.0), landmarks=landmarks)


class AlignedFaceEmbedder:
    """Role `embed_face`: the face is rotated and scaled so that its landmarks are where the model expects them."""

    def __init__(self, parts: DecoderParts) -> None:
        if parts.card.space is None:
            raise EngineError(f"{parts.card.name}: its card has no [space]")
        self.space = parts.card.space
        self._engine = parts.engines["model"]
        ((self._input, shape),) = parts.card.models["model"].inputs.items()
        self._side = int(shape.shape[1])

    def embed_face(self, image: Image, face: Face) -> Vector:
        """float32 [dim], unit length."""
        aligned = align(image, face)
        pixels = resize(aligned, self._side, self._side)[:, :, ::-1].astype(np.float32)
        vector: Vector = unit(self._engine.infer({self._input: pixels[None]})["embedding"])[0]
        return vector


def align(image: Image, face: Face) -> Image:
    """The face as a picture of 112 x 112. Raises EngineError if all its landmarks are at one point."""
    height, width = image.shape[:2]
    points = np.array(face.landmarks, np.float32) * np.array([width, height], np.float32)
    matrix, _ = cv2.estimateAffinePartial2D(points, np.array(ALIGNED_LANDMARKS, np.float32), method=cv2.LMEDS)
    if matrix is None:
        raise EngineError("the landmarks of this face do not span a face: leave it out")
    return np.asarray(cv2.warpAffine(image, matrix, (ALIGNED_PX, ALIGNED_PX)), np.uint8)
