"""The daemon ends soon, whatever its cameras do at that moment, and keeps what it saw; a stream that hangs is not reported as alive."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from daemons import Start, wait_until

from edgemem.extend.testing import SyntheticCamera
from edgemem.remember.check import check_memory
from edgemem.remember.view import View
from edgemem.see.pixels import encode_jpeg

Pictures = Callable[..., Path]
SOON_S = 5.0
"""More than the 2 s that the daemon needs, so that a busy machine does not fail the test; a time-out of a camera takes 10 s."""


@contextmanager
def camera_that_stalls(pictures: int) -> Iterator[str]:
    """URL of a camera that sends so many pictures to each caller, ten a second, and then keeps the line open without a word."""
    frames = [encode_jpeg(frame.image, 90) for frame in SyntheticCamera(float(max(pictures, 1))).frames()][:pictures]
    over = threading.Event()

    def answer(caller: socket.socket) -> None:
        with contextlib.suppress(OSError), caller:
            caller.recv(4096)
            if frames:
                caller.sendall(b"HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace;boundary=frame\r\n\r\n")
            for jpeg in frames:
                caller.sendall(b"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n%s\r\n" % (len(jpeg), jpeg))
                time.sleep(0.1)
            over.wait(60.0)

    def serve(server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, args=(server,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/cam"
        finally:
            over.set()
            server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("pictures", [0, 30], ids=["while it is opened", "while it is awaited"])
def test_a_camera_that_hangs_does_not_hold_up_a_stop(start: Start, pictures: int) -> None:
    with camera_that_stalls(pictures) as url:
        daemon = start({"yard": url}).wait_ready()
        if pictures:
            wait_until(lambda: daemon.status.streams[0].frames >= 8)
            time.sleep(0.5)
        else:
            time.sleep(1.0)
        began = time.monotonic()
        assert daemon.stop() == 0
        assert time.monotonic() - began < SOON_S
    with View.open(daemon.memory) as view:
        assert len(view.moments()) >= min(pictures, 8)
    assert check_memory(daemon.memory) == []


def test_a_stop_in_the_middle_of_a_recording_loses_no_frame_that_was_seen(start: Start, pictures: Pictures) -> None:
    folder = pictures("walk", 40.0)
    seen = 0
    for _ in range(4):
        daemon = start({"walk": folder}).wait_ready()
        wait_until(lambda daemon=daemon: (status := daemon.status) and (status.streams[0].frames > 5 or status.streams[0].state == "seen"))
        frames = daemon.status.streams[0].frames
        began = time.monotonic()
        assert daemon.stop() == 0
        assert time.monotonic() - began < SOON_S
        with View.open(daemon.memory) as view:
            kept = len(view.moments())
        assert kept >= seen + frames or kept == 200
        seen = kept


def test_a_stream_that_hangs_is_not_reported_as_alive(start: Start, tmp_path: Path) -> None:
    """The service manager then restarts the daemon. A camera that is known to be lost is no reason for that."""
    with camera_that_stalls(12) as url, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(20.0)
        daemon = start({"yard": url}, NOTIFY_SOCKET=str(tmp_path / "notify"), WATCHDOG_USEC="6000000")
        alive: list[float] = []
        until, silence = time.monotonic() + 60.0, 0.0
        while silence <= 4.0 and time.monotonic() < until:
            if manager.recv(1000).startswith(b"WATCHDOG=1"):
                alive.append(time.monotonic())
                silence = max((later - earlier for earlier, later in pairwise(alive)), default=0.0)
        assert daemon.process.poll() is None
    assert silence > 4.0, "the camera hangs for 10 s, of which the first 3 are not known yet"
