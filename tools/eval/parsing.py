"""How well questions are understood: `parsing.py questions-to-parse.json [--half even|odd] [--show]`.

The file holds labelled questions (question, kind, things, person, place, time, predicate, negated, channel_hint, language, category), as
JSON or as a table with tabs ("-" for nothing, "; " between several). Those with an even number may be inspected; figures are reported for
the odd ones. Files of `parse_set` are not halved.
"""

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from edgemem.answer.understand import Parsed, understand
from edgemem.answer.understand.lexicon import VERBS
from edgemem.answer.understand.words import root, words

SLOTS = ("kind", "things", "person", "place", "time", "predicate", "negated", "channel_hint")
_SMALL = frozenset(words("the a an my our your his her their this that i in on at of to was is or"))


def loose(text: str | None) -> frozenset[str]:
    """Words without articles, by root: "the day before" is "day before"."""
    return frozenset(root(VERBS.get(word, word)) for word in words(text or "") if word not in _SMALL)


def read(parsed: Parsed) -> dict[str, Any]:
    """The slots in the form of the labels. The time of a question is its calendar time and the event it refers to."""
    said = parsed.time.said if parsed.time else ""
    beside = parsed.relation == "side"
    here = loose(f"{parsed.place} {parsed.person}")
    chosen = (choice for choice in parsed.choices if parsed.kind != "yes_no" and not loose(choice) <= here)
    named = (*parsed.things, *chosen, *(parsed.anchors if parsed.kind == "order" and not parsed.clause else ()))
    return {
        "kind": parsed.kind, "things": frozenset(loose(thing) for thing in named), "person": loose(parsed.person),
        "place": loose(parsed.clause if beside else parsed.place), "time": loose(said if beside else f"{said} {parsed.clause}"),
        "predicate": loose(parsed.predicate),
        "negated": parsed.negated, "channel_hint": parsed.hint,
    }  # fmt: skip


def wanted(label: dict[str, Any]) -> dict[str, Any]:
    """The labels in the same form."""
    return {
        "kind": label["kind"], "things": frozenset(loose(thing) for thing in label["things"]), "person": loose(label["person"]),
        "place": loose(label["place"]), "time": loose(label["time"]), "predicate": loose(label["predicate"]), "negated": label["negated"],
        "channel_hint": label["channel_hint"],
    }  # fmt: skip


def measure(labels: list[dict[str, Any]], *, show: bool = False) -> dict[str, float]:
    """Shares of right slots and of right questions (English ones), share of recognised languages, and milliseconds per question."""
    right: defaultdict[str, list[bool]] = defaultdict(list)
    begun = time.perf_counter()
    for label in labels:
        parsed = understand(label["question"])
        right["language"].append(parsed.language == label["language"])
        if label["language"] != "en":
            continue
        got, want = read(parsed), wanted(label)
        wrong = [slot for slot in SLOTS if got[slot] != want[slot]]
        for slot in SLOTS:
            right[slot].append(slot not in wrong)
        right["every slot"].append(not wrong)
        right[f"every slot, {label['category']}"].append(not wrong)
        if show and wrong:
            print(label["id"], label["question"], "|", *(f"{slot}: {got[slot]!r} not {want[slot]!r};" for slot in wrong))
    table = {name: 100 * sum(values) / len(values) for name, values in right.items()}
    return {**table, "ms": 1000 * (time.perf_counter() - begun) / len(labels)}


def placed(parsed: Parsed) -> bool:
    """Whether every content word of the question is in a slot."""
    time = parsed.time.said if parsed.time else ""
    slots = (
        *parsed.things,
        *parsed.anchors,
        *parsed.choices,
        parsed.person,
        parsed.place,
        parsed.predicate,
        parsed.verb,
        parsed.clause,
        time,
    )
    return loose(" ".join(parsed.words)) <= loose(" ".join(slots))


def labelled(path: Path) -> list[dict[str, Any]]:
    """The labels of a file."""
    if path.suffix == ".json":
        found: list[dict[str, Any]] = json.loads(path.read_text())
        return found
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    made = [dict(zip(rows[0], (None if value == "-" else value for value in row), strict=True)) for row in rows[1:]]
    return [
        {**row, "things": (row["things"] or "").split("; ") if row["things"] else [], "negated": row["negated"] == "1", "language": "en",
         "channel_hint": row["channel_hint"] or "none"}
        for row in made
    ]  # fmt: skip


def coverage(questions: list[str]) -> dict[str, float]:
    """Of questions without labels: shares whose kind is not the catch-all, and of those that have all content words in a slot."""
    every = [understand(question) for question in questions]
    known = [parsed for parsed in every if parsed.kind != "other"]
    return {"kind known": 100 * len(known) / len(every), "all words placed": 100 * sum(map(placed, known)) / len(every)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labels", type=Path)
    parser.add_argument("--half", choices=("even", "odd"), default="odd")
    parser.add_argument("--show", action="store_true", help="print errors; only for the half that may be inspected")
    parser.add_argument("--wordings", action="store_true", help="the file has no labels: print the share of words that are in slots")
    args = parser.parse_args()
    if args.wordings:
        questions = [row["question"] for row in json.loads(args.labels.read_text())]
        print(*(f"{name:32} {value:6.1f}" for name, value in coverage(questions).items()), sep="\n")
        return
    rest, labels = 0 if args.half == "even" else 1, labelled(args.labels)
    if not args.labels.stem.startswith(("lot_", "hands_")):
        labels = [label for label in labels if int(label["id"][1:]) % 2 == rest]
    for name, value in measure(labels, show=args.show and args.half == "even").items():
        print(f"{name:32} {value:6.1f}")


if __name__ == "__main__":
    main()
