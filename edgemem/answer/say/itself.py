"""Answers to what is said to edgemem itself: nothing was asked, what it is, the clock, the recording as a whole, where one is."""

from __future__ import annotations

import re

import msgspec

from edgemem.answer.compose import span_text, time_text
from edgemem.answer.say import base, scenes
from edgemem.answer.say.base import Plan
from edgemem.answer.session import Session
from edgemem.answer.tools import Reply
from edgemem.answer.understand.wordings import patterns
from edgemem.clock import to_local
from edgemem.records import US

_ASK = "Ask me what was seen, read or said, such as: where did I leave the mug?"
_DEVICE = "I answer from what was recorded: edgemem memory stats tells how full the memory is, edgemem doctor how the device is."
_GREETINGS = ("Hello.", "I am here.")
NOTHING_BEFORE = "I do not know what this goes on about; name it, or ask with --session last."
_RECORDINGS = 4
"""So many are told one by one."""
_ITSELF = "I am edgemem: I keep what this camera saw, what could be read and what was said, and answer from that alone. I can be wrong."


def without_looking(s: Session) -> Reply | None:
    """What no memory is needed for; None where one is."""
    now = to_local(s.question.asked_us, s.question.tz)
    back = next((reply for reply, said in patterns("REPLIES") if said.search(s.parsed.text.rstrip(" ?!."))), "All right.")
    told = {
        "nothing": f"{back} {_ASK}" if back in _GREETINGS else back,
        "itself": f"{_ITSELF} {_ASK}",
        "device": _DEVICE,
        "clock": f"It is {now:%H:%M on %A, %Y-%m-%d}.",
        "told": NOTHING_BEFORE,
    }
    return base.abstain(told[s.parsed.about]) if s.parsed.about in told else None


def of_recording(s: Session) -> Plan:
    """From when to when the memory reaches, or when it was recorded in the time that is asked about; what its newest pictures show where it
    is asked where one is.
    """
    if s.span.problem:
        return base.abstain(s.span.problem)
    scene = yield from base.inspect(base.window_of(s), limit=2)
    ends = scene.evidence
    if not ends:
        return base.abstain("Nothing was recorded.")
    first, last = ends[0], ends[-1]
    if s.parsed.about == "here":
        there = yield from scenes.describe(s)
        return msgspec.structs.replace(
            there, text=f"I do not know places by name. The newest pictures: {there.text}", unverified=("where",)
        )
    now = " Whether it records just now I cannot tell." if re.match(r"(?:is|are)\b", s.parsed.text) else ""
    recorded = scene.recorded if len(scene.recorded) > 1 else ((first.t0_us, last.t1_us),)
    each = [" to ".join(time_text(t_us, s.question.tz) for t_us in one) for one in recorded]
    length = span_text(sum(end_us - begun_us for begun_us, end_us in recorded) / US)
    text = f"I remember from {each[0]}, {length}."
    if len(each) > 1:
        days = len({to_local(begun_us, s.question.tz).date() for begun_us, _ in recorded})
        when = f"on {days} days" if days > 1 else "on one day"
        listed = (
            f", from {'; from '.join(each)}"
            if len(each) <= _RECORDINGS
            else f", from {each[0].partition(' to ')[0]} to {each[-1].partition(' to ')[2]}"
        )
        text = f"I recorded {len(each)} times {when}{listed}, {length} in all."
    return base.answered(f"{text}{now}", 0.9, base.cite(ends))
