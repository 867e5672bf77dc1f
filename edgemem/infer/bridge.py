"""Pictures and text in one space without a dual encoder: what a classifier and a detector name, as sentences.

A picture's vector is the mean of its labels' sentence vectors, weighted by their probabilities (ConSE, Norouzi et al. 2014, eq. 3).
It serves deduplication and coarse search. Fine search goes through the observations: each label with its probability in the best crops.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from edgemem.infer.colour import ColourMap
from edgemem.infer.labels import describe
from edgemem.infer.phrase import LabelQuery, PhraseMatcher, with_article
from edgemem.infer.roles import Classifier, Detector, Sight, Space, TextEmbedder
from edgemem.records import Box, Image, Matrix, Observation, Vector

FULL = Box(0.0, 0.0, 1.0, 1.0)
MIN_LABEL = 0.05
"""Labels below this probability are not kept: dropping them moved recall by less than a point."""
MAX_LABELS = 16
"""Labels kept per picture: 16 lost nothing, 10 lost a point of first answers."""
MIN_OBJECT = 0.45
"""NanoDet's scores under this are noise; it says "person" at .40 to half of all pictures."""
VECTOR_LABELS = 8
"""Labels that make up the vector (T in ConSE)."""


def crop_boxes(width: int, height: int) -> tuple[Box, ...]:
    """The picture, its middle square, and squares at both ends of its longer side, then three half-size tiles along the middle."""
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


class LabelBridge:
    """Role `embed_joint`. Plays it with a classifier, a detector (where there is one) and a text embedder."""

    def __init__(self, classifier: Classifier, detector: Detector | None, embedder: TextEmbedder, cache_dir: Path | None = None) -> None:
        self._classifier = classifier
        self._detector = detector
        self._embedder = embedder
        self._labels = describe(classifier.labels, "imagenet")
        objects = describe(detector.labels, "coco") if detector else ()
        self.space = Space(name=f"bridge-{embedder.space.name}", dim=embedder.space.dim)
        self._matcher = PhraseMatcher((*self._labels, *objects), embedder, cache_dir)

    def glance(self, images: Sequence[Image]) -> Matrix:
        """From the whole picture and its middle square: float32 [n, dim], unit length."""
        vectors = np.zeros((len(images), self.space.dim), np.float32)
        for row, image in enumerate(images):
            boxes = crop_boxes(image.shape[1], image.shape[0])[:2]
            vectors[row] = self._vector(self._classifier.classify([cut(image, box) for box in boxes]).max(axis=0))
        return vectors

    def look(self, image: Image) -> Sight:
        """All crops, the detector and the colours; observations of kind `label` and `object`, likeliest first."""
        boxes = crop_boxes(image.shape[1], image.shape[0])
        probabilities = self._classifier.classify([cut(image, box) for box in boxes])
        colours = ColourMap(image)
        seen = [*self._label_observations(boxes, probabilities, colours), *self._objects(image, colours)]
        return Sight(vector=self._vector(probabilities[:2].max(axis=0)), observations=tuple(seen))

    def embed_text(self, texts: Sequence[str]) -> Matrix:
        """Queries in the same space, as photographs of what they name: float32 [n, dim], unit length."""
        return self._embedder.embed_text([with_article(text, "a photo of ") for text in texts])

    def match_labels(self, query: str) -> LabelQuery:
        """Which labels and objects to look for; needs no picture and no memory."""
        return self._matcher.match(query)

    def _vector(self, probabilities: Vector) -> Vector:
        best = np.argsort(-probabilities, kind="stable")[:VECTOR_LABELS]
        sentences, _ = self._matcher.vectors()
        vector = probabilities[best] @ sentences[best]
        return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-6), np.float32)

    def _label_observations(self, boxes: Sequence[Box], probabilities: Matrix, colours: ColourMap) -> list[Observation]:
        """Per label the mean of its two best crops: a thing is seen by more than one, an accident by one."""
        top = np.sort(probabilities, axis=0)[-2:].mean(axis=0)
        where = probabilities.argmax(axis=0)
        names = [int(i) for i in np.argsort(-top, kind="stable")[:MAX_LABELS] if top[i] >= MIN_LABEL]
        found = [(self._labels[i].name, float(top[i]), boxes[int(where[i])]) for i in names]
        return [Observation(kind="label", name=n, score=s, box=b, colour=colours.standing_out(b)) for n, s, b in found]

    def _objects(self, image: Image, colours: ColourMap) -> list[Observation]:
        if self._detector is None:
            return []
        kept = [seen for seen in self._detector.detect(image) if seen.score >= MIN_OBJECT]
        return [
            Observation(kind="object", name=seen.name, score=seen.score, box=seen.box, colour=colours.standing_out(seen.box or FULL))
            for seen in kept
        ]
