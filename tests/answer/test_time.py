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
