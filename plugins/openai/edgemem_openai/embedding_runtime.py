"""The runtime `openai`: embedding models behind OpenAI-compatible servers, as engines of cards whose format is `embeddings-api`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from edgemem.errors import ChatError, EngineError
from edgemem.infer.card import EngineCard, Model
from edgemem.infer.fetch import Progress
from edgemem.infer.runtime import CheckedEngine, RuntimeContext, Signature, TensorInfo
from edgemem.llm.redaction import Redaction
from edgemem.secret import STARS, reveal
from edgemem_openai.connection import OWN_MARK, Connections
from edgemem_openai.embedding_settings import ADDRESS_VARIABLE, TABLE, EmbeddingSettings, server_of, with_address
from edgemem_openai.embedding_wire import EMBEDDING, REQUEST, EmbeddingRequest, read_reply
from edgemem_openai.ledger import EMBEDDING as TASK
from edgemem_openai.ledger import UsageLedger, UsageLine

if TYPE_CHECKING:
    from edgemem.infer.roles import Arrays, Engine
    from edgemem.records import Matrix
    from edgemem_openai.settings import Server

FORMAT = "embeddings-api"
REPLY_BYTES = 64_000_000
"""Largest reply that is read: 16 vectors of 4,096 numbers take 1.5 MB."""


class EmbeddingRuntime:
    """Sends requests to servers. Raises EngineError where no server is set."""

    formats = frozenset({FORMAT})

    def __init__(self, settings: EmbeddingSettings, context: RuntimeContext, environment: Mapping[str, str] = os.environ) -> None:
        try:
            self._settings = with_address(settings, environment)
        except ValueError as error:
            raise EngineError(f"environment {ADDRESS_VARIABLE}: {error}") from None
        if not self._settings.base_url and not any(card.base_url for card in self._settings.cards.values()):
            raise EngineError(f"it has no server: set {TABLE}.base_url")
        self._client = EmbeddingClient(self._settings, context, environment)

    def build(self, card: EngineCard, model: str, path: Path, progress: Progress) -> None:
        """Nothing to build: the model is on a server."""

    def load(self, card: EngineCard, model: str, path: Path) -> Engine:
        """An engine that asks the card's server. No connection is made before its first use. Raises EngineError for other cards."""
        del path
        if card.format != FORMAT:
            raise EngineError(f'{card.name}: a model of the format "{card.format}" is not on a server')
        return HostedEngine(card.name, card.models[model], self._client)

    def describe(self) -> str:
        """The servers, and whether pictures are sent to them."""
        addresses = {self._settings.base_url, *(card.base_url for card in self._settings.cards.values())}
        pictures = "kept pictures are sent" if self._client.sends_pictures else "no picture is sent"
        return f"embeddings of {', '.join(sorted(filter(None, addresses)))}; {pictures}"


class HostedEngine(CheckedEngine):
    """One model behind a server: input `request` (`embedding_wire`), output `embedding` float32 [inputs, dim], unit length."""

    def __init__(self, card: str, model: Model, client: EmbeddingClient) -> None:
        found = {REQUEST: TensorInfo("uint8", (None,))}, {EMBEDDING: TensorInfo("float32", (None, None))}
        super().__init__(card, model, Signature(*found))
        dim = model.outputs[EMBEDDING].shape[1]
        if not isinstance(dim, int):
            raise EngineError(f"{card}: output {EMBEDDING}: its card must say how many dimensions it has")
        self._card, self._dim, self._client = card, dim, client
        self._closed = False

    def _run(self, arrays: Arrays) -> dict[str, Any]:
        if self._closed:
            raise EngineError(f"{self.name} was closed")
        try:
            request = EmbeddingRequest.of(arrays[REQUEST])
        except (msgspec.MsgspecError, ValueError) as error:
            raise EngineError(f"{self.name}: {REQUEST} is no request for embeddings ({error})") from None
        return {EMBEDDING: self._client.embed(self._card, request, self._dim)}

    def close(self) -> None:
        """Ask no more; twice does nothing. The engines of a runtime share their connections: another one opens them again."""
        self._closed = True
        self._client.close()


class EmbeddingClient:
    """Asks the servers of cards, within the limits of the settings. Thread-safe."""

    def __init__(self, settings: EmbeddingSettings, context: RuntimeContext, environment: Mapping[str, str]) -> None:
        self._settings, self._environment = settings, environment
        self._redaction = Redaction(context.models.redact)
        self._ledger = UsageLedger(context.home / "openai.db")
        self._connections = Connections(settings, rest_after_silence=True)
        self._picture_rule = "models.send_pictures" if not context.models.send_pictures else f"{TABLE}.send_pictures"
        self.sends_pictures = settings.send_pictures and context.models.send_pictures
        """Whether pictures may leave."""

    def embed(self, card: str, request: EmbeddingRequest, dim: int) -> Matrix:
        """The vectors of the inputs: float32 [inputs, dim], unit length. Raises EngineError in one line that says what to do."""
        if request.pictures and not self.sends_pictures:
            raise EngineError(f"{card}: pictures stay on this device; to have them embedded by its server, set {self._picture_rule} = true")
        server = None
        try:
            server = server_of(card, request.model, self._settings, self._environment)
            rows = self._each(server, request.redacted(self._redaction).parts(self._settings.batch), dim)
        except ChatError as error:
            text, key = str(error), reveal(server.api_key) if server is not None else ""
            raise EngineError(f"{card}: {text.replace(key, STARS) if key else text}") from None
        return np.concatenate(rows) if rows else np.empty((0, dim), np.float32)

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()

    def _each(self, server: Server, parts: list[EmbeddingRequest], dim: int) -> list[Matrix]:
        if len(parts) < 2 or parts[0].form == "input":
            return [self._counted(server, part, dim) for part in parts]
        with ThreadPoolExecutor(self._settings.parallel, "edgemem-embed") as pool:
            return list(pool.map(lambda part: self._counted(server, part, dim), parts))

    def _counted(self, server: Server, request: EmbeddingRequest, dim: int) -> Matrix:
        """Ask within the limits of the day, and count what was used."""
        self._connections.raise_while_paused(server)
        expected = request.tokens
        worst = UsageLine(
            day="", task=TASK, model=server.model, place=server.place, calls=1, tokens_in=expected, tokens_out=0,
            usd=server.usd(expected, 0),
        )  # fmt: skip
        claim = self._ledger.reserve(worst, self._settings.tokens_per_day, self._settings.usd_per_day, TABLE)
        reply = _Reply()
        try:
            self._ask(server, request, reply)
            return reply.vectors(server, len(request.inputs), dim)
        finally:
            used = 0 if not reply.charged else expected if reply.tokens is None else reply.tokens
            with suppress(ChatError):  # the worst case stays in the ledger
                self._ledger.settle(claim, used, 0, server.usd(used, 0))

    def _ask(self, server: Server, request: EmbeddingRequest, reply: _Reply) -> None:
        """Ask until there is a reply. Raises ChatError."""
        import httpx2
        import openai

        deadline = time.monotonic() + self._settings.call_s
        body = request.body(server.model)

        def once() -> None:
            try:
                reply.body = self._once(server, body, deadline)
                reply.charged = True
            except (openai.APITimeoutError, httpx2.TimeoutException) as error:  # a server that got the request may charge for it
                reply.charged = not isinstance(error.__cause__ or error, httpx2.ConnectTimeout | httpx2.PoolTimeout)
                raise

        self._connections.tried(once, server, f"{TABLE}.call_s", deadline)

    def _once(self, server: Server, body: Mapping[str, Any], deadline: float) -> bytes:
        import httpx2

        client = self._connections.client(server, deadline, self._settings.call_s)
        options: Any = {"headers": {OWN_MARK: "stream"}}  # the reply is read in pieces, so that its size is limited
        with closing(client.post("/embeddings", cast_to=httpx2.Response, body=body, options=options)) as response:
            if "html" in response.headers.get("content-type", ""):
                raise ChatError(
                    f"{server.place} replies with a web page: {server.where}.base_url must be the address of its API (it often ends in /v1)"
                )
            return _read(response.iter_bytes(), deadline)


class _Reply:
    """A reply, and what it costs."""

    body = b""
    charged = False
    """Whether the server has worked, or may have."""
    tokens: int | None = None
    """As the server reports them."""

    def vectors(self, server: Server, count: int, dim: int) -> Matrix:
        """float32 [count, dim], unit length. Raises ChatError if it holds something else."""
        try:
            vectors, self.tokens = read_reply(self.body, count, dim)
        except ValueError as error:
            raise ChatError(f"{server.place} {error}") from None
        return vectors


def _read(chunks: Iterable[bytes], deadline: float) -> bytes:
    read = bytearray()
    for chunk in chunks:
        read += chunk
        if len(read) > REPLY_BYTES:
            raise ChatError("the reply does not end; choose another model")
        if time.monotonic() > deadline:
            raise ChatError(f"the reply was not complete after {TABLE}.call_s; raise it, or choose a faster model")
    return bytes(read)
