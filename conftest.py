"""What holds for every test: a data directory of the run's own, and no time limit on a drawn example."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from edgemem.config import home_dir, load

settings.register_profile("edgemem", deadline=None)  # a busy machine must not fail a test
settings.load_profile("edgemem")

_KEPT = ("archives", "cache", "engines", "media")
"""Folders of fetched files, which later runs use again. Everything else of the user's data directory is left alone: what was spent on
servers today, how plugins behaved, what the demo made.
"""
_OWN = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """One data directory for the run and the processes it starts."""
    if hasattr(config, "workerinput"):
        return
    home, own = home_dir(load(None)), tempfile.mkdtemp(prefix="edgemem-tests-")
    for name in _KEPT:
        (home / name).mkdir(parents=True, exist_ok=True)
        Path(own, name).symlink_to(home / name)
    config.stash[_OWN] = own
    os.environ["EDGEMEM_HOME"] = own


def pytest_unconfigure(config: pytest.Config) -> None:
    """Links go, what they lead to stays."""
    if own := config.stash.get(_OWN, None):
        shutil.rmtree(own, ignore_errors=True)
