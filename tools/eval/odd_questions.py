"""Read questions with their words left out, put in, swapped, joined and repeated: `odd_questions.py [--seconds 60] [--seed 0]`.

The questions are those of `parse_set` and `natural_set`. Each is changed one to three times and read, half of them behind the one
before. One that raises anything but UsageError, or that is not read within `PATIENCE_S`, is printed and counts as a failure; the slowest
are printed at the end. Of 140,000 questions that were read so when this was written three ways failed: "a man with a pair of glasses" was
an IndexError, and two patterns divided a row of equal words in every possible way, so that they had no end.
"""

import argparse
import heapq
import json
import random
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from edgemem.answer.understand import Parsed, understand
from edgemem.errors import UsageError

PATIENCE_S = 5.0
"""Questions take 4 ms; one of 600 characters up to 400."""
SETS = Path(__file__).parent
MARKS = "0?!.,;:-'\"()/&%#@\u2026\u2014\u201c\u00b4`\t\u00e9\u4e2d\U0001f600"
ROW = 30


def questions() -> list[str]:
    """Everything that is asked in the sets."""
    found: list[str] = []
    for file in sorted((*SETS.glob("parse_set/*.json"), *SETS.glob("natural_set/*.json"))):
        asked: list[Any] = json.loads(file.read_text(encoding="utf-8"))
        found += [one["question"] for one in asked if one["question"].strip()]
    return found


def changed(text: str, asked: list[str], rng: random.Random) -> str:
    """The same with one change."""
    words, other = text.split() or ["x"], rng.choice(asked).split()
    at = rng.randrange(len(words))
    until = min(len(words), at + rng.randrange(1, 4))
    makes = (
        lambda: words[:at] + words[at + 1 :],
        lambda: [*words[:at], rng.choice(other), *words[at:]],
        lambda: rng.sample(words, len(words)),
        lambda: words + other,
        lambda: words[:at] + words[at:until] * rng.choice((2, ROW)) + words[until:],
        lambda: [*words[:at], words[at] + rng.choice(MARKS), *words[at + 1 :]],
        lambda: words[: at + 1],
        lambda: [rng.choice(rng.choice(asked).split()) for _ in range(rng.randrange(1, 60))],
        lambda: [*words[:at], words[at][::-1], *words[at + 1 :]],
    )
    return " ".join(rng.choice(makes)())


def read(text: str, before: Parsed | None) -> tuple[Parsed | None, str]:
    """What it means, and how reading it failed."""
    signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)
    try:
        return understand(text, before), ""
    except UsageError:
        return None, ""
    except Exception as error:  # noqa: BLE001 - this is what it looks for
        own = [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in traceback.extract_tb(error.__traceback__)]
        return None, f"{type(error).__name__} in {[one for one in own if 'understand' in one][-1]}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _late(*_: object) -> None:
    raise TimeoutError


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    signal.signal(signal.SIGALRM, _late)
    rng, asked, failures = random.Random(args.seed), questions(), set[str]()
    slowest, count, before = list[tuple[float, str]](), 0, None
    until = time.monotonic() + args.seconds
    while time.monotonic() < until:
        text = rng.choice(asked)
        for _ in range(rng.randrange(1, 4)):
            text = changed(text, asked, rng)
        begun, behind = time.perf_counter(), before if rng.random() < 0.5 else None
        before, failure = read(text, behind)
        slowest, count = heapq.nlargest(3, (*slowest, (time.perf_counter() - begun, text))), count + 1
        if failure and failure not in failures:
            failures.add(failure)
            print(f"{text!r}\n  behind {behind.text if behind else ''!r}\n{failure}\n", flush=True)
    print(f"{count} questions, {len(failures)} ways to fail")
    for seconds, text in slowest:
        print(f"{1000 * seconds:6.0f} ms  {text[:100]}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
