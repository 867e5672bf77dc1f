"""The agent's side of the socket, with limits for threads, line length and time; only the user who runs the agent is served."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from edgemem.serve.messages import (
    REQUEST_BYTES,
    SOCKET,
    Declined,
    LineSocket,
    Reply,
    Request,
    Working,
    address,
    decode_request,
    directory_handle,
    peer_uid,
)

SLOTS = 4
"""Requests that are answered at the same time. When all slots are in use, a client is refused soon and reads the memory without the
agent."""
TIMEOUT_S = 5.0
"""Time limit for a request to arrive, for a reply to be read, and between two requests of one connection."""
_SLOT_S = 0.25
"""How long a client waits for a slot before it is refused: the previous client may not have closed its connection yet."""
_REFUSE_S = 0.1
"""How long refusing one client may delay the others."""
_STEP_S = 0.2
"""For a step of a question to be taken. A client that does not take one gets no more of them: the question waits for nobody."""
_STOP_S = 2.0
"""How long a stop waits for requests that are being answered."""


Answering = Callable[[Request, Callable[[Reply], object]], Reply]
"""Answers a request; the function that it is given sends replies that come before the last one."""


class SocketServer:
    """Listens at `agent.sock` in the memory's directory. The caller must hold the memory's writer lock, so an existing socket is stale.

    `reply(request, send)` is called in several threads at the same time and must not raise; `send` takes replies that come before the last
    one, returns at once and never raises. `uid`: the only user who is served (default: our own).
    """

    def __init__(
        self,
        directory: Path,
        reply: Callable[[Request, Callable[[Reply], object]], Reply],
        *,
        uid: int | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._directory = directory
        self._reply = reply
        self._uid = os.geteuid() if uid is None else uid
        self._timeout_s = timeout_s
        self._free = threading.Semaphore(SLOTS)
        self._open: set[socket.socket] = set()
        self._busy = 0
        self._changed = threading.Condition()
        self._closed = False
        self._socket: socket.socket | None = None

    def open(self) -> None:
        """Begin to listen. Raises OSError if the file system or the operating system has no such sockets."""
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with directory_handle(self._directory) as handle:
                _clear(handle)
                os.fchmod(listening.fileno(), 0o600)  # on Linux `bind` makes the file with this mode: it is closed from its first moment
                listening.bind(address(handle))
                os.chmod(SOCKET, 0o600, dir_fd=handle)  # elsewhere; no client can connect before `listen`
            listening.listen(16)
        except BaseException:
            listening.close()
            raise
        self._socket = listening
        threading.Thread(target=self._accept, args=(listening,), name="edgemem-socket", daemon=True).start()

    def close(self) -> None:
        """Stop listening, wait a short time for requests in progress, close the other connections. Calling it twice does nothing."""
        listening, self._socket = self._socket, None
        if listening is None:
            return
        self._closed = True
        with contextlib.suppress(OSError):
            (self._directory / SOCKET).unlink()
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)  # ends `accept`
        listening.close()
        deadline = time.monotonic() + _STOP_S
        with self._changed:
            while self._busy and (left_s := deadline - time.monotonic()) > 0:
                self._changed.wait(left_s)
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def _accept(self, listening: socket.socket) -> None:
        while not self._closed:
            try:
                connection, _ = listening.accept()
            except OSError:
                if self._closed:
                    return
                time.sleep(0.1)  # no file handles left: wait until some connections end
                continue
            if self._allowed(connection) and self._free.acquire(timeout=_SLOT_S):
                threading.Thread(target=self._serve, args=(connection,), name="edgemem-answer", daemon=True).start()
            else:
                self._refuse(connection)

    def _allowed(self, connection: socket.socket) -> bool:
        try:
            return peer_uid(connection) == self._uid
        except OSError:
            return False

    def _refuse(self, connection: socket.socket) -> None:
        why = "it is busy with other questions" if self._allowed(connection) else "it serves only the user who runs it"
        with connection, contextlib.suppress(OSError, ValueError):
            line = LineSocket(connection, REQUEST_BYTES)
            line.write(Declined(why=why), _REFUSE_S)
            connection.shutdown(socket.SHUT_WR)
            line.read(_REFUSE_S)  # closing the connection before the request is read would discard our reply

    def _serve(self, connection: socket.socket) -> None:
        with self._changed:
            self._open.add(connection)
        try:
            line = LineSocket(connection, REQUEST_BYTES)
            with contextlib.suppress(OSError):  # the client closed the connection, or is too slow (TimeoutError)
                while not self._closed and self._answer_one(line):
                    pass
        finally:
            with self._changed:
                self._open.discard(connection)
            connection.close()
            self._free.release()

    def _answer_one(self, line: LineSocket) -> bool:
        """Answer one request; False if the connection must be closed."""
        try:
            data = line.read(self._timeout_s)
            if data is None:
                return False
            request = decode_request(data)
        except (ValueError, msgspec.DecodeError, RecursionError) as error:  # too long, no JSON, unknown keys, nested without end
            line.write(Declined(why=f"it does not understand the request ({str(error)[:200]})"), self._timeout_s)
            return False
        with self._changed:
            self._busy += 1
        try:
            line.write(Working(), self._timeout_s)
            line.write(self._reply(request, _Sending(line)), self._timeout_s)
        finally:
            with self._changed:
                self._busy -= 1
                self._changed.notify_all()
        return True


class _Sending:
    """Sends replies before the last one, until the client does not take one."""

    def __init__(self, line: LineSocket) -> None:
        self._line = line
        self._given_up = False

    def __call__(self, reply: Reply) -> None:
        if not self._given_up:
            try:
                self._line.write(reply, _STEP_S)
            except OSError:
                self._given_up = True


def _clear(handle: int) -> None:
    """Remove the socket of a killed agent. If any other file has that name, binding fails."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISSOCK(os.stat(SOCKET, dir_fd=handle, follow_symlinks=False).st_mode):
            os.unlink(SOCKET, dir_fd=handle)
