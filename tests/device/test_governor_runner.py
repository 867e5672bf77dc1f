"""What the governor decides is applied, said once, and on the feed; the daemon does it with real files and a real camera."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import msgspec
import pytest
from daemons import Start, network_camera, wait_until

from edgemem.board_settings import Budget, GovernorSettings
from edgemem.config import Settings
from edgemem.device.board import Readings, ThermalZone
from edgemem.device.governed import GovernedStreams, part_of
from edgemem.device.governor import Step
from edgemem.device.governor_runner import GovernorRunner
from edgemem.device.stream_worker import StreamWorker
from edgemem.errors import EdgememError
from edgemem.events import Health
from edgemem.extend.feed import Feed
from edgemem.extend.testing import SyntheticCamera

TREES = Path(__file__).parent / "boards"


class Script:
    """A board with one zone; its temperature is set by the test. None = no zone can be read."""

    name = "Test board"

    def __init__(self) -> None:
        self.temp_c: float | None = 50.0
        self.broken = False
        self.reads = 0

    def readings(self, t_s: float) -> Readings:
        self.reads += 1
        if self.broken:
            raise OSError("the bus is gone")
        zones = () if self.temp_c is None else (ThermalZone(name="cpu", temp_c=self.temp_c, trip_c=95.0, critical_c=105.0),)
        return Readings(t_s=t_s, zones=zones)

    def power_mode(self) -> str:
        return ""


class Said(list[str]):
    """A report that keeps its lines, and their levels."""

    def __init__(self) -> None:
        super().__init__()
        self.levels: list[str] = []

    def __call__(self, text: str, /, *, level: str = "info", stream: str = "") -> None:
        assert not stream
        self.append(text)
        self.levels.append(level)


class Applied:
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.fails = 0

    def __call__(self, step: Step) -> None:
        if self.fails:
            self.fails -= 1
            raise EdgememError("door did not pause")
        self.steps.append(step)


@pytest.fixture
def board() -> Script:
    return Script()


@pytest.fixture
def applied() -> Applied:
    return Applied()


def test_a_decision_is_said_published_and_applied_once(board: Script, applied: Applied) -> None:
    feed, said = Feed(), Said()
    events = feed.subscribe(Health)
    runner = GovernorRunner(board, Settings(), applied, feed, said)
    assert runner.tick(0.0) is None
    assert (applied.steps, said, runner.postpones) == ([], [], False)
    board.temp_c = 92.0
    assert runner.tick(5.0) is not None
    assert runner.tick(10.0) is None
    why = "less work: no background work, because cpu has 92.0 °C, 3.0 below its trip point"
    assert (said, [step.name for step in applied.steps], runner.postpones) == ([f"governor: {why}"], ["no background work"], True)
    event = events.get(0)
    assert isinstance(event, Health)
    assert (event.kind, event.name, event.well, event.why) == ("board", "Test board", False, why)
    board.temp_c = 60.0
    assert [runner.tick(t_s) for t_s in (15.0, 134.0)] == [None, None]
    assert runner.tick(135.0) is not None
    event = events.get(0)
    assert isinstance(event, Health)
    assert (event.well, event.why) == (True, "more work: all work, because all readings are good for 120 s")
    assert [step.name for step in applied.steps] == ["no background work", "all work"]
    assert said.levels == ["notice", "notice"]
    assert not runner.postpones
    assert events.get(0) is None


def test_what_could_not_be_applied_is_tried_at_the_next_reading(board: Script, applied: Applied) -> None:
    runner = GovernorRunner(board, Settings(), applied, Feed(), Said())
    board.temp_c, applied.fails = 92.0, 2
    for t_s in (0.0, 5.0):
        with pytest.raises(EdgememError, match="did not pause"):
            runner.tick(t_s)
    assert runner.tick(10.0) is None
    assert [step.name for step in applied.steps] == ["no background work"]


def test_a_lost_reading_is_said_once_and_again_after_it_was_back(board: Script, applied: Applied) -> None:
    said = Said()
    runner = GovernorRunner(board, Settings(), applied, Feed(), said)
    for t_s, temp_c in enumerate([92.0, None, None, 92.0, None]):
        board.temp_c = temp_c
        runner.tick(float(t_s))
    lost = "governor: the temperature cannot be read any more; there is no more work until it can be"
    assert said[1:] == [lost, lost]
    assert said.levels == ["notice", "warning", "warning"]


def test_the_thread_goes_on_after_failures_and_says_each_once(board: Script, applied: Applied) -> None:
    said = Said()
    settings = Settings(governor=GovernorSettings(check_s=0.01))
    runner = GovernorRunner(board, settings, applied, Feed(), said)
    board.broken = True
    assert runner.daemon, "a hanging bus must not keep the process"
    runner.start()
    wait_until(lambda: board.reads > 5)
    assert said == ["governor: OSError: the bus is gone"]
    board.broken, board.temp_c = False, 103.0
    wait_until(lambda: len(applied.steps) == 1)
    board.broken = True
    wait_until(lambda: len(said) == 3)
    runner.stop(5.0)
    assert not runner.is_alive()
    assert said[2] == said[0]
    GovernorRunner(board, settings, applied, Feed(), said).stop(5.0)  # was never started


# What it does to the streams


@pytest.mark.parametrize(
    ("rates_fps", "budget_fps", "step", "parts"),
    [
        ([1.0], 0.0, 1.0, [1.0]),
        ([1.0], 0.0, 0.5, [0.5]),
        ([1.0, 4.0], 10.0, 0.5, [0.5, 0.5]),
        ([1.0, 4.0], 2.5, 1.0, [0.5, 0.5]),
        ([1.0, 4.0], 2.5, 0.5, [0.25, 0.25]),
        ([0.5], 0.0, 0.1, [0.2]),
        ([0.05], 0.0, 0.1, [1.0]),
        ([], 2.0, 1.0, []),
    ],
)
def test_the_part_of_each_stream(rates_fps: list[float], budget_fps: float, step: float, parts: list[float]) -> None:
    """By the step, by the budget that all share, and not below 0.1 frames per second."""
    assert part_of(Settings(budget=Budget(fps=budget_fps)), rates_fps, step) == pytest.approx(parts)


class Live(SyntheticCamera):
    live = True

    def __init__(self) -> None:
        super().__init__(rate_fps=4.0)
        self.rates: list[float] = []

    def set_rate(self, rate_fps: float) -> None:
        super().set_rate(rate_fps)
        if hasattr(self, "rates"):
            self.rates.append(rate_fps)


class Setup:
    rate_fps = 4.0

    def source(self):
        raise NotImplementedError

    def pipeline(self, source, store):
        raise NotImplementedError


def worker() -> StreamWorker:
    return StreamWorker("door", Setup(), None, Feed(), lambda _: None)  # type: ignore[arg-type]


def test_a_live_source_gets_another_rate_at_once_and_a_recording_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    one, live = worker(), Live()
    one._source = live
    one.slow_down(0.25)
    assert live.rates == [1.0]
    rests = list[float]()
    monkeypatch.setattr(one._stopped, "wait", rests.append)
    one._rest(0.3)
    one._source = recording = SyntheticCamera(rate_fps=4.0)
    period_us = recording._period_us
    one.slow_down(0.25)
    one._rest(0.3)
    one._rest(3.0)
    one.slow_down(1.0)
    one._rest(0.3)
    assert rests == pytest.approx([0.9, 2.0])
    assert recording._period_us == period_us


class Chosen:
    """Records what is preferred, and whether all streams were suspended then."""

    def __init__(self, workers: list[StreamWorker], turn: threading.Lock) -> None:
        self.calls: list[dict[str, str]] = []
        self._workers, self._turn = workers, turn

    def prefer(self, roles):
        assert self._turn.locked()
        assert all(one._attempt.locked() and one._suspended for one in self._workers)
        self.calls.append(dict(roles))
        return ("big is not fetched",) if "big" in roles.values() else ()

    @property
    def stepped_down(self):
        return tuple(f"{role} is served by {name}" for role, name in self.calls[-1].items() if name != "big")


def test_lighter_engines_are_switched_while_all_streams_are_suspended_and_it_is_said() -> None:
    workers, turn, said = [worker(), worker()], threading.Lock(), Said()
    chosen, used = Chosen(workers, turn), [light_settings(transcribe="small")]
    streams = GovernedStreams(workers, lambda: used[-1], lambda: chosen, turn, said)  # type: ignore[arg-type, return-value]
    light = Step(name="light", rate=0.5, background=False, light=True)
    half = Step(name="half", rate=0.5, background=False)
    for step in (Step(name="all", rate=1.0, background=True), light, light, half):
        streams.apply(step)
    assert chosen.calls == [{"transcribe": "small"}, {}]
    assert [one._part for one in workers] == [0.5, 0.5]
    back = "governor: the engines of the settings serve again"
    assert said == ["governor: transcribe is served by small", back]
    streams.apply(light)
    used.append(light_settings(detect="big"))
    streams.apply(light)
    used.append(light_settings())
    streams.apply(light)
    assert chosen.calls[2:] == [{"transcribe": "small"}, {"detect": "big"}, {}]
    assert said[2:] == ["governor: transcribe is served by small", "governor: no lighter engine: big is not fetched", back]
    assert said.levels[2:] == ["notice", "warning", "notice"]
    assert not turn.locked()
    assert not any(one._suspended for one in workers)


def light_settings(**light: str) -> Settings:
    return Settings(governor=GovernorSettings(light=light))


def test_other_settings_are_followed_at_once(board: Script, applied: Applied) -> None:
    """87.5 degrees are 7.5 below the trip point: a margin of 5 asks for nothing, one of 8 for less work. The wait of an hour ends."""
    hour = GovernorSettings(check_s=3600.0, worsen_s=0.01)
    runner, board.temp_c = GovernorRunner(board, Settings(governor=hour), applied, Feed(), Said()), 87.5
    runner.start()
    wait_until(lambda: board.reads == 1)
    assert applied.steps == []
    runner.use(Settings(governor=msgspec.structs.replace(hour, check_s=0.01, heat_margin_c=8.0)))
    wait_until(lambda: applied.steps and applied.steps[-1].rate == 0.1)
    assert runner.postpones
    runner.use(Settings(governor=msgspec.structs.replace(hour, enabled=False)))
    wait_until(lambda: applied.steps[-1].rate == 1.0)
    reads = board.reads
    assert not runner.postpones
    runner.stop(5.0)
    assert (runner.is_alive(), board.reads) == (False, reads)


def test_the_daemon_slows_its_camera_down_and_says_why(start: Start, tmp_path: Path) -> None:
    """A camera with ten pictures a second, a recipe with five. At 103 degrees a tenth of the frames is left: one in two seconds. The
    lighter engine was never fetched: the stream goes on without it. When the board is cool, all frames come back.
    """
    tree = tmp_path / "tree"
    shutil.copytree(TREES / "jetson-orin-nano-8gb", tree)
    temp = tree / "sys/class/thermal/thermal_zone0/temp"
    governor = "check_s = 0.2\nworsen_s = 0.2\nrecover_s = 0.3\nlight = { transcribe = 'whisper-tiny-en' }\n"
    more = f'hardware.root = "{tree}"\nengines.runtime = ["onnx"]\nbudget.fps = 0\n[governor]\n{governor}'
    with network_camera() as (url, there):
        there.set()
        daemon = start({"door": url}, more).wait_ready()

        def frames() -> int:
            status = daemon.status
            return status.streams[0].frames if status is not None else 0

        wait_until(lambda: frames() > 10)
        assert "governor" not in daemon.said
        temp.write_text("103000\n")
        wait_until(lambda: "no lighter engine" in daemon.said)
        assert "governor: no lighter engine: whisper-tiny-en is not fetched" in daemon.said
        step = "less work: a tenth of the frames, lighter engines, no background work"
        assert f"{step}, because cpu-thermal has 103.0 °C; at 104.5 the board is switched off" in daemon.said
        before = frames()
        wait_until(lambda: frames() > before)  # it sees again after the pause
        before = frames()
        threading.Event().wait(4.0)
        assert 1 <= frames() - before <= 4
        temp.write_text("45000\n")
        wait_until(lambda: "more work: all work" in daemon.said)
        before = frames()
        wait_until(lambda: frames() > before + 8)
        assert daemon.stop() == 0


def test_a_wrong_lighter_engine_is_refused_before_anything_starts(start: Start, tmp_path: Path) -> None:
    daemon = start({"door": tmp_path}, "[governor]\nlight = { transcribe = 'whisper-tiny' }\n")
    assert daemon.process.wait(20) == 2
    assert 'governor.light.transcribe: no card is called "whisper-tiny" (did you mean "whisper-tiny-en"?)' in daemon.said
