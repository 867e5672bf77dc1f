"""What was learnt about servers: kept for a week on disk, and for this process where it is about one schema only."""

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
"""After so long a server may have been updated and is asked anew what it knows."""

Key = tuple[str, str]
"""Base URL and model."""


class LearntDialects:
    """The dialect of every server and model. A schema that was refused is asked for in words; other schemas are not concerned."""

    def __init__(self, ledger: UsageLedger) -> None:
        self._ledger = ledger
        self._dialects: dict[Key, Dialect] = {}
        self._refused: dict[tuple[Key, bytes], Structured] = {}

    def dialect(self, key: Key, schema: dict[str, Any] | None = None) -> Dialect:
        """How to ask a server, for a reply that keeps this schema."""
        if key not in self._dialects:
            known = self._ledger.dialect(*key, LEARNT_DAYS)
            self._dialects[key] = msgspec.json.decode(known, type=Dialect) if known else Dialect()
        weaker = self._refused.get((key, _digest(schema)))
        return self._dialects[key] if weaker is None else msgspec.structs.replace(self._dialects[key], structured=weaker)

    def learn(self, key: Key, prompt: Prompt, complaint: str) -> bool:
        """Take in a complaint. False when it names nothing that could be left out, so that asking again is of no use."""
        now, schema = self.dialect(key, prompt.schema), (key, _digest(prompt.schema))
        images = any(message.images for message in prompt.messages)
        changed = now.without(complaint, structured=prompt.schema is not None, images=images)
        if changed is None:
            return False
        if changed.structured != now.structured and (schema in self._refused or about_one_schema(complaint)):
            self._refused[schema] = changed.structured
            return True
        if changed.structured == now.structured:  # this schema's own form is not every schema's
            changed = msgspec.structs.replace(changed, structured=self._dialects[key].structured)
        self._dialects[key] = changed
        with suppress(ChatError):  # then it is learnt again next time
            self._ledger.learn(*key, msgspec.json.encode(changed))
        return changed.images  # what was to be shown cannot be asked in words


def _digest(schema: dict[str, Any] | None) -> bytes:
    return hashlib.sha256(msgspec.json.encode(schema, order="deterministic")).digest()
