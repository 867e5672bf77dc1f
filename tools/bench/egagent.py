"""The tools of EGAgent at its own scale: a week of frames, and five megabytes of speech, in a real store.

    python tools/bench/egagent.py [--frames 187000] [--dim 256] [--megabytes 5] [--rounds 31]

EGAgent (Rege et al., appendix D.4 and D.5): 187,011 frames at 1 fps, 1.4 GB of vectors, 4.5 s per visual search; 5.2 MB of transcript, BM25
1.7 s. Data are generated: vectors as in tools/bench/vectors.py, utterances of 6 to 14 words with Zipf's distribution from a vocabulary of
8,000. It prints the median of the wall time over the rounds, each with another query, and the lower quartile of the CPU time of the thread,
which can be compared even on a machine that is not idle. The graph search has its own benchmark (graph.py).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from edgemem_egagent.actions import TranscriptSearch, VisualSearch
from edgemem_egagent.transcript import TranscriptTool
from edgemem_egagent.visual import VisualTool
from vectors import SPACE, fill, timed, vectors

from edgemem.answer.retrieve import Hits, Query, as_evidence
from edgemem.records import US, Channel
from edgemem.remember.entries import NewDocument, NewEntity
from edgemem.remember.store import Store
from edgemem.remember.view import View

_BATCH = 2000
_WORDS = 8000


class ByVector:
    """The channel `frame` for a dual encoder whose text encoder takes no time: query "7" is the seventh vector."""

    name: Channel = "frame"

    def __init__(self, dim: int, rounds: int) -> None:
        self.queries = vectors(4 * rounds, dim, seed=2)

    def retrieve(self, query: Query, view: View, k: int) -> Hits:
        """The best k in exact order."""
        found = view.vector_search(SPACE, self.queries[int(query.text)], k, from_us=query.from_us, to_us=query.to_us)
        moments = view.moments_of(moment_id for moment_id, _ in found)
        return Hits(evidence=tuple(as_evidence(moments[id_], "frame", score, "") for id_, score in found), confidence=0.5)


def words(rng: np.random.Generator) -> list[str]:
    """A vocabulary of pronounceable words."""
    consonants, vowels = list("bcdfghklmnprstvw"), list("aeiou")
    made = {"".join(rng.choice(consonants) + rng.choice(vowels) for _ in range(rng.integers(2, 5))) for _ in range(2 * _WORDS)}
    return sorted(made)[:_WORDS]


def speak(directory: Path, megabytes: float) -> tuple[int, list[str]]:
    """Store that much speech; returns the number of utterances, and the vocabulary, the most common word first."""
    rng = np.random.default_rng(5)
    vocabulary = words(rng)
    weights = 1 / np.arange(3, len(vocabulary) + 3)
    weights /= weights.sum()
    spoken = [vocabulary[i] for i in rng.choice(len(vocabulary), round(megabytes * 250_000), p=weights)]
    ends = np.cumsum(rng.integers(6, 15, len(spoken) // 6))
    stored, number = 0, 0
    with Store.open(directory) as store:
        store.ensure_stream("day", 0)
        while stored < megabytes * 1e6:
            with store.transaction() as tx:
                speakers = [tx.add_entity(NewEntity(kind="person", name=name, known_us=0)) for name in ("me", "Anna", "Ben", "Clara")]
                for _ in range(_BATCH):
                    text = " ".join(spoken[ends[number] : ends[number + 1]])
                    t0_us = number * 5 * US
                    tx.add_document(
                        NewDocument(
                            kind="utterance", text=text, stream="day", t0_us=t0_us, t1_us=t0_us + 3 * US, offset_us=t0_us,
                            known_us=t0_us + 3 * US, origin="asr", speaker_id=speakers[number % 4],
                        )
                    )  # fmt: skip
                    stored, number = stored + len(text), number + 1
            store.maintain()
    return number, vocabulary


def print_times(what: str, call: Callable[[int], object], rounds: int) -> None:
    """Print the median wall time and the lower quartile of the CPU time of a call."""
    wall, cpu = zip(*(timed(partial(call, i)) for i in range(rounds)), strict=True)
    print(f"{what}: p50 {statistics.median(wall):.1f} ms, CPU {sorted(cpu)[len(cpu) // 4]:.1f} ms", flush=True)


def size_mb(directory: Path, table: str = "") -> float:
    """Bytes of the sidecars, or of a table in the database."""
    if not table:
        return sum(path.stat().st_size for path in (directory / "vectors").rglob("*") if path.is_file()) / 1e6
    with View.open(directory) as view:
        rows = view._all(f"SELECT sum(length(data)) FROM {table}")  # noqa: SLF001 - no public verb tells the size of a table
    return float(rows[0][0] or 0) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=187_000)
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--megabytes", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=31)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        seen, heard = Path(name) / "seen", Path(name) / "heard"
        fill(seen, vectors(args.frames, args.dim))
        retriever = ByVector(args.dim, args.rounds)
        tool = VisualTool(retriever)
        sizes = f"{size_mb(seen):.0f} MB searched, {size_mb(seen, 'vec'):.0f} MB originals"
        print(f"{args.frames} frames of {args.dim} dimensions: {sizes}", flush=True)
        with View.open(seen) as view:
            retriever.retrieve(Query(text="0"), view, 10)
            print_times("50 best of one query", lambda i: view.vector_search(SPACE, retriever.queries[4 * i], 50), args.rounds)
            three = [VisualSearch(queries=tuple(str(4 * i + j) for j in range(3))) for i in range(args.rounds)]
            print_times("visual_search, 3 queries, 100 each, fused, as evidence", lambda i: tool.run(three[i], view), args.rounds)
        number, vocabulary = speak(heard, args.megabytes)
        rng = np.random.default_rng(6)
        rare = [[str(w) for w in rng.choice(vocabulary[200:], 3, replace=False)] for _ in range(args.rounds)]
        transcript = TranscriptTool()
        print(f"{number} utterances, {args.megabytes:g} MB", flush=True)
        with View.open(heard) as view:
            view.search_text(vocabulary[300], 10, kinds=("utterance",))
            print_times(
                "full text, two words, 100 best", lambda i: view.search_text(" ".join(rare[i][:2]), 100, kinds=("utterance",)), args.rounds
            )
            two = [TranscriptSearch(queries=(words_[0], " ".join(words_[1:]))) for words_ in rare]
            print_times("transcript_search, 2 queries with speakers, as evidence", lambda i: transcript.run(two[i], view), args.rounds)


if __name__ == "__main__":
    main()
