"""Cost of encryption: opening, writing and searching an encrypted memory and a plain one, in turns.

    python tools/bench/encryption.py [--moments 10000] [--rows 300] [--rounds 5] [--dir DIR]

Opening is the first step of a question: a view and one small read. Writing is transactions of ten moments with pictures of 40 KB. The first
search of a process reads the vectors of an encrypted memory from the database; those of a plain memory are mapped. Later searches are
equal.
"""

from __future__ import annotations

import argparse
import secrets
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from edgemem.infer.roles import Space
from edgemem.records import US
from edgemem.remember.disk import keys
from edgemem.remember.store import NewMoment, Store
from edgemem.remember.vectors import resident
from edgemem.remember.view import View

SPACE = Space(name="bench", dim=384)


def write(store: Store, rng: np.random.Generator, first: int, count: int, jpeg_bytes: int) -> None:
    vectors = rng.normal(size=(count, SPACE.dim)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    for start in range(0, count, 10):
        with store.transaction() as tx:
            for i in range(start, min(start + 10, count)):
                number = first + i
                tx.add_moment(
                    NewMoment(
                        stream="cam", seq=number, t_us=number * US, offset_us=number * US, width_px=1920, height_px=1080, sharpness=1.0,
                        jpeg=rng.bytes(jpeg_bytes), vectors={SPACE.name: vectors[i]},
                    )
                )  # fmt: skip


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def opening(directory: Path) -> None:
    with View.open(directory) as view:
        view.bounds()


def one_round(directory: Path, rng: np.random.Generator, first: int, rows: int) -> list[float]:
    """Seconds of: an opening, a written row, the first search of a process, a later search."""
    opened = timed(lambda: opening(directory))
    with Store.open(directory) as store:
        written = timed(lambda: write(store, rng, first, rows, 40_000)) / rows
    query = rng.normal(size=SPACE.dim).astype(np.float32)
    query /= np.linalg.norm(query)
    resident._held.clear()  # noqa: SLF001  # as in a new process
    with View.open(directory) as view:
        cold = timed(lambda: view.vector_search(SPACE.name, query, 10))
        warm = min(timed(lambda: view.vector_search(SPACE.name, query, 10)) for _ in range(5))
    return [opened, written, cold, warm]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--moments", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dir", type=Path, help="where to write; the disk to be measured")
    options = parser.parse_args()
    kinds = {"plain": None, "encrypted": keys.Key(secrets.token_hex(32))}
    spent: dict[str, list[list[float]]] = {name: [] for name in kinds}
    with tempfile.TemporaryDirectory(dir=options.dir) as name:
        for kind, key in kinds.items():
            with keys.using(key), Store.open(Path(name) / kind) as store:
                store.ensure_space(SPACE)
                write(store, np.random.default_rng(0), 0, options.moments, 500)
        for i in range(options.rounds):
            for kind, key in kinds.items():
                with keys.using(key):
                    first = options.moments + i * options.rows
                    spent[kind].append(one_round(Path(name) / kind, np.random.default_rng(i), first, options.rows))
    plain, encrypted = (np.quantile(np.array(spent[kind]), 0.25, axis=0) * 1e3 for kind in kinds)
    print(f"{options.moments} moments\n| ms | plain | encrypted | ratio |\n|---|---|---|---|")
    for what, before, after in zip(
        ("open and read", "write a row of 40 KB", "first search", "later search"), plain, encrypted, strict=True
    ):
        print(f"| {what} | {before:.2f} | {after:.2f} | {after / before:.2f} |")


if __name__ == "__main__":
    main()
