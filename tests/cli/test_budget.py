"""A memory keeps to the size that the user chose."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from edgemem.cli.main import main
from edgemem.config import parse_bytes

RECIPE = "rate_fps = 1.0\n[segment]\nuse = 'fixed_window'\n[retain]\nuse = 'age_tiers'\n"


@pytest.fixture
def noise(tmp_path: Path, home: Path) -> Path:
    """180 pictures of 760 KB each when kept: twice the size that the memory may have."""
    assert home.parent == tmp_path
    folder = tmp_path / "noise"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number in range(180):
        cv2.imwrite(str(folder / f"{number}.jpg"), rng.integers(0, 256, (720, 1280, 3), np.uint8))
    (tmp_path / "plain.toml").write_text(RECIPE)
    return folder


def ran(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


def test_ingest_stays_below_the_budget_and_stats_tell_it(noise: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    memory = tmp_path / "m"
    arguments = ("ingest", noise, "--memory", memory, "--recipe", tmp_path / "plain.toml", "--json")
    code, out, err = ran(capsys, *arguments, "--set", "budget.disk=64MiB")
    assert code == 0, err
    report = json.loads(out)
    assert (report["frames_seen"], report["moments_kept"]) == (180, 180)
    assert sum(path.stat().st_size for path in memory.rglob("*") if path.is_file()) <= parse_bytes("64MiB")
    stats = json.loads(ran(capsys, "memory", "stats", "--memory", memory, "--json")[1])
    assert stats["budget_bytes"] == 64 << 20
    assert stats["disk_bytes"] <= 64 << 20
    assert 60 < stats["moments"] <= 180
    assert ran(capsys, "memory", "check", "--memory", memory)[0] == 0


def test_a_budget_too_small_to_remember_anything_is_refused_in_one_line(
    noise: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("ingest", noise, "--memory", tmp_path / "m", "--recipe", tmp_path / "plain.toml")
    code, _, err = ran(capsys, *arguments, "--set", "budget.disk=63MiB")
    assert code == 1
    assert err == "edgemem: budget.disk is 63.0MiB: set it to 64MiB or more\n"
    assert not (tmp_path / "m").exists()


def test_a_check_of_the_settings_refuses_what_a_run_would(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    assert home.name == "home"
    code, _, err = ran(capsys, "config", "check", "--set", "budget.disk=63MiB")
    assert (code, err) == (2, "edgemem: settings: budget.disk is 63.0MiB: set it to 64MiB or more\n")
    assert ran(capsys, "config", "check", "--set", "budget.disk=64MiB")[0] == 0
