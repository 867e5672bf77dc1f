"""Every picture that is sent is within the limits."""

from __future__ import annotations

import numpy as np
import pytest
import simplejpeg
from edgemem_openai.capabilities import reports_vision
from edgemem_openai.images import fit_jpeg
from edgemem_openai.testing import ScriptedReply, ScriptedServer
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemem.errors import ChatError
from edgemem.infer.chat import ChatMessage


def noise(width, height, quality=95):
    pixels = np.random.default_rng(0).integers(0, 255, (height, width, 3), dtype=np.uint8)
    return simplejpeg.encode_jpeg(pixels, quality=quality)


@settings(max_examples=40)
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
            make_chat(server, vision=False).complete(prompt)
        assert server.asked == []
        chat = make_chat(server, vision=False, roles={"inspector": {"vision": True}})
        assert chat.sees("inspector")
        assert not chat.sees("planner"), "the model of one task does not see for those of others"
        assert chat.complete(prompt).text == "noise"
    assert [(picture.width_px, picture.height_px) for picture in server.asked[0].images] == [(1280, 320), (30, 40)]
    assert server.asked[0].text == "what is this?"


@pytest.mark.parametrize(("told", "seen"), [(True, True), (False, False), (None, True)])
def test_the_server_is_asked_whether_its_model_sees(make_chat, told, seen):
    with ScriptedServer([], vision=told) as server:
        assert make_chat(server, model="scripted").sees("inspector") is seen
        assert make_chat(server, model="").sees("inspector") is seen
        assert make_chat(server, model="scripted", vision=not seen).sees("inspector") is not seen, "the settings decide"


def test_a_model_that_refuses_a_picture_is_shown_no_other(make_chat, asking, tmp_path):
    prompt = asking(task="inspector", messages=(ChatMessage(role="user", text="what is this?", images=(noise(30, 40),)),))
    with ScriptedServer(["words"], rejects={"images"}) as server:
        chat = make_chat(server)
        assert chat.sees("inspector")
        with pytest.raises(ChatError, match="choose a model that accepts pictures"):
            chat.complete(prompt)
        assert len(server.rejected) == 1
        assert not chat.sees("inspector")
        assert not make_chat(server, home=tmp_path).sees("planner"), "another process asks the same model"
        assert make_chat(server, model="another").sees("inspector")
        assert chat.complete(asking()).text == "words"


@pytest.mark.parametrize(
    "status_and_words",
    [
        (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
        (404, "No endpoints found that support image input"),
        (400, "This model does not support image_url content"),
        (400, "llama3 is not a multimodal model"),
    ],
)
def test_servers_say_in_many_ways_that_they_see_nothing(make_chat, asking, status_and_words):
    prompt = asking(messages=(ChatMessage(role="user", text="?", images=(noise(30, 40),)),))
    with ScriptedServer([ScriptedReply.failing(*status_and_words)]) as server:
        chat = make_chat(server)
        with pytest.raises(ChatError, match="choose a model that accepts pictures"):
            chat.complete(prompt)
        assert not chat.sees("planner")


@pytest.mark.parametrize(
    ("listed", "props", "told"),
    [
        (b'{"data": [{"id": "m", "architecture": {"input_modalities": ["text", "image"]}}]}', b"", True),
        (b'{"data": [{"id": "m", "architecture": {"input_modalities": ["text"]}}]}', b"", False),
        (b'{"data": [{"id": "m", "capabilities": {"vision": false, "chat": true}}]}', b"", False),
        (b'{"models": [{"name": "m", "capabilities": ["completion", "multimodal"]}], "data": [{"id": "m"}]}', b"", True),
        (b'{"data": [{"id": "m", "type": "vlm"}, {"id": "n", "type": "llm"}]}', b"", True),
        (b'{"data": [{"id": "n", "type": "vlm"}, {"id": "o"}]}', b"", None),
        (b'{"data": [{"id": "m"}]}', b'{"modalities": {"vision": true, "audio": false}}', True),
        (b'{"data": [{"id": "m"}]}', b"not found", None),
        (b"[1]", b"[]", None),
    ],
)
def test_what_servers_tell_of_their_models(listed, props, told):
    assert reports_vision(listed, props, "m") is told
