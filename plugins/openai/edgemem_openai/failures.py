"""Classifies errors of a server: ask again, ask with fewer parameters, or give up with a line that says what to do."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

import msgspec

from edgemem_openai.dialect import refuses_pictures
from edgemem_openai.reply import error_text
from edgemem_openai.settings import Server

BUSY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses after which the same request may succeed."""
TOO_LONG = re.compile(r"context[ _](length|size|window)|prompt is too long|too many (input )?tokens", re.IGNORECASE)
"""Messages of servers for this. The word context alone is not enough: messages about a schema contain "context=(...)"."""


class Failure(msgspec.Struct, frozen=True):
    """Why a request failed, in one line that says what to do. Asking again does not help."""

    text: str


class Silent(Failure, frozen=True):
    """The server did not answer in time."""


class Retryable(Failure, frozen=True):
    """The same request may succeed later."""

    after_s: float | None = None
    """The wait that the server requests, in seconds."""
    unreachable: bool = False


class Unsupported(Failure, frozen=True):
    """The server does not accept the request; `complaint` may name the parameter."""

    complaint: str = ""


def failure_of(error: Exception, server: Server, patience: str, *, begun: bool) -> Failure:
    """Classify an error of a request. A reply that has begun is paid for and is not requested again. `patience`: the settings that limit
    the time of a reply.
    """
    import httpx2
    import openai

    if isinstance(error, openai.APIStatusError):
        return _status(error, server)
    if isinstance(error, openai.APITimeoutError | httpx2.TimeoutException):
        if isinstance(error.__cause__, httpx2.ConnectTimeout | httpx2.PoolTimeout):
            return Retryable(f"{server.place} cannot be reached (time-out); check {server.where}.base_url", unreachable=True)
        silent = "sent no more data in the middle of the reply" if begun else "sent nothing in time"
        return Silent(f"{server.place} {silent}; raise {patience}, or choose a faster model")
    if begun:
        return Failure(f"{server.place}: the connection was lost in the middle of the reply; ask again")
    if isinstance(error, openai.APIConnectionError | httpx2.HTTPError | OSError):
        reason = error_text(error.__cause__ or error)
        return Retryable(f"{server.place} cannot be reached ({reason}); check {server.where}.base_url", unreachable=True)
    return Failure(f"{server.place}: {error_text(error)}; check {server.where}.base_url")


def _status(error: object, server: Server) -> Failure:
    """Classify an HTTP status with its body."""
    import openai

    assert isinstance(error, openai.APIStatusError)
    body = error.body if error.body is not None else error.message
    said, status, place = error_text(body), error.status_code, server.place
    if 300 <= status < 400:
        elsewhere = error.response.headers.get("location", "elsewhere")
        return Failure(f"{place} redirects the request to {elsewhere}: if that is allowed, set it as {server.where}.base_url")
    if refuses_pictures(said):  # llama.cpp uses 500 for this, OpenRouter 404
        return Unsupported(
            f"{place} replies {status}: {said}; choose a model that accepts pictures in {server.where}.model", complaint=said
        )
    if status in BUSY and "insufficient_quota" not in str(body):
        return Retryable(f"{place} replies {status}: {said}", after_s=_retry_after(error.response.headers))
    hopeless = _hopeless(status, str(body), said, server)
    if hopeless:
        return Failure(f"{place}{hopeless}")
    parameter = body.get("param") if isinstance(body, Mapping) else ""
    return Unsupported(
        f"{place} replies {status}: {said}; choose another model in {server.where}.model", complaint=f"{parameter or ''} {said}"
    )


def _hopeless(status: int, body: str, said: str, server: Server) -> str:
    """The message for an error that no other request can correct; empty for other errors."""
    where = server.where
    if status == 429:
        return f": no credit is left ({said})"
    if status in {401, 403}:
        return f" refuses the key ({said}): set {where}.api_key_file or {server.key_variable}"
    if status == 404:
        return f" knows no such model or address ({said}): check {where}.model, and that {where}.base_url ends in /v1"
    if status == 413 or TOO_LONG.search(body):
        return f": the prompt is too long ({said}): choose a model with a longer context in {where}.model"
    return ""


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server requests to wait, from both forms of Retry-After (RFC 9110, section 10.2.3)."""
    value = headers.get("retry-after-ms") or headers.get("retry-after")
    if not value:
        return None
    try:
        return max(0.0, float(value) / (1000 if headers.get("retry-after-ms") else 1))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None
