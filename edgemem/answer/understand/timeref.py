"""Times in a question: from words to a `TimeRef`, without looking at any memory (`timespan.resolve` does that)."""

from __future__ import annotations

import calendar
import re
from datetime import date
from typing import Literal, Protocol

from edgemem.records import Record

_DAY_S = 86_400
_HALF_DAY_S = 43_200

_WORDS = {
    **dict.fromkeys(("a", "an", "one"), 1.0), "half an": 0.5, "half a": 0.5, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0, "six": 6.0,
    "seven": 7.0, "eight": 8.0, "nine": 9.0, "ten": 10.0, "eleven": 11.0, "twelve": 12.0, "fifteen": 15.0, "twenty": 20.0, "thirty": 30.0,
    "forty": 40.0, "fifty": 50.0, "sixty": 60.0, "ninety": 90.0, "a couple of": 2.0, "a few": 3.0, "few": 3.0, "couple of": 2.0, "": 1.0,
}  # fmt: skip
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": _DAY_S, "w": 7 * _DAY_S, "f": 14 * _DAY_S, "mo": 30 * _DAY_S, "y": 365 * _DAY_S}
WEEKDAYS = [name.lower() for name in calendar.day_name]
_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items()}
PARTS = {
    "morning": (5, 12), "noon": (11, 14), "afternoon": (12, 18), "evening": (17, 23), "tonight": (18, 29), "night": (20, 29),
}  # fmt: skip
"""Hours of the day; above 24 reaches into the next morning."""

CALENDAR = frozenset((*WEEKDAYS, *(name for name in _MONTHS if len(name) > 3), *PARTS, "weekend", "tomorrow", "fortnight", "ago"))
"""Words of the calendar."""

_NUM = r"(?:\d+(?:\.\d+)?|half an?|an?(?! few| couple)|" + "|".join(sorted((w for w in _WORDS if len(w) > 2), key=len, reverse=True)) + r")"
_LONG_UNIT = r"(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|fortnights?|months?|years?)"
_UNIT = rf"(?:{_LONG_UNIT}|[smh])"
_ONE_DUR = rf"(?:{_NUM}[ -]{_LONG_UNIT}(?: and a half)?|\d+(?:\.\d+)?[ -]?{_UNIT})\b"
_DUR = rf"(?:{_ONE_DUR}(?:(?:,? and |,? ){_ONE_DUR})*)"
DURATION = rf"(?:{_DUR}|half an hour|(?:a )?few (?:minutes|hours|days)|an hour)"
"""A length of time, as in "half an hour after"."""
_AMPM = r"(?: ?(?:[ap]\.m\.|[ap]m\b)| in the (?:morning|afternoon|evening)| at night)"
_HOUR = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_CLOCK = (
    rf"(?:(?:{_HOUR}) o'?clock{_AMPM}?|\d{{1,2}}:\d{{2}}(?::\d{{2}}(?:\.\d+)?)?{_AMPM}?"
    rf"|\d{{1,2}}h\d{{2}}\b|\d{{1,2}}(?: o'?clock{_AMPM}?|{_AMPM})"
    rf"|(?:half|quarter) (?:past|to) \w+|half (?:{_HOUR})\b|noon\b|midday\b|midnight\b)"
)
_STREAM = r"(?: of (?:the|this|my) (?:\w+ )?(?:video|stream|recording|clip|film|footage|file|tape|memory))"
_START = rf"the (?:very )?(?:start|beginning|opening){_STREAM}?"
_MON = "(?:" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\.?"
_ABOUT = r"(?:at |around |about |by |near |roughly |approximately |exactly |~ ?)*"
_DATE = (
    rf"\d{{4}}-\d{{1,2}}-\d{{1,2}}|{_MON} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|\d{{1,2}}(?:st|nd|rd|th)?\.? (?:of )?{_MON}(?: \d{{4}})?"
)

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
    part: str = ""
    """"morning" ..., see `PARTS`."""
    ago_s: float | None = None
    last_s: float | None = None
    offsets_s: tuple[float, float] | None = None
    """A stretch of a stream; negative counts from its end."""
    future: bool = False


def take_time(text: str) -> tuple[TimeRef | None, str]:
    """Cut every phrase of time out of lower-case `text`: what they say together, and the rest of the text."""
    said: list[str] = []
    found: dict[str, object] = {}
    text = re.sub(r"(\d{4}-\d{2}-\d{2})[t ](\d{1,2}:\d{2}(?::\d{2})?)(?:\.\d+)?z?\b", r"on \1 at \2", text)
    for pattern, read in _RULES:
        match = pattern.search(text)
        if match is None:
            continue
        fields = read(match)
        if fields is None or any(key in found for key in fields):
            continue
        found |= fields
        said.append(match[0].strip(" ,").removesuffix("'s"))
        text = f"{text[: match.start()]} {text[match.end() :]}"
    if not found:
        return None, text
    return TimeRef(said=" ".join(said), **found), " ".join(text.split())  # type: ignore[arg-type]


def _number(word: str) -> float:
    word = word.strip()
    return float(word) if word[:1].isdigit() else _WORDS.get(word, 0.0)


def duration_s(text: str) -> float:
    """Seconds of "2 min 14 s", "half an hour", "90 seconds"."""
    if text == "half hour":
        return 1800.0
    return sum(
        (_number(m[1] or "") + (0.5 if m[3] else 0.0)) * _UNITS[m[2][:2] if m[2].startswith("mo") else m[2][0]]
        for m in re.finditer(rf"({_NUM})?[ -]?({_UNIT})\b( and a half)?", text)
    )


def read_clock(text: str) -> Clock | None:
    """A time of day in any of the usual spellings; None when the figures are none (25:00)."""
    text = text.strip()
    if text.startswith(("noon", "midday", "midnight")):
        return Clock(day_s=0 if text.startswith("midn") else _HALF_DAY_S, exact_s=900)
    if spoken := re.match(r"(half|quarter)(?: (past|to))? (\w+)", text):
        minutes = (30 if spoken[1] == "half" else 15) * (-1 if spoken[2] == "to" else 1)
        hour = _number(spoken[3])
        return Clock(day_s=(hour * 3600 + minutes * 60) % _DAY_S, exact_s=60, half_day=True) if 1 <= hour <= 24 else None
    figures = [float(f) for f in re.findall(r"\d+(?:\.\d+)?", text)] or [_number(text.split()[0])]
    hour, minute, second = (*figures, 0.0, 0.0)[:3]
    afternoon = re.search(r"\bp\.?m|pm|afternoon|evening|night", text) is not None
    named = afternoon or re.search(r"\ba\.?m|am\b|morning", text) is not None
    if named and hour <= 12:
        hour = hour % 12 + (12 if afternoon else 0)
    offset = None
    if not named and len(figures) > 1:
        offset = figures[0] * 60 + figures[1] if len(figures) == 2 else figures[0] * 3600 + figures[1] * 60 + figures[2]
    exact = (3600.0, 60.0, 1.0)[len(figures) - 1]
    if minute >= 60 or second >= 60:
        return None
    if hour >= 24:  # 42:10 is no time of day, but a place in a stream
        return Clock(day_s=-1, exact_s=exact, offset_s=offset) if offset is not None else None
    return Clock(day_s=hour * 3600 + minute * 60 + second, exact_s=exact, half_day=not named and hour <= 12, offset_s=offset)


_Fields = dict[str, object]
_SIDES: dict[str, Relation] = {"before": "before", "until": "before", "till": "before", "after": "after", "since": "after"}


def _bare_hour(relation: Relation, word: str, exact_s: float) -> _Fields | None:
    """Such as "before ten", "5ish": an hour without am or pm."""
    hour = _number(word)
    return {"relation": relation, "first": Clock(day_s=hour * 3600, exact_s=exact_s, half_day=True)} if 1 <= hour <= 12 else None


def _clocks(relation: Relation, match: re.Match[str]) -> _Fields | None:
    clocks = [clock for group in match.groups() if (clock := read_clock(group))]
    if len(clocks) < len(match.groups()):
        return None
    first, last = clocks[0], clocks[-1]
    if first.half_day and not last.half_day and first.day_s + _HALF_DAY_S <= last.day_s:  # "from 2:00 to 4 pm"
        first = Clock(day_s=first.day_s + _HALF_DAY_S, exact_s=first.exact_s, offset_s=first.offset_s)
    return {"relation": relation, "first": first, **({"second": last} if len(clocks) > 1 else {})}


def _range_figures(match: re.Match[str]) -> _Fields | None:
    """Such as "between 10 and 11 am": the first figure borrows the second's half of the day."""
    first = read_clock(f"{match[1]} {match[3]}") if match[1].isdigit() else None
    second = read_clock(f"{match[2]} {match[3]}")
    return {"relation": "between", "first": first, "second": second} if first and second else None


def _offset_point(seconds: float, exact: float) -> _Fields:
    return {"offsets_s": (seconds, seconds + exact)}


def _exactness(text: str) -> float:
    return 0.0 if re.search(r"\d ?s\b|sec", text) else 60.0


def _iso_day(match: re.Match[str]) -> _Fields | None:
    text = match[1]
    if iso := re.fullmatch(r"(\d{4})-(\d{1,2})-(\d{1,2})", text):
        year, month, day = (int(f) for f in iso.groups())
    else:
        month = _MONTHS[next(word for word in re.findall(r"[a-z]+", text) if word in _MONTHS)]
        figures = [int(f) for f in re.findall(r"\d+", text)]
        day, year = figures[0], figures[1] if len(figures) > 1 else 0
    try:
        date(year or 2024, month, day)
    except ValueError:
        return None
    return {"day": f"{year:04d}-{month:02d}-{day:02d}"}


def _day(day: str, part: str | None) -> _Fields:
    return {"day": day, "part": part} if part else {"day": day}


def _minutes(first: str, second: str) -> _Fields:
    return {"offsets_s": (60 * _number(first), 60 * _number(second))}


def _clock_offset(text: str) -> _Fields | None:
    """Such as "00:12:30 into the video"."""
    clock = read_clock(text)
    return _offset_point(clock.offset_s, 0) if clock and clock.offset_s is not None else None


def _compile(*rules: tuple[str, object]) -> list[tuple[re.Pattern[str], _Reader]]:
    return [(re.compile(pattern), read) for pattern, read in rules]  # type: ignore[misc]


class _Reader(Protocol):
    def __call__(self, match: re.Match[str]) -> _Fields | None: ...


# fmt: off
_MEDIUM = r"the (?:video|stream|recording|clip|film|footage|memory)"
_PART = r"(morning|noon|afternoon|evening|night)"
_ROUGHLY = r"(?:(?:early|late|earlier|later|sometime|some time|this time) )*"
_HOLIDAYS = {
    "christmas eve": "0000-12-24", "christmas day": "0000-12-25", "christmas": "0000-12-25", "boxing day": "0000-12-26",
    "new year's eve": "0000-12-31", "new year's day": "0000-01-01", "new year": "0000-01-01",
}  # fmt: skip
_MINE = {"day": "today", "week": "this week"}
_WEEKDAY = "|".join(WEEKDAYS)
_BARE = rf"\d{{1,2}}|{_HOUR}"
_HOW_MANY = r"\d+|two|three|four|five|six|seven|a couple of|a few"
_MON_FULL = "|".join(calendar.month_name[1:]).lower()
_RULES = _compile(
    (rf"(?<!\bday )\b(before|until|till|since) (?:last )?({_WEEKDAY}|yesterday|this week|last week|christmas)\b",
        lambda m: {"day": _HOLIDAYS.get(m[2], m[2]), "relation": _SIDES[m[1]]}),
    (r"\blast night\b", lambda _: {"day": "yesterday", "part": "night"}),
    (rf"\b(?:the )?{_PART} before last\b", lambda m: {"day": "day before yesterday", "part": m[1]}),
    (r"\b(?:(?:on|at|over) )?(?:the )?weekend before last\b", lambda _: {"day": "weekend before"}),
    (r"\b(?:(?:on|at|over) )?(?:(this|last|the) )weekend\b", lambda m: {"day": "last weekend" if m[1] == "last" else "weekend"}),
    (rf"\b(?:a week ago (?:on )?|(?:on )?(?:the )?)({_WEEKDAY}) (?:a week ago|before last)\b", lambda m: {"day": f"{m[1]} before"}),
    (rf"\ba week ago (?:on )?({_WEEKDAY})\b", lambda m: {"day": f"{m[1]} before"}),
    (rf"\b({_HOW_MANY}) days? ago(?:,? (?:(?:early|late) )?(?:in the )?{_PART})?\b",
        lambda m: _day(f"{round(_number(m[1]))} days ago", m[2])),
    (r"\b(?:in |during |over )?(?:the )?(this|last|past) month\b", lambda m: {"day": "this month" if m[1] == "this" else "last month"}),
    (rf"\b(?:(?:at|over|on) )?({'|'.join(_HOLIDAYS)})\b", lambda m: {"day": _HOLIDAYS[m[1]]}),
    (rf"\b(?:in|since|during|last|this) ({_MON_FULL})\b(?! \d)", lambda m: {"day": f"month {_MONTHS[m[1]]}"}),
    (rf"\b(?:at |around |about |by |before |after |since )*({_BARE})[ -]?ish\b", lambda m: _bare_hour("at", m[1], 1800.0)),
    (r"\b(?:at |around |about |by )*(noon|midday|midnight)ish\b", lambda m: {"relation": "at", "first": read_clock(m[1])}),
    (r"\btonight\b", lambda _: {"day": "today", "part": "tonight"}),
    (rf"\b{_ROUGHLY}(?:on )?(?:the )?(day before yesterday|today|yesterday|(?:this|last|past) week)\b(?:'s)?(?: {_PART}\b)?",
        lambda m: _day(m[1], m[2])),
    (r"\btomorrow(?: (?:morning|noon|afternoon|evening|night))?\b|\bin the future\b", lambda _: {"future": True}),
    (rf"\bnext (?:week|month|year|{_WEEKDAY})\b", lambda _: {"future": True}),
    (rf"\bin (\d+|an?|one|two|five|ten) ({_UNIT})(?: from now| time)?[?.! ]*$", lambda _: {"future": True}),
    (rf"\b(?:on |by |last |this |on the )?({_WEEKDAY})\b(?: {_PART}\b)?", lambda m: _day(m[1], m[2])),
    (rf"\b(?:on )?(?:the )?({_DATE})\b", _iso_day),
    (rf"\b(?:between|from|in between) ({_CLOCK})(?: and | to | until | till | ?[-\u2013] ?)({_CLOCK})", lambda m: _clocks("between", m)),
    (r"\b(?:between|from) (\d{1,2}(?::\d\d)?) (?:and|to|until|till) (\d{1,2}(?::\d\d)?) ?(am|pm)\b", _range_figures),
    (rf"({_CLOCK}) ?[-\u2013] ?({_CLOCK})", lambda m: _clocks("between", m)),
    (rf"\b(?:between|from) minutes? ({_NUM}) (?:and|to) (?:minute )?({_NUM})\b", lambda m: _minutes(m[1], m[2])),
    (rf"\b(?:between|from) ({_NUM}) (?:and|to) ({_NUM}) (?:minutes?|mins?)(?: in\b)?", lambda m: _minutes(m[1], m[2])),
    (rf"\b(?:in|during|within|over) (?:the )?(?:very )?first ({_DUR}|{_UNIT}){_STREAM}?", lambda m: {"offsets_s": (0.0, duration_s(m[1]))}),
    (rf"\b(?:in|during|within|over) (?:the )?(?:very )?(?:last|final) ({_DUR}|{_UNIT}){_STREAM}",
        lambda m: {"offsets_s": (-duration_s(m[1]), 0.0)}),
    (rf"(?<!\w){_ABOUT}\b({_DUR}) (?:in(?:to)?\b(?: {_MEDIUM})?|(?:after|from) {_START})", lambda m: _offset_point(duration_s(m[1]), 0)),
    (rf"(?<!\w){_ABOUT}\b({_CLOCK}) (?:in(?:to)? {_MEDIUM}|in(?:to)?(?=[?.! ]*$)|(?:after|from) {_START}|on the counter)",
        lambda m: _clock_offset(m[1])),
    (r"\b(?:at |around |about |in |during |on )*(?:the )?minute (\d+)(?: (?:and )?second (\d+))?\b",
        lambda m: _offset_point(60 * int(m[1]) + int(m[2] or 0), 0 if m[2] else 60)),
    (r"\b(?:at |around |about |in |on )*(?:the )?second (\d+)\b", lambda m: _offset_point(int(m[1]), 0)),
    (r"\b(?:at |around |about |in |during |on )*(?:the )?(\d+)(?:st|nd|rd|th) (minute|second|hour)\b",
        lambda m: _offset_point((int(m[1]) - 1) * _UNITS[m[2][0]], _UNITS[m[2][0]])),
    (rf"\b(?:at |around |about )*(?:the )?({_DUR})[ -]mark\b", lambda m: _offset_point(duration_s(m[1]), _exactness(m[1]))),
    (r"\b(?:at |around )?(?:the )?offset (\d+(?:\.\d+)?)(?: ?(?:s|seconds?))?\b", lambda m: _offset_point(float(m[1]), 0)),
    (rf"\b(?:right |just )?(?:at|in|near) {_START}", lambda _: {"offsets_s": (0.0, 30.0)}),
    (rf"\b(?:right )?(?:at|near|towards?) the (?:very )?end{_STREAM}?", lambda _: {"offsets_s": (-30.0, 0.0)}),
    (rf"\b({_DUR}) (?:ago|earlier|before now)\b", lambda m: {"ago_s": duration_s(m[1])}),
    (rf"\b(?:(?:in|during|within|over|for) )?(?:the |these )?(?:last|past|previous) ({_DUR}|half hour|hour|minute|second|day)\b",
        lambda m: {"last_s": duration_s(m[1])}),
    (rf"\b(?:(?:just|right|shortly) )?(?:before|until|till|prior to|earlier than|up to) ({_CLOCK})", lambda m: _clocks("before", m)),
    (rf"\b(?:(?:just|right|shortly|soon) )?(?:after|since|from|later than) ({_CLOCK})", lambda m: _clocks("after", m)),
    (rf"(?<!\w){_ABOUT}\b({_CLOCK})", lambda m: _clocks("at", m)),
    (rf"\b(before|until|till|after|since|at|around|by) (?:about |around )?({_BARE})(?=[?,.! ]*$|,| to\b)",
        lambda m: _bare_hour(_SIDES.get(m[1], "at"), m[2], 3600.0)),
    (rf"\b(?:at|around|about) (?:about |around |exactly )?({_DUR})(?=[?,.! ]*$| )",
        lambda m: _offset_point(duration_s(m[1]), _exactness(m[1]))),
    (rf"\bmy (day|week|{_PART[1:-1]})\b", lambda m: {"day": _MINE[m[1]]} if m[1] in _MINE else {"part": m[1]}),
    (rf"\b(?:early |late |later |earlier |first thing )?this (?:early |late )?{_PART}\b", lambda m: {"day": "today", "part": m[1]}),
    (rf"\b(?:early|late) {_PART}\b", lambda m: {"part": m[1]}),
    (rf"\b(?:early |late |later )?(?:that|in the|during the|the same|at) (?:early |late )?{_PART}\b", lambda m: {"part": m[1]}),
)
# fmt: on
"""Tried in order, the first reading of a field wins."""
