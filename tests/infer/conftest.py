"""Photographs, fetched once into the data directory."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from edgemem.infer.card import WeightSource
from edgemem.infer.fetch import extract, fetch_archive
from edgemem.records import Image

PHOTOGRAPHS = WeightSource(
    kind="pypi",
    package="scikit-image",
    version="0.25.2",
    members={
        name: f"skimage/data/{name}.{kind}"
        for name, kind in (("astronaut", "png"), ("chelsea", "png"), ("coffee", "png"), ("rocket", "jpg"), ("motorcycle_left", "png"))
    },
)


@pytest.fixture(scope="session")
def photographs(weights_home: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Image]:
    """Real pictures by name, BGR."""
    files = extract(PHOTOGRAPHS, fetch_archive(PHOTOGRAPHS, weights_home / "archives"), tmp_path_factory.mktemp("photographs"))
    return {name: np.asarray(cv2.imread(str(path)), np.uint8) for name, path in files.items()}
