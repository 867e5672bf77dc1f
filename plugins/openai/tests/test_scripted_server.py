"""The scripted language model: authors of plugins test with it, so it must be correct. It is called over plain HTTP."""

from __future__ import annotations

import base64
import http.client
import io
import json
import urllib.error
import urllib.request

import pytest
from edgemem_openai.testing import ScriptedCall, ScriptedReply, ScriptedServer
from PIL import Image


def post(server, **body):
    body = {"model": "m", "messages": [{"role": "user", "content": "where is the mug?"}], **body}
    request = urllib.request.Request(f"{server.base_url}/chat/completions", json.dumps(body).encode(), {"Authorization": "Bearer k"})
    with urllib.request.urlopen(request, timeout=10) as reply:
        return reply.read().decode(), reply.headers


def said(text):
    return json.loads(text)["choices"][0]["message"]["content"]


def events(text):
    return [line.removeprefix("data: ") for line in text.splitlines() if line]


def test_it_plays_its_lines_in_order_and_keeps_what_was_asked():
    with ScriptedServer(["in the kitchen", {"action": "answer"}, lambda asked: f"number {asked.number}"]) as server:
        assert said(post(server)[0]) == "in the kitchen"
        assert json.loads(
            said(post(server, response_format={"type": "json_schema", "json_schema": {"schema": {"type": "object"}}})[0])
        ) == {"action": "answer"}
        assert said(post(server)[0]) == "number 3"
        with pytest.raises(urllib.error.HTTPError, match="500"):
            post(server)
    assert [asked.schema for asked in server.asked][:3] == [None, {"type": "object"}, None]
    assert server.asked[0].messages == [("user", "where is the mug?")]
    assert server.asked[0].headers["authorization"] == "Bearer k"


def test_a_function_may_answer_everything():
    def answer(asked: ScriptedCall) -> str:
        return asked.text.upper()

    with ScriptedServer(answer) as server:
        assert said(post(server)[0]) == "WHERE IS THE MUG?"


def test_a_stream_comes_in_pieces_with_usage_where_it_is_wanted():
    with ScriptedServer([ScriptedReply(text="on the table", usage=(7, 3))] * 2) as server:
        text, headers = post(server, stream=True, stream_options={"include_usage": True})
        without, _ = post(server, stream=True)
    assert headers["Content-Type"] == "text/event-stream"
    *pieces, end, usage, done = events(text)
    assert "".join(json.loads(piece)["choices"][0]["delta"]["content"] for piece in pieces) == "on the table"
    assert json.loads(end)["choices"][0]["finish_reason"] == "stop"
    assert json.loads(usage)["usage"] == {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    assert done == "[DONE]"
    assert "usage" not in without


@pytest.mark.parametrize("stream", [True, False])
def test_a_refusal_has_its_own_field(stream):
    with ScriptedServer([ScriptedReply(refusal="I will not.")]) as server:
        text, _ = post(server, stream=stream)
    assert '"refusal": "I ' in text
    assert '"content": "' not in text


def test_failures_carry_status_message_and_retry_after():
    with ScriptedServer(
        [ScriptedReply.failing(429, "slow down", retry_after_s=2), ScriptedReply(body=b"<html>", content_type="text/html")]
    ) as server:
        with pytest.raises(urllib.error.HTTPError) as caught:
            post(server)
        assert (caught.value.code, caught.value.headers["Retry-After"]) == (429, "2")
        assert json.loads(caught.value.read())["error"]["message"] == "slow down"
        text, headers = post(server)
        assert (text, headers["Content-Type"]) == ("<html>", "text/html")


@pytest.mark.parametrize("stream", [True, False])
def test_a_cut_reply_breaks_the_connection(stream):
    with ScriptedServer([ScriptedReply(text="one two three", cut_after=2)]) as server:
        with pytest.raises((http.client.IncompleteRead, ConnectionError)) as caught:
            post(server, stream=stream)
        if stream:
            assert "two" in caught.value.partial.decode()


@pytest.mark.parametrize(
    ("rejects", "body"),
    [
        ("json_schema", {"response_format": {"type": "json_schema", "json_schema": {"schema": {}}}}),
        ("json_object", {"response_format": {"type": "json_object"}}),
        ("stream_options", {"stream": True, "stream_options": {"include_usage": True}}),
        ("max_tokens", {"max_tokens": 5}),
        ("images", {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": ""}}]}]}),
    ],
)
def test_a_server_that_knows_less_says_which_parameter(rejects, body):
    with ScriptedServer(["fine"], rejects={rejects}) as server:
        with pytest.raises(urllib.error.HTTPError) as caught:
            post(server, **body)
        assert caught.value.code == 400
        assert json.loads(caught.value.read())["error"]["param"] in {*body}
        assert said(post(server)[0]) == "fine", "what is rejected uses up no line"
        assert len(server.rejected) == 1


def test_a_wrong_key_is_refused_and_an_unknown_feature_too():
    with ScriptedServer(["hello"], api_key="right") as server, pytest.raises(urllib.error.HTTPError, match="401"):
        post(server)
    with pytest.raises(ValueError, match="json_schema"):
        ScriptedServer([], rejects={"json_skema"})


def test_pictures_arrive_decoded():
    jpeg = io.BytesIO()
    Image.new("RGB", (64, 48)).save(jpeg, "JPEG")
    uri = f"data:image/jpeg;base64,{base64.b64encode(jpeg.getvalue()).decode()}"
    content = [{"type": "text", "text": "what is this?"}, {"type": "image_url", "image_url": {"url": uri}}]
    with ScriptedServer(["a black card"]) as server:
        post(server, messages=[{"role": "user", "content": content}])
    (picture,) = server.asked[0].images
    assert (picture.width_px, picture.height_px, picture.jpeg) == (64, 48, jpeg.getvalue())
    assert server.asked[0].text == "what is this?"


def test_models_are_listed_and_other_paths_are_not_there():
    with ScriptedServer([], models=["a", "b"]) as server:
        with urllib.request.urlopen(f"{server.base_url}/models", timeout=10) as reply:
            assert [model["id"] for model in json.loads(reply.read())["data"]] == ["a", "b"]
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{server.base_url}/nothing", timeout=10)


def test_closed_it_is_gone():
    with ScriptedServer(["hello", "again"]) as server:
        assert said(post(server)[0]) == "hello"
        server.close()
        with pytest.raises(urllib.error.URLError, match="refused"):
            post(server)
