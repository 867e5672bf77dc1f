"""What is sent is within the limits, whatever the picture."""

from __future__ import annotations

import numpy as np
import pytest
import simplejpeg
from edgemem_openai.images import fit_jpeg
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemem.errors import ChatError
from edgemem.extend.testing import ScriptedServer
from edgemem.infer.chat import ChatMessage


def noise(width, height, quality=95):
    pixels = np.random.default_rng(0).integers(0, 255, (height, width, 3), dtype=np.uint8)
    return simplejpeg.encode_jpeg(pixels, quality=quality)


@settings(max_examples=40, deadline=None)
@given(width=st.integers(1, 900), height=st.integers(1, 900), side=st.integers(8, 700), limit=st.integers(1500, 200_000))
def test_any_picture_comes_within_its_limits_and_keeps_its_shape(width, height, side, limit):
    jpeg = noise(width, height)
    fitted = fit_jpeg(jpeg, side, limit)
    new_height, new_width, _, _ = simplejpeg.decode_jpeg_header(fitted)
    assert len(fitted) <= limit
    assert max(new_width, new_height) <= side
    if max(width, height) <= side and len(jpeg) <= limit:
        assert fitted == jpeg
    scale = max(new_width, new_height) / max(width, height)
    assert scale <= 1
    assert abs(new_width - width * scale) <= 2
    assert abs(new_height - height * scale) <= 2


def test_quality_goes_before_size():
    jpeg = noise(640, 480)
    fitted = fit_jpeg(jpeg, 1280, len(jpeg) // 2)
    assert simplejpeg.decode_jpeg_header(fitted)[:2] == (480, 640)


def test_a_grey_picture_fits_too():
    grey = simplejpeg.encode_jpeg(np.full((400, 800, 1), 90, np.uint8), colorspace="GRAY", colorsubsampling="Gray")
    assert simplejpeg.decode_jpeg_header(fit_jpeg(grey, 200))[:2] == (100, 200)


@pytest.mark.parametrize("broken", [b"", b"no picture", noise(64, 64)[:20]])
def test_what_is_no_picture_is_said(broken):
    with pytest.raises(ChatError, match="picture"):
        fit_jpeg(broken)


def test_no_picture_fits_into_nothing():
    with pytest.raises(ChatError, match="image_bytes"):
        fit_jpeg(noise(64, 64), limit_bytes=10)


def test_pictures_leave_only_where_the_model_sees(make_chat, asking):
    prompt = asking(task="inspector", messages=(ChatMessage(role="user", text="what is this?", images=(noise(2000, 500), noise(30, 40))),))
    with ScriptedServer(["noise"]) as server:
        with pytest.raises(ChatError, match=r"openai\.vision = true"):
            make_chat(server).complete(prompt)
        assert server.asked == []
        chat = make_chat(server, roles={"inspector": {"vision": True}})
        assert chat.vision
        assert chat.complete(prompt).text == "noise"
    assert [(picture.width_px, picture.height_px) for picture in server.asked[0].images] == [(1280, 320), (30, 40)]
    assert server.asked[0].text == "what is this?"
