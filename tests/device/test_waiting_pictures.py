"""An agent gives the pictures that it keeps the vectors of a server while it is idle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from daemons import Daemon, wait_until

from edgemem.remember.view import View

PLUGIN = """
from pathlib import Path

import numpy as np

from edgemem.errors import EngineError
from edgemem.extend import Component, hookimpl
from edgemem.extend.testing import FakeJointEmbedder
from edgemem.infer.roles import Space


class Far(FakeJointEmbedder):
    space = Space(name="far", dim=3)

    @property
    def local(self):
        return FakeJointEmbedder()

    def embed_images(self, images):
        if not Path("server").exists():
            raise EngineError("the server is away")
        return np.tile(np.array([1.0, 0.0, 0.0], np.float32), (len(images), 1))


@hookimpl
def register_decoders():
    yield Component("far", lambda settings, parts: Far())
"""
RECIPE = """
summary = "A joint embedder."
rate_fps = 5.0
[[perceive]]
use = "joint"
[segment]
use = "fixed_window"
"""


def left(memory: Path) -> int:
    with View.open(memory) as view:
        return len(view.moments_without_vector("far", 1000))


@pytest.fixture
def daemon(tmp_path: Path, home: Path, pictures: Callable[[str, float], Path]) -> Iterator[Daemon]:
    """An agent that sees a folder of pictures. The server is there where the file `server` is."""
    assert home.parent == tmp_path
    for name, text in {
        "plugins/far.py": PLUGIN, "cards/far.toml": 'name = "far"\nrole = "embed_joint"\ndecoder = "far"\n', "joint.toml": RECIPE,
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    settings = (
        f'recipe = "{tmp_path / "joint.toml"}"\nplugins_dirs = ["{tmp_path / "plugins"}"]\n'
        f'[engines]\ncards = ["{tmp_path / "cards"}"]\nroles = {{ embed_joint = "far" }}\n'
        f'[run]\nmemory = "{tmp_path / "memory"}"\n[[run.sources]]\nsource = "{pictures("walk", 4.0)}"\n'
    )
    running = Daemon(tmp_path, settings)
    yield running
    running.process.kill()
    running.process.wait()


def test_pictures_of_an_agent_get_their_vectors_while_it_is_idle(daemon: Daemon, tmp_path: Path) -> None:
    (tmp_path / "server").touch()
    daemon.wait_ready().wait_seen()
    wait_until(lambda: left(daemon.memory) == 0)
    with View.open(daemon.memory) as view:
        ids = [moment.id for moment in view.moments()]
        assert view.vectors("far", ids).shape == (len(ids), 3)
        assert len(ids) > 3
    assert daemon.stop() == 0


def test_a_server_that_is_away_is_said_once_and_the_agent_goes_on(daemon: Daemon) -> None:
    daemon.wait_ready().wait_seen()
    wait_until(lambda: "have no vector of far yet: the server is away" in daemon.said)
    assert daemon.status is not None
    assert left(daemon.memory) > 3
    assert daemon.stop() == 0
    assert daemon.said.count("the server is away") == 1
