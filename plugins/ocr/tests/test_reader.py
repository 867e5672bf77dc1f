"""Reading text in pictures."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError

import cv2
import numpy as np
import pytest
from edgemem_ocr.reader import BATCH_PX, batches, span
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from edgemem.infer.large_run import LARGE_RUN


def sign(picture, text, height_px, place=(0.1, 0.5)):
    """`picture` with a white board that says `text`."""
    picture = picture.copy()
    (width, height), base = cv2.getTextSize(text, cv2.FONT_HERSHEY_DUPLEX, 1, 2)
    scale = height_px / height
    width, base = int(width * scale), int(base * scale)
    x, y = int(place[0] * picture.shape[1]), int(place[1] * picture.shape[0])
    cv2.rectangle(picture, (x - 10, y - height_px - 12), (x + width + 10, y + base + 10), (245, 245, 245), -1)
    cv2.putText(picture, text, (x, y), cv2.FONT_HERSHEY_DUPLEX, scale, (30, 20, 20), max(1, round(2 * scale)), cv2.LINE_AA)
    return picture


def squeezed(observations):
    return "".join(o.name for o in observations).replace(" ", "").lower()


@pytest.mark.parametrize(("text", "height_px"), [("PLATFORM 9", 24), ("Pharmacy", 40), ("EXIT", 90)])
def test_a_sign_in_a_photograph_is_read_where_it_hangs(reader, photographs, text, height_px):
    picture = sign(cv2.resize(photographs["chelsea"], (960, 640)), text, height_px)
    read = reader.read(picture)
    assert squeezed(read) == text.replace(" ", "").lower()
    box = read[0].box
    assert read[0].kind == "text"
    assert abs(box.x0 - 0.1) < 0.03
    assert box.y0 < 0.5 < box.y1
    assert box.y1 - box.y0 < 0.3


def test_a_sign_in_a_full_hd_frame_is_read(reader, photographs):
    picture = sign(cv2.resize(photographs["coffee"], (1920, 1080)), "LIFT 15", 60)
    assert "lift15" in squeezed(reader.read(picture))


def test_a_large_run_waits_for_its_turn_and_a_small_one_does_not(reader, photographs):
    page = sign(cv2.resize(photographs["coffee"], (960, 960)), "LIFT 15", 60)
    with ThreadPoolExecutor() as pool:
        with LARGE_RUN:
            assert pool.submit(reader.likelihood, page).result(30) > 0.3
            reading = pool.submit(reader._text_map, page, 1.0)
            with pytest.raises(FutureTimeoutError):
                reading.result(2)
        assert reading.result(60).shape == (960, 960)


def test_lines_come_top_to_bottom(reader, photographs):
    words = [o.name for o in reader.read(photographs["page"])]
    assert words[0].startswith("Region-based")
    assert [i for i, word in enumerate(words) if "background" in word] < [i for i, word in enumerate(words) if "histogram" in word]
    tops = [o.box.y0 for o in reader.read(photographs["page"])]
    assert tops == sorted(tops)


def test_photographs_without_text_are_between_speakers_cheaply(reader, photographs):
    for name in ("chelsea", "coffee", "brick"):
        assert reader.likelihood(photographs[name]) < 0.3, name
        assert reader.read(photographs[name]) == []
    assert reader.likelihood(photographs["page"]) > 0.9
    assert reader.likelihood(sign(cv2.resize(photographs["chelsea"], (960, 640)), "Pharmacy", 40)) > 0.9


@pytest.mark.parametrize("size", [(1, 1), (20, 12000), (12000, 20), (4000, 6000)])
def test_the_detector_s_input_is_bounded_for_any_picture(reader, size):
    height, width = size
    picture = np.full((height, width, 3), 200, np.uint8)
    scale = reader.scale(width, height)
    assert max(width, height) * scale <= 960
    assert scale <= 2
    assert reader.read(picture) == []
    assert reader.find(picture) == []


def test_the_boxes_agree_with_rapidocr_s_own_run(reader, photographs):
    """The same weights under RapidOCR's own session find the same words."""
    from rapidocr import RapidOCR

    own = RapidOCR(params={"Global.log_level": "critical", "Global.use_cls": False})
    theirs = "".join(own(photographs["page"]).txts).replace(" ", "").lower()
    ours = squeezed(reader.read(photographs["page"]))
    assert len(set(theirs) ^ set(ours)) <= 4
    assert abs(len(theirs) - len(ours)) <= 0.1 * len(theirs)


@pytest.mark.parametrize(
    ("low", "high", "scale", "margin_px", "expected"),
    [
        (0.25, 0.5, 1.0, 0, (247, 503)),  # 250 pixels become 256, around the middle at 375
        (0.25, 0.5, 1.0, 32, (215, 535)),  # 250 + 64 become 320
        (0.25, 0.5, 0.5, 0, (247, 503)),  # 125 become 128 of the scaled picture
        (0.25, 0.5, 2.0, 0, (247, 503)),  # 500 become 512
        (0.0, 0.1, 1.0, 32, (0, 192)),  # not further left than the picture
        (0.9, 1.0, 1.0, 32, (808, 1000)),  # nor further right
        (0.1, 0.99, 1.0, 32, (40, 1000)),
        (0.02, 0.98, 1.0, 32, (0, 1000)),  # 1,024 are more than there are
    ],
)
def test_what_is_looked_at_again_lies_around_the_text_and_is_not_stretched(low, high, scale, margin_px, expected):
    assert span(low, high, 1000, scale, margin_px) == expected


@pytest.fixture
def looks(reader, monkeypatch):
    """Width and height of everything that the detector gets."""
    sizes, infer = [], reader._detection.infer

    class Recorder:
        def infer(self, arrays):
            ((_, array),) = arrays.items()
            sizes.append((array.shape[3], array.shape[2]))
            return infer(arrays)

    monkeypatch.setattr(reader, "_detection", Recorder())
    return sizes


@pytest.fixture
def set_rough(reader, monkeypatch):
    return lambda rough_px: monkeypatch.setattr(reader, "_settings", replace(reader._settings, rough_px=rough_px))


def test_only_the_surroundings_of_text_are_looked_at_in_full(reader, photographs, looks):
    """The sign is 37 px high and the detector sees the picture at half size, then of 960 x 544 less than a tenth."""
    picture = sign(cv2.resize(photographs["coffee"], (1920, 1080)), "LIFT 15", 37)
    assert "lift15" in squeezed(reader.read(picture))
    *glances, rough, again = looks
    assert glances == [(256, 128), (128, 64)]
    assert rough == (480, 256)
    assert again[0] * again[1] < 0.1 * 960 * 544


def test_where_the_first_search_finds_no_text_there_is_no_second(reader, looks, monkeypatch):
    monkeypatch.setattr("edgemem_ocr.reader.ROUGH_PROBABILITY", 1.1)
    assert reader.find(np.full((640, 960, 3), 127, np.uint8)) == []
    assert looks == [(480, 320)]


@pytest.mark.parametrize(("size", "searched"), [((640, 480), [(640, 480)]), ((957, 640), [(960, 640)]), ((480, 960), [(256, 480)])])
def test_a_picture_that_is_less_than_twice_as_large_as_the_first_search_is_looked_at_once(reader, looks, monkeypatch, size, searched):
    """957 is too small; a half of 960 is not."""
    monkeypatch.setattr("edgemem_ocr.reader.ROUGH_PROBABILITY", 1.1)
    assert reader.find(np.full((size[1], size[0], 3), 127, np.uint8)) == []
    assert looks == searched


def test_text_in_two_corners_is_read_like_in_the_whole_picture(reader, photographs, set_rough, looks):
    picture = sign(cv2.resize(photographs["chelsea"], (960, 640)), "EXIT 4", 30, (0.05, 0.12))
    picture = sign(picture, "GATE B", 30, (0.8, 0.95))
    corners = reader.find(picture)
    assert looks[-1] == (960, 640)
    set_rough(0)
    whole = reader.find(picture)
    assert looks[2:] == [(960, 640)]
    assert len(whole) == 2
    np.testing.assert_array_equal(corners, whole)


@pytest.mark.parametrize(("text", "height_px"), [("PLATFORM 9", 24), ("Pharmacy", 40), ("EXIT", 90), ("TAXI", 200)])
@pytest.mark.parametrize("place", [(0.02, 0.25), (0.05, 0.6), (0.3, 0.95)])
def test_a_line_is_found_and_read_as_in_the_whole_picture(reader, photographs, set_rough, text, height_px, place):
    picture = sign(cv2.resize(photographs["coffee"], (1280, 960)), text, height_px, place)
    lines, read = reader.find(picture), squeezed(reader.read(picture))
    set_rough(0)
    whole = min(reader.find(picture), key=lambda line: np.abs(line[0] - (place[0] * 1280, place[1] * 960 - height_px)).max())
    assert min(np.abs(line - whole).max() for line in lines) <= 0.6 * height_px
    assert text.replace(" ", "").lower() in read


@given(ratios=st.lists(st.floats(0.1, 25.0), max_size=40), most=st.integers(1, 8))
def test_lines_that_run_together_are_bounded_by_their_width(ratios, most):
    found = list(batches(ratios, most))
    assert sorted(index for batch in found for index in batch) == list(range(len(ratios)))
    for batch in found:
        widths = [max(320, math.ceil(48 * ratios[index])) for index in batch]
        assert len(batch) <= most
        assert len(batch) == 1 or len(batch) * max(widths) <= BATCH_PX
        assert widths == sorted(widths)


def test_short_lines_run_six_together():
    assert [len(batch) for batch in batches([3.0] * 13, 6)] == [6, 6, 1]
