"""What goes over the agent's socket: one JSON object a line, bounded, between processes of one user on one machine.

The client sends a request. The agent replies `Working` at once, so that the client knows whether it hangs, where the client wishes it each
step of a question as soon as it is done, and then the reply. The agent
answers exactly what the client would have answered by itself. The request carries what the answer depends on (recipe, planner, time zone).
Of the other settings (engines, language models, plugins) it carries only a digest; where that differs the client answers by itself. So no
key of a language model ever crosses the socket.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from edgemem.events import QuestionStep, StreamStatus
from edgemem.records import Answer, Evidence, Record
from edgemem.remember.forgetting.selection import Receipt, Wanted

SOCKET = "agent.sock"
"""File in the memory's directory: the directory is enough to find its agent."""
REQUEST_BYTES = 256 << 10
"""Room for a hundred options of two thousand letters."""
REPLY_BYTES = 8 << 20
MAX_QUESTION_CHARS = 4_000
"""A longer question is cut here, which the notes say. The time that parsing takes grows with the length."""

Text = Annotated[str, msgspec.Meta(max_length=MAX_QUESTION_CHARS)]
Name = Annotated[str, msgspec.Meta(max_length=4096)]


class _Request(Record, frozen=True, forbid_unknown_fields=True, tag_field="method"):
    """Base of what may be asked."""


class AskRequest(_Request, frozen=True, tag="ask"):
    """Answer a question. `as_of_us` None: from everything that is known."""

    question: Text
    asked_us: int
    as_of_us: int | None = None
    options: tuple[str, ...] = ()
    tz: Name = "UTC"
    recipe: Name = "default"
    planner: Name = ""
    """"" = the recipe's."""
    trace: bool = False
    """Also say step by step how the answer was found."""
    steps: bool = False
    """Also send each step as soon as it is done."""
    session: Name = ""
    """Number of the session that the question goes on about, or "last"."""
    settings: str = ""
    """`Environment.digest` of the asking side."""


class SearchRequest(_Request, frozen=True, tag="search"):
    """Find moments, events and text."""

    query: Text
    channel: Literal["frame", "event", "text", "speech", "entity", "any"] = "any"
    from_us: int | None = None
    to_us: int | None = None
    top_k: Annotated[int, msgspec.Meta(ge=1, le=200)] = 10
    recipe: Name = "default"
    settings: str = ""


class NameRequest(_Request, frozen=True, tag="name"):
    """Give a voice a name."""

    number: Annotated[int, msgspec.Meta(ge=0)]
    known_us: int
    name: Text = ""
    """"" = it has only its number again."""


class ForgetRequest(_Request, frozen=True, tag="forget"):
    """Forget for good, and describe what is left with the writers of the recipe."""

    wanted: Wanted
    recipe: Name = "default"


class StatusRequest(_Request, frozen=True, tag="status"):
    """What the agent and its streams are doing."""


Request = AskRequest | SearchRequest | NameRequest | ForgetRequest | StatusRequest


class _Reply(Record, frozen=True, tag_field="reply"):
    """Base of what may come back."""


class Working(_Reply, frozen=True, tag="working"):
    """The request was understood; the reply follows."""


class StepDone(_Reply, frozen=True, tag="step"):
    """A step of the question; more of them or the answer follow."""

    step: QuestionStep


class AskReply(_Reply, frozen=True, tag="answered"):
    """An answer, and on request how it was found. `notes` are about the agent, such as a camera that is blind."""

    answer: Answer
    trace: str = ""
    notes: tuple[str, ...] = ()


class SearchReply(_Reply, frozen=True, tag="hits"):
    """What a search found, best first."""

    evidence: tuple[Evidence, ...] = ()


class NameReply(_Reply, frozen=True, tag="named"):
    """How many utterances that voice has."""

    utterances: int


class ForgetReply(_Reply, frozen=True, tag="forgotten"):
    """What is gone."""

    receipt: Receipt


class AgentStatus(_Reply, frozen=True, tag="status"):
    """The agent's process, its streams, and how many questions it answered."""

    process: int
    streams: tuple[StreamStatus, ...] = ()
    answered: int = 0


class Failed(_Reply, frozen=True, tag="failed"):
    """The error that the client would have met by itself: class of `edgemem.errors`, and its line of text."""

    error: str
    text: str


class Declined(_Reply, frozen=True, tag="declined"):
    """The agent does not answer this; the client may, by itself. `expected`: nothing is wrong, so nobody needs to know."""

    why: str
    expected: bool = False


Reply = Working | StepDone | AskReply | SearchReply | NameReply | ForgetReply | AgentStatus | Failed | Declined

_REQUEST: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
_REPLY: msgspec.json.Decoder[Reply] = msgspec.json.Decoder(Reply)


def decode_request(data: bytes) -> Request:
    """JSON -> request; unknown keys are refused. Raises msgspec.DecodeError."""
    return _REQUEST.decode(data)


def decode_reply(data: bytes) -> Reply:
    """JSON -> reply. Raises msgspec.DecodeError."""
    return _REPLY.decode(data)


class LineSocket:
    """Reads and writes the lines of one connection, none longer than `most` bytes."""

    def __init__(self, connection: socket.socket, most: int) -> None:
        self._connection = connection
        self._most = most
        self._rest = b""

    def read(self, timeout_s: float) -> bytes | None:
        """The next line; None when the connection was closed. Raises TimeoutError, ValueError for a line that is too long, OSError."""
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._rest:
            if len(self._rest) > self._most:
                raise ValueError(f"longer than {self._most} bytes")
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
            self._connection.settimeout(left_s)
            more = self._connection.recv(1 << 16)
            if not more:
                return None
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        if len(line) > self._most:
            raise ValueError(f"longer than {self._most} bytes")
        return line

    def write(self, message: Request | Reply, timeout_s: float) -> None:
        """Send one message. Raises TimeoutError when the other side does not take it, OSError."""
        self._connection.settimeout(timeout_s)
        self._connection.sendall(msgspec.json.encode(message) + b"\n")


def peer_uid(connection: socket.socket) -> int:
    """The user on the other side, as the kernel knows it. Raises OSError where the system cannot tell (not Linux)."""
    option: int | None = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        raise OSError("this system cannot tell which user is on the other side of a socket")
    _, uid, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size))
    return int(uid)


_CREDENTIALS = struct.Struct("iII")
"""`struct ucred`: process, user, group."""


@contextmanager
def directory_handle(directory: Path) -> Iterator[int]:
    """A handle of the directory, for `address` and `dir_fd`. Raises OSError where there is no such directory."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def address(handle: int) -> str:
    """Of the socket in a directory: through its handle, because a path may have any length and the kernel takes 107 bytes."""
    return f"/proc/self/fd/{handle}/{SOCKET}"
