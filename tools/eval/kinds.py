"""Which there were of a kind: `kinds.py TRUTH.json=MEMORY...` asks "Which birds did I see?" for every kind that a stream shows.

`--often` asks "Which bird did I see most often?" instead, of every kind of which one thing came more often than all others, and prints
how often that thing is named.

`--next` asks for the first of a kind after every sign and the last before it, and prints how often the first picture that is cited shows
that thing, within three seconds.

Prints how many of the names told are right (something of that kind with this name, or one above or below it in WordNet, was shown), how
many of the things of the kind some name is right for, and how many answers name all of them and nothing else.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import shown
from ask import ask_all, make_kit
from captions import Rightness

PLURALS = {"fish": "fish", "person": "people"}


def plural(kind: str) -> str:
    if kind in PLURALS:
        return PLURALS[kind]
    if kind.endswith("y") and kind[-2] not in "aeiou":
        return f"{kind[:-1]}ies"
    return f"{kind}{'es' if kind.endswith(('s', 'x', 'ch', 'sh')) else 's'}"


def named(answer: str) -> list[str]:
    """The names in an answer, without their times."""
    told = re.search(r"(?:saw|seen) the [^:]*: (?:what looked like )?(.*?)\.$|It looked like (.*?)\.(?: |$)", answer)
    if told is None:
        return []
    bare = re.sub(r"perhaps | at \d\d:\d\d:\d\d on \S+ \(.*?\)| \([\d:]{8}\)", "", told[1] or told[2])
    return [re.sub(r"^(?:an?|the|\d+ x) ", "", name.strip()) for name in re.split(r", | and ", bare) if name.strip()]


def most_often(streams: Sequence[str], *, each: bool) -> None:
    """Whether what came most often of a kind is told; a kind is asked where one thing came twice or more, and more often than others."""
    kit, right, asked, answered, ok = make_kit(), Rightness(), 0, 0, 0
    for pair in streams:
        truth, _, memory = pair.partition("=")
        showings = shown.read(Path(truth)).showings
        for kind in sorted({kind.lower() for one in showings for kind in one.kinds}):
            own = [one for one in showings if kind in {k.lower() for k in one.kinds}]
            (name, count), *others = Counter(one.names[0] for one in own).most_common()
            if count < 2 or (others and others[0][1] == count):
                continue
            names = {each.lower() for one in own if one.names[0] == name for each in one.names}
            (reply,) = ask_all(kit, Path(memory), [{"id": kind, "question": f"Which {kind} did I see most often?"}])
            told = re.findall(r"the ([\w -]+?) \d+ times?", reply["result"]["answer"]) if reply["result"]["status"] == "answered" else []
            asked, answered, ok = asked + 1, answered + bool(told), ok + any(right(one, names) for one in told)
            if each:
                print(kind, "|", ", ".join(told), "|", name, count)
    print(f"{asked} kinds asked, {answered} answered, {ok} right")


NEAR_S = 3.0
SIGNS = {"bus": "bus sign", "gate": "gate sign", "flight": "flight sign", "coffee": "coffee sign", "sale": "sale sign"}
"""What a sign of a life log is called by its first word."""


def next_ones(streams: Sequence[str]) -> None:
    """What of a kind came next after a sign, or last before it."""
    kit, asked, answered, ok, confident = make_kit(), 0, 0, 0, 0
    for pair in streams:
        truth, _, memory = pair.partition("=")
        showings = shown.read(Path(truth)).showings
        scenes = [one for one in json.loads(Path(truth).read_text())["scenes"] if one["sign_text"]]
        questions, right = list[dict[str, str]](), list[shown.Showing]()
        for scene in scenes:
            sign = SIGNS.get(scene["sign_text"][0].split()[0].lower())
            for kind in sorted({kind.lower() for one in showings for kind in one.kinds}) if sign else ():
                own = [one for one in showings if kind in {k.lower() for k in one.kinds}]
                for words, some, pick in (
                    ("first after", [one for one in own if one.t0 > scene["t1"]], min),
                    ("last before", [one for one in own if one.t1 < scene["t0"]], max),
                ):
                    if some:
                        questions.append({"id": str(len(questions)), "question": f"Which {kind} did I see {words} the {sign}?"})
                        right.append(pick(some, key=lambda one: one.t0))
        for one, true in zip(ask_all(kit, Path(memory), questions), right, strict=True):
            told = one["result"] if one["result"]["status"] == "answered" else None
            good = told and told["evidence"] and true.t0 - NEAR_S <= told["evidence"][0]["offset_s"] <= true.t1 + NEAR_S
            asked, answered, ok = asked + 1, answered + bool(told), ok + bool(good)
            confident += bool(told and not good and told["confidence"] >= 0.5)
    print(f"{asked} asked, {answered} answered, {ok} right, {confident} wrong and confident")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("streams", nargs="+", metavar="TRUTH.json=MEMORY")
    parser.add_argument("--each", action="store_true", help="print every question; not for streams that are for reporting")
    parser.add_argument("--often", action="store_true", help="ask what came most often instead")
    parser.add_argument("--next", action="store_true", help="ask what came next to the signs of life logs instead")
    args = parser.parse_args()
    if args.next:
        next_ones(args.streams)
        return
    if args.often:
        most_often(args.streams, each=args.each)
        return
    kit, right = make_kit(), Rightness()
    names = ok = things = met = whole = answered = asked = 0
    for pair in args.streams:
        truth, _, memory = pair.partition("=")
        showings = shown.read(Path(truth)).showings
        kinds = sorted({kind.lower() for one in showings for kind in one.kinds})
        questions = [{"id": kind, "question": f"Which {plural(kind)} did I see?"} for kind in kinds]
        for one in ask_all(kit, Path(memory), questions):
            result, kind = one["result"], one["id"]
            true = {s.names[0]: {name.lower() for name in s.names} for s in showings if kind in {k.lower() for k in s.kinds}}
            told = named(result["answer"]) if result["status"] == "answered" else []
            fits = [any(right(name, own) for own in true.values()) for name in told]
            found = [any(right(name, own) for name in told) for own in true.values()]
            names, ok, things, met = names + len(told), ok + sum(fits), things + len(true), met + sum(found)
            asked, answered, whole = asked + 1, answered + (result["status"] == "answered"), whole + (all(fits) and all(found))
            if args.each:
                print(kind, "|", ", ".join(told), "|", ", ".join(true))
    print(f"{asked} kinds asked, {answered} answered, {whole} wholly right")
    print(f"names right {100 * ok / max(1, names):.1f} % of {names}; things told {100 * met / max(1, things):.1f} % of {things}")


if __name__ == "__main__":
    main()
