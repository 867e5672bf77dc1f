"""Conversations with a memory, turn by turn: `dialogues.py --lifelogs DIR --work DIR [--out replies.json] [FILE ...]`.

Asks `dialogue_set/NN-x.json` of the memory of life log NN (`make_lifelog.py`), made below `--work` where it is missing, an hour after its
end. Every turn but the first is asked as `edgemem ask --session last` asks it, 20 s after the one before: each question is stored with its
answer. Prints what was asked, what a good reply says, and the reply; whether that is good is judged by a reader (`dialogue_set/README.md`).
"""

import argparse
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from all import lifelog
from ask import make_kit, plain

from edgemem.answer.planner import AnswerKit, ask
from edgemem.answer.session import turns_before
from edgemem.records import US, Question
from edgemem.remember.store import Store
from edgemem.remember.view import View
from edgemem.serve.trace import log_of

SETS = Path(__file__).parent / "dialogue_set"
_ASKED_US, _TURN_US = 3600 * US, 20 * US
"""From the end of a recording until the first question, and between two."""


def talk(kit: AnswerKit, memory: Path, dialogue: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The replies of one conversation, in the order of its turns."""
    replies = []
    with View.open(memory) as view:
        bounds = view.bounds()
    for i, turn in enumerate(dialogue):
        now_us = (bounds[1] if bounds else 0) + _ASKED_US + i * _TURN_US
        with View.open(memory) as view:
            asked = Question(text=turn["question"], asked_us=now_us, as_of_us=now_us)
            answer, session = ask(view, asked, kit, turns_before(view, "last" if i else ""))
        with Store.open(memory, create=False) as store, store.transaction() as tx:
            tx.add_session(log_of(session, answer, "default", kit.planner.name))
        replies.append({"question": turn["question"], "truth": turn["truth"], **plain(answer)})
    return replies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="*", help="sets to ask; all of dialogue_set where none is given")
    parser.add_argument("--lifelogs", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, help="file for the replies, as JSON")
    args = parser.parse_args()
    kit, made = make_kit(), {}
    for file in args.files or sorted(SETS.glob("*.json")):
        memory = lifelog(args.lifelogs, args.work, file.stem.partition("-")[0])[1]
        with tempfile.TemporaryDirectory() as scratch:  # the memory of the life log stays without these sessions
            copy = Path(shutil.copytree(memory, Path(scratch) / "memory"))
            made[file.stem] = [talk(kit, copy, dialogue) for dialogue in json.loads(file.read_text())]
        for number, replies in enumerate(made[file.stem], 1):
            print(f"\n{file.stem} {number}")
            for one in replies:
                print(
                    f"  {one['question']}\n    ({one['truth']})\n    {one['status']} {one['confidence']:.2f}: {one['answer']}", flush=True
                )
    if args.out:
        args.out.write_text(json.dumps(made, indent=1))


if __name__ == "__main__":
    main()
