"""`edgemem doctor`: each thing that keeps the daemon from working is found, with what to do about it."""

from __future__ import annotations

import json
import os
import pty
import shutil
import socket
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from daemons import PROGRAM, Start, network_camera, wait_until

from edgemem.clock import from_iso
from edgemem.config import Budget, RunSettings, RunSource, Settings
from edgemem.device.cameras import capability, check_cameras, decode_capability
from edgemem.device.findings import Finding, clock_state, disk
from edgemem.extend.plugins import Plugins

Pictures = Callable[..., Path]
GIB = 1 << 30


def settings(memory: Path | str = "", *sources: str, budget: str = "4GiB") -> Settings:
    run = RunSettings(memory=str(memory), sources=[RunSource(source=source) for source in sources])
    return Settings(budget=Budget(disk=budget), run=run)


def doctor(tmp_path: Path, text: str) -> tuple[int, dict[str, list[Finding]]]:
    """The exit code, and the findings by what they are about."""
    file = tmp_path / "doctor.toml"
    file.write_text(text)
    done = subprocess.run([*PROGRAM, "doctor", "--json", "--config", file], capture_output=True, text=True, check=False)
    found: dict[str, list[Finding]] = {}
    for fields in json.loads(done.stdout)["findings"]:
        found.setdefault(fields["what"], []).append(Finding(**fields))
    return done.returncode, found


@pytest.fixture
def mounts(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a table of mounts in which the test's folder is on a file system of this kind."""

    def write(kind: str) -> Path:
        table = tmp_path / "mountinfo"
        table.write_text(
            f"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n36 22 8:2 / {tmp_path} rw,noatime shared:1 - {kind} server rw\n"
            f"37 22 8:3 / {tmp_path}-other rw - squashfs none rw\n"
        )
        return table

    return write


def test_the_whole_report_is_one_json_object_and_notes_say_what_to_do(tmp_path: Path, home: Path) -> None:
    code, found = doctor(tmp_path, f'[run]\nmemory = "{tmp_path / "m"}"\n[[run.sources]]\nsource = "/dev/video63"')
    assert code == 0, found
    assert home.is_dir()
    assert {"edgemem", "python", "sqlite", "clock", "disk", "user", "camera", "agent", "runtime", "data directory"} <= set(found)
    assert found["camera"] == [Finding("missing", "camera", "/dev/video63: is not there", "check that it is plugged in: ls /dev/video*")]
    assert found["agent"][0].todo.startswith("start it: systemctl start edgemem")
    shown = subprocess.run([*PROGRAM, "doctor", "--config", tmp_path / "doctor.toml"], capture_output=True, text=True, check=False).stdout
    assert "missing camera          /dev/video63: is not there\n                        to do: check that it is plugged in" in shown


def test_a_data_directory_that_cannot_be_made_ends_with_one(tmp_path: Path, home: Path) -> None:
    home.write_text("a file is in its place")
    code, found = doctor(tmp_path, "")
    assert code == 1
    assert (found["data directory"][0].level, "set EDGEMEM_HOME" in found["data directory"][0].todo) == ("missing", True)


@pytest.mark.parametrize(
    ("now", "error_us", "battery", "level", "says"),
    [
        ("1970-01-01T00:05:00Z", None, True, "missing", "says 1970-01-01T00:05:00.000Z: it was never set"),
        ("2026-05-04T08:00:00Z", None, True, "note", "no time server synchronises it"),
        ("2026-05-04T08:00:00Z", 12_000, False, "note", "synchronised within 12 ms; no battery clock"),
        ("2026-05-04T08:00:00Z", 12_000, True, "ok", "synchronised within 12 ms"),
    ],
)
def test_the_clock(tmp_path: Path, now: str, error_us: int | None, battery: bool, level: str, says: str) -> None:
    rtc = tmp_path / "rtc"
    (rtc / "rtc0" if battery else rtc).mkdir(parents=True)
    found = clock_state(error_us, from_iso(now), rtc)
    assert (found.level, says in found.detail, bool(found.todo)) == (level, True, level != "ok"), found


@pytest.mark.parametrize(
    ("kind", "budget", "level", "says"),
    [
        ("ext4", "64MiB", "ok", "(ext4)"),
        ("nfs4", "64MiB", "missing", "on a network file system (nfs4)"),
        ("tmpfs", "64MiB", "note", "gone after a restart"),
        ("vfat", "64MiB", "note", "everyone may read it"),
        ("ext4", "1000TiB", "note", "the disk is full before the budget is"),
    ],
)
def test_the_disk_of_the_memory(tmp_path: Path, mounts: Callable[[str], Path], kind: str, budget: str, level: str, says: str) -> None:
    found = disk(settings(tmp_path / "deep" / "memory", budget=budget), tmp_path / "home", mounts(kind))
    assert (found.level, says in found.detail, bool(found.todo)) == (level, True, level != "ok"), found
    if budget == "1000TiB":
        most = float(found.todo.rpartition(" ")[2].removesuffix("GiB")) * GIB
        space = os.statvfs(tmp_path)
        assert 0.9 * space.f_bavail * space.f_frsize < most < space.f_bavail * space.f_frsize


def test_what_the_memory_uses_is_part_of_its_budget(tmp_path: Path, mounts: Callable[[str], Path]) -> None:
    """A memory that fills most of the disk fits if the rest of its budget does."""
    space = os.statvfs(tmp_path)
    free = space.f_bavail * space.f_frsize
    memory = tmp_path / "memory"
    memory.mkdir()
    with (memory / "memory.db").open("wb") as file:
        file.truncate(2 * free)  # a hole: it takes no room
    table = mounts("ext4")
    assert disk(settings(memory, budget=str(int(2.9 * free))), tmp_path, table).level == "ok"
    assert disk(settings(memory, budget=str(int(3.1 * free))), tmp_path, table).level == "note"


def test_a_video_device_by_what_its_driver_says(tmp_path: Path) -> None:
    def answer(whole: int, node: int) -> bytes:
        """struct v4l2_capability of linux/videodev2.h."""
        return struct.pack("=16s32s32sIII12x", b"uvcvideo", b"HD Webcam C615", b"usb-1", 0x60100, whole, node)

    assert decode_capability(answer(0x84A00001, 0x04200001)) == ("HD Webcam C615", "", "")
    assert "sends no pictures" in decode_capability(answer(0x84A00001, 0x04A00000)).problem, "its node for metadata"
    assert decode_capability(answer(0x04001000, 0)).problem == "", "an old driver that describes the whole device only"
    assert capability(tmp_path / "video0").problem == "is not there"
    (tmp_path / "video1").touch()
    assert capability(tmp_path / "video1").problem == "is no device"
    ours, theirs = pty.openpty()
    assert capability(Path(os.ttyname(theirs))).problem == "is no video device"
    os.close(ours)
    os.close(theirs)


def test_without_a_configured_source_the_cameras_of_the_machine_are_listed(tmp_path: Path) -> None:
    plugins = Plugins.builtin()
    (none,) = check_cameras(settings(), plugins, tmp_path)
    assert (none.level, none.detail) == ("note", "this machine has none")
    (tmp_path / "video3").touch()
    (none,) = check_cameras(settings(), plugins, tmp_path)
    assert none.detail == f"{tmp_path}/video3 is no device"


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_network_camera_is_called_and_its_password_is_not_shown(listening: int) -> None:
    plugins = Plugins.builtin()
    (found,) = check_cameras(settings("m", f"rtsp://me:word@127.0.0.1:{listening}/cam"), plugins)
    assert found == ("ok", "camera", f"rtsp://***@127.0.0.1:{listening}/cam: answers on port {listening}", "")
    (found,) = check_cameras(settings("m", "rtsp://me:word@127.0.0.1:1/cam"), plugins)
    assert found.level == "missing"
    assert found.detail.startswith("rtsp://***@127.0.0.1:1/cam: does not answer (Connection refused)")
    (found,) = check_cameras(settings("m", "rtsp://me:word@127.0.0.1:port/cam"), plugins)
    assert "word" not in found.detail + found.todo
    assert found.level == "missing"


def test_recordings_and_microphones(tmp_path: Path, pictures: Pictures) -> None:
    plugins = Plugins.builtin()
    found = check_cameras(settings("m", str(pictures("walk")), str(tmp_path / "nowhere.mp4"), "alsa:default"), plugins)
    assert [one.level for one in found] == ["ok", "missing", "note"]
    assert "no such file or folder" in found[1].detail


def test_rights_on_the_memory_and_on_settings_with_passwords(tmp_path: Path, home: Path) -> None:
    assert home.parent == tmp_path
    memory = tmp_path / "memory"
    memory.mkdir(0o700)
    text = f'[run]\nmemory = "{memory}"\n[[run.sources]]\nsource = "rtsp://me:word@127.0.0.1:1/cam"'
    _, found = doctor(tmp_path, text)
    (tmp_path / "doctor.toml").chmod(0o644)
    assert found["memory"][0].level == "ok"
    memory.chmod(0o750)
    _, found = doctor(tmp_path, text)
    assert (found["memory"][0].level, found["memory"][0].todo) == ("note", f"chmod 700 {memory}")
    assert found["settings"][0].todo == f"chmod 640 {tmp_path / 'doctor.toml'}"
    (tmp_path / "doctor.toml").chmod(0o640)
    assert "settings" not in doctor(tmp_path, text)[1]
    if os.geteuid() == 0:
        os.chown(memory, 54321, 54321)
        _, found = doctor(tmp_path, text)
        assert (found["memory"][0].level, found["memory"][0].todo) == ("missing", "run edgemem as that user: sudo -u 54321 edgemem ...")


def test_a_running_agent_says_what_it_sees(start: Start, pictures: Pictures, tmp_path: Path) -> None:
    with network_camera() as (url, there):
        daemon = start({"yard": url, "door": pictures("a")}).wait_ready()
        wait_until(lambda: "yard: blind" in daemon.said)
        _, found = doctor(tmp_path, daemon.settings.read_text())
        assert found["agent"][0].level == "missing"
        assert found["agent"][0].detail.startswith(f"process {daemon.process.pid}; yard: blind: http://***@127.0.0.1")
        there.set()
        wait_until(lambda: "yard: sees again" in daemon.said)
        _, found = doctor(tmp_path, daemon.settings.read_text())
        (ok,) = found["agent"]
        assert (ok.level, "yard (seeing, " in ok.detail) == ("ok", True), ok
    assert "secret" not in json.dumps(found)


def test_what_the_governor_does_is_a_note(start: Start, pictures: Pictures, tmp_path: Path) -> None:
    """Of 104.5 degrees, at which the board is switched off, 1.5 are left: the least work at once."""
    tree = tmp_path / "tree"
    shutil.copytree(Path(__file__).parent / "boards" / "jetson-orin-nano-8gb", tree)
    (tree / "sys/class/thermal/thermal_zone0/temp").write_text("103000\n")
    daemon = start({"door": pictures("a")}, f'hardware.root = "{tree}"\nengines.runtime = ["onnx"]\n').wait_ready()
    wait_until(lambda: "governor: less work" in daemon.said)
    _, found = doctor(tmp_path, daemon.settings.read_text())
    seen, note = found["agent"]
    assert (seen.level, note.level) == ("ok", "note")
    assert (note.detail, note.todo) == (
        "the governor allows a tenth of the frames, no background work", "see why in its log: journalctl -u edgemem",
    )  # fmt: skip
