"""Writing moments with their pictures, beside a raw append of the same bytes.

    python tools/bench/store.py [--rows 600] [--rounds 5] [--dir DIR]

A row is a picture of 30 to 60 KB, a 512-d vector, and in the last cases 25 observations and a document per ten rows. Cases are
interleaved in every round; the quiet quarter of the rounds is printed, because other load only ever adds time.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from edgemem.infer.roles import Space
from edgemem.records import US, Box, Observation
from edgemem.remember.store import NewDocument, NewMoment, Store

DIM = 512


def moments(rows: int, seed: int, *, observations: int) -> list[NewMoment]:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(rows, DIM)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return [
        NewMoment(
            stream="cam",
            seq=i,
            t_us=i * US,
            offset_us=i * US,
            width_px=1920,
            height_px=1080,
            sharpness=1.0,
            jpeg=rng.bytes(int(rng.integers(30_000, 60_000))),
            vectors={"bench": vectors[i]},
            observations=tuple(
                Observation("label", f"label {rng.integers(600)}", float(rng.random()), Box(0.1, 0.1, 0.5, 0.5))
                for _ in range(observations)
            ),
        )
        for i in range(rows)
    ]


def raw(directory: Path, given: Sequence[NewMoment], batch: int) -> float:
    """Seconds to append pictures and vectors to one file, with an fdatasync per batch (0 = one at the end)."""
    start = time.perf_counter()
    with (directory / "raw").open("wb", buffering=0) as file:
        for i, moment in enumerate(given, 1):
            file.write(moment.jpeg + moment.vectors["bench"].astype(np.float16).tobytes())
            if batch and i % batch == 0:
                os.fdatasync(file.fileno())
        os.fsync(file.fileno())
    return time.perf_counter() - start


def stored(directory: Path, given: Sequence[NewMoment], batch: int, *, synchronous: str, documents: bool) -> float:
    """Seconds to store them in transactions of `batch`, opening and the closing checkpoint left out as for the raw file."""
    with Store.open(directory / "memory") as store:
        store.ensure_space(Space(name="bench", dim=DIM))
        store._connection.execute(f"PRAGMA synchronous={synchronous}")  # noqa: SLF001  # measured beside the shipped NORMAL
        start = time.perf_counter()
        for first in range(0, len(given), batch):
            with store.transaction() as tx:
                for moment in given[first : first + batch]:
                    moment_id = tx.add_moment(moment)
                if documents and first % 10 == 0:
                    tx.add_document(document(moment_id, given[first].t_us))
        return time.perf_counter() - start


def document(moment_id: int, t_us: int) -> NewDocument:
    return NewDocument(
        kind="event",
        text="A person with a red bag and two dogs in a street, near a sign that reads GATE 12, for forty seconds in the afternoon",
        stream="cam",
        t0_us=t_us,
        t1_us=t_us,
        offset_us=t_us,
        known_us=t_us,
        origin="ocr",
        moment_id=moment_id,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dir", type=Path, help="where to write; the disk to be measured")
    options = parser.parse_args()
    cases: dict[str, tuple[int, Callable[[Path, Sequence[NewMoment]], float]]] = {
        "LIMIT raw append, one fsync": (0, lambda d, m: raw(d, m, 0)),
        "LIMIT raw append, fdatasync each": (0, lambda d, m: raw(d, m, 1)),
        "store NORMAL, batch 10": (0, lambda d, m: stored(d, m, 10, synchronous="NORMAL", documents=False)),
        "store FULL, batch 1": (0, lambda d, m: stored(d, m, 1, synchronous="FULL", documents=False)),
        "store NORMAL, batch 10, 25 observations, documents": (25, lambda d, m: stored(d, m, 10, synchronous="NORMAL", documents=True)),
    }
    spent: dict[str, list[float]] = {name: [] for name in cases}
    for i in range(options.rounds):
        given = {count: moments(options.rows, i, observations=count) for count in (0, 25)}
        for name, (count, case) in cases.items():
            directory = Path(tempfile.mkdtemp(dir=options.dir))
            try:
                spent[name].append(case(directory, given[count]))
            finally:
                shutil.rmtree(directory)
    report(spent, options.rows)


def report(spent: dict[str, list[float]], rows: int) -> None:
    quiet = {name: float(np.quantile(each, 0.25)) for name, each in spent.items()}
    once, each_row = list(quiet.values())[:2]
    print("| variant | rows/s | x raw append | x raw fdatasync each |\n|---|---|---|---|")
    for name, seconds in quiet.items():
        print(f"| {name} | {rows / seconds:.0f} | {once / seconds:.2f} | {each_row / seconds:.2f} |")


if __name__ == "__main__":
    main()
