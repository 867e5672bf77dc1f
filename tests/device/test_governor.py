"""The governor in fake time: each reading has its limits, less work comes at once, more work only when it lasts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from edgemem.board_settings import Budget, GovernorSettings
from edgemem.config import Settings
from edgemem.device.board import Battery, Memory, Readings, ThermalZone
from edgemem.device.governor import Decision, Governor, Need, Step, Verdict, judge, steps_of

LIGHT = GovernorSettings(light={"transcribe": "small"})


def settings(governor: GovernorSettings | None = None, **budget: str | float) -> Settings:
    return Settings(governor=governor or GovernorSettings(), budget=Budget(**budget))


def heat(temp_c: float, trip_c: float | None = 95.0, critical_c: float | None = 105.0, name: str = "cpu-thermal") -> ThermalZone:
    return ThermalZone(name=name, temp_c=temp_c, trip_c=trip_c, critical_c=critical_c)


def memory(percent: float, *, stalled: float | None = None, own: int = 0) -> Memory:
    return Memory(total_bytes=1000 << 20, available_bytes=round(percent / 100 * (1000 << 20)), own_bytes=own << 20, stalled_percent=stalled)


def verdict(readings: Readings, what: str, given: Settings | None = None) -> Verdict:
    return next(one for one in judge(readings, given or settings()) if one.what == what)


def run(governor: Governor, read: Callable[[float], Readings], until_s: int, from_s: int = 0) -> list[tuple[float, int]]:
    """(time, step number) of each decision, with a reading every 5 s."""
    decisions = (governor.decide(read(float(t_s))) for t_s in range(from_s, until_s, 5))
    return [(decision.t_s, decision.number) for decision in decisions if decision is not None]


# What a reading asks for


@pytest.mark.parametrize(
    ("temp_c", "need"),
    [
        (84.9, Need.MORE),
        (85.0, Need.MORE),
        (85.1, Need.HOLD),
        (90.0, Need.HOLD),
        (90.1, Need.LESS),
        (94.9, Need.LESS),
        (95.0, Need.URGENT),
        (102.5, Need.URGENT),
        (102.6, Need.LEAST),
    ],
)
def test_heat_by_the_distance_to_the_trip_points(temp_c: float, need: Need) -> None:
    assert verdict(Readings(t_s=0, zones=(heat(temp_c),)), "cpu-thermal").need == need


def test_the_reason_has_the_zone_its_temperature_and_the_limit() -> None:
    def why(temp_c: float) -> str:
        return verdict(Readings(t_s=0, zones=(heat(temp_c),)), "cpu-thermal").reason

    assert why(92.5) == "cpu-thermal has 92.5 °C, 2.5 below its trip point"
    assert why(94.5) == "cpu-thermal has 94.5 °C, 0.5 below its trip point"
    assert why(95.0) == "cpu-thermal has 95.0 °C, 0.0 above its trip point"
    assert why(96.0) == "cpu-thermal has 96.0 °C, 1.0 above its trip point"
    assert why(103.0) == "cpu-thermal has 103.0 °C; at 105.0 the board is switched off"


def test_a_zone_without_trip_points_says_nothing() -> None:
    assert [one.what for one in judge(Readings(t_s=0, zones=(heat(150.0, None, None),)), settings())] == ["alarm"]
    assert verdict(Readings(t_s=0, zones=(heat(94.9, critical_c=None),)), "cpu-thermal").need == Need.LESS


@pytest.mark.parametrize(("watts", "need"), [(8.4, Need.MORE), (8.5, Need.HOLD), (10.0, Need.HOLD), (10.1, Need.LESS)])
def test_power_by_the_limit_of_the_settings_else_of_the_mode(watts: float, need: Need) -> None:
    for limit, mode_watts in ((10.0, 15.0), (0.0, 10.0)):
        found = verdict(Readings(t_s=0, watts=watts, mode_watts=mode_watts), "board", settings(watts=limit))
        assert (found.need, found.reason) == (need, f"the board draws {watts:.1f} W of 10.0 W")
    without = [one.what for one in judge(Readings(t_s=0, watts=watts), settings())]
    assert without == [one.what for one in judge(Readings(t_s=0, mode_watts=1.0), settings())] == ["alarm"]


def test_a_weak_power_supply_asks_for_less() -> None:
    found = verdict(Readings(t_s=0, alarms=("rpi_volt in0_lcrit_alarm",)), "alarm")
    assert (found.need, found.reason) == (Need.LESS, "the power supply is too weak (rpi_volt in0_lcrit_alarm)")
    assert verdict(Readings(t_s=0), "alarm").need == Need.MORE


@pytest.mark.parametrize(
    ("percent", "need"), [(3.9, Need.LEAST), (4.0, Need.LESS), (9.9, Need.LESS), (10.0, Need.HOLD), (20.0, Need.HOLD), (20.1, Need.MORE)]
)
def test_memory_by_what_is_available(percent: float, need: Need) -> None:
    found = verdict(Readings(t_s=0, memory=memory(percent)), "available")
    assert (found.need, found.reason) == (need, f"{percent:.1f} % of the memory is available")


@pytest.mark.parametrize(("stalled", "need"), [(4.9, Need.MORE), (5.0, Need.HOLD), (20.0, Need.HOLD), (20.1, Need.LESS)])
def test_memory_by_the_time_that_programs_wait_for_it(stalled: float, need: Need) -> None:
    found = verdict(Readings(t_s=0, memory=memory(50, stalled=stalled)), "stalled")
    assert (found.need, found.reason) == (need, f"programs waited for memory in {stalled:.1f} % of the last 10 s")


@pytest.mark.parametrize(("own", "need"), [(89, Need.MORE), (90, Need.HOLD), (100, Need.HOLD), (101, Need.LESS)])
def test_memory_by_its_own_budget(own: int, need: Need) -> None:
    found = verdict(Readings(t_s=0, memory=memory(50, own=own)), "own", settings(ram="100MiB"))
    assert (found.need, found.reason) == (need, f"edgemem has {own} MiB of memory, its budget is 100 MiB")
    assert [one.what for one in judge(Readings(t_s=0, memory=memory(50, own=own)), settings())] == ["alarm", "available"]


# Steps


def test_steps_go_from_all_work_to_the_least() -> None:
    plain, light = steps_of(GovernorSettings()), steps_of(LIGHT)
    assert [step.rate for step in plain] == [1.0, 1.0, 0.75, 0.5, 0.25, 0.1]
    assert [step.background for step in plain] == [True, False, False, False, False, False]
    assert not any(step.light for step in plain)
    assert [(step.rate, step.light) for step in light] == [
        (1.0, False), (1.0, False), (0.75, False), (0.5, False), (0.5, True), (0.25, True), (0.1, True),
    ]  # fmt: skip
    assert [step.background for step in light] == [True, False, False, False, False, False, False]
    assert ["lighter" in step.name for step in light] == [step.light for step in light]
    assert len({step.name for step in light}) == len(light)


def test_without_readings_all_work_is_done() -> None:
    assert run(Governor(settings()), lambda t_s: Readings(t_s=t_s), 3600) == []


def test_less_work_comes_a_step_every_30_s_and_more_after_120_s_each() -> None:
    """93 degrees until 100 s: steps at 0, 30, 60, 90 s. Then 80 degrees, good from 100 s: back at 220 s, then 120 s after each step."""
    governor = Governor(settings())
    made = run(governor, lambda t_s: Readings(t_s=t_s, zones=(heat(93 if t_s < 100 else 80),)), 1000)
    assert made == [(0, 1), (30, 2), (60, 3), (90, 4), (220, 3), (345, 2), (470, 1), (595, 0)]
    assert governor.step.name == "all work"


def test_above_the_trip_point_each_reading_is_a_step_down_to_the_least() -> None:
    assert run(Governor(settings()), lambda t_s: Readings(t_s=t_s, zones=(heat(97),)), 100) == [(0, 1), (5, 2), (10, 3), (15, 4), (20, 5)]


def test_near_the_point_of_switching_off_the_least_work_comes_at_once() -> None:
    decision = Governor(settings(LIGHT)).decide(Readings(t_s=0, zones=(heat(103),)))
    assert decision == Decision(
        step=steps_of(LIGHT)[6], number=6, less=True, reason="cpu-thermal has 103.0 °C; at 105.0 the board is switched off", t_s=0,
    )  # fmt: skip


def test_the_least_work_goes_before_a_step_at_a_time() -> None:
    """One zone is above its trip point, another one is about to switch the board off."""
    zones = (heat(97, name="a"), heat(103.5, 110.0, 105.0, name="b"), heat(97, name="c"))
    decision = Governor(settings()).decide(Readings(t_s=0, zones=zones))
    assert decision is not None
    assert (decision.number, decision.reason[:1]) == (5, "b")


def test_between_the_limits_it_stays_for_ever() -> None:
    """88 degrees are 7 below the trip point: too few for more work, too many for less."""
    governor = Governor(settings())
    assert run(governor, lambda t_s: Readings(t_s=t_s, zones=(heat(91 if t_s < 5 else 88),)), 86_400) == [(0, 1)]
    assert governor.lost == frozenset()


def test_a_reading_that_never_asked_for_less_holds_nothing_up() -> None:
    """15 % of memory were available all day; the heat passes."""
    made = run(Governor(settings()), lambda t_s: Readings(t_s=t_s, zones=(heat(91 if t_s < 5 else 80),), memory=memory(15)), 1000)
    assert made == [(0, 1), (125, 0)]


def test_one_bad_reading_begins_the_wait_anew() -> None:
    made = run(Governor(settings()), lambda t_s: Readings(t_s=t_s, zones=(heat(91 if t_s in {0, 100} else 80),)), 1000)
    assert made == [(0, 1), (100, 2), (225, 1), (350, 0)]


def test_the_worst_zone_decides_and_is_named() -> None:
    zones = (heat(80, name="a"), heat(94, name="b"), heat(88, name="c"))
    decision = Governor(settings()).decide(Readings(t_s=0, zones=zones))
    assert decision is not None
    assert decision.reason.startswith("b has 94.0 °C")


def test_a_step_that_is_taken_back_is_tried_after_twice_the_time_up_to_a_limit() -> None:
    """A board that overheats with all work and cools down with less: waits of 120, 240, 480, 960, 1920, 1920 s. They begin with the first
    good reading, 5 s after the step.
    """
    governor = Governor(settings())

    def read(t_s: float) -> Readings:
        return Readings(t_s=t_s, zones=(heat(91 if governor.number == 0 else 80),))

    made = run(governor, read, 6000)
    downs = [t_s for t_s, number in made if number == 1]
    ups = [t_s for t_s, number in made if number == 0]
    assert [number for _, number in made][:4] == [1, 0, 1, 0]
    waits = [up - down for down, up in zip(downs, ups, strict=False)]
    assert waits == [125, 245, 485, 965, 1925, 1925]
    assert all(down - up == 30 for up, down in zip(ups, downs[1:], strict=False))


def test_a_step_that_lasts_ends_the_longer_waits() -> None:
    """Taken back once at 155 s (wait 240 s). Much later, at 5000 s, it is hot again: the wait is 120 s as at the beginning."""
    governor = Governor(settings())

    def read(t_s: float) -> Readings:
        return Readings(t_s=t_s, zones=(heat(91 if t_s in {0, 155, 5000} else 80),))

    assert run(governor, read, 6000) == [(0, 1), (125, 0), (155, 1), (400, 0), (5000, 1), (5125, 0)]


@pytest.mark.parametrize(("taken_back_s", "wait_s"), [(305, 240), (360, 240), (365, 120)])
def test_a_step_counts_as_taken_back_for_twice_its_wait(taken_back_s: int, wait_s: int) -> None:
    """Up at 125 s after a wait of 120 s. Heat less than 240 s later is a failure of that step, later heat is not."""
    hot = {0, taken_back_s}
    made = run(Governor(settings()), lambda t_s: Readings(t_s=t_s, zones=(heat(91 if t_s in hot else 80),)), 1000)
    assert made == [(0, 1), (125, 0), (taken_back_s, 1), (taken_back_s + 5 + wait_s, 0)]


def test_two_steps_up_that_last_end_the_longer_waits_too() -> None:
    """Down to 2; up at 155; taken back at 185 (wait 240); up at 430; that one lasts: up again 120 s after it."""
    governor = Governor(settings())
    hot = {0, 30, 185}
    made = run(governor, lambda t_s: Readings(t_s=t_s, zones=(heat(91 if t_s in hot else 80),)), 1000)
    assert made == [(0, 1), (30, 2), (155, 1), (185, 2), (430, 1), (675, 0)]
    again = run(governor, lambda t_s: Readings(t_s=t_s, zones=(heat(91 if t_s == 1700 else 80),)), 2000, 1000)
    assert again == [(1700, 1), (1825, 0)]


def test_a_group_that_asked_for_less_and_cannot_be_read_any_more_holds() -> None:
    governor = Governor(settings())
    assert run(governor, lambda t_s: Readings(t_s=t_s, zones=(heat(91),) if t_s < 5 else ()), 1000) == [(0, 1)]
    assert governor.lost == {"temperature"}
    assert run(governor, lambda t_s: Readings(t_s=t_s, zones=(heat(80),)), 2000, 1000) == [(1120, 0)]
    assert governor.lost == frozenset()


def test_a_sensor_that_sleeps_holds_nothing_up_while_others_are_read() -> None:
    def read(t_s: float) -> Readings:
        return Readings(t_s=t_s, zones=(heat(60), heat(91, name="gpu-thermal")) if t_s < 5 else (heat(60),))

    assert run(Governor(settings()), read, 1000) == [(0, 1), (125, 0)]


# The battery


def test_a_low_battery_limits_the_steps_and_charging_ends_it() -> None:
    """31 % is enough; below 30 % half of the frames; below 10 % the least. Charging begins at 60 s: up 120 s after each other."""
    governor = Governor(settings(LIGHT))
    half, least = 3, 6
    charge = {0: 31.0, 5: 30.0, 10: 29.9, 20: 10.0, 30: 9.9}

    def read(t_s: float) -> Readings:
        percent = charge[max(since for since in charge if since <= t_s)]
        return Readings(t_s=t_s, battery=Battery(percent=percent, discharging=t_s < 60))

    made = run(governor, read, 900)
    assert made[:2] == [(10, half), (30, least)]
    assert made[2:] == [(155, 5), (280, 4), (405, 3), (530, 2), (655, 1), (780, 0)]


def test_the_limits_of_a_battery_end_5_percent_above_them() -> None:
    def read_at(percent: float) -> Callable[[float], Readings]:
        return lambda t_s: Readings(t_s=t_s, battery=Battery(percent=percent, discharging=True))

    governor = Governor(settings())
    least, half = 5, 3
    assert run(governor, read_at(9), 5) == [(0, least)]
    assert run(governor, read_at(14.9), 2000, 5) == []
    assert run(governor, read_at(15), 4000, 2000) == [(2000, 4), (2125, half)]
    assert run(governor, read_at(34.9), 6000, 4000) == []
    assert governor.number == half
    assert run(governor, read_at(35), 6120, 6000) == [(6000, 2)]
    fresh = Governor(settings())
    assert run(fresh, read_at(12), 5) == [(0, half)]


def test_the_reason_of_the_battery() -> None:
    decision = Governor(settings()).decide(Readings(t_s=0, battery=Battery(percent=22, discharging=True)))
    assert decision is not None
    assert decision.reason == "the battery has 22 %, less than 30 %"


def test_a_battery_that_charges_or_is_not_there_limits_nothing() -> None:
    governor = Governor(settings())
    assert run(governor, lambda t_s: Readings(t_s=t_s, battery=Battery(percent=2, discharging=False)), 600) == []


def test_heat_counts_below_the_limit_of_the_battery() -> None:
    governor = Governor(settings())

    def read(t_s: float) -> Readings:
        return Readings(t_s=t_s, zones=(heat(93),), battery=Battery(percent=25, discharging=True))

    assert run(governor, read, 80) == [(0, 3), (30, 4), (60, 5)]


# Memory


def test_a_memory_squeeze_passes() -> None:
    """Another program takes memory from 60 s (8 %) and nearly all at 90 s (3 %); at 120 s it ends."""
    governor = Governor(settings(LIGHT))

    def read(t_s: float) -> Readings:
        percent = 40 if t_s < 60 else 8 if t_s < 90 else 3 if t_s < 120 else 40
        return Readings(t_s=t_s, memory=memory(percent))

    made = run(governor, read, 1000)
    assert made == [(60, 1), (90, 6), (240, 5), (365, 4), (490, 3), (615, 2), (740, 1), (865, 0)]


@pytest.mark.parametrize("kind", [Step, Decision])
def test_what_was_decided_cannot_be_changed(kind: type[Step | Decision]) -> None:
    assert kind.__struct_config__.frozen


def test_with_other_settings_it_stays_where_it_is() -> None:
    """At step 4 (a quarter of the frames) lighter engines are one step more: the same quarter is step 5 then, with them."""
    governor = Governor(settings())
    run(governor, lambda t_s: Readings(t_s=t_s, zones=(heat(92.0),)), 120)
    assert (governor.number, governor.step.rate, governor.step.light) == (4, 0.25, False)
    governor.follow(settings(LIGHT))
    assert (governor.number, governor.step.rate, governor.step.light) == (5, 0.25, True)
    governor.follow(settings())
    assert (governor.number, governor.step.rate) == (4, 0.25)
    cool = [governor.decide(Readings(t_s=float(t_s), zones=(heat(60.0),))) for t_s in (130, 249, 250)]
    assert [decision.number for decision in cool if decision is not None] == [3]
    governor.follow(settings(LIGHT))
    assert (governor.number, governor.step.light) == (3, False)
    for number in (0, 1, 2):
        fresh = Governor(settings())
        fresh.number = number
        fresh.follow(settings(LIGHT))
        assert fresh.number == number


def test_the_limit_of_a_battery_is_kept_with_other_settings() -> None:
    """9 % ask for the least work until 15 %; with lighter engines the least is step 6. From 15 % on, half of the frames is step 3."""
    governor = Governor(settings())
    for percent, number in ((9, 5), (14, 6), (15, 6)):
        if percent == 14:
            governor.follow(settings(LIGHT))
        governor.decide(Readings(t_s=float(percent), battery=Battery(percent=float(percent), discharging=True)))
        assert governor.number == number
    assert governor._floor(Readings(t_s=16.0, battery=Battery(percent=14.0, discharging=True)))[0] == 3
    assert governor._floor(Readings(t_s=16.0, battery=Battery(percent=34.0, discharging=True)))[0] == 3


def test_waits_that_grew_begin_anew_with_other_settings() -> None:
    governor = Governor(settings(GovernorSettings(recover_s=50.0)))
    governor._patience_s, governor._raised_s = 1600.0, 3.0
    governor.follow(settings())
    assert (governor._patience_s, governor._raised_s) == (120.0, None)
