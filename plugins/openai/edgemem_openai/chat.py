"""The chat `openai`: one prompt and one reply, with limits for time, price and number of tries."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from edgemem.errors import ChatError
from edgemem.infer.chat import Completion, Prompt
from edgemem.llm.models import IMAGE_TOKENS
from edgemem.secret import STARS, reveal
from edgemem_openai import wire
from edgemem_openai.capabilities import reports_vision
from edgemem_openai.connection import Connections
from edgemem_openai.failures import Unsupported
from edgemem_openai.learnt import LearntDialects
from edgemem_openai.ledger import UsageLedger, UsageLine
from edgemem_openai.reply import CHARS_PER_TOKEN_LOW, Reply, without_thoughts
from edgemem_openai.settings import OpenAISettings, Server, server_for

LISTING_S = 10.0
"""Longest time for the list of a server's models."""


class OpenAIChat:
    """Calls OpenAI-compatible servers. Safe to call from several threads. Errors are raised as ChatError, in one line that says what to
    do.
    """

    name = "openai"

    def __init__(self, settings: OpenAISettings, home: Path, environment: Mapping[str, str] = os.environ) -> None:
        self._settings = settings
        self._environment = environment
        self._ledger = UsageLedger(home / "openai.db")
        self._learnt = LearntDialects(self._ledger)
        self._connections = Connections(settings)
        self._served: dict[str, str] = {}
        self._vision: dict[tuple[str, str], bool | None] = {}

    def sees(self, task: str) -> bool:
        """From the settings, else from an earlier refusal, else from the server; True if the server does not report it."""
        try:
            server = server_for(task, self._settings, self._environment)
            if server.vision is not None:
                return server.vision
            key = (server.base_url, self._model(server, time.monotonic() + LISTING_S))
            if not self._learnt.dialect(key).images:
                return False
            if key not in self._vision:
                self._vision[key] = self._listed_vision(server, key[1])
        except ChatError:
            return True  # errors are raised by `complete`
        return self._vision[key] is not False

    def complete(self, prompt: Prompt) -> Completion:
        """Answer once. A reply that reached its length limit before its first token is empty, with `finish = "length"`."""
        start = time.monotonic()
        server = server_for(prompt.task, self._settings, self._environment)
        if any(message.images for message in prompt.messages) and server.vision is False:
            raise ChatError(f"{prompt.task} needs to send pictures; set {server.where}.vision = true, or choose a model that accepts them")
        try:
            return self._counted(server, prompt, start)
        except ChatError as error:
            text, key = str(error), reveal(server.api_key)
            raise ChatError(text.replace(key, STARS) if key else text) from None

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()

    def _counted(self, server: Server, prompt: Prompt, start: float) -> Completion:
        """Ask within the limits of the day, and count the tokens even if the reply was incomplete."""
        deadline = start + self._settings.call_s
        self._connections.raise_while_paused(server)
        model = self._model(server, deadline)
        expected, most = _prompt_tokens(prompt), prompt.max_tokens + prompt.thinking_tokens
        worst = UsageLine(
            day="", task=prompt.task, model=model, place=server.place, calls=1, tokens_in=expected, tokens_out=most,
            usd=server.usd(expected, most),
        )  # fmt: skip
        claim = self._ledger.reserve(worst, self._settings.tokens_per_day, self._settings.usd_per_day)
        reply = Reply(prompt)
        try:
            self._ask(server, model, prompt, reply, deadline)
        finally:
            tokens = reply.tokens(expected)
            with suppress(ChatError):  # the worst case stays in the ledger
                self._ledger.settle(claim, *tokens, server.usd(*tokens))
        return _completion(server, model, reply, tokens, 1000 * (time.monotonic() - start))

    def _ask(self, server: Server, model: str, prompt: Prompt, reply: Reply, deadline: float) -> None:
        """Ask until an answer is complete, without parameters that the server does not know."""
        import httpx2
        import openai

        key = (server.base_url, model)

        def once() -> None:
            dialect = self._learnt.dialect(key, prompt.schema)
            wanted = wire.parameters(prompt, model, dialect, self._settings.image_side_px, self._settings.image_bytes)
            try:
                self._once(server, wanted, prompt, reply, deadline)
            except openai.APITimeoutError as error:  # a server that got the request may charge for it, even if we do not wait for the reply
                reply.charged = not isinstance(error.__cause__, httpx2.ConnectTimeout | httpx2.PoolTimeout)
                raise

        def adapt(failure: Unsupported) -> bool:
            return self._learnt.learn(key, prompt, failure.complaint)

        patience = f"models.tasks.{prompt.task}.silence_s and openai.call_s"
        self._connections.tried(once, server, patience, deadline, lambda: reply.any, adapt)

    def _once(self, server: Server, wanted: dict[str, Any], prompt: Prompt, reply: Reply, deadline: float) -> None:
        client = self._connections.client(server, deadline, prompt.silence_s)
        with client.chat.completions.with_streaming_response.create(**wanted) as response:
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind == "text/html":
                raise ChatError(
                    f"{server.place} replies with a web page: {server.where}.base_url must be the address of its API (it often ends in /v1)"
                )
            arriving = self._arriving(response.iter_bytes(), reply, deadline)
            _read([b"".join(arriving)] if kind == "application/json" else wire.events(arriving), reply, server)
        if not reply.finish:
            raise ChatError(f"{server.place}: the reply ended early after {len(reply.text)} characters; ask again")

    def _arriving(self, chunks: Iterator[bytes], reply: Reply, deadline: float) -> Iterator[bytes]:
        """Bytes as they arrive, within the time and size limits of a reply."""
        size = 0
        for chunk in chunks:
            size += len(chunk)
            if size > wire.REPLY_BYTES:
                raise ChatError("the reply does not end; choose another model")
            yield chunk
            if time.monotonic() > deadline and not reply.finish:
                raise ChatError(
                    f"the reply was not complete after openai.call_s = {self._settings.call_s:g}; raise it, or choose a faster model"
                )

    def _model(self, server: Server, deadline: float) -> str:
        """The model in the settings, else the only one of the server. Raises ChatError with their names if there are several."""
        if server.model:
            return server.model
        if server.base_url not in self._served:
            names = wire.model_names(self._listed(server, deadline))
            if len(names) != 1:
                some = ", ".join(names[:5]) or "none"
                raise ChatError(f"{server.place} serves {len(names)} models ({some}): name one in {server.where}.model")
            self._served[server.base_url] = names[0]
        return self._served[server.base_url]

    def _listed(self, server: Server, deadline: float) -> bytes:
        client = self._connections.client(server, deadline, LISTING_S)
        return self._connections.tried(client.models.with_raw_response.list, server, "openai.call_s", deadline).content

    def _listed_vision(self, server: Server, model: str) -> bool | None:
        """What the server reports about its model. Raises ChatError if it cannot be reached."""
        import httpx2
        import openai

        self._connections.raise_while_paused(server)
        deadline = time.monotonic() + LISTING_S
        try:
            listed = self._listed(server, deadline)
        except ChatError:
            self._connections.raise_while_paused(server)
            listed = b""  # it has no such list
        if (told := reports_vision(listed, b"", model)) is not None:
            return told
        root = server.base_url.removesuffix("/v1")
        try:
            props = self._connections.client(server, deadline, LISTING_S).get(f"{root}/props", cast_to=httpx2.Response)
        except (openai.OpenAIError, httpx2.HTTPError, OSError):
            return None
        return reports_vision(b"", props.content, model)


def _read(events: Any, reply: Reply, server: Server) -> None:
    """Read events until the reply ends, or is longer than allowed."""
    import httpx2

    try:
        for event in events:
            reply.add(event)
            if reply.too_long:
                reply.finish = "length"
                return
    except ChatError as error:
        raise ChatError(f"{server.place}: {error}") from None
    except httpx2.HTTPError:
        if not reply.finish:  # else the reply was complete, and only the end mark is missing
            raise


def _prompt_tokens(prompt: Prompt) -> int:
    """An upper estimate of the tokens of the prompt."""
    messages = sum(len(m.text.encode()) // CHARS_PER_TOKEN_LOW + IMAGE_TOKENS * len(m.images) + 8 for m in prompt.messages)
    return messages + (len(msgspec.json.encode(prompt.schema)) // CHARS_PER_TOKEN_LOW if prompt.schema else 0)


def _completion(server: Server, model: str, reply: Reply, tokens: tuple[int, int], ms: float) -> Completion:
    text = without_thoughts(reply.text)
    refused = bool(reply.refusal) or reply.finish == "content_filter"
    if not text and not refused and reply.finish != "length":
        raise ChatError(f"{server.place}: the model returned nothing; choose another model in {server.where}.model")
    return Completion(
        text=reply.refusal or text,
        model=reply.model or model,
        tokens_in=tokens[0],
        tokens_out=tokens[1],
        ms=ms,
        usd=server.usd(*tokens),
        finish="refusal" if refused else "length" if reply.finish == "length" else "stop",
        logprobs=tuple(reply.logprobs),
    )
