"""Every board's files are read as its folder in `boards/` has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgemem.board_settings import Hardware
from edgemem.boards import board_files
from edgemem.config import load
from edgemem.device.board import Battery, Memory, ThermalZone
from edgemem.device.sysfs import SysfsBoard, watts_of

TREES = Path(__file__).parent / "boards"


def board(name: str, *overrides: str) -> SysfsBoard:
    return SysfsBoard(name, load(None, [f"hardware.root={TREES / name}", *overrides]).hardware)


def put(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    ("name", "watts", "mode", "mode_watts"),
    [
        ("pc", None, "", None),
        ("jetson-orin-nano-8gb", 4.960 * 1.216, "15W", 15.0),
        ("jetson-orin-nx-16gb", 19.040 * 0.480, "25W", 25.0),
        ("jetson-agx-orin", 3.8 + 1.9 + 3.8, "MODE_30W", 30.0),
        ("jetson-thor", 37.185, "120W", 120.0),
        ("raspberry-pi-5", None, "", None),
        ("smart-glasses-companion", 3.64, "", None),
    ],
)
def test_power_and_its_mode(name: str, watts: float | None, mode: str, mode_watts: float | None) -> None:
    read = board(name).readings(7.0)
    assert read.watts == (None if watts is None else pytest.approx(watts))
    assert (board(name).power_mode(), read.mode_watts, read.t_s) == (mode, mode_watts, 7.0)


def test_every_board_has_zones_memory_and_wanted_rails() -> None:
    for name in board_files():
        read = board(name).readings(0.0)
        assert read.zones, name
        assert all(0 < zone.temp_c < 100 for zone in read.zones)
        assert read.memory is not None
        assert 0 < read.memory.own_bytes < read.memory.available_bytes < read.memory.total_bytes
        assert not board(name)._hardware.rails or read.watts is not None


def test_zones_have_the_lowest_trip_point_that_slows_down() -> None:
    """Fans start at 46 degrees; the kernel slows down at 99, not at 103; the gpu's sensor sleeps."""
    cpu, soc, tj = board("jetson-orin-nano-8gb").zones()
    assert cpu == ThermalZone(name="cpu-thermal", temp_c=52.5, trip_c=99.0, critical_c=104.5)
    assert (soc.name, soc.temp_c, tj.name, tj.temp_c) == ("soc0-thermal", 51.0, "tj-thermal", 52.75)


def test_disabled_trip_points_and_sleeping_sensors_are_none() -> None:
    acpi, package = board("pc").zones()
    assert acpi == ThermalZone(name="acpitz", temp_c=41.0, trip_c=105.0, critical_c=105.0)
    assert package == ThermalZone(name="x86_pkg_temp", temp_c=47.0)


def test_a_limit_of_the_settings_counts_as_a_trip_point() -> None:
    (cpu,) = board("raspberry-pi-5").zones()
    assert (cpu.trip_c, cpu.critical_c) == (80.0, 110.0)
    assert board("smart-glasses-companion").zones()[1] == ThermalZone(name="skin-thermal", temp_c=36.8, trip_c=60.0)
    assert board("raspberry-pi-5", "hardware.limit_c=120.0").zones()[0].trip_c == 110.0


def test_of_several_trip_points_of_a_kind_the_lowest_counts(tmp_path: Path) -> None:
    trips = (("critical", 110), ("critical", 105), ("hot", 97), ("passive", 99), ("passive", 95), ("passive", 0), ("active", 40))
    put(tmp_path, **{f"sys__class__thermal__thermal_zone0__trip_point_{i}_type": kind for i, (kind, _) in enumerate(trips)})
    put(tmp_path, **{f"sys__class__thermal__thermal_zone0__trip_point_{i}_temp": f"{trip_c}000" for i, (_, trip_c) in enumerate(trips)})
    put(tmp_path, sys__class__thermal__thermal_zone0__type="z", sys__class__thermal__thermal_zone0__temp="30000")
    assert SysfsBoard("", Hardware(root=str(tmp_path))).zones() == (ThermalZone(name="z", temp_c=30.0, trip_c=95.0, critical_c=105.0),)


@pytest.mark.parametrize(("text", "there"), [("-40000", True), ("-40001", False), ("200000", True), ("200001", False), ("nan", False)])
def test_what_no_chip_survives_is_no_temperature(tmp_path: Path, text: str, there: bool) -> None:
    put(tmp_path, sys__class__thermal__thermal_zone0__type="z", sys__class__thermal__thermal_zone0__temp=text)
    assert bool(SysfsBoard("", Hardware(root=str(tmp_path))).zones()) is there


def test_zones_are_chosen_by_type_and_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for number in (10, 2, 1):
        put(tmp_path, **{f"sys__class__thermal__thermal_zone{number}__{file}": text for file, text in
                         {"type": f"z{number}-thermal", "temp": "30000"}.items()})  # fmt: skip
    assert [zone.name for zone in SysfsBoard("", Hardware(root=str(tmp_path))).zones()] == ["z1-thermal", "z2-thermal", "z10-thermal"]
    chosen = SysfsBoard("", Hardware(root=str(tmp_path), zones=["z1?-*", "z2-thermal"])).zones()
    assert [zone.name for zone in chosen] == ["z2-thermal", "z10-thermal"]


def test_rails_are_voltage_times_current_and_no_sums_or_shunts() -> None:
    assert board("jetson-orin-nano-8gb").rails() == {
        "VDD_IN": pytest.approx(6.03136), "VDD_CPU_GPU_CV": pytest.approx(1.1904), "VDD_SOC": pytest.approx(1.86496),
    }  # fmt: skip
    assert "VDDQ_VDD2_1V8AO" in board("jetson-agx-orin").rails()
    assert board("jetson-agx-orin", "hardware.rails=['VDD_GPU_SOC', 'VDD_NEW']").watts() is None
    assert board("smart-glasses-companion", "hardware.rails=[]").watts() == 3.64


def test_memory_pressure_and_own_memory() -> None:
    read = board("jetson-orin-nano-8gb").memory()
    assert read == Memory(total_bytes=7801000 << 10, available_bytes=5120000 << 10, own_bytes=610000 << 10, stalled_percent=0.25)
    without = board("jetson-orin-nx-16gb").memory()
    assert without is not None
    assert without.stalled_percent is None


def test_without_anonymous_memory_the_resident_one_counts(tmp_path: Path) -> None:
    hardware = Hardware(root=str(tmp_path))
    assert SysfsBoard("", hardware).memory() is None
    put(tmp_path, proc__meminfo="MemTotal: 100 kB\n")
    assert SysfsBoard("", hardware).memory() is None
    put(tmp_path, proc__meminfo="MemTotal: 100 kB\nMemAvailable: 40 kB\n", proc__self__status="VmRSS: 7 kB\n")
    assert SysfsBoard("", hardware).memory() == Memory(total_bytes=102400, available_bytes=40960, own_bytes=7168)


def test_the_battery_is_that_of_the_board() -> None:
    assert board("smart-glasses-companion").battery() == Battery(percent=64.0, discharging=True)
    assert board("pc").battery() == Battery(percent=81.0, discharging=False)
    assert board("jetson-orin-nano-8gb").battery() is None  # a mouse has one


def test_alarms_of_the_power_supply() -> None:
    assert board("raspberry-pi-5").alarms() == ("rpi_volt in0_lcrit_alarm",)
    assert board("jetson-orin-nano-8gb").alarms() == ()


def test_the_mode_at_boot_counts_where_none_was_set_since(tmp_path: Path) -> None:
    conf = "< POWER_MODEL ID=0 NAME=15W >\n< POWER_MODEL ID=1 NAME=MAXN_SUPER >\n< PM_CONFIG DEFAULT=1 >\n"
    put(tmp_path, **{"etc__nvpmodel.conf": conf})
    modes = SysfsBoard("", Hardware(root=str(tmp_path)))
    assert (modes.power_modes(), modes.power_mode()) == ({0: "15W", 1: "MAXN_SUPER"}, "MAXN_SUPER")
    put(tmp_path, var__lib__nvpmodel__status="pmode:0000")
    assert modes.power_mode() == "15W"
    put(tmp_path, var__lib__nvpmodel__status="pmode:0009")
    assert modes.power_mode() == ""


@pytest.mark.parametrize(
    ("mode", "watts"),
    [
        ("15W", 15.0),
        ("MODE_50W", 50.0),
        ("MAXN", None),
        ("MAXN_SUPER", None),
        ("", None),
        ("10W_2CORE", 10.0),
        ("X5WY", None),
    ],
)
def test_the_watts_of_a_mode_are_in_its_name(mode: str, watts: float | None) -> None:
    assert watts_of(mode) == watts


def test_this_machine_can_be_read() -> None:
    read = SysfsBoard("pc", Hardware()).readings(1.0)
    assert read.memory is not None
    assert read.memory.own_bytes > 1 << 20
    assert read.memory.available_bytes <= read.memory.total_bytes
