"""The ladder over the entity graph beside raw SQL over a table as EGAgent's, on as many relations.

    python tools/bench/graph.py [--relations 14000 1000000] [--queries 200] [--memory DIR]

The memory is synthetic and written directly to the tables, not through the store: one wearer who is the source of half of all relations;
people, places and objects from a power law; four types, over a week for 14,000 relations (EGAgent's: 13,968 in seven days, its appendix C)
and in proportion above that. The peer is `entity_graph_table` with EGAgent's columns and indexes, queried level by level as in its code,
with exact names, then LIKE. Limits: p50 of the relaxed search under 5 ms at 14,000 and under 20 ms at 1,000,000.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path

from edgemem.records import US
from edgemem.remember.store import Store
from edgemem.remember.view import View

LIMITS_MS = {14_000: 5.0, 1_000_000: 20.0}
TYPES = ("TALKS_TO", "INTERACTS_WITH", "MENTIONS", "USES")
WEEK_US = 7 * 86_400 * US
EVERY_US = WEEK_US // 14_000
Triple = tuple[str, int, int, int, int]
Query = tuple[str | None, str | None, str | None, int | None, int | None]


def generate(count: int) -> tuple[list[tuple[str, str]], list[Triple]]:
    """Entities as (kind, name), the wearer first; relations as (type, source, target, from, to) in time order."""
    rng = random.Random(0)
    others = max(300, round(count**0.6))
    names = [("person", "Jake Smith")]
    for i in range(others):
        kind = ("object", "object", "object", "location", "person")[i % 5]
        names.append((kind, f"{('red', 'old', 'small', 'wooden')[i % 4]} {kind} number{i}"))
    places = rng.choices(range(1, others + 1), [1 / rank for rank in range(1, others + 1)], k=2 * count)
    triples = []
    for i in range(count):
        source = 0 if i % 2 else places[count + i]
        t0_us = i * EVERY_US
        triples.append((TYPES[int(rng.random() ** 2 * 4)], source, places[i], t0_us, t0_us + int(rng.expovariate(1 / 30) * US)))
    return names, triples


def fill(directory: Path, names: list[tuple[str, str]], triples: list[Triple]) -> float:
    """Write them to a memory; returns the seconds."""
    start = time.perf_counter()
    with Store.open(directory) as store:
        store.ensure_stream("cam", 0)
        with store.transaction() as tx:
            many = tx.connection.executemany
            many(
                "INSERT INTO entity (id, kind, name, folded, known_us) VALUES (?, ?, ?, ?, 0)",
                ((i, kind, name, name.casefold()) for i, (kind, name) in enumerate(names, 1)),
            )
            many(
                "INSERT INTO relation (type, source_id, target_id, stream_id, t0_us, t1_us, confidence, known_us)"
                " VALUES (?, ?, ?, 1, ?, ?, 0.9, ?)",
                ((kind, source + 1, target + 1, t0, t1, t1) for kind, source, target, t0, t1 in triples),
            )
            many(
                "INSERT INTO relation_evidence (relation_id, origin, quote) VALUES (?, 'asr', ?)",
                ((i, f"and then we talked about it {i}") for i in range(1, len(triples) + 1)),
            )
    return time.perf_counter() - start


def fill_peer(path: Path, names: list[tuple[str, str]], triples: list[Triple]) -> None:
    """EGAgent's table (create_db_entity_graph.py): indexes on single columns and on (day, start_t)."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "CREATE TABLE entity_graph_table (id INTEGER PRIMARY KEY, day INTEGER, start_t INTEGER, end_t INTEGER, transcript TEXT,"
            " source_id TEXT, source_type TEXT, target_id TEXT, target_type TEXT, rel_type TEXT)"
        )
        connection.executemany(
            "INSERT INTO entity_graph_table (day, start_t, end_t, transcript, source_id, source_type, target_id, target_type, rel_type)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    t0 // (86_400 * US), t0 % (86_400 * US), t1 % (86_400 * US), f"and then we talked about it {i}", names[source][1],
                    names[source][0], names[target][1], names[target][0], kind,
                )
                for i, (kind, source, target, t0, t1) in enumerate(triples, 1)
            ),
        )  # fmt: skip
        for columns in ("source_id", "target_id", "rel_type", "source_type", "target_type", "day, start_t"):
            connection.execute(f"CREATE INDEX by_{columns.replace(', ', '_')} ON entity_graph_table ({columns})")


def queries(names: list[tuple[str, str]], triples: list[Triple], count: int) -> list[tuple[str, Query]]:
    """Questions of every kind, in turns; they are answered at different levels."""
    rng = random.Random(1)
    end_us = triples[-1][4]
    made: list[tuple[str, Query]] = []
    for i in range(count):
        kind, source, target, t0, t1 = triples[rng.randrange(len(triples))]
        a, b = names[source][1], names[target][1]
        rare = names[rng.randrange(len(names) // 2, len(names))][1]
        made.append(
            (
                ("exact in time", (a, b, kind, t0, t1)),
                ("last time, no time given", ("Jake Smith", b, kind, None, None)),
                ("what the wearer did on a day", ("Jake Smith", None, kind, t0, t0 + 86_400 * US)),
                ("target alone", (None, b, None, None, None)),
                ("wrong time", (a, b, kind, end_us + 8 * 86_400 * US, end_us + 9 * 86_400 * US)),
                ("part of the name", ("Smith", rare.split()[-1], None, None, None)),
                ("wrong type and name", ("Jake", rare, "OWNS", t0, t1)),
                ("nothing", ("Nobody", "nowhere", kind, None, None)),
            )[i % 8]
        )
    return made


def peer_ladder(connection: sqlite3.Connection, query: Query, limit: int) -> int:
    """EGAgent's levels as SQL, up to the first with a row; returns the number of rows."""
    source, target, kind, from_us, to_us = query
    exact = [(column, value) for column, value in (("source_id", source), ("target_id", target)) if value is not None]
    same = [f"{column} = ?" for column, _ in exact]
    like = [f"{column} LIKE ?" for column, _ in exact]
    of_kind = ([], []) if kind is None else (["rel_type = ?"], [kind])
    named: list[object] = [value for _, value in exact]
    parts: list[object] = [f"%{max(str(value).split(), key=len)}%" for _, value in exact]
    day = 86_400 * US
    timed = ([], []) if from_us is None or to_us is None else (["day = ?", "start_t BETWEEN ? AND ?"], [from_us // day, from_us % day, day])
    levels: list[tuple[list[str], list[object]]] = [
        ([*same, *of_kind[0], *timed[0]], [*named, *of_kind[1], *timed[1]]),
        ([*same, *of_kind[0], *timed[0][:1]], [*named, *of_kind[1], *timed[1][:1]]),
        ([*same, *of_kind[0]], [*named, *of_kind[1]]),
        ([*like, *of_kind[0]], [*parts, *of_kind[1]]),
        (like, parts),
        (like[-1:] if target is not None else [], parts[-1:] if target is not None else []),
    ]
    for conditions, values in levels:
        if not conditions:
            continue
        sql = f"SELECT * FROM entity_graph_table WHERE {' AND '.join(conditions)} ORDER BY day DESC, start_t DESC LIMIT {limit}"
        rows = connection.execute(sql, values).fetchall()
        if rows:
            return len(rows)
    return 0


def measure(count: int, asked: int, directory: Path) -> None:
    """Fill, ask and print one table."""
    names, triples = generate(count)
    fill_s = fill(directory / "memory", names, triples)
    fill_peer(directory / "peer.db", names, triples)
    made = queries(names, triples, asked)
    ours: dict[str, list[float]] = {}
    theirs: dict[str, list[float]] = {}
    steps: dict[str, set[str]] = {}
    with View.open(directory / "memory") as view, closing(sqlite3.connect(directory / "peer.db")) as peer:
        for what, query in made:
            start = time.perf_counter()
            found = view.ladder(*query[:3], from_us=query[3], to_us=query[4])
            middle = time.perf_counter()
            peer_ladder(peer, query, 50)
            ours.setdefault(what, []).append((middle - start) * 1000)
            theirs.setdefault(what, []).append((time.perf_counter() - middle) * 1000)
            steps.setdefault(what, set()).add(found.step or "-")
    size = (directory / "memory" / "memory.db").stat().st_size
    print(f"\n{count:,} relations, {len(names):,} entities; written in {fill_s:.1f} s; {size / 2**20:.1f} MiB")
    print(f"{'':<30}{'ladder p50 ms':>14}{'p95':>8}{'raw SQL p50':>13}{'p95':>9}  levels")
    for what in [*ours, "all"]:
        mine = ours.get(what) or [ms for times in ours.values() for ms in times]
        other = theirs.get(what) or [ms for times in theirs.values() for ms in times]
        columns = (statistics.median(mine), _p95(mine), statistics.median(other), _p95(other))
        levels = ", ".join(sorted(steps.get(what, ())))
        print(f"{what:<30}{columns[0]:>14.2f}{columns[1]:>8.2f}{columns[2]:>13.2f}{columns[3]:>9.2f}  {levels}")
    limit = LIMITS_MS.get(count)
    if limit is not None:
        p50 = statistics.median(ms for times in ours.values() for ms in times)
        print(f"p50 {p50:.2f} ms, limit {limit:.0f} ms: {p50 / limit:.2f} of it")


def _p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--relations", type=int, nargs="+", default=[14_000, 1_000_000])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--memory", type=Path, help="keep the memory in this new directory")
    given = parser.parse_args()
    for count in given.relations:
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name) if given.memory is None else given.memory / str(count)
            directory.mkdir(parents=True, exist_ok=True)
            measure(count, given.queries, directory)


if __name__ == "__main__":
    main()
