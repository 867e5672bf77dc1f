"""Write the entries of WordNet 3.0 for the labels of the classifier (ImageNet-1k) and the detector (COCO-80), as data of `edgemem/infer`.

    apt-get download wordnet-base && dpkg-deb -x wordnet-base_*.deb wordnet
    python tools/make_label_table.py --wordnet wordnet/usr/share/wordnet \
        --imagenet efficientnet_labels.txt --out edgemem/infer

The 1,000 ImageNet labels are synsets listed in the order of their WordNet offsets, each written as its lemmas separated by commas. So a
label's synset is the one with its lemmas; if there are several, the order decides ("crane" the bird comes before the machine). `labels.tsv`
has the columns set, label (as the model lists it), name (short, unique within its set), synset, synonyms, hypernyms (parent first), gloss;
lists use `|`. `nouns.txt.gz` relates the nouns that a person may ask for to the labels. Its first part has a line `@synset content
parent...` for every synset above or at a label; its second part a line `lemma synset...` for the first two senses that are physical things,
each the nearest synset of the first part, with `<` before it if the noun is below that synset ("pug" below "dog").
"""

from __future__ import annotations

import argparse
import gzip
import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

COCO = [
    "person",
    "bicycle",
    "car",
    "motorcycle",
    "airplane",
    "bus",
    "train",
    "truck",
    "boat",
    "traffic_light",
    "fire_hydrant",
    "stop_sign",
    "parking_meter",
    "bench",
    "bird",
    "cat",
    "dog",
    "horse",
    "sheep",
    "cow",
    "elephant",
    "bear",
    "zebra",
    "giraffe",
    "backpack",
    "umbrella",
    "handbag",
    "tie",
    "suitcase",
    "frisbee",
    "skis",
    "snowboard",
    "sports_ball",
    "kite",
    "baseball_bat",
    "baseball_glove",
    "skateboard",
    "surfboard",
    "tennis_racket",
    "bottle",
    "wine_glass",
    "cup",
    "fork",
    "knife",
    "spoon",
    "bowl",
    "banana",
    "apple",
    "sandwich",
    "orange",
    "broccoli",
    "carrot",
    "hot_dog",
    "pizza",
    "donut",
    "cake",
    "chair",
    "couch",
    "potted_plant",
    "bed",
    "dining_table",
    "toilet",
    "tv",
    "laptop",
    "mouse",
    "remote",
    "keyboard",
    "cell_phone",
    "microwave",
    "oven",
    "toaster",
    "sink",
    "refrigerator",
    "book",
    "clock",
    "vase",
    "scissors",
    "teddy_bear",
    "hair_drier",
    "toothbrush",
]
COCO_SENSE = {
    "truck": ("truck", 1), "stop_sign": ("street_sign", 1), "bear": ("bear", 1), "tie": ("necktie", 1), "skis": ("ski", 1),
    "sports_ball": ("ball", 1), "kite": ("kite", 3), "wine_glass": ("wineglass", 1), "cup": ("cup", 1), "bowl": ("bowl", 3),
    "orange": ("orange", 1), "broccoli": ("broccoli", 2), "carrot": ("carrot", 1), "hot_dog": ("hotdog", 3),
    "donut": ("doughnut", 2), "cake": ("cake", 3), "potted_plant": ("houseplant", 1), "bed": ("bed", 1),
    "dining_table": ("dining_table", 1), "toilet": ("toilet", 2), "tv": ("television_receiver", 1), "mouse": ("mouse", 4),
    "remote": ("remote_control", 1), "keyboard": ("computer_keyboard", 1), "cell_phone": ("cellular_telephone", 1),
    "book": ("book", 2), "teddy_bear": ("teddy", 1), "hair_drier": ("hand_blower", 1), "handbag": ("bag", 4),
    "horse": ("horse", 1), "sink": ("sink", 1), "banana": ("banana", 2), "microwave": ("microwave", 2),
    "toaster": ("toaster", 2), "cat": ("cat", 1), "dog": ("dog", 1), "glass": ("glass", 2),
    "baseball_glove": ("baseball_glove", 1),
}  # fmt: skip
"""The right noun sense in WordNet, if it is not the first one or the lemma has another spelling."""
TOO_WIDE = frozenset(
    [
        "entity",
        "physical entity",
        "object",
        "physical object",
        "whole",
        "unit",
        "artifact",
        "artefact",
        "instrumentality",
        "instrumentation",
        "matter",
        "living thing",
        "animate thing",
        "organism",
        "being",
        "thing",
        "substance",
        "chordate",
        "vertebrate",
        "craniate",
        "placental",
        "placental mammal",
        "eutherian",
        "eutherian mammal",
        "abstraction",
        "abstract entity",
        "attribute",
        "psychological feature",
        "causal agent",
        "cause",
        "causal agency",
        "relation",
        "part",
        "portion",
        "physical phenomenon",
        "process",
    ]
)
"""Hypernyms without information: almost every label has them."""


@dataclass(frozen=True)
class Synset:
    """One noun synset: its lemmas with spaces, the offsets of its hypernyms, its gloss without examples."""

    offset: int
    lemmas: tuple[str, ...]
    hypernyms: tuple[int, ...]
    gloss: str


def read_synsets(path: Path) -> dict[int, Synset]:
    """`data.noun` as offset -> synset (format: wndb(5WN))."""
    synsets = {}
    for line in path.read_text().splitlines():
        if line.startswith("  "):
            continue
        head, _, gloss = line.partition("|")
        field = head.split()
        count = int(field[3], 16)
        lemmas = tuple(field[4 + 2 * i].replace("_", " ") for i in range(count))
        pointers = field[5 + 2 * count :]
        hypernyms = tuple(int(pointers[i + 1]) for i in range(0, len(pointers) - 3, 4) if pointers[i] in {"@", "@i"})
        synsets[int(field[0])] = Synset(int(field[0]), lemmas, hypernyms, gloss.split(";")[0].strip())
    return synsets


def read_senses(path: Path) -> dict[str, list[int]]:
    """`index.noun` as lemma -> offsets, the most common sense first."""
    senses = {}
    for line in path.read_text().splitlines():
        if not line.startswith("  "):
            field = line.split()
            senses[field[0]] = [int(offset) for offset in field[-int(field[2]) :]]
    return senses


def resolve(labels: list[str], synsets: dict[int, Synset], senses: dict[str, list[int]]) -> list[int]:
    """The synset of every label: it has the label's lemmas, and offsets increase along the list. If there are several solutions, the most
    common senses."""
    holders = defaultdict(set)
    for synset in synsets.values():
        for lemma in synset.lemmas:
            holders[lemma.lower()].add(synset.offset)
    chains: list[tuple[int, int, list[int]]] = [(0, 0, [])]  # cost, last offset, offsets
    for label in labels:
        words = [word.strip().lower() for word in label.split(",")]
        candidates = set.intersection(*(holders[word] for word in words))
        exact = {c for c in candidates if {lemma.lower() for lemma in synsets[c].lemmas} == set(words)} or candidates
        rank = {c: senses[words[0].replace(" ", "_")].index(c) for c in exact}
        longer = [min(((cost + rank[c], c, [*chain, c]) for cost, last, chain in chains if last < c), default=None) for c in exact]
        chains = [chain for chain in longer if chain]
        if not chains:
            raise SystemExit(f"no synset for {label!r}")
    return min(chains)[2]


def closure(offset: int, synsets: dict[int, Synset]) -> list[str]:
    """Lemmas of all hypernyms, nearest first, without those that are too general."""
    seen: dict[int, None] = {}
    ring = list(synsets[offset].hypernyms)
    while ring:
        seen.update(dict.fromkeys(ring))
        ring = [h for o in ring for h in synsets[o].hypernyms if h not in seen]
    lemmas = [lemma for o in seen for lemma in synsets[o].lemmas]
    return list(dict.fromkeys(lemma for lemma in lemmas if lemma.lower() not in TOO_WIDE))


PHYSICAL, PERSON, HOMINID = 1930, 7846, 2472293
"""The synsets "physical entity", "person", and man as a primate, which is never meant in a question about a man."""
SENSES = 2
NOUN = re.compile(r"[a-z][a-z'-]*( [a-z][a-z'-]*){0,2}")
"""Lower case and at most three words: no proper names, no Latin."""


def above(offset: int, synsets: dict[int, Synset]) -> set[int]:
    """The synset and all its hypernyms."""
    found, todo = set(), [offset]
    while todo:
        o = todo.pop()
        if o not in found:
            found.add(o)
            todo += synsets[o].hypernyms
    return found


def information(synsets: dict[int, Synset]) -> dict[int, float]:
    """Intrinsic information content of physical synsets, 0 (the most general) to 1 (a leaf): Seco, Veale & Hayes, ECAI 2004, eq. 1."""
    below: Counter[int] = Counter()
    for offset in synsets:
        below.update(above(offset, synsets))
    return {o: 1 - math.log(n) / math.log(below[PHYSICAL]) for o, n in below.items() if PHYSICAL in above(o, synsets)}


def noun_lines(label_offsets: list[int], synsets: dict[int, Synset], senses: dict[str, list[int]]) -> list[str]:
    """The two parts of `nouns.txt`."""
    content = information(synsets)
    known = {o for label in label_offsets for o in above(label, synsets) if o in content}
    lines = [f"@{o} {content[o]:.3f} {' '.join(str(h) for h in synsets[o].hypernyms if h in known)}".rstrip() for o in sorted(known)]
    for lemma, offsets in sorted(senses.items()):
        physical = [o for o in offsets if o in content and o != HOMINID]
        physical = sorted(physical, key=lambda o: PERSON in above(o, synsets))[:SENSES]  # "gull" means the bird, not the fool
        if not NOUN.fullmatch(lemma.replace("_", " ")) or not any(lemma.replace("_", " ") in synsets[o].lemmas for o in physical):
            continue
        places = []
        for o in physical:
            nearest = max(above(o, synsets) & known, key=lambda k: content[k])
            if content[nearest] > 0:
                places.append(str(o) if o == nearest else f"<{nearest}")
        if places:
            lines.append(" ".join([lemma, *dict.fromkeys(places)]))
    return lines


def names(labels: list[str], offsets: list[int], synsets: dict[int, Synset]) -> list[str]:
    """The first lemma; if two labels have the same one, with its parent: "crane (wading bird)", "crane (lifting device)"."""
    first = [label.split(",")[0].strip() for label in labels]
    often = Counter(name.lower() for name in first)
    parent = [synsets[synsets[o].hypernyms[0]].lemmas[0] for o in offsets]
    unique = [name if often[name.lower()] == 1 else f"{name} ({above})" for name, above in zip(first, parent, strict=True)]
    return [name if unique.count(name) == 1 else f"{name} ({offset})" for name, offset in zip(unique, offsets, strict=True)]


def rows(which: str, labels: list[str], offsets: list[int], synsets: dict[int, Synset]) -> list[str]:
    """The table's lines for one list of labels."""
    lines = []
    for label, name, offset in zip(labels, names(labels, offsets, synsets), offsets, strict=True):
        words = [word.strip() for word in label.split(",")]
        synonyms = list(dict.fromkeys([*words[1:], *(x for x in synsets[offset].lemmas if x not in words)]))
        gloss = re.sub(r"\s+", " ", synsets[offset].gloss)
        lines.append("\t".join([which, label, name, str(offset), "|".join(synonyms), "|".join(closure(offset, synsets)), gloss]))
    return lines


def main() -> None:
    """Read the dictionary and the list of labels, write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("--wordnet", "--imagenet", "--out"):
        parser.add_argument(option, type=Path, required=True)
    args = parser.parse_args()
    synsets, senses = read_synsets(args.wordnet / "data.noun"), read_senses(args.wordnet / "index.noun")
    imagenet = args.imagenet.read_text().splitlines()[:1000]
    sense = [COCO_SENSE.get(label, (label, 1)) for label in COCO]
    coco = [senses[lemma][number - 1] for lemma, number in sense]
    offsets = resolve(imagenet, synsets, senses)
    head = "# Derived from WordNet 3.0, Copyright 2006 by Princeton University; its licence is in labels.LICENSE beside this file.\n"
    lines = rows("imagenet", imagenet, offsets, synsets) + rows("coco", [c.replace("_", " ") for c in COCO], coco, synsets)
    table = args.out / "labels.tsv"
    table.write_text(head + "set\tlabel\tname\tsynset\tsynonyms\thypernyms\tgloss\n" + "\n".join(lines) + "\n")
    nouns = noun_lines([*offsets, *coco], synsets, senses)
    packed = args.out / "nouns.txt.gz"
    packed.write_bytes(gzip.compress((head + "\n".join(nouns) + "\n").encode(), mtime=0))
    print(f"{len(lines)} labels, {len(nouns)} lines of nouns")


if __name__ == "__main__":
    main()
