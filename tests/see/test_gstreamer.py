"""GStreamer pipelines as cameras, with the real program where it is installed."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from edgemem.boards import board_files
from edgemem.config import load
from edgemem.errors import SourceError
from edgemem.extend.sources import open_source
from edgemem.secret import reveal
from edgemem.see.sources import gstreamer
from edgemem.see.sources.camera import Camera

needed = pytest.mark.skipif(shutil.which("gst-launch-1.0") is None, reason="gst-launch-1.0 is not installed")


def pattern(kind: str, width: int, height: int, count: int = 5) -> str:
    return f"gstreamer:videotestsrc pattern={kind} num-buffers={count} ! video/x-raw,width={width},height={height}"


@needed
@pytest.mark.parametrize(("width", "height"), [(320, 240), (322, 242), (324, 241), (323, 243)])
def test_pictures_have_their_colours_at_any_size(width: int, height: int) -> None:
    """The pattern "red": no colour of a neighbouring row or plane gets in."""
    capture = gstreamer.Pipeline(pattern("red", width, height))
    assert capture.grab()
    picture = capture.picture(1920)
    assert picture is not None
    assert picture.shape == (height - height % 2, width - width % 2, 3)
    blue, green, red = (int(part) for part in picture.reshape(-1, 3).mean(axis=0))
    assert red > 230
    assert max(blue, green) < 25
    assert picture.reshape(-1, 3).std(axis=0).max() < 2
    capture.close()


@needed
def test_positions_are_right_in_padded_rows() -> None:
    """The pattern "smpte" has seven bars of one colour each, from top to two thirds: a wrong row length would make them slant."""
    capture = gstreamer.Pipeline(pattern("smpte", 322, 242))
    assert capture.grab()
    picture = capture.picture(1920)
    assert picture is not None
    assert np.abs(picture[10].astype(int) - picture[120].astype(int)).max() <= 3
    capture.close()


@needed
def test_it_ends_with_its_pipeline_and_pictures_are_shrunk() -> None:
    capture = gstreamer.Pipeline(pattern("ball", 640, 480, 3))
    grabbed = [capture.grab() for _ in range(4)]
    assert grabbed[0]
    assert not grabbed[-1]
    picture = capture.picture(160)
    assert picture is not None
    assert picture.shape == (120, 160, 3)
    capture.close()


@needed
def test_it_is_a_live_source_that_closes_from_another_thread() -> None:
    spec = "gstreamer:videotestsrc is-live=true ! video/x-raw,width=320,height=240,framerate=30/1"
    source = Camera(spec, rate_fps=10.0, stream="camera")
    assert (source.name, source.live, source.has_sound) == ("camera", True, False)
    threading.Timer(2.0, source.close).start()
    frames = list(source.frames())
    assert 3 <= len(frames) <= 21
    assert frames[0].image.shape == (240, 320, 3)
    assert source._capture is None


@needed
@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("gstreamer:nosuchelement", "nosuchelement"),
        ("gstreamer:filesrc location=/nothing/here", "filesrc|does not exist|No such file|could not"),
        ("gstreamer:videotestsrc 'unclosed", "not a pipeline"),
        ("gstreamer:", "syntax|empty|cannot be opened"),
    ],
)
def test_what_does_not_start_says_why_in_one_line(spec: str, why: str) -> None:
    with pytest.raises(SourceError, match=why) as caught:
        open_source(spec, rate_fps=1.0)
    assert "\n" not in str(caught.value)


def program(folder: Path, body: str) -> None:
    """Stands in for the program: a shell script."""
    (folder / "gst-launch-1.0").write_text(f"#!/bin/sh\n{body}\n")
    (folder / "gst-launch-1.0").chmod(0o700)


def test_without_the_program_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceError, match=r"gst-launch-1\.0 is not installed; run: apt install"):
        gstreamer.Pipeline("gstreamer:videotestsrc")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("echo 'WARNING: no camera 7' >&2", r"cannot be opened \(WARNING: no camera 7\)"),
        ("echo 'YUV4MPEG2 W100000 H100000 F30:1'", "cannot be opened"),
        ("echo 'YUV4MPEG2 W0 H240 F30:1'", "it sends no pictures"),
        ("exec sleep 60", "it sends no pictures"),
        ("yes x | head -c 5000 | tr -d '\\n'", "it sends no pictures"),
    ],
)
def test_a_program_without_pictures_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, why: str) -> None:
    program(tmp_path, body)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(gstreamer, "_TIMEOUT_S", 0.5)
    with pytest.raises(SourceError, match=why):
        gstreamer.Pipeline("gstreamer:x")


def test_a_pipeline_that_stalls_or_breaks_off_counts_as_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One picture of 4 x 2 pixels, whose planes have 8, 4 and 4 bytes, then half of one."""
    program(tmp_path, "printf 'YUV4MPEG2 C420 W4 H2 F30:1\\nFRAME\\n123456781212AAAAFRAME\\n1234'; exec sleep 60")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(gstreamer, "_TIMEOUT_S", 0.5)
    capture = gstreamer.Pipeline("gstreamer:x")
    assert (capture.grab(), capture._picture) == (True, b"123456781212AAAA")
    assert [capture.grab(), capture.grab()] == [False, False]
    capture.close()
    assert capture._process.returncode is not None


def test_a_camera_tries_a_lost_pipeline_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "printf 'YUV4MPEG2 C420 W4 H2 F30:1\\nFRAME\\n123456781212AAAA'")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    camera = Camera("gstreamer:x", rate_fps=1000.0, stream="door", patience_s=None)
    frames = camera.frames()
    offsets = [next(frames).offset_us for _ in range(2)]
    camera.close()
    assert list(frames) == []
    assert offsets[1] - offsets[0] >= 400_000, "it waits before it tries again"


def test_the_cameras_of_every_board_have_a_source() -> None:
    from edgemem.extend.plugins import Plugins
    from edgemem.extend.sources import source_for

    for board in board_files():
        for name, spec in load(None, [f"board={board}"]).hardware.cameras.items():
            wanted = "pipeline" if name == "csi" else "network" if name == "glasses" else "camera"
            assert source_for(reveal(spec), Plugins.builtin()) == wanted, (board, name)


def test_a_program_that_hangs_and_does_not_end_when_asked_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "gst-launch-1.0"
    program.write_text("#!/bin/sh\ntrap '' TERM INT\necho 'the driver hangs' >&2\nwhile :; do sleep 1; done\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(gstreamer, "_TIMEOUT_S", 0.5)
    said: list[str] = []

    def begin() -> None:
        with pytest.raises(SourceError) as refused:
            gstreamer.Pipeline("gstreamer:nvarguscamerasrc")
        said.append(str(refused.value))

    opening = threading.Thread(target=begin, daemon=True)
    opening.start()
    opening.join(30.0)
    assert [line.endswith("cannot be opened (the driver hangs)") for line in said] == [True]
