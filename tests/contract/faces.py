"""A proof plugin: faces as parts of moments, each resolved to an entity. It uses only the public contract."""

from __future__ import annotations

import msgspec

from edgemem.extend import (
    BasePerceiver,
    Component,
    FaceDetector,
    FaceEmbedder,
    HeldSpace,
    Image,
    Observation,
    Part,
    Perception,
    PluginContext,
    hookimpl,
)


class Faces(BasePerceiver):
    """Every face is a part with a box; the vector of an embedder identifies the person."""

    name = "faces"
    concurrent = True

    def __init__(self, detector: FaceDetector, embedder: FaceEmbedder) -> None:
        self._detector, self._embedder = detector, embedder
        calibration = {"same_entity": embedder.space.calibration["same_person"]}
        space = msgspec.structs.replace(embedder.space, name=f"{embedder.space.name}-faces", calibration=calibration)
        self.spaces = (HeldSpace(space=space, holds="entity"),)

    def perceive(self, image: Image, known: tuple[Observation, ...]) -> Perception:
        del known
        space = self.spaces[0].space.name
        faces = self._detector.detect_faces(image)
        parts = (
            Part(kind="face", score=face.score, box=face.box, vectors={space: self._embedder.embed_face(image, face)}, entity="face")
            for face in faces
        )
        return Perception(parts=tuple(parts))


def _faces(_settings: object, context: PluginContext) -> Faces:
    assert context.engines is not None
    return Faces(context.engines.role("detect_face"), context.engines.role("embed_face"))


@hookimpl
def register_perceivers():
    yield Component("faces", _faces, summary="faces, and whose they are")
