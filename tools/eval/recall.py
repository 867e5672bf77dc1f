"""recall@W: the distance between the moments that each search tool selects and the truth: `recall.py --seeds 101 --recipes
egagent,default`.

EGAgent, appendix D.3: a true moment is hit when a selected timestamp lies in the window of W seconds centred on it; the recall of one
question is the share of its true moments that are hit, and recall@W the mean over the questions. A longer true moment is hit if the
selected one is within W/2 of it. "Selected" are the moments in the working memory after the analyzer (recipe egagent) or the results of a
tool for the local planner (other recipes); "cited" is the evidence of the answer. Streams are composed as by `run.py`, with a script of
`script.py` as subtitles; seeds 900 to 999 are for reporting only.
"""

import argparse
import contextlib
import io
import json
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from compose import compose
from script import write_script
from world import Question, Span, Truth

WINDOWS_S = (10, 30, 60, 120, 600, 3600)
TOOLS = ("visual", "graph", "transcript", "overall", "cited")
_BY_ACTION = {"Search": "visual", "Inspect": "visual", "Read": "visual", "Count": "visual", "Relate": "graph", "Hear": "transcript"}
Selected = dict[str, list[Span]]


def hits(true: Sequence[Span], selected: Iterable[Span], window_s: float) -> int:
    """Number of true moments with a selected one within half the window."""
    half, chosen = window_s / 2, list(selected)
    return sum(any(s1 >= t0 - half and s0 <= t1 + half for s0, s1 in chosen) for t0, t1 in true)


def recall_at(asked: Sequence[tuple[Sequence[Span], Sequence[Span]]], window_s: float) -> float:
    """Mean share of the true moments (first of each pair) that a selected one (second) hits; 0 without a question."""
    shares = [hits(true, selected, window_s) / len(true) for true, selected in asked if true]
    return sum(shares) / len(shares) if shares else 0.0


def selected_by(session: Any, answer: Any, start_us: int) -> Selected:
    """Seconds of what each tool selected for one question."""
    found: defaultdict[str, list[Span]] = defaultdict(list)
    for step in session.steps:
        kind = type(step.action).__name__
        tool = step.action.tool if kind == "Analyse" else _BY_ACTION.get(kind, "")
        evidence = getattr(step.result, "evidence", ())
        if tool:
            found[tool] += [_seconds(e, start_us) for e in evidence]
    found["overall"] = [span for tool in ("visual", "graph", "transcript") for span in found[tool]]
    found["cited"] = [_seconds(e, start_us) for e in answer.evidence]
    return dict(found)


def _seconds(evidence: Any, start_us: int) -> Span:
    return (evidence.t0_us - start_us) / 1e6, (evidence.t1_us - start_us) / 1e6


def ask_all(memory: Path, recipe: str, truth: Truth, questions: Sequence[Question]) -> tuple[list[Selected], int]:
    """What was selected for each question, and how many were answered with one of the accepted words (or right evidence)."""
    from edgemem.answer.planner import ask
    from edgemem.cli.app import CommandContext
    from edgemem.clock import from_iso
    from edgemem.records import Question as Asked
    from edgemem.remember.view import View

    start_us, made, right = round(datetime.fromisoformat(truth.start.replace("Z", "+00:00")).timestamp() * 1e6), [], 0
    kit = CommandContext(None, ()).kit(recipe)
    for question in questions:
        as_of_us = from_iso(question.as_of, "UTC")
        with View.open(memory, as_of_us) as view:
            answer, session = ask(view, Asked(text=question.text, asked_us=as_of_us, as_of_us=as_of_us, options=question.options), kit)
        made.append(selected_by(session, answer, start_us))
        said = any(word.lower() in answer.answer.lower() for word in question.accept)
        right += answer.status == "answered" and (said or (not question.accept and bool(hits(question.spans, made[-1]["cited"], 20))))
    return made, right


def table(asked: Sequence[tuple[Sequence[Span], Mapping[str, Sequence[Span]]]]) -> str:
    """One row per tool: how many moments it selected on average, and recall at each window."""
    rows = [f"{'':<12}{'selected':>9}" + "".join(f"{f'@{w} s':>9}" for w in WINDOWS_S)]
    for tool in TOOLS:
        pairs = [(true, selected.get(tool, ())) for true, selected in asked]
        mean = sum(len(selected) for _, selected in pairs) / max(1, len(pairs))
        rows.append(f"{tool:<12}{mean:9.1f}" + "".join(f"{recall_at(pairs, w):9.3f}" for w in WINDOWS_S))
    return "\n".join(rows)


def prepare(home: Path, seed: int, minutes: float, recipe: str, reuse: bool) -> tuple[Path, Truth, list[Question]]:
    """Stream, script and memory; composed and ingested if they do not exist yet."""
    from edgemem.cli.main import main as edgemem

    folder, memory = home / f"s{seed}-{minutes:g}m", home / f"s{seed}-{minutes:g}m-{recipe}"
    if not (folder / "truth.json").exists():
        compose(seed, minutes, folder)
    questions = write_script(folder)
    truth = msgspec.json.decode((folder / "truth.json").read_bytes(), type=Truth)
    if not (reuse and memory.exists()):
        shutil.rmtree(memory, ignore_errors=True)
        args = ["ingest", str(folder / truth.video), "--memory", str(memory), "--start", truth.start, "--recipe", recipe, "--json"]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            edgemem(args)
    seen = [q for q in truth.questions if q.spans and q.kind in ("when", "find", "where")]
    return memory, truth, [*questions, *seen]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="101", help="comma-separated")
    parser.add_argument("--minutes", type=float, default=12.0)
    parser.add_argument("--recipes", default="egagent", help="comma-separated")
    parser.add_argument("--work", type=Path, help="where streams and memories are kept (default: a temporary directory)")
    parser.add_argument("--reuse", action="store_true", help="ask memories that are there already")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for recipe in args.recipes.split(","):
            asked: list[tuple[Sequence[Span], Selected]] = []
            right = 0
            for seed in map(int, args.seeds.split(",")):
                memory, truth, questions = prepare(args.work or Path(scratch), seed, args.minutes, recipe, args.reuse)
                selected, correct = ask_all(memory, recipe, truth, questions)
                asked += list(zip([q.spans for q in questions], selected, strict=True))
                right += correct
            if args.json:
                numbers = {t: {w: recall_at([(q, s.get(t, ())) for q, s in asked], w) for w in WINDOWS_S} for t in TOOLS}
                print(json.dumps({"recipe": recipe, "questions": len(asked), "right": right, "recall": numbers}))
            else:
                print(f"recipe {recipe}: {len(asked)} questions, {right} answered right", file=sys.stderr)
                print(table(asked))


if __name__ == "__main__":
    main()
