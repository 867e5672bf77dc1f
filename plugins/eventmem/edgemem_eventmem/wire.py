"""What a model replies in one step, strictly decoded: a thought, an action in words, and a tool call or the final answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from edgemem.extend import US
from edgemem_eventmem.actions import DetectObjects, ReadPicture, SearchMemory

_BOXED = re.compile(r"\\?boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
"""The final answer as the paper's prompt asks for it."""
_LONGEST_S = 10 * 366 * 86400.0
Seconds = Annotated[float, Meta(ge=-_LONGEST_S, le=_LONGEST_S)]


class WireError(Exception):
    """A reply that breaks the format; the text goes back to the model."""


class SearchCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="tool", tag="search_memory"):
    """Seconds count from the first frame of the stream."""

    query: Annotated[str, Meta(max_length=400)] = ""
    start_time: Seconds | None = None
    end_time: Seconds | None = None


class OcrCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="tool", tag="ocr"):
    """As `actions.ReadPicture`."""

    event_id: int | None = None
    frame_index: int | None = None


class DetectCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="tool", tag="detect_objects"):
    """As `actions.DetectObjects`."""

    labels: tuple[str, ...]
    event_id: int | None = None
    frame_index: int | None = None


Call = SearchCall | OcrCall | DetectCall


class Turn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One reply."""

    thought: str = ""
    action: str = ""
    call: Call | None = None
    answer: str | None = None
    cites: tuple[str, ...] = ()
    """"frame 3" or "event 12"."""


class LastTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The last reply: an answer only."""

    answer: str
    thought: str = ""
    action: str = ""
    cites: tuple[str, ...] = ()


def schema(*, last: bool = False) -> dict[str, Any]:
    """JSON Schema of a reply."""
    return msgspec.json.schema(LastTurn if last else Turn)


def decode_turn(text: str) -> Turn:
    r"""A reply as JSON, or the paper's form: any text with \boxed{answer}. Raises WireError."""
    try:
        turn = msgspec.json.decode(text, type=Turn)
    except msgspec.DecodeError as error:
        boxed = _BOXED.findall(text)
        if not boxed:
            raise WireError(str(error)) from None
        turn = Turn(answer=boxed[-1])
    answer = unboxed(turn.answer) if turn.answer is not None else ""
    if (turn.call is not None) == bool(answer):
        raise WireError("give either a tool call or an answer that is not empty")
    return msgspec.structs.replace(turn, answer=answer or None)


def unboxed(answer: str) -> str:
    r"""The answer without \boxed{}."""
    found = _BOXED.search(answer)
    return (found.group(1) if found else answer).strip()


def typed(call: Call, stream_t0_us: int) -> SearchMemory | ReadPicture | DetectObjects:
    """The call as an action, with times in microseconds. Raises WireError."""
    try:
        if isinstance(call, SearchCall):
            if call.query.strip() and (call.start_time is not None or call.end_time is not None):
                raise WireError("search_memory takes either a query or a stretch of time")
            from_us, to_us = (None if s is None else stream_t0_us + round(s * US) for s in (call.start_time, call.end_time))
            return SearchMemory(query=call.query.strip(), from_us=from_us, to_us=to_us)
        if isinstance(call, OcrCall):
            return ReadPicture(event_id=call.event_id, frame_index=call.frame_index)
        return msgspec.convert(
            {"action": "detect_objects", "labels": call.labels, "event_id": call.event_id, "frame_index": call.frame_index}, DetectObjects
        )
    except (ValueError, msgspec.ValidationError) as error:
        raise WireError(str(error)) from None


def option_of(answer: str, options: Sequence[str]) -> int | None:
    """The option that an answer names: by its letter, alone or before its text, or by its text."""
    named = re.match(r"\W*([A-Za-z])(?:\W|$)", answer)
    if named and (index := ord(named.group(1).upper()) - ord("A")) < len(options) and len(answer.strip()) <= 3:
        return index
    said = _plain(answer)
    for index, option in enumerate(options):
        if said in {_plain(option), _plain(f"{chr(65 + index)} {option}")}:
            return index
    held = [index for index, option in enumerate(options) if _plain(option) and f" {_plain(option)} " in f" {said} "]
    return held[0] if len(held) == 1 else None


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
