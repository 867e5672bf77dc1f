"""What the governor reads of a board: thermal zones, power, memory and battery. `SysfsBoard` reads them on Linux."""

from __future__ import annotations

from typing import Protocol

from edgemem.records import Record


class ThermalZone(Record, frozen=True):
    """A temperature sensor with its trip points."""

    name: str
    """Its type, such as "cpu-thermal"."""
    temp_c: float
    trip_c: float | None = None
    """Where the kernel or firmware begins to slow the board down; None = unknown."""
    critical_c: float | None = None
    """Where the board is switched off; None = unknown."""


class Memory(Record, frozen=True):
    """The main memory of the board."""

    total_bytes: int
    available_bytes: int
    """What programs can still get without swapping (MemAvailable)."""
    own_bytes: int = 0
    """What this process holds and cannot be dropped (RssAnon)."""
    stalled_percent: float | None = None
    """Part of the last 10 s in which programs waited for memory; None = this kernel does not say."""


class Battery(Record, frozen=True):
    """The battery of the board, not of an accessory."""

    percent: float
    discharging: bool


class Readings(Record, frozen=True):
    """All readings at one time. What cannot be read is missing."""

    t_s: float
    """Monotonic time in seconds."""
    zones: tuple[ThermalZone, ...] = ()
    watts: float | None = None
    """Power of the whole board."""
    mode_watts: float | None = None
    """What the name of the power mode allows; None = no limit, or unknown."""
    alarms: tuple[str, ...] = ()
    """Raised alarms of the power supply, such as "rpi_volt in0_lcrit_alarm"."""
    memory: Memory | None = None
    battery: Battery | None = None


class Board(Protocol):
    """A board that can be read. A test or a simulation has its own."""

    name: str

    def readings(self, t_s: float) -> Readings:
        """The present readings; `t_s` is the monotonic time to put into them. Never raises."""
        ...

    def power_mode(self) -> str:
        """Name of the power mode, such as "15W"; "" if there is none."""
        ...
