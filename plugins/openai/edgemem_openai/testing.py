"""A server with scripted replies of a language model: real HTTP in the protocol of OpenAI-compatible servers, including failures.

For tests of code that calls a model. Nothing is patched: the code under test uses a socket, and the test checks the requests that arrived.

    with ScriptedServer([{"action": "search"}, ScriptedReply.failing(429, retry_after_s=0.1), "the mug is in the kitchen"]) as server:
        ...                       # point openai.base_url at server.base_url
        assert server.asked[0].schema is not None
"""

from __future__ import annotations

import base64
import io
import json
import math
import re
import socket
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from edgemem_openai.local_server import LocalHandler, LocalServer

MODEL = "scripted"


@dataclass(frozen=True)
class ScriptedReply:
    """The reply to one request. The default is a short, fast, complete answer."""

    text: str = ""
    finish: str = "stop"
    """`finish_reason`: "stop", "length", "content_filter"."""
    thinking: str = ""
    """Thoughts before the text, in separate pieces of `reasoning_content`."""
    logprobs: bool = True
    """Whether log-probabilities are returned if requested."""
    parts: bool = False
    """Whether the content is a list of parts instead of a text."""
    refusal: str = ""
    """A refusal instead of the text, in the protocol's field for it."""
    usage: tuple[int, int] | None = (100, 20)
    """Tokens in and out that the server reports; None = it reports none."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """Bytes to send instead of a reply made from the fields above."""
    content_type: str = ""
    """Content type instead of the correct one."""
    wait_s: float = 0.0
    """Wait before the first byte."""
    pause_s: float = 0.0
    """Wait before every piece: of a streamed text a word with the space after it, else 16 bytes of the body."""
    cut_after: int | None = None
    """The connection is closed after this number of pieces (if the reply is not streamed: half-way)."""

    @classmethod
    def failing(cls, status: int, message: str = "", *, retry_after_s: float | None = None) -> ScriptedReply:
        """An error reply of a server: 429, 500, 401 ..."""
        headers = {} if retry_after_s is None else {"Retry-After": f"{retry_after_s:g}"}
        return cls(status=status, body=_error(message or f"scripted failure {status}"), headers=headers)


ScriptedLine = str | Mapping[str, Any] | ScriptedReply
"""One reply of a script: a text, an object that is sent as JSON text, or a `ScriptedReply`."""


@dataclass(frozen=True)
class Picture:
    """A picture that arrived, decoded."""

    jpeg: bytes
    width_px: int
    height_px: int


@dataclass(frozen=True)
class ScriptedCall:
    """One completion request as it arrived."""

    number: int
    """Number of the request, from 1."""
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    """Names in lower case."""

    @property
    def messages(self) -> list[tuple[str, str]]:
        """(role, text) of every message; pictures left out."""
        return [(message["role"], "".join(_texts(message["content"]))) for message in self.body["messages"]]

    @property
    def text(self) -> str:
        """The texts of all messages, to check what was sent."""
        return "\n".join(text for _, text in self.messages)

    @property
    def images(self) -> list[Picture]:
        """The pictures in order. Raises ValueError if one is not a JPEG data URI."""
        return [_picture(part["image_url"]["url"]) for part in self._parts() if part.get("type") == "image_url"]

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The JSON Schema in the request."""
        wanted = self.body.get("response_format", {})
        schema: Mapping[str, Any] | None = wanted.get("json_schema", {}).get("schema")
        return schema

    @property
    def stream(self) -> bool:
        """Whether the reply is requested in pieces."""
        return bool(self.body.get("stream"))

    def _parts(self) -> Iterator[Mapping[str, Any]]:
        for message in self.body["messages"]:
            yield from message["content"] if isinstance(message["content"], list) else ()


Script = Iterable[ScriptedLine | Callable[[ScriptedCall], ScriptedLine]] | Callable[[ScriptedCall], ScriptedLine]
"""Replies in order, or a function that makes a reply from each request (the list may contain functions too)."""

FEATURES = frozenset(
    {"json_schema", "json_object", "stream_options", "max_tokens", "temperature", "images", "logprobs", "reasoning_effort"}
)
"""What a server can reject, see `ScriptedServer(rejects=...)`."""


class ScriptedServer(LocalServer):
    """Replies from `script` on a free port of this machine, until the `with` block ends or `close` is called.

    `vision`: what it reports about its models in `/v1/models`; None = nothing, like most servers. `refuses_schema(schema)` returns an error
    message for a schema, or nothing; the reply is then also 400. `rejects` names parameters that get the reply 400, as from servers that do
    not know them (see FEATURES). Such requests, and those with a wrong key if `api_key` is given, use no line of the script and are listed
    in `rejected`. A request after the end of the script gets the reply 500 "the script is over".
    """

    def __init__(
        self,
        script: Script,
        *,
        rejects: Collection[str] = (),
        api_key: str = "",
        models: Sequence[str] = (MODEL,),
        port: int = 0,
        vision: bool | None = None,
        refuses_schema: Callable[[Mapping[str, Any]], str] = lambda _: "",
    ) -> None:
        if unknown := set(rejects) - FEATURES:
            raise ValueError(f"cannot reject {sorted(unknown)}; valid: {sorted(FEATURES)}")
        self._respond = script if callable(script) else None
        self._lines = iter(()) if callable(script) else iter(script)
        self._rejects, self._api_key, self._models = frozenset(rejects), api_key, tuple(models)
        self._vision, self._refuses_schema = vision, refuses_schema
        self._lock = threading.Lock()
        self.asked: list[ScriptedCall] = []
        """Every completion request that got a reply of the script, in order."""
        self.rejected: list[str] = []
        """Why requests were rejected before the script."""
        self.disconnects = 0
        """How often the client closed the connection before the reply was complete."""
        super().__init__(type("_ScriptedHandler", (_Handler,), {"scripted": self}), port)

    def reply_to(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> ScriptedReply:
        """The reply to one request. Called by the handler."""
        with self._lock:
            why = self._refusal(body, headers)
            if why is not None:
                self.rejected.append(why.body.decode() if why.body else "")
                return why
            asked = ScriptedCall(len(self.asked) + 1, body, headers)
            self.asked.append(asked)
            line: Any = self._respond or next(self._lines, None)
        line = line(asked) if callable(line) else line
        if line is None:
            return ScriptedReply.failing(500, "the script is over")
        if isinstance(line, ScriptedReply):
            return line
        return ScriptedReply(text=line if isinstance(line, str) else json.dumps(line))

    def models(self) -> bytes:
        """The reply of `/v1/models`."""
        says = {} if self._vision is None else {"input_modalities": ["text", "image"] if self._vision else ["text"]}
        return json.dumps({"object": "list", "data": [{"id": name, "object": "model", **says} for name in self._models]}).encode()

    def _refusal(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> ScriptedReply | None:
        if self._api_key and headers.get("authorization") != f"Bearer {self._api_key}":
            return ScriptedReply.failing(401, "Incorrect API key provided.")
        wanted = body.get("response_format", {}).get("type", "")
        schema = body.get("response_format", {}).get("json_schema", {})
        if wanted == "json_schema" and (why := self._refuses_schema(schema["schema"])):
            return ScriptedReply(
                status=400, body=_error(f"Invalid schema for response_format '{schema['name']}': {why}", "response_format")
            )
        images = any(isinstance(m["content"], list) and any(p["type"] == "image_url" for p in m["content"]) for m in body["messages"])
        used = {wanted: "response_format", **{name: name for name in body}, **({"images": "messages"} if images else {})}
        for feature in sorted(self._rejects & set(used)):
            parameter = used[feature]
            return ScriptedReply(
                status=400, body=_error(f"Unsupported parameter: '{parameter}' ({feature}) is not supported here.", parameter)
            )
        return None


class _Handler(LocalHandler):
    scripted: ClassVar[ScriptedServer]

    def do_GET(self) -> None:  # noqa: N802 - the name is the base class's
        known = self.path == "/v1/models"
        self._send(ScriptedReply(status=200 if known else 404, body=self.scripted.models() if known else _error(f"no {self.path}")))

    def do_POST(self) -> None:  # noqa: N802 - the name is the base class's
        raw = self.body()
        if self.path != "/v1/chat/completions":
            self._send(ScriptedReply.failing(404, f"no {self.path}"))
            return
        body = json.loads(raw)
        reply = self.scripted.reply_to(body, self.header_fields())
        self.scripted.stopping.wait(reply.wait_s)
        try:
            if reply.body is None and body.get("stream"):
                self._stream(reply, _Requested.of(body))
            else:
                self._send(reply if reply.body is not None else replace(reply, body=_completion(reply, _Requested.of(body))))
        except (ConnectionError, TimeoutError):
            self.scripted.disconnects += 1

    def _head(self, reply: ScriptedReply, content_type: str, extra: Mapping[str, str]) -> None:
        self.send_response(reply.status)
        everything = {"Content-Type": reply.content_type or content_type, "Connection": "close", **extra, **reply.headers}
        for name, value in everything.items():
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True

    def _send(self, reply: ScriptedReply) -> None:
        body = reply.body or b""
        self._head(reply, "application/json", {"Content-Length": str(len(body))})
        if reply.cut_after is None and reply.pause_s:
            for begin in range(0, len(body), 16):
                if self.scripted.stopping.wait(reply.pause_s):
                    return
                self.wfile.write(body[begin : begin + 16])
                self.wfile.flush()
        elif reply.cut_after is None:
            self.wfile.write(body)
        else:
            self.wfile.write(body[: len(body) // 2])
            self._cut()

    def _stream(self, reply: ScriptedReply, wanted: _Requested) -> None:
        self._head(reply, "text/event-stream", {"Transfer-Encoding": "chunked"})
        for number, event in enumerate(_events(reply, wanted)):
            if number == reply.cut_after:
                self._cut()
                return
            if self.scripted.stopping.wait(reply.pause_s):
                return
            data = b"data: " + event + b"\n\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def _cut(self) -> None:
        with suppress(OSError):
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)


@dataclass(frozen=True)
class _Requested:
    """What a request asks for in addition to the text."""

    usage: bool
    logprobs: int

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> _Requested:
        usage = bool(body.get("stream_options", {}).get("include_usage"))
        return cls(usage, int(body.get("top_logprobs", 0)) if body.get("logprobs") else 0)


def _events(reply: ScriptedReply, wanted: _Requested) -> Iterator[bytes]:
    """The events of a stream: one per piece, the end with its reason, the usage if requested, and the end mark."""

    def chunk(delta: Mapping[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, **more}
        return json.dumps(_frame("chat.completion.chunk") | {"choices": [choice]}).encode()

    for piece in _pieces(reply.thinking):
        yield chunk({"reasoning_content": piece})
    for piece in _pieces(reply.refusal or reply.text):
        said = {"refusal": piece} if reply.refusal else {"content": _content(reply, piece)}
        yield chunk(said, **_logprobs(reply, wanted, [piece]))
    yield chunk({}, reply.finish)
    if wanted.usage and reply.usage is not None:
        yield json.dumps(_frame("chat.completion.chunk") | {"choices": [], "usage": _usage(reply.usage)}).encode()
    yield b"[DONE]"


def _pieces(text: str) -> list[str]:
    return re.findall(r"\S+\s*|\s+", text)


def _content(reply: ScriptedReply, text: str) -> Any:
    return [{"type": "text", "text": text}] if reply.parts else text


def _logprobs(reply: ScriptedReply, wanted: _Requested, tokens: Sequence[str]) -> dict[str, Any]:
    """Every token has probability 1/2, each alternative half of the one before."""
    if not wanted.logprobs or not reply.logprobs:
        return {}
    others = [{"token": f"other{rank}", "logprob": -math.log(2) * (rank + 1), "bytes": None} for rank in range(1, wanted.logprobs)]
    own = [{"token": token, "logprob": -math.log(2), "bytes": None} for token in tokens]
    return {"logprobs": {"content": [{**one, "top_logprobs": [one, *others]} for one in own]}}


def _completion(reply: ScriptedReply, wanted: _Requested) -> bytes:
    message = {"role": "assistant", "content": None if reply.refusal else _content(reply, reply.text), "refusal": reply.refusal or None}
    thoughts = {"reasoning_content": reply.thinking} if reply.thinking else {}
    choice = {"index": 0, "message": message | thoughts, "finish_reason": reply.finish, **_logprobs(reply, wanted, _pieces(reply.text))}
    whole = _frame("chat.completion") | {"choices": [choice]}
    return json.dumps(whole | ({} if reply.usage is None else {"usage": _usage(reply.usage)})).encode()


def _frame(kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-scripted", "object": kind, "created": 0, "model": MODEL}


def _usage(tokens: tuple[int, int]) -> dict[str, int]:
    return {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}


def _error(message: str, parameter: str | None = None) -> bytes:
    return json.dumps({"error": {"message": message, "type": "invalid_request_error", "param": parameter, "code": None}}).encode()


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    else:
        yield from (part["text"] for part in content if part.get("type") == "text")


def _picture(uri: str) -> Picture:
    from PIL import Image

    head, _, data = uri.partition(",")
    if head != "data:image/jpeg;base64":
        raise ValueError(f"not a JPEG data URI: {head[:60]}")
    jpeg = base64.b64decode(data, validate=True)
    with Image.open(io.BytesIO(jpeg)) as image:
        image.load()
        return Picture(jpeg, *image.size)
