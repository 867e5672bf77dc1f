"""The chat over real HTTP: results and errors with correct and with faulty servers."""

from __future__ import annotations

import json
import math
import socket
import threading
import time
from contextlib import suppress
from types import SimpleNamespace

import httpx2
import pytest
from edgemem_openai.connection import BODY_BYTES, ERROR_BYTES
from edgemem_openai.settings import OpenAISettings, server_for, with_environment
from edgemem_openai.testing import ScriptedReply, ScriptedServer, _completion, _Requested

from edgemem.errors import ChatError, UsageError
from edgemem.infer.chat import ChatMessage
from edgemem.infer.structured import read_reply
from edgemem.secret import reveal

SCHEMA = {
    "type": "object",
    "properties": {"action": {"enum": ["search", "answer"]}},
    "required": ["action"],
    "additionalProperties": False,
}
ANSWER = '{"action": "answer"}'

NO_ROOM = b'{"error": {"message": "Input is 9000 tokens.", "code": "context_length_exceeded"}}'

LAST = b'data: {"choices": [{"index": 0, "delta": {"content": "two"}, "finish_reason": "stop"}]}\n\n'
FIRST = b'data: {"choices": [{"index": 0, "delta": {"content": "one "}}]}\n\n'


def fails(chat, prompt, words):
    with pytest.raises(ChatError) as caught:
        chat.complete(prompt)
    line = str(caught.value)
    assert words in line, line
    assert "\n" not in line
    return line


def test_a_reply_is_whole_and_counted(make_chat, asking):
    with ScriptedServer([ScriptedReply("in the kitchen", usage=(1000, 500))]) as server:
        chat = make_chat(server, usd_per_million_in=2.0, usd_per_million_out=8.0)
        prompt = asking(messages=(ChatMessage(role="system", text="be brief"), ChatMessage(role="user", text="where?")), temperature=0.25)
        completion = chat.complete(prompt)
    assert (completion.text, completion.model, completion.finish) == ("in the kitchen", "scripted", "stop")
    assert (completion.tokens_in, completion.tokens_out, completion.usd) == (1000, 500, pytest.approx(0.006))
    assert completion.ms > 0
    (asked,) = server.asked
    assert asked.messages == [("system", "be brief"), ("user", "where?")]
    assert (asked.body["model"], asked.body["temperature"], asked.body["max_tokens"], asked.stream) == ("m", 0.25, 50, True)


def test_a_schema_goes_as_structured_output_where_the_server_knows_it(make_chat, asking):
    loose = {"type": "object", "properties": {"action": {"type": "string"}}}
    with ScriptedServer([ANSWER, ANSWER]) as server:
        chat = make_chat(server)
        assert chat.complete(asking(schema=SCHEMA, schema_name="next step")).text == ANSWER
        chat.complete(asking(schema=loose))
    first, second = (asked.body["response_format"]["json_schema"] for asked in server.asked)
    assert first == {"name": "next_step", "schema": SCHEMA, "strict": True}
    assert second["strict"] is False, "strict schemas must name every key"
    assert "Schema" not in server.asked[0].text


@pytest.mark.parametrize(
    ("rejects", "left"),
    [({"json_schema"}, {"type": "json_object"}), ({"json_schema", "json_object"}, None)],
)
def test_a_server_without_structured_output_reads_the_schema_and_is_asked_about_it_once(make_chat, asking, tmp_path, rejects, left):
    with ScriptedServer([f"<think>hm</think>\n```json\n{ANSWER}\n```", ANSWER, ANSWER], rejects=rejects) as server:
        prompt = asking(messages=(ChatMessage(role="system", text="be brief"), ChatMessage(role="user", text="where?")), schema=SCHEMA)
        chat = make_chat(server)
        assert read_reply(chat.complete(prompt).text, SCHEMA) == ANSWER, "its thoughts are taken off"
        chat.complete(prompt)
        make_chat(server, home=tmp_path).complete(prompt)
    assert len(server.rejected) == len(rejects), "found out once, remembered by later processes too"
    assert server.asked[0].body.get("response_format") == left
    (_, system), _user = server.asked[0].messages
    assert system.startswith("be brief")
    assert json.dumps(SCHEMA, separators=(",", ":")) in system


@pytest.mark.parametrize("feature", ["stream_options", "max_tokens", "temperature"])
def test_a_server_that_knows_a_parameter_less_is_asked_without_it(make_chat, asking, feature):
    with ScriptedServer(["yes", "yes"], rejects={feature}) as server:
        chat = make_chat(server)
        assert chat.complete(asking()).text == "yes"
        assert chat.complete(asking()).text == "yes"
    assert len(server.rejected) == 1
    assert feature not in server.asked[0].body
    if feature == "max_tokens":
        assert server.asked[0].body["max_completion_tokens"] == 50


def test_a_schema_that_a_server_does_not_take_goes_into_the_text(make_chat, asking):
    complaint = "Invalid schema for response_format 'reply': In context=('properties', 'q'), 'additionalProperties' is required."
    other = {**SCHEMA, "title": "another"}
    with ScriptedServer([ScriptedReply.failing(400, complaint), *[ANSWER] * 4]) as server:
        chat = make_chat(server)
        assert chat.complete(asking(schema=SCHEMA)).text == ANSWER
        chat.complete(asking(schema=other))
        chat.complete(asking(schema=SCHEMA))
        make_chat(server).complete(asking(schema=SCHEMA))
    kinds = [asked.body["response_format"]["type"] for asked in server.asked]
    assert kinds == ["json_schema", "json_object", "json_schema", "json_object", "json_schema"], "one refused schema concerns no other"


def test_nothing_is_told_about_this_machine(make_chat, asking, monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-another-program")
    with ScriptedServer(["hello"]) as server:
        make_chat(server).complete(asking())
    headers = server.asked[0].headers
    assert headers["user-agent"] == "edgemem"
    assert {name for name in headers if name.startswith(("x-stainless", "openai"))} <= {"x-stainless-raw-response"}


def test_tokens_are_estimated_where_the_server_states_none(make_chat, asking):
    with ScriptedServer([ScriptedReply("six words are said just here", usage=None)]) as server:
        completion = make_chat(server).complete(asking("x" * 300))
    assert completion.tokens_in >= 100
    assert completion.tokens_out >= 6


@pytest.mark.parametrize("reply", [ScriptedReply(refusal="I cannot help."), ScriptedReply(finish="content_filter")])
def test_a_refusal_is_a_refusal(make_chat, asking, reply):
    with ScriptedServer([reply]) as server:
        completion = make_chat(server).complete(asking())
    assert (completion.finish, completion.text) == ("refusal", reply.refusal)


def test_a_reply_cut_by_its_token_limit_says_so(make_chat, asking):
    with ScriptedServer(
        [
            ScriptedReply("and so", finish="length"),
            ScriptedReply("", finish="length"),
            ScriptedReply("", finish="length"),
            ScriptedReply(""),
        ]
    ) as server:
        chat = make_chat(server)
        assert chat.complete(asking()).finish == "length"
        assert (chat.complete(asking()).text, chat.complete(asking()).finish) == ("", "length"), "whoever asked may give it more room"
        fails(chat, asking(), "returned nothing")


def test_a_server_that_does_not_count_is_stopped(make_chat, asking):
    with ScriptedServer([ScriptedReply("word " * 5000, pause_s=0.001)]) as server:
        completion = make_chat(server).complete(asking(max_tokens=20))
        assert completion.finish == "length"
        assert len(completion.text) < 400
        for _ in range(200):
            if server.disconnects:
                break
            time.sleep(0.02)
        assert server.disconnects == 1, "it is not left talking"


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_may_pass_is_tried_again(make_chat, asking, status):
    with ScriptedServer([ScriptedReply.failing(status), ScriptedReply.failing(status), "now"]) as server:
        assert make_chat(server).complete(asking()).text == "now"
    assert len(server.asked) == 3


def test_tries_are_limited_and_a_wait_that_is_too_long_is_not_waited(make_chat, asking):
    with ScriptedServer([ScriptedReply.failing(500, "out of memory")] * 3 + [ScriptedReply.failing(429, retry_after_s=600)]) as server:
        chat = make_chat(server)
        fails(chat, asking(), "replies 500: out of memory (3 tries)")
        fails(chat, asking(), "asks to wait 600 s")
    assert len(server.asked) == 4


def test_retry_after_is_kept(make_chat, asking):
    with ScriptedServer([ScriptedReply.failing(429, retry_after_s=0.5), "now"]) as server:
        start = time.monotonic()
        assert make_chat(server).complete(asking()).text == "now"
        assert time.monotonic() - start >= 0.5


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (ScriptedReply.failing(401, "Incorrect API key provided: top-secret"), "openai.api_key_file or OPENAI_API_KEY"),
        (ScriptedReply.failing(404, "model not found"), "check openai.model"),
        (ScriptedReply.failing(400, "request (9031 tokens) exceeds the available context size"), "prompt is too long"),
        (ScriptedReply.failing(400, "bad luck"), "replies 400: bad luck"),
        (ScriptedReply(status=429, body=b'{"error": {"message": "pay", "code": "insufficient_quota"}}'), "no credit is left"),
        (ScriptedReply(status=307, headers={"Location": "http://127.0.0.1:9/v1"}), "redirects the request to http://127.0.0.1:9/v1"),
        (ScriptedReply(body=b"<html>log in</html>", content_type="text/html; charset=utf-8"), "web page"),
        (ScriptedReply(body=b"data: {oops\n\n", content_type="text/event-stream"), "no completion"),
        (ScriptedReply(body=b'{"choices": "many"}'), "no completion"),
        (ScriptedReply(body=b'data: {"error": {"message": "overloaded"}}\n\n', content_type="text/event-stream"), "overloaded"),
        (ScriptedReply(body=b"\x00\xff" * 99, content_type="application/octet-stream"), "ended early"),
        (ScriptedReply("one two three four", cut_after=2), "was lost"),
        (ScriptedReply(status=400, body=NO_ROOM), "prompt is too long"),
    ],
)
def test_what_does_not_pass_is_said_in_one_line_and_not_tried_again(make_chat, asking, reply, words):
    with ScriptedServer([reply]) as server:
        line = fails(make_chat(server, api_key="top-secret"), asking(), words)
    assert len(server.asked) == 1
    assert "top-secret" not in line


def test_a_plain_reply_to_a_request_for_a_stream_is_taken(make_chat, asking):
    body = b'{"choices": [{"index": 0, "message": {"role": "assistant", "content": "whole"}, "finish_reason": "stop"}]}'
    with ScriptedServer([ScriptedReply(body=body)]) as server:
        assert make_chat(server).complete(asking()).text == "whole"


def test_a_slow_stream_ends_at_the_deadline(make_chat, asking):
    with ScriptedServer([ScriptedReply("word " * 40, pause_s=0.05)]) as server:
        fails(make_chat(server, call_s=0.4), asking(), "openai.call_s = 0.4")


@pytest.mark.parametrize(
    ("status", "body"),
    [(400, b" " * 16_000), (200, b" " * 16_000), (200, FIRST + LAST + b": still here\n\n" * 1000)],
    ids=["an error", "a reply", "comments behind the end of a stream"],
)
def test_what_trickles_ends_at_the_deadline(make_chat, asking, status, body):
    """Each piece comes in time, and the whole never."""
    reply = ScriptedReply(status=status, body=body, pause_s=0.02, content_type="text/event-stream" if FIRST in body else "")
    with ScriptedServer([reply] * 3) as server:
        start = time.monotonic()
        with suppress(ChatError):  # what was whole before is taken
            assert make_chat(server, call_s=0.5, retries=0).complete(asking()).text == "one two"
        assert time.monotonic() - start < 8, "the body takes 20 s"


def test_an_error_is_not_read_without_end_and_no_body_longer_than_its_request(make_chat):
    with ScriptedServer([]) as server:
        connections = make_chat(server)._connections
        connections._own.deadline = time.monotonic() + 60
        for error, most in ((True, ERROR_BYTES), (False, BODY_BYTES)):
            read = SimpleNamespace(stream=SimpleNamespace(__iter__=None), is_error=error, request=None)
            read.stream = [b"x" * (1 << 18)] * 1000
            connections._bounded(read)
            assert most < sum(map(len, read.stream)) <= most + (1 << 18)
        late = SimpleNamespace(stream=[b"x", b"y"], is_error=False, request=None)
        connections._own.deadline = time.monotonic() - 1
        connections._bounded(late)
        with pytest.raises(httpx2.ReadTimeout):
            list(late.stream)


@pytest.mark.parametrize("usage", [(-500_000, -500_000), (100, -1), (-1, 20), (10**30, 20), (100, 1 << 33)])
def test_a_usage_that_cannot_be_is_estimated_instead(make_chat, asking, usage):
    """It would lower what the day has used, and cannot be stored."""
    with ScriptedServer([ScriptedReply("in the kitchen", usage=usage)]) as server:
        completion = make_chat(server).complete(asking())
    assert 0 < completion.tokens_in < 10_000
    assert 0 < completion.tokens_out < 100


def test_a_silent_server_ends_at_the_stall(make_chat, asking):
    with ScriptedServer([ScriptedReply("late", wait_s=20)]) as server:
        start = time.monotonic()
        fails(make_chat(server), asking(silence_s=0.3), "raise models.tasks.planner.silence_s")
        assert time.monotonic() - start < 10


def test_a_stream_that_falls_silent_ends_at_the_stall(make_chat, asking):
    with ScriptedServer([ScriptedReply("one two", pause_s=0.3)]) as server:
        fails(make_chat(server), asking(silence_s=0.1), "sent nothing in time")
    with ScriptedServer([ScriptedReply(body=FIRST, headers={"Content-Length": "99999"}, content_type="text/event-stream")]) as server:
        fails(make_chat(server), asking(silence_s=0.5), "was lost in the middle")


def test_a_server_that_is_gone_is_left_alone_for_a_while(make_chat, asking):
    with socket.create_server(("127.0.0.1", 0)) as once:
        port = once.getsockname()[1]
    chat = make_chat(base_url=f"http://127.0.0.1:{port}/v1", rest_s=60)
    fails(chat, asking(), "cannot be reached")
    fails(chat, asking(), "tried again in")
    with ScriptedServer(["back"], port=port) as server:
        assert make_chat(server, rest_s=0).complete(asking()).text == "back"


def test_each_task_may_have_its_own_server_model_and_key(make_chat, asking):
    with ScriptedServer(["plan", "route"], api_key="first") as first, ScriptedServer(["look"]) as second:
        roles = {"inspector": {"base_url": second.base_url, "model": "eyes"}, "router": {"model": "small"}}
        chat = make_chat(first, environment={"OPENAI_API_KEY": "first"}, roles=roles)
        assert chat.complete(asking()).text == "plan"
        assert chat.complete(asking(task="router")).text == "route"
        assert chat.complete(asking(task="inspector")).text == "look"
    assert [asked.body["model"] for asked in (*first.asked, *second.asked)] == ["m", "small", "eyes"]
    assert "first" not in second.asked[0].headers["authorization"], "a key goes to nobody else"


def test_the_key_comes_from_settings_then_file_then_environment(make_chat, asking, tmp_path):
    (tmp_path / "key").write_text("from-file\n")
    with ScriptedServer(["a", "b", "c"]) as server:
        environment = {"OPENAI_API_KEY": "from-environment"}
        make_chat(server, environment, api_key="from-settings", api_key_file=str(tmp_path / "key")).complete(asking())
        make_chat(server, environment, api_key_file=str(tmp_path / "key")).complete(asking())
        make_chat(server, environment).complete(asking())
        fails(make_chat(server, environment, api_key_file=str(tmp_path / "none")), asking(), "openai.api_key_file")
    keys = [asked.headers["authorization"] for asked in server.asked]
    assert keys == ["Bearer from-settings", "Bearer from-file", "Bearer from-environment"]


def test_what_the_settings_leave_open_comes_from_edgemems_own_variables():
    environment = {
        "EDGEMEM_OPENAI_BASE_URL": "http://hub/v1", "EDGEMEM_OPENAI_MODEL": "small", "EDGEMEM_OPENAI_API_KEY": "k",
        "EDGEMEM_OPENAI_ROLES_PLANNER_MODEL": "big", "EDGEMEM_OPENAI_ROLES_EVENT_WRITER_BASE_URL": "http://board/v1",
        "OPENAI_BASE_URL": "http://elsewhere/v1",
    }  # fmt: skip
    settings = with_environment(OpenAISettings(model="own"), environment)
    served = {task: server_for(task, settings, environment) for task in ("router", "planner", "event_writer")}
    assert [(s.base_url, s.model, reveal(s.api_key)) for s in served.values()] == [
        ("http://hub/v1", "own", "k"), ("http://hub/v1", "big", "k"), ("http://board/v1", "", ""),
    ]  # fmt: skip
    assert not with_environment(OpenAISettings(), {"OPENAI_BASE_URL": "http://elsewhere/v1", "OPENAI_API_KEY": "k"}).configured
    kept = with_environment(OpenAISettings(api_key_file="/run/key"), environment)
    assert not kept.api_key, "a key that was put into a file is read from there"
    with pytest.raises(UsageError, match="must start with http"):
        with_environment(OpenAISettings(), {"EDGEMEM_OPENAI_BASE_URL": "hub:8000"})


def test_the_model_need_not_be_named_where_there_is_one(make_chat, asking):
    with ScriptedServer(["hello"], models=["only"]) as server:
        assert make_chat(server, model="").complete(asking()).text == "hello"
        assert server.asked[0].body["model"] == "only"
    with ScriptedServer(["hello"], models=["a", "b"]) as server:
        fails(make_chat(server, model=""), asking(), "serves 2 models (a, b): name one in openai.model")


def test_threads_may_ask_at_once(make_chat, asking):
    with ScriptedServer(lambda asked: asked.text.upper()) as server:
        chat, said = make_chat(server), {}
        threads = [threading.Thread(target=lambda n=n: said.update({n: chat.complete(asking(f"question {n}")).text})) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert said == {n: f"QUESTION {n}" for n in range(8)}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"base_url": "127.0.0.1:8080"}, "must start with http://"),
        ({"base_url": "https://me:secret@example.org/v1"}, "api_key_file"),
        ({"usd_per_day": 1.0}, "usd_per_million_in"),
        ({"retries": -1}, "must not be negative"),
        ({"roles": {"planner": {"modle": "m"}}}, "modle"),
    ],
)
def test_settings_that_cannot_work_are_refused_at_the_start(make_chat, table, words):
    with pytest.raises(UsageError) as caught:
        make_chat(**table)
    assert words in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_key_in_the_environment_alone_switches_nothing_on():
    assert not OpenAISettings(api_key="k").configured
    assert OpenAISettings(model="m").configured
    assert server_for("planner", OpenAISettings(model="m"), {"OPENAI_API_KEY": "k"}).base_url == "https://api.openai.com/v1"


def test_thinking_never_ends_a_call_and_is_no_part_of_the_answer(make_chat, asking):
    with ScriptedServer([ScriptedReply(ANSWER, thinking="hm " * 5000)]) as server:
        completion = make_chat(server).complete(asking(max_tokens=20, thinking_tokens=6000, reasoning_effort="low"))
    assert (completion.text, completion.finish) == (ANSWER, "stop")
    assert (server.asked[0].body["max_tokens"], server.asked[0].body["reasoning_effort"]) == (6020, "low")


def test_what_is_thought_is_counted_where_the_server_states_no_usage(make_chat, asking):
    with ScriptedServer([ScriptedReply("yes", thinking="hm " * 300, usage=None)]) as server:
        assert make_chat(server).complete(asking()).tokens_out >= 300


def test_further_keys_go_as_they_are_and_unknown_ones_of_ours_are_left_out(make_chat, asking):
    with ScriptedServer(["yes", "yes"], rejects={"reasoning_effort", "logprobs"}) as server:
        chat = make_chat(server)
        for _ in range(2):
            chat.complete(asking(extra_body={"top_k": 7}, reasoning_effort="high", logprobs=3))
    assert len(server.rejected) == 2
    for asked in server.asked:
        assert asked.body["top_k"] == 7
        assert not {"reasoning_effort", "logprobs", "top_logprobs"} & set(asked.body)


@pytest.mark.parametrize("stream", [True, False])
def test_log_probabilities_come_back_for_every_token(make_chat, asking, stream):
    reply = ScriptedReply("on the desk")
    if not stream:
        reply = ScriptedReply(body=_completion(reply, _Requested(usage=True, logprobs=3)))
    with ScriptedServer([reply, "plain"]) as server:
        chat = make_chat(server)
        completion = chat.complete(asking(logprobs=3))
        assert chat.complete(asking()).logprobs == ()
    assert "".join(one.token for one in completion.logprobs) == "on the desk"
    first = completion.logprobs[0]
    assert math.exp(first.logprob) == pytest.approx(0.5)
    assert [name for name, _ in first.top] == ["on ", "other1", "other2"]
    assert first.top[0][1] > first.top[1][1] > first.top[2][1]


def test_content_that_comes_as_a_list_of_parts_is_read(make_chat, asking):
    parts = b'[{"type": "text", "text": "who"}, {"type": "text", "text": "le"}]'
    body = b'{"choices": [{"message": {"content": ' + parts + b'}, "finish_reason": "stop"}]}'
    with ScriptedServer([ScriptedReply("in the kitchen", parts=True), ScriptedReply(body=body)]) as server:
        chat = make_chat(server)
        assert chat.complete(asking()).text == "in the kitchen"
        assert chat.complete(asking()).text == "whole"


def test_a_server_refuses_one_schema_and_keeps_the_others(make_chat, asking):
    def complaint(schema):
        return "In context=(), 'minItems' is not permitted." if "list" in schema["properties"] else ""

    odd = {"type": "object", "properties": {"list": {"type": "array", "minItems": 1}}, "required": ["list"], "additionalProperties": False}
    with ScriptedServer([ANSWER] * 3, refuses_schema=complaint) as server:
        chat = make_chat(server)
        for schema in (odd, SCHEMA, odd):
            chat.complete(asking(schema=schema))
    assert [asked.schema is not None for asked in server.asked] == [False, True, False]
    assert len(server.rejected) == 1
