"""The client side of the socket: ask the agent of a memory, or find that the memory must be read without it."""

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
    directory_handle,
    peer_uid,
)

R = TypeVar("R", bound=Reply)

WORKING_S = 3.0
"""An agent replies within this time that it works on a request. If it does not, it hangs or is stopped."""


class AgentUnavailable(Exception):  # noqa: N818 - not an error: the memory can be read without an agent
    """The agent did not answer. `why` is one line. `expected`: this is normal, for example when no agent runs."""

    def __init__(self, why: str, *, expected: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.expected = expected


def call(directory: Path, request: Request, kind: type[R], timeout_s: float) -> R:
    """The agent's reply, after at most `timeout_s` seconds.

    Raises AgentUnavailable, or the EdgememError that the caller would have got without an agent.
    """
    try:
        with directory_handle(directory) as handle, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(WORKING_S)
            connection.connect(address(handle))
            _require_same_user(connection)
            reply = _exchange(LineSocket(connection, REPLY_BYTES), request, timeout_s)
    except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError, PermissionError):
        raise AgentUnavailable("none runs", expected=True) from None  # no socket, the socket of a killed agent, or that of another user
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
    """Any user who may write to the directory can create a socket there: only an agent of our own user is trusted."""
    if peer_uid(connection) != os.geteuid():
        raise AgentUnavailable("it belongs to another user")


def _exchange(line: LineSocket, request: Request, timeout_s: float) -> Reply:
    if len(msgspec.json.encode(request)) > REQUEST_BYTES:
        raise AgentUnavailable("the request is too long for it", expected=True)
    line.write(request, WORKING_S)
    reply = _next(line, WORKING_S)
    if isinstance(reply, Working):
        reply = _next(line, timeout_s)
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
