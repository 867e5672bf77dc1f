"""The messages on the agent's socket: one JSON object per line, with a size limit, between processes of one user on one machine.

The client sends a request. The agent replies `Working` at once, so that the client knows that it does not hang; where the client wishes it,
each step of a question as soon as it is done; and then the reply. It is exactly the answer that the client would give without an agent. The
request contains what the answer depends on (recipe, planner, time zone). Of the other settings (engines, language models, plugins) it
contains only a digest; if that differs, the client answers without the agent. So no key of a language model is ever sent over the socket.
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
from edgemem.records import Answer, Entity, Evidence, Record
from edgemem.remember.forgetting.selection import Receipt, Wanted

SOCKET = "agent.sock"
"""File in the memory's directory, so that the directory is enough to find the agent."""
REQUEST_BYTES = 256 << 10
"""Enough for a hundred options of two thousand letters."""
REPLY_BYTES = 8 << 20
MAX_QUESTION_CHARS = 4_000
"""A longer question is cut to this length, with a note. The time for parsing grows with the length."""

Text = Annotated[str, msgspec.Meta(max_length=MAX_QUESTION_CHARS)]
Name = Annotated[str, msgspec.Meta(max_length=4096)]


class _Request(Record, frozen=True, forbid_unknown_fields=True, tag_field="method"):
    """Base of requests."""


class AskRequest(_Request, frozen=True, tag="ask"):
    """Answer a question. `as_of_us` None: use everything that is known."""

    question: Text
    asked_us: int
    as_of_us: int | None = None
    options: tuple[str, ...] = ()
    tz: Name = "UTC"
    recipe: Name = "default"
    planner: Name = ""
    """"" = the one of the recipe."""
    trace: bool = False
    """Also say step by step how the answer was found."""
    steps: bool = False
    """Also send each step as soon as it is done."""
    session: Name = ""
    """Number of the session that the question continues, or "last"."""
    settings: str = ""
    """`Environment.digest` of the client."""


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
    """Name a voice."""

    number: Annotated[int, msgspec.Meta(ge=0)]
    known_us: int
    name: Text = ""
    """"" = remove its name."""


class MergeRequest(_Request, frozen=True, tag="merge"):
    """Two names are one entity: `name` is another name of `into`. With an empty `into` that is taken back."""

    name: Name
    known_us: int
    into: Name = ""
    kind: Name = ""
    """Of the entity `name`, where several kinds have it."""


class NameThingRequest(_Request, frozen=True, tag="name_thing"):
    """Call a thing that a moment or a picture file shows by its name, or take that back."""

    known_us: int
    name: Annotated[str, msgspec.Meta(max_length=200)] = ""
    moment_id: Annotated[int, msgspec.Meta(ge=0)] = 0
    picture: Name = ""
    """Absolute path of a file, instead of a moment."""
    box: tuple[float, float, float, float] | None = None
    """Where the thing is: left, top, right, bottom in pixels of the picture, or as fractions of it where none is above 1."""
    undo: bool = False
    """Take back the lesson of that moment, or without one all lessons of that name."""


class ForgetRequest(_Request, frozen=True, tag="forget"):
    """Forget permanently; the writers of the recipe describe what is left."""

    wanted: Wanted
    recipe: Name = "default"


class StatusRequest(_Request, frozen=True, tag="status"):
    """Ask for the status of the agent and its streams."""


Request = AskRequest | SearchRequest | NameRequest | NameThingRequest | MergeRequest | ForgetRequest | StatusRequest


class _Reply(Record, frozen=True, tag_field="reply"):
    """Base of replies."""


class Working(_Reply, frozen=True, tag="working"):
    """The request was accepted; the reply follows."""


class StepDone(_Reply, frozen=True, tag="step"):
    """A step of the question; more of them or the answer follow."""

    step: QuestionStep


class AskReply(_Reply, frozen=True, tag="answered"):
    """An answer, and its trace if requested. `notes` are about the agent, for example that a camera sees nothing."""

    answer: Answer
    trace: str = ""
    notes: tuple[str, ...] = ()


class SearchReply(_Reply, frozen=True, tag="hits"):
    """What a search found, best first."""

    evidence: tuple[Evidence, ...] = ()


class NameReply(_Reply, frozen=True, tag="named"):
    """Number of utterances of that voice."""

    utterances: int


class MergeReply(_Reply, frozen=True, tag="merged"):
    """What the entity is called now, with its other names."""

    entity: Entity


class ThingReply(_Reply, frozen=True, tag="thing"):
    """A thing that was taught, or taken back, and where it is seen again, the newest first."""

    name: str
    moment_id: int = 0
    found: int = 0
    evidence: tuple[Evidence, ...] = ()
    """The newest ten of them."""
    unsearched: int = 0
    """Moments that were kept without vectors of their parts, and were not looked at yet."""


class ForgetReply(_Reply, frozen=True, tag="forgotten"):
    """What was forgotten."""

    receipt: Receipt


class AgentStatus(_Reply, frozen=True, tag="status"):
    """The agent's process, its streams, and how many questions it answered."""

    process: int
    streams: tuple[StreamStatus, ...] = ()
    answered: int = 0
    notes: tuple[str, ...] = ()
    """What is not as the settings say: less work, lighter engines, another runtime than the first."""


class Failed(_Reply, frozen=True, tag="failed"):
    """The error that the client would have got without the agent: a class of `edgemem.errors`, and its message."""

    error: str
    text: str


class Declined(_Reply, frozen=True, tag="declined"):
    """The agent does not answer this request; the client may do it. `expected`: this is normal and is not reported."""

    why: str
    expected: bool = False


Reply = Working | StepDone | AskReply | SearchReply | NameReply | ThingReply | MergeReply | ForgetReply | AgentStatus | Failed | Declined

_REQUEST: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
_REPLY: msgspec.json.Decoder[Reply] = msgspec.json.Decoder(Reply)


def decode_request(data: bytes) -> Request:
    """Converts JSON to a request; unknown keys are refused. Raises msgspec.DecodeError."""
    return _REQUEST.decode(data)


def decode_reply(data: bytes) -> Reply:
    """Converts JSON to a reply. Raises msgspec.DecodeError."""
    return _REPLY.decode(data)


class LineSocket:
    """Reads and writes the lines of one connection, none longer than `most` bytes."""

    def __init__(self, connection: socket.socket, most: int) -> None:
        self._connection = connection
        self._most = most
        self._rest = b""

    def read(self, timeout_s: float) -> bytes | None:
        """The next line; None if the connection was closed. Raises TimeoutError, ValueError for a line that is too long, OSError."""
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
        """Send one message. Raises TimeoutError if the other side does not read it, and OSError."""
        self._connection.settimeout(timeout_s)
        self._connection.sendall(msgspec.json.encode(message) + b"\n")


def peer_uid(connection: socket.socket) -> int:
    """Id of the user on the other side, from the kernel. Raises OSError if the system does not provide it (not Linux)."""
    option: int | None = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        raise OSError("this system does not provide the user on the other side of a socket")
    _, uid, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size))
    return int(uid)


_CREDENTIALS = struct.Struct("iII")
"""`struct ucred`: process, user, group."""


@contextmanager
def directory_handle(directory: Path) -> Iterator[int]:
    """A handle of the directory, for `address` and `dir_fd`. Raises OSError if there is no such directory."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def address(handle: int) -> str:
    """Address of the socket in a directory. It uses the directory's handle, because the kernel allows only 107 bytes and a path may be
    longer.
    """
    return f"/proc/self/fd/{handle}/{SOCKET}"
