"""The caller's side of the socket: ask the agent of a memory, or learn that the memory must be read without it."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TypeVar

import msgspec

from edgemem import errors
from edgemem.serve.messages import (
    REPLY_BYTES,
    REQUEST_BYTES,
    Declined,
    Failed,
    LineSocket,
    Reply,
    Request,
    Working,
    address,
    decode_reply,
    peer_uid,
    place,
)

R = TypeVar("R", bound=Reply)

NOTICE_S = 3.0
"""An agent says at once that it works on a request. One that does not is hung, or stopped."""


class AgentUnavailable(Exception):  # noqa: N818 - no error: the memory can be read without an agent
    """The agent did not answer. `why` is one line; `expected`: nothing is wrong, such as when none runs."""

    def __init__(self, why: str, *, expected: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.expected = expected


def call(directory: Path, request: Request, kind: type[R], patience_s: float) -> R:
    """The agent's reply, waited for `patience_s`. Raises AgentUnavailable, or the EdgememError that the caller would have met by itself."""
    try:
        with place(directory) as handle, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(NOTICE_S)
            connection.connect(address(handle))
            _require_same_user(connection)
            reply = _converse(LineSocket(connection, REPLY_BYTES), request, patience_s)
    except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError, PermissionError):
        raise AgentUnavailable("none runs", expected=True) from None  # no socket, one that a killed agent left, or another user's
    except TimeoutError:
        raise AgentUnavailable("it does not respond") from None
    except OSError:
        raise AgentUnavailable("it ended in the middle of the question") from None
    except (ValueError, msgspec.DecodeError):
        raise AgentUnavailable("its reply cannot be read") from None
    if isinstance(reply, Failed):
        raise _error(reply)
    if not isinstance(reply, kind):
        raise AgentUnavailable("it replied to something else")
    return reply


def _require_same_user(connection: socket.socket) -> None:
    """Who may write into the directory may put a socket there: only our own agent is believed."""
    if peer_uid(connection) != os.geteuid():
        raise AgentUnavailable("it belongs to another user")


def _converse(line: LineSocket, request: Request, patience_s: float) -> Reply:
    if len(msgspec.json.encode(request)) > REQUEST_BYTES:
        raise AgentUnavailable("the request is too long for it", expected=True)
    line.write(request, NOTICE_S)
    reply = _next(line, NOTICE_S)
    if isinstance(reply, Working):
        reply = _next(line, patience_s)
    if isinstance(reply, Declined):
        raise AgentUnavailable(reply.why, expected=reply.expected)
    return reply


def _next(line: LineSocket, timeout_s: float) -> Reply:
    data = line.read(timeout_s)
    if data is None:
        raise ConnectionResetError
    return decode_reply(data)


def _error(failed: Failed) -> errors.EdgememError:
    kind = getattr(errors, failed.error, None)
    if not (isinstance(kind, type) and issubclass(kind, errors.EdgememError)):
        kind = errors.EdgememError
    return kind(failed.text)
