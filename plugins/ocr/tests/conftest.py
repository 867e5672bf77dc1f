"""The reader as the shipped card makes it, and photographs."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from edgemem.cli.app import CommandContext
from edgemem.infer.card import WeightSource
from edgemem.infer.fetch import ensure, extract, fetch_archive

PHOTOGRAPHS = WeightSource(
    kind="pypi",
    package="scikit-image",
    version="0.25.2",
    members={name: f"skimage/data/{name}.png" for name in ("chelsea", "coffee", "page", "brick")},
)


@pytest.fixture(scope="session")
def session():
    return CommandContext(None, ("engines.threads=2",))


@pytest.fixture(scope="session")
def reader(session):
    ensure(session.cards["ppocr-v6"], session.home, session.converters)
    return session.engines.role("read_text")


@pytest.fixture(scope="session")
def photographs(session, tmp_path_factory):
    files = extract(PHOTOGRAPHS, fetch_archive(PHOTOGRAPHS, session.home / "archives"), tmp_path_factory.mktemp("photographs"))
    return {name: np.asarray(cv2.imread(str(path)), np.uint8) for name, path in files.items()}
