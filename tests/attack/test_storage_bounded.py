"""Whatever is given as a source, a picture, a recipe or settings: its kind and size are known first, and no stage grows without bound."""

from __future__ import annotations

import ctypes
import io
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import time
import wave
import zlib
from contextlib import contextmanager
from fractions import Fraction
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import av
import numpy as np
import pytest
import simplejpeg
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from edgemem import files, toml
from edgemem.config import load
from edgemem.errors import EdgememError, EngineError, MemoryKeyError, SourceError, UsageError
from edgemem.extend.sources import open_source
from edgemem.hear import subtitles
from edgemem.infer.roles import Space
from edgemem.records import MOST_PIXELS
from edgemem.remember.disk import keys
from edgemem.remember.store import Store
from edgemem.secret import reveal
from edgemem.see import pixels
from edgemem.see.sources import container, pictures, video
from edgemem.see.sources.container import MOST_BLOCK_BYTES, open_container
from edgemem.see.sources.sound import SoundTrack
from edgemem.see.sources.video import VideoFile
from edgemem.toml import read_toml

PATHS = os.pathsep.join(filter(None, sys.path))
PEAK_KIB = "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
"""Prints the most memory of a process, in KiB. `getrusage` would count what its parent held when it started the process."""
RECIPE = """
name = "plain"
rate_fps = 2.0
embed_text = false
[retain]
use = "age_tiers"
"""


@contextmanager
def at_most(seconds):
    """The block ends within so many seconds; else the test fails instead of waiting for ever."""

    def late(_number, _frame):
        raise AssertionError(f"it did not end within {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def odd(folder, kind):
    """Something that is no regular file."""
    path = folder / f"odd-{kind}.png"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
    else:
        path.symlink_to({"zero": "/dev/zero", "random": "/dev/urandom", "terminal": "/dev/tty"}[kind])
    return path


KINDS = ("fifo", "directory", "socket", "zero", "random", "terminal")
READERS = {
    "settings": load,
    "recipe": read_toml,
    "subtitles": subtitles.read,
    "source": lambda path: list(open_source(str(path), rate_fps=1).frames()),
    "video": lambda path: VideoFile(str(path), rate_fps=1, stream="s"),
    "address": lambda path: open_container(f"file://{path}"),
    "sound": lambda path: SoundTrack(str(path)),
    "whole file": lambda path: files.read_file(path, 100),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reader", sorted(READERS))
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path, kind, reader):
    if reader == "source" and kind == "directory":
        return  # a folder of pictures
    with at_most(10), pytest.raises((EdgememError, OSError)) as refused:
        READERS[reader](odd(tmp_path, kind))
    if kind != "terminal":
        assert {"fifo": "named pipe", "socket": "socket", "directory": "directory"}.get(kind, "device") in str(refused.value)


def test_a_folder_of_pictures_takes_files_only(tmp_path):
    for kind in KINDS:
        odd(tmp_path, kind)
    Image.new("RGB", (8, 8)).save(tmp_path / "one.png")
    with at_most(10):
        assert len(list(open_source(str(tmp_path), rate_fps=1).frames())) == 1


@pytest.mark.parametrize("reader", ["settings", "recipe", "subtitles", "whole file"])
def test_a_huge_file_is_refused_by_its_size(tmp_path, reader):
    path = tmp_path / "huge.srt"
    with path.open("wb") as file:
        file.truncate(300 << 30)
    with at_most(10), pytest.raises((EdgememError, OSError), match="more than"):
        READERS[reader](path)


@given(size=st.integers(0, 64), most=st.integers(0, 64))
def test_a_file_is_read_up_to_its_limit(size, most):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(b"x" * size)
        if size <= most:
            assert files.read_file(path, most) == b"x" * size
        else:
            with pytest.raises(OSError, match="more than"):
                files.read_file(path, most)


def test_a_key_file_may_be_a_pipe_but_has_an_end(tmp_path):
    with pytest.raises(MemoryKeyError, match="4096 bytes"):
        keys.read("/dev/zero")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = subprocess.Popen([sys.executable, "-c", "import sys; open(sys.argv[1], 'w').write('5' * 64)", str(pipe)])
    try:
        assert reveal(keys.read(pipe).secret) == "5" * 64
    finally:
        writer.wait()


# Pictures


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress(bytes(1 << 16))
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", rows)
        + chunk(b"IEND", b"")
    )


def jpeg(width, height, *, progressive=False):
    buffer = io.BytesIO()
    Image.new("RGB", (16, 16)).save(buffer, "JPEG", progressive=progressive)
    data = bytearray(buffer.getvalue())
    at = data.index(b"\xff\xc2" if progressive else b"\xff\xc0")
    struct.pack_into(">HH", data, at + 5, height, width)
    return bytes(data)


def of_format(name, width, height):
    """A small picture whose header says that it is large."""
    if name == "PNG":
        return png(width, height)
    buffer = io.BytesIO()
    Image.new("RGB", (16, 16)).save(buffer, name, **({"lossless": True} if name == "WEBP" else {}))
    data = bytearray(buffer.getvalue())
    if name == "BMP":
        struct.pack_into("<ii", data, 18, width, height)
    elif name == "WEBP":
        struct.pack_into("<I", data, 21, (min(width, 16384) - 1) | (min(height, 16384) - 1) << 14 | data[24] >> 4 << 28)
    else:
        for tag, value in ((256, width), (257, height)):
            at = data.index(struct.pack("<HH", tag, 4) if struct.pack("<HH", tag, 4) in data else struct.pack("<HH", tag, 3))
            struct.pack_into("<HHII", data, at, tag, 4, 1, value)
    return bytes(data)


@settings(max_examples=60)
@given(name=st.sampled_from(["PNG", "BMP", "WEBP", "TIFF"]), width=st.integers(6400, 65000), height=st.integers(6400, 65000))
def test_a_picture_that_opens_to_more_than_fits_is_refused_by_its_header(name, width, height):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with at_most(5), pytest.raises(SourceError):
        pixels.decode(of_format(name, width, height), 1920)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60 << 10


def test_the_limit_is_where_it_says():
    with pytest.raises(pixels.TooManyPixelsError, match="8000 x 5001 pixels, more than the 40 megapixels"):
        pixels.decode(png(8000, 5001), 1920)
    with pytest.raises(pixels.TooManyPixelsError):
        pixels.decode(jpeg(8000, 5001, progressive=True), 1920)
    with pytest.raises(pixels.TooManyPixelsError):
        pixels.decode(jpeg(8000, 5001))
    with pytest.raises(pixels.TooManyPixelsError, match="640 megapixels"):
        pixels.decode(jpeg(65000, 65000, progressive=False), 10_000)
    assert MOST_PIXELS == 8000 * 5000


def test_a_large_baseline_jpeg_is_made_smaller_by_the_decoder():
    data = simplejpeg.encode_jpeg(np.zeros((6000, 9000, 3), np.uint8), 50, "BGR")
    assert pixels.decode(data, 1920).shape == (1280, 1920, 3)


def test_a_bomb_among_pictures_is_left_out_and_said(tmp_path):
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    (tmp_path / "b.png").write_bytes(png(30_000, 30_000))
    (tmp_path / "c.png").write_bytes(b"garbage")
    source = open_source(str(tmp_path), rate_fps=1)
    assert len(list(source.frames())) == 1
    assert source.dropped == {"too large": 1, "unreadable": 1}
    with pytest.raises(SourceError, match=r"it cannot be read: .*( 40 megapixels|not decoded)"):
        list(open_source(str(tmp_path / "b.png"), rate_fps=1).frames())


def test_a_folder_has_a_limit_that_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "MOST_PICTURES", 3)
    for number in range(4):
        (tmp_path / f"{number}.png").write_bytes(b"")
    with pytest.raises(SourceError, match="more than 3 pictures"):
        open_source(str(tmp_path), rate_fps=1)


# Films


def film(path, times_ms, *, side=64, sound=(), rate=16_000):
    """A film with a frame at each of these times, every fourth a key frame, and sound that begins at others."""
    with av.open(str(path), "w") as out:
        stream = out.add_stream("mpeg4", rate=25)
        stream.width, stream.height, stream.pix_fmt, stream.gop_size = side, side, "yuv420p", 4
        voice = out.add_stream("pcm_s16le", rate=rate, layout="mono") if sound else None
        images = (np.full((side, side, 3), number * 40 % 256, np.uint8) for number in range(len(times_ms)))
        frames = chain((av.VideoFrame.from_ndarray(image, format="bgr24") for image in images), [None])
        packets = [packet for frame in frames for packet in stream.encode(frame)]
        for packet, time_ms in zip(packets, times_ms, strict=True):  # an encoder would refuse such times
            packet.time_base, packet.pts, packet.dts = Fraction(1, 1000), time_ms, time_ms
            out.mux(packet)
        for time_ms in sound:
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 1600), np.int16), format="s16", layout="mono")
            frame.sample_rate, frame.pts, frame.time_base = rate, time_ms * rate // 1000, Fraction(1, rate)
            for packet in voice.encode(frame):
                out.mux(packet)
    return path


YEAR_MS = 31_557_600_000


@settings(max_examples=40)
@given(gap_ms=st.integers(1, 90 * YEAR_MS), before=st.integers(1, 9), after=st.integers(1, 9), rate_fps=st.sampled_from([0.5, 1, 5, 25]))
def test_a_gap_in_the_stamps_costs_nothing(gap_ms, before, after, rate_fps):
    times = [*range(0, before * 200, 200), *range(before * 200 + gap_ms, before * 200 + gap_ms + after * 200, 200)]
    with TemporaryDirectory() as folder:
        path = film(Path(folder) / "gap.mkv", times)
        with at_most(20):
            offsets = [frame.offset_us for frame in VideoFile(str(path), rate_fps=rate_fps, stream="s").frames()]
    assert offsets == sorted(offsets)
    assert offsets[0] == 0
    assert gap_ms < 2 * 1000 / rate_fps or any(offset >= (before * 200 + gap_ms) * 1000 for offset in offsets)


def test_a_stamp_of_another_century_is_no_time(tmp_path):
    path = film(tmp_path / "far.mkv", [0, 200, 400, 600, 150 * YEAR_MS, 150 * YEAR_MS + 200])
    source = VideoFile(str(path), rate_fps=5, stream="s")
    assert [frame.offset_us for frame in source.frames()] == [0, 200_000, 400_000, 600_000]
    assert source.dropped["corrupt"] >= 2


def test_a_group_of_packets_is_bounded_by_its_bytes(tmp_path, monkeypatch):
    path = film(tmp_path / "long.mkv", range(0, 4000, 100), side=256)
    whole = [frame.offset_us for frame in VideoFile(str(path), rate_fps=10, stream="s").frames()]
    monkeypatch.setattr(video, "_GROUP_BYTES", 500)
    source = VideoFile(str(path), rate_fps=10, stream="s")
    assert max(len(group.packets) for group in source._groups()) <= 3
    assert [frame.offset_us for frame in VideoFile(str(path), rate_fps=10, stream="s").frames()] == whole


def test_a_film_with_too_large_pictures_is_refused(tmp_path, monkeypatch):
    path = film(tmp_path / "large.mkv", [0, 200], side=256)
    monkeypatch.setattr(video, "MOST_PIXELS", 256 * 256 - 1)
    with pytest.raises(SourceError, match="256 x 256 pixels"):
        VideoFile(str(path), rate_fps=1, stream="s")


def test_the_decoder_refuses_what_the_container_did_not_tell(tmp_path, monkeypatch):
    """FFmpeg looks at the size of every frame: one may grow in the middle of a film."""
    path = film(tmp_path / "large.mkv", [0, 200], side=256)
    monkeypatch.setattr(container, "MOST_PIXELS", 256 * 256 - 1)
    with open_container(str(path)) as opened:
        opened.streams.video[0].codec_context.options = {"max_pixels": str(256 * 256 - 1)}
        with pytest.raises(av.error.FFmpegError):
            list(opened.decode(video=0))


def test_no_block_of_memory_is_without_bound(tmp_path):
    film(tmp_path / "some.mkv", [0, 200])
    open_container(str(tmp_path / "some.mkv")).close()
    lines = Path("/proc/self/maps").read_text().splitlines()
    libraries = {line.split(maxsplit=5)[5] for line in lines if "/libavutil" in line}
    assert any("av.libs" in name or "opencv" not in name for name in libraries)
    for library in map(ctypes.CDLL, libraries):
        library.av_malloc.restype = ctypes.c_void_p
        assert library.av_malloc(ctypes.c_size_t(MOST_BLOCK_BYTES + 1)) is None
        small = library.av_malloc(ctypes.c_size_t(1000))
        assert small is not None
        library.av_free(ctypes.c_void_p(small))


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".avi", ".ts", ".mpg", ".webm", ".wav", ".mp3", ".flac", ".ogg", ".aac", ".xyz"])
@pytest.mark.parametrize("content", ["zeros", "noise", "its own sign and zeros"])
def test_a_recording_without_an_end_is_given_up(tmp_path, suffix, content):
    """Megabytes without a picture: the reader gives up, and takes little memory to do so."""
    path = tmp_path / f"endless{suffix}"
    signs = {".mp4": b"\0\0\0\x18ftypisom" + bytes(12) + b"\xff\xff\xff\xffmoov", ".mkv": bytes.fromhex("1a45dfa3 01ffffffffffffff"),
             ".avi": b"RIFF\xff\xff\xff\xffAVI LIST\xff\xff\xff\xffhdrl", ".wav": b"RIFF\xff\xff\xff\xffWAVEfmt \xff\xff\xff\x7f",
             ".flac": b"fLaC\x7f\xff\xff\xff", ".ogg": b"OggS" + bytes(22) + b"\xff" * 256}  # fmt: skip
    with path.open("wb") as file:
        if content == "noise":
            file.write(np.random.default_rng(0).bytes(1 << 20))
        elif content != "zeros":
            file.write(signs.get(suffix, b"\x47\x40"))
        file.truncate(256 << 20)
    code = (
        "import sys, time\nfrom edgemem.errors import EdgememError\nfrom edgemem.extend.sources import open_source\n"
        "try:\n    source = open_source(sys.argv[1], rate_fps=1)\n    frames = source.frames()\n"
        "    began = time.monotonic()\n    while next(frames, None) is not None and time.monotonic() - began < 2:\n        pass\n"
        "except EdgememError as error:\n    print(error)\n"
        f"{PEAK_KIB}"
    )
    command = [sys.executable, "-c", code, str(path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment(), check=False)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout.splitlines()[-1]) < 700 << 10


def environment():
    return {**os.environ, "PYTHONPATH": PATHS}


def test_a_list_of_other_addresses_is_not_followed(tmp_path):
    (tmp_path / "list.m3u8").write_text("#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\nhttp://127.0.0.1:9/one.ts\n#EXT-X-ENDLIST\n")
    with at_most(20), pytest.raises(SourceError):
        list(open_source(str(tmp_path / "list.m3u8"), rate_fps=1).frames())
    with pytest.raises(SourceError):
        open_source("concat:/etc/passwd|/etc/hostname", rate_fps=1)


def test_a_sample_rate_that_no_recording_has_is_refused(tmp_path):
    with wave.open(str(tmp_path / "slow.wav"), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(1)
        out.setframerate(1)
        out.writeframes(bytes(1 << 20))
    with at_most(10), pytest.raises(SourceError, match="1 samples a second"):
        list(open_source(str(tmp_path / "slow.wav"), rate_fps=1).sounds())


# Text


@pytest.mark.parametrize("letter", ["<", "{", "a", "A ", "-->", "&", "<v ", "\x00", "\t"])
def test_subtitles_of_one_long_line_are_read_in_no_time(tmp_path, letter):
    path = tmp_path / "long.srt"
    path.write_text("1\n00:00:01,000 --> 00:00:02,000\nhello\n\n2\n00:00:03,000 --> 00:00:04,000\n" + letter * ((7 << 20) // len(letter)))
    with at_most(10):
        cues, malformed = subtitles.read(path)
    assert [cue.text for cue in cues] == ["hello"]
    assert malformed <= 1


def test_subtitles_of_many_blocks_take_memory_in_proportion(tmp_path):
    path = tmp_path / "many.srt"
    path.write_text("1\n00:00:01,000 --> 00:00:02,000\nhello\n\n" + "x\n\n" * (2 << 20))
    code = f"from pathlib import Path\nfrom edgemem.hear import subtitles\nprint(len(subtitles.read(Path({str(path)!r}))[0]))\n{PEAK_KIB}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, env=environment(), check=True)
    cues, peak_kib = map(int, run.stdout.split())
    assert cues == 1
    assert peak_kib < 200 << 10


@given(text=st.text(alphabet="a<\n\r \t-:,0123>", max_size=300))
def test_blocks_are_what_stands_between_empty_lines(text):
    """As one regular expression over the whole text would find them."""
    import re

    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    wanted = ["\n".join(line for line in block.split("\n") if line.strip(" \t")) for block in re.split(r"\n[ \t]*(?=\n)", plain)]
    assert list(subtitles._blocks(text)) == [block for block in wanted if block]


def test_settings_and_recipes_have_a_limit_that_is_said(tmp_path):
    path = tmp_path / "large.toml"
    path.write_text("# " + "x" * toml.MOST_FILE_BYTES)
    with pytest.raises(UsageError, match=r"it has more than 1 MiB"):
        read_toml(path)


@pytest.mark.parametrize("dim", [0, -1, 16_385, 10**9, 2**40])
def test_a_space_of_vectors_has_a_possible_dimension(tmp_path, dim):
    with Store.open(tmp_path / "memory") as store, pytest.raises(EngineError, match="16384 are possible"):
        store.ensure_space(Space(name="huge", dim=dim))


# The whole way


def ingest(source, memory, folder, **more):
    (folder / "plain.toml").write_text(RECIPE)
    command = [
        sys.executable,
        "-c",
        f"import atexit\natexit.register(lambda: {PEAK_KIB})\nfrom edgemem.cli.main import main\nmain()",
        "ingest",
        str(source),
        "--memory",
        str(memory),
        "--recipe",
        str(folder / "plain.toml"),
    ]
    return subprocess.Popen(command, env={**environment(), "EDGEMEM_HOME": str(folder / "home")}, stderr=subprocess.PIPE, text=True, **more)


def test_a_film_with_a_gap_of_forty_years_is_remembered_in_little_memory(tmp_path):
    times = [*range(0, 4000, 200), *range(40 * YEAR_MS, 40 * YEAR_MS + 4000, 200)]
    process = ingest(film(tmp_path / "gap.mkv", times, sound=(0, 100, 200)), tmp_path / "memory", tmp_path, stdout=subprocess.PIPE)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert ": 16 frames seen" in out
    assert int(out.splitlines()[-1]) < 500 << 10
    with Store.open(tmp_path / "memory") as store, store.view() as view:
        first, last = view.bounds()
        assert last - first > 39 * YEAR_MS * 1000
        assert view.stats().moments < 40


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("kind", ["film", "gap", "pictures"])
def test_ingest_ends_within_two_seconds_of_sigterm(tmp_path, kind, seconds):
    if kind == "pictures":
        source = tmp_path / "pictures"
        source.mkdir()
        for number in range(400):
            Image.new("RGB", (1200, 900), (number % 256, 0, 0)).save(source / f"{number}.jpg")
    else:
        gap = 40 * YEAR_MS if kind == "gap" else 0
        source = film(tmp_path / "long.mkv", [*range(0, 60_000, 100), *range(60_000 + gap, 200_000 + gap, 100)], side=480)
    process = ingest(source, tmp_path / "memory", tmp_path, stdout=subprocess.DEVNULL)
    while not (tmp_path / "memory" / "lock").exists():
        time.sleep(0.02)
    time.sleep(seconds)
    asked = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=30)
    took = time.monotonic() - asked
    process.stderr.close()
    share = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))  # of a busy machine each process has only a part
    assert took < 2.0 * share


def test_a_run_that_is_stuck_in_one_call_ends_all_the_same():
    code = (
        "import ctypes, threading\nfrom edgemem.see.signals import stop_on_signals\n"
        "with stop_on_signals(lambda: None, 0.3):\n    print('ready', flush=True)\n"
        "    threading.Thread(target=lambda: None).start()\n    while True:\n        ctypes.CDLL(None).usleep(100_000)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], env=environment(), stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    asked = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == -signal.SIGTERM
    process.stdout.close()
    assert 0.2 < time.monotonic() - asked < 5


def test_a_run_that_ends_in_time_is_not_ended_twice():
    code = (
        "import time, threading\nfrom edgemem.see.signals import stop_on_signals\nstop = threading.Event()\n"
        "with stop_on_signals(stop.set, 0.3):\n    print('ready', flush=True)\n    stop.wait(20)\n"
        "time.sleep(0.8)\nprint('clean')\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], env=environment(), stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=20)[0] == "clean\n"
    assert process.returncode == 0
