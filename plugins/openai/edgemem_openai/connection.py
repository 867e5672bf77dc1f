"""HTTP connections to servers: one client per server, retries after temporary errors, and a pause after a server could not be reached."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from edgemem.errors import ChatError
from edgemem.secret import Secret, reveal
from edgemem_openai.failures import Retryable, Silent, Unsupported, failure_of
from edgemem_openai.settings import Server

if TYPE_CHECKING:
    import openai

T = TypeVar("T")

LONGEST_PAUSE_S = 8.0
ERROR_BYTES = 1 << 20
"""What is read of an error: more is no message."""
BODY_BYTES = 64 << 20
"""Largest body of anything else; each kind of reply has a smaller limit of its own."""
OWN_MARK = "x-stainless-raw-response"
"""The only header of the client that the client itself needs."""


class Patience(Protocol):
    """How long a server is waited for, and how often it is asked again: the fields of `OpenAISettings` of these names."""

    @property
    def connect_s(self) -> float: ...
    @property
    def retries(self) -> int: ...
    @property
    def backoff_s(self) -> float: ...
    @property
    def rest_s(self) -> float: ...


class Connections:
    """Clients by server. Thread-safe."""

    def __init__(self, settings: Patience, *, rest_after_silence: bool = False) -> None:
        """`rest_after_silence`: a server that did not answer in time is not asked for `rest_s` either."""
        self._settings = settings
        self._rest_after_silence = rest_after_silence
        self._lock = threading.Lock()
        self._clients: dict[tuple[str, Secret], openai.OpenAI] = {}
        self._resting: dict[str, tuple[float, str]] = {}
        self._own = threading.local()

    def client(self, server: Server, deadline: float, silence_s: float) -> openai.OpenAI:
        """The client of a server. It waits at most until `deadline` (time.monotonic), and `silence_s` for every piece."""
        import openai

        self._own.deadline = deadline  # of the request that this thread makes next
        left = max(0.05, deadline - time.monotonic())
        connect, silence = min(self._settings.connect_s, left), min(silence_s, left)
        return self._client(server).with_options(timeout=openai.Timeout(connect=connect, read=silence, write=silence, pool=connect))

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            for client in self._clients.values():
                client.close()
            self._clients.clear()

    def tried(
        self,
        attempt: Callable[[], T],
        server: Server,
        patience: str,
        deadline: float,
        begun: Callable[[], bool] = lambda: False,
        adapt: Callable[[Unsupported], bool] = lambda _: False,
    ) -> T:
        """The result of `attempt`, with retries after temporary errors and after errors that `adapt` could correct. Raises ChatError.

        `patience`: the settings that limit the time of a reply, for its message.
        """
        import httpx2
        import openai

        tries = 0
        while True:
            try:
                return attempt()
            except (openai.OpenAIError, httpx2.HTTPError, OSError) as error:
                failure = failure_of(error, server, patience, begun=begun())
            if isinstance(failure, Retryable):
                tries += 1
                self._pause(failure, tries, server, deadline)
            elif not (isinstance(failure, Unsupported) and adapt(failure)):
                if isinstance(failure, Silent) and self._rest_after_silence:
                    self._rest(server, failure.text)
                raise ChatError(failure.text)

    def raise_while_paused(self, server: Server) -> None:
        """Raise ChatError during the pause after a server could not be reached."""
        until, why = self._resting.get(server.base_url, (0.0, ""))
        if time.monotonic() < until:
            raise ChatError(f"{why}; it is tried again in {until - time.monotonic():.0f} s")

    def _pause(self, failure: Retryable, tries: int, server: Server, deadline: float) -> None:
        """Wait before the next try. Raises ChatError if no try is left, or if the server requests a longer wait."""
        growing = min(LONGEST_PAUSE_S, self._settings.backoff_s * 2 ** (tries - 1)) * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load only
        pause_s = growing if failure.after_s is None else failure.after_s
        over = time.monotonic() + pause_s > deadline
        if tries > self._settings.retries or over:
            if failure.unreachable:
                self._rest(server, failure.text)
            asked = f", and asks to wait {pause_s:g} s" if failure.after_s is not None and over else f" ({tries} tries)"
            raise ChatError(f"{failure.text}{asked}")
        time.sleep(pause_s)

    def _rest(self, server: Server, why: str) -> None:
        self._resting[server.base_url] = (time.monotonic() + self._settings.rest_s, why)

    def _bounded(self, response: Any) -> None:
        """A body that trickles, or that does not end, is not read for longer than its request may take, whatever reads it."""
        import httpx2

        deadline, most, inner = self._own.deadline, ERROR_BYTES if response.is_error else BODY_BYTES, response.stream

        class Limited(httpx2.SyncByteStream):
            def __iter__(self) -> Iterator[bytes]:
                size = 0
                for chunk in inner:
                    yield chunk
                    size += len(chunk)
                    if size > most:
                        return
                    if time.monotonic() > deadline:
                        raise httpx2.ReadTimeout("the reply does not end in time", request=response.request)

            def close(self) -> None:
                inner.close()

        response.stream = Limited()

    def _client(self, server: Server) -> openai.OpenAI:
        import openai

        key = (server.base_url, server.api_key)
        with self._lock:
            if key not in self._clients:
                # A redirect or a proxy must not send data to an address that is not in the settings; data about this machine is not sent
                # either.
                hooks: dict[str, list[Callable[..., Any]]] = {"request": [_without_telemetry], "response": [self._bounded]}
                http = openai.DefaultHttpxClient(follow_redirects=False, trust_env=not server.local, event_hooks=hooks)
                self._clients[key] = openai.OpenAI(
                    api_key=reveal(server.api_key) or "none", base_url=server.base_url, max_retries=0, http_client=http
                )
            return self._clients[key]


def _without_telemetry(request: Any) -> None:
    """Remove headers that the client adds about the system, and about accounts that the environment sets for other programs."""
    for name in list(request.headers):
        if name.lower().startswith(("x-stainless-", "openai-", "user-agent")) and name.lower() != OWN_MARK:
            del request.headers[name]
    request.headers["User-Agent"] = "edgemem"
