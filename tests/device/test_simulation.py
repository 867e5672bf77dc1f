"""`edgemem sim`: the real agent in simulated time. What a camera, a clock, a disk and a board do wrong is seen in memory and log."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from daemons import PROGRAM, RECIPE

from edgemem import clock
from edgemem.config import RunSettings, RunSource, Settings
from edgemem.device.simulation import Faults, SimulationReport, read_faults, simulate
from edgemem.device.simulation.faults import Blind, ClockJump, Frozen, SlowDisk, Thermal
from edgemem.device.simulation.time import SimulatedTime
from edgemem.errors import UsageError
from edgemem.extend.environment import Environment
from edgemem.records import US
from edgemem.remember.check import check_memory
from edgemem.remember.view import View

Pictures = Callable[..., Path]
START_US = clock.from_iso("2026-05-04T08:00:00Z")


@pytest.fixture
def sim(tmp_path: Path, home: Path, pictures: Pictures) -> Callable[..., SimulationReport]:
    """Simulates cameras that each show 20 s of pictures, one a second, again and again."""
    assert home.parent == tmp_path
    recipe = tmp_path / "plain.toml"
    recipe.write_text(RECIPE.replace("5.0", "1.0"))

    def run(*faults: object, seconds: float = 60.0, streams: tuple[str, ...] = ("door",), **more: object) -> SimulationReport:
        sources = [
            RunSource(source=str(pictures(name) if not (tmp_path / name).exists() else tmp_path / name), stream=name) for name in streams
        ]
        settings = Settings(recipe=str(recipe), run=RunSettings(memory=str(tmp_path / "memory"), sources=sources))
        return simulate(Environment(lambda: settings), Faults(fault=faults), seconds=seconds, start_us=START_US, **more)

    return run


def seconds_of(tmp_path: Path, stream: str = "door") -> list[float]:
    """When the moments of a stream were seen, in seconds since the start."""
    with View.open(tmp_path / "memory") as view:
        assert check_memory(tmp_path / "memory") == []
        return [round((moment.t_us - START_US) / US, 3) for moment in view.moments() if moment.stream == stream]


def said(report: SimulationReport) -> list[tuple[float, str]]:
    return [(line.at_s, line.text) for line in report.log]


def test_an_hour_passes_in_seconds_and_every_frame_has_its_time(sim: Callable[..., SimulationReport], tmp_path: Path) -> None:
    report = sim(seconds=600.0)
    assert report.seconds == 600.0
    assert report.took_s < 300.0
    (door,) = report.streams
    assert door.shown == door.seen == door.moments
    assert 600 <= door.moments <= 601
    assert seconds_of(tmp_path) == [float(second) for second in range(door.moments)]


def test_two_cameras_share_one_time(sim: Callable[..., SimulationReport], tmp_path: Path) -> None:
    report = sim(seconds=30.0, streams=("door", "yard"))
    assert [(one.stream, one.shown == one.seen == one.moments, one.moments in {30, 31}) for one in report.streams] == [
        ("door", True, True),
        ("yard", True, True),
    ]
    assert seconds_of(tmp_path, "yard") == seconds_of(tmp_path, "door")


def test_a_camera_that_is_gone_is_said_once_and_nothing_is_kept_meanwhile(sim: Callable[..., SimulationReport], tmp_path: Path) -> None:
    report = sim(Blind(from_s=10, to_s=30, stream="do*"), streams=("door", "yard"))
    door = [(at, text) for at, text in said(report) if text.startswith(("blind", "sees again"))]
    assert [text for _, text in door] == ["blind: simulated: the camera is gone", "sees again"]
    assert 10 <= door[0][0] <= 11
    assert 30 <= door[1][0] <= 31
    seen = seconds_of(tmp_path)
    assert not [second for second in seen if 10 < second < 29.9]
    assert {0.0, 9.0} < set(seen)
    assert max(seen) >= 59
    assert len(seconds_of(tmp_path, "yard")) >= 60


def test_a_frozen_camera_sends_one_picture_again_and_again(sim: Callable[..., SimulationReport], tmp_path: Path) -> None:
    sim(Frozen(from_s=5, to_s=15), seconds=19.0)
    with View.open(tmp_path / "memory") as view:
        pictures = {round((moment.t_us - START_US) / US): view.picture(moment.id) for moment in view.moments()}
    assert len({pictures[second] for second in range(5, 15)}) == 1
    assert pictures[4] == pictures[5], "the last one before"
    assert len({pictures[second] for second in range(5)}) == 5
    assert pictures[15] != pictures[14]


@pytest.mark.parametrize("synchronised", [False, True])
def test_a_clock_that_is_set_is_followed_only_with_a_time_server(
    sim: Callable[..., SimulationReport], tmp_path: Path, synchronised: bool
) -> None:
    sim(ClockJump(at_s=20, by_s=-3600, synchronised=synchronised), seconds=60.0)
    seen = seconds_of(tmp_path)
    assert seen == sorted(seen)
    assert len(seen) >= 60
    assert seen[0] == (-3600.0 if synchronised else 0.0)
    assert all(later - earlier == 1.0 for earlier, later in pairwise(seen))


def test_while_the_disk_is_slow_frames_are_dropped_and_counted(sim: Callable[..., SimulationReport], tmp_path: Path) -> None:
    report = sim(SlowDisk(from_s=10, to_s=40, delay_s=5.0))
    (door,) = report.streams
    assert door.shown >= 60
    assert 10 <= door.shown - door.seen <= 30
    assert any(f"dropped busy {door.shown - door.seen}" in text for _, text in said(report)), said(report)
    seen = seconds_of(tmp_path)
    assert {float(second) for second in range(9)} < set(seen), "before it nothing is lost"
    assert {float(second) for second in range(46, 60)} < set(seen), "nor after it"


def test_the_board_gets_hot_as_the_curve_says(sim: Callable[..., SimulationReport], tmp_path: Path) -> None:
    root, read = tmp_path / "root", dict[float, int]()
    zone = root / "sys/class/thermal/thermal_zone0"

    def watch() -> None:
        while not stop.wait(0.001):
            if (zone / "temp").exists():
                read[int((zone / "temp").read_text())] = 1

    stop = threading.Event()
    watcher = threading.Thread(target=watch)
    watcher.start()
    report = sim(Thermal(curve=[(0, 40), (10, 60), (30, 90)], zone="soc", trip_c=80), seconds=40.0, root=root)
    stop.set()
    watcher.join()
    assert (report.root, (zone / "temp").read_text(), (zone / "type").read_text()) == (str(root), "90000\n", "soc\n")
    assert ((zone / "trip_point_0_temp").read_text(), (zone / "trip_point_0_type").read_text()) == ("80000\n", "passive\n")
    assert len(read) > 5
    assert min(read) < 50_000


def test_a_hot_board_sees_less_until_it_is_cool_again(sim: Callable[..., SimulationReport], tmp_path: Path) -> None:
    # Passive trip point at 80: hot from about 60 s to 660 s.
    hot = Thermal(curve=[(0, 40), (60, 40), (61, 90), (660, 90), (661, 40)], zone="soc", trip_c=80)
    report = sim(hot, seconds=1600.0)
    steps = [(at_s, text) for at_s, text in said(report) if text.startswith("governor: ")]
    assert steps[0][1].startswith("governor: less work: ")
    assert 60 < steps[0][0] < 180
    assert "soc" in steps[0][1]
    assert steps[-1][1].startswith("governor: more work: all work")
    assert steps[-1][0] > 661
    seen = seconds_of(tmp_path)
    warm = [second for second in seen if 300 <= second < 660]
    cool = [second for second in seen if 1240 <= second < 1600]
    assert 0 < len(warm) < 0.8 * len(cool)


@pytest.mark.parametrize(("at_s", "celsius"), [(0, 40), (10, 40), (15, 50), (20, 60), (60, 75), (99, 90), (100, 90), (500, 90)])
def test_the_temperature_between_the_points_of_a_curve(at_s: float, celsius: float) -> None:
    assert Thermal(curve=[(10, 40), (20, 60), (100, 90)]).celsius(at_s) == pytest.approx(celsius, abs=0.5)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[[fault]]\ntype = "blnd"\nfrom_s = 1\nto_s = 2', 'fault 1: no type is called "blnd" (did you mean "blind"?)'),
        ('[[fault]]\ntype = "blind"\nfrom_s = 1\nto = 2', 'fault 1: unknown key "to" (did you mean "to_s"?)'),
        ('[[fault]]\ntype = "blind"\nfrom_s = 5\nto_s = 5', "must end after it began: from_s = 5, to_s = 5"),
        ('[[fault]]\ntype = "thermal"\ncurve = [[5, 1], [5, 2]]', "the seconds of a curve must increase"),
        ('[[fault]]\ntype = "thermal"\ncurve = []', "length >= 1"),
        ('[[fault]]\ntype = "slow_disk"\nfrom_s = 1\nto_s = 2\ndelay_s = 0', "delay_s"),
        ("sinchronised = true", 'unknown key "sinchronised" (did you mean "synchronised"?)'),
        ("fault = 3", "[[fault]]"),
        ("fault = [3]", "fault 1: it must be a table"),
    ],
)
def test_a_wrong_file_of_faults_is_refused_with_the_key(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "faults.toml").write_text(text)
    with pytest.raises(UsageError) as refused:
        read_faults(tmp_path / "faults.toml")
    assert says in str(refused.value)
    assert str(refused.value).startswith(str(tmp_path / "faults.toml"))


def test_every_kind_of_fault_is_read(tmp_path: Path) -> None:
    (tmp_path / "faults.toml").write_text(
        """
synchronised = false
[[fault]]
type = "clock"
at_s = 7
by_s = -3600
[[fault]]
type = "thermal"
curve = [[0, 40.5], [3600, 95]]
[[fault]]
type = "slow_disk"
from_s = 2
to_s = 4
delay_s = 0.5
[[fault]]
type = "frozen"
stream = "yard"
from_s = 1
to_s = 3
"""
    )
    faults = read_faults(tmp_path / "faults.toml")
    assert faults == Faults(
        synchronised=False,
        fault=(
            ClockJump(at_s=7, by_s=-3600),
            Thermal(curve=[(0, 40.5), (3600, 95)]),
            SlowDisk(from_s=2, to_s=4, delay_s=0.5),
            Frozen(from_s=1, to_s=3, stream="yard"),
        ),
    )
    assert faults.changes() == [1, 2, 3, 4, 7]
    assert [faults.delay_s(at) for at in (1.9, 2, 3.9, 4)] == [0, 0.5, 0.5, 0]
    assert [faults.frozen("yard", 2), faults.frozen("door", 2), faults.frozen("yard", 3)] == [True, False, False]
    assert [len(faults.jumps(*span)) for span in ((0, 6), (6, 7), (7, 8))] == [0, 1, 0]


def test_only_recordings_are_cameras_of_a_simulation(tmp_path: Path, home: Path) -> None:
    assert home.parent == tmp_path
    settings = Settings(run=RunSettings(memory=str(tmp_path / "memory"), sources=[RunSource(source="alsa:none")]))
    report = simulate(Environment(lambda: settings), Faults(), seconds=3.0, start_us=START_US)
    assert any("blind" in text for _, text in said(report)), "a source that cannot be opened is waited for"
    with pytest.raises(UsageError):
        simulate(Environment(lambda: settings), Faults(), seconds=0.0, start_us=START_US)


def test_the_command_prints_one_object_and_says_what_happened_when(tmp_path: Path, home: Path, pictures: Pictures) -> None:
    assert home.parent == tmp_path
    (tmp_path / "plain.toml").write_text(RECIPE)
    (tmp_path / "faults.toml").write_text('[[fault]]\ntype = "blind"\nfrom_s = 5\nto_s = 8\n')
    done = subprocess.run(
        [
            *PROGRAM, "sim", pictures("door"), "--memory", tmp_path / "memory", "--faults", tmp_path / "faults.toml", "--seconds", "20",
            "--start", "2026-05-04T08:00:00Z", "--set", f"recipe={tmp_path / 'plain.toml'}", "--json",
        ],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["seconds"], report["streams"][0]["stream"]) == (20.0, "door")
    assert report["streams"][0]["moments"] == report["streams"][0]["seen"] > 60
    assert "door: blind: simulated: the camera is gone" in done.stderr
    assert [line["stream"] for line in report["log"] if line["text"].startswith("blind")] == ["door"]


class Nobody:
    """No others."""

    threads: frozenset[int] = frozenset()

    def at_rest(self, waiting) -> bool:
        return waiting is not None


def test_simulated_time_stands_still_while_a_thread_works() -> None:
    moved, never, woke = SimulatedTime(START_US), threading.Event(), []

    def work() -> None:
        for _ in range(3):
            moved.wait(never, 10.0)
            time.sleep(0.05)
            woke.append(moved.passed_s)

    thread = threading.Thread(target=work)
    thread.start()
    while not moved._waiting:
        time.sleep(0.001)
    while moved.settle(Nobody(), 5.0) and thread.is_alive():
        moved.advance(1000.0)
    assert woke == [10.0, 20.0, 30.0]
    assert moved.now_us() - START_US == round(moved.passed_s * US)
    moved.jump(-60.0)
    assert moved.now_us() - START_US == round((moved.passed_s - 60.0) * US)
    assert moved.kernel_error_us() is not None
    moved.synchronised = False
    assert moved.kernel_error_us() is None


def test_a_wait_ends_with_its_event_and_with_time_itself() -> None:
    moved, event = SimulatedTime(0), threading.Event()
    threading.Timer(0.05, event.set).start()
    assert moved.wait(event, 1000.0)
    assert moved.passed_s == 0.0
    threading.Timer(0.05, moved.end).start()
    assert not moved.wait(threading.Event(), 1000.0)
    assert not moved.settle(Nobody(), 0.1), "time is over"


def test_a_thread_that_never_waits_holds_time_up_only_so_long() -> None:
    moved, stop = SimulatedTime(0), threading.Event()

    def work() -> None:
        moved.take_part()
        stop.wait()

    thread = threading.Thread(target=work)
    thread.start()
    while not moved._threads:
        time.sleep(0.001)
    assert not moved.settle(Nobody(), 0.1)
    stop.set()
    thread.join()
    assert moved.settle(Nobody(), 0.1), "it has ended"


def test_the_time_of_the_process_is_its_own_again_after_the_simulation() -> None:
    with clock.time_from(SimulatedTime(0)):
        assert clock.to_iso(clock.now_us()) == "1970-01-01T00:00:00.000Z"
    assert clock.now_us() > clock.PLAUSIBLE_US


def test_the_governor_slows_the_camera_on_a_hot_day_and_lets_it_go_again(sim: Callable[..., SimulationReport], tmp_path: Path) -> None:
    """Its decisions are those of the real agent; without the heat every frame is shown."""
    heat = Thermal(curve=[(0, 50), (60, 50), (120, 90), (600, 90), (660, 50)], trip_c=85)
    report = sim(heat, seconds=1200.0)
    (door,) = report.streams
    said_by_governor = [(at, text) for at, text in said(report) if text.startswith("governor: ")]
    less = [at for at, text in said_by_governor if "less work" in text]
    more = [at for at, text in said_by_governor if "more work" in text]
    assert less, said_by_governor
    assert 100 <= min(less) <= 160
    assert more, said_by_governor
    assert min(more) >= 660
    assert door.shown < 1000
    seen = seconds_of(tmp_path)
    assert len([second for second in seen if second < 100]) == 100
    assert len([second for second in seen if 300 <= second < 600]) <= 150
