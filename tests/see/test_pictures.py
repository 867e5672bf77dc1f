"""Folders of pictures and single ones."""

from __future__ import annotations

import struct

import cv2
import numpy as np
import pytest
from films import scene

from edgemem.clock import from_iso
from edgemem.errors import SourceError
from edgemem.extend.sources import open_source
from edgemem.records import US


def with_exif(jpeg: bytes, taken: str, orientation: int = 1, offset: str = "") -> bytes:
    """Put an EXIF block with DateTimeOriginal (and OffsetTimeOriginal) into a JPEG."""
    texts = [(0x9003, taken.encode() + b"\0")] + ([(0x9011, offset.encode() + b"\0")] if offset else [])
    exif_at = 8 + 2 + 2 * 12 + 4
    data_at = exif_at + 2 + len(texts) * 12 + 4
    tiff = b"MM\0*" + struct.pack(">I", 8) + struct.pack(">H", 2)
    tiff += struct.pack(">HHIHH", 0x0112, 3, 1, orientation, 0) + struct.pack(">HHII", 0x8769, 4, 1, exif_at) + bytes(4)
    tiff += struct.pack(">H", len(texts))
    for tag, text in texts:
        tiff += struct.pack(">HHII", tag, 2, len(text), data_at)
        data_at += len(text)
    tiff += bytes(4) + b"".join(text for _, text in texts)
    block = b"Exif\0\0" + tiff
    return jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(block) + 2) + block + jpeg[2:]


def jpeg(kind=1, width=64, height=48):
    return cv2.imencode(".jpg", scene(kind, width, height))[1].tobytes()


def test_pictures_come_in_natural_order_one_period_apart(tmp_path):
    for name in ("img10.png", "img2.png", "img1.png", ".hidden.png"):
        cv2.imwrite(str(tmp_path / name), scene(int(name[3:-4])) if name[0] != "." else scene(9))
    (tmp_path / "notes.txt").write_text("no picture")
    frames = list(open_source(str(tmp_path), rate_fps=0.5, start_us=0).frames())
    assert [f.t_us for f in frames] == [0, 2 * US, 4 * US]
    assert [np.array_equal(f.image, scene(kind)) for f, kind in zip(frames, (1, 2, 10), strict=True)] == [True] * 3


def test_exif_times_are_used_when_every_picture_has_one(tmp_path):
    (tmp_path / "b.jpg").write_bytes(with_exif(jpeg(), "2024:05:04 10:00:00", offset="+02:00"))
    (tmp_path / "a.jpg").write_bytes(with_exif(jpeg(), "2024:05:04 10:00:30"))
    frames = list(open_source(str(tmp_path), rate_fps=1).frames())
    assert [f.t_us for f in frames] == [from_iso("2024-05-04T08:00:00Z"), from_iso("2024-05-04T10:00:30Z")]
    given = list(open_source(str(tmp_path), rate_fps=1, start_us=7 * US).frames())
    assert [f.t_us for f in given] == [7 * US, 8 * US]
    (tmp_path / "c.jpg").write_bytes(jpeg())
    assert [f.offset_us for f in open_source(str(tmp_path), rate_fps=1).frames()] == [0, US, 2 * US]


def test_a_burst_within_one_exif_second_keeps_its_order(tmp_path):
    for index in range(3):
        (tmp_path / f"{index}.jpg").write_bytes(with_exif(jpeg(), "2024:05:04 10:00:00"))
    assert [f.offset_us for f in open_source(str(tmp_path), rate_fps=1).frames()] == [0, 1, 2]


def test_exif_orientation_is_obeyed(tmp_path):
    (tmp_path / "a.jpg").write_bytes(with_exif(jpeg(), "2024:05:04 10:00:00", orientation=6))
    assert next(open_source(str(tmp_path), rate_fps=1).frames()).image.shape == (64, 48, 3)


@pytest.mark.parametrize("suffix", [".png", ".jpg"])
@pytest.mark.parametrize(("width", "height", "shape"), [(1, 1, (1, 1)), (12_000, 300, (48, 1920)), (300, 4000, (1920, 144))])
def test_tiny_and_huge_pictures_are_bounded(tmp_path, suffix, width, height, shape):
    path = tmp_path / f"a{suffix}"
    cv2.imwrite(str(path), np.full((height, width, 3), 90, np.uint8))
    (frame,) = open_source(str(path), rate_fps=1).frames()
    assert frame.image.shape == (*shape, 3)
    assert frame.stream == "a"


def test_an_unreadable_picture_is_passed_over_and_counted(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"garbage")
    (tmp_path / "b.jpg").write_bytes(jpeg())
    (tmp_path / "c.jpg").write_bytes(b"")
    source = open_source(str(tmp_path), rate_fps=1)
    assert len(list(source.frames())) == 1
    assert source.dropped == {"unreadable": 2}


def test_a_folder_without_pictures_and_one_without_good_ones(tmp_path):
    with pytest.raises(SourceError, match="contains no pictures"):
        open_source(str(tmp_path), rate_fps=1)
    (tmp_path / "a.png").write_bytes(b"garbage")
    with pytest.raises(SourceError, match="none of its 1 pictures can be read"):
        list(open_source(str(tmp_path), rate_fps=1).frames())


def test_a_run_can_go_on_behind_a_picture(tmp_path):
    for index in range(5):
        (tmp_path / f"{index}.jpg").write_bytes(jpeg(index))
    source = open_source(str(tmp_path), rate_fps=1)
    source.skip_to(2 * US)
    assert [(f.seq, f.offset_us) for f in source.frames()] == [(3, 3 * US), (4, 4 * US)]
