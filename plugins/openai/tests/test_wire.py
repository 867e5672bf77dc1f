"""Server-sent events in all divisions into chunks, and text around a reply."""

from __future__ import annotations

import time
from email.utils import formatdate
from itertools import pairwise

import pytest
from edgemem_openai.failures import _retry_after
from edgemem_openai.reply import Reply, without_thoughts
from edgemem_openai.wire import events, keeps_strict_rules
from hypothesis import given
from hypothesis import strategies as st

from edgemem.infer.chat import Prompt

STREAM = (
    b': ping\r\n\r\nevent: message\r\nid: 7\r\ndata: {"a": 1}\r\n\r\n\n\n'
    b'data:{"b": 2}\n\ndata: {"c":\ndata: 3}\n\ndata: [DONE]\n\ndata: {"late": 1}\n\n'
)


@given(st.lists(st.integers(0, len(STREAM)), max_size=12).map(sorted))
def test_events_do_not_depend_on_how_the_bytes_arrive(cuts):
    edges = [0, *cuts, len(STREAM)]
    chunks = [STREAM[start:end] for start, end in pairwise(edges)]
    assert list(events(chunks)) == [b'{"a": 1}', b'{"b": 2}', b'{"c":\n3}']


def test_a_stream_that_ends_without_a_blank_line_loses_nothing():
    assert list(events([b"data: 1\n\nda", b"ta: 2\n"])) == [b"1", b"2"]
    assert list(events([])) == []


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_an_error(data):
    list(events([data]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>\nlet me see\n</think>\n\nin the kitchen", "in the kitchen"),
        ("  in the kitchen\n", "in the kitchen"),
        ("<think> without an end", "<think> without an end"),
    ],
)
def test_thoughts_before_a_reply_are_taken_off(text, expected):
    assert without_thoughts(text) == expected


def test_strict_is_promised_only_for_schemas_that_are():
    strict = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
    assert keeps_strict_rules({"$ref": "#/$defs/A", "$defs": {"A": strict}})
    assert not keeps_strict_rules({"anyOf": [strict, {**strict, "required": []}]})
    assert not keeps_strict_rules({"type": "object"})


def test_both_forms_of_retry_after_are_read():
    assert _retry_after({"retry-after": "1.5"}) == 1.5
    assert _retry_after({"retry-after-ms": "250"}) == 0.25
    assert 50 < _retry_after({"retry-after": formatdate(time.time() + 60, usegmt=True)}) <= 60
    assert _retry_after({"retry-after": formatdate(0, usegmt=True)}) == 0
    assert _retry_after({"retry-after": "soon"}) is None
    assert _retry_after({}) is None


def test_what_a_reply_costs_is_estimated_from_above_until_the_server_tells():
    reply = Reply(Prompt(task="planner", messages=()))
    assert reply.tokens(100) == (0, 0), "nothing arrived, nothing is charged"
    reply.charged = True
    assert reply.tokens(100) == (100, 0)
    reply.add(b'{"choices": [{"delta": {"content": "%s"}}]}' % (b"x" * 30))
    assert reply.tokens(100) == (100, 10), "3 characters a token"
    reply.add(b'{"choices": [{"delta": {"reasoning": "%s"}}]}' % (b"y" * 60))
    assert reply.tokens(100) == (100, 30), "thoughts are tokens too"
    assert reply.text == "x" * 30
    reply.add(b'{"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 8}}')
    assert reply.tokens(100) == (7, 8)
