"""Times people say, resolved in a memory of 2026-05-04, 10:00:05 to 10:03:20 UTC."""

from collections.abc import Iterable

import pytest

from edgemem.answer.understand.timeref import duration_s, take_time
from edgemem.answer.understand.timespan import TimeSpan, resolve
from edgemem.clock import from_iso
from edgemem.records import US, Moment, Question, Record


class FakeStream(Record, frozen=True):
    name: str
    t0_us: int
    t1_us: int


class FakeView:
    """Moments every ten seconds of some streams."""

    def __init__(self, *streams: tuple[str, str, float]) -> None:
        self._streams = [
            FakeStream(name=name, t0_us=from_iso(start), t1_us=from_iso(start) + round(seconds * US)) for name, start, seconds in streams
        ]

    def streams(self) -> Iterable[FakeStream]:
        return self._streams

    def bounds(self) -> tuple[int, int] | None:
        return (min(s.t0_us for s in self._streams), max(s.t1_us for s in self._streams)) if self._streams else None

    def nearest(self, t_us: int, stream: str | None = None) -> Moment | None:
        times = [(t, s) for s in self._streams for t in range(s.t0_us, s.t1_us + 1, 10 * US) if stream in {None, s.name}]
        if not times:
            return None
        t, s = min(times, key=lambda pair: abs(pair[0] - t_us))
        return Moment(id=1, stream=s.name, seq=0, t_us=t, offset_us=t - s.t0_us, width_px=1, height_px=1, sharpness=1, tier="recent")


WALK = FakeView(("walk", "2026-05-04T10:00:00Z", 1200.0))
ASKED = "2026-05-04T10:25:00Z"


def span(text: str, view: FakeView = WALK, asked: str = ASKED, tz: str = "UTC") -> TimeSpan:
    ref, _ = take_time(text.lower())
    asked_us = from_iso(asked)
    return resolve(ref, Question(text=text, asked_us=asked_us, as_of_us=asked_us, tz=tz), view)


def us(iso: str) -> int:
    return from_iso(iso)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2 min 14 s", 134),
        ("half an hour", 1800),
        ("90 seconds", 90),
        ("an hour and 5 minutes", 3900),
        ("a couple of minutes", 120),
        ("1.5 hours", 5400),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert duration_s(text) == seconds


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("what did I see at 10:05", "2026-05-04T10:05:30Z"),  # the middle of the minute
        ("what did I see at 10:05:10", "2026-05-04T10:05:10Z"),
        ("at 10:05 am what did I see", "2026-05-04T10:05:30Z"),
        ("what did I see on 2026-05-04T10:05:10Z", "2026-05-04T10:05:10Z"),
        ("what was there 90 seconds in", "2026-05-04T10:01:30Z"),
        ("what was there 2 minutes and 14 seconds into the recording", "2026-05-04T10:02:14Z"),
        ("what was there at minute 12", "2026-05-04T10:12:30Z"),
        ("what was on screen at 00:12:30", "2026-05-04T10:12:30Z"),  # no stream runs at half past midnight
        ("what was on screen at 12:40", "2026-05-04T10:12:40Z"),
        ("what did I see 20 minutes ago", "2026-05-04T10:05:00Z"),
    ],
)
def test_a_point_in_time(text: str, at: str) -> None:
    found = span(text)
    assert not found.problem
    assert found.at_us == us(at)
    assert found.from_us is not None
    assert found.to_us is not None
    assert found.from_us <= us(at) <= found.to_us


def test_another_reading_of_a_time_is_said() -> None:
    assert any("12:30" in note for note in span("at 00:12:30").notes)
    assert not span("at 10:05").notes


def test_pm_is_assumed_where_only_the_afternoon_was_recorded() -> None:
    found = span("at 2:05", FakeView(("walk", "2026-05-04T14:00:00Z", 1200)), "2026-05-04T15:00:00Z")
    assert found.at_us == us("2026-05-04T14:05:30Z")
    assert any("pm" in note for note in found.notes)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("between 10:00 and 10:10", "2026-05-04T10:00:00Z", "2026-05-04T10:10:00Z"),
        ("from 10 to 11 am", "2026-05-04T10:00:00Z", "2026-05-04T11:00:00Z"),
        ("in the first 5 minutes", "2026-05-04T10:00:00Z", "2026-05-04T10:05:00Z"),
        ("in the last 2 minutes of the video", "2026-05-04T10:18:00Z", "2026-05-04T10:20:00Z"),
        ("in the last 10 minutes", "2026-05-04T10:15:00Z", "2026-05-04T10:25:00Z"),
        ("after 10:15", "2026-05-04T10:15:00Z", "2026-05-04T23:59:59.999999Z"),
        ("before 10:05", "2026-05-04T00:00:00Z", "2026-05-04T10:04:59.999999Z"),
        ("today", "2026-05-04T00:00:00Z", "2026-05-04T23:59:59.999999Z"),
        ("this morning", "2026-05-04T05:00:00Z", "2026-05-04T11:59:59.999999Z"),
        ("on Monday", "2026-05-04T00:00:00Z", "2026-05-04T23:59:59.999999Z"),
        ("this month", "2026-05-01T00:00:00Z", "2026-05-31T23:59:59.999999Z"),
        ("in May", "2026-05-01T00:00:00Z", "2026-05-31T23:59:59.999999Z"),
        ("early this morning", "2026-05-04T05:00:00Z", "2026-05-04T11:59:59.999999Z"),
        ("on May 4th", "2026-05-04T00:00:00Z", "2026-05-04T23:59:59.999999Z"),
    ],
)
def test_a_stretch_of_time(text: str, start: str, end: str) -> None:
    found = span(text)
    assert not found.problem
    assert (found.from_us, found.to_us) == (us(start), us(end))


def test_a_range_across_midnight() -> None:
    night = FakeView(("night", "2026-05-04T23:50:00Z", 1200))
    found = span("between 23:55 and 00:05", night, "2026-05-05T00:30:00Z")
    assert (found.from_us, found.to_us) == (us("2026-05-04T23:55:00Z"), us("2026-05-05T00:05:00Z"))


def test_yesterday_and_today_part_at_midnight_of_the_one_who_asks() -> None:
    night = FakeView(("night", "2026-05-04T21:50:00Z", 1200))  # 23:50 to 00:10 in Berlin
    found = span("today", night, "2026-05-04T22:30:00Z", "Europe/Berlin")
    assert found.from_us == us("2026-05-04T22:00:00Z")
    assert not found.notes
    assert span("yesterday", night, "2026-05-04T22:30:00Z", "Europe/Berlin").to_us == us("2026-05-04T22:00:00Z") - 1


def test_ten_o_clock_stays_ten_o_clock_when_the_clocks_change() -> None:
    spring = FakeView(("walk", "2026-03-29T07:50:00Z", 1800))  # 09:50 summer time in Berlin, the day it begins
    assert span("at 10:00:00", spring, "2026-03-29T12:00:00Z", "Europe/Berlin").at_us == us("2026-03-29T08:00:00Z")


def test_a_day_without_records_is_a_problem() -> None:
    """ "Today" is today or nothing: what was seen on another day is no answer."""
    for said in ("today", "yesterday", "this morning"):
        problem = span(said, asked="2026-05-06T12:00:00Z").problem
        assert problem == f"Nothing was recorded {'yesterday' if said == 'yesterday' else 'today'}."
    assert "2026-05-02" in span("on 2026-05-02").problem


@pytest.mark.parametrize("text", ["tomorrow", "next week", "in 5 minutes", "on 2027-01-01"])
def test_the_future_is_refused(text: str) -> None:
    assert "not come yet" in span(text).problem


@pytest.mark.parametrize("text", ["at 23:00", "at minute 500", "at 02:00:00"])
def test_a_time_that_no_stream_covers_is_a_problem(text: str) -> None:
    assert span(text).problem


def test_an_empty_memory_has_no_span_and_no_problem() -> None:
    assert span("at 10:05", FakeView()) == TimeSpan()


@pytest.mark.parametrize("text", ["at 25:99", "at 10:75", "on February 30th", "on 2026-13-45", "at minute 99999999999"])
def test_figures_that_are_no_time_do_no_harm(text: str) -> None:
    span(text)


def test_yesterday_without_records_is_a_problem_when_there_are_later_ones() -> None:
    assert span("yesterday", asked="2026-05-04T12:00:00Z").problem == "Nothing was recorded yesterday."


SPRING = FakeView(
    ("christmas", "2025-12-25T18:00:00Z", 600),
    ("april", "2026-04-14T12:00:00Z", 600),
    ("saturday", "2026-05-02T09:00:00Z", 1200),
    ("sunday", "2026-05-03T14:00:00Z", 1200),
    ("monday", "2026-05-04T10:00:00Z", 1800),
    ("monday night", "2026-05-04T21:50:00Z", 1200),
    ("tuesday", "2026-05-05T08:50:00Z", 3000),
)
"""2026-05-05 is a Tuesday."""


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("last weekend", "2026-05-02T00:00:00Z", "2026-05-04T00:00:00Z"),
        ("at the weekend", "2026-05-02T00:00:00Z", "2026-05-04T00:00:00Z"),
        ("in April", "2026-04-01T00:00:00Z", "2026-05-01T00:00:00Z"),
        ("last month", "2026-04-01T00:00:00Z", "2026-05-01T00:00:00Z"),
        ("at Christmas", "2025-12-25T00:00:00Z", "2025-12-26T00:00:00Z"),
        ("in December", "2025-12-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("since Sunday", "2026-05-03T00:00:00Z", "2026-05-06T00:00:00Z"),
        ("before Monday", "2025-12-25T00:00:00Z", "2026-05-04T00:00:00Z"),
        ("since last week", "2026-04-27T00:00:00Z", "2026-05-06T00:00:00Z"),
        ("at about nine o'clock", "2026-05-05T08:45:00Z", "2026-05-05T10:00:00Z"),
        ("this week", "2026-05-04T00:00:00Z", "2026-05-11T00:00:00Z"),
        ("last week", "2026-04-27T00:00:00Z", "2026-05-04T00:00:00Z"),
        ("the day before yesterday", "2026-05-03T00:00:00Z", "2026-05-04T00:00:00Z"),
        ("two days ago in the afternoon", "2026-05-03T12:00:00Z", "2026-05-03T18:00:00Z"),
        ("last night", "2026-05-04T18:00:00Z", "2026-05-05T05:00:00Z"),
        ("this morning", "2026-05-05T05:00:00Z", "2026-05-05T12:00:00Z"),
        ("since nine", "2026-05-05T09:00:00Z", "2026-05-06T00:00:00Z"),
        ("before nine", "2026-05-05T00:00:00Z", "2026-05-05T09:00:00Z"),
        ("today before nine", "2026-05-05T00:00:00Z", "2026-05-05T09:00:00Z"),
        ("yesterday from 10 to 11 am", "2026-05-04T10:00:00Z", "2026-05-04T11:00:00Z"),
    ],
)
def test_a_stretch_ends_where_the_next_begins(text: str, start: str, end: str) -> None:
    found = span(text, SPRING, "2026-05-05T20:00:00Z")
    assert not found.problem
    assert found.from_us == us(start)
    assert found.to_us is not None
    assert us(end) - found.to_us in {0, 1}


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("yesterday around 10ish", "2026-05-04T09:52:30Z", "2026-05-04T10:30:00Z"),  # half an hour, a quarter of it before
        ("at nine", "2026-05-05T08:45:00Z", "2026-05-05T10:00:00Z"),
    ],
)
def test_a_rough_hour_reaches_a_little_before_it(text: str, start: str, end: str) -> None:
    found = span(text, SPRING, "2026-05-05T20:00:00Z")
    assert (found.from_us, found.to_us) == (us(start), us(end))


@pytest.mark.parametrize(("text", "at"), [("at half past nine", "2026-05-05T09:30:30Z"), ("at quarter to ten", None)])
def test_halves_and_quarters_of_an_hour(text: str, at: str | None) -> None:
    found = span(text, SPRING, "2026-05-05T20:00:00Z")
    assert found.at_us == (us(at) if at else None)
    assert bool(found.problem) == (at is None)


@pytest.mark.parametrize(
    ("text", "seen", "asked", "start", "end"),
    [
        ("last weekend", "2026-03-29T10:00:00Z", "2026-03-30T10:00:00Z", "2026-03-27T23:00:00Z", "2026-03-29T22:00:00Z"),  # 47 hours
        ("on Sunday", "2026-10-25T10:00:00Z", "2026-10-26T10:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"),  # 25 hours
        ("last night", "2026-03-29T00:30:00Z", "2026-03-29T10:00:00Z", "2026-03-28T17:00:00Z", "2026-03-29T03:00:00Z"),  # until five
        ("between 2:00 and 2:30", "2026-03-29T12:00:00Z", "2026-03-29T18:00:00Z", "2026-03-29T12:00:00Z", "2026-03-29T12:30:00Z"),
    ],
)
def test_days_are_as_long_as_they_are_when_the_clocks_change(text: str, seen: str, asked: str, start: str, end: str) -> None:
    found = span(text, FakeView(("one", seen, 600)), asked, "Europe/Berlin")
    assert not found.problem
    assert found.from_us == us(start)
    assert found.to_us is not None
    assert us(end) - found.to_us in {0, 1}


def test_last_weekend_on_a_weekend_is_the_one_before() -> None:
    weeks = FakeView(("one", "2026-05-02T09:00:00Z", 600), ("two", "2026-05-09T09:00:00Z", 600))
    assert span("last weekend", weeks, "2026-05-09T12:00:00Z").from_us == us("2026-05-02T00:00:00Z")
    assert span("this weekend", weeks, "2026-05-09T12:00:00Z").from_us == us("2026-05-09T00:00:00Z")


@pytest.mark.parametrize("text", ["this morning", "since nine this morning"])
def test_this_morning_is_today_or_nothing(text: str) -> None:
    assert "today" in span(text, SPRING, "2026-05-06T20:00:00Z").problem


def test_before_and_since_name_a_day() -> None:
    ref, rest = take_time("did i wear it before christmas")
    assert ref is not None
    assert (ref.day, ref.relation, rest) == ("0000-12-25", "before", "did i wear it")


def test_a_length_needs_a_figure_before_a_short_unit() -> None:
    assert take_time("have i worn the old ones since")[0] is None
    assert duration_s("5m 3s") == 303
