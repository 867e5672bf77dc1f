"""How often other wordings of a question get the answer of its plain wording: `wordings.py --memory DIR wordings_set/a.json ...`.

`plain.json` beside a file holds the plain wordings by number; the memory is that of life log 1 (`make_lifelog.py`). What is right or
wrong in the stream plays no part: only whether the wording changes the answer.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from ask import ask_all, make_kit

NEAR_S = 15.0
"""The first evidence of both is this close."""
BY_FIRST_WORD = frozenset(("4", "12", "36"))
"""Questions of which the first word of the answer must be the same too: a number, yes or no, before or after."""


def same(one: dict[str, Any], other: dict[str, Any], *, word: bool) -> bool:
    """Both abstain, or both answer from the same place, and with the same first `word` where that counts."""
    if one["status"] != "answered" or other["status"] != "answered":
        return bool(one["status"] == other["status"])
    near = abs(one["evidence"][0]["offset_s"] - other["evidence"][0]["offset_s"]) <= NEAR_S
    first, second = (reply["answer"].split()[0].strip(",:.") for reply in (one, other))
    return near and (not word or first == second)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--memory", type=Path, required=True)
    parser.add_argument("--show", action="store_true", help="print the wordings that are answered otherwise")
    args = parser.parse_args()
    plain: dict[str, str] = json.loads(args.files[0].with_name("plain.json").read_text())
    kit = make_kit()
    wanted = {a["id"]: a["result"] for a in ask_all(kit, args.memory, [{"id": n, "question": text} for n, text in plain.items()])}
    table: defaultdict[str, list[str]] = defaultdict(list)
    for file in args.files:
        worded: list[list[str]] = json.loads(file.read_text())
        asked = [{"id": str(i), "question": text} for i, (_, text) in enumerate(worded)]
        right: defaultdict[str, list[bool]] = defaultdict(list)
        for (number, text), reply in zip(worded, ask_all(kit, args.memory, asked), strict=True):
            right[number].append(same(wanted[number], reply["result"], word=number in BY_FIRST_WORD))
            if args.show and not right[number][-1]:
                print(f"{file.stem} {number}: {text} -> {reply['result']['answer']}")
        for number, kept in right.items():
            table[number].append(f"{sum(kept)}/{len(kept)}")
        every = [one for kept in right.values() for one in kept]
        table["all"].append(f"{100 * sum(every) / len(every):.1f} %")
    print(f"{'':60}", *(f"{file.stem:>8}" for file in args.files))
    for number, cells in table.items():
        print(f"{plain.get(number, 'all')[:60]:60}", *(f"{cell:>8}" for cell in cells))


if __name__ == "__main__":
    main()
