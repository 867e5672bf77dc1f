"""Converts sentences to vectors."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from edgemem.errors import EngineError
from edgemem.infer.decode_settings import SentenceSettings
from edgemem.infer.engines import DecoderParts
from edgemem.isolation import call_isolated
from edgemem.records import Matrix, Vector

if TYPE_CHECKING:
    import numpy.typing as npt


class TextTokenizer:
    """Converts texts to rows of token ids. Longer texts are cut at `max_tokens`."""

    def __init__(self, path: Path, max_tokens: int, pad_token: int = 0, end_token: int | None = None) -> None:
        from tokenizers import Tokenizer

        def refused(error: Exception) -> Any:  # the library raises bare Exception
            raise EngineError(f"{path} is not a tokenizer file ({error}); fetch its engine again") from None

        self._tokenizer = call_isolated(lambda: Tokenizer.from_file(str(path)), refused)
        self._tokenizer.enable_truncation(max_tokens)
        self._tokenizer.no_padding()
        self._max_tokens = max_tokens
        self._pad_token = pad_token
        self._end_token = end_token

    def __call__(self, texts: Sequence[str], length: int = 0) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Ids and mask, int64 [n, tokens], padded to the longest or to `length`."""
        encoded = [self._ended(one.ids) for one in self._tokenizer.encode_batch(list(texts))]
        width = max(length, 1, *(len(one) for one in encoded))
        ids = np.full((len(encoded), width), self._pad_token, np.int64)
        mask = np.zeros((len(encoded), width), np.int64)
        for row, one in enumerate(encoded):
            ids[row, : len(one)] = one
            mask[row, : len(one)] = 1
        return ids, mask

    def _ended(self, ids: list[int]) -> list[int]:
        if self._end_token is None or ids[-1:] == [self._end_token]:
            return ids
        return [*ids[: self._max_tokens - 1], self._end_token]


class VectorCache:
    """Cache of the vectors of the last texts: a question, its parts and the labels are embedded many times."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._vectors: OrderedDict[str, Vector] = OrderedDict()
        self._lock = Lock()

    def get(self, text: str) -> Vector | None:
        """The cached vector, or None."""
        with self._lock:
            if text in self._vectors:
                self._vectors.move_to_end(text)
            return self._vectors.get(text)

    def put(self, text: str, vector: Vector) -> None:
        """Add one vector; the oldest is removed when the cache is full."""
        with self._lock:
            self._vectors[text] = vector
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)


class SentenceEmbedder:
    """Role `embed_text`: tokens in, one unit vector out; the pooling is part of the model."""

    def __init__(self, settings: SentenceSettings, parts: DecoderParts) -> None:
        if parts.card.space is None:
            raise EngineError(f"{parts.card.name}: its card has no [space]")
        self.space = parts.card.space
        self._engine = parts.engines["model"]
        self._settings = settings
        self._tokenizer = TextTokenizer(parts.files["tokenizer"], settings.max_tokens)
        self._remembered = VectorCache(settings.remember)

    def embed_text(self, texts: Sequence[str]) -> Matrix:
        """float32 [n, dim], unit length. The vector of a text does not depend on the other texts."""
        found = {text: self._remembered.get(text) for text in texts}
        new = sorted((text for text, vector in found.items() if vector is None), key=len)
        for start in range(0, len(new), self._settings.batch):
            batch = new[start : start + self._settings.batch]
            ids, mask = self._tokenizer(batch)
            vectors = self._engine.infer({"input_ids": ids, "attention_mask": mask})["embedding"]
            for text, vector in zip(batch, np.asarray(vectors, np.float32), strict=True):
                found[text] = vector.copy()
                self._remembered.put(text, vector.copy())
        out = np.empty((len(texts), self.space.dim), np.float32)
        for row, text in enumerate(texts):
            out[row] = found[text]
        return out

    def embed_query(self, texts: Sequence[str]) -> Matrix:
        """The same as `embed_text`: these models know no instructions."""
        return self.embed_text(texts)
