"""What goes wrong in a simulation, and when: one strict TOML file. All times are seconds since the start of the simulation."""

from __future__ import annotations

from bisect import bisect_right
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import msgspec

from edgemem.config import convert
from edgemem.errors import UsageError, nearest
from edgemem.records import Record
from edgemem.toml import read_toml

Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e8)]


class Blind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The camera is gone: it sends nothing and says so."""

    from_s: Seconds
    to_s: Seconds
    stream: str = "*"
    """Streams, with * and ? as wildcards."""


class Frozen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The camera sends its last picture again and again."""

    from_s: Seconds
    to_s: Seconds
    stream: str = "*"


class ClockJump(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The wall clock is set forward or back."""

    at_s: Seconds
    by_s: Annotated[float, msgspec.Meta(ge=-1e10, le=1e10)]
    synchronised: bool = False
    """Whether a time server confirms the clock from then on."""


class SlowDisk(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every transaction takes longer."""

    from_s: Seconds
    to_s: Seconds
    delay_s: Annotated[float, msgspec.Meta(gt=0, le=3600)]


class Thermal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The temperature of a zone: straight lines between the points of a curve."""

    curve: Annotated[list[tuple[Seconds, Annotated[float, msgspec.Meta(ge=-40, le=150)]]], msgspec.Meta(min_length=1)]
    """(seconds, degrees Celsius), in order; the first and last temperature hold before and after."""
    zone: str = "cpu-thermal"
    trip_c: float = 85.0
    """Where the board begins to slow down."""
    critical_c: float = 105.0
    """Where it is switched off."""

    def __post_init__(self) -> None:
        if any(after[0] <= before[0] for before, after in pairwise(self.curve)):
            raise ValueError("the seconds of a curve must increase")

    def celsius(self, at_s: float) -> float:
        """The temperature at a time."""
        place = bisect_right([second for second, _ in self.curve], at_s)
        if place in {0, len(self.curve)}:
            return self.curve[max(0, place - 1)][1]
        (since_s, before), (until_s, after) = self.curve[place - 1], self.curve[place]
        return before + (after - before) * (at_s - since_s) / (until_s - since_s)


Fault = Blind | Frozen | ClockJump | SlowDisk | Thermal


class _Whole(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a file beside its tables `[[fault]]`."""

    synchronised: bool = True
    """Whether a time server confirms the clock at the start."""


class Faults(Record, frozen=True):
    """Everything that goes wrong in one simulation. In a file, each fault is a table `[[fault]]` with its `type`."""

    fault: tuple[Fault, ...] = ()
    synchronised: bool = True
    """Whether a time server confirms the clock at the start."""

    def blind(self, stream: str, at_s: float) -> bool:
        """Whether the camera of a stream is gone."""
        return any(isinstance(one, Blind) and one.from_s <= at_s < one.to_s and fnmatchcase(stream, one.stream) for one in self.fault)

    def frozen(self, stream: str, at_s: float) -> bool:
        """Whether the camera of a stream repeats its last picture."""
        return any(isinstance(one, Frozen) and one.from_s <= at_s < one.to_s and fnmatchcase(stream, one.stream) for one in self.fault)

    def delay_s(self, at_s: float) -> float:
        """How much longer a transaction takes."""
        return max((one.delay_s for one in self.fault if isinstance(one, SlowDisk) and one.from_s <= at_s < one.to_s), default=0.0)

    def jumps(self, after_s: float, until_s: float) -> list[ClockJump]:
        """When the clock is set within this time, in order."""
        found = [one for one in self.fault if isinstance(one, ClockJump) and after_s < one.at_s <= until_s]
        return sorted(found, key=lambda jump: jump.at_s)

    def zones(self) -> list[Thermal]:
        """The zones of the board."""
        return [one for one in self.fault if isinstance(one, Thermal)]

    def changes(self) -> list[float]:
        """The times at which something begins or ends, in order: time must stop there."""
        spans = [edge for one in self.fault if isinstance(one, Blind | Frozen | SlowDisk) for edge in (one.from_s, one.to_s)]
        return sorted({*spans, *(one.at_s for one in self.fault if isinstance(one, ClockJump))})


_TYPES: dict[str, type[Fault]] = {"blind": Blind, "frozen": Frozen, "clock": ClockJump, "slow_disk": SlowDisk, "thermal": Thermal}


def read_faults(path: Path) -> Faults:
    """The faults of a file. Raises UsageError, which names the key and the nearest valid one."""
    data = read_toml(path)
    listed = data.pop("fault", [])
    if not isinstance(listed, list):
        raise UsageError(f"{path}: write each fault as a table of its own: [[fault]]")
    faults = [_fault(fields, f"{path}: fault {number}") for number, fields in enumerate(listed, 1)]
    return Faults(fault=tuple(faults), synchronised=convert(data, _Whole, str(path)).synchronised)


def _fault(fields: Any, where: str) -> Fault:
    if not isinstance(fields, dict):
        raise UsageError(f"{where}: it must be a table")
    named = fields.pop("type", "")
    if named not in _TYPES:
        raise UsageError(f'{where}: no type is called "{named}"{nearest(str(named), _TYPES)}')
    fault = convert(fields, _TYPES[named], where)
    if isinstance(fault, Blind | Frozen | SlowDisk) and fault.to_s <= fault.from_s:
        raise UsageError(f"{where}: it must end after it began: from_s = {fault.from_s:g}, to_s = {fault.to_s:g}")
    return fault
