"""The daemon for its user and a service manager: it continues, it ends cleanly, it reports what it does not see."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from daemons import PROGRAM, RECIPE, Daemon, Start, network_camera, wait_until

from edgemem.cli.main import main
from edgemem.config import load
from edgemem.errors import UsageError
from edgemem.remember.disk.directory import set_paused
from edgemem.remember.store import Store
from edgemem.remember.view import View
from edgemem.serve.messages import SOCKET

Pictures = Callable[..., Path]


def moments(memory: Path) -> dict[str, int]:
    with View.open(memory) as view:
        return {stream.name: stream.moments for stream in view.streams()}


def test_two_streams_are_seen_into_one_memory_and_a_stop_leaves_it_whole(start: Start, pictures: Pictures) -> None:
    daemon = start({"door": pictures("a"), "yard": pictures("bb")}).wait_ready().wait_seen()
    assert daemon.stop() == 0
    assert moments(daemon.memory) == {"door": 20, "yard": 20}
    assert not (daemon.memory / SOCKET).exists()
    checked = subprocess.run([*PROGRAM, "memory", "check", "--memory", daemon.memory], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_a_recording_goes_on_where_a_stop_left_it_and_is_not_seen_twice(start: Start, pictures: Pictures) -> None:
    folder = pictures("walk", 40.0)
    daemon = start({"walk": folder}).wait_ready()
    wait_until(lambda: moments(daemon.memory).get("walk", 0))
    assert daemon.stop() == 0
    part = moments(daemon.memory)["walk"]
    again = start({"walk": folder}).wait_ready().wait_seen()
    again.process.send_signal(signal.SIGINT)
    assert again.process.wait(20.0) == 0
    assert 0 < part <= moments(daemon.memory)["walk"] == 200
    third = start({"walk": folder}).wait_ready().wait_seen()
    third.stop()
    assert moments(daemon.memory) == {"walk": 200}
    assert "seen to its end before" in third.said


def test_a_killed_daemon_is_followed_by_another(start: Start, pictures: Pictures) -> None:
    folder = pictures("walk", 40.0)
    daemon = start({"walk": folder}).wait_ready()
    wait_until(lambda: moments(daemon.memory).get("walk", 0))
    daemon.process.kill()
    daemon.process.wait()
    assert (daemon.memory / SOCKET).exists()
    checked = subprocess.run([*PROGRAM, "memory", "check", "--memory", daemon.memory], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    again = start({"walk": folder}).wait_ready().wait_seen()
    assert again.stop() == 0
    assert moments(daemon.memory) == {"walk": 200}


def test_a_camera_that_is_not_there_yet_or_no_more_is_said_and_waited_for(start: Start) -> None:
    with network_camera() as (url, there):
        daemon = start({"yard": url}).wait_ready()
        wait_until(lambda: "yard: blind" in daemon.said)
        assert [one.state for one in daemon.status.streams] == ["blind"]
        asked = subprocess.run(
            [*PROGRAM, "ask", "What did I see?", "--memory", daemon.memory, "--config", daemon.settings],
            capture_output=True,
            text=True,
            check=False,
        )
        assert "note: yard sees nothing now: " in asked.stderr
        assert "secret" not in asked.stderr
        there.set()
        wait_until(lambda: "yard: sees again" in daemon.said)
        there.clear()
        wait_until(lambda: daemon.said.count("yard: blind") == 2)
        seen = daemon.status.streams[0].frames
        there.set()
        wait_until(lambda: daemon.said.count("yard: sees again") == 2)
        wait_until(lambda: daemon.status.streams[0].frames > seen)
        assert daemon.stop() == 0
    assert "secret" not in daemon.said
    assert list(moments(daemon.memory)) == ["yard"], "what came before and after is one stream"


def test_the_service_manager_hears_when_it_is_ready_alive_and_stopping(start: Start, pictures: Pictures, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(20.0)
        daemon = start({"a": pictures("a")}, NOTIFY_SOCKET=str(tmp_path / "notify"), WATCHDOG_USEC="5000000")
        assert manager.recv(1000) == b"READY=1"
        alive = manager.recv(1000)
        assert alive.startswith(b"WATCHDOG=1\nSTATUS=sees a")
        assert daemon.stop() == 0
        heard = [alive]
        while heard[-1] != b"STOPPING=1":
            heard.append(manager.recv(1000))


def test_while_paused_nothing_is_opened_or_written(start: Start, pictures: Pictures, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    Store.open(memory).close()
    set_paused(memory, paused=True)
    before = {path.name: path.read_bytes() for path in memory.iterdir() if path.is_file()}
    daemon = start({"a": pictures("a")})
    wait_until(lambda: "is paused" in daemon.said)
    assert {path.name: path.read_bytes() for path in memory.iterdir() if path.is_file()} == before
    set_paused(memory, paused=False)
    daemon.wait_ready().wait_seen()
    assert daemon.stop() == 0
    assert moments(memory) == {"a": 20}


def test_a_daemon_paused_from_the_start_can_be_stopped(start: Start, pictures: Pictures, tmp_path: Path) -> None:
    Store.open(tmp_path / "memory").close()
    set_paused(tmp_path / "memory", paused=True)
    daemon = start({"a": pictures("a")})
    wait_until(lambda: "is paused" in daemon.said)
    assert daemon.stop() == 0


def test_a_memory_that_another_process_writes_is_refused_with_what_to_do(start: Start, pictures: Pictures, tmp_path: Path) -> None:
    with Store.open(tmp_path / "memory"):
        daemon = start({"a": pictures("a")})
        assert daemon.process.wait(20.0) == 1
    assert f"written by process {os.getpid()}" in daemon.said


def test_a_stream_without_consent_ends_it_before_a_picture_is_kept(start: Start, pictures: Pictures) -> None:
    daemon = start({"bedroom": pictures("a")}, more='[privacy]\nstreams = ["door"]')
    assert daemon.process.wait(20.0) == 2
    assert "has no consent" in daemon.said
    assert moments(daemon.memory) == {}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ("", "run.memory is not set"),
        ('[run]\nmemory = "m"', "run.sources is empty"),
        ('[run]\nmemory = "m"\n[[run.sources]]\nsource = "0"\nstrem = "door"', 'did you mean "stream"'),
        ('[run]\nmemory = "m"\n[[run.sources]]\nsource = ""', "source must name"),
        ('[run]\nmemory = "m"\n[[run.sources]]\nsource = "0"\n[[run.sources]]\nsource = "0"', "two streams have one name"),
        ('[run]\nmemory = "m"\n[[run.sources]]\nsource = "0"\nrecipe = "vamm"', "no recipe is called"),
        ('[run]\nmemory = "m"\nservices = [{use = "bell"}]\n[[run.sources]]\nsource = "0"', 'no service is called "bell"'),
    ],
    ids=["nothing", "no_source", "misspelt", "empty", "twice", "recipe", "service"],
)
def test_settings_that_name_nothing_to_see_are_refused_before_anything_runs(tmp_path: Path, home: Path, settings: str, says: str) -> None:
    (tmp_path / "edgemem.toml").write_text(settings)
    done = subprocess.run(
        [*PROGRAM, "run", "--config", "edgemem.toml"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "m").exists()
    assert not home.exists() or not any(home.iterdir())
    if "[[run.sources]]" in settings:
        checked = subprocess.run(
            [*PROGRAM, "config", "check", "--config", "edgemem.toml"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (checked.returncode, checked.stderr) == (2, done.stderr)


def test_a_recording_that_is_not_there_yet_stops_no_camera_beside_it(start: Start, pictures: Pictures, tmp_path: Path) -> None:
    daemon = start({"late": tmp_path / "late", "door": pictures("a")}).wait_ready()
    wait_until(lambda: "late: blind: " in daemon.said)
    assert "no such file or folder" in daemon.said
    wait_until(lambda: moments(daemon.memory).get("door") == 20)
    checked = subprocess.run([*PROGRAM, "config", "check", "--config", daemon.settings], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr.count("\n")) == (0, 1)
    assert checked.stderr.startswith(f"warning: run.sources: {tmp_path / 'late'}: no such file or folder")
    pictures("later").rename(tmp_path / "late")
    daemon.wait_seen()
    assert daemon.stop() == 0
    assert moments(daemon.memory) == {"door": 20, "late": 20}
    assert daemon.said.count("late: blind") == 1


@pytest.mark.parametrize("source", ["/dev/video63", "rtsp://127.0.0.1:1/cam", "7", "alsa:default", "7+alsa:default", "."])
def test_what_may_come_yet_is_no_wrong_setting(tmp_path: Path, home: Path, source: str) -> None:
    (tmp_path / "edgemem.toml").write_text(f'[run]\nmemory = "m"\n[[run.sources]]\nsource = "{source}"')
    assert home.parent == tmp_path
    with pytest.raises(SystemExit) as ended:
        main(["config", "check", "--config", str(tmp_path / "edgemem.toml")])
    assert ended.value.code == 0


def test_the_unit_and_every_deployment_fit_together() -> None:
    """The unit allows the daemon to write only in its state directory; the memories of the deployments are there."""
    from edgemem.boards import firmware_dir

    unit = (firmware_dir() / "systemd" / "edgemem.service").read_text()
    assert "Type=notify" in unit
    deployments = [load(path) for path in firmware_dir().glob("*.toml")]
    memories = [settings.run.memory for settings in deployments if settings.run.memory]
    assert memories
    assert all(memory.startswith("/var/lib/edgemem/") for memory in memories)
    with pytest.raises(UsageError, match="source must name"):
        load(None, ['run.sources=[{source=" "}]'])


def test_two_sources_that_choose_one_name_are_not_mixed(tmp_path: Path, home: Path, pictures: Pictures) -> None:
    """As every camera behind GStreamer, which is called "camera"."""
    assert home.parent == tmp_path
    (tmp_path / "plain.toml").write_text(RECIPE)
    one, other = (pictures(name) for name in ("walk.one", "walk.other"))
    sources = "".join(f'[[run.sources]]\nsource = "{folder}"\n' for folder in (one, other))
    daemon = Daemon(tmp_path, f'recipe = "{tmp_path / "plain.toml"}"\n[run]\nmemory = "{tmp_path / "memory"}"\n{sources}')
    try:
        wait_until(lambda: (status := daemon.status) and {"seen", "blind"} == {stream.state for stream in status.streams}, 120.0)
        blind = next(stream.blind for stream in daemon.status.streams if stream.blind)
        assert blind == 'another source has the name "walk" too; give each its own stream in run.sources'
        assert daemon.stop() == 0
    finally:
        daemon.process.kill()
        daemon.process.wait()
    assert moments(daemon.memory) == {"walk": 20}
