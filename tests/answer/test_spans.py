"""The stretch of time that a question points at, worked out on a calendar: its edges to the second, and why there is none."""

from collections.abc import Sequence

import pytest

from edgemem.answer.understand.timeref import TimeRef, take_time
from edgemem.answer.understand.timespan import TimeSpan, resolve
from edgemem.clock import from_iso
from edgemem.records import US, Moment, Question
from tests.answer.test_time import SPRING, WALK, FakeView, span, us


class Sparse(FakeView):
    """Moments at these times alone."""

    def __init__(self, streams: Sequence[tuple[str, str, float]], *moments: str) -> None:
        super().__init__(*streams)
        self._moments = [from_iso(one) for one in moments]

    def nearest(self, t_us: int, stream: str | None = None) -> Moment | None:
        t = min(self._moments, key=lambda one: abs(one - t_us))
        return Moment(id=1, stream=stream or "s", seq=0, t_us=t, offset_us=0, width_px=1, height_px=1, sharpness=1, tier="recent")


def stretch(found: TimeSpan) -> tuple[int | None, int | None, int | None]:
    return found.from_us, found.at_us, found.to_us


NOON = FakeView(("noon", "2026-05-04T11:50:00Z", 1200))
NIGHT = FakeView(("night", "2026-05-04T23:50:00Z", 1200))
BOTH = FakeView(("day", "2026-05-04T10:00:00Z", 600), ("small hours", "2026-05-05T00:30:00Z", 1200))
TWILIGHT = FakeView(("up", "2026-05-04T05:00:00Z", 600), ("down", "2026-05-04T19:00:00Z", 600))
SHORT = FakeView(("short", "2026-05-04T10:00:00Z", 20))
AFTERNOON = FakeView(("walk", "2026-05-04T14:00:00Z", 1200))
EVENING = FakeView(("out", "2026-05-03T08:00:00Z", 1200), ("home", "2026-05-04T20:00:00Z", 1200))


@pytest.mark.parametrize(
    ("text", "view", "asked", "start", "at", "end"),
    [  # a point in time reaches 10 s to either side of what was said; "at noon" from a quarter of its quarter of an hour before
        ("at 10:05:10", WALK, "2026-05-04T10:25:00Z", "10:05:00", "10:05:10", "10:05:21"),
        ("at 10:05", WALK, "2026-05-04T10:25:00Z", "10:04:50", "10:05:30", "10:06:10"),
        ("at 10:05:10.5", WALK, "2026-05-04T10:25:00Z", "10:05:00.5", "10:05:10.5", "10:05:21.5"),
        ("at noon", NOON, "2026-05-04T13:00:00Z", "11:56:15", "", "12:15:00"),
        # a place in a stream
        ("at second 45", WALK, "2026-05-04T10:25:00Z", "10:00:45", "10:00:45", "10:00:46"),
        ("at second 1", WALK, "2026-05-04T10:25:00Z", "10:00:01", "10:00:01", "10:00:02"),
        ("at minute 12", WALK, "2026-05-04T10:25:00Z", "10:12:00", "10:12:30", "10:13:00"),
        ("right at the start", WALK, "2026-05-04T10:25:00Z", "10:00:00", "10:00:00", "10:00:30"),
        ("at the start", WALK, "2026-05-04T10:25:00Z", "10:00:00", "", "10:02:00"),  # a tenth of it
        ("in the first minute", WALK, "2026-05-04T10:25:00Z", "10:00:00", "", "10:01:00"),
        ("in the first 5 minutes", WALK, "2026-05-04T10:25:00Z", "10:00:00", "", "10:05:00"),
        ("between minute 2 and 4", WALK, "2026-05-04T10:25:00Z", "10:02:00", "", "10:04:00"),
        ("at the end", WALK, "2026-05-04T10:25:00Z", "10:18:00", "", "10:20:00"),
        ("right at the end", WALK, "2026-05-04T10:25:00Z", "10:19:30", "", "10:20:00"),
        ("halfway through", WALK, "2026-05-04T10:25:00Z", "10:09:00", "", "10:11:00"),
        ("in the middle of the video", SHORT, "2026-05-04T10:25:00Z", "10:00:00", "10:00:00", "10:00:30"),
        ("in the early hours", BOTH, "2026-05-05T01:00:00Z", "2026-05-05T00:00:00", "", "2026-05-05T05:59:59.999999"),
        ("around lunchtime", NOON, "2026-05-04T16:00:00Z", "11:00:00", "", "13:59:59.999999"),
        ("at dawn", TWILIGHT, "2026-05-04T16:00:00Z", "04:00:00", "", "07:59:59.999999"),
        ("at dusk", TWILIGHT, "2026-05-04T23:00:00Z", "17:00:00", "", "21:59:59.999999"),
        ("at second 1320", WALK, "2026-05-04T10:25:00Z", "10:22:00", "10:22:00", "10:22:01"),  # two minutes behind its last picture
        # so far into a recording: a tenth to either side as well, but not before its begin and not where seconds are told
        ("about ten minutes into the recording", WALK, "2026-05-04T10:25:00Z", "10:09:00", "10:10:00", "10:11:00"),
        ("2 minutes into the recording", WALK, "2026-05-04T10:25:00Z", "10:01:45", "10:02:00", "10:02:15"),
        ("90 seconds into the recording", WALK, "2026-05-04T10:25:00Z", "10:01:30", "10:01:30", "10:01:31"),
        # so long ago: a tenth to either side, 15 s at least
        ("20 minutes ago", WALK, "2026-05-04T10:25:00Z", "10:03:00", "10:05:00", "10:07:00"),
        ("60 seconds ago", WALK, "2026-05-04T10:15:00Z", "10:13:45", "10:14:00", "10:14:15"),
        ("27 minutes ago", WALK, "2026-05-04T10:25:00Z", "09:55:18", "09:58:00", "10:00:42"),
        ("10 minutes ago", WALK, "2026-05-04T12:00:00Z", "10:09:00", "10:10:00", "10:11:00"),  # nothing then: back from the newest
        ("22 minutes ago", WALK, "2026-05-04T12:00:00Z", "09:55:48", "09:58:00", "10:00:12"),
        ("in the last 10 minutes", WALK, "2026-05-04T10:30:00Z", "10:20:00", "", "10:30:00"),
        ("in the last 9 minutes", WALK, "2026-05-04T10:30:00Z", "10:11:00", "", "10:20:00"),
        # half a day later, where only that was recorded
        ("between 2:00 and 2:30", AFTERNOON, "2026-05-04T15:00:00Z", "14:00:00", "", "14:30:00"),
        ("between 11:55 and 12:05", NIGHT, "2026-05-05T01:00:00Z", "23:55:00", "", "2026-05-05T00:05:00"),
        ("between 11:00 and 15:00", NOON, "2026-05-04T16:00:00Z", "11:00:00", "", "15:00:00"),
        ("at 12:40", BOTH, "2026-05-05T01:00:00Z", "2026-05-05T00:42:40", "2026-05-05T00:42:40", "2026-05-05T00:42:41"),
        ("at 00:00:00", NIGHT, "2026-05-05T01:00:00Z", "23:59:50", "2026-05-05T00:00:00", "2026-05-05T00:00:11"),
        ("at 10:22:00", WALK, "2026-05-04T10:25:00Z", "10:21:50", "10:22:00", "10:22:11"),  # two minutes from a picture is near
        ("at 8:05", EVENING, "2026-05-04T21:00:00Z", "20:04:50", "20:05:30", "20:06:10"),  # not at 8 am of the day before
        ("before nine", EVENING, "2026-05-04T12:00:00Z", "00:00:00", "", "20:59:59.999999"),
        ("before nine", EVENING, "2026-05-04T11:59:59Z", "2026-05-03T00:00:00", "", "2026-05-03T08:59:59.999999"),
        ("in the night", BOTH, "2026-05-05T01:00:00Z", "18:00:00", "", "2026-05-05T04:59:59.999999"),
        ("right at the start", WALK, "2026-05-04T10:00:00Z", "10:00:00", "10:00:00", "10:00:30"),  # it begins this moment
        ("yesterday at minute 5", SPRING, "2026-05-05T20:00:00Z", "21:55:00", "21:55:30", "21:56:00"),
        ("yesterday in the first 5 minutes", WALK, "2026-05-04T10:25:00Z", "10:00:00", "", "10:05:00"),  # no stream began then
        ("since Sunday", SPRING, "2026-05-05T20:00:00Z", "2026-05-03T00:00:00", "", "2026-05-05T23:59:59.999999"),
        ("since Sunday afternoon", SPRING, "2026-05-05T20:00:00Z", "2026-05-03T12:00:00", "", "2026-05-05T23:59:59.999999"),
        ("before Monday", SPRING, "2026-05-05T20:00:00Z", "2025-12-25T00:00:00", "", "2026-05-03T23:59:59.999999"),
        ("before Monday evening", SPRING, "2026-05-05T20:00:00Z", "2025-12-25T00:00:00", "", "16:59:59.999999"),
    ],
)  # fmt: skip
def test_the_edges_of_a_stretch(text: str, view: FakeView, asked: str, start: str, at: str, end: str) -> None:
    found = span(text, view, asked)
    wanted = [us(f"{one if 'T' in one else f'2026-05-04T{one}'}Z") if one else None for one in (start, at, end)]
    assert (found.problem, *stretch(found)) == ("", *wanted)


@pytest.mark.parametrize(
    ("text", "view", "asked", "said"),
    [
        ("at minute 12", WALK, "2026-05-04T10:25:00Z", '"at minute 12" is read as 12:00 into "walk"'),
        ("at the end", WALK, "2026-05-04T10:25:00Z", '"at the end" is read as 18:00 into "walk"'),
        ("at 2:05", AFTERNOON, "2026-05-04T15:00:00Z", '"at 2:05" is read as pm'),
        ("10 minutes ago", WALK, "2026-05-04T12:00:00Z", "nothing was recorded then; counted back from the newest moment"),
        ("in the last 9 minutes", WALK, "2026-05-04T10:30:00Z", "nothing was recorded then; counted back from the newest moment"),
    ],
)
def test_another_reading_is_said(text: str, view: FakeView, asked: str, said: str) -> None:
    found = span(text, view, asked)
    assert found.notes == (said,)
    assert found.fell_back is text.startswith("in the last")


@pytest.mark.parametrize(
    ("text", "view", "asked", "problem"),
    [
        ("28 minutes ago", WALK, "2026-05-04T10:25:00Z", "This memory does not reach back that far."),
        ("1330 seconds ago", WALK, "2026-05-04T12:00:00Z", "This memory does not reach back that far."),
        ("at second 1321", WALK, "2026-05-04T10:25:00Z", 'No stream in this memory is long enough for "at second 1321".'),
        ("today", WALK, "2026-05-05T00:00:00Z", "Nothing was recorded today."),  # it has begun this moment
        ("yesterday morning", SPRING, "2026-05-03T20:00:00Z", ""),
        ("yesterday morning", WALK, "2026-05-04T12:00:00Z", "Nothing was recorded yesterday."),
        ("yesterday", FakeView(("one", "2026-05-05T00:00:00Z", 60)), "2026-05-05T12:00:00Z", "Nothing was recorded yesterday."),
        ("yesterday at 23:00:00", SPRING, "2026-05-05T20:00:00Z", 'Nothing was recorded at "yesterday at 23:00:00".'),
        ("at 09:00:00", WALK, "2026-05-04T10:25:00Z", 'Nothing was recorded at "at 09:00:00".'),
        ("at 10:25:00", WALK, "2026-05-04T10:25:00Z", 'Nothing was recorded at "at 10:25:00".'),
        ("at 23:00", WALK, "2026-05-04T10:25:00Z", 'Nothing was recorded at "at 23:00", and today that time has not come yet.'),
        ("tonight", WALK, "2026-05-04T10:25:00Z", "That time has not come yet; I remember only what was seen."),
        ("tonight", WALK, "2026-05-04T18:00:00Z", 'Nothing was recorded in "tonight".'),  # it has begun this moment
        ("this week in the evening", WALK, "2026-05-04T12:00:00Z", "That time has not come yet; I remember only what was seen."),
        ("this week in the evening", WALK, "2026-05-05T12:00:00Z", 'Nothing was recorded in "this week in the evening".'),
        ("this morning", WALK, "2026-05-04T23:25:00Z", ""),
        ("since Tuesday", WALK, "2026-05-05T10:00:00Z", "Nothing was recorded since tuesday."),
        ("from Saturday to Sunday", WALK, "2026-05-05T10:00:00Z", "Nothing was recorded from saturday to sunday."),
        ("at 42:10", NIGHT, "2026-05-05T01:00:00Z", 'Nothing was recorded at "at 42:10".'),
        ("at 10:22:01", WALK, "2026-05-04T10:25:00Z", 'Nothing was recorded at "at 10:22:01".'),
        ("yesterday at 12:00:00", NIGHT, "2026-05-05T01:00:00Z", 'Nothing was recorded at "yesterday at 12:00:00".'),
    ],
)  # fmt: skip
def test_why_there_is_none(text: str, view: FakeView, asked: str, problem: str) -> None:
    assert span(text, view, asked).problem == problem


def test_what_a_still_scene_kept_nothing_of_was_recorded_for_half_an_hour() -> None:
    still = Sparse([("s", "2026-05-04T10:00:00Z", 7200)], "2026-05-04T10:00:00Z", "2026-05-04T12:00:00Z")
    assert not span("at 10:30:00", still, "2026-05-04T13:00:00Z").problem
    assert span("at 10:30:01", still, "2026-05-04T13:00:00Z").problem
    last = Sparse([("s", "2026-05-03T23:59:59.999999Z", 1)], "2026-05-03T23:59:59.999999Z")
    assert not span("yesterday", last, "2026-05-04T13:00:00Z").problem, "the last moment of a day belongs to it"


def test_now_is_when_it_was_asked_but_not_after_the_as_of_time() -> None:
    ref, _ = take_time("5 minutes ago")
    for asked, as_of in (("10:10", "10:25"), ("10:25", "10:10")):
        question = Question(text="", asked_us=us(f"2026-05-04T{asked}:00Z"), as_of_us=us(f"2026-05-04T{as_of}:00Z"), tz="UTC")
        assert resolve(ref, question, WALK).at_us == us("2026-05-04T10:05:00Z")


def one_day(day: str, hour: int = 10) -> FakeView:
    return FakeView(("one", f"{day}T{hour:02}:00:00Z", 600))


@pytest.mark.parametrize(
    ("text", "asked", "start", "days"),
    [  # 2026-05-05 is a Tuesday
        ("on Sunday before last", "2026-05-05", "2026-04-26", 1),
        ("a week ago on Friday", "2026-05-05", "2026-04-24", 1),
        ("last weekend", "2026-05-10", "2026-05-02", 2),  # on a Sunday
        ("last weekend", "2026-05-04", "2026-05-02", 2),  # on a Monday
        ("this weekend", "2026-05-10", "2026-05-09", 2),
        ("the past week", "2026-05-05", "2026-04-28", 8),
        ("last month", "2026-01-10", "2025-12-01", 31),
        ("this month", "2025-12-10", "2025-12-01", 31),
        ("this month", "2025-11-10", "2025-11-01", 30),
        ("last month", "2025-11-10", "2025-10-01", 31),
        ("this year", "2026-05-10", "2026-01-01", 365),
        ("last year", "2025-05-10", "2024-01-01", 366),
        ("in August", "2026-05-05", "2025-08-01", 31),
        ("in May", "2026-05-05", "2026-05-01", 31),
        ("on February 29th", "2026-05-05", "2024-02-29", 1),
        ("on December 24", "2026-05-05", "2025-12-24", 1),
        ("on May 5th", "2026-05-05", "2026-05-05", 1),
        ("on May 6th", "2026-05-05", "2025-05-06", 1),
        ("on Tuesday", "2026-05-05", "2026-05-05", 1),
        ("on Wednesday", "2026-05-05", "2026-04-29", 1),
        ("last Tuesday", "2026-05-05", "2026-04-28", 1),
        ("on the 28th", "2026-05-05", "2026-04-28", 1),
        ("on the 1st", "2026-05-05", "2026-05-01", 1),
        ("on the 31st", "2026-05-05", "2026-03-31", 1),
        ("from Friday to Monday", "2026-05-05", "2026-05-01", 4),
        ("from Tuesday to Monday", "2026-05-06", "2026-04-28", 7),
        ("3 days ago", "2026-05-05", "2026-05-02", 1),
        ("on 2025-05-06", "2026-05-05", "2025-05-06", 1),
    ],
)
def test_the_days_that_are_meant(text: str, asked: str, start: str, days: int) -> None:
    found = span(text, one_day(start), f"{asked}T20:00:00Z")
    assert (found.problem, found.from_us) == ("", us(f"{start}T00:00:00Z"))
    assert found.to_us == us(f"{start}T00:00:00Z") + days * 86_400 * US - 1


@pytest.mark.parametrize(("day", "start"), [("day before 3 days ago", "2026-05-01"), ("day after last tuesday", "2026-04-29")])
def test_the_day_before_or_after_a_day_that_was_named(day: str, start: str) -> None:
    now = us("2026-05-05T20:00:00Z")
    found = resolve(TimeRef(said="", day=day), Question(text="", asked_us=now, as_of_us=now, tz="UTC"), one_day(start))
    assert (found.problem, found.from_us) == ("", us(f"{start}T00:00:00Z"))


def test_a_time_of_day_is_looked_for_on_every_day_that_is_meant() -> None:
    weekend = FakeView(("saturday", "2026-05-02T09:00:00Z", 1200))
    assert span("last weekend in the morning", weekend, "2026-05-05T12:00:00Z").from_us == us("2026-05-02T05:00:00Z")


@pytest.mark.parametrize(("day", "found"), [("2026-03-10", True), ("2026-03-06", True), ("2026-03-05", False)])
def test_without_a_day_one_of_the_last_sixty_is_meant(day: str, found: bool) -> None:
    two = FakeView(("old", f"{day}T14:00:00Z", 600), ("new", "2026-05-04T10:00:00Z", 600))
    assert bool(span("at 14:05:00", two, "2026-05-04T12:00:00Z").problem) is not found


def test_the_newest_stream_is_meant_by_a_place_in_one() -> None:
    assert span("at minute 5", SPRING, "2026-05-05T20:00:00Z").from_us == us("2026-05-05T08:55:00Z")


def test_a_night_belongs_to_the_day_on_which_it_began() -> None:
    small_hours = FakeView(("one", "2026-05-05T02:00:00Z", 600))
    assert span("last night", small_hours, "2026-05-05T12:00:00Z").from_us == us("2026-05-04T18:00:00Z")


@pytest.mark.parametrize(
    ("part", "start", "end"),
    [
        ("this morning", "2026-05-05T05", "2026-05-05T12"),
        ("today at noon", "2026-05-05T11:56:15", "2026-05-05T12:15:00"),
        ("yesterday noon", "2026-05-04T11", "2026-05-04T14"),
        ("this afternoon", "2026-05-05T12", "2026-05-05T18"),
        ("this evening", "2026-05-05T17", "2026-05-05T23"),
        ("tonight", "2026-05-05T18", "2026-05-06T05"),
        ("last night", "2026-05-04T18", "2026-05-05T05"),
    ],
)
def test_the_parts_of_a_day(part: str, start: str, end: str) -> None:
    every = FakeView(("all", "2026-05-04T00:00:00Z", 3 * 86_400))
    found = span(part, every, "2026-05-05T23:59:00Z")
    wanted = [us(f"{one}{'' if one.count(':') else ':00:00'}Z") for one in (start, end)]
    assert found.from_us == wanted[0]
    assert found.to_us in {wanted[1], wanted[1] - 1}
