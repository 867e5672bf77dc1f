"""A memory for writing, and short functions that make its records."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from edgemem.infer.roles import Space
from edgemem.records import US, Observation
from edgemem.remember.disk import page_budget
from edgemem.remember.store import NewDocument, NewMoment, NewSegment, Store

DIM = 16


class Making:
    """Moments, segments and documents with default values for everything else."""

    space = Space(name="test/16", dim=DIM, calibration={"floor": 0.2})

    @staticmethod
    def unit(seed, dim=DIM):
        vector = np.random.default_rng(seed).normal(size=dim).astype(np.float32)
        return vector / np.linalg.norm(vector)

    def moment(self, t_us, *, stream="cam", jpeg=None, seen=(), vector=None, role=""):
        return NewMoment(
            stream=stream,
            seq=t_us // US,
            t_us=t_us,
            offset_us=t_us,
            width_px=640,
            height_px=360,
            sharpness=1.5,
            jpeg=f"picture {stream} {t_us}".encode() if jpeg is None else jpeg,
            vectors={self.space.name: self.unit(t_us % 2**32) if vector is None else vector},
            observations=seen,
            role=role,
        )

    @staticmethod
    def segment(moment_ids, t0_us, t1_us, representative_id=None, stream="cam"):
        return NewSegment(
            stream=stream,
            segmenter="test",
            t0_us=t0_us,
            t1_us=t1_us,
            offset_us=t0_us,
            moment_ids=tuple(moment_ids),
            representative_id=representative_id,
        )

    @staticmethod
    def document(text, t0_us=0, t1_us=10 * US, known_us=10 * US, **changes):
        given = {"kind": "event", "stream": "cam", "origin": "system", "offset_us": t0_us, **changes}
        return NewDocument(text=text, t0_us=t0_us, t1_us=t1_us, known_us=known_us, **given)

    @staticmethod
    def label(name, score, box=None, colour="", kind="label"):
        return Observation(kind, name, score, box, colour)

    @contextmanager
    def store(self):
        """A fresh memory for one example of a property test."""
        with TemporaryDirectory() as name, Store.open(Path(name) / "memory") as opened:
            opened.ensure_space(self.space)
            yield opened


@pytest.fixture(scope="session")
def making() -> Making:
    return Making()


@pytest.fixture(scope="module", autouse=True)
def small_caps() -> Iterator[None]:
    """Budgets below the smallest that users may set: every share scales with the cap, and a small one is full a hundred writes sooner.

    `test_budget.py` runs the smallest real one too.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_budget, "MINIMUM_BYTES", 8 << 20)
        yield


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture
def store(directory: Path, making: Making) -> Iterator[Store]:
    with Store.open(directory) as opened:
        opened.ensure_space(making.space)
        yield opened


@pytest.fixture(scope="session")
def shim(tmp_path_factory) -> Path:
    """A library that makes writes fail and reports what was synced; see `failing_writes.c`."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs a C compiler on Linux to make writes fail")
    library = tmp_path_factory.mktemp("shim") / "failing_writes.so"
    source = Path(__file__).with_name("failing_writes.c")
    built = subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], capture_output=True, text=True, check=False
    )
    if built.returncode:
        pytest.skip(f"the C compiler does not work: {built.stderr[:200]}")
    return library
