"""Writing moments with their pictures, compared with a raw append of the same bytes.

    python tools/bench/store.py [--rows 600] [--rounds 5] [--dir DIR]

A row is a picture of 30 to 60 KB, a 512-d vector, and in the last cases 25 observations and one document per ten rows. The cases alternate
in every round; the lower quartile of the rounds is printed, because other load only adds time.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
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
    """Seconds to store them in transactions of `batch`, without opening and the last checkpoint, as for the raw file."""
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


def growth(directory: Path, budget: int | None, small: int, large: int) -> tuple[list[list[float]], list[float]]:
    """(seconds of rounds at `small` stored moments and at `large`, in turns; seconds of every maintenance step)."""
    given = moments(256, 0, observations=10)
    stores, numbers, steps = [], [], list[float]()
    for i, count in enumerate((small, large)):
        store = Store.open(directory / str(i), budget_bytes=budget)
        store.ensure_space(Space(name="bench", dim=DIM))
        for first in range(0, count, 16):
            add(store, given, first, 16, size=3000)
            store.maintain()
        stores.append(store)
        numbers.append(count)
    spent: list[list[float]] = [[], []]
    for _ in range(60):
        for i, store in enumerate(stores):
            start = time.perf_counter()
            add(store, given, numbers[i], 8, size=40_000)
            upkeep = time.perf_counter()
            store.maintain()
            end = time.perf_counter()
            spent[i].append(end - start)
            steps.append(end - upkeep)
            numbers[i] += 8
    for store in stores:
        store.close()
    return spent, steps


def add(store: Store, given: Sequence[NewMoment], first: int, count: int, *, size: int) -> None:
    """One transaction of moments like the given ones, later and with pictures of another size."""
    with store.transaction() as tx:
        for number in range(first, first + count):
            like = given[number % len(given)]
            jpeg = number.to_bytes(8, "big") + like.jpeg * (1 + size // len(like.jpeg))
            tx.add_moment(msgspec.structs.replace(like, seq=number, t_us=number * US, offset_us=number * US, jpeg=jpeg[:size]))


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
    parser.add_argument("--stored", type=int, default=50_000, help="moments of the large memory")
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
    with tempfile.TemporaryDirectory(dir=options.dir) as name:
        (few, many), steps = growth(Path(name), None, 1_000, options.stored)
    ratio = float(np.quantile(few, 0.25) / np.quantile(many, 0.25))
    print(f"\nrate at {options.stored} stored moments / at 1,000: {ratio:.2f}")
    print(f"maintenance between two frames: median {np.median(steps) * 1e3:.1f} ms, worst of {len(steps)} {max(steps) * 1e3:.1f} ms")


def report(spent: dict[str, list[float]], rows: int) -> None:
    quiet = {name: float(np.quantile(each, 0.25)) for name, each in spent.items()}
    once, each_row = list(quiet.values())[:2]
    print("| variant | rows/s | x raw append | x raw fdatasync each |\n|---|---|---|---|")
    for name, seconds in quiet.items():
        print(f"| {name} | {rows / seconds:.0f} | {once / seconds:.2f} | {each_row / seconds:.2f} |")


if __name__ == "__main__":
    main()
