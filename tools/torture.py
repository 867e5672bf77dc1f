"""Kill the writer at random times under load, and check that no acknowledged data is lost.

    python tools/torture.py [--cycles 300] [--seed 0] [--dir DIR]

Two memories are used in turns. One has no budget and a writer that drops by a known rule, so that its exact content is known. The other is
kept at the smallest budget: eviction, vacuum, checkpoints and rewriting of vector files run all the time, and sometimes data is forgotten.
Readers search both at the same time. After each kill -9: acknowledged data exists, `PRAGMA integrity_check` and `edgemem memory check` find
no error, vector files are complete again, and the open segment continues. With EDGEMEM_KEY both memories are encrypted.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import simplejpeg

from edgemem.errors import MemoryDirError
from edgemem.infer.roles import Space
from edgemem.records import US, Observation
from edgemem.remember.administration import compact
from edgemem.remember.check import check_memory
from edgemem.remember.disk import keys
from edgemem.remember.disk.page_budget import MINIMUM_BYTES
from edgemem.remember.forget import Wanted, forget
from edgemem.remember.rows.transaction import Transaction
from edgemem.remember.store import NewDocument, NewMoment, NewSegment, Store
from edgemem.remember.tiers import AgeTiers, AgeTiersSettings, TierRule
from edgemem.remember.view import View

SPACE = Space(name="torture", dim=32)
OPEN = "torture/open"
SEGMENT = 8
T0_US = 1_780_000_000 * US
FADING = AgeTiersSettings(tiers=(TierRule("recent", 60), TierRule("mid", 300, 2, 160, 70), TierRule("long", None, 8, 120, 45)))


class Open(msgspec.Struct):
    """The writer's open segment, committed together with its counters."""

    number: int = -1
    ids: tuple[int, ...] = ()


def pictures() -> list[bytes]:
    rng = np.random.default_rng(0)
    return [simplejpeg.encode_jpeg(rng.integers(0, 256, (180, 240, 3), np.uint8), 85, "BGR") for _ in range(4)]


def write(directory: Path, budget: int | None, said: int, jpegs: list[bytes]) -> None:
    """Write for ever; each number is written to the pipe `said` after its commit returned."""
    store = Store.open(directory, budget_bytes=budget)
    store.ensure_space(SPACE)
    fading = AgeTiers(FADING)
    state = resumed(store)
    rng = np.random.default_rng(state.number + 1)
    while True:
        number = state.number + 1
        with store.transaction() as tx:
            state = Open(number, add(tx, number, state.ids, rng, jpegs, drops=budget is None))
            tx.set_state(OPEN, msgspec.msgpack.encode(state))
        os.write(said, number.to_bytes(8, "big"))
        if number % 5 == 0:
            store.maintain(vacuum_steps=2)
        if budget is not None and number % 40 == 0:
            fading.apply(store)


def resumed(store: Store) -> Open:
    kept = store.state(OPEN)
    return msgspec.msgpack.decode(kept, type=Open) if kept else Open()


def add(
    tx: Transaction, number: int, ids: tuple[int, ...], rng: np.random.Generator, jpegs: list[bytes], *, drops: bool
) -> tuple[int, ...]:
    """One moment and its document, every eighth closes a segment; the known rule drops the moment before every third one."""
    vector = rng.normal(size=SPACE.dim).astype(np.float32)
    jpeg = (rng.bytes(2000) if drops else jpegs[number % len(jpegs)]) + number.to_bytes(8, "big")
    t_us = T0_US + number * US
    moment_id = tx.add_moment(
        NewMoment(
            stream="cam", seq=number, t_us=t_us, offset_us=number * US, width_px=240, height_px=180, sharpness=1.0, jpeg=jpeg,
            vectors={SPACE.name: vector / np.linalg.norm(vector)},
            observations=(Observation("label", "cat", 0.5), Observation("text", f"sign {number % 50}", 0.9)),
        )
    )  # fmt: skip
    tx.add_document(
        NewDocument(
            kind="event", text=f"number{number}", stream="cam", t0_us=t_us, t1_us=t_us, offset_us=number * US, known_us=t_us,
            origin="system", moment_id=moment_id,
        )
    )  # fmt: skip
    if drops and number % 3 == 2:
        tx.drop_moment(moment_id - 1)
    ids = (*ids, moment_id)
    if len(ids) < SEGMENT:
        return ids
    there = tx.remaining(ids)
    tx.add_segment(
        NewSegment(
            stream="cam", segmenter="torture", t0_us=t_us - (SEGMENT - 1) * US, t1_us=t_us, offset_us=0, moment_ids=there,
            representative_id=there[0],
        )
    )  # fmt: skip
    return ()


def read(directory: Path, _: int) -> None:
    """Search for ever; a reader ends with code 3 after an error."""
    query = np.full(SPACE.dim, SPACE.dim**-0.5, np.float32)
    while True:
        with View.open(directory) as view:
            for _ in range(20):
                hits = view.vector_search(SPACE.name, query, 10)
                view.search_text("number7", 5)
                view.observations([moment_id for moment_id, _ in hits])


def child(body: Callable[[Path, int], None], directory: Path) -> tuple[int, int]:
    """Run `body` in a separate process; returns its id, and the pipe for its output."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        try:
            body(directory, theirs)
        except BaseException as error:  # noqa: BLE001 - the process ends here, and says why
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(3)
    os.close(theirs)
    return pid, ours


def kill_one(directory: Path, budget: int | None, seconds: float, jpegs: list[bytes]) -> int:
    """Let a writer and a reader run, kill both; returns the last acknowledged number."""
    writer, said = child(lambda where, pipe: write(where, budget, pipe, jpegs), directory)
    first = os.read(said, 8)
    reader, silent = child(read, directory)
    time.sleep(seconds)
    os.kill(writer, signal.SIGKILL)
    spoken = first
    while more := os.read(said, 1 << 16):
        spoken += more
    _, status = os.waitpid(writer, 0)
    done, reading = os.waitpid(reader, os.WNOHANG)
    if not done:
        os.kill(reader, signal.SIGKILL)
        os.waitpid(reader, 0)
    os.close(said)
    os.close(silent)
    assert os.WIFSIGNALED(status), "the writer ended on its own"
    assert not done, f"the reader ended on its own ({reading})"
    return int.from_bytes(spoken[len(spoken) // 8 * 8 - 8 :][:8], "big")


def verify(directory: Path, budget: int | None, acknowledged: int) -> int:
    """Raise AssertionError if data is wrong; returns the number that the memory has."""
    used = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
    assert budget is None or used <= budget, f"{used} bytes"
    with Store.open(directory, budget_bytes=budget) as store, store.view() as view:
        state = resumed(store)
        assert state.number >= acknowledged, f"{acknowledged} was acknowledged, {state.number} is there"
        assert len(state.ids) == (state.number + 1) % SEGMENT, "the open segment"
        moments, documents = view.moments(), view.documents()
        assert moments[-1].seq == state.number
        assert len(view.picture(moments[-1].id)) > 2000
        hits = view.vector_search(SPACE.name, np.full(SPACE.dim, SPACE.dim**-0.5, np.float32), 10**6)
        assert {moment_id for moment_id, _ in hits} == {moment.id for moment in moments}, "vectors"
        if budget is None:
            gone = {number for number in range(state.number + 1) if number % 3 == 1 and number < state.number}
            assert [moment.seq for moment in moments] == [n for n in range(state.number + 1) if n not in gone]
            assert [document.text for document in documents] == [f"number{n}" for n in range(state.number + 1)]
    problems = check_memory(directory)
    assert not problems, problems
    return state.number


def forget_a_little(directory: Path, number: int) -> None:
    """Forget one past second; this process may be killed by the next cycle like any other."""
    with contextlib.suppress(MemoryDirError):  # nothing may be left of that second
        t_us = T0_US + max(0, number - 30) * US
        forget(directory, Wanted(from_us=t_us, to_us=t_us + US // 2))
    if keys.configured() is not None:
        compact(directory)  # the copy for the wipe of an encrypted memory does not fit under the cap


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cycles", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dir", type=Path, help="where to write; the disk to test")
    options = parser.parse_args()
    rng, jpegs = np.random.default_rng(options.seed), pictures()
    with tempfile.TemporaryDirectory(dir=options.dir) as name:
        numbers = {None: -1, MINIMUM_BYTES: -1}
        for cycle in range(options.cycles):
            budget = MINIMUM_BYTES if cycle % 2 else None
            directory = Path(name) / ("bounded" if budget else "free")
            acknowledged = kill_one(directory, budget, float(rng.exponential(0.15)), jpegs)
            assert acknowledged > numbers[budget]
            numbers[budget] = verify(directory, budget, acknowledged)
            if budget and cycle % 10 == 9:
                forget_a_little(directory, numbers[budget])
                assert check_memory(directory) == []
    print(f"{options.cycles} kills, {sum(numbers.values()) + 2} transactions, nothing lost")


if __name__ == "__main__":
    main()
