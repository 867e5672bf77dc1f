"""Measure answers on composed streams through the command line: `run.py --seeds 100,101 --minutes 12`.

Composes each stream (kept in the work directory), runs `edgemem ingest` and `edgemem ask` on it and prints per kind how near the evidence
is to the truth, how many answers are right, and how well it abstains.

Seeds 100-109 are for development. Seeds 900-999 are for reporting: run them to report a figure, never inspect their streams or single
results, and tune nothing on them.
"""

import argparse
import contextlib
import io
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import msgspec
from compose import compose
from score import Result, as_table, judge, summary
from world import Question, Truth

Runner = Callable[[list[str]], tuple[int, str]]  # arguments after `edgemem` -> exit code, stdout


def by_subprocess(args: list[str]) -> tuple[int, str]:
    """Like a user: one process per call."""
    beside = Path(sys.executable).parent / "edgemem"
    command = str(beside) if beside.exists() else "edgemem"
    done = subprocess.run([command, *args], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        print(f"edgemem {args[0]} exited {done.returncode}: {done.stderr.strip()[-400:]}", file=sys.stderr)
    return done.returncode, done.stdout


def in_process(args: list[str]) -> tuple[int, str]:
    """The same commands in one process; faster, but start-up costs and state shared between questions are not visible."""
    main = next(iter(entry_points(group="console_scripts", name="edgemem"))).load()
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        try:
            main(args)
            code = 0
        except SystemExit as leave:
            code = leave.code if isinstance(leave.code, int) else 1
    return code, said.getvalue()


def ask(run: Runner, memory: Path, truth: Truth, question: Question, recipe: list[str]) -> Result:
    """Ask one question and evaluate the reply."""
    options = [word for option in question.options for word in ("--option", option)]
    begun = time.perf_counter()
    code, out = run(["ask", question.text, "--memory", str(memory), "--as-of", question.as_of, "--json", *options, *recipe])
    ms = 1000 * (time.perf_counter() - begun)
    reply: dict[str, Any] = json.loads(out) if code in (0, 3) else {"status": "failed"}
    return judge(truth, question, reply, ms)


def measure(run: Runner, home: Path, args: argparse.Namespace, seed: int) -> tuple[list[Result], dict[str, Any]]:
    """One stream: compose if needed, ingest unless its memory is to be reused, ask everything."""
    stream, memory = home / f"s{seed}-{args.minutes:g}m", home / f"s{seed}-{args.minutes:g}m-memory"
    if not (stream / "truth.json").exists():
        compose(seed, args.minutes, stream, questions=args.questions)
    truth = msgspec.json.decode((stream / "truth.json").read_bytes(), type=Truth)
    recipe = ["--recipe", args.recipe] if args.recipe else []
    ingest: dict[str, Any] = {}
    if not (args.reuse and memory.exists()):
        shutil.rmtree(memory, ignore_errors=True)
        begun = time.perf_counter()
        code, out = run(["ingest", str(stream / truth.video), "--memory", str(memory), "--start", truth.start, "--json", *recipe])
        if code:
            raise SystemExit(f"seed {seed}: ingest failed with {code}")
        spent_s = time.perf_counter() - begun
        ingest = {**json.loads(out), "wall_s": round(spent_s, 1), "times_real_time": round(truth.seconds / spent_s, 1)}
    with ThreadPoolExecutor(1 if args.in_process else 2) as pool:
        results = list(pool.map(lambda question: ask(run, memory, truth, question, recipe), truth.questions))
    return results, ingest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", required=True, help="comma-separated, e.g. 100,101")
    parser.add_argument("--minutes", type=float, default=12.0)
    parser.add_argument("--questions", type=int, default=60, help="per stream")
    parser.add_argument("--recipe", help="default: edgemem's default recipe")
    parser.add_argument("--work", type=Path, help="where streams and memories are kept (default: a temporary directory)")
    parser.add_argument("--reuse", action="store_true", help="ask memories that are already there instead of ingesting again")
    parser.add_argument("--in-process", action="store_true", help="call the commands without a process each")
    parser.add_argument("--dump", type=Path, help="write every judged question as a line of JSON")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    args = parser.parse_args()
    run = in_process if args.in_process else by_subprocess
    with tempfile.TemporaryDirectory() as scratch:
        home = args.work or Path(scratch)
        measured = [measure(run, home, args, int(seed)) for seed in args.seeds.split(",")]
    results = [result for part, _ in measured for result in part]
    if args.dump:
        args.dump.write_bytes(b"".join(msgspec.json.encode(result) + b"\n" for result in results))
    table = summary(results)
    if args.json:
        print(json.dumps({"kinds": table, "ingest": [ingest for _, ingest in measured]}))
    else:
        print(as_table(table))
        for _, ingest in measured:
            print(" ".join(f"{key}={value}" for key, value in ingest.items() if not isinstance(value, dict)))


if __name__ == "__main__":
    main()
