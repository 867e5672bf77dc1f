"""Time of a `search` call and of questions in a warm process, and of a cold `edgemem ask`, with a memory of many moments, and their limits.

    python tools/bench/search.py [--rows 100000] [--rounds 9] [--memory DIR]

The memory is synthetic (labels from a power law, seven crops of every picture, a sign in every twentieth, an event document for every
tenth moment); the engines are the real, fetched ones. `--memory` keeps it for another run. Result: the ratio to the limit of 50 ms per
search, 0.3 s for 95 of 100 questions in a warm process, and 1.5 s for a question in a new process.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from edgemem.answer.planner import AnswerKit, ask
from edgemem.answer.retrieve import Query, search
from edgemem.cli.app import CommandContext
from edgemem.infer.labels import describe
from edgemem.infer.roles import Space
from edgemem.records import US, Observation, Question
from edgemem.remember.entries import NewDocument, NewMoment, NewPart
from edgemem.remember.store import Store
from edgemem.remember.view import View

BATCH, CROPS = 1000, 7
T0_US = 1_777_881_600 * US
LIMIT_SEARCH_MS = 50.0
LIMIT_WARM_MS, LIMIT_ASK_MS = 300.0, 1500.0
ASKED = (
    "When did I see the {}?", "Where did I last see a {}?", "Did I see a {} before the bicycle?", "How many times was there a {}?",
    "What did I see right after the {}?", "What did the sign next to the {} say?", "Is there a {} in the kitchen?", "Who has the {}?",
    "Which {}s did I see?", "What did I see between the {} and the bicycle?",
)  # fmt: skip
"""One question of every way of answering; each is asked about things that no question before was about."""
QUERIES = ("red coffee mug", "tabby cat", "farm animal", "fire engine", "sign 4711 bakery", "grand piano", "bicycle", "laptop", "snake")
WORDS = ("bakery", "exit", "platform", "room", "kitchen", "museum", "open", "closed", "tickets", "station", "market", "library")


def _document(kind: str, text: str, first: int, last: int, moment_id: int) -> NewDocument:
    return NewDocument(
        kind=kind, text=text, stream="cam", t0_us=T0_US + first * US, t1_us=T0_US + last * US, offset_us=first * US,
        known_us=T0_US + last * US, origin="ocr" if kind == "text" else "caption", moment_id=moment_id,
    )  # fmt: skip


def fill(directory: Path, rows: int, session: CommandContext) -> float:
    """Store the synthetic moments and documents; returns the seconds."""
    rng = np.random.default_rng(0)
    bridge = session.engines.role("embed_joint")
    joint: Space = bridge.space
    crops: Space = bridge.crop_space
    names = [label.name for label in describe(session.engines.role("classify").labels, "imagenet")]
    frequency = 1 / np.arange(1, len(names) + 1)
    frequency /= frequency.sum()
    start = time.perf_counter()
    with Store.open(directory) as store:
        store.ensure_space(joint)
        store.ensure_space(crops, holds="part")
        for first in range(0, rows, BATCH):
            with store.transaction() as tx:
                for i in range(first, min(first + BATCH, rows)):
                    chosen = rng.choice(len(names), 8, replace=False, p=frequency)
                    seen = [
                        Observation(kind="label", name=names[n], score=float(s)) for n, s in zip(chosen, rng.beta(1, 3, 8), strict=True)
                    ]
                    if i % 20 == 0:
                        seen.append(Observation(kind="text", name=f"{rng.choice(WORDS).upper()} {rng.integers(10_000)}", score=0.9))
                    vector = rng.normal(size=joint.dim).astype(np.float32)
                    moment_id = tx.add_moment(
                        NewMoment(
                            stream="cam", seq=i, t_us=T0_US + i * US, offset_us=i * US, width_px=1, height_px=1, sharpness=1.0,
                            jpeg=i.to_bytes(64, "little"), vectors={joint.name: vector / np.linalg.norm(vector)}, observations=tuple(seen),
                        )
                    )  # fmt: skip
                    looks = rng.normal(size=(CROPS, crops.dim)).astype(np.float32)
                    for look in looks / np.linalg.norm(looks, axis=1, keepdims=True):
                        tx.add_part(NewPart(kind="crop", score=1.0, moment_id=moment_id, vectors={crops.name: look}))
                    if i % 20 == 0:
                        tx.add_document(_document("text", seen[-1].name, i, i, moment_id))
                    if i % 10 == 0:
                        tx.add_document(_document("event", ", ".join(o.name for o in seen), i, i + 9, moment_id))
    return time.perf_counter() - start


def median_ms(call: Callable[[str], object], rounds: int) -> float:
    """Median over rounds of the mean over the queries, after one round that is not counted."""
    times = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        for query in QUERIES:
            call(query)
        times.append(1000 * (time.perf_counter() - start) / len(QUERIES))
    return statistics.median(times[1:])


def _search(view: View, kit: AnswerKit, channel: str, query: str) -> object:
    return search(view, Query(text=query), kit.retrievers, channel)


def warm_ms(view: View, kit: AnswerKit, rounds: int) -> list[float]:
    """Milliseconds of every question, the first of a process left out: it loads the engines."""
    now_us = T0_US + 10**6 * US
    texts = [wording.format(thing) for thing in QUERIES[:rounds] for wording in ASKED]
    times = []
    for text in (texts[0], *texts):
        start = time.perf_counter()
        ask(view, Question(text=text, asked_us=now_us, as_of_us=now_us), kit)
        times.append(1000 * (time.perf_counter() - start))
    return sorted(times[1:])


def cold_ask_ms(memory: Path) -> float:
    """One `edgemem ask` in a separate process, best of three."""
    command = [sys.executable, "-m", "edgemem", "ask", "When did I see the tabby cat?", "--memory", str(memory), "--json"]
    times = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run(command, check=False, capture_output=True)
        times.append(1000 * (time.perf_counter() - start))
    return min(times)


def main() -> None:
    """Fill, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--memory", type=Path, help="use and keep this memory instead of a temporary one")
    args = parser.parse_args()
    session = CommandContext(None, ())
    with tempfile.TemporaryDirectory() as scratch:
        memory = args.memory or Path(scratch) / "memory"
        if not memory.exists():
            print(f"filled {args.rows} moments in {fill(memory, args.rows, session):.0f} s")
        with View.open(memory) as view:
            kit = session.kit()
            for channel in ("frame", "text", "event", "any"):
                ms = median_ms(partial(_search, view, kit, channel), args.rounds)
                print(f"search {channel:6} {ms:8.1f} ms   {ms / LIMIT_SEARCH_MS:5.2f} of the limit ({LIMIT_SEARCH_MS:g} ms)")
            warm = warm_ms(view, kit, args.rounds)
            ms = warm[int(0.95 * len(warm))]
            share = f"{ms / LIMIT_WARM_MS:5.2f} of the limit ({LIMIT_WARM_MS:g} ms)"
            print(f"warm ask p95  {ms:8.0f} ms   {share}")
        ms = cold_ask_ms(memory)
        print(f"cold ask      {ms:8.0f} ms   {ms / LIMIT_ASK_MS:5.2f} of the limit ({LIMIT_ASK_MS:g} ms)")


if __name__ == "__main__":
    main()
