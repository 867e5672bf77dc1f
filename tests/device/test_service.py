"""The systemd service: what the installer writes, what systemd itself says of it, and the waits between restarts."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INSTALLER = ROOT / "tools" / "install_device.sh"
BACKOFF = ROOT / "firmware_configs" / "systemd" / "restart_backoff.sh"

needs_systemd = pytest.mark.skipif(
    not all(map(shutil.which, ("systemd-analyze", "systemd-sysusers", "systemd-tmpfiles"))) or os.geteuid() != 0,
    reason="needs root and systemd's own tools (apt-get install systemd)",
)


def run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """An `edgemem` that is installed somewhere."""
    path = tmp_path / "edgemem"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m edgemem "$@"\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def device(tmp_path: Path) -> Path:
    """The root of a device's file system."""
    return tmp_path / "device"


def install(device: Path, program: Path, *more: object) -> subprocess.CompletedProcess[str]:
    done = run(INSTALLER, "--root", device, "--program", program, *more)
    assert done.returncode == 0, done.stderr
    return done


def tree(folder: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Mode, group, time of change and content of every file and folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(folder))] = status.st_mode, status.st_gid, 0 if path.is_dir() else status.st_mtime_ns, content
    return found


@needs_systemd
def test_installing_twice_changes_nothing_the_second_time_and_says_nothing(device: Path, program: Path) -> None:
    assert "installed /etc/systemd/system/edgemem.service" in install(device, program, "--memory-max", "3G").stdout
    before = tree(device)
    again = install(device, program, "--memory-max", "3G")
    assert (again.stdout, again.stderr) == ("", "")
    assert tree(device) == before
    wanted = device / "etc/systemd/system/multi-user.target.wants/edgemem.service"
    assert str(wanted.readlink()) == "/etc/systemd/system/edgemem.service"


@needs_systemd
def test_only_the_daemon_reads_what_it_remembers_and_only_root_changes_its_settings(device: Path, program: Path) -> None:
    install(device, program)
    users = [line.split(":") for line in (device / "etc/passwd").read_text().splitlines()]
    user, group = next((int(line[2]), int(line[3])) for line in users if line[0] == "edgemem")
    for folder in ("var/lib/edgemem", "var/lib/edgemem/home", "var/lib/edgemem/memory"):
        status = (device / folder).stat()
        assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (user, group, 0o700), folder
    settings = (device / "etc/edgemem.toml").stat()
    assert (settings.st_uid, settings.st_gid, settings.st_mode & 0o777) == (0, group, 0o640)
    groups = (device / "etc/group").read_text().splitlines()
    assert {line.split(":")[0] for line in groups if line.endswith("edgemem") and not line.startswith("edgemem")} == {
        "video", "audio", "render",
    }  # fmt: skip


@needs_systemd
@pytest.mark.parametrize("jetson", [False, True], ids=["any board", "jetson"])
def test_systemd_finds_no_fault_in_the_unit(device: Path, program: Path, tmp_path: Path, jetson: bool) -> None:
    if jetson:
        (device / "etc").mkdir(parents=True)
        (device / "etc/nv_tegra_release").touch()
    install(device, program, "--memory-max", "3G")
    units = tmp_path / "units"
    shutil.copytree(device / "etc/systemd/system", units, symlinks=True)
    unit = units / "edgemem.service"
    unit.write_text(unit.read_text().replace("/opt/edgemem/", f"{device}/opt/edgemem/"))
    checked = run("systemd-analyze", "verify", "--man=no", unit)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
    drop_ins = sorted(path.name for path in (units / "edgemem.service.d").iterdir())
    assert drop_ins == (["10-jetson.conf", "20-memory.conf"] if jetson else ["20-memory.conf"])
    exposure = run("systemd-analyze", "security", "--offline=yes", "--threshold=30", unit)
    assert exposure.returncode == 0, exposure.stdout
    unit.write_text(unit.read_text().replace("WatchdogSec=", "WatchdogSek="))
    assert "WatchdogSek" in run("systemd-analyze", "verify", "--man=no", unit).stderr


@needs_systemd
def test_the_daemon_may_read_whether_the_clock_is_synchronised() -> None:
    """Without the call `adjtimex` every time of a live stream would count as unsynchronised."""
    unit = (ROOT / "firmware_configs/systemd/edgemem.service").read_text()
    allowed = re.search(r"^SystemCallFilter=(.*)$", unit, re.MULTILINE)
    assert allowed is not None
    pending, calls = allowed[1].split(), set[str]()
    while pending:
        name = pending.pop()
        inside = run("systemd-analyze", "syscall-filter", name).stdout if name.startswith("@") else ""
        pending += [line.strip() for line in inside.splitlines()[1:] if line.strip() and not line.strip().startswith("#")]
        calls.add(name)
    assert {"adjtimex", "setpriority", "flock", "fdatasync", "mmap", "ioctl", "sendto"} <= calls
    assert not {"clock_settime", "mount", "reboot", "init_module"} & calls


@needs_systemd
def test_settings_of_a_user_are_never_overwritten(device: Path, program: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('recipe = "vam"\n')
    install(device, program, "--config", mine)
    assert (device / "etc/edgemem.toml").read_text() == 'recipe = "vam"\n'
    (device / "etc/edgemem.toml").write_text('recipe = "default"\n')
    install(device, program, "--config", mine)
    assert (device / "etc/edgemem.toml").read_text() == 'recipe = "default"\n'


@needs_systemd
def test_uninstalling_keeps_settings_and_memories_unless_they_are_to_go_too(device: Path, program: Path) -> None:
    install(device, program)
    kept = device / "var/lib/edgemem/memory/memory.db"
    kept.touch()
    for _ in range(2):
        done = run(INSTALLER, "--uninstall", "--root", device)
        assert done.returncode == 0, done.stderr
        assert "kept /etc/edgemem.toml and /var/lib/edgemem" in done.stdout
    left = {name for name in tree(device) if "edgemem" in name}
    assert left == {"etc/edgemem.toml", *(f"var/lib/edgemem{end}" for end in ("", "/home", "/memory", "/memory/memory.db"))}
    assert program.exists()
    assert run(INSTALLER, "--uninstall", "--purge", "--root", device).returncode == 0
    assert not {name for name in tree(device) if "edgemem" in name}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--confg", "x"], "unknown option --confg"),
        (["--config"], "--config needs a value"),
        (["--config", "nowhere.toml"], "nowhere.toml: no such settings file"),
        (["--program", "/nowhere/edgemem"], "/nowhere/edgemem is not a program"),
        ([], "--root needs --program"),
    ],
)
def test_a_wrong_call_of_the_installer_writes_nothing(device: Path, options: list[str], says: str) -> None:
    done = run(INSTALLER, "--root", device, *options)
    assert done.returncode == 2
    assert says in done.stderr
    assert not tree(device)


class Restarts:
    """The unit's calls of the script around each start and end, with its sleeps written down."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "run"
        self._folder.mkdir()
        self._slept = folder / "slept"
        sleep = folder / "sleep"
        sleep.write_text(f'#!/bin/sh\necho "$1" >>"{self._slept}"\n')
        sleep.chmod(0o755)
        self._environment = {**os.environ, "RUNTIME_DIRECTORY": str(self._folder), "EDGEMEM_SLEEP": str(sleep)}

    def start(self) -> int:
        """The seconds waited before this start."""
        self._slept.write_text("0\n")
        subprocess.run([BACKOFF, "wait"], check=True, env=self._environment, stdout=subprocess.DEVNULL)
        return sum(map(int, self._slept.read_text().split()))

    def end(self, result: str, after_s: float = 1.0) -> None:
        started = time.time() - after_s
        os.utime(self._folder / "started", (started, started))
        subprocess.run([BACKOFF, "ended"], check=True, env={**self._environment, "SERVICE_RESULT": result})


def test_each_failure_in_a_row_waits_longer_up_to_five_minutes(tmp_path: Path) -> None:
    service, waits = Restarts(tmp_path), []
    for result in ("exit-code", "watchdog", "oom-kill", "signal") * 3:
        waits.append(service.start())
        service.end(result)
    assert waits == [0, 0, 5, 10, 20, 40, 80, 160, 300, 300, 300, 300]


@pytest.mark.parametrize(
    ("result", "after_s", "waits"), [("success", 1, [0, 0, 5]), ("exit-code", 700, [0, 5, 10]), ("exit-code", 500, [40, 80, 160])]
)
def test_a_stop_or_a_long_run_starts_the_waits_again(tmp_path: Path, result: str, after_s: float, waits: list[int]) -> None:
    service = Restarts(tmp_path)
    for _ in range(4):
        service.start()
        service.end("exit-code")
    service.start()
    service.end(result, after_s)
    found = []
    for _ in waits:
        found.append(service.start())
        service.end("exit-code")
    assert found == waits


def test_a_program_is_named_by_its_whole_path(device: Path, program: Path) -> None:
    """A link holds it: relative it would lead nowhere, in place of one that worked."""
    link = device / "opt" / "edgemem" / "bin" / "edgemem"
    link.parent.mkdir(parents=True)
    link.symlink_to(program)
    for wrong in (program.name, f"./{program.name}"):
        done = subprocess.run(
            [str(INSTALLER), "--root", str(device), "--program", wrong], capture_output=True, text=True, check=False, cwd=program.parent
        )
        assert done.returncode != 0
        assert "--program needs a whole path" in done.stderr
    assert link.readlink() == program
