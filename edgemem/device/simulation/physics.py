"""A board by its physics: it gets warm by its work and the air, drains a battery, and is read like a real one. For tests and benchmarks.

Temperature follows Newton's law of cooling for one lumped body (Incropera, Fundamentals of Heat and Mass Transfer, chapter 5): it
approaches air + resistance x power with one time constant.
"""

from __future__ import annotations

import math

from edgemem.device.board import Battery, Memory, Readings, ThermalZone
from edgemem.device.governor import Step
from edgemem.records import Record


class Plant(Record, frozen=True):
    """The physics of a board. The defaults are a small fanless board in a closed housing; they are chosen, not measured."""

    idle_watts: float = 4.0
    background_watts: float = 1.0
    """Power of background work while it is allowed."""
    frame_watts: float = 6.0
    """Power of seeing at the full rate."""
    light_part: float = 0.6
    """Part of that power with lighter engines."""
    kelvin_per_watt: float = 5.0
    """Thermal resistance from the chip to the air."""
    time_constant_s: float = 300.0
    trip_c: float = 95.0
    critical_c: float = 105.0
    battery_wh: float = 0.0
    """Energy of the full battery; 0 = no battery."""


class PlantBoard:
    """A `Board` that is a plant: its time passes by `advance`."""

    name = "modelled board"

    def __init__(self, plant: Plant, air_c: float) -> None:
        """It has the temperature of the air, all memory but 40 % is used, and the battery is full."""
        self.plant = plant
        self.air_c = air_c
        self.temp_c = air_c
        self.charge_wh = plant.battery_wh
        self.plugged = False
        self.available_percent = 40.0
        self.t_s = 0.0
        self.watts = plant.idle_watts

    def advance(self, seconds: float, step: Step) -> None:
        """Let time pass with the work of a step."""
        plant = self.plant
        frames = plant.frame_watts * step.rate * (plant.light_part if step.light else 1.0)
        self.watts = plant.idle_watts + plant.background_watts * step.background + frames
        final_c = self.air_c + plant.kelvin_per_watt * self.watts
        self.temp_c = final_c + (self.temp_c - final_c) * math.exp(-seconds / plant.time_constant_s)
        if not self.plugged:
            self.charge_wh = max(0.0, self.charge_wh - self.watts * seconds / 3600)
        self.t_s += seconds

    def readings(self, t_s: float) -> Readings:
        """The present readings."""
        plant = self.plant
        battery = Battery(percent=100 * self.charge_wh / plant.battery_wh, discharging=not self.plugged) if plant.battery_wh else None
        return Readings(
            t_s=t_s,
            zones=(ThermalZone(name="cpu-thermal", temp_c=self.temp_c, trip_c=plant.trip_c, critical_c=plant.critical_c),),
            watts=self.watts,
            memory=Memory(total_bytes=8 << 30, available_bytes=round(self.available_percent / 100 * (8 << 30))),
            battery=battery,
        )

    def power_mode(self) -> str:
        """It has none."""
        return ""


def air_of_day(t_s: float, coolest_c: float, hottest_c: float) -> float:
    """Air temperature at a time since midnight: a sine with its lowest value at 03:00 and its highest at 15:00."""
    return (coolest_c + hottest_c) / 2 - (hottest_c - coolest_c) / 2 * math.cos((t_s - 3 * 3600) / 43_200 * math.pi)
