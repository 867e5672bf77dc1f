"""Stretches of time as a plan names them: a day, times of day, both, or full times; read on the clock of the one who asks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta

from edgemem.clock import from_iso, to_local
from edgemem.errors import UsageError
from edgemem.records import US
from edgemem_egagent.actions import MOST_SPANS, Day, Span

_CLOCK = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?")


def spans_of(day: str, begin: str, end: str, days: Sequence[Day], tz: str, as_of_us: int) -> tuple[Span, ...]:
    """The stretches that are meant, none later than `as_of_us`; () where nothing that can be read is named.

    `day` is a date, `begin` and `end` are times of day or ISO 8601 times. Times of day without a day mean every one of `days`.
    """
    if _is_clock(begin) or _is_clock(end) or _date(day) is not None:
        dated = _date(day) or _date(begin[:10]) or _date(end[:10])
        chosen = [dated] if dated is not None else [one for held in days[-MOST_SPANS:] if (one := _date(held.date)) is not None]
        found = [_on(one, begin, end, tz) for one in chosen]
    else:
        found = [Span(from_us=_time(begin, tz), to_us=_time(end, tz))]
    return tuple(span for one in found if (span := _until(one, as_of_us)) is not None and span != Span(to_us=as_of_us))


def day_of(t_us: int, tz: str) -> str:
    """The date on the clock of the one who asks."""
    return to_local(t_us, tz).date().isoformat()


def day_span(day: str, tz: str) -> tuple[int, int]:
    """First and last microsecond of a date. Raises UsageError for a zone that is none."""
    first = date.fromisoformat(day)
    first_us = from_iso(first.isoformat(), tz)
    if first == date.max:  # the end of all time, as `to_local` tells it
        return first_us, first_us + 86_400 * US - 1
    return first_us, from_iso((first + timedelta(days=1)).isoformat(), tz) - 1


def _on(day: date, begin: str, end: str, tz: str) -> Span:
    """From `begin` to `end` of that day; an end before the beginning is one of the next day (from 22:00 to 02:00)."""
    first_us, last_us = day_span(day.isoformat(), tz)
    from_us = _at(day, begin, tz)
    to_us = _at(day, end, tz)
    if from_us is not None and to_us is not None and to_us < from_us and _is_clock(end):
        to_us = _at(day + timedelta(days=1), end, tz)
    return Span(from_us=first_us if from_us is None else from_us, to_us=last_us if to_us is None else to_us)


def _at(day: date, text: str, tz: str) -> int | None:
    return (
        _time(f"{day.isoformat()}T{text.zfill(5) if text.count(':') == 1 else text.zfill(8)}", tz) if _is_clock(text) else _time(text, tz)
    )


def _is_clock(text: str) -> bool:
    return bool(_CLOCK.fullmatch(text))


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _time(text: str, tz: str) -> int | None:
    """What cannot be read as a time is no bound."""
    try:
        return from_iso(text, tz) if text else None
    except UsageError:
        return None


def _until(span: Span, as_of_us: int) -> Span | None:
    """The part of it up to the time of the question."""
    low = span.from_us if span.from_us is None or span.from_us <= as_of_us else None
    if span.from_us is not None and low is None:
        return None
    high = as_of_us if span.to_us is None else min(span.to_us, as_of_us)
    if low is not None and high < low:
        return Span(to_us=high)
    return Span(from_us=low, to_us=high)
