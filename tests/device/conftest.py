"""Shares `daemons` among these tests, with fixtures that start daemons."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import pytest

from edgemem.extend.testing import SyntheticCamera

sys.path.insert(0, str(Path(__file__).parent))

from daemons import RECIPE, Daemon, Start


@pytest.fixture
def start(tmp_path: Path, home: Path) -> Iterator[Start]:
    """Starts a daemon with these sources, by stream."""
    recipe = tmp_path / "plain.toml"
    recipe.write_text(RECIPE)
    assert home.parent == tmp_path
    running: list[Daemon] = []

    def begin(sources: dict[str, str | Path], more: str = "", run: str = "", **environment: str) -> Daemon:
        tables = "".join(f'[[run.sources]]\nsource = "{source}"\nstream = "{stream}"\n' for stream, source in sources.items())
        head = f'recipe = "{recipe}"\n{more}\n[run]\n{run}\nmemory = "{tmp_path / "memory"}"\n'
        running.append(Daemon(tmp_path, head + tables, **environment))
        return running[-1]

    yield begin
    for daemon in running:
        daemon.process.kill()
        daemon.process.wait()


@pytest.fixture
def pictures(tmp_path: Path) -> Callable[[str, float], Path]:
    """Makes folders of pictures; with `times` they are repeated, so that seeing them takes long."""

    def make(name: str, seconds: float = 4.0, times: int = 1) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        for frame in SyntheticCamera(seconds, rate_fps=5.0, seed=len(name)).frames():
            cv2.imwrite(str(folder / f"{frame.seq:04}.jpg"), frame.image)
        made = sorted(folder.iterdir())
        for number in range(len(made), times * len(made)):
            (folder / f"{number:04}.jpg").hardlink_to(made[number % len(made)])
        return folder

    return make
