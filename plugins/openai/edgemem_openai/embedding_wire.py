"""What a decoder wants embedded, as the one array that engines take, and how it is said to servers.

Two forms are in use. `input`: a list of texts and of `{"image": ...}` objects (Jina AI's API; for texts alone OpenAI's and everybody's).
`messages`: one chat per request, as for a language model (vLLM's chat embeddings, `examples/pooling/embed/vision_embedding_online.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from edgemem.llm.models import IMAGE_TOKENS
from edgemem_openai.embedding_settings import Form
from edgemem_openai.images import data_uri
from edgemem_openai.reply import CHARS_PER_TOKEN_LOW, MOST_TOKENS

if TYPE_CHECKING:
    import numpy.typing as npt

    from edgemem.llm.redaction import Redaction
    from edgemem.records import Matrix

REQUEST, EMBEDDING = "request", "embedding"
"""The input and the output of the model of a card."""


class Input(msgspec.Struct, frozen=True):
    """A text, or a picture."""

    text: str = ""
    jpeg: bytes = b""


class EmbeddingRequest(msgspec.Struct, frozen=True):
    """Texts or pictures, and the instruction that the model expects with them."""

    model: str
    inputs: tuple[Input, ...]
    form: Form = "input"
    template: str = "{}"
    """What is sent as a text, with the text in the place of {}; for a picture, the text beside it."""
    max_chars: int = 8000
    instruction: str = ""
    """Text of the system message; `input` has no place for it."""
    open_reply: bool = False
    """Whether the messages end with an empty one of the model, which vLLM continues: some models take their vector from there."""
    extra: dict[str, Any] = {}
    """Further keys of the request."""

    @property
    def pictures(self) -> bool:
        """Whether it holds a picture."""
        return any(one.jpeg for one in self.inputs)

    @property
    def tokens(self) -> int:
        """An upper estimate of its tokens."""
        texts = sum(len((self.instruction + self.template + one.text).encode()) // CHARS_PER_TOKEN_LOW + 8 for one in self.inputs)
        return texts + IMAGE_TOKENS * sum(bool(one.jpeg) for one in self.inputs)

    def array(self) -> npt.NDArray[np.uint8]:
        """As the array `request` of an engine: uint8 [bytes], MessagePack."""
        return np.frombuffer(msgspec.msgpack.encode(self), np.uint8)

    @staticmethod
    def of(array: npt.NDArray[Any]) -> EmbeddingRequest:
        """What an array says. Raises ValueError if it is no request."""
        return msgspec.msgpack.decode(array.tobytes(), type=EmbeddingRequest)

    def redacted(self, redaction: Redaction) -> EmbeddingRequest:
        """With every text as it may leave this device. It is cut after that: half of what is to be blackened would not be recognised."""
        inputs = tuple(msgspec.structs.replace(one, text=redaction.text(one.text)[: self.max_chars]) for one in self.inputs)
        return msgspec.structs.replace(self, inputs=inputs)

    def parts(self, batch: int) -> list[EmbeddingRequest]:
        """The requests that are sent: of at most `batch` inputs, of one where they are messages."""
        size = batch if self.form == "input" else 1
        return [msgspec.structs.replace(self, inputs=self.inputs[i : i + size]) for i in range(0, len(self.inputs), size)]

    def body(self, model: str) -> dict[str, Any]:
        """What is sent to a server, whose name for the model is `model`."""
        if self.form == "input":
            return {"model": model, "input": [self._entry(one) for one in self.inputs], **self.extra}
        return {"model": model, "messages": list(self._messages()), **self.extra}

    def _entry(self, one: Input) -> str | dict[str, str]:
        return {"image": data_uri(one.jpeg)} if one.jpeg else self.template.replace("{}", one.text)

    def _messages(self) -> Iterator[Mapping[str, Any]]:
        (one,) = self.inputs
        if self.instruction:
            yield _message("system", [_text(self.instruction)])
        picture = [{"type": "image_url", "image_url": {"url": data_uri(one.jpeg)}}] if one.jpeg else []
        text = self.template.replace("{}", one.text)
        yield _message("user", [*picture, *([_text(text)] if text or not one.jpeg else [])])
        if self.open_reply:
            yield _message("assistant", [_text("")])


def _message(role: str, content: list[dict[str, Any]]) -> Mapping[str, Any]:
    return {"role": role, "content": content}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


class _Row(msgspec.Struct):
    embedding: list[float]
    index: int = 0


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    total_tokens: int = 0


class _Reply(msgspec.Struct):
    data: list[_Row]
    usage: _Usage | None = None


def read_reply(body: bytes, count: int, dim: int) -> tuple[Matrix, int | None]:
    """(float32 [count, dim] of unit length in the order of the inputs, tokens as the server reports them).

    Raises ValueError, whose message goes on after the name of the server, for anything else: another dimension, numbers that are none, a
    row of zeros.
    """
    try:
        reply = msgspec.json.decode(body, type=_Reply)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ValueError(f"sent something that is no list of embeddings: {body[:80].decode(errors='replace')!r}") from None
    rows = [row.embedding for row in sorted(reply.data, key=lambda row: row.index)]
    if len(rows) != count:
        raise ValueError(f"sent {len(rows)} embeddings for {count} inputs")
    if other := [len(row) for row in rows if len(row) != dim]:
        raise ValueError(f"makes vectors of {other[0]} dimensions, the card says {dim}: name the model of the card, or correct the card")
    vectors = np.array(rows, np.float64).reshape(count, dim)
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise ValueError("sent an embedding that has no direction (zeros, or numbers that are too large)")
    used = None if reply.usage is None else reply.usage.prompt_tokens or reply.usage.total_tokens
    return (vectors / lengths).astype(np.float32), used if used is not None and 0 <= used <= MOST_TOKENS else None
