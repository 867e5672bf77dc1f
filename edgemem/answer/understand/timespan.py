"""From a `TimeRef` to a stretch of wall time in a memory.

A clock time without a day means the latest day on which the memory covers it, as it stands or else half a day later (people leave out
"pm"). When no day does, it is read as a place in a stream (`00:12:30` = 12 min 30 s in). Every such reading is said in the notes.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from itertools import count, product
from typing import TYPE_CHECKING

import msgspec

from edgemem.answer.understand.timeref import PARTS, WEEKDAYS, TimeRef
from edgemem.clock import offset_text, to_local, zone
from edgemem.records import US, Question, Record

if TYPE_CHECKING:
    from edgemem.remember.results import Stream
    from edgemem.remember.view import View

_DAY_S = 86_400
_NEAR_US = 120 * US
"""A moment this close counts as "recorded at that time" even outside a stream's first and last moment."""
_SPARSE_US = 1800 * US
"""Inside a stream a still scene may keep no moment for this long and still count as recorded."""
_EDGE, _EDGE_S = 0.1, 30.0
"""The beginning, the middle and the end of a stream are this share of it, and at least so many seconds."""
_RECENT_DAYS = 60
"""A question without a day means one of the last days."""
_ONE = timedelta(days=1)
_BACK = {"today": 0, "yesterday": 1, "day before yesterday": 2}
_COUNTED_BACK = "nothing was recorded then; counted back from the newest moment"


class TimeSpan(Record, frozen=True):
    """A stretch of wall time to look in. `at_us` is set when a point was named. `problem` says why there is none."""

    from_us: int | None = None
    to_us: int | None = None
    at_us: int | None = None
    notes: tuple[str, ...] = ()
    problem: str = ""
    fell_back: bool = False
    """Nothing was recorded in the stretch that was asked for; this is the last one that was."""
    to_come: bool = False
    """Its time has not come yet, which is the `problem`."""


_TO_COME = TimeSpan(problem="That time has not come yet; I remember only what was seen.", to_come=True)


def resolve(ref: TimeRef | None, question: Question, view: View) -> TimeSpan:
    """Where in this memory `ref` points. Nothing after the as-of time; a future time or a day without records comes back as `problem`."""
    bounds = view.bounds()
    now = min(question.asked_us, question.as_of_us)
    if ref is None or bounds is None:
        return TimeSpan()
    if ref.future:
        return _TO_COME
    if ref.edge or ref.offsets_s is not None:
        return _by_offset(ref.offsets_s, _streams_of(ref.day, now, question.tz, view), ref.said, ref.edge)
    if ref.ago_s is not None:
        return _ago(ref.ago_s, now, bounds, view)
    if ref.last_s is not None:
        return _last(ref.last_s, now, bounds)
    return _by_calendar(ref, now, question.tz, bounds, view)


def _recorded(view: View, t_us: int) -> bool:
    moment = view.nearest(t_us)
    inside = any(s.t0_us <= t_us <= s.t1_us for s in view.streams())
    return moment is not None and abs(moment.t_us - t_us) <= (_SPARSE_US if inside else _NEAR_US)


def _streams_of(day: str, now: int, tz: str, view: View) -> list[Stream]:
    """The streams that began on a day, newest first; all where no day is named or none began on it."""
    streams = sorted((one for one in view.streams() if one.t0_us <= now), key=lambda stream: -stream.t0_us)
    first, after = _named_days(day, to_local(now, tz).date()) if day else (date.min, date.max)
    return [one for one in streams if first <= to_local(one.t0_us, tz).date() < after] or streams


def _edge(edge: str, stream: Stream) -> tuple[float, float]:
    """Its first, middle or last part."""
    whole_s = (stream.t1_us - stream.t0_us) / US
    width_s = max(_EDGE_S, whole_s * _EDGE)
    begin_s = {"begin": 0.0, "middle": max(0.0, (whole_s - width_s) / 2)}.get(edge, -width_s)
    return begin_s, begin_s + width_s


def _by_offset(offsets_s: tuple[float, float] | None, streams: Sequence[Stream], said: str, edge: str = "") -> TimeSpan:
    """The newest stream that is long enough; a point becomes `at_us`. Without offsets an edge of the newest stream."""
    for stream in streams:
        start, end = offsets_s or _edge(edge, stream)
        base = stream.t1_us if start < 0 else stream.t0_us
        if stream.t0_us + start * US > stream.t1_us + _NEAR_US:
            continue
        from_us, to_us = base + round(start * US), base + round(end * US)
        point = end - start <= (60 if start else _EDGE_S)  # "in the first minute" is no point
        note = f'"{said}" is read as {offset_text(from_us - stream.t0_us)} into "{stream.name}"'
        at = (from_us + to_us) // 2 if point and start > 0 else from_us if point and start == 0 else None
        exact = start != end or at is None or re.search(r"\bseconds?\b|\d:\d", said)  # not "three minutes into the recording"
        slack = 0 if exact else slack_us(round(start * US))
        return TimeSpan(from_us=max(from_us - slack, stream.t0_us), to_us=max(to_us + slack, from_us + US), at_us=at, notes=(note,))
    return TimeSpan(problem=f'No stream in this memory is long enough for "{said}".')


def _ago(ago_s: float, now: int, bounds: tuple[int, int], view: View) -> TimeSpan:
    notes: tuple[str, ...] = ()
    at = now - round(ago_s * US)
    if not _recorded(view, at):
        at, notes = bounds[1] - round(ago_s * US), (_COUNTED_BACK,)
    if at < bounds[0] - _NEAR_US:
        return TimeSpan(problem="This memory does not reach back that far.")
    slack = slack_us(round(ago_s * US))
    return TimeSpan(from_us=at - slack, to_us=at + slack, at_us=at, notes=notes)


def slack_us(distance_us: int) -> int:
    """How exactly a distance in time was meant: a tenth of it, and at least 15 s."""
    return max(15 * US, distance_us // 10)


def _last(last_s: float, now: int, bounds: tuple[int, int]) -> TimeSpan:
    width = round(last_s * US)
    if now - width <= bounds[1] <= now:
        return TimeSpan(from_us=now - width, to_us=now)
    return TimeSpan(from_us=bounds[1] - width, to_us=bounds[1], notes=(_COUNTED_BACK,), fell_back=True)


def _local_us(day: date, tz: str, day_s: float = 0.0) -> int:
    """Wall time on the clock of that day, so that 10:00 stays 10:00 on the days when the clocks change."""
    whole = int(day_s)
    naive = datetime(day.year, day.month, day.day, tzinfo=zone(tz)) + timedelta(seconds=whole)
    return round(naive.timestamp()) * US + round((day_s - whole) * US)


def _named_days(name: str, today: date) -> tuple[date, date]:
    """First day and the day after the last."""
    if name.endswith(" before"):
        return _named_days(name.removesuffix(" before"), today - 7 * _ONE)
    if "month" in name:
        return _month(name, today)
    last = name.startswith("last")
    if name.endswith("weekend"):  # the one that has begun last; "last weekend" on a weekend is the one before
        begun = today - _ONE * ((today.weekday() - calendar.SATURDAY) % 7)
        day = begun - 7 * _ONE if last and begun + 2 * _ONE > today else begun
        return day, day + 2 * _ONE
    if name.endswith("year"):
        return date(today.year - last, 1, 1), date(today.year - last + 1, 1, 1)
    if name.endswith("week"):
        past = name == "past week"
        day = today - _ONE * (7 if past else today.weekday() + 7 * last)
        return day, day + (7 + past) * _ONE
    day = _named_day(name, today)
    return day, day + _ONE


def _month(name: str, today: date) -> tuple[date, date]:
    """The month of that number which has begun last ("month 5"), this one or the last one."""
    back = {"this month": 0, "last month": -1}
    number = (today.month + back[name] - 1) % 12 + 1 if name in back else int(name.removeprefix("month "))
    year = today.year if number <= today.month else today.year - 1
    return date(year, number, 1), date(year + number // 12, number % 12 + 1, 1)


def _named_day(name: str, today: date) -> date:
    """A weekday, a day counted back, the day before or after such a one, or a date; without a year the latest that is not in the future."""
    if name not in _BACK and name.startswith(("day before ", "day after ")):
        _, side, of = name.split(" ", 2)
        return _named_day(of, today) + (_ONE if side == "after" else -_ONE)
    if (weekday := name.removeprefix("last ")) in WEEKDAYS:  # "last Monday" is never today
        back = (today.weekday() - WEEKDAYS.index(weekday)) % 7
        return today - _ONE * (back or 7 * (weekday != name))
    if name in _BACK or name.endswith(" days ago"):
        return today - _ONE * int(_BACK.get(name, name.removesuffix(" days ago")))
    year, month, number = (int(f) for f in name.split("-"))
    if year:
        return date(year, month, number)
    if not month:  # "on the 28th"
        return next(day for day in (today - _ONE * back for back in count()) if day.day == number)
    years = (one for one in count(today.year, -1) if (month, number) != (2, 29) or calendar.isleap(one))
    return next(day for day in (date(one, month, number) for one in years) if day <= today)


def _newest_first(first: date, last: date) -> list[date]:
    return [last - _ONE * back for back in range((last - first).days + 1)]


def _by_calendar(ref: TimeRef, now: int, tz: str, bounds: tuple[int, int], view: View) -> TimeSpan:
    today, oldest, newest = (to_local(t_us, tz).date() for t_us in (now, *bounds))
    if not ref.day:
        return _by_clock(ref, _newest_first(oldest, newest)[:_RECENT_DAYS], now, tz, view)
    first, after = _named_days(ref.day, today)
    if ref.last_of:  # "from Friday to Monday", asked on a Wednesday
        after = _named_days(ref.last_of, today)[1]
        first -= 7 * _ONE * (first >= after)
    start, end = _local_us(first, tz), _local_us(after, tz) - 1
    if open_ := ref.relation in {"before", "after"} and ref.first is None:  # since Sunday, before Monday evening
        edge = _local_us(first, tz, 3600 * PARTS[ref.part][0] if ref.part else 0)
        start, end = (edge, _local_us(today + _ONE, tz) - 1) if ref.relation == "after" else (_local_us(oldest, tz), edge - 1)
    if start > now:
        return _TO_COME
    reach = after + _ONE * (PARTS[ref.part][1] // 24 if ref.part else 0)  # a night ends on the next day
    if not _covered(view, TimeSpan(from_us=start, to_us=end if open_ else _local_us(reach, tz) - 1)):
        day = ref.day if ref.day in {"today", "yesterday"} else f"on {first:%A %Y-%m-%d}"
        return TimeSpan(problem=f"Nothing was recorded {ref.said if open_ or ref.last_of else day}.")
    if open_ or (ref.first is None and not ref.part):
        return TimeSpan(from_us=start, to_us=end)
    return _by_clock(ref, _newest_first(first, after - _ONE), now, tz, view)


def _by_clock(ref: TimeRef, days: list[date], now: int, tz: str, view: View) -> TimeSpan:
    """The latest of `days` that the clock times or the part of the day fit."""
    if ref.first is None:
        start, end = PARTS[ref.part or "morning"]
        spans = (TimeSpan(from_us=_local_us(d, tz, start * 3600), to_us=_local_us(d, tz, end * 3600) - 1) for d in days)
        ahead = _local_us(days[-1], tz, start * 3600) > now  # "tonight", asked in the morning
        return next(
            (s for s in spans if _covered(view, s)), _TO_COME if ahead else TimeSpan(problem=f'Nothing was recorded in "{ref.said}".')
        )
    for day, later_s in product(days, (0, _DAY_S // 2) if ref.first.half_day else (0,)):
        span = _clock_span(ref, day, later_s, tz)
        if later_s and now < _local_us(day, tz, _DAY_S / 2):  # "before eight", asked at nine in the morning, is not eight pm
            continue
        if span and _covered(view, span):
            return msgspec.structs.replace(span, notes=(f'"{ref.said}" is read as pm',) if later_s else ())
    if ref.first.offset_s is not None and ref.relation in {"at", "between"}:
        end_s = ref.second.offset_s if ref.second and ref.second.offset_s is not None else ref.first.offset_s
        place = _by_offset((ref.first.offset_s, end_s), _streams_of(ref.day, now, tz, view), ref.said)
        if not place.problem:
            return place
    to_come = _local_us(to_local(now, tz).date(), tz, ref.first.day_s) > now and not ref.day
    said, yet = f'{"at " * (ref.relation == "at")}"{ref.said}"', ", and today that time has not come yet" if to_come else ""
    return TimeSpan(problem=f"Nothing was recorded {said}{yet}.")


def _clock_span(ref: TimeRef, day: date, later_s: int, tz: str) -> TimeSpan | None:
    first = ref.first
    if first is None or first.day_s < 0 or first.day_s + later_s >= _DAY_S:
        return None
    start = _local_us(day, tz, first.day_s + later_s)
    if ref.second is not None:
        end = _local_us(day, tz, ref.second.day_s + (later_s if ref.second.half_day else 0))
        return TimeSpan(from_us=start, to_us=end if end > start else end + _DAY_S * US)  # 23:50 to 00:10 crosses midnight
    if ref.relation == "before":
        return TimeSpan(from_us=_local_us(day, tz), to_us=start - 1)
    if ref.relation == "after":
        return TimeSpan(from_us=start, to_us=_local_us(day + _ONE, tz) - 1)
    exact = round(first.exact_s * US)
    if exact >= 900 * US:
        return TimeSpan(from_us=start - exact // 4, to_us=start + exact)
    return TimeSpan(from_us=start - 10 * US, to_us=start + exact + 10 * US, at_us=start + (exact // 2 if exact > US else 0))


def _covered(view: View, span: TimeSpan) -> bool:
    """The point was recorded, or the moment nearest to the middle of the stretch lies inside it; else none does."""
    if span.at_us is not None:
        return _recorded(view, span.at_us)
    if span.from_us is None or span.to_us is None:
        return False
    moment = view.nearest((span.from_us + span.to_us) // 2)
    return moment is not None and span.from_us <= moment.t_us <= span.to_us
