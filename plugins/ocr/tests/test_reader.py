"""Reading text in pictures."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
from edgemem_ocr.reader import BATCH_PX, batches
from hypothesis import given
from hypothesis import strategies as st


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


def test_lines_come_top_to_bottom(reader, photographs):
    words = [o.name for o in reader.read(photographs["page"])]
    assert words[0].startswith("Region-based")
    assert [i for i, word in enumerate(words) if "background" in word] < [i for i, word in enumerate(words) if "histogram" in word]
    tops = [o.box.y0 for o in reader.read(photographs["page"])]
    assert tops == sorted(tops)


def test_photographs_without_text_are_told_apart_cheaply(reader, photographs):
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
