"""What of a document is embedded: the whole, at most 6 chunks and at most 6 fields (VAM, `_build_retrieval_payload`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

from edgemem.records import Record

CHUNKS = 6
FIELDS = 6
CHUNK_CHARS = 240
"""A chunk is a natural line; in a text of one line at most two sentences, at most so many characters."""
LEAD_CHARS = 160

PLAIN = "(put together without a language model)"
"""First line of a document, after its head, that a model was to write and did not: it is written anew when one answers."""

PassageKind = Literal["document", "chunk", "field"]


class Passage(Record, frozen=True):
    """A piece of a document that can be searched for."""

    kind: PassageKind
    text: str


def passages(text: str, fields: Mapping[str, str] | None = None) -> tuple[Passage, ...]:
    """The pieces of `text`. `fields` (focus, summary_structure, time_range ...) come before its lead and its tail. Each piece once."""
    body = " ".join(text.split())
    chunks = list(_chunks(text))
    named = [f"{name}: {value}" for name, value in (fields or {}).items() if value.strip()]
    if len(body) > LEAD_CHARS:
        named += [f"lead: {body[:LEAD_CHARS]}", f"tail: {body[-LEAD_CHARS:]}"]
    found = [Passage(kind="document", text=body)] if body else []
    found += [Passage(kind="chunk", text=chunk) for chunk in _distinct(chunks, body)[:CHUNKS]]
    found += [Passage(kind="field", text=field) for field in _distinct(named, body)[:FIELDS]]
    return tuple(found)


def _chunks(text: str) -> Iterable[str]:
    lines = [" ".join(line.split()) for line in text.splitlines()]
    lines = [line for line in lines if line]
    if len(lines) > 1:
        yield from (line[:CHUNK_CHARS] for line in lines)
        return
    sentences = re.split(r"(?<=[.!?])\s+", lines[0]) if lines else []
    pair = ""
    for sentence in sentences:
        if pair and (len(pair) + 1 + len(sentence) > CHUNK_CHARS or re.search(r"[.!?]\s", pair)):
            yield pair[:CHUNK_CHARS]
            pair = ""
        pair = f"{pair} {sentence}".strip()
    if pair:
        yield pair[:CHUNK_CHARS]


def _distinct(texts: Iterable[str], whole: str) -> list[str]:
    return [text for text in dict.fromkeys(texts) if text != whole]
