"""Originals to convert (fetched once into the data directory) and photographs to run them on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from edgemem.cli.app import CommandContext
from edgemem.infer.card import EngineCard, WeightSource
from edgemem.infer.fetch import extract, fetch_archive
from edgemem.records import Image

PHOTOGRAPHS = WeightSource(
    kind="pypi",
    package="scikit-image",
    version="0.25.2",
    members={"astronaut": "skimage/data/astronaut.png", "chelsea": "skimage/data/chelsea.png", "coffee": "skimage/data/coffee.png"},
)


@pytest.fixture(scope="session")
def session() -> CommandContext:
    return CommandContext(None, ())


@pytest.fixture(scope="session")
def cards(session: CommandContext) -> dict[str, EngineCard]:
    return session.cards


@pytest.fixture(scope="session")
def originals(session: CommandContext, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, Path]]:
    """The members of a card's archives, as a converter gets them."""

    def members(name: str) -> dict[str, Path]:
        folder = tmp_path_factory.mktemp(name)
        found: dict[str, Path] = {}
        for source in session.cards[name].source:
            found.update(extract(source, fetch_archive(source, session.home / "archives"), folder))
        return found

    return members


@pytest.fixture(scope="session")
def photographs(session: CommandContext, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Image]:
    """Real pictures by name, BGR."""
    files = extract(PHOTOGRAPHS, fetch_archive(PHOTOGRAPHS, session.home / "archives"), tmp_path_factory.mktemp("photographs"))
    return {name: np.asarray(cv2.imread(str(path)), np.uint8) for name, path in files.items()}
