"""What the servers for tests have in common: real HTTP on a free port of this machine, for as long as a `with` block lasts."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self


class LocalHandler(BaseHTTPRequestHandler):
    """Handles one connection, and prints nothing."""

    protocol_version = "HTTP/1.1"
    timeout = 30

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """No output during tests."""

    def body(self) -> bytes:
        """What was sent."""
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def header_fields(self) -> dict[str, str]:
        """Headers by name in lower case."""
        return {name.lower(): value for name, value in self.headers.items()}


class LocalServer:
    """Handles each connection in a thread of its own with `handler`, a class, until the `with` block ends or `close` is called.

    `port`: 0 = any that is free.
    """

    def __init__(self, handler: type[LocalHandler], port: int) -> None:
        self.stopping = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._http.server_address[1])

    @property
    def base_url(self) -> str:
        """The value for a setting `base_url`."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop, also in the middle of a reply. Calling it twice does nothing."""
        if not self.stopping.is_set():
            self.stopping.set()
            self._http.shutdown()
            self._http.server_close()
            self._thread.join()
