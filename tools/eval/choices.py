"""How often the right one of several options is chosen: `choices.py --lifelogs DIR --work DIR [FILE ...]`.

Asks `choice_set/N.json` of the memory of life log N (`make_lifelog.py`), made below `--work` where it is missing, an hour after its end.
`week.json` is asked of the memory `--week`, which holds nine life logs (`judged_set/README.md`), where that is given. Printed are, beside
what chance would give, how many are right, for how many no option is chosen, and how many are wrong at a confidence of .5 or more.
"""

import argparse
import json
from datetime import datetime, timezone
from pathlib import Path

from all import lifelog
from ask import ask_all, make_kit

from edgemem.records import US

SETS = Path(__file__).parent / "choice_set"
_WEEK_US = round(datetime(2026, 3, 4, 9, 12, tzinfo=timezone.utc).timestamp() * US)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="*", help="sets to ask; all of choice_set where none is given")
    parser.add_argument("--lifelogs", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--week", type=Path, help="memory for week.json")
    args = parser.parse_args()
    kit = make_kit()
    print(f"{'':8}{'questions':>10}{'right':>8}{'by chance':>11}{'none':>6}{'wrong, confident':>18}")
    for file in args.files or sorted(SETS.glob("*.json")):
        week = file.stem == "week"
        if week and args.week is None:
            continue
        questions = json.loads(file.read_text())
        memory = args.week if week else lifelog(args.lifelogs, args.work, file.stem)[1]
        results = [one["result"] for one in ask_all(kit, memory, questions, _WEEK_US if week else None)]
        right = [result["option"] == question["answer"] for question, result in zip(questions, results, strict=True)]
        none = [result["option"] is None for result in results]
        wrong = sum(not (good or empty) and result["confidence"] >= 0.5 for good, empty, result in zip(right, none, results, strict=True))
        chance = sum(1 / len(question["options"]) for question in questions)
        print(f"{file.stem:8}{len(questions):10}{sum(right):8}{chance:11.1f}{sum(none):6}{wrong:18}", flush=True)


if __name__ == "__main__":
    main()
