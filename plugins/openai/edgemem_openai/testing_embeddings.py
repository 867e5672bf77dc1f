"""A server of embeddings over real HTTP, for tests. Vectors come from a function, so that a model on this machine can be behind it.

with EmbeddingServer(lambda inputs: sentences.embed_text([one.text for one in inputs])) as server:
    ...                       # point engines.runtimes.openai.base_url at server.base_url
    assert server.asked[0].inputs[0].text == "a red mug"
"""

from __future__ import annotations

import base64
import json
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from edgemem_openai.local_server import LocalHandler, LocalServer


@dataclass(frozen=True)
class EmbeddingInput:
    """One text or picture as it arrived."""

    text: str = ""
    jpeg: bytes = b""
    instruction: str = ""
    """The system message, where the request holds messages."""


@dataclass(frozen=True)
class EmbeddingCall:
    """One request as it arrived."""

    body: Mapping[str, Any]
    headers: Mapping[str, str]
    """Names in lower case."""

    @property
    def inputs(self) -> list[EmbeddingInput]:
        """Its texts and pictures, in either form. Raises ValueError for a picture that is no data URI of a JPEG."""
        if "messages" not in self.body:
            return [EmbeddingInput(one) if isinstance(one, str) else EmbeddingInput(jpeg=_jpeg(one["image"])) for one in self.body["input"]]
        said: dict[str, list[Mapping[str, Any]]] = {message["role"]: message["content"] for message in self.body["messages"]}
        images = [part["image_url"]["url"] for part in said["user"] if part["type"] == "image_url"]
        return [EmbeddingInput(_text(said["user"]), _jpeg(images[0]) if images else b"", _text(said.get("system", ())))]


@dataclass(frozen=True)
class EmbeddingReply:
    """A reply in place of vectors."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    wait_s: float = 0.0
    """Wait before the first byte; with neither status nor body the vectors come after it."""

    @classmethod
    def failing(cls, status: int, message: str = "scripted failure", *, retry_after_s: float | None = None) -> EmbeddingReply:
        """An error reply: 429, 500 ..."""
        headers = () if retry_after_s is None else (("Retry-After", f"{retry_after_s:g}"),)
        return cls(status, json.dumps({"error": {"message": message}}).encode(), headers)


class EmbeddingServer(LocalServer):
    """Answers `/v1/embeddings` on a free port of this machine until the `with` block ends or `close` is called.

    `embed(inputs)` gives one vector for each input of a request; each request has a thread of its own. Replies in `replies` are sent first,
    one for each request. `usage`: it reports 7 tokens for each input.
    """

    def __init__(self, embed: Callable[[Sequence[EmbeddingInput]], Any], *, api_key: str = "", usage: bool = True, port: int = 0) -> None:
        self._embed, self._api_key, self._usage = embed, api_key, usage
        self._lock = threading.Lock()
        self.replies: deque[EmbeddingReply] = deque()
        self.asked: list[EmbeddingCall] = []
        """Every request with the right key, in order."""
        super().__init__(type("_EmbeddingHandler", (_Handler,), {"server_of_vectors": self}), port)

    @property
    def inputs(self) -> list[EmbeddingInput]:
        """All texts and pictures that arrived."""
        return [one for asked in self.asked for one in asked.inputs]

    def reply_to(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> EmbeddingReply:
        """The reply to one request. Called by the handler."""
        if self._api_key and headers.get("authorization") != f"Bearer {self._api_key}":
            return EmbeddingReply.failing(401, f"Incorrect API key provided: {headers.get('authorization')}")
        call = EmbeddingCall(body, headers)
        with self._lock:
            self.asked.append(call)
            scripted = self.replies.popleft() if self.replies else EmbeddingReply()
        self.stopping.wait(scripted.wait_s)
        if scripted.status != 200 or scripted.body:
            return scripted
        inputs = call.inputs
        rows = [[float(number) for number in vector] for vector in self._embed(inputs)]
        data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]
        used = {"usage": {"prompt_tokens": 7 * len(inputs), "total_tokens": 7 * len(inputs)}} if self._usage else {}
        return EmbeddingReply(body=json.dumps({"object": "list", "model": body["model"], "data": data[::-1], **used}).encode())


class _Handler(LocalHandler):
    server_of_vectors: ClassVar[EmbeddingServer]

    def do_POST(self) -> None:  # noqa: N802 - the name is the base class's
        raw = self.body()
        if self.path == "/v1/embeddings":
            reply = self.server_of_vectors.reply_to(json.loads(raw), self.header_fields())
        else:
            reply = EmbeddingReply.failing(404, f"no {self.path}")
        self.send_response(reply.status)
        everything = {"Content-Type": "application/json", "Content-Length": str(len(reply.body)), "Connection": "close"}
        for name, value in {**everything, **dict(reply.headers)}.items():
            self.send_header(name, value)
        with suppress(ConnectionError):  # the client did not wait
            self.end_headers()
            self.wfile.write(reply.body)
        self.close_connection = True


def _text(parts: Sequence[Mapping[str, Any]]) -> str:
    return "".join(part["text"] for part in parts if part["type"] == "text")


def _jpeg(uri: str) -> bytes:
    head, _, data = uri.partition(",")
    if head != "data:image/jpeg;base64":
        raise ValueError(f"not a JPEG data URI: {head[:60]}")
    return base64.b64decode(data, validate=True)
