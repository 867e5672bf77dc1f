"""Frames of good and damaged video files."""

from __future__ import annotations

import os
import struct

import av
import av.logging
import numpy as np
import pytest
from films import encode, scene, scenes

from edgemem.errors import SourceError
from edgemem.extend.sources import open_source
from edgemem.records import US
from edgemem.see.sources.reference_frames import reference_frames
from edgemem.see.sources.video import VideoFile, threads


def offsets(path, rate_fps=1.0, **options):
    return [frame.offset_us / US for frame in open_source(str(path), rate_fps=rate_fps, **options).frames()]


def which(image):
    """The kind of scene that a frame shows."""
    return min(range(12), key=lambda kind: np.abs(image.astype(int) - scene(kind)).mean())


@pytest.mark.parametrize("gop", [1, 7, 10, 20, 250])
def test_one_frame_a_second_whatever_the_spacing_of_key_frames(tmp_path, gop):
    found = offsets(encode(tmp_path / "a.mp4", scenes(6, 1.0), gop=gop))
    assert len(found) == 6
    assert all(abs(offset - second) <= 0.5 for second, offset in enumerate(found))


def test_every_frame_shows_what_was_there_at_its_time(tmp_path):
    path = encode(tmp_path / "a.mp4", scenes(6, 1.0), gop=250, bf="2")
    for frame in open_source(str(path), rate_fps=5).frames():
        assert which(frame.image) == frame.offset_us // US


def test_a_rate_above_the_files_gives_every_frame_once(tmp_path):
    path = encode(tmp_path / "a.mp4", scenes(1, 3.0), gop=12)
    assert offsets(path, 1000) == [i / 10 for i in range(30)]


def test_variable_frame_rate_keeps_true_times_and_invents_nothing(tmp_path):
    times = [0, 0.1, 0.2, 5.0, 5.1, 9.3]
    path = encode(tmp_path / "a.mp4", [scene(i) for i in range(6)], times=times, gop=250)
    assert offsets(path) == [0, 5.0, 9.3]


def test_times_count_from_start_when_it_is_given(tmp_path):
    path = encode(tmp_path / "film.mp4", scenes(2, 1.0))
    frames = list(open_source(str(path), rate_fps=1, start_us=5 * US).frames())
    assert [(f.stream, f.t_us) for f in frames] == [("film", 5 * US), ("film", 6 * US)]


def test_a_killed_run_can_go_on_behind_any_frame(tmp_path):
    path = encode(tmp_path / "a.mp4", scenes(12, 1.0), gop=25, bf="2")
    whole = [(f.seq, f.offset_us) for f in open_source(str(path), rate_fps=2).frames()]
    for seq, offset_us in whole[::5]:
        rest = open_source(str(path), rate_fps=2)
        rest.skip_to(offset_us)
        assert [(f.seq, f.offset_us) for f in rest.frames()] == whole[seq + 1 :]


def test_a_phone_held_upright_gives_upright_pictures(tmp_path):
    path = encode(tmp_path / "a.mp4", [scene(3)] * 10)
    upright = next(open_source(str(path), rate_fps=1).frames()).image
    data = bytearray(path.read_bytes())
    at = data.index(b"tkhd") + 4 + 40  # version and flags, times, id, duration, layer ... then the matrix (ISO 14496-12, 8.3.2)
    data[at : at + 36] = struct.pack(">9i", 0, 0x10000, 0, -0x10000, 0, 0, 180 << 16, 0, 0x40000000)
    path.write_bytes(data)
    turned = next(open_source(str(path), rate_fps=1).frames()).image
    assert turned.shape == (320, 180, 3)
    assert np.abs(turned.astype(int) - np.rot90(upright, -1)).mean() < 3


def test_large_pictures_are_shrunk_and_none_is_enlarged(tmp_path):
    path = encode(tmp_path / "a.mp4", [scene(1, 640, 360)] * 3)
    assert next(open_source(str(path), rate_fps=1, side_px=160).frames()).image.shape == (90, 160, 3)
    assert next(open_source(str(path), rate_fps=1).frames()).image.shape == (360, 640, 3)


@pytest.mark.parametrize(
    ("side", "cores", "expected"),
    [((3840, 2160), 12, 1), ((1920, 1080), 12, 2), ((1280, 720), 12, 4), ((320, 240), 12, 12), ((0, 0), 2, 2)],
)
def test_fewer_threads_decode_larger_frames_for_each_holds_frames(side, cores, expected):
    assert threads(side[0] * side[1], cores) == expected


def test_a_film_is_decoded_by_that_many_threads(tmp_path):
    path = encode(tmp_path / "a.mp4", [scene(1, 1920, 1080)] * 2)
    assert VideoFile(str(path), rate_fps=1, stream="a")._video.thread_count == threads(1920 * 1080, os.cpu_count() or 1)


@pytest.mark.parametrize(("codec", "kept"), [("libx264", 3), ("libx264", 16), ("libx265", 5), ("mjpeg", None), ("mpeg4", None)])
def test_headers_say_how_many_pictures_a_decoder_keeps(tmp_path, codec, kept):
    more = {"libx264": {"x264-params": f"ref={kept}"}, "libx265": {"x265-params": f"log-level=none:ref={kept}:bframes=0"}}
    path = encode(tmp_path / "a.mkv", [scene(1)] * 3, codec=codec, **more.get(codec, {}))
    with av.open(str(path)) as container:
        found = reference_frames(container.streams.video[0])
    assert found == (kept or 8)
    assert av.logging.get_level() is None


@pytest.mark.parametrize(
    ("pixels", "bytes_each"), [("yuv420p", 320 * 180 * 3 // 2), ("yuv420p10le", 320 * 180 * 3), ("yuv444p", 320 * 180 * 3)]
)
def test_where_the_decoder_would_keep_too_much_only_key_frames_are_decoded_and_that_is_said(tmp_path, monkeypatch, pixels, bytes_each):
    path = encode(tmp_path / "a.mp4", scenes(4, 1.0), gop=10, pixels=pixels, **{"x264-params": "ref=3"})
    monkeypatch.setattr("edgemem.see.sources.video._REFERENCE_BYTES", 3 * bytes_each)
    assert len(offsets(path, 5)) == 20
    monkeypatch.setattr("edgemem.see.sources.video._REFERENCE_BYTES", 3 * bytes_each - 1)
    source = open_source(str(path), rate_fps=5)
    assert [frame.offset_us / US for frame in source.frames()] == [0, 1, 2, 3]
    assert source.dropped == {"too large": 16}


def test_a_film_is_refused_whose_key_frames_alone_need_too_much(tmp_path, monkeypatch):
    x265 = {"codec": "libx265", "x265-params": "log-level=none:ref=3:bframes=0"}
    path = encode(tmp_path / "a.mkv", scenes(2, 1.0), gop=10, **x265)
    kept = 3 * 320 * 180 * 3 // 2
    monkeypatch.setattr("edgemem.see.sources.video._REFERENCE_BYTES", 0)
    monkeypatch.setattr("edgemem.see.sources.video._MOST_REFERENCE_BYTES", kept)
    assert [which(frame.image) for frame in open_source(str(path), rate_fps=1).frames()] == [0, 1]
    monkeypatch.setattr("edgemem.see.sources.video._MOST_REFERENCE_BYTES", kept - 1)
    with pytest.raises(SourceError, match=r"keep 3 pictures of 320 x 180 for reference, 0 MB; at most 0 MB are taken: encode it anew"):
        open_source(str(path), rate_fps=1)
    other = encode(tmp_path / "b.mkv", scenes(2, 1.0), gop=10, **{"x264-params": "ref=16"})
    assert len(offsets(other)) == 2


def test_a_film_that_disappears_while_it_is_read_loses_pictures_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("edgemem.see.sources.video._REFERENCE_BYTES", 0)
    path = encode(tmp_path / "a.mkv", scenes(3, 1.0), gop=10)
    source = open_source(str(path), rate_fps=1)
    frames = source.frames()
    assert which(next(frames).image) == 0
    path.unlink()
    assert list(frames) == []
    assert source.dropped == {"corrupt": 2}


@pytest.mark.parametrize("content", [b"", b"not a video at all\n" * 50, bytes(5000)])
def test_a_file_that_is_no_video_is_refused_in_one_line(tmp_path, content):
    path = tmp_path / "a.mp4"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=r"a\.mp4: not a video that can be read") as refused:
        open_source(str(path), rate_fps=1)
    assert "\n" not in str(refused.value)


def test_a_cut_off_file_gives_what_is_left_and_says_so(tmp_path):
    path = encode(tmp_path / "a.mkv", scenes(10, 2.0), gop=10)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * 0.6)])
    source = open_source(str(path), rate_fps=1)
    assert 8 <= len(list(source.frames())) <= 14
    if source.duration_us and source.duration_us > 15 * US:  # the header may tell how long it was
        assert source.dropped["truncated"] >= 5


def test_a_half_destroyed_file_gives_the_good_parts_and_counts_the_bad(tmp_path):
    path = encode(tmp_path / "a.mp4", scenes(12, 1.0), gop=10)
    data = bytearray(path.read_bytes())
    media = data.index(b"mdat") + 4
    third = (len(data) - media) // 3
    data[media + third : media + 2 * third] = np.random.default_rng(0).bytes(third)
    path.write_bytes(data)
    source = open_source(str(path), rate_fps=1)
    seen = {round(frame.offset_us / US): which(frame.image) for frame in source.frames()}
    assert source.dropped["corrupt"] > 0
    assert all(seen[second] == second for second in (0, 1, 2, 10, 11))


def test_a_file_without_a_single_good_frame_is_refused(tmp_path):
    path = encode(tmp_path / "a.mp4", scenes(2, 1.0))
    data = bytearray(path.read_bytes())
    media = data.index(b"mdat") + 4
    end = data.index(b"moov") - 4
    data[media:end] = bytes(end - media)
    path.write_bytes(data)
    with pytest.raises(SourceError, match="no picture could be decoded"):
        list(open_source(str(path), rate_fps=1).frames())


def test_a_missing_file_says_what_could_be_given():
    with pytest.raises(SourceError, match="no such file or folder; give a video"):
        open_source("/nowhere/a.mp4", rate_fps=1)


def test_other_containers_and_codecs(tmp_path):
    for name, codec in (("a.avi", "mjpeg"), ("b.mkv", "mpeg4"), ("c.ts", "libx264")):
        found = offsets(encode(tmp_path / name, scenes(4, 1.0), codec=codec))
        assert len(found) in {4, 5}, name
        assert found[0] <= 0.1
