"""The roles of engines. A decoder object has one role; the rest of edgemem uses only these protocols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import msgspec

from edgemem.records import Box, Image, Matrix, Observation, Record, Vector

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Arrays = Mapping[str, npt.NDArray[np.generic]]


@runtime_checkable
class Engine(Protocol):
    """A loaded model: named arrays in, named arrays out. Thread-safe for `infer`; `close` frees it."""

    @property
    def metadata(self) -> Mapping[str, str]:
        """Texts in the model file, such as the alphabet of a text recogniser."""
        ...

    def infer(self, arrays: Arrays) -> dict[str, npt.NDArray[np.generic]]:
        """Run the model once. Raises EngineError naming the tensor when a name, dtype or shape does not fit."""
        ...

    def close(self) -> None:
        """Free the model. Calling it twice does nothing."""
        ...


class Space(Record, frozen=True):
    """A vector space: model + dimension + metric. Vectors and thresholds of different spaces are never compared."""

    name: str
    dim: int
    metric: str = "cosine"
    calibration: dict[str, float] = msgspec.field(default_factory=dict)


class TextEmbedder(Protocol):
    """Role `embed_text`. Models that were trained with two instructions have another vector for a query than for a document."""

    space: Space

    def embed_text(self, texts: Sequence[str]) -> Matrix:
        """Vectors of documents: float32 [n, dim], unit length."""
        ...

    def embed_query(self, texts: Sequence[str]) -> Matrix:
        """Vectors of queries in the same space: float32 [n, dim], unit length."""
        ...


class Classifier(Protocol):
    """Role `classify`: probabilities over a closed list of labels."""

    labels: tuple[str, ...]

    @property
    def features(self) -> Space | None:
        """The space of what it saw before it decided on a label; None where its model has no output `features`."""
        ...

    @property
    def label_weights(self) -> Matrix | None:
        """By what the features are weighed for each label, less the mean of all labels: float32 [labels, features], rows of unit length.

        None where its card does not name them.
        """
        ...

    def classify(self, images: Sequence[Image]) -> Matrix:
        """float32 [n, len(labels)], each row sums to about 1."""
        ...

    def classify_features(self, images: Sequence[Image]) -> tuple[Matrix, Matrix]:
        """The same, and vectors of the space `features` (of no columns where there is none), for the price of one."""
        ...


class Detector(Protocol):
    """Role `detect`: objects with boxes."""

    labels: tuple[str, ...]

    def detect(self, image: Image) -> list[Observation]:
        """Observations of kind `object`, best first."""
        ...


class Face(Record, frozen=True):
    """A face in a picture, with five landmarks as fractions of it: eyes, nose, corners of the mouth, each left to right."""

    box: Box
    score: float
    landmarks: tuple[tuple[float, float], ...]


class FaceDetector(Protocol):
    """Role `detect_face`."""

    def detect_faces(self, image: Image) -> list[Face]:
        """Faces, best first."""
        ...


class FaceEmbedder(Protocol):
    """Role `embed_face`."""

    space: Space

    def embed_face(self, image: Image, face: Face) -> Vector:
        """The vector of one face of the picture: float32 [dim], unit length."""
        ...


class Reader(Protocol):
    """Role `read_text` (OCR)."""

    def read(self, image: Image) -> list[Observation]:
        """Observations of kind `text`, top to bottom."""
        ...


class Crop(Record, frozen=True):
    """A part of a picture, and its vector: float32 [dim], unit length."""

    box: Box
    vector: Vector


class ImageAnalysis(Record, frozen=True):
    """Result of a joint embedder for one picture: its vector and, if the embedder can name things, observations."""

    vector: Vector
    observations: tuple[Observation, ...] = ()
    crops: tuple[Crop, ...] = ()
    """Parts of the picture in the space `crop_space`, where there is one."""


class JointEmbedder(Protocol):
    """Role `embed_joint`: pictures and text in one space."""

    space: Space

    @property
    def local(self) -> JointEmbedder:
        """The joint embedder whose `glance`, `look` and `crops` these are: itself, or one on this device where the model is on a server."""
        ...

    @property
    def crop_space(self) -> Space | None:
        """The space in which parts of pictures are compared with one another; None where it has none."""
        ...

    def glance(self, images: Sequence[Image]) -> Matrix:
        """Fast whole-picture vectors in the space of `local`, for deduplication and segmentation: float32 [n, dim], unit length."""
        ...

    def embed_images(self, images: Sequence[Image]) -> Matrix:
        """Vectors of whole pictures in `space`: float32 [n, dim], unit length. Those of a server take long: they are not made between
        frames but afterwards (`see.waiting`).
        """
        ...

    def look(self, image: Image) -> ImageAnalysis:
        """The slow, detailed analysis of a picture that is kept, on this device; its vector is in the space of `local`."""
        ...

    def crops(self, image: Image, boxes: Sequence[Box] = ()) -> tuple[Crop, ...]:
        """These parts of a picture, or all that stand out in it, in the space `crop_space`. Raises EngineError where there is none."""
        ...

    def embed_text(self, texts: Sequence[str]) -> Matrix:
        """Vectors of queries in the same space: float32 [n, dim], unit length."""
        ...


class SpeechDetector(Protocol):
    """Role `detect_speech` (voice activity detection)."""

    window: int
    """Samples at 16 kHz that get one probability."""

    def speech(self, samples: Vector, state: object = None) -> tuple[Vector, object]:
        """(probabilities float32 [n // window] that each window is speech, the state for the sound that follows).

        `samples`: float32 [n], n a multiple of `window`. Without a `state`, the sound begins here.
        """
        ...


class Phrase(Record, frozen=True):
    """The words that a recogniser found in a piece of sound, and how reliable they are."""

    text: str
    confidence: float
    """Geometric mean of its tokens' probabilities, 0..1."""
    no_speech: float = 0.0
    """0..1: probability that there was no speech."""
    compression: float = 1.0
    """Length of the text divided by its compressed length: above about 2.4 the text repeats itself."""
    words: tuple[tuple[str, float, float, float], ...] = ()
    """(word, start_s, end_s, probability), if requested; seconds from the beginning of the piece."""


class Transcriber(Protocol):
    """Role `transcribe` (speech recognition)."""

    def transcribe(self, samples: Vector, *, language: str = "", words: bool = False) -> Phrase:
        """The words in `samples`, float32 [n] at 16 kHz, at most 30 s. `language`: ISO 639-1 code, "" = detect it."""
        ...


class VoiceEmbedder(Protocol):
    """Role `embed_voice`."""

    space: Space

    def embed_voice(self, samples: Vector) -> Vector:
        """The vector of the speaker in `samples`, float32 [n] at 16 kHz: float32 [dim], unit length."""
        ...
