"""SIGHUP: what a person changes in the settings takes effect while the daemon sees, and wrong settings change nothing."""

from __future__ import annotations

import shutil
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from daemons import Daemon, Start, network_camera, wait_until

from edgemem.board_settings import GovernorSettings
from edgemem.config import Budget, KeepRule, PrivacySettings, RunSettings, Settings
from edgemem.device.reload import SAFE, change_of
from edgemem.errors import BudgetError
from edgemem.remember.disk.directory import set_paused
from edgemem.remember.view import View

Pictures = Callable[..., Path]


def reload(daemon: Daemon, change: Callable[[str], str], says: str) -> None:
    """Change the settings file, send SIGHUP, and wait for a line that was not there before."""
    before = daemon.said.count(says)
    daemon.settings.write_text(change(daemon.settings.read_text()))
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: daemon.said.count(says) > before)


def newest_is_black(memory: Path) -> bool:
    """Whether the left half of the last kept picture is masked."""
    with View.open(memory) as view:
        moments = view.moments()
        if not moments:
            return False
        image = cv2.imdecode(np.frombuffer(view.picture(moments[-1].id), np.uint8), cv2.IMREAD_COLOR)
    return bool(image[:, : image.shape[1] // 3].max() < 30)


def test_a_mask_takes_effect_while_the_camera_sees(start: Start) -> None:
    with network_camera() as (url, there):
        there.set()
        daemon = start({"yard": url}).wait_ready()
        wait_until(lambda: (status := daemon.status) and status.streams[0].frames > 3)
        assert not newest_is_black(daemon.memory)
        reload(daemon, lambda text: text + "[privacy.masks]\n'*' = [[0, 0, 0.5, 1]]\n", "settings read again: privacy.masks")
        wait_until(lambda: newest_is_black(daemon.memory))
        assert daemon.process.poll() is None
        with View.open(daemon.memory) as view:
            assert [stream.name for stream in view.streams()] == ["yard"], "the stream goes on"
        assert daemon.stop() == 0


def test_a_stream_whose_consent_ends_is_not_seen_until_it_is_given_again(start: Start) -> None:
    with network_camera() as (url, there):
        there.set()
        daemon = start({"yard": url}).wait_ready()
        wait_until(lambda: (status := daemon.status) and status.streams[0].frames > 3)
        reload(daemon, lambda text: text + '[privacy]\nstreams = ["door"]\n', "settings read again: privacy.streams")
        wait_until(lambda: 'yard: blind: stream "yard" has no consent' in daemon.said)
        with View.open(daemon.memory) as view:
            kept = len(view.moments())
        time.sleep(1.5)
        with View.open(daemon.memory) as view:
            assert len(view.moments()) == kept
        assert daemon.process.poll() is None
        reload(daemon, lambda text: text.replace('["door"]', '["yard"]'), "settings read again: privacy.streams")
        wait_until(lambda: "yard: sees again" in daemon.said)
        with View.open(daemon.memory) as view:
            wait_until(lambda: daemon.status.streams[0].state == "seeing")
        assert daemon.stop() == 0


def test_consent_that_ended_during_a_pause_holds_after_it(start: Start) -> None:
    with network_camera() as (url, there):
        there.set()
        daemon = start({"yard": url}).wait_ready()
        wait_until(lambda: (status := daemon.status) and status.streams[0].frames > 3)
        set_paused(daemon.memory, paused=True)
        reload(daemon, lambda text: text + '[privacy]\nstreams = ["door"]\n', "settings read again")
        set_paused(daemon.memory, paused=False)
        wait_until(lambda: "has no consent" in daemon.said)
        assert daemon.stop() == 0


def test_a_smaller_budget_is_kept_from_now_on(start: Start, pictures: Pictures) -> None:
    daemon = start({"door": pictures("a")}, more='[budget]\ndisk = "1GiB"').wait_ready().wait_seen()
    reload(daemon, lambda text: text.replace("1GiB", "1MiB"), "the settings are not changed: ")
    reload(daemon, lambda text: text.replace("1MiB", "64MiB"), "settings read again: budget.disk")
    assert daemon.status.streams[0].state == "seen"
    assert daemon.stop() == 0


def test_the_governor_follows_its_settings_while_the_camera_sees(start: Start, tmp_path: Path) -> None:
    """A camera with ten pictures a second, a recipe with five. budget.fps = 0.5 leaves one in two seconds. At 92.5 degrees, 6.5 below the
    trip point of 99, a margin of 5 asks for nothing and one of 8 for less work, until the governor is switched off.
    """
    tree = tmp_path / "tree"
    shutil.copytree(Path(__file__).parent / "boards" / "jetson-orin-nano-8gb", tree)
    (tree / "sys/class/thermal/thermal_zone0/temp").write_text("92500\n")
    more = f'hardware.root = "{tree}"\nengines.runtime = ["onnx"]\nbudget.fps = 0\n[governor]\ncheck_s = 3600\nworsen_s = 0.1\n'
    with network_camera() as (url, there):
        there.set()
        daemon = start({"yard": url}, more).wait_ready()

        def seen_in(seconds: float) -> int:
            before = daemon.status.streams[0].frames
            time.sleep(seconds)
            return daemon.status.streams[0].frames - before

        wait_until(lambda: (status := daemon.status) and status.streams[0].frames > 3)
        assert daemon.status.notes == ()
        reload(daemon, lambda text: text.replace("budget.fps = 0\n", "budget.fps = 0.5\n"), "settings read again: budget.fps")
        assert seen_in(4.0) <= 4
        said = "settings read again: budget.fps, governor.check_s, governor.heat_margin_c"
        changed = "check_s = 0.2\nheat_margin_c = 8\n"
        reload(daemon, lambda text: text.replace("budget.fps = 0.5", "budget.fps = 0").replace("check_s = 3600\n", changed), said)
        wait_until(lambda: "less work: a tenth of the frames" in daemon.said)
        assert "because cpu-thermal has 92.5 °C, 6.5 below its trip point" in daemon.said
        assert daemon.status.notes == ("the governor allows a tenth of the frames, no background work",)
        reload(daemon, lambda text: text.replace("[governor]\n", "[governor]\nenabled = false\n"), "settings read again: governor.enabled")
        wait_until(lambda: not daemon.status.notes)
        wait_until(lambda: seen_in(1.0) >= 3)
        wrong = "the settings are not changed: governor.light.transcribe:"
        reload(daemon, lambda text: text.replace("enabled = false", "light = { transcribe = 'none' }"), wrong)
        assert daemon.stop() == 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text + "[privacy]\nstrems = ['x']\n", 'the settings are not changed: {file}: unknown key "strems"'),
        (lambda text: text + "[", "the settings are not changed: {file}: not valid TOML"),
        (lambda text: "timezone = 'Europe/Berlin'\n" + text, "these settings take effect after a restart: timezone"),
        (lambda text: text, "settings read again: nothing has changed"),
    ],
    ids=["misspelt", "no TOML", "needs a restart", "nothing"],
)
def test_what_cannot_be_taken_over_is_said_and_changes_nothing(
    start: Start, pictures: Pictures, change: Callable[[str], str], says: str
) -> None:
    daemon = start({"door": pictures("a")}).wait_ready().wait_seen()
    reload(daemon, change, says.format(file=daemon.settings))
    assert daemon.process.poll() is None
    assert daemon.stop() == 0


def test_the_service_manager_hears_of_the_reload(start: Start, pictures: Pictures, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(20.0)
        daemon = start({"a": pictures("a")}, NOTIFY_SOCKET=str(tmp_path / "notify"))
        assert manager.recv(1000) == b"READY=1"
        before_us = time.monotonic_ns() // 1000
        daemon.process.send_signal(signal.SIGHUP)
        heard = [b""]
        while not heard[-1].startswith(b"RELOADING=1"):
            heard.append(manager.recv(1000))
        fields = dict(line.split("=") for line in heard[-1].decode().splitlines())
        assert before_us <= int(fields["MONOTONIC_USEC"]) <= time.monotonic_ns() // 1000
        assert manager.recv(1000) == b"READY=1"
        assert daemon.stop() == 0


def test_what_is_safe_is_taken_and_the_rest_waits() -> None:
    used = Settings()
    rules = [KeepRule(keep_days=3)]
    read = Settings(
        recipe="vam",
        budget=Budget(disk="8GiB", fps=2.0, ram="1GiB", watts=9.0),
        governor=GovernorSettings(check_s=1.0, heat_margin_c=4.0),
        privacy=PrivacySettings(streams=["door"], masks={"door": [(0, 0, 1, 0.5)]}),
        retention=rules,
        run=RunSettings(memory="other", log="json"),
    )
    change = change_of(used, read)
    assert SAFE == ("budget.disk", "budget.fps", "budget.ram", "budget.watts", "governor", "privacy.masks", "privacy.streams", "retention")
    assert change.taken == (*SAFE[:4], "governor.check_s", "governor.heat_margin_c", *SAFE[5:])
    assert change.waiting == ("recipe", "run.log", "run.memory")
    assert (change.settings.recipe, change.settings.run) == (used.recipe, used.run)
    assert (change.settings.budget, change.settings.governor) == (read.budget, read.governor)
    assert (change.settings.privacy, change.settings.retention) == (read.privacy, rules)
    with pytest.raises(BudgetError):
        change_of(used, Settings(budget=Budget(disk="1MiB")))
    assert change_of(Settings(budget=Budget(disk="1MiB")), Settings(budget=Budget(disk="1MiB"), recipe="vam")).waiting == ("recipe",)
