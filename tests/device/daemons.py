"""Agents as their users start them: real processes that see folders of pictures and network cameras, without models."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from edgemem.extend.testing import T0_US, SyntheticCamera
from edgemem.records import US, Observation
from edgemem.remember.entries import NewDocument, NewMoment
from edgemem.remember.store import Store
from edgemem.see.pixels import encode_jpeg
from edgemem.serve.client import AgentUnavailable, call
from edgemem.serve.messages import AgentStatus, StatusRequest

RECIPE = """
summary = "No models."
rate_fps = 5.0
[segment]
use = "fixed_window"
"""
PROGRAM = (sys.executable, "-m", "edgemem")


def wait_until(what: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait until something is true; fail after a time limit."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


class Daemon:
    """`edgemem run` with a settings file; its output is in `said`."""

    def __init__(self, folder: Path, settings: str, **environment: str) -> None:
        self.settings = folder / "edgemem.toml"
        self.settings.write_text(settings)
        self.memory = folder / "memory"
        self._log = folder / "said.txt"
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [*PROGRAM, "run", "--config", str(self.settings)], stderr=log, cwd=folder, env={**os.environ, **environment}
            )

    @property
    def said(self) -> str:
        return self._log.read_text()

    @property
    def status(self) -> AgentStatus | None:
        with contextlib.suppress(AgentUnavailable):
            return call(self.memory, StatusRequest(), AgentStatus, 5.0)
        return None

    def wait_ready(self) -> Daemon:
        wait_until(lambda: self.status or self.process.poll() is not None)
        assert self.process.poll() is None, self.said
        return self

    def wait_seen(self) -> Daemon:
        """Until every recording was seen."""
        wait_until(lambda: (status := self.status) and all(one.state == "seen" for one in status.streams), 120.0)
        return self

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(60.0)  # one that hangs, however busy the machine


Start = Callable[..., Daemon]
SIGNS = ("EXIT C", "ROOM 214", "BAKERY OPEN", "PLATFORM 7", "NO ENTRY")


def remember_signs(directory: Path) -> None:
    """A memory in which a sign was read every minute."""
    with Store.open(directory) as store, store.transaction() as tx:
        for i, sign in enumerate(SIGNS):
            t_us, offset_us = T0_US + 60 * i * US, 60 * i * US
            moment_id = tx.add_moment(
                NewMoment(
                    stream="walk",
                    seq=i,
                    t_us=t_us,
                    offset_us=offset_us,
                    width_px=1,
                    height_px=1,
                    sharpness=1.0,
                    jpeg=b"jpeg",
                    vectors={},
                    observations=(Observation(kind="text", name=sign, score=0.9),),
                )
            )
            span = {"t0_us": t_us, "t1_us": t_us, "offset_us": offset_us, "known_us": t_us}
            tx.add_document(NewDocument(kind="text", text=sign, stream="walk", origin="ocr", moment_id=moment_id, **span))


@contextmanager
def network_camera() -> Iterator[tuple[str, threading.Event]]:
    """(URL, event) of a camera that sends ten pictures a second (motion JPEG) to each caller while the event is set."""
    there = threading.Event()
    pictures = [encode_jpeg(frame.image, 90) for frame in SyntheticCamera(20.0).frames()]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if not there.is_set():
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", "multipart/x-mixed-replace;boundary=frame")
            self.end_headers()
            with contextlib.suppress(OSError):
                for jpeg in itertools.takewhile(lambda _: there.is_set(), itertools.cycle(pictures)):
                    self.wfile.write(b"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n%s\r\n" % (len(jpeg), jpeg))
                    time.sleep(0.1)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://user:secret@127.0.0.1:{server.server_port}/cam", there
    finally:
        there.clear()
        server.shutdown()
        server.server_close()
        thread.join()
