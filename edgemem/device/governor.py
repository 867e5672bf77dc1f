"""The governor: readings of the board in, a decision out. It has no thread, no clock and no files: `governor_runner` gives it readings.

Work is reduced and restored step by step (`steps_of`). Each reading is judged on its own (`judge`). One that asked for less work must be
good before there is more again; between the two limits it only holds, which is the hysteresis. A step to more work that had to be taken
back soon is tried again only after twice the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from edgemem.board_settings import GovernorSettings
from edgemem.config import Settings, parse_bytes
from edgemem.device.board import Readings, ThermalZone
from edgemem.records import Record

_OWN_RECOVER = 0.9
"""More work only when this process has less than this part of its memory budget."""


class Step(Record, frozen=True):
    """How much work is done."""

    name: str
    rate: float
    """Part of the frames that are processed."""
    background: bool
    """Whether postponed and idle work is done."""
    light: bool = False
    """Whether the lighter engines of the settings are used."""


class Decision(Record, frozen=True):
    """A change of the step, with its reason."""

    step: Step
    number: int
    """0 = all work."""
    less: bool
    """Whether it is less work than before."""
    reason: str
    """One line for a person, with the reading and the limit."""
    t_s: float


class Need(IntEnum):
    """What a reading asks for."""

    MORE = 0
    """It is good: more work is possible."""
    HOLD = 1
    """Less work is not needed, but if it asked for less before, it is not good yet."""
    LESS = 2
    """Less work, a step at a time."""
    URGENT = 3
    """Less work, a step at every reading."""
    LEAST = 4
    """The least work at once."""


class Verdict(NamedTuple):
    """What one reading asks for, and why."""

    group: str
    """What is read: "temperature", "power", "supply" or "memory"."""
    what: str
    """Which reading of the group, such as the name of a zone."""
    need: Need
    reason: str


_ALL = Step(name="all work", rate=1.0, background=True)
_HALF = Step(name="half of the frames, no background work", rate=0.5, background=False)


def steps_of(settings: GovernorSettings) -> tuple[Step, ...]:
    """The steps from all work to the least. Steps with lighter engines are there only if the settings name some."""
    light = bool(settings.light)
    engines = ", lighter engines" if light else ""
    return (
        _ALL,
        Step(name="no background work", rate=1.0, background=False),
        Step(name="three quarters of the frames, no background work", rate=0.75, background=False),
        _HALF,
        *([Step(name=f"{_HALF.name}{engines}", rate=0.5, background=False, light=True)] if light else []),
        Step(name=f"a quarter of the frames{engines}, no background work", rate=0.25, background=False, light=light),
        Step(name=f"a tenth of the frames{engines}, no background work", rate=0.1, background=False, light=light),
    )


class Governor:
    """Decides on steps from readings in the order of their time."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._limits = settings.governor
        self.steps = steps_of(settings.governor)
        self.number = 0
        """The present step."""
        self._changed_s = float("-inf")
        self._raised_s: float | None = None
        """Time of the last step to more work, unless it was taken back."""
        self._good_since_s: float | None = None
        self._patience_s = settings.governor.recover_s
        self._battery_floor = 0
        self._asking: set[tuple[str, str]] = set()
        """(group, reading) of those that asked for less work and are not good since."""
        self.lost: frozenset[str] = frozenset()
        """Groups that asked for less work and cannot be read now: there is no more work until they can be."""

    @property
    def step(self) -> Step:
        """The present step."""
        return self.steps[self.number]

    def follow(self, settings: Settings) -> None:
        """Take over other settings. It stays at the step that is most like the present one; what was learnt about waiting is forgotten."""
        before, floor = self.step, self.steps[self._battery_floor]
        self._settings, self._limits, self.steps = settings, settings.governor, steps_of(settings.governor)
        self.number = self._most_like(before)
        self._battery_floor = self._most_like(floor)
        self._raised_s, self._patience_s = None, settings.governor.recover_s

    def _most_like(self, step: Step) -> int:
        """By the frames, then background work, then the engines."""
        return max(
            range(len(self.steps)),
            key=lambda number: (
                -abs(self.steps[number].rate - step.rate),
                self.steps[number].background == step.background,
                self.steps[number].light == step.light,
            ),
        )

    def decide(self, readings: Readings) -> Decision | None:
        """The change that these readings ask for, if any."""
        verdicts = list(judge(readings, self._settings))
        self._remember(verdicts)
        if self._asking:
            self._good_since_s = None
        elif self._good_since_s is None:
            self._good_since_s = readings.t_s
        number, reason = self._wanted(max(verdicts, key=lambda verdict: verdict.need), readings.t_s)
        floor, why_floor = self._floor(readings)
        if number < floor:
            number, reason = floor, why_floor
        return self._change(number, reason, readings.t_s) if number != self.number else None

    def _remember(self, verdicts: list[Verdict]) -> None:
        """Note who asks for less work. A reading that is gone while others of its group are there is forgotten: its unit sleeps."""
        groups = {verdict.group for verdict in verdicts}
        held = {(verdict.group, verdict.what) for verdict in verdicts if verdict.need == Need.HOLD}
        asks = {(verdict.group, verdict.what) for verdict in verdicts if verdict.need > Need.HOLD}
        self._asking = asks | {one for one in self._asking if one in held or one[0] not in groups}
        self.lost = frozenset(group for group, _ in self._asking if group not in groups)

    def _wanted(self, worst: Verdict, t_s: float) -> tuple[int, str]:
        """The step that the verdicts ask for, and the reason."""
        last = len(self.steps) - 1
        if worst.need == Need.LEAST:
            return last, worst.reason
        rested = t_s - self._changed_s >= self._limits.worsen_s
        if worst.need == Need.URGENT or (worst.need == Need.LESS and rested):
            return min(self.number + 1, last), worst.reason
        if self._good_since_s is not None and self.number and t_s - self._good_since_s >= self._patience_s:
            return self.number - 1, f"all readings are good for {t_s - self._good_since_s:.0f} s"
        return self.number, ""

    def _change(self, number: int, reason: str, t_s: float) -> Decision:
        less = number > self.number
        if self._raised_s is not None:
            failed = less and t_s - self._raised_s < 2 * self._patience_s
            self._patience_s = min(2 * self._patience_s, self._limits.recover_most_s) if failed else self._limits.recover_s
        self._raised_s = None if less else t_s
        self.number, self._changed_s, self._good_since_s = number, t_s, None
        return Decision(step=self.step, number=number, less=less, reason=reason, t_s=t_s)

    def _floor(self, readings: Readings) -> tuple[int, str]:
        """The least step number that the charge of a discharging battery allows, and the reason."""
        battery, limits = readings.battery, self._limits
        if battery is None or not battery.discharging:
            self._battery_floor = 0
            return 0, ""
        levels = ((len(self.steps) - 1, limits.battery_critical_percent), (self.steps.index(_HALF), limits.battery_low_percent))
        for floor, percent in levels:
            until = percent + (limits.battery_recover_percent if self._battery_floor >= floor else 0.0)
            if battery.percent < until:
                self._battery_floor = floor
                return floor, f"the battery has {battery.percent:.0f} %, less than {until:.0f} %"
        self._battery_floor = 0
        return 0, ""


def judge(readings: Readings, settings: Settings) -> Iterator[Verdict]:
    """The verdict of every cause that can be read. The battery is no such cause: its charge does not rise with less work."""
    for zone in readings.zones:
        if zone.trip_c is not None:
            yield _heat(zone, zone.trip_c, settings.governor)
    weak = readings.alarms[0] if readings.alarms else ""
    yield Verdict("supply", "alarm", Need.LESS if weak else Need.MORE, f"the power supply is too weak ({weak})")
    yield from _power(readings, settings)
    yield from _memory(readings, settings)


def _heat(zone: ThermalZone, trip_c: float, limits: GovernorSettings) -> Verdict:
    """By the distance of a zone to its trip point, and to the point where the board is switched off."""
    distance_c = trip_c - zone.temp_c
    reason = f"{zone.name} has {zone.temp_c:.1f} °C, {abs(distance_c):.1f} {'below' if distance_c > 0 else 'above'} its trip point"
    need = Need.LESS if distance_c < limits.heat_margin_c else Need.HOLD if distance_c < limits.heat_recover_c else Need.MORE
    if distance_c <= 0:
        need = Need.URGENT
    if zone.critical_c is not None and zone.critical_c - zone.temp_c < limits.heat_margin_c / 2:
        need, reason = Need.LEAST, f"{zone.name} has {zone.temp_c:.1f} °C; at {zone.critical_c:.1f} the board is switched off"
    return Verdict("temperature", zone.name, need, reason)


def _power(readings: Readings, settings: Settings) -> Iterator[Verdict]:
    """By the power of the board and its limit: that of the settings, else that of the power mode."""
    limit, watts = settings.budget.watts or readings.mode_watts, readings.watts
    if watts is None or limit is None:
        return
    reason = f"the board draws {watts:.1f} W of {limit:.1f} W"
    yield Verdict("power", "board", _need(watts > limit, watts < limit * settings.governor.power_recover_percent / 100), reason)


def _memory(readings: Readings, settings: Settings) -> Iterator[Verdict]:
    """By what is available, by the time programs wait for memory, and by what this process has."""
    memory, limits = readings.memory, settings.governor
    if memory is None:
        return
    percent = 100 * memory.available_bytes / memory.total_bytes
    need = _need(percent < limits.memory_low_percent, percent > limits.memory_recover_percent)
    need = Need.LEAST if percent < limits.memory_critical_percent else need
    yield Verdict("memory", "available", need, f"{percent:.1f} % of the memory is available")
    if (stalled := memory.stalled_percent) is not None:
        need = _need(stalled > limits.stalled_percent, stalled < limits.stalled_recover_percent)
        yield Verdict("memory", "stalled", need, f"programs waited for memory in {stalled:.1f} % of the last 10 s")
    own, cap = memory.own_bytes, parse_bytes(settings.budget.ram)
    if cap:
        need = _need(own > cap, own < _OWN_RECOVER * cap)
        yield Verdict("memory", "own", need, f"edgemem has {own >> 20} MiB of memory, its budget is {cap >> 20} MiB")


def _need(bad: bool, good: bool) -> Need:
    return Need.LESS if bad else Need.MORE if good else Need.HOLD
