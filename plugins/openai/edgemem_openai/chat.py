"""The chat `openai`: one prompt, one reply, within a time, a price and a number of tries."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from edgemem.answer.models import IMAGE_TOKENS
from edgemem.errors import ChatError
from edgemem.infer.chat import Completion, Prompt
from edgemem_openai import wire
from edgemem_openai.failures import Again, Weaker, judged
from edgemem_openai.ledger import Ledger, Spent
from edgemem_openai.settings import OpenAISettings, Server, server_for

if TYPE_CHECKING:
    import openai

T = TypeVar("T")

LEARNT_DAYS = 7
"""After so long a server may have been updated and is asked anew what it knows."""
LONGEST_PAUSE_S = 8.0
_OWN_MARK = "x-stainless-raw-response"
"""The one header of the client's that it reads again itself."""


class OpenAIChat:
    """Asks OpenAI-compatible servers. Safe to call from several threads. Errors leave as ChatError, in one line that says what to do."""

    name = "openai"

    def __init__(self, settings: OpenAISettings, home: Path, environment: Mapping[str, str] = os.environ) -> None:
        self._settings = settings
        self._environment = environment
        self._ledger = Ledger(home / "openai.db")
        self._lock = threading.Lock()
        self._clients: dict[tuple[str, str], openai.OpenAI] = {}
        self._dialects: dict[tuple[str, str], wire.Dialect] = {}
        self._served: dict[str, str] = {}
        self._resting: dict[str, tuple[float, str]] = {}
        self.vision = settings.vision_anywhere

    def complete(self, prompt: Prompt) -> Completion:
        """Answer once."""
        start = time.monotonic()
        server = server_for(prompt.task, self._settings, self._environment)
        if any(message.images for message in prompt.messages) and not server.vision:
            raise ChatError(f"{prompt.task} wants to show pictures; set {server.where}.vision = true, or choose a model that sees")
        try:
            return self._counted(server, prompt, start)
        except ChatError as error:
            text = str(error)
            raise ChatError(text.replace(server.api_key, "***") if server.api_key else text) from None

    def close(self) -> None:
        """Let connections go."""
        with self._lock:
            for client in self._clients.values():
                client.close()
            self._clients.clear()

    def _counted(self, server: Server, prompt: Prompt, start: float) -> Completion:
        """Ask within the day's caps, and count what came even when it broke off."""
        deadline = start + self._settings.call_s
        self._refuse_resting(server)
        model = server.model or self._served_model(server, deadline)
        expected = sum(len(m.text.encode()) // wire.CHARS_PER_TOKEN_LOW + IMAGE_TOKENS * len(m.images) + 8 for m in prompt.messages)
        expected += len(msgspec.json.encode(prompt.schema)) // wire.CHARS_PER_TOKEN_LOW if prompt.schema else 0
        worst = Spent(
            day="", task=prompt.task, model=model, place=server.place, calls=1, tokens_in=expected, tokens_out=prompt.max_tokens,
            usd=server.usd(expected, prompt.max_tokens),
        )  # fmt: skip
        claim = self._ledger.reserve(worst, self._settings.tokens_per_day, self._settings.usd_per_day)
        heard = wire.Heard(prompt)
        try:
            self._ask(server, model, prompt, heard, deadline)
        finally:
            tokens = heard.tokens(expected)
            with suppress(ChatError):  # the worst case stays written down
                self._ledger.settle(claim, *tokens, server.usd(*tokens))
        return _completion(server, model, prompt, heard, tokens, 1000 * (time.monotonic() - start))

    def _ask(self, server: Server, model: str, prompt: Prompt, heard: wire.Heard, deadline: float) -> None:
        """Ask until an answer is whole, in a weaker dialect where the server knows no better."""
        import httpx2
        import openai

        def once() -> None:
            wanted = wire.parameters(prompt, model, self._dialect(server, model), *self._limits)
            try:
                self._once(server, wanted, heard, deadline)
            except openai.APITimeoutError as error:  # who was given the request and is not waited for may charge for it
                heard.charged = not isinstance(error.__cause__, httpx2.ConnectTimeout | httpx2.PoolTimeout)
                raise

        def adapt(verdict: Weaker) -> bool:
            weaker = self._dialect(server, model).without(verdict.complaint, structured=prompt.schema is not None)
            if weaker is not None:
                self._learn(server, model, weaker)
            return weaker is not None

        self._tried(once, server, deadline, lambda: heard.any, adapt)

    def _tried(
        self,
        attempt: Callable[[], T],
        server: Server,
        deadline: float,
        begun: Callable[[], bool] = lambda: False,
        adapt: Callable[[Weaker], bool] = lambda _: False,
    ) -> T:
        """What `attempt` returns, tried again after what may pass and after what `adapt` could mend. Raises ChatError."""
        import httpx2
        import openai

        tries = 0
        while True:
            try:
                return attempt()
            except (openai.OpenAIError, httpx2.HTTPError, OSError) as error:
                verdict = judged(error, server, begun=begun())
            if isinstance(verdict, Again):
                tries += 1
                self._pause(verdict, tries, server, deadline)
            elif not (isinstance(verdict, Weaker) and adapt(verdict)):
                raise ChatError(verdict.text)

    def _once(self, server: Server, wanted: dict[str, Any], heard: wire.Heard, deadline: float) -> None:
        import httpx2

        client = self._client(server).with_options(timeout=self._timeout(deadline))
        with client.chat.completions.with_streaming_response.create(**wanted) as reply:
            kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind == "text/html":
                raise ChatError(
                    f"{server.place} answers with a web page: {server.where}.base_url must lead to its API (it often ends in /v1)"
                )
            arriving = self._arriving(reply.iter_bytes(), heard, deadline)
            try:
                for event in [b"".join(arriving)] if kind == "application/json" else wire.events(arriving):
                    heard.add(event)
                    if heard.too_long:
                        heard.finish = "length"
                        return
            except ChatError as error:
                raise ChatError(f"{server.place}: {error}") from None
            except httpx2.HTTPError:
                if not heard.finish:  # else the reply was whole, and only the farewell is missing
                    raise
        if not heard.finish:
            raise ChatError(f"{server.place}: the reply broke off after {len(heard.text)} characters; ask again")

    def _arriving(self, chunks: Iterator[bytes], heard: wire.Heard, deadline: float) -> Iterator[bytes]:
        """Bytes as they come, within the time and the size of a reply."""
        size = 0
        for chunk in chunks:
            size += len(chunk)
            if size > wire.REPLY_BYTES:
                raise ChatError("the reply has no end; choose another model")
            yield chunk
            if time.monotonic() > deadline and not heard.finish:
                raise ChatError(
                    f"the reply was not whole after openai.call_s = {self._settings.call_s:g}; raise it, or choose a faster model"
                )

    def _pause(self, verdict: Again, tries: int, server: Server, deadline: float) -> None:
        """Wait before the next try. Raises ChatError when there is none left, or when the server wants to be left alone for longer."""
        growing = min(LONGEST_PAUSE_S, self._settings.backoff_s * 2 ** (tries - 1)) * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load only
        pause_s = growing if verdict.after_s is None else verdict.after_s
        over = time.monotonic() + pause_s > deadline
        if tries > self._settings.retries or over:
            if verdict.unreachable:
                self._resting[server.base_url] = (time.monotonic() + self._settings.rest_s, verdict.text)
            asked = f", and asks to wait {pause_s:g} s" if verdict.after_s is not None and over else f" ({tries} tries)"
            raise ChatError(f"{verdict.text}{asked}")
        time.sleep(pause_s)

    def _refuse_resting(self, server: Server) -> None:
        until, why = self._resting.get(server.base_url, (0.0, ""))
        if time.monotonic() < until:
            raise ChatError(f"{why}; it is tried again in {until - time.monotonic():.0f} s")

    def _client(self, server: Server) -> openai.OpenAI:
        import openai

        key = (server.base_url, server.api_key)
        with self._lock:
            if key not in self._clients:
                # A redirect or a proxy must not take a memory where nobody said it may go; nor does anybody need to know this machine.
                http = openai.DefaultHttpxClient(
                    follow_redirects=False, trust_env=not server.local, event_hooks={"request": [_without_telemetry]}
                )
                self._clients[key] = openai.OpenAI(
                    api_key=server.api_key or "none", base_url=server.base_url, max_retries=0, http_client=http
                )
            return self._clients[key]

    def _timeout(self, deadline: float) -> Any:
        import openai

        left = max(0.05, deadline - time.monotonic())
        connect, stall = min(self._settings.connect_s, left), min(self._settings.stall_s, left)
        return openai.Timeout(connect=connect, read=stall, write=stall, pool=connect)

    @property
    def _limits(self) -> tuple[int, int]:
        return self._settings.image_side_px, self._settings.image_bytes

    def _served_model(self, server: Server, deadline: float) -> str:
        """The only model that a server serves. Raises ChatError with their names when there are more."""
        if server.base_url not in self._served:
            client = self._client(server).with_options(timeout=self._timeout(deadline))
            listed = self._tried(client.models.with_raw_response.list, server, deadline)
            names = wire.model_names(listed.content)
            if len(names) != 1:
                some = ", ".join(names[:5]) or "none"
                raise ChatError(f"{server.place} serves {len(names)} models ({some}): name one in {server.where}.model")
            self._served[server.base_url] = names[0]
        return self._served[server.base_url]

    def _dialect(self, server: Server, model: str) -> wire.Dialect:
        key = (server.base_url, model)
        if key not in self._dialects:
            known = self._ledger.dialect(*key, LEARNT_DAYS)
            self._dialects[key] = msgspec.json.decode(known, type=wire.Dialect) if known else wire.Dialect()
        return self._dialects[key]

    def _learn(self, server: Server, model: str, dialect: wire.Dialect) -> None:
        self._dialects[server.base_url, model] = dialect
        with suppress(ChatError):  # then it is learnt again next time
            self._ledger.learn(server.base_url, model, msgspec.json.encode(dialect))


def _without_telemetry(request: Any) -> None:
    """Take off what the client adds about the system, and about accounts that the environment names for other programs."""
    for name in list(request.headers):
        if name.lower().startswith(("x-stainless-", "openai-", "user-agent")) and name.lower() != _OWN_MARK:
            del request.headers[name]
    request.headers["User-Agent"] = "edgemem"


def _completion(server: Server, model: str, prompt: Prompt, heard: wire.Heard, tokens: tuple[int, int], ms: float) -> Completion:
    text = wire.plain(heard.text, json=prompt.schema is not None)
    refused = bool(heard.refusal) or heard.finish == "content_filter"
    if not text and not refused:
        why = f"used all {prompt.max_tokens} tokens without a word" if heard.finish == "length" else "said nothing"
        raise ChatError(f"{server.place}: the model {why}; choose another model in {server.where}.model")
    return Completion(
        text=heard.refusal or text,
        model=heard.model or model,
        tokens_in=tokens[0],
        tokens_out=tokens[1],
        ms=ms,
        usd=server.usd(*tokens),
        finish="refusal" if refused else "length" if heard.finish == "length" else "stop",
    )
