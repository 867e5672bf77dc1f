"""What an error of a server means: ask again, ask for less, or give up with a line that says what to do."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

import msgspec

from edgemem_openai.settings import KEY_VARIABLE, Server
from edgemem_openai.wire import error_text

BUSY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses after which the same request may succeed."""
TOO_LONG = re.compile(r"context[ _](length|size|window)|prompt is too long|too many (input )?tokens", re.IGNORECASE)
"""How servers say it. The word context alone is not enough: complaints about a schema name the place in it as "context=(...)"."""


class Verdict(msgspec.Struct, frozen=True):
    """Give up."""

    text: str


class Again(Verdict, frozen=True):
    """It may pass."""

    after_s: float | None = None
    """What the server asks to wait."""
    unreachable: bool = False


class Weaker(Verdict, frozen=True):
    """The server did not like the request; `complaint` may name the parameter."""

    complaint: str = ""


def judged(error: Exception, server: Server, *, begun: bool) -> Verdict:
    """The meaning of an error while asking; once a reply has begun it is paid for, and is not asked for again."""
    import httpx2
    import openai

    if isinstance(error, openai.APIStatusError):
        return _status(error, server)
    if isinstance(error, openai.APITimeoutError | httpx2.TimeoutException):
        if isinstance(error.__cause__, httpx2.ConnectTimeout | httpx2.PoolTimeout):
            return Again(f"{server.place} cannot be reached (time-out); check {server.where}.base_url", unreachable=True)
        silent = "fell silent in the middle of the reply" if begun else "said nothing in time"
        return Verdict(f"{server.place} {silent}; raise openai.stall_s and openai.call_s, or choose a faster model")
    if begun:
        return Verdict(f"{server.place}: the connection broke in the middle of the reply; ask again")
    if isinstance(error, openai.APIConnectionError | httpx2.HTTPError | OSError):
        reason = error_text(error.__cause__ or error)
        return Again(f"{server.place} cannot be reached ({reason}); check {server.where}.base_url", unreachable=True)
    return Verdict(f"{server.place}: {error_text(error)}; check {server.where}.base_url")


def _status(error: object, server: Server) -> Verdict:
    import openai

    assert isinstance(error, openai.APIStatusError)
    body = error.body if error.body is not None else error.message
    said, status, where = error_text(body), error.status_code, server.where
    if status == 429 and "insufficient_quota" in str(body):
        return Verdict(f"{server.place}: no credit is left ({said})")
    if status in BUSY:
        return Again(f"{server.place} answers {status}: {said}", after_s=_retry_after(error.response.headers))
    if status in {401, 403}:
        return Verdict(f"{server.place} refuses the key ({said}): set {where}.api_key_file or {KEY_VARIABLE}")
    if status == 404:
        return Verdict(
            f"{server.place} knows no such model or address ({said}): check {where}.model, and that {where}.base_url ends in /v1"
        )
    if 300 <= status < 400:
        place = error.response.headers.get("location", "elsewhere")
        return Verdict(f"{server.place} sends the request on to {place}: if it may go there, make that {where}.base_url")
    if status == 413 or TOO_LONG.search(str(body)):
        return Verdict(f"{server.place}: the prompt is too long ({said}): choose a model with a longer context in {where}.model")
    parameter = body.get("param") if isinstance(body, Mapping) else ""
    complaint = f"{parameter or ''} {said}"
    return Weaker(f"{server.place} answers {status}: {said}; choose another model in {where}.model", complaint=complaint)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait, from either form of Retry-After (RFC 9110, section 10.2.3)."""
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
