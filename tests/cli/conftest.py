"""The command line in this process, a recipe without models, and a folder of pictures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import pytest

from edgemem.cli.main import main
from edgemem.extend.testing import SyntheticCamera

RECIPE = """
summary = "No models: what the command line does with bad input does not depend on them."
rate_fps = 2.0
[[gate]]
use = "blur"
[segment]
use = "fixed_window"
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def recipe(tmp_path: Path, home: Path) -> str:
    assert home.parent == tmp_path
    path = tmp_path / "plain.toml"
    path.write_text(RECIPE)
    return str(path)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return call


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "walk"
    folder.mkdir()
    for frame in SyntheticCamera(6.0).frames():
        cv2.imwrite(str(folder / f"{frame.seq}.png"), frame.image)
    return folder


@pytest.fixture
def memory(pictures: Path, recipe: str, run: Run, tmp_path: Path) -> Path:
    directory = tmp_path / "memory"
    code, _, err = run("ingest", str(pictures), "--memory", str(directory), "--recipe", recipe)
    assert code == 0, err
    return directory
