"""Shared fixtures. Weights are fetched once into the data directory and reused by every later run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from edgemem.cli.app import CommandContext
from edgemem.config import home_dir
from edgemem.infer.engines import Engines
from edgemem.remember.disk import keys


@pytest.fixture(autouse=True)
def _settings_of_no_other_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process follows the settings of its last environment, which may be one that a test made wrong on purpose."""
    monkeypatch.setattr(keys, "_settings", keys._settings)


@pytest.fixture(scope="session")
def weights_home() -> Path:
    """The data directory in which fetched weights are kept between runs."""
    session = CommandContext(None, ())
    return session.home


@pytest.fixture(scope="session")
def engines() -> Engines:
    """Every model that can be had here, fetched and converted when first run on a machine."""
    from edgemem.cli.engines import fetch_all

    session = CommandContext(None, ("engines.threads=2",))
    fetch_all(session)
    return session.engines


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data directory of the test's own."""
    monkeypatch.setenv("EDGEMEM_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("EDGEMEM_CONFIG", raising=False)
    assert home_dir(CommandContext(None, ()).settings) == Path(os.environ["EDGEMEM_HOME"])
    return tmp_path / "home"
