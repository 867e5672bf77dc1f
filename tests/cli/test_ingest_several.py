"""`edgemem ingest` with several sources: one after the other, each reported, one that fails does not stop the others."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import pytest

from edgemem.extend.testing import SyntheticCamera

Run = Callable[..., tuple[int, str, str]]
INGEST = {
    "stream", "frames_seen", "moments_kept", "segments", "documents", "seconds_of_video", "seconds_spent", "disk_bytes", "dropped",
    "interrupted",
}  # fmt: skip


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    made = []
    for number in range(3):
        folder = tmp_path / f"clip{number}"
        folder.mkdir()
        for frame in SyntheticCamera(4.0, seed=number).frames():
            cv2.imwrite(str(folder / f"{frame.seq}.png"), frame.image)
        made.append(folder)
    return made


def errors(err: str) -> list[str]:
    return [line for line in err.splitlines() if not line.startswith("note:")]


def test_each_source_is_a_stream_of_its_own(run: Run, recipe: str, folders: list[Path], tmp_path: Path) -> None:
    given = ("ingest", *folders, "--memory", tmp_path / "m", "--recipe", recipe)
    code, out, err = run(*given)
    assert (code, errors(err)) == (0, [])
    assert [line.partition(":")[0] for line in out.splitlines() if "frames seen" in line] == ["clip0", "clip1", "clip2"]
    code, out, err = run(*given, "--json")
    assert code == 0
    assert err.count("is in this memory already") == 3
    assert [one["moments_kept"] for one in json.loads(out)["sources"]] == [0, 0, 0]


def test_one_that_fails_is_said_and_the_others_go_on(run: Run, recipe: str, folders: list[Path], tmp_path: Path) -> None:
    sources = (folders[0], tmp_path / "absent.mp4", folders[1])
    code, out, err = run("ingest", *sources, "--memory", tmp_path / "m", "--recipe", recipe, "--json")
    assert code == 1
    (line,) = errors(err)
    assert line.startswith(f"edgemem: {sources[1]}: no such file")
    data = json.loads(out)
    assert (list(data), data["failed"]) == (["sources", "failed"], 1)
    assert [one["source"] for one in data["sources"]] == [str(source) for source in sources]
    assert [set(one) - {"source"} for one in data["sources"]] == [INGEST, {"error"}, INGEST]
    assert [one.get("stream") for one in data["sources"]] == ["clip0", None, "clip1"]


def test_with_one_source_the_error_and_its_exit_code_are_its_own(run: Run, recipe: str, tmp_path: Path) -> None:
    code, out, err = run("ingest", tmp_path / "absent.mp4", "--memory", tmp_path / "m", "--recipe", recipe, "--json")
    assert (code, out, len(errors(err))) == (1, "", 1)
    assert run("ingest", tmp_path, "--memory", tmp_path / "m", "--recipe", "defalt")[0] == 2
    assert run("ingest", "--memory", tmp_path / "m")[0] == 2


@pytest.mark.parametrize("option", [("--start", "2026-05-04"), ("--stream", "door"), ("--subtitles", "none")])
def test_what_belongs_to_one_source_is_refused_for_several(
    run: Run, recipe: str, folders: list[Path], tmp_path: Path, option: tuple[str, str]
) -> None:
    code, out, err = run("ingest", *folders, "--memory", tmp_path / "m", "--recipe", recipe, *option)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"{option[0]} can be given for one source only, not for 3" in err
    assert not (tmp_path / "m").exists()


def test_an_interruption_takes_no_further_source(recipe: str, folders: list[Path], tmp_path: Path) -> None:
    many = sorted(folders[0].iterdir())
    for number in range(len(many), 4000):
        (folders[0] / f"{number}.png").hardlink_to(many[number % len(many)])
    command = [sys.executable, "-m", "edgemem", "ingest", *folders, "--memory", tmp_path / "m", "--recipe", recipe, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not (tmp_path / "m" / "memory.db").exists():
            time.sleep(0.02)
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    first, *others = json.loads(out)["sources"]
    assert 0 < first["frames_seen"] < 4000
    assert ["not ingested: interrupted" in one["error"] for one in others] == [True, True]


def on_a_terminal(*arguments: object) -> str:
    """What a command prints on stderr where that is a terminal."""
    controller, terminal = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "edgemem", *map(str, arguments)], stderr=terminal, stdout=subprocess.DEVNULL, check=True, timeout=60
    )
    os.close(terminal)
    return read(controller)


def read(controller: int) -> str:
    """Everything that was written to a terminal that is closed."""
    shown = b""
    with contextlib.suppress(OSError):  # all was read
        while piece := os.read(controller, 4096):
            shown += piece
    os.close(controller)
    return shown.decode()


def test_a_terminal_gets_one_bar_for_each_source_and_every_long_command(recipe: str, folders: list[Path], tmp_path: Path) -> None:
    shown = on_a_terminal("ingest", *folders[:2], "--memory", tmp_path / "m", "--recipe", recipe)
    for folder in folders[:2]:
        assert str(folder) in shown
    assert shown.index(str(folders[0])) < shown.index(str(folders[1]))
    assert all(line.startswith("note: ") for line in shown.splitlines() if "note: " in line), "a note has a line of its own"
    assert "  [####" in shown
    assert shown.endswith("\n")
    shown = on_a_terminal("memory", "backup", tmp_path / "copy.db", "--memory", tmp_path / "m")
    assert "backup" in shown
    assert "100%" in shown


def test_of_what_has_no_end_a_terminal_gets_how_far_it_came(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from edgemem.cli import app
    from edgemem.cli.ingest import _watching

    controller, terminal = pty.openpty()
    with os.fdopen(terminal, "w") as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        with app.progress(_watching) as advance:
            advance("camera0", 0, None)
            advance("camera0", 65_000_000, None)
    shown = read(controller)
    assert "camera0 watching, 1:05" in shown
    assert shown.endswith("\n")
    assert capfd.readouterr().err == ""
