"""Questions and times with what they mean, as tables (`tables/*.txt`): every slot of every line must be read as it stands there."""

from pathlib import Path

import msgspec
import pytest

from edgemem.answer.understand import Parsed, understand
from edgemem.answer.understand.record import Answered
from edgemem.answer.understand.timeref import Clock, take_time
from edgemem.records import US, Evidence

TABLES = Path(__file__).parent / "tables"
UNTOLD = frozenset(("text", "core", "words", "asked", "notes", "answered", "near", "anchor"))
"""Slots that other tests hold."""


def rows(name: str) -> list[tuple[str, str]]:
    """What is asked and what it means, of each line; "#" begins a remark."""
    lines = (TABLES / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.partition(" => ")[::2] for line in lines if line and not line.startswith("#"))
    return [(asked, meant) for asked, meant in pairs]


def told(parsed: Parsed) -> str:
    """Every slot that says something; the names of a tuple with "+" between them."""
    slots = {name: getattr(parsed, name) for name in parsed.__struct_fields__ if name not in UNTOLD}
    slots["time"] = parsed.time.said if parsed.time else ""
    slots["language"] = "" if parsed.language == "en" else parsed.language
    said = {name: " + ".join(value) if isinstance(value, tuple) else value for name, value in slots.items()}
    return " | ".join(f"{name}={value}" for name, value in said.items() if value not in {"", "none", False})


@pytest.mark.parametrize(("asked", "meant"), rows("questions"))
def test_every_slot_of_a_question(asked: str, meant: str) -> None:
    assert told(understand(asked)) == meant


@pytest.mark.parametrize(("asked", "meant"), rows("followups"))
def test_every_slot_of_a_question_that_goes_on(asked: str, meant: str) -> None:
    first, then = asked.split(" >> ")
    proof = Evidence(id="m1", channel="frame", stream="walk", t0_us=US, t1_us=US, offset_us=US, score=0.5, text="")
    parsed = understand(then, msgspec.structs.replace(understand(first), answered=Answered(evidence=(proof,))))
    assert " | ".join([told(parsed), *(name for name in ("near", "anchor") if getattr(parsed, name) is proof)]) == meant


def clock(one: Clock) -> str:
    """Such as 10:05:00/60 for a minute; "?" where it may be in the afternoon too, "@605" for the same figures as a place in a stream."""
    if one.day_s < 0:
        return f"/{one.exact_s:g}@{one.offset_s:g}"
    hour, rest = divmod(one.day_s, 3600)
    place = "" if one.offset_s is None else f"@{one.offset_s:g}"
    return f"{hour:02g}:{rest // 60:02g}:{rest % 60:02g}/{one.exact_s:g}{'?' if one.half_day else ''}{place}"


def timed(text: str) -> str:
    """The fields of the time in a text, and what is left of the text."""
    ref, rest = take_time(text.lower())
    if ref is None:
        return "none"
    fields = {name: getattr(ref, name) for name in ref.__struct_fields__ if name != "said"}
    shown = {name: clock(value) if isinstance(value, Clock) else value for name, value in fields.items()}
    said = [f"{name}={value}" for name, value in shown.items() if value not in {"", None, False} and value != "at"]
    return " | ".join([*said, *([f"rest={rest}"] if rest else [])])


@pytest.mark.parametrize(("said", "meant"), rows("times"))
def test_every_part_of_a_time(said: str, meant: str) -> None:
    assert timed(said) == meant
