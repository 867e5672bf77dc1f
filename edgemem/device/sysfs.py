"""Reads a Linux board from files below a root directory: /sys/class/thermal, hwmon, power_supply, /proc and nvpmodel's files.

Formats: Documentation/ABI/testing/sysfs-class-thermal, sysfs-class-hwmon, sysfs-class-power, Documentation/accounting/psi.rst and
Documentation/hwmon/ina3221.rst (the power monitor of Jetson boards) of the Linux kernel.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from edgemem.board_settings import Hardware
from edgemem.device.board import Battery, Memory, Readings, ThermalZone

_MOST_BYTES = 1 << 16
_COLDEST_C, _HOTTEST_C = -40.0, 200.0
"""Values outside are no temperatures: drivers show disabled trip points and sleeping sensors so."""
_SLOWING = ("passive", "hot")
"""Types of trip points at which the kernel slows the board down. "active" ones only turn fans on."""

_ALARMS = ("in*_lcrit_alarm", "curr*_crit_alarm")


class SysfsBoard:
    """The board whose files are below `hardware.root`."""

    def __init__(self, name: str, hardware: Hardware) -> None:
        self.name = name
        self._hardware = hardware
        self._root = Path(hardware.root)

    def readings(self, t_s: float) -> Readings:
        """All that can be read now."""
        return Readings(
            t_s=t_s, zones=self.zones(), watts=self.watts(), mode_watts=watts_of(self.power_mode()), alarms=self.alarms(),
            memory=self.memory(), battery=self.battery(),
        )  # fmt: skip

    def zones(self) -> tuple[ThermalZone, ...]:
        """The zones of the settings that can be read now: a sensor of a sleeping unit cannot."""
        wanted = self._hardware.zones or ["*"]
        found = ((folder, _text(folder / "type")) for folder in self._folders("sys/class/thermal/thermal_zone*"))
        zones = (self._zone(folder, name) for folder, name in found if any(fnmatchcase(name, pattern) for pattern in wanted))
        return tuple(zone for zone in zones if zone is not None)

    def watts(self) -> float | None:
        """The sum of the power rails of the settings in watts; None if one of them is missing, or there is none at all."""
        rails = self.rails()
        wanted = self._hardware.rails or list(rails)
        return sum(rails[name] for name in wanted) if wanted and set(wanted) <= set(rails) else None

    def rails(self) -> dict[str, float]:
        """Every power rail in watts: from its power (microwatts), else from voltage (mV) times current (mA)."""
        return {name: watts for chip in self._folders("sys/class/hwmon/hwmon*") for name, watts in _rails_of(chip)}

    def alarms(self) -> tuple[str, ...]:
        """Raised alarms for a voltage below or a current above its critical limit."""
        chips = self._folders("sys/class/hwmon/hwmon*")
        files = ((chip, file) for chip in chips for pattern in _ALARMS for file in sorted(chip.glob(pattern)))
        return tuple(f"{_text(chip / 'name')} {file.name}" for chip, file in files if _text(file) == "1")

    def memory(self) -> Memory | None:
        """None if /proc/meminfo does not say it."""
        sizes = _sizes(self._root / "proc/meminfo")
        if not sizes.get("MemTotal") or "MemAvailable" not in sizes:
            return None
        own = _sizes(self._root / "proc/self/status")
        return Memory(
            total_bytes=sizes["MemTotal"], available_bytes=sizes["MemAvailable"], own_bytes=own.get("RssAnon", own.get("VmRSS", 0)),
            stalled_percent=self._stalled_percent(),
        )  # fmt: skip

    def battery(self) -> Battery | None:
        """The first battery of the board itself: those of accessories have the scope "Device"."""
        for folder in self._folders("sys/class/power_supply/*"):
            percent = _number(folder / "capacity")
            if _text(folder / "type") == "Battery" and _text(folder / "scope") != "Device" and percent is not None:
                return Battery(percent=min(max(percent, 0.0), 100.0), discharging=_text(folder / "status") == "Discharging")
        return None

    def power_modes(self) -> dict[int, str]:
        """The names of nvpmodel's power modes by number, from its configuration. Numbers differ between boards and releases."""
        found = re.findall(r"^< POWER_MODEL\s+ID=(\d+)\s+NAME=(\S+)\s*>", _text(self._root / "etc/nvpmodel.conf"), re.MULTILINE)
        return {int(number): name for number, name in found}

    def power_mode(self) -> str:
        """The name of the present mode, else of the one at boot; "" without nvpmodel."""
        present = re.search(r"pmode:(\d+)", _text(self._root / "var/lib/nvpmodel/status"))
        at_boot = re.search(r"^< PM_CONFIG\s+DEFAULT=(\d+)\s*>", _text(self._root / "etc/nvpmodel.conf"), re.MULTILINE)
        number = present or at_boot
        return self.power_modes().get(int(number[1]), "") if number else ""

    def _zone(self, folder: Path, name: str) -> ThermalZone | None:
        temp_c = _celsius(folder / "temp")
        if temp_c is None:
            return None
        slowing, critical = _trips(folder, _SLOWING), _trips(folder, ("critical",))
        limit = self._hardware.limit_c
        nearest = [*slowing, *critical, *([limit] if limit is not None else [])]
        return ThermalZone(
            name=name, temp_c=temp_c, trip_c=min(nearest) if nearest else None, critical_c=min(critical) if critical else None
        )

    def _stalled_percent(self) -> float | None:
        found = re.search(r"^some .*avg10=([\d.]+)", _text(self._root / "proc/pressure/memory"), re.MULTILINE)
        return float(found[1]) if found else None

    def _folders(self, pattern: str) -> list[Path]:
        return sorted(self._root.glob(pattern), key=_by_number)


def watts_of(mode: str) -> float | None:
    """The watts in the name of a power mode: "15W", "MODE_30W"; None for names such as "MAXN"."""
    found = re.search(r"(?:^|_)(\d+)W(?:_|$)", mode)
    return float(found[1]) if found else None


def _trips(folder: Path, kinds: tuple[str, ...]) -> list[float]:
    """The trip points of these types; a disabled one has a temperature that is none, or 0."""
    files = [file for file in folder.glob("trip_point_*_temp") if _text(file.with_name(file.name.replace("_temp", "_type"))) in kinds]
    return [trip_c for file in files if (trip_c := _celsius(file)) is not None and trip_c > 0]


def _rails_of(chip: Path) -> Iterator[tuple[str, float]]:
    """(label, watts) of the channels of a power monitor. A channel of INA3221 without a label, or without a current, is none."""
    for file in sorted(chip.glob("power*_input"), key=_by_number):
        microwatts = _number(file)
        if microwatts is not None:
            yield _text(file.with_name(file.name.replace("_input", "_label"))) or _text(chip / "name"), microwatts / 1e6
    for file in sorted(chip.glob("in*_label"), key=_by_number):
        number = re.sub(r"\D", "", file.name)
        millivolts, milliamperes = _number(chip / f"in{number}_input"), _number(chip / f"curr{number}_input")
        if millivolts is not None and milliamperes is not None:
            yield _text(file), millivolts * milliamperes / 1e6


def _by_number(path: Path) -> list[str | int]:
    """The order in which people count: zone 2 before zone 10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.name)]


def _celsius(path: Path) -> float | None:
    """A file with thousandths of a degree; None if it cannot be read or is no temperature."""
    value = _number(path)
    celsius = value / 1000 if value is not None else None
    return celsius if celsius is not None and _COLDEST_C <= celsius <= _HOTTEST_C else None


def _sizes(path: Path) -> dict[str, int]:
    """Lines such as `MemTotal:  7801000 kB`, in bytes."""
    return {name: int(size) << 10 for name, size in re.findall(r"^(\w+):\s+(\d+) kB", _text(path), re.MULTILINE)}


def _number(path: Path) -> float | None:
    try:
        value = float(_text(path))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _text(path: Path) -> str:
    """The text of a file of the kernel; "" if it cannot be read (now)."""
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace").strip()
    except (OSError, ValueError):  # ValueError: a name that no file can have
        return ""
