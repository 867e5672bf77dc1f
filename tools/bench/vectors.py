"""Vector search in a stored memory, beside the time to read its int8 matrix once.

    python tools/bench/vectors.py [--rows 100000] [--dim 512] [--rounds 31]

Synthetic vectors with cluster structure (2000 centres in 64 latent dimensions, noise), not the embeddings of a real model. Every
round times every row once, so that a noisy machine hurts all of them alike. Printed are the median of the wall time and the quiet
quarter of the CPU time of the one thread that each case uses: other load stretches wall times of long cases more than of short ones,
so on a machine that is not idle only the ratio of CPU times means anything.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # the limit is one thread's, as the kernel is

import numpy as np
import numpy.typing as npt

from edgemem.infer.roles import Space
from edgemem.records import US
from edgemem.remember import kernels
from edgemem.remember.store import NewMoment, Store
from edgemem.remember.view import View

SPACE = "bench"
BATCH = 1000


def vectors(rows: int, dim: int, seed: int = 0) -> npt.NDArray[np.float32]:
    """Clustered unit vectors, float32 [rows, dim]."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(2000, 64)).astype(np.float32)
    lift = np.random.default_rng(1).normal(size=(64, dim)).astype(np.float32)
    latent = centres[rng.integers(0, 2000, rows)] + 0.35 * rng.normal(size=(rows, 64)).astype(np.float32)
    out = latent @ lift / 8 + 0.2 * rng.normal(size=(rows, dim)).astype(np.float32)
    unit: npt.NDArray[np.float32] = out / np.linalg.norm(out, axis=1, keepdims=True)
    return unit


def fill(directory: Path, matrix: npt.NDArray[np.float32]) -> float:
    """Store every vector as a moment with a picture of 64 bytes; seconds it took."""
    start = time.perf_counter()
    with Store.open(directory) as store:
        store.ensure_space(Space(name=SPACE, dim=matrix.shape[1]))
        for first in range(0, len(matrix), BATCH):
            with store.transaction() as tx:
                for i in range(first, min(first + BATCH, len(matrix))):
                    tx.add_moment(
                        NewMoment(
                            stream="cam",
                            seq=i,
                            t_us=i * US,
                            offset_us=i * US,
                            width_px=1,
                            height_px=1,
                            sharpness=1.0,
                            jpeg=i.to_bytes(64, "little"),
                            vectors={SPACE: matrix[i]},
                        ),
                    )
            store.maintain()
    return time.perf_counter() - start


def timed(call: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU milliseconds of this thread."""
    wall, cpu = time.perf_counter(), time.thread_time()
    call()
    return (time.perf_counter() - wall) * 1e3, (time.thread_time() - cpu) * 1e3


def recall(view: View, matrix: npt.NDArray[np.float32], queries: npt.NDArray[np.float32]) -> float:
    """Share of the exact ten best that the search returns."""
    hits = 0
    for query in queries:
        exact = set((np.argpartition(matrix @ query, -10)[-10:] + 1).tolist())
        hits += len(exact & {moment_id for moment_id, _ in view.vector_search(SPACE, query, 10)})
    return hits / 10 / len(queries)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=31)
    options = parser.parse_args()
    matrix = vectors(options.rows, options.dim)
    queries = vectors(options.rounds + 40, options.dim, seed=2)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name) / "memory"
        print(f"stored {options.rows} moments in {fill(directory, matrix):.1f} s")
        with Store.open(directory) as store:
            (space,) = store._spaces.values()  # noqa: SLF001  # no public verb needs a rebuild
            print(f"sidecar rebuilt from SQLite in {timed(space.rebuild)[0] / 1e3:.2f} s")
        with View.open(directory) as view:
            print(f"first search (maps and verifies the sidecar): {timed(lambda: view.vector_search(SPACE, queries[0], 10))[0]:.1f} ms")
            table(view, directory, queries, options.rounds)
            print(f"recall@10 of the search against the exact float32 order: {recall(view, matrix, queries[-40:]):.4f}")


def table(view: View, directory: Path, queries: npt.NDArray[np.float32], rounds: int) -> None:
    dim = queries.shape[1]
    int8 = np.memmap(next((directory / "vectors").glob("*.i8")), np.int8, "r").reshape(-1, dim)
    newest = len(int8) * US
    same_bytes = np.ones(int8.size // 4, np.float32)
    quantised, _ = kernels.quantise(queries)
    part = (newest // 2, newest // 2 + newest // 20)
    cases: dict[str, Callable[[int], object]] = {
        "read the int8 matrix once (BLAS sdot)": lambda _: np.dot(same_bytes, same_bytes),
        "int8 scan": lambda i: kernels.scan(int8, quantised[i]),
        "View.vector_search, top 10, f16 rescored": lambda i: view.vector_search(SPACE, queries[i], 10),
        "View.vector_search, top 100": lambda i: view.vector_search(SPACE, queries[i], 100),
        "int8 scan, numpy kernel": lambda i: kernels.scan_numpy(int8, quantised[i]),
        "View.vector_search in 5 % of the time": lambda i: view.vector_search(SPACE, queries[i], 10, from_us=part[0], to_us=part[1]),
    }
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in cases}
    for i in range(rounds + 2):
        for name, case in cases.items():
            both = timed(lambda case=case, i=i: case(i))  # type: ignore[misc]
            if i >= 2:
                spent[name].append(both)
    quiet = {name: float(np.quantile([cpu for _, cpu in each], 0.25)) for name, each in spent.items()}
    limit = next(iter(quiet.values()))
    print(f"\n| {len(int8)} x {dim} | CPU p25 ms | CPU x limit | wall p50 ms |\n|---|---|---|---|")
    for name, each in spent.items():
        print(f"| {name} | {quiet[name]:.2f} | {quiet[name] / limit:.2f} | {statistics.median(wall for wall, _ in each):.2f} |")
    print()


if __name__ == "__main__":
    main()
