"""What goes over the agent's socket: one JSON object a line, bounded, between processes of one user on one machine.

The client sends a request; the agent says `Working` at once, so that one that hangs is told from one that thinks, and then replies. The
agent answers exactly what the command would have answered by itself. What decides the answer travels with the request (recipe, planner,
zone); for the rest (engines, language models, plugins) only a digest does, and where it differs the client answers itself: so no key of a
language model ever crosses the socket.
"""

from __future__ import annotations

import hashlib
import os
import socket
import struct
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from edgemem import __version__
from edgemem.config import Settings, dump
from edgemem.events import StreamStatus
from edgemem.records import Answer, Evidence, Record
from edgemem.remember.forgetting.selection import Receipt, Wanted

SOCKET = "agent.sock"
"""In the memory's directory: whoever has the memory finds its agent, however either was started."""
REQUEST_BYTES = 256 << 10
"""A hundred options of two thousand letters."""
REPLY_BYTES = 8 << 20
MAX_QUESTION_CHARS = 4_000
"""A longer question is cut here, and said so: no person asks one, and a parser should not read a book."""

_WRITING = ("budget", "store", "privacy", "retention", "run")
"""Settings that bear on what is kept, never on what is answered."""
_TRAVELS = ("recipe", "timezone", "home", "plugins_dirs")
"""Settings that a request carries itself, or that stand in the digest resolved."""
_VARIABLES = ("EDGEMEM_", "OPENAI_")
"""Beginnings of the environment variables that plugins of ours read."""
_RESOLVED = ("EDGEMEM_CONFIG", "EDGEMEM_HOME")
"""What these say stands in the settings and in `home`."""

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
    """Tell the story, too."""
    settings: str = ""
    """`digest` of the asking side."""


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
    """Say whose voice a number is."""

    number: Annotated[int, msgspec.Meta(ge=0)]
    known_us: int
    name: Text = ""
    """"" = it is a number again."""


class ForgetRequest(_Request, frozen=True, tag="forget"):
    """Forget for good, and describe what is left with the writers of the recipe."""

    wanted: Wanted
    recipe: Name = "default"


class StatusRequest(_Request, frozen=True, tag="status"):
    """How the agent fares."""


Request = AskRequest | SearchRequest | NameRequest | ForgetRequest | StatusRequest


class _Reply(Record, frozen=True, tag_field="reply"):
    """Base of what may come back."""


class Working(_Reply, frozen=True, tag="working"):
    """The request was understood; the reply follows."""


class AskReply(_Reply, frozen=True, tag="answered"):
    """An answer and the story of how it was found. `notes` tell of the agent, such as a camera that is blind."""

    answer: Answer
    story: str = ""
    notes: tuple[str, ...] = ()


class SearchReply(_Reply, frozen=True, tag="hits"):
    """What a search found, best first."""

    evidence: tuple[Evidence, ...] = ()


class NameReply(_Reply, frozen=True, tag="named"):
    """How much that voice has said."""

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
    """The one line that the command itself would have said: class of `edgemem.errors`, and text."""

    error: str
    text: str


class Declined(_Reply, frozen=True, tag="declined"):
    """The agent does not answer this; the client may, by itself. `expected`: nothing is wrong, so nobody need be told."""

    why: str
    expected: bool = False


Reply = Working | AskReply | SearchReply | NameReply | ForgetReply | AgentStatus | Failed | Declined

_REQUEST: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
_REPLY: msgspec.json.Decoder[Reply] = msgspec.json.Decoder(Reply)


def decode_request(data: bytes) -> Request:
    """JSON -> request; unknown keys are refused. Raises msgspec.DecodeError."""
    return _REQUEST.decode(data)


def decode_reply(data: bytes) -> Reply:
    """JSON -> reply. Raises msgspec.DecodeError."""
    return _REPLY.decode(data)


def digest(settings: Settings, home: Path, plugins_dirs: Iterable[Path] = (), environment: Mapping[str, str] | None = None) -> str:
    """Equal where the same request is answered the same: settings that bear on answers, paths resolved, and our version."""
    plain = {key: value for key, value in dump(settings).items() if key not in (*_WRITING, *_TRAVELS)}
    plain["engines"] = {key: value for key, value in plain["engines"].items() if key != "threads"}
    plain["recipes_dirs"] = [_absolute(folder) for folder in settings.recipes_dirs]
    variables = os.environ if environment is None else environment
    facts: dict[str, Any] = {
        "version": __version__,
        "home": _absolute(home),
        "plugins": [*map(_absolute, settings.plugins_dirs), *map(_absolute, plugins_dirs)],
        "settings": plain,
        "environment": {name: value for name, value in variables.items() if name.startswith(_VARIABLES) and name not in _RESOLVED},
    }
    return hashlib.sha256(msgspec.json.encode(facts, order="deterministic")).hexdigest()


def _absolute(folder: str | Path) -> str:
    return str(Path(folder).expanduser().resolve())


class LineSocket:
    """Reads and writes the lines of one connection, none longer than `most` bytes."""

    def __init__(self, connection: socket.socket, most: int) -> None:
        self._connection = connection
        self._most = most
        self._rest = b""

    def read(self, timeout_s: float) -> bytes | None:
        """The next line; None when the other side has hung up. Raises TimeoutError, ValueError for a line that is too long, OSError."""
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
    """The user on the other side, as the kernel knows it. Raises OSError where the system does not tell (not Linux)."""
    option: int | None = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        raise OSError("this system does not tell who is on the other side of a socket")
    _, uid, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size))
    return int(uid)


_CREDENTIALS = struct.Struct("iII")
"""`struct ucred`: process, user, group."""


@contextmanager
def place(directory: Path) -> Iterator[int]:
    """A handle of the directory, for `address` and `dir_fd`. Raises OSError where there is no such directory."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def address(handle: int) -> str:
    """Of the socket in a directory: through its handle, because a path may have any length and the kernel takes 107 bytes."""
    return f"/proc/self/fd/{handle}/{SOCKET}"
