"""Whole days of a simulated board in fake time: a hot day, a low battery. The numbers are worked out from the board's physics."""

from __future__ import annotations

import pytest

from edgemem.board_settings import Budget, GovernorSettings
from edgemem.config import Settings
from edgemem.device.governor import Decision, Governor, Step, steps_of
from edgemem.device.simulation.physics import Plant, PlantBoard, air_of_day

CHECK_S, DAY_S = 5.0, 86_400.0
FULL = Step(name="all work", rate=1.0, background=True)


class Day:
    """One day with a governor: its decisions, the hottest temperature, and the frames that were kept."""

    def __init__(self, board: PlantBoard, settings: Settings, air: tuple[float, float], hours: float = 24.0) -> None:
        self.decisions: list[Decision] = []
        self.hottest_c, self.frames = board.temp_c, 0.0
        self.steps: dict[float, int] = {}
        governor = Governor(settings)
        while board.t_s < hours * 3600:
            board.air_c = air_of_day(board.t_s, *air)
            decision = governor.decide(board.readings(board.t_s))
            self.decisions += [decision] if decision is not None else []
            self.steps[board.t_s] = governor.number
            board.advance(CHECK_S, governor.step)
            self.hottest_c = max(self.hottest_c, board.temp_c)
            self.frames += governor.step.rate * CHECK_S
        self.kept = self.frames / board.t_s


def test_the_temperature_approaches_air_and_power_times_resistance() -> None:
    """25 degrees and 11 W x 5 K/W: 80 degrees in the end, 63.2 % of the way after one time constant; slower steps are cooler."""
    board = PlantBoard(Plant(), 25.0)
    board.advance(300.0, FULL)
    assert board.temp_c == pytest.approx(25 + 55 * 0.63212, abs=0.001)
    for _ in range(100):
        board.advance(300.0, FULL)
    assert board.temp_c == pytest.approx(80.0)
    final = []
    for step in steps_of(GovernorSettings(light={"ocr": "small"})):
        board.advance(1e6, step)
        final.append(round(board.temp_c, 2))
    assert final == [80.0, 75.0, 67.5, 60.0, 54.0, 49.5, 46.8]


def test_the_air_is_coolest_at_three_and_hottest_at_fifteen() -> None:
    assert [air_of_day(hour * 3600, 20, 44) for hour in (3, 9, 15, 21)] == pytest.approx([20, 32, 44, 32])


def test_a_cool_day_needs_no_governor() -> None:
    """At most 30 degrees + 55 = 85: ten below the trip point."""
    day = Day(PlantBoard(Plant(), 20.0), Settings(), (18.0, 30.0))
    assert (day.decisions, day.kept) == ([], 1.0)
    assert day.hottest_c < 85.0


def test_a_hot_day_stays_below_the_trip_point_and_keeps_most_frames() -> None:
    """Up to 44 degrees. All work would give 99 degrees; without background work 94, still within 5 of the trip point at 95; with three
    quarters of the frames 86.5. So the first step comes at 90 degrees (air at 35), the second when the air is above 40; none goes further.
    """
    day = Day(PlantBoard(Plant(), 25.0), Settings(), (20.0, 44.0))
    assert 90.0 < day.hottest_c < 91.0
    assert max(day.steps.values()) == 2
    first = next(decision for decision in day.decisions if decision.less)
    assert (first.number, first.reason) == (1, "cpu-thermal has 90.0 °C, 5.0 below its trip point")
    assert air_of_day(first.t_s, 20.0, 44.0) == pytest.approx(35.3, abs=0.3)
    at_peak = {number for t_s, number in day.steps.items() if 14 * 3600 < t_s < 16 * 3600}
    assert at_peak == {2}
    assert day.steps[max(day.steps)] == 0
    hot_hours = sum(1 for t_s in day.steps if air_of_day(t_s, 20.0, 44.0) > 40.0) * CHECK_S / 3600
    lost = (1 - day.kept) * 24
    assert 0.25 * hot_hours * 0.8 < lost < 0.25 * hot_hours * 1.7, "a quarter of the frames, about as long as the air is above 40"
    assert len(day.decisions) < 40


def test_lighter_engines_help_where_a_lower_rate_alone_did_not() -> None:
    """Up to 56 degrees: half of the frames give 91, with lighter engines 85; a quarter would give 83.5 without them."""
    heavy = Day(PlantBoard(Plant(), 40.0), Settings(), (32.0, 56.0))
    light = Day(PlantBoard(Plant(), 40.0), Settings(governor=GovernorSettings(light={"ocr": "small"})), (32.0, 56.0))
    assert max(heavy.steps.values()) == 4
    assert max(light.steps.values()) == 4
    assert steps_of(GovernorSettings(light={"ocr": "small"}))[4].rate == 0.5
    assert steps_of(GovernorSettings())[4].rate == 0.25
    assert light.kept > heavy.kept
    assert max(heavy.hottest_c, light.hottest_c) < 92.0


def test_a_limit_in_watts_is_kept_and_not_probed_all_the_time() -> None:
    """8.6 W allowed: all work is 11 W, without background 10, with three quarters 8.5 (more than 85 % of the limit: it holds)."""
    day = Day(PlantBoard(Plant(), 20.0), Settings(budget=Budget(watts=8.6)), (18.0, 30.0))
    assert [(decision.t_s, decision.number) for decision in day.decisions] == [(5.0, 1), (35.0, 2)]
    assert day.decisions[0].reason == "the board draws 11.0 W of 8.6 W"


def test_a_battery_lasts_longer_with_the_governor() -> None:
    """40 Wh. 70 % at 11 W last 2.545 h; then 20 % at 7 W (half the frames) 1.143 h; then 10 % at 4.6 W (a tenth) 0.870 h: 4.558 h in all.
    With all work it would be 3.636 h.
    """
    board = PlantBoard(Plant(battery_wh=40.0), 20.0)
    day = Day(board, Settings(), (18.0, 24.0), hours=4.5)
    low, critical = day.decisions
    assert (low.number, low.t_s / 3600) == (3, pytest.approx(28 / 11, abs=0.003))
    assert (critical.number, critical.t_s / 3600) == (5, pytest.approx(28 / 11 + 8 / 7, abs=0.005))
    assert board.charge_wh / 4.6 == pytest.approx(28 / 11 + 8 / 7 + 4 / 4.6 - 4.5, abs=0.01)
    assert 0.0 < board.charge_wh < 40.0 * 0.01


def test_charging_brings_all_work_back() -> None:
    board = PlantBoard(Plant(battery_wh=1.0), 20.0)
    governor = Governor(Settings())
    for _ in range(120):
        governor.decide(board.readings(board.t_s))
        board.advance(CHECK_S, governor.step)
    assert governor.number == 5
    board.plugged = True
    for _ in range(200):
        governor.decide(board.readings(board.t_s))
        board.advance(CHECK_S, governor.step)
    assert governor.number == 0
    assert board.charge_wh < 1.0


def test_a_memory_squeeze_ends_with_all_work_again() -> None:
    board, governor, numbers = PlantBoard(Plant(), 20.0), Governor(Settings()), list[int]()
    for available_percent, seconds in ((40.0, 60), (8.0, 60), (3.0, 30), (15.0, 600), (30.0, 900)):
        board.available_percent = available_percent
        for _ in range(int(seconds / CHECK_S)):
            governor.decide(board.readings(board.t_s))
            board.advance(CHECK_S, governor.step)
        numbers.append(governor.number)
    assert numbers == [0, 2, 5, 5, 0]
