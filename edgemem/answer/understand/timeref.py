"""Times in a question: from words to a `TimeRef` by the patterns of `times.txt`; where in a memory that is says `timespan.resolve`."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from datetime import date
from typing import Literal

import msgspec

from edgemem.answer.understand.wordings import pattern, patterns
from edgemem.answer.understand.words import NUMBERS
from edgemem.records import Record

_DAY_S = 86_400
_HALF_DAY_S = 43_200

_VAGUE_NUMBERS = {"": 1.0, "a": 1.0, "an": 1.0, "half": 0.5, "couple of": 2.0, "a couple of": 2.0, "few": 3.0, "a few": 3.0}
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": _DAY_S, "w": 7 * _DAY_S, "f": 14 * _DAY_S, "mo": 30 * _DAY_S, "y": 365 * _DAY_S}
WEEKDAYS = [name.lower() for name in calendar.day_name]
_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items()}
PARTS = {
    "morning": (5, 12), "noon": (11, 14), "afternoon": (12, 18), "evening": (17, 23), "tonight": (18, 29), "night": (18, 29),
    "early hours": (0, 6), "dawn": (4, 8), "lunchtime": (11, 14), "dusk": (17, 22),
}  # fmt: skip
"""Hours of the day; above 24 reaches into the next morning."""

CALENDAR = frozenset((*WEEKDAYS, *(name for name in _MONTHS if len(name) > 3), *PARTS, "weekend", "tomorrow", "fortnight", "ago"))
"""Words of the calendar."""

Relation = Literal["at", "between", "before", "after"]


class Clock(Record, frozen=True):
    """A time of day, and what else it may mean."""

    day_s: float
    """Seconds after midnight."""
    exact_s: float
    """How exactly it was said: 1 for 10:02:14, 60 for 10:02, 3600 for 10 am."""
    half_day: bool = False
    """No am or pm was said and the hour is at most 12."""
    offset_s: float | None = None
    """The same figures as a place in a stream."""


class TimeRef(Record, frozen=True):
    """What a question says about time. Fields that were not said keep their defaults."""

    said: str
    relation: Relation = "at"
    first: Clock | None = None
    second: Clock | None = None
    day: str = ""
    """"today", "yesterday", a weekday, an ISO date, "week" ..."""
    last_of: str = ""
    """The last of several days ("from Sunday to Tuesday")."""
    part: str = ""
    """"morning" ..., see `PARTS`."""
    ago_s: float | None = None
    last_s: float | None = None
    offsets_s: tuple[float, float] | None = None
    """A stretch of a stream; negative counts from its end."""
    edge: Literal["", "begin", "middle", "end"] = ""
    """The first, middle or last part of a stream."""
    future: bool = False

    @property
    def within_day(self) -> bool:
        """It names a part of a day or of a stream, by the clock or by a length."""
        return bool(self.first or self.offsets_s or self.edge) or self.ago_s is not None or self.last_s is not None


def take_time(text: str) -> tuple[TimeRef | None, str]:
    """Cut every phrase of time out of lower-case `text`: what they say together, and the rest of the text."""
    said: list[str] = []
    found: dict[str, object] = {}
    text = re.sub(r"(\d{4}-\d{2}-\d{2})[t ](\d{1,2}:\d{2}(?::\d{2})?)(?:\.\d+)?z?\b", r"on \1 at \2", text)
    for given, phrase in patterns("TIME"):
        match = phrase.search(text)
        fields = _fields(given, match) if match else {}
        if match is None or not fields or any(key in found for key in fields):
            continue
        found |= fields
        said.append(match[0].strip(" ,").removesuffix("'s"))
        after = text[match.end() :].removeprefix("'s")  # "tonight's film"
        text = f"{text[: match.start()]} {after}"
    if not found:
        return None, text
    return _same_half(TimeRef(said=" ".join(said), **found)), " ".join(text.split())  # type: ignore[arg-type]


def _fields(given: str, match: re.Match[str]) -> dict[str, object]:
    """What a pattern says, given with it ("day=yesterday part=night") or in its named groups; {} where a word has no meaning (25:00)."""
    said = {name: words.replace("_", " ") for name, _, words in (pair.partition("=") for pair in given.split())}
    said |= {name: words for name, words in match.groupdict().items() if words}
    fields = {_READ[name][0]: _READ[name][1](words) for name, words in said.items()}
    return {} if None in fields.values() else fields


def _same_half(time: TimeRef) -> TimeRef:
    """In "from 2:00 to 4 pm" the first time is of the afternoon as well."""
    first, second = time.first, time.second
    if first is None or second is None or second.half_day or not first.half_day:
        return time
    later = _HALF_DAY_S if first.day_s + _HALF_DAY_S <= second.day_s else 0
    return msgspec.structs.replace(time, first=msgspec.structs.replace(first, day_s=first.day_s + later, half_day=False))


def _number(word: str) -> float:
    """Such as 2.0 for "two", "2" and "a couple of"; 0.0 for what is no number."""
    word = word.strip()
    plain = word.removesuffix(" an").removesuffix(" a")
    return float(word if word[:1].isdigit() else _VAGUE_NUMBERS.get(plain, NUMBERS.get(plain, 0)))


def duration_s(text: str) -> float:
    """Seconds of "2 min 14 s", "half an hour", "90 seconds"."""
    return sum(
        (_number(m["number"] or "") + (0.5 if m["half"] or m["more"] else 0.0))
        * _UNITS[m["unit"][: 2 if m["unit"].startswith("mo") else 1]]
        for m in pattern("AMOUNT").finditer(text)
    )


_MINUTES = {"half": 30, "quarter": 15}
_SPOKEN = re.compile(r"(?:a )?(?:(half)|(.+?)(?: minutes?)? (past|to)) (\w+)")


def read_clock(text: str) -> Clock | None:
    """A time of day in any of the usual spellings; None when the figures are none (25:00)."""
    text = text.strip()
    if text.startswith(("noon", "midday", "midnight")):
        return Clock(day_s=0 if text.startswith("midn") else _HALF_DAY_S, exact_s=900)
    if spoken := _SPOKEN.fullmatch(text):
        half, counted, side, of = spoken.groups()
        minutes = sum(_MINUTES.get(word) or _number(word) for word in re.split("[ -]", half or counted)) * (-1 if side == "to" else 1)
        hour = {"noon": 12, "midnight": 24}.get(of) or _number(of)
        return Clock(day_s=(hour * 3600 + minutes * 60) % _DAY_S, exact_s=60, half_day=True) if 1 <= hour <= 24 else None
    figures = [float(f) for f in re.findall(r"\d+(?:\.\d+)?", text)] or [_number(text.split()[0])]
    if len(figures) == 1 and figures[0] >= 100:  # "at 0830"
        figures = [float(part) for part in divmod(figures[0], 100)]
    hour, minute, second = (*figures, 0.0, 0.0)[:3]
    afternoon = re.search(r"\bp\.?m|pm|afternoon|evening|night", text) is not None
    named = afternoon or re.search(r"\ba\.?m|am\b|morning", text) is not None
    if named and hour <= 12:
        hour = hour % 12 + (12 if afternoon else 0)
    offset = sum(figure * 60**place for place, figure in enumerate(reversed(figures))) if not named and len(figures) > 1 else None
    exact = (3600.0, 60.0, 1.0)[len(figures) - 1]
    if minute >= 60 or second >= 60:
        return None
    if hour >= 24:  # 42:10 is no time of day, but a place in a stream
        return Clock(day_s=-1, exact_s=exact, offset_s=offset) if offset is not None else None
    return Clock(day_s=hour * 3600 + minute * 60 + second, exact_s=exact, half_day=not named and hour <= 12, offset_s=offset)


def _bare_hour(word: str, exact_s: float) -> Clock | None:
    """Such as "before ten", "5ish": an hour without am or pm."""
    hour = _number(word)
    return Clock(day_s=hour * 3600, exact_s=exact_s, half_day=True) if 1 <= hour <= 12 else None


_NTH = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth")


def _date(text: str) -> str | None:
    """Such as "2025-06-03"; "0000-06-03" without a year, "0000-00-03" without a month; "03.06.2025" begins with the day."""
    text = " ".join(str(_NTH.index(word) + 1) if word in _NTH else word for word in text.split())  # "the first of March"
    figures = [int(f) for f in re.findall(r"\d+", text)][:: -1 if text.count(".") == 2 else 1]
    if named := next((word for word in re.findall(r"[a-z]+", text) if word in _MONTHS), ""):
        day, year = figures[0], figures[1] if len(figures) > 1 else 0
        figures = [year, _MONTHS[named], day]
    if len(figures) == 1:  # "on the 28th"
        return f"0000-00-{figures[0]:02d}" if 1 <= figures[0] <= 31 else None
    try:
        date(figures[0] or 2024, *figures[1:])
    except ValueError:
        return None
    return "{:04d}-{:02d}-{:02d}".format(*figures)


def _mark(text: str) -> tuple[float, float]:
    """A place in a stream: a second, or a minute where none is said ("minute 5", "the 90 second mark")."""
    start = duration_s(re.sub(r"(minute|second) (\w+)", r"\2 \1", text))
    return start, start + (0.0 if re.search(r"\d ?s\b|sec", text) else 60.0)


def _nth(text: str) -> tuple[float, float]:
    """Such as "3rd minute"."""
    number, unit = re.split("st|nd|rd|th", text, maxsplit=1)
    return duration_s(f"{int(number) - 1}{unit}"), duration_s(f"{number}{unit}")


def _counter(text: str) -> tuple[float, float] | None:
    """Such as "00:12:30" into the video."""
    clock = read_clock(text)
    return (clock.offset_s, clock.offset_s) if clock and clock.offset_s is not None else None


def _minutes(text: str) -> tuple[float, ...]:
    """Such as "minute 2 and 4"."""
    return tuple(60 * _number(word.replace("minutes", "").replace("minute", "")) for word in re.split(" and | to ", text))


_SIDES = {"before": "before", "until": "before", "till": "before", "after": "after", "since": "after", "between": "between"}
_READ: dict[str, tuple[str, Callable[[str], object]]] = {
    "relation": ("relation", lambda side: _SIDES.get(side, "at")), "future": ("future", bool), "part": ("part", str),
    "first": ("first", read_clock), "second": ("second", read_clock),
    "bare": ("first", lambda hour: _bare_hour(hour, 3600.0)), "ish": ("first", lambda hour: _bare_hour(hour, 1800.0)),
    "day": ("day", str), "date": ("day", _date), "week_before": ("day", lambda day: f"{day} before"),
    "last_day": ("day", lambda day: f"last {day}"), "last_of": ("last_of", str),
    "days_ago": ("day", lambda number: f"{round(_number(number))} days ago"), "month": ("day", lambda name: f"month {_MONTHS[name]}"),
    "ago": ("ago_s", duration_s), "last": ("last_s", duration_s),
    "begin": ("offsets_s", lambda length: (0.0, duration_s(length))), "end": ("offsets_s", lambda length: (-duration_s(length), 0.0)),
    "into": ("offsets_s", lambda length: (duration_s(length),) * 2), "offset": ("offsets_s", lambda seconds: (float(seconds),) * 2),
    "edge": ("edge", str), "mark": ("offsets_s", _mark), "nth": ("offsets_s", _nth),
    "counter": ("offsets_s", _counter), "minutes": ("offsets_s", _minutes),
}  # fmt: skip
"""For what stands in `times.txt`, the field that it fills and how it is read; None where it has no meaning."""
