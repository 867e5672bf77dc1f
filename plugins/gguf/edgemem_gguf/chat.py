"""The chat `gguf`: llama.cpp in this process, one reply at a time."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from edgemem.errors import ChatError
from edgemem.infer.chat import Completion, Prompt, TokenLogprob


class GgufChat:
    """Loads the model at its first use. Replies follow the schema of a prompt: llama.cpp samples only what the schema allows.

    The time limit is checked after every piece of a reply; a prompt is always read to its end first.
    """

    name = "gguf"

    def __init__(self, model_file: Callable[[], Path], context_tokens: int, threads: int, call_s: float) -> None:
        self._model_file = model_file
        self._context_tokens = context_tokens
        self._threads = threads
        self._call_s = call_s
        self._server: Any = None
        self._model = ""
        self._lock = threading.Lock()

    def sees(self, _task: str) -> bool:
        """False: pictures need an additional projector file, which is not loaded."""
        return False

    def complete(self, prompt: Prompt) -> Completion:
        """Answer once. Raises ChatError if the model cannot be loaded, the prompt is too long, or the time is over."""
        if any(message.images for message in prompt.messages):
            raise ChatError("gguf.model accepts only text; for pictures use a model that accepts them (openai.base_url)")
        with self._lock:  # `call_s` is for one reply: not for those that are waited for
            return self._asked(self._loaded(), prompt, time.monotonic())

    def _asked(self, server: Any, prompt: Prompt, start: float) -> Completion:
        reply = _Reply(start + self._call_s)
        try:
            server.handle_chat_completions(_request(prompt), reply.add)
        except (ValueError, RuntimeError) as error:
            raise ChatError(f"gguf: the model does not accept this request: {' '.join(str(error).split())[-200:]}") from None
        if reply.error:
            raise ChatError(f"gguf: {reply.error}; raise gguf.context_tokens if the prompt was too long")
        if not reply.finish:
            late = f"was not complete after gguf.call_s = {self._call_s:g}; raise it, or use a smaller model"
            raise ChatError(f"gguf: the reply {late if reply.late else 'ended early'}")
        return Completion(
            text="".join(reply.pieces).strip(),
            model=self._model,
            tokens_in=reply.usage.get("prompt_tokens", 0),
            tokens_out=reply.usage.get("completion_tokens", 0),
            ms=1000 * (time.monotonic() - start),
            finish="length" if reply.finish == "length" else "stop",
            logprobs=tuple(reply.logprobs),
        )

    def _loaded(self) -> Any:
        if self._server is None:
            path = self._model_file()
            if not path.is_file():
                raise ChatError(f"gguf.model: {path}: no such file")
            import xllamacpp

            try:
                self._server = xllamacpp.Server(self._parameters(xllamacpp, path))
            except RuntimeError as error:
                raise ChatError(f"gguf.model: {path} cannot be loaded ({error}); is it a GGUF file, and is there memory enough?") from None
            self._model = path.stem
        return self._server

    def _parameters(self, llama: Any, path: Path) -> Any:
        wanted = llama.CommonParams()
        wanted.model.path = str(path)
        wanted.n_ctx, wanted.n_parallel, wanted.warmup, wanted.verbosity = self._context_tokens, 1, False, -1
        for cpu in (wanted.cpuparams, wanted.cpuparams_batch):
            cpu.n_threads, cpu.poll = self._threads, 0
        # The library listens on a port of this machine: no other program may get an answer, a prompt or a page there.
        wanted.hostnames, wanted.api_keys = ["127.0.0.1"], [secrets.token_hex(32)]
        wanted.ui = wanted.endpoint_slots = wanted.endpoint_metrics = wanted.endpoint_props = False
        return wanted


class _Reply:
    """The part of a reply that has arrived."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self.pieces: list[str] = []
        self.logprobs: list[TokenLogprob] = []
        self.usage: dict[str, int] = {}
        self.finish = ""
        self.error = ""
        self.late = False

    def add(self, chunk: dict[str, Any]) -> bool:
        """Add a piece; True stops the model. It must not raise: an error here would be lost."""
        self.usage = chunk.get("usage") or self.usage
        if chunk.get("error"):
            self.error = str(chunk["error"].get("message", "failed"))
        for choice in chunk.get("choices", ()):
            self.pieces.append(choice.get("delta", {}).get("content") or "")
            self.finish = choice.get("finish_reason") or self.finish
            self.logprobs += [_logprob(one) for one in (choice.get("logprobs") or {}).get("content") or ()]
        self.late = time.monotonic() > self._deadline
        return self.late


def _logprob(one: dict[str, Any]) -> TokenLogprob:
    top = tuple((other["token"], float(other["logprob"])) for other in one.get("top_logprobs", ()))
    return TokenLogprob(token=one["token"], logprob=float(one["logprob"]), top=top)


def _request(prompt: Prompt) -> dict[str, Any]:
    wanted: dict[str, Any] = {
        "messages": [{"role": message.role, "content": message.text} for message in prompt.messages],
        "temperature": prompt.temperature,
        "max_tokens": prompt.max_tokens + prompt.thinking_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        **prompt.extra_body,
    }
    if prompt.logprobs:
        wanted |= {"logprobs": True, "top_logprobs": prompt.logprobs}
    if prompt.schema is not None:
        wanted["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": prompt.schema}}
    return wanted
