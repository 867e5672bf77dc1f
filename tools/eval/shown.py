"""What a stream shows and when, as phrases from `truth.json` of either generator, with phrases that are true of nothing in it."""

import json
import random
from collections.abc import Iterable
from pathlib import Path

import msgspec
from media import load_catalog
from world import NEVER, Span, Truth

NONSENSE_SEED, NONSENSE = 7, 50


class Showing(msgspec.Struct, frozen=True):
    """One thing in view from `t0` to `t1` (seconds from the start): its names, exact one first, and its hypernyms."""

    t0: float
    t1: float
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    colour: str = ""
    alone: bool = True
    """Whether nothing else was shown at the same time."""

    @property
    def phrases(self) -> tuple[str, ...]:
        """All phrases that are true of it, in lower case."""
        plain = tuple(dict.fromkeys(phrase.lower() for phrase in (*self.names, *self.kinds)))
        coloured = tuple(f"{self.colour} {phrase}" for phrase in plain if self.colour and self.colour not in phrase)
        return plain + coloured


class Behind(msgspec.Struct, frozen=True):
    """Phrases that are true of other things in view from `t0` to `t1`: the background, a sign, a street."""

    t0: float
    t1: float
    phrases: tuple[str, ...]


class Shown:
    """All showings of one stream, and their backgrounds."""

    def __init__(self, showings: Iterable[Showing], behind: Iterable[Behind], never: Iterable[str]) -> None:
        self.showings = sorted(showings, key=lambda showing: showing.t0)
        self.behind = tuple(behind)
        self._elsewhere = {phrase.lower() for view in self.behind for phrase in view.phrases}
        self._never = {phrase.lower() for phrase in never}

    def names(self, t0: float, t1: float) -> set[str]:
        """Names of all things in view at some time between `t0` and `t1`, and phrases for their backgrounds."""
        things = {name.lower() for s in self.showings if s.t0 <= t1 and s.t1 >= t0 for name in s.names}
        return things | {phrase.lower() for b in self.behind if b.t0 <= t1 and b.t1 >= t0 for phrase in b.phrases}

    def spans(self, phrase: str) -> tuple[Span, ...]:
        """When something of that name was in view."""
        return tuple((s.t0, s.t1) for s in self.showings if phrase in s.phrases)

    def asked(self) -> dict[str, str]:
        """Phrases of what was shown -> exact, synonym, kind or colour; phrases that are also true of a background are left out."""
        found: dict[str, str] = {}
        for showing in self.showings:
            for phrase in showing.phrases:
                found.setdefault(phrase, _difficulty(showing, phrase))
        return {phrase: difficulty for phrase, difficulty in found.items() if phrase not in self._elsewhere}

    def never(self) -> list[str]:
        """Things named by the generator as never shown, or everyday things that share no word with anything in view."""
        seen = {phrase for showing in self.showings for phrase in showing.phrases} | self._elsewhere
        words = {word for phrase in seen for word in phrase.split()}
        everyday = [name.strip() for name in NEVER.split("|")]
        return sorted(p for p in {*self._never, *everyday} if p not in seen and p.split()[-1] not in words)


def _difficulty(showing: Showing, phrase: str) -> str:
    names = [name.lower() for name in showing.names]
    if phrase in names:
        return "exact" if phrase == names[0] else "synonym"
    return "kind" if phrase in showing.kinds else "colour"


def read(path: Path) -> Shown:
    """From a generator's `truth.json`: of `compose.py` or of a lifelog."""
    raw = json.loads(path.read_bytes())
    return _lifelog(raw) if "appearances" in raw else _composed(msgspec.json.decode(path.read_bytes(), type=Truth))


def _lifelog(raw: dict) -> Shown:  # type: ignore[type-arg]  # the file's own form
    showings = [Showing(a["t0"], a["t1"], tuple(a["names"]), tuple(a["hypernyms"]), alone=a["single"]) for a in raw["appearances"]]
    behind = []
    for scene in raw["scenes"]:
        phrases = next((words for file, words in BACKGROUNDS.items() if file in scene["background"]), "")
        more = BEHIND.get(scene["kind"], "")
        behind.append(Behind(scene["gap0"], scene["t1"], tuple(f"{phrases}|{more}".strip("|").split("|"))))
    return Shown(showings, behind, (name.removeprefix("photo:") for name in raw["never_shown"]))


BACKGROUNDS = {
    "aero": "city|town|aerial view|field|forest|river", "building": "building|office building|house|window|plant|tree|balcony",
    "graf": "graffiti|mural|wall|comic book|painting", "leuven": "building|house|street|brick wall|church|abbey|pavement",
    "board": "circuit board|computer part|electronic equipment|chip", "home": "house|brick|roof|window|chimney|mobile home",
    "retina_Tree": "tree|field|plain|sky|grassland", "starry_night": "painting|night|picture|church|village",
    "gst_input": "rock|stone", "originalVS": "house|barn|lake|lakeside|tree|water|boathouse|church",
    "Harris": "building|house|window|window frame", "box_in_scene": "box|book|packet|carton|book jacket|bag",
    "fusion_mertens": "building|arch|dome|government building|city|night|fountain|palace", "tree.avi": "tree|window|curtain|leaf",
}  # fmt: skip
"""Backgrounds of the things in the lifelogs, by a part of the file's name; labelled by hand."""
BEHIND = {
    "street": "person|people|pedestrian|car|van|street|pavement|bicycle", "sign": "sign|street sign|board|signboard",
    "realsign": "sign|street sign|parking sign|pole",
}  # fmt: skip


def _composed(truth: Truth) -> Shown:
    showings, behind = [], []
    for segment in truth.segments:
        if segment.what in ("blurred", "black", "frozen"):
            continue
        alone = len(segment.things) == 1
        showings += [Showing(segment.t0, segment.t1, item.ask, item.kinds, item.colour, alone) for item in segment.things]
        sign = ("sign", "street sign") if segment.sign else ()
        behind.append(Behind(segment.t0, segment.t1, (*(sorted(segment.background.tags) if segment.background else ()), *sign)))
    tags = {p for showing in showings for p in showing.phrases} | {p for view in behind for p in view.phrases}
    unseen = [item.name for item in load_catalog() if item.role == "object" and not {p.lower() for p in (*item.ask, *item.kinds)} & tags]
    return Shown(showings, behind, unseen)


def nonsense(count: int = NONSENSE) -> list[str]:
    """Words without a meaning, such as "plorbit"; always the same ones."""
    rng = random.Random(NONSENSE_SEED)
    start, vowel = ["bl", "fr", "gl", "pl", "sn", "tw", "v", "z", "k", "d", "m", "qu"], "aeiou"
    middle, end = ["rb", "mp", "x", "zz", "ndl", "gg", "v", "rk"], ["it", "ax", "ol", "um", "ee", "ank", "oid", "ish", "er", "le"]
    return [rng.choice(start) + rng.choice(vowel) + rng.choice(middle) + rng.choice(end) for _ in range(count)]
