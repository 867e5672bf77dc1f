"""Ask many questions in one process: `ask.py --memory DIR --qa qa.json [--seconds S] [--out answers.jsonl]`.

The memory is opened once; the time of every question is an hour after the end of the stream, as in `run.py` of the life logs. Writes one
line of JSON per question, as `edgemem ask --json` prints it, with the wall time.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

from edgemem.answer.planner import AnswerKit, ask
from edgemem.answer.session import Turn
from edgemem.cli.app import CommandContext
from edgemem.records import US, Answer, Evidence, Question
from edgemem.remember.view import View


def make_kit() -> AnswerKit:
    """The kit of the command line."""
    from edgemem.extend.assembly import make_kit as assembled

    session = CommandContext(None, ())
    return assembled(session.recipes, session.recipes.read(session.settings.recipe), session.context)


def plain(answer: Answer) -> dict[str, Any]:
    """The fields of an answer for the scorer, with the names of `edgemem ask --json`; times are seconds."""
    return {
        "status": answer.status, "answer": answer.answer, "option": answer.option, "confidence": answer.confidence,
        "evidence": [_plain(e) for e in answer.evidence], "alternatives": [_plain(e) for e in answer.alternatives],
        "unverified": list(answer.unverified), "steps": answer.steps,
    }  # fmt: skip


def _plain(e: Evidence) -> dict[str, Any]:
    return {"id": e.id, "channel": e.channel, "t0": e.t0_us / US, "t1": e.t1_us / US, "offset_s": e.offset_us / US, "text": e.text}


def ask_all(kit: AnswerKit, memory: Path, questions: list[dict[str, Any]], at_us: int | None = None) -> list[dict[str, Any]]:
    """One answer for every question, in their order, asked at a time or an hour after the end of the memory."""
    made = []
    with View.open(memory) as view:
        bounds = view.bounds()
        now_us = (bounds[1] if bounds else 0) + 3600 * US if at_us is None else at_us
        for question in questions:
            begun = time.perf_counter()
            asked = Question(text=question["question"], asked_us=now_us, as_of_us=now_us, options=tuple(question.get("options") or ()))
            answer, _ = ask(view, asked, kit, [Turn(question=one) for one in (question.get("before"),) if one])
            made.append({"id": question["id"], "result": plain(answer), "wall_s": time.perf_counter() - begun})
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memory", type=Path, required=True)
    parser.add_argument("--qa", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    made = ask_all(make_kit(), args.memory, json.loads(args.qa.read_text()))
    args.out.write_text("".join(json.dumps(one) + "\n" for one in made))


if __name__ == "__main__":
    main()
