"""What the governor keeps over simulated days: frames, temperature, changes.

    python tools/bench/governor.py

The board is `edgemem.device.simulation.physics`: chosen, not measured. "best possible" is the highest rate at each moment with which the
chip ends at the temperature where the governor acts, as if the weather were known; "all work" and "least work" are without a governor;
"thermostat" has only these two steps, with the same limits.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

from edgemem.board_settings import GovernorSettings
from edgemem.config import Settings
from edgemem.device.governor import Governor, Step, steps_of
from edgemem.device.simulation.physics import Plant, PlantBoard, air_of_day

CHECK_S, DAY_S = 5.0, 86_400.0
DAYS = {"warm day": (18.0, 34.0), "hot day": (20.0, 44.0), "heat wave": (32.0, 56.0)}
LIGHT = {"transcribe": "a lighter card"}


class Result(NamedTuple):
    """One day: parts of the frames and of background work, hottest temperature, time above the trip point, changes of the step.

    Of the best possible governor: changes of its rate in hundredths.
    """

    kept: float
    background: float
    hottest_c: float
    above_s: float
    changes: int


class Thermostat:
    """All work or the least: less at the governor's limit, more again at its other limit."""

    def __init__(self, limits: GovernorSettings) -> None:
        self._limits = limits
        self.step = steps_of(limits)[0]

    def decide(self, board: PlantBoard) -> None:
        """Switch by the distance to the trip point."""
        distance_c, steps = board.plant.trip_c - board.temp_c, steps_of(self._limits)
        if distance_c < self._limits.heat_margin_c:
            self.step = steps[-1]
        elif distance_c >= self._limits.heat_recover_c:
            self.step = steps[0]


class Fixed:
    """Always the same step."""

    def __init__(self, step: Step) -> None:
        self.step = step

    def decide(self, board: PlantBoard) -> None:
        """Nothing."""


class Governed:
    """The governor."""

    def __init__(self, limits: GovernorSettings) -> None:
        self._governor = Governor(Settings(governor=limits))

    @property
    def step(self) -> Step:
        """Its step."""
        return self._governor.step

    def decide(self, board: PlantBoard) -> None:
        """One reading."""
        self._governor.decide(board.readings(board.t_s))


class Best:
    """The highest rate whose final temperature is the one at which the governor acts; background work only where all frames fit."""

    def __init__(self, limits: GovernorSettings) -> None:
        self._limits = limits
        self.step = steps_of(limits)[0]

    def decide(self, board: PlantBoard) -> None:
        """By the present air."""
        plant = board.plant
        watts = (plant.trip_c - self._limits.heat_margin_c - board.air_c) / plant.kelvin_per_watt - plant.idle_watts
        rate = max(0.0, min(1.0, watts / plant.frame_watts))
        self.step = Step(name=f"{rate:.2f}", rate=rate, background=watts >= plant.frame_watts + plant.background_watts)


def day(air: tuple[float, float], control: Governed | Thermostat | Fixed | Best) -> Result:
    """One simulated day, from the air's temperature at midnight."""
    board = PlantBoard(Plant(), air_of_day(0.0, *air))
    kept = background = above_s = 0.0
    hottest_c, changes, before = board.temp_c, 0, control.step.name
    while board.t_s < DAY_S:
        board.air_c = air_of_day(board.t_s, *air)
        control.decide(board)
        changes += control.step.name != before
        before = control.step.name
        board.advance(CHECK_S, control.step)
        kept += control.step.rate * CHECK_S
        background += control.step.background * CHECK_S
        above_s += (board.temp_c > board.plant.trip_c) * CHECK_S
        hottest_c = max(hottest_c, board.temp_c)
    return Result(kept / DAY_S, background / DAY_S, hottest_c, above_s, changes)


def main() -> None:
    """Print a table for each day."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    plain, light = GovernorSettings(), GovernorSettings(light=LIGHT)
    for name, air in DAYS.items():
        print(f"\n{name}: air from {air[0]:.0f} to {air[1]:.0f} degrees, trip point at {Plant().trip_c:.0f}")
        print(f"{'control':34}{'frames kept':>12}{'background':>12}{'hottest':>9}{'above trip':>12}{'changes':>9}")
        controls: dict[str, Governed | Thermostat | Fixed | Best] = {
            "all work": Fixed(steps_of(plain)[0]), "least work": Fixed(steps_of(plain)[-1]), "thermostat": Thermostat(plain),
            "governor": Governed(plain), "governor with lighter engines": Governed(light), "best possible without these": Best(plain),
        }  # fmt: skip
        for title, control in controls.items():
            found = day(air, control)
            line = f"{found.kept:12.1%}{found.background:12.1%}{found.hottest_c:9.1f}{found.above_s / 60:8.0f} min{found.changes:9}"
            print(f"{title:34}{line}")


if __name__ == "__main__":
    main()
