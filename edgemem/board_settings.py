"""The tables of settings about the board: what it is, what edgemem may use of it, and when the governor acts."""

from __future__ import annotations

from typing import Annotated

import msgspec

Percent = Annotated[float, msgspec.Meta(ge=0, le=100)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=86_400)]
Degrees = Annotated[float, msgspec.Meta(ge=0, le=100)]


class Budget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits on the resources of the board."""

    disk: str | int = "4GiB"
    """Cap on everything in the memory directory together: a size such as "64MiB", or a number of bytes."""
    ram: str | int = 0
    """Main memory that the daemon may use; above it the governor acts. A size such as "2GiB"; 0 = no limit of its own."""
    watts: Annotated[float, msgspec.Meta(ge=0, le=10_000)] = 0.0
    """Power that the whole board may draw, in watts; above it the governor acts. 0 = as the name of the power mode says, such as "15W"."""
    fps: Annotated[float, msgspec.Meta(ge=0, le=1_000)] = 0.0
    """Frames per second of all streams together: if their recipes ask for more, each gets its share. 0 = as the recipes say."""


class Hardware(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known about the board. The files of `firmware_configs/` fill it in."""

    name: str = ""
    """Name of the board for people."""
    device_tree: list[str] = []
    """Texts that show this board: the first entry of the device tree's `compatible` that contains one of them decides, then `model`."""
    cameras: dict[str, str] = {}
    """Camera by name; `camera` of a source in `run.sources` names one."""
    plugins: list[str] = []
    """Plugins that serve this board; `edgemem doctor` names those that are missing."""
    zones: list[str] = []
    """Types of thermal zones that the governor watches, with * and ? as wildcards; empty = all."""
    limit_c: Annotated[float, msgspec.Meta(gt=0, le=150)] | None = None
    """Temperature in degrees Celsius that counts as a trip point of every zone, besides its own; for zones without one."""
    rails: list[str] = []
    """Labels of the power rails whose sum is the power of the board; empty = all."""
    power_modes: list[str] = []
    """Names of the nvpmodel power modes that these settings are made for; the first one is recommended."""
    root: str = "/"
    """Directory below which the board's files are read (/proc, /sys, /etc); another one for tests and simulations."""


class GovernorSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When the governor does less work, and when it does more again."""

    enabled: bool = True
    """Whether the governor runs in the daemon."""
    check_s: Seconds = 5.0
    """Time between two readings, in seconds."""
    worsen_s: Seconds = 30.0
    """Least time between two steps to less work."""
    recover_s: Seconds = 120.0
    """How long all readings must be good before a step to more work. It doubles when such a step had to be taken back."""
    recover_most_s: Seconds = 1920.0
    """The longest such time."""
    heat_margin_c: Degrees = 5.0
    """Less work when a zone is this close to its trip point, in degrees Celsius."""
    heat_recover_c: Degrees = 10.0
    """More work only when every zone is this far from its trip point."""
    power_recover_percent: Percent = 85.0
    """More work only when the power is below this part of its limit."""
    memory_low_percent: Percent = 10.0
    """Less work when less of the main memory is available."""
    memory_critical_percent: Percent = 4.0
    """The least work at once when less of the main memory is available."""
    memory_recover_percent: Percent = 20.0
    """More work only when more is available."""
    stalled_percent: Percent = 20.0
    """Less work when programs waited for memory in more than this part of the last 10 s (/proc/pressure/memory, some avg10)."""
    stalled_recover_percent: Percent = 5.0
    """More work only when it is less than this part."""
    battery_low_percent: Percent = 30.0
    """At most half of the frames while a battery discharges below this charge."""
    battery_critical_percent: Percent = 10.0
    """The least work while a battery discharges below this charge."""
    battery_recover_percent: Percent = 5.0
    """A limit of the battery ends this far above its charge, or when it no longer discharges."""
    least_fps: Annotated[float, msgspec.Meta(gt=0, le=1_000)] = 0.1
    """No stream gets fewer frames per second, unless its recipe says so."""
    light: dict[str, str] = {}
    """Lighter engine card by role, such as `transcribe = "whisper-tiny-en"`, for the steps with lighter engines."""

    def __post_init__(self) -> None:
        pairs = {
            "heat_margin_c must be below heat_recover_c": self.heat_margin_c < self.heat_recover_c,
            "memory_critical_percent must be below memory_low_percent": self.memory_critical_percent < self.memory_low_percent,
            "memory_low_percent must be below memory_recover_percent": self.memory_low_percent < self.memory_recover_percent,
            "stalled_recover_percent must be below stalled_percent": self.stalled_recover_percent < self.stalled_percent,
            "battery_critical_percent must be below battery_low_percent": self.battery_critical_percent < self.battery_low_percent,
            "recover_s must not be above recover_most_s": self.recover_s <= self.recover_most_s,
        }
        for problem, holds in pairs.items():
            if not holds:
                raise ValueError(problem)
