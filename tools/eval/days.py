"""Life logs as the days of one memory: `days.py --lifelogs DIR --work DIR [--seeds 34,35,36,37,1,2]`.

Every life log (`make_lifelog.py`) becomes a day, one behind the other, in one memory with the default recipe. The questions of each day
are asked on its evening, of a memory of that day alone and of the memory of all days up to then, and scored by `score.py`; printed are
score, F1 of abstention, wrong and confident, and false affirmations.

The truth of a question that names no day is that of all days: every appearance of the thing, its first or last one, their number. Left
out are questions that another day gives an answer or a second right option. What was said or read is right as it was told last. What
comes next to a thing, and whatever names no thing in the file, remains as it is, so that the second figure cannot reach the first.
"""

import argparse
import json
import re
import subprocess
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from all import CLI, OURS, figures, lifelog
from ask import ask_all, make_kit

from edgemem.records import US
from edgemem.remember.view import View

_FIRST_DAY = datetime(2026, 2, 25, 8, tzinfo=timezone.utc)
_DAY_S, _ASKED_S = 86_400, 4_320
"""Seconds of a day, and from the begin of a recording until its questions are asked: an hour after its end."""
_OF_A_DAY = re.compile(r"\b(?:today|this morning|tonight|just now|earlier|minutes?|o'?clock|past|walk|this)\b|:\d\d")
"""Words of a question that means the day itself."""

Span = list[float]
Json = dict[str, Any]


def seen(thing: str | list[str], truths: list[Json]) -> list[Span]:
    """Every appearance of a thing on any of the days, in seconds from the begin of the last of them."""
    names = {thing} if isinstance(thing, str) else set(thing)
    found = (
        [appearance["t0"] - back * _DAY_S, appearance["t1"] - back * _DAY_S]
        for back, truth in enumerate(reversed(truths))
        for appearance in truth["appearances"]
        if names & {appearance["key"], *appearance["names"]}
    )
    return sorted(found)


def of_all_days(questions: list[Json], truths: list[Json]) -> Iterator[Json]:
    """The questions of the last day with the truth of all."""
    for q in questions:
        text, thing = q["question"].lower(), q.get("thing")
        spans = seen(thing, truths) if thing else []
        if _OF_A_DAY.search(text) or not thing or (q["channel"] != "frame" and not q["unanswerable"]):
            yield q
        elif q["unanswerable"]:
            if not spans:
                yield q
        elif q["type"] == "what" and q["options"]:
            if sum(bool(seen(option, truths)) for option in q["options"]) == 1:
                yield q
        elif q["type"] == "count":
            yield {**q, "spans": spans, "answer": str(len(spans)), "keys": [str(len(spans))]}
        elif q["type"] == "firstlast" and not q["options"]:
            yield {**q, "spans": spans[:1] if re.search(r"first|earliest|start|begin", text) else spans[-1:]}
        else:
            yield {**q, "spans": spans} if q["type"] == "when" else q


def remember(video: Path, memory: Path, begun: datetime, days: int) -> None:
    """Add a day to the memory, unless it holds more than so many."""
    if memory.exists():
        with View.open(memory) as view:
            if len(view.streams()) > days:
                return
    subprocess.run([*CLI, "ingest", str(video), "--memory", str(memory), "--start", f"{begun:%Y-%m-%dT%H:%M:%SZ}"], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lifelogs", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seeds", default="34,35,36,37,1,2")
    args = parser.parse_args()
    kit, scorer, truths = make_kit(), args.lifelogs / "score.py", list[Json]()
    days, out = args.work / "days", args.work / "days-answers"
    out.mkdir(parents=True, exist_ok=True)
    print(f"{'':28} {'that day alone':^31} {'with the days before it':^31}")
    print(f"{'questions':28}" + f" {'score':>6} {'F1':>6} {'wrong>.5':>8} {'false':>7} " * 2)
    for back, seed in enumerate(args.seeds.split(",")):
        stream, alone = lifelog(args.lifelogs, args.work, seed)
        begun = _FIRST_DAY + timedelta(days=back)
        remember(stream / "life.mp4", days, begun, back)
        truths.append(json.loads((stream / "truth.json").read_text()))
        kinds = (("natural", "ours"), ("unusual", "unusual"))
        ours = ((f"{name}{more}", OURS / f"{kind}-{seed}{more}.json") for kind, name in kinds for more in ("", "-2", "-3", "-4"))
        for name, qa in (("template", stream / "qa.json"), ("natural", args.lifelogs / f"natural-{seed}.json"), *ours):
            if not qa.exists():
                continue
            asked = {q["id"]: q for q in json.loads(qa.read_text())}
            now = list(of_all_days(list(asked.values()), truths))
            told = ""
            for place, questions in ((alone, [asked[q["id"]] for q in now]), (days, now)):
                at_us = round(begun.timestamp() + _ASKED_S) * US if place is days else None
                made = ask_all(kit, place, questions, at_us)
                for evidence in (e for one in made for e in (*one["result"]["evidence"], *one["result"]["alternatives"])):
                    evidence["offset_s"] = evidence["t0"] - begun.timestamp() if place is days else evidence["offset_s"]
                truth, answers = out / f"{name}{seed}.json", out / f"{name}{seed}-{place.name}.jsonl"
                truth.write_text(json.dumps(questions))
                answers.write_text("".join(json.dumps(one) + "\n" for one in made))
                found = figures(scorer, truth, answers)
                told += f" {found['score']:6.1f} {found['f1']:6.1f} {found['wrong']:>8} {found['false']:>7} "
            print(f"{f'day {back + 1} ({seed}), {name}':28}{told}", flush=True)


if __name__ == "__main__":
    main()
