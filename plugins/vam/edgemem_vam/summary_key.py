"""What a summary is known again by: its window, granularity, structure and focus, written at the head of its text."""

from __future__ import annotations

import re

from edgemem.clock import offset_text
from edgemem.records import Document, Record
from edgemem_vam.payload import PLAIN

_HEAD = re.compile(r"^\[summary\] (?P<window>[^|]*) \| granularity=(?P<g>[\d.]+) s \| structure=(?P<s>[^|]*) \| focus=(?P<f>[^\n]*)\n")


class SummaryKey(Record, frozen=True):
    """Two summaries of the same key are versions of one."""

    t0_us: int
    t1_us: int
    granularity_s: float
    structure: str
    focus: str


def one_line(text: str, limit: int) -> str:
    """Without what would break the head."""
    return " ".join(text.replace("|", "/").split())[:limit].rstrip()


def structure_of(tag: str) -> str:
    """A tag as keys hold it, so that what was written under it is found under it."""
    return one_line(tag.lower(), 64)


def key_of(t0_us: int, t1_us: int, granularity_s: float, structure: str, focus: str) -> SummaryKey:
    """The key as it reads when it comes back from the memory."""
    granularity = round(granularity_s, 3)
    return SummaryKey(t0_us=t0_us, t1_us=t1_us, granularity_s=granularity, structure=structure_of(structure), focus=one_line(focus, 200))


def head(key: SummaryKey, offset_us: int) -> str:
    """First line of a summary; `offset_us`: where its window begins in the stream."""
    window = f"{offset_text(offset_us)} to {offset_text(offset_us + key.t1_us - key.t0_us)}"
    return f"[summary] {window} | granularity={key.granularity_s:.3f} s | structure={key.structure} | focus={key.focus}\n"


def read(document: Document) -> SummaryKey | None:
    """The key of a stored summary; None for one that was written by other means."""
    found = _HEAD.match(document.text)
    if found is None:
        return None
    return key_of(document.t0_us, document.t1_us, float(found["g"]), found["s"], found["f"])


def body(text: str) -> str:
    """A summary without its head."""
    return _HEAD.sub("", text, count=1)


def is_plain(body_text: str) -> bool:
    """Whether no model wrote this summary; `body_text` is without its head."""
    return body_text.partition("\n")[0] == PLAIN
