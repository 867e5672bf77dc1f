"""Vector search in a stored memory, compared with the time to read its int8 matrix once.

    python tools/bench/vectors.py [--rows 100000] [--dim 512] [--rounds 31]

If sqlite-vec and apsw can be imported (`pip install sqlite-vec apsw`) they search the same vectors in the same rounds.

Synthetic vectors with cluster structure (2000 centres in 64 latent dimensions, noise), not the embeddings of a real model. Queries are of
two kinds: "near" ones come from the same centres, "far" ones from others, as vectors of texts are far from those of pictures. Far ones are
harder to rank from few bits; these are timed. Every round times every row once, so that other load affects all of them equally. It prints
the median of the wall time and the lower quartile of the CPU time of the one thread of each case. Other load increases long wall times more
than short ones, so on a machine that is not idle only the ratio of CPU times is meaningful.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # the limit is for one thread, like the kernel

import numpy as np
import numpy.typing as npt

from edgemem.infer.roles import Space
from edgemem.records import US
from edgemem.remember.store import NewMoment, Store
from edgemem.remember.vectors import kernels
from edgemem.remember.view import View

SPACE = "bench"
BATCH = 1000
PEER_CANDIDATES = 1000
"""Candidates from the peer's bit column, so that its recall is near ours."""
Cases = dict[str, Callable[[int], object]]


def vectors(rows: int, dim: int, seed: int = 0, centres_seed: int | None = None) -> npt.NDArray[np.float32]:
    """Clustered unit vectors, float32 [rows, dim]."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(2000, 64)).astype(np.float32)
    if centres_seed is not None:
        centres = np.random.default_rng(centres_seed).normal(size=(2000, 64)).astype(np.float32)
    lift = np.random.default_rng(1).normal(size=(64, dim)).astype(np.float32)
    latent = centres[rng.integers(0, 2000, rows)] + 0.35 * rng.normal(size=(rows, 64)).astype(np.float32)
    out = latent @ lift / 8 + 0.2 * rng.normal(size=(rows, dim)).astype(np.float32)
    unit: npt.NDArray[np.float32] = out / np.linalg.norm(out, axis=1, keepdims=True)
    return unit


def fill(directory: Path, matrix: npt.NDArray[np.float32]) -> float:
    """Store every vector as a moment with a picture of 64 bytes; returns the seconds."""
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
    return recalled([{moment_id for moment_id, _ in view.vector_search(SPACE, query, 10)} for query in queries], matrix, queries)


def recalled(found: list[set[int]], matrix: npt.NDArray[np.float32], queries: npt.NDArray[np.float32]) -> float:
    """Share of the exact ten best that was found; row numbers begin with 1."""
    exact = [set((np.argpartition(matrix @ query, -10)[-10:] + 1).tolist()) for query in queries]
    return sum(len(best & ids) for best, ids in zip(exact, found, strict=True)) / 10 / len(queries)


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
            peers = peers_of(Path(name), matrix, queries)
            table(view, directory, queries, options.rounds, peers)
            for kind, case in peers.items():
                found = [{row[0] for row in case(i)} for i in range(len(queries) - 40, len(queries))]  # type: ignore[attr-defined]
                print(f"recall@10 of {kind}: {recalled(found, matrix, queries[-40:]):.4f}")
            near = vectors(40, options.dim, seed=3, centres_seed=0)
            print(
                f"recall@10 of the search against the exact float32 order: far queries {recall(view, matrix, queries[-40:]):.4f}, ", end=""
            )
            print(f"near ones {recall(view, matrix, near):.4f}")
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            before, after = pool.apply(anonymous_mb, (directory, queries))
        print(f"private memory of a process that searches: {after:.0f} MB, of which {before:.0f} MB before it opens the memory")


def anonymous_mb(directory: Path, queries: npt.NDArray[np.float32]) -> tuple[float, float]:
    """RssAnon before opening and after searching, in MB: mapped files are in the page cache, which can be freed for other processes."""

    def resident() -> float:
        fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        return int(fields["RssAnon"].split()[0]) * 1024 / 1e6

    before = resident()
    with View.open(directory) as view:
        for query in queries[:10]:
            view.vector_search(SPACE, query, 10)
        return before, resident()


def peers_of(scratch: Path, matrix: npt.NDArray[np.float32], queries: npt.NDArray[np.float32]) -> Cases:
    """sqlite-vec on the same rows, from its file through apsw: the ten best by its float, int8 and bit columns, and by bits rescored."""
    try:
        import apsw
        import sqlite_vec
    except ImportError as error:
        print(f"sqlite-vec is left out: {error}")
        return {}

    connection = apsw.Connection(str(scratch / "peer.db"))
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())

    def whole(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.int8]:
        return np.rint(np.clip(rows * 508, -127, 127)).astype(np.int8)

    kinds: dict[str, tuple[str, Callable[[npt.NDArray[np.float32]], npt.NDArray[Any]]]] = {
        "float": ("?", lambda rows: rows),
        "int8": ("vec_int8(?)", whole),
        "bit": ("vec_bit(?)", lambda rows: np.packbits(rows > 0, axis=1)),
    }
    cases: Cases = {}
    for kind, (value, convert) in kinds.items():
        connection.execute(f"CREATE VIRTUAL TABLE {kind}_rows USING vec0(embedding {kind}[{matrix.shape[1]}])")
        with connection:
            for first in range(0, len(matrix), BATCH):
                block = convert(matrix[first : first + BATCH])
                connection.executemany(f"INSERT INTO {kind}_rows(embedding) VALUES ({value})", [(row.tobytes(),) for row in block])
        sql = f"SELECT rowid, distance FROM {kind}_rows WHERE embedding MATCH {value} AND k = 10 ORDER BY distance"

        def case(i: int, sql: str = sql, convert: Any = convert) -> object:
            return connection.execute(sql, (convert(queries[i : i + 1]).tobytes(),)).fetchall()

        cases[f"sqlite-vec {sqlite_vec.__version__}, {kind}, top 10"] = case

    sql = "SELECT rowid FROM bit_rows WHERE embedding MATCH vec_bit(?) AND k = ?"

    def rescored(i: int) -> object:
        """As in sqlite-vec's manual: more candidates from the coarse column, then the ten best of those by the float column."""
        query = queries[i]
        near = [row[0] for row in connection.execute(sql, (np.packbits(query > 0).tobytes(), PEER_CANDIDATES))]
        marks = ",".join("?" * len(near))
        rows = connection.execute(f"SELECT rowid, embedding FROM float_rows WHERE rowid IN ({marks})", near).fetchall()
        scores = np.frombuffer(b"".join(row[1] for row in rows), np.float32).reshape(len(rows), -1) @ query
        return [(rows[j][0], float(scores[j])) for j in np.argsort(-scores)[:10]]

    cases[f"sqlite-vec {sqlite_vec.__version__}, bit, {PEER_CANDIDATES} of them rescored by float"] = rescored
    return cases


def table(view: View, directory: Path, queries: npt.NDArray[np.float32], rounds: int, peers: Cases) -> None:
    dim = queries.shape[1]
    int8 = np.memmap(next((directory / "vectors").glob("*.i8")), np.int8, "r").reshape(-1, dim)
    newest = len(int8) * US
    same_bytes = np.ones(int8.size // 4, np.float32)
    quantised, _ = kernels.quantise(queries)
    part = (newest // 2, newest // 2 + newest // 20)
    bits, query_bits = kernels.signs(int8), kernels.signs(quantised)
    cases: Cases = {
        "read the int8 matrix once (BLAS sdot)": lambda _: np.dot(same_bytes, same_bytes),
        "int8 scan": lambda i: kernels.scan(int8, quantised[i]),
        "count of differing sign bits": lambda i: kernels.hamming(bits, query_bits[i]),
        "View.vector_search, top 10, f16 rescored": lambda i: view.vector_search(SPACE, queries[i], 10),
        "View.vector_search, top 100": lambda i: view.vector_search(SPACE, queries[i], 100),
        "int8 scan, numpy kernel": lambda i: kernels.scan_numpy(int8, quantised[i]),
        "View.vector_search in 5 % of the time": lambda i: view.vector_search(SPACE, queries[i], 10, from_us=part[0], to_us=part[1]),
    } | peers
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in cases}
    for i in range(rounds + 2):
        for name, case in cases.items():
            both = timed(lambda case=case, i=i: case(i))  # type: ignore[misc]
            if i >= 2:
                spent[name].append(both)
    quiet = {name: float(np.quantile([cpu for _, cpu in each], 0.25)) for name, each in spent.items()}
    limit, ours = next(iter(quiet.values())), quiet["View.vector_search, top 10, f16 rescored"]
    print(f"\n| {len(int8)} x {dim} | CPU p25 ms | CPU x limit | CPU x our search | wall p50 ms |\n|---|---|---|---|---|")
    for name, each in spent.items():
        wall = statistics.median(wall for wall, _ in each)
        print(f"| {name} | {quiet[name]:.2f} | {quiet[name] / limit:.2f} | {quiet[name] / ours:.2f} | {wall:.2f} |")
    print()


if __name__ == "__main__":
    main()
