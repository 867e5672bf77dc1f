"""The decoder `embed_hosted`: vectors of an embedding model on a server, for the roles `embed_joint` and `embed_text`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgemem.errors import EngineError
from edgemem.infer.decode_text import VectorCache
from edgemem.infer.engines import DecoderParts
from edgemem.infer.roles import Crop, ImageAnalysis, JointEmbedder
from edgemem.records import Box, Image, Matrix
from edgemem.see import pixels
from edgemem_openai.embedding_settings import HostedSettings, Wording
from edgemem_openai.embedding_wire import EMBEDDING, REQUEST, EmbeddingRequest, Input

_QUALITY = 90
"""JPEG quality of pictures that are sent, as that of kept ones."""
LOCAL = "embed_joint"
"""The role of the part on this device whose glances and names a hosted joint embedder has."""


class HostedTextEmbedder:
    """Role `embed_text`, with one instruction for queries and one for documents."""

    def __init__(self, settings: HostedSettings, parts: DecoderParts) -> None:
        if parts.card.space is None:
            raise EngineError(f"{parts.card.name}: its card has no [space]")
        self.space = parts.card.space
        self._settings = settings
        self._engine = parts.engines["model"]
        declared = parts.card.models["model"].outputs[EMBEDDING].shape[-1]
        if declared != self.space.dim:
            raise EngineError(f"{parts.card.name}: its model has {declared} dimensions, its space {self.space.dim}")
        self._remembered = {"query": VectorCache(settings.remember), "document": VectorCache(settings.remember)}

    def embed_text(self, texts: Sequence[str]) -> Matrix:
        """Vectors of documents: float32 [n, dim], unit length. Raises EngineError if the server does not answer."""
        return self._texts(texts, "document", self._settings.document)

    def embed_query(self, texts: Sequence[str]) -> Matrix:
        """Vectors of queries: float32 [n, dim], unit length. Raises EngineError if the server does not answer."""
        return self._texts(texts, "query", self._settings.query)

    def _texts(self, texts: Sequence[str], kind: str, wording: Wording) -> Matrix:
        cache = self._remembered[kind]
        found = {text: cache.get(text) for text in texts}
        new = [text for text, vector in found.items() if vector is None]
        if new:
            vectors = self._vectors(tuple(Input(text=text) for text in new), wording)
            for text, vector in zip(new, vectors, strict=True):
                found[text] = vector
                cache.put(text, vector)
        rows = [vector for text in texts if (vector := found[text]) is not None]
        return np.stack(rows) if rows else np.empty((0, self.space.dim), np.float32)

    def _vectors(self, inputs: tuple[Input, ...], wording: Wording) -> Matrix:
        settings = self._settings
        request = EmbeddingRequest(
            model=settings.model, inputs=inputs, form=settings.form, template=wording.text, max_chars=settings.max_chars,
            instruction=wording.instruction, open_reply=settings.open_reply, extra=settings.extra | wording.extra,
        )  # fmt: skip
        return np.asarray(self._engine.infer({REQUEST: request.array()})[EMBEDDING], np.float32)


class HostedJointEmbedder(HostedTextEmbedder):
    """Role `embed_joint`. Glances, names and crops are those of a joint embedder on this device, which its card `uses`: every frame is
    glanced at, and none waits for a server. Kept pictures get their vectors in batches afterwards (`see.waiting`).
    """

    def __init__(self, settings: HostedSettings, parts: DecoderParts) -> None:
        super().__init__(settings, parts)
        if LOCAL not in parts.uses:
            raise EngineError(f'{parts.card.name}: its card needs a part on this device: [uses] {LOCAL} = "label-bridge"')
        self._local: JointEmbedder = parts.uses[LOCAL].local
        self.crop_space = self._local.crop_space

    @property
    def local(self) -> JointEmbedder:
        """The joint embedder on this device."""
        return self._local

    def glance(self, images: Sequence[Image]) -> Matrix:
        """As `local`, in its space."""
        return self._local.glance(images)

    def look(self, image: Image) -> ImageAnalysis:
        """As `local`; the vector is in its space."""
        return self._local.look(image)

    def crops(self, image: Image, boxes: Sequence[Box] = ()) -> tuple[Crop, ...]:
        """As `local`."""
        return self._local.crops(image, boxes)

    def embed_images(self, images: Sequence[Image]) -> Matrix:
        """float32 [n, dim], unit length. Raises EngineError if the server does not answer, or if pictures may not be sent."""
        wording, side_px = self._settings.picture, self._settings.picture_px
        if not images:
            return np.empty((0, self.space.dim), np.float32)
        small = (pixels.shrink(image, side_px, smooth=True) for image in images)
        return self._vectors(tuple(Input(jpeg=pixels.encode_jpeg(image, _QUALITY)) for image in small), wording)

    def embed_text(self, texts: Sequence[str]) -> Matrix:
        """Vectors of queries for pictures: float32 [n, dim], unit length."""
        return self.embed_query(texts)


def hosted_embedder(settings: HostedSettings, parts: DecoderParts) -> HostedTextEmbedder:
    """The embedder for the role of the card. Raises EngineError for other roles."""
    kinds = {"embed_text": HostedTextEmbedder, "embed_joint": HostedJointEmbedder}
    if parts.card.role not in kinds:
        raise EngineError(f'{parts.card.name}: the decoder embed_hosted has no role "{parts.card.role}": embed_joint or embed_text')
    return kinds[parts.card.role](settings, parts)
