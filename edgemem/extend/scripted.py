"""Language models for tests: one with scripted replies, and one that returns the replies of a recorded session.

Both implement `infer.chat.Chat` and use no server. A test server with HTTP is in `edgemem_openai.testing`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from edgemem.errors import ChatError
from edgemem.infer.chat import Completion, Prompt
from edgemem.llm.calls import Call, recorded

ScriptLine = str | Mapping[str, Any] | Completion | Exception
"""The reply to one prompt: a text, an object that becomes JSON, a whole completion, or an error that is raised."""
Script = Sequence[ScriptLine | Callable[[Prompt], ScriptLine]] | Callable[[Prompt], ScriptLine]


class ScriptedChat:
    """Returns the lines of a script in order, or of one script for each task. Safe to call from several threads."""

    name = "scripted"

    def __init__(self, script: Script | Mapping[str, Script], *, vision: bool = True) -> None:
        self._scripts = dict(script) if isinstance(script, Mapping) else {"": script}
        self._vision = vision
        self._lock = threading.Lock()
        self.asked: list[Prompt] = []
        """Every prompt, in order."""

    def sees(self, _task: str) -> bool:
        """The value of `vision`."""
        return self._vision

    def complete(self, prompt: Prompt) -> Completion:
        """The next line. Raises ChatError if the script of the task has no more lines."""
        with self._lock:
            self.asked.append(prompt)
            key = prompt.task if prompt.task in self._scripts else ""
            script = self._scripts.get(key, ())
            line: Any = script if callable(script) else next(iter(script), None)
            if not callable(script):
                self._scripts[key] = script[1:]
        line = line(prompt) if callable(line) else line
        if line is None:
            raise ChatError(f"the script has no line left for {prompt.task}")
        if isinstance(line, Exception):
            raise line
        if isinstance(line, Completion):
            return line
        return Completion(text=line if isinstance(line, str) else json.dumps(line), model="scripted", tokens_in=100, tokens_out=20)


class ReplayChat:
    """Returns recorded replies: every prompt gets the reply that the same prompt got before, including errors.

    Two prompts are the same if their task, messages, picture ids and schema are equal. Each of several equal calls is returned once, in
    their order.
    """

    name = "replay"

    def __init__(self, calls: Iterable[Call]) -> None:
        self._calls = [call for call in calls if call.request is not None]
        self._shown = {call.task for call in self._calls if call.pictures}
        self._lock = threading.Lock()

    def sees(self, task: str) -> bool:
        """Whether this task had pictures in the recording."""
        return task in self._shown

    def complete(self, prompt: Prompt) -> Completion:
        """The recorded reply. Raises ChatError if it is a recorded error, and for a prompt that was not recorded."""
        wanted = _key(recorded(prompt))
        with self._lock:
            found = next((call for call in self._calls if call.request is not None and _key(call.request) == wanted), None)
            if found is None:
                raise ChatError(f"the recorded session has no such call of the task {prompt.task}")
            self._calls.remove(found)
        if found.error:
            raise ChatError(found.error)
        return Completion(
            text=found.reply, model=found.model, tokens_in=found.tokens_in, tokens_out=found.tokens_out, ms=found.ms, usd=found.usd,
            finish=found.finish, logprobs=found.logprobs,
        )  # fmt: skip


def _key(prompt: Prompt) -> tuple[Any, ...]:
    return prompt.task, prompt.messages, prompt.schema, prompt.thinking_tokens
