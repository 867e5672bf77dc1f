"""How far the recogniser's confidence tells whether speech was heard right: `heard.py [--lifelog TRUTH.json=MEMORY ...]`.

240 sentences (`speech_set/tatoeba.tsv`, tatoeba.org, CC BY 2.0 FR) and 144 numbers in short sentences are spoken by packaged voices
(`speak.py`) and recognised; of the sentences every word must be right, of the others the number. A logistic model of the log odds of the
confidence is fitted on them (`answer.weigh.HEARD`) and reported on utterances of life logs, of which every word but the smallest must be
right: what was right of those within bounds of confidence, what the model says, and the area under the curve.

60 names in short sentences, a third of them in no list, show what the recogniser makes of names (`statements.is_unheard`): how many were
right of those that came out as a known name or a word, and of the others.
"""

import argparse
import json
import math
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import speak
from speech_edges import sentences

from edgemem.answer.gather import Candidate
from edgemem.answer.say.statements import is_unheard
from edgemem.answer.understand import Parsed
from edgemem.answer.understand.lexicon import FIRST_NAMES, STOP
from edgemem.answer.understand.words import NUMBERS, numbered, words
from edgemem.answer.weigh import HEARD
from edgemem.cli.app import CommandContext
from edgemem.records import SOUND_RATE_HZ, US
from edgemem.remember.view import View

BOUNDS = (0.0, 0.6, 0.75, 0.85, 1.0)
SHORT = ("The size is {}.", "Take bus number {}.", "It costs {} euros.")
CALLED = ("Her dog is called {}.", "My neighbour is called {}.", "The teacher's name is {}.")
RARE = (
    "Saoirse", "Lorcan", "Bronwyn", "Idris", "Keiko", "Anouk", "Ximena", "Thandi", "Rufus", "Ziggy", "Pippin", "Tadeo", "Ingrid", "Mateus",
    "Kofi", "Eluned", "Torsten", "Femke", "Odile", "Priya",
)  # fmt: skip
VOICES = ("en-us+f3", "en-gb+m3", "high", "low")
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
Heard = list[tuple[float, bool]]


def names() -> dict[bool, list[bool]]:
    """By whether nobody is known to have the name that was heard: whether it is the one that was said."""
    transcriber = CommandContext(None, ("engines.threads=2",)).engines.role("transcribe")
    pause, made, asked = np.zeros(SOUND_RATE_HZ // 4, np.float32), dict[bool, list[bool]](), Parsed(kind="what", form="name")
    known = sorted(name for name in FIRST_NAMES if len(name) > 3)
    for i, name in enumerate((*known[:: len(known) // 40][:40], *RARE)):
        sound = speak.speak(CALLED[i % 3].format(name.title()), VOICES[i % 4])
        text = transcriber.transcribe(np.concatenate([pause, sound, pause]), language="en").text
        unheard = is_unheard(asked, Candidate(channel="speech", text=text, evidence=()))
        made.setdefault(unheard, []).append(name.lower() in words(text))
    return made


def spoken() -> dict[str, Heard]:
    """Confidence, and whether it is right, of each sentence and of each number: 21 to 99 without those of one word, and 2.1 to 9.9."""
    transcriber = CommandContext(None, ("engines.threads=2",)).engines.role("transcribe")
    pause = np.zeros(SOUND_RATE_HZ // 4, np.float32)

    def heard(text: str, voice: str) -> tuple[float, str]:
        found = transcriber.transcribe(np.concatenate([pause, speak.speak(text, voice), pause]), language="en")
        return found.confidence, found.text

    whole, numbers = Heard(), Heard()
    for one in sentences():
        sure, text = heard(one.text, one.voice)
        whole.append((sure, numbered(text) == numbered(one.text)))
    units = [word for word, value in NUMBERS.items() if 0 < value < 10][:9]
    for i, (ten, unit) in enumerate((ten, unit) for ten in range(2, 10) for unit in range(1, 10)):
        for said, wanted in (
            (f"{TENS[ten - 2]} {units[unit - 1]}", f"{ten}{unit}"),
            (f"{units[ten - 1]} point {units[unit - 1]}", f"{ten}.{unit}"),
        ):
            sure, text = heard(SHORT[i % 3].format(said), VOICES[i % 4])
            numbers.append((sure, re.search(rf"(?<![\d.]){re.escape(wanted)}(?![\d])", text) is not None))
    return {"sentences": whole, "numbers": numbers}


def remembered(truth: Path, memory: Path) -> Heard:
    """The same of the utterances of a life log: every word of one but the smallest stands in what was said within a second of it."""
    said = json.loads(truth.read_text())["utterances"]
    with View.open(memory) as view:
        start_us = view.streams()[0].t0_us
        made = []
        for one in view.utterances(limit=1000):
            t0, t1 = ((t_us - start_us) / US for t_us in (one.document.t0_us, one.document.t1_us))
            near = {word for u in said if u["t0"] - 1 < t1 and t0 < u["t1"] + 1 for word in numbered(u["text"])}
            made.append((one.confidence, set(numbered(one.document.text)) <= near | STOP))
    return made


def fit(some: Heard) -> tuple[float, float]:
    """Constant and weight, by Newton's method."""
    x = np.array([(1.0, math.log(max(sure, 0.01) / (1.001 - sure))) for sure, _ in some])
    y, found = np.array([right for _, right in some], float), np.zeros(2)
    for _ in range(50):
        p = 1 / (1 + np.exp(-(x @ found)))
        found += np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x, x.T @ (y - p))
    return float(found[0]), float(found[1])


def report(name: str, some: Heard) -> None:
    """One line a set."""
    sure, right = np.array([one for one, _ in some]), np.array([ok for _, ok in some])
    area = (sure[right][:, None] > sure[~right]).mean()
    parts = []
    for low, high in pairwise(BOUNDS):
        inside = (sure >= low) & (sure < high + (high == 1))
        said = 1 / (1 + np.exp(-(HEARD[0] + HEARD[1] * np.log(np.maximum(sure[inside], 0.01) / (1.001 - sure[inside])))))
        parts.append(f"{low}: {right[inside].sum()} of {inside.sum()} (model {said.sum():.0f})")
    print(f"{name:12} area {area:.3f}; right from a confidence of {', '.join(parts)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lifelog", nargs="*", default=[], metavar="TRUTH.json=MEMORY")
    args = parser.parse_args()
    sets = spoken()
    print("fitted:", " ".join(f"{value:.2f}" for value in fit([one for some in sets.values() for one in some])), "shipped:", *HEARD)
    for name, some in sets.items():
        report(name, some)
    for unheard, right in sorted(names().items()):
        print(f"names, {'others' if unheard else 'known names and words'}: {sum(right)} of {len(right)} right")
    pairs = [pair.partition("=") for pair in args.lifelog]
    if logs := [one for truth, _, memory in pairs for one in remembered(Path(truth), Path(memory))]:
        report("life logs", logs)


if __name__ == "__main__":
    main()
