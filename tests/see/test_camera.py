"""Live sources: a network camera that is lost and comes back, and clocks that jump."""

from __future__ import annotations

import contextlib
import itertools
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import av
import pytest
from films import encode, scenes
from recordings import beeps

from edgemem.clock import SteadyClock
from edgemem.errors import SourceError
from edgemem.extend.sources import open_source
from edgemem.records import US
from edgemem.see.sources import camera as cameras
from edgemem.see.sources import sound
from edgemem.see.sources.camera import Camera


@contextmanager
def network_camera(stream: bytes, sessions: int):
    """A camera on this machine that sends `stream` to each client, closes the connection, and is gone after `sessions` of them."""
    left = itertools.count(sessions, -1)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if next(left) <= 0:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", "video/mp2t")
            self.end_headers()
            self.wfile.write(stream)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://user:secret@127.0.0.1:{server.server_port}/cam"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def stream(tmp_path):
    return encode(tmp_path / "a.ts", scenes(3, 1.0)).read_bytes()


def test_a_camera_that_vanishes_is_called_again_and_given_up_with_one_clear_line(stream):
    with network_camera(stream, sessions=2) as url:
        camera = Camera(url, rate_fps=10_000, stream="door", patience_s=1.0)
        with pytest.raises(SourceError, match="gone for") as gone:
            list(camera.frames())
    assert "secret" not in str(gone.value)
    assert "\n" not in str(gone.value)
    assert "cannot be opened" in camera.blind


def test_frames_of_all_connections_are_one_stream_in_order(stream):
    frames, blind = [], []
    with network_camera(stream, sessions=2) as url:
        camera = Camera(url, rate_fps=10_000, stream="door", patience_s=1.0)
        assert camera.blind
        with contextlib.suppress(SourceError):
            for frame in camera.frames():
                frames.append(frame)
                blind.append(camera.blind)
    assert set(blind) == {""}
    assert len(frames) > 40
    assert [frame.seq for frame in frames] == list(range(len(frames)))
    assert all(a.t_us < b.t_us and a.offset_us < b.offset_us for a, b in itertools.pairwise(frames))
    assert all(frame.t_us - frame.offset_us - camera.t0_us < US for frame in frames)
    assert {frame.stream for frame in frames} == {"door"}


def test_closing_ends_the_frames_even_while_it_is_away(stream):
    with network_camera(stream, sessions=1) as url:
        camera = Camera(url, rate_fps=1, stream="door", patience_s=None)
        threading.Timer(1.0, camera.close).start()
        assert len(list(camera.frames())) <= 2


def test_a_camera_that_is_closed_while_its_sound_is_opened_is_not_listened_to(tmp_path, monkeypatch):
    opened = sound._open_live

    def closing_meanwhile(spec: str) -> object:
        camera.close()
        return opened(spec)

    monkeypatch.setattr(sound, "_open_live", closing_meanwhile)
    with network_camera(beeps(tmp_path / "a.ts", [1.0]).read_bytes(), sessions=2) as url:
        camera = Camera(url, rate_fps=1, stream="door")
        assert next(camera.sounds(), None) is None


def test_sound_that_cannot_be_opened_at_first_is_opened_later(tmp_path, monkeypatch):
    opened, tries = sound._open_live, []

    def busy_at_first(spec: str) -> object:
        tries.append(spec)
        if len(tries) < 3:
            raise av.error.ConnectionResetError(104, "Connection reset by peer")
        return opened(spec)

    monkeypatch.setattr(sound, "_open_live", busy_at_first)
    monkeypatch.setattr(cameras, "_FIRST_WAIT_S", 0.01)
    with network_camera(beeps(tmp_path / "a.ts", [1.0]).read_bytes(), sessions=2) as url:
        camera = Camera(url, rate_fps=1, stream="door")
        assert next(camera.sounds()).stream == "door"
        camera.close()
    assert len(tries) == 3


def test_a_camera_without_sound_is_asked_for_it_once(stream):
    with network_camera(stream, sessions=2) as url:
        camera = Camera(url, rate_fps=1, stream="door")
        with pytest.raises(SourceError, match="sends no sound"):
            next(camera.sounds())


@pytest.mark.parametrize("spec", ["rtsp://user:secret@127.0.0.1:9/cam", "http://127.0.0.1:9/cam", "/dev/video97"])
def test_a_camera_that_is_not_there_is_refused_at_once(spec):
    with pytest.raises(SourceError, match="cannot be opened") as refused:
        open_source(spec, rate_fps=1)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("spec", ["2147483648", "9" * 21, "9" * 5000])
def test_a_camera_s_number_of_any_length_is_refused_in_one_short_line(spec):
    with pytest.raises(SourceError, match="camera") as refused:
        open_source(spec, rate_fps=1)
    assert len(str(refused.value)) < 200


def test_a_stream_name_carries_no_password(stream):
    with network_camera(stream, sessions=1) as url:
        camera = open_source(url, rate_fps=1)
        assert camera.name == "127.0.0.1-cam"
        assert camera.live


class Clocks:
    """A wall clock and a monotonic one that a test sets."""

    def __init__(self):
        self.wall = self.mono = 0

    def tick(self, seconds=1.0):
        self.wall += round(seconds * US)
        self.mono += round(seconds * US)


def test_a_clock_set_forward_is_followed_and_one_set_back_is_not():
    clocks = Clocks()
    clocks.wall = 1_000 * US
    steady = SteadyClock(lambda: clocks.wall, lambda: clocks.mono)
    times = [steady.now()[0]]
    for jump_s in (0, 1_700_000_000, 0, -3_600, 0, -0.5, 0):
        clocks.tick()
        clocks.wall += round(jump_s * US)
        times.append(steady.now()[0])
    assert all(a < b for a, b in itertools.pairwise(times))
    assert times[2] - times[1] > 1_600_000_000 * US
    assert times[4] - times[3] == US


def test_times_grow_even_when_no_clock_does():
    steady = SteadyClock(lambda: 5, lambda: 5)
    assert [steady.now()[0] for _ in range(3)] == [5, 6, 7]
