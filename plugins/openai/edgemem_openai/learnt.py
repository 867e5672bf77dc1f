"""What was learnt about servers: stored for a week on disk; facts about one schema only for this process."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import Any

import msgspec

from edgemem.errors import ChatError
from edgemem.infer.chat import Prompt
from edgemem_openai.dialect import Dialect, Structured, about_one_schema
from edgemem_openai.ledger import UsageLedger

LEARNT_DAYS = 7
"""After this time all parameters are tried again, because the server may have been updated."""

ServerModel = tuple[str, str]
"""Base URL and model."""


class LearntDialects:
    """The dialect of every server and model. A schema that was refused is sent as text; other schemas are not affected."""

    def __init__(self, ledger: UsageLedger) -> None:
        self._ledger = ledger
        self._dialects: dict[ServerModel, Dialect] = {}
        self._refused: dict[tuple[ServerModel, bytes], Structured] = {}

    def dialect(self, key: ServerModel, schema: dict[str, Any] | None = None) -> Dialect:
        """The dialect for a request with this schema."""
        if key not in self._dialects:
            known = self._ledger.dialect(*key, LEARNT_DAYS)
            self._dialects[key] = msgspec.json.decode(known, type=Dialect) if known else Dialect()
        weaker = self._refused.get((key, _digest(schema)))
        return self._dialects[key] if weaker is None else msgspec.structs.replace(self._dialects[key], structured=weaker)

    def learn(self, key: ServerModel, prompt: Prompt, complaint: str) -> bool:
        """Learn from an error message. False if it names nothing that can be left out, so that asking again does not help."""
        now, schema = self.dialect(key, prompt.schema), (key, _digest(prompt.schema))
        images = any(message.images for message in prompt.messages)
        changed = now.without(complaint, structured=prompt.schema is not None, images=images)
        if changed is None:
            return False
        if changed.structured != now.structured and (schema in self._refused or about_one_schema(complaint)):
            self._refused[schema] = changed.structured
            return True
        if changed.structured == now.structured:  # a problem of this schema does not apply to others
            changed = msgspec.structs.replace(changed, structured=self._dialects[key].structured)
        self._dialects[key] = changed
        with suppress(ChatError):  # it is learnt again next time
            self._ledger.learn(*key, msgspec.json.encode(changed))
        return changed.images  # pictures cannot be replaced by text


def _digest(schema: dict[str, Any] | None) -> bytes:
    return hashlib.sha256(msgspec.json.encode(schema, order="deterministic")).digest()
