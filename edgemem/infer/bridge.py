"""Pictures and text in one vector space without a dual encoder: sentence vectors of the names that a classifier and a detector give.

A picture's vector is the mean of its labels' sentence vectors, weighted by their probabilities (ConSE, Norouzi et al. 2014, eq. 3). It is
used for deduplication and coarse search. Exact search uses the observations: each label with its probability in the best crops.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from edgemem.errors import EngineError
from edgemem.infer.boxes import overlap
from edgemem.infer.colour import ColourMap
from edgemem.infer.labels import describe
from edgemem.infer.phrase import LabelQuery, PhraseMatcher, with_article
from edgemem.infer.projection import CROP_DIM, project
from edgemem.infer.roles import Classifier, Crop, Detector, ImageAnalysis, Space, TextEmbedder
from edgemem.records import Box, Image, Matrix, Observation, Vector

FULL = Box(0.0, 0.0, 1.0, 1.0)
COARSE = 2
"""Number of the first crops; `glance` uses only these."""
MIN_LABEL = 0.02
"""Labels below this probability are not kept. With 32 labels from .02 on, recall is 2 points better than with 16 from .05 on."""
MAX_LABELS = 32
"""Labels kept per picture, about 50 bytes each."""
MIN_OBJECT = 0.45
"""NanoDet's scores below this are noise: it finds a "person" at .40 in half of all pictures."""
VECTOR_LABELS = 8
"""Labels that make up the vector (T in ConSE)."""
PROPOSALS = 4
"""Crops around boxes of the detector, whatever their class: its boxes are right far more often than its 80 classes. With four of them
recall rose from 58 to 64 % and first answers from 39 to 43 % (`tools/eval/retrieval.py`)."""
PROPOSAL_AREA = (0.002, 0.45)
"""Least and largest area, as fractions of the picture: smaller boxes have too few pixels, larger ones repeat the fixed crops."""
PROPOSAL_MARGIN = 0.12
"""Fraction of the side of a box that is added at each end: the classifier was trained on objects with some background."""
SAME_BOX = 0.45
"""Intersection over union above which a second box is the same proposal."""
SECOND_CROP = 0.15
"""Weight of the second best crop: a label's score is .85 of the best and .15 of the second best. An error usually occurs in one crop
only."""
CROP_AREA = 0.5
"""Larger fixed crops are not kept as parts: they show whole scenes. Without them as many things are found (76 and 85 %)."""
GLANCES = 32
"""Number of pictures whose result of `glance` is cached, so that `look` does not compute it again."""


def crop_boxes(width: int, height: int) -> tuple[Box, ...]:
    """The whole picture, its middle square, squares at both ends of its longer side, and three half-size tiles along the middle."""
    side_x, side_y = min(1.0, height / width), min(1.0, width / height)
    middle = Box((1 - side_x) / 2, (1 - side_y) / 2, (1 + side_x) / 2, (1 + side_y) / 2)
    ends = (Box(0.0, 0.0, side_x, side_y), Box(1 - side_x, 1 - side_y, 1.0, 1.0))
    tiles = tuple(Box(x, 0.25, x + 0.5, 0.75) if width >= height else Box(0.25, x, 0.75, x + 0.5) for x in (0.0, 0.25, 0.5))
    return tuple(dict.fromkeys((FULL, middle, *ends, *tiles)))


def cut(image: Image, box: Box) -> Image:
    """The part of the picture in the box, at least one pixel."""
    height, width = image.shape[:2]
    x0, y0 = min(int(box.x0 * width), width - 1), min(int(box.y0 * height), height - 1)
    return image[y0 : max(y0 + 1, round(box.y1 * height)), x0 : max(x0 + 1, round(box.x1 * width))]


def proposals(boxes: Sequence[Box]) -> tuple[Box, ...]:
    """At most `PROPOSALS` different boxes of a suitable size, with a margin. `boxes`: the most probable first."""
    kept: list[Box] = []
    for box in boxes:
        if PROPOSAL_AREA[0] < box.area < PROPOSAL_AREA[1] and all(overlap(box, other) <= SAME_BOX for other in kept):
            kept.append(box)
    grown = []
    for box in kept[:PROPOSALS]:
        dx, dy = PROPOSAL_MARGIN * (box.x1 - box.x0), PROPOSAL_MARGIN * (box.y1 - box.y0)
        grown.append(Box(max(0.0, box.x0 - dx), max(0.0, box.y0 - dy), min(1.0, box.x1 + dx), min(1.0, box.y1 + dy)))
    return tuple(grown)


class LabelBridge:
    """Role `embed_joint`, made of a classifier, a detector (optional) and a text embedder."""

    def __init__(
        self,
        classifier: Classifier,
        detector: Detector | None,
        embedder: TextEmbedder,
        cache_dir: Path | None = None,
        calibration: Mapping[str, float] | None = None,
    ) -> None:
        """`calibration`: thresholds in its space, as its card states them."""
        self._classifier = classifier
        self._detector = detector
        self._embedder = embedder
        self._labels = describe(classifier.labels, "imagenet")
        objects = describe(detector.labels, "coco") if detector else ()
        self.space = Space(name=f"bridge-{embedder.space.name}", dim=embedder.space.dim, calibration=dict(calibration or {}))
        seen = classifier.features
        self.crop_space = Space(name=f"{seen.name}-{CROP_DIM}", dim=CROP_DIM) if seen is not None else None
        """Of what the classifier saw in a crop before it decided on a label, projected to `CROP_DIM` dimensions."""
        self._matcher = PhraseMatcher((*self._labels, *objects), embedder, cache_dir, classifier if seen is not None else None)
        self._glanced: OrderedDict[bytes, Matrix] = OrderedDict()

    def glance(self, images: Sequence[Image]) -> Matrix:
        """Vectors from the whole picture and its middle square: float32 [n, dim], unit length."""
        return (
            np.stack([self._vector(self._coarse(image).max(axis=0)) for image in images])
            if images
            else np.zeros((0, self.space.dim), np.float32)
        )

    @property
    def local(self) -> LabelBridge:
        """Itself."""
        return self

    def embed_images(self, images: Sequence[Image]) -> Matrix:
        """The same as `glance`."""
        return self.glance(images)

    def look(self, image: Image) -> ImageAnalysis:
        """Uses all crops, the detector and the colours. Observations of kind `label` and `object`, the most probable first."""
        detected = self._detector.detect(image) if self._detector else []
        fixed = crop_boxes(image.shape[1], image.shape[0])
        proposed = proposals([seen.box for seen in detected if seen.box])
        fine = (*fixed[COARSE:], *proposed)
        coarse = self._coarse(image)
        closely, features = self._classifier.classify_features([cut(image, box) for box in fine])
        probabilities = np.concatenate([coarse, closely])
        colours = ColourMap(image)
        seen = [*self._label_observations((*fixed[:COARSE], *fine), probabilities, colours), *_objects(detected, colours)]
        kept = [(b, f) for b, f in zip(fine, features, strict=True) if b in proposed or b.area <= CROP_AREA]
        crops = self._crops([box for box, _ in kept], [row for _, row in kept]) if self.crop_space is not None else ()
        return ImageAnalysis(vector=self._vector(coarse.max(axis=0)), observations=tuple(seen), crops=crops)

    def crops(self, image: Image, boxes: Sequence[Box] = ()) -> tuple[Crop, ...]:
        """These parts of the picture; without `boxes` all fixed crops and what the detector boxes."""
        if self.crop_space is None:
            raise EngineError("its classifier has no features: parts of pictures cannot be compared")
        detected = self._detector.detect(image) if self._detector and not boxes else []
        wanted = boxes or (*crop_boxes(image.shape[1], image.shape[0]), *proposals([seen.box for seen in detected if seen.box]))
        return self._crops(wanted, self._classifier.classify_features([cut(image, box) for box in wanted])[1])

    def embed_text(self, texts: Sequence[str]) -> Matrix:
        """Vectors of queries in the same space, as "a photo of ...": float32 [n, dim], unit length."""
        return self._embedder.embed_text([with_article(text, "a photo of ") for text in texts])

    def match_labels(self, query: str) -> LabelQuery:
        """Finds the labels and objects that match a query; needs no picture and no memory."""
        return self._matcher.match(query)

    @staticmethod
    def _crops(boxes: Sequence[Box], features: Sequence[Vector] | Matrix) -> tuple[Crop, ...]:
        if not boxes:
            return ()
        return tuple(Crop(box=b, vector=v) for b, v in zip(boxes, project(np.asarray(features), CROP_DIM), strict=True))

    def _vector(self, probabilities: Vector) -> Vector:
        best = np.argsort(-probabilities, kind="stable")[:VECTOR_LABELS]
        sentences, _ = self._matcher.vectors()
        vector = probabilities[best] @ sentences[best]
        return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-6), np.float32)

    def _coarse(self, image: Image) -> Matrix:
        """Probabilities for the whole picture and for its middle square, cached for the last pictures."""
        key = hashlib.blake2b(image[::8, ::8].tobytes(), digest_size=16).digest() + repr(image.shape).encode()
        found = self._glanced.get(key)
        if found is None:
            boxes = crop_boxes(image.shape[1], image.shape[0])[:COARSE]
            found = self._glanced[key] = self._classifier.classify([cut(image, box) for box in boxes])
            if len(self._glanced) > GLANCES:
                self._glanced.popitem(last=False)
        return found

    def _label_observations(self, boxes: Sequence[Box], probabilities: Matrix, colours: ColourMap) -> list[Observation]:
        order = np.sort(probabilities, axis=0)
        top = (1 - SECOND_CROP) * order[-1] + SECOND_CROP * (order[-2] if len(order) > 1 else order[-1])
        where = probabilities.argmax(axis=0)
        best = [int(i) for i in np.argsort(-top, kind="stable")[:MAX_LABELS] if top[i] >= MIN_LABEL]
        found = [(self._labels[i].name, float(top[i]), boxes[int(where[i])]) for i in best]
        return [Observation(kind="label", name=n, score=s, box=b, colour=colours.standing_out(b)) for n, s, b in found]


def _objects(detected: Sequence[Observation], colours: ColourMap) -> list[Observation]:
    """The objects with a sufficient score, with their colours."""
    kept = [seen for seen in detected if seen.score >= MIN_OBJECT]
    return [
        Observation(kind="object", name=seen.name, score=seen.score, box=seen.box, colour=colours.standing_out(seen.box or FULL))
        for seen in kept
    ]
