"""The labels of classifier and detector: their names, their synsets in WordNet, and which labels a phrase may mean.

The tables are derived from WordNet 3.0 by `tools/make_label_table.py` (its licence: `labels.LICENSE`); `names.txt` has everyday
names that WordNet does not have near the label, and that by themselves make no label likely (`PhraseMatcher.firing` below .1).
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from edgemem.records import Matrix, Record, Vector
from edgemem.words import singulars

if TYPE_CHECKING:
    import numpy.typing as npt

PREPOSITION = re.compile(
    r"\s(?:with|without|of|in|on|from|inside|at|near|by|under|behind|beside|next to|that|which|who|covered|used|made)\s.*"
)
SECOND_SENSE = 0.5
"""Weight of a noun's second sense. With 1.0, a baseball bat was found for "bat" the animal; with 0, "mouse" was not found."""
IS_ABOVE = 0.95
"""Similarity of a phrase to a more general label: a picture of a pug is nearly always labelled "dog" too."""


class Label(Record, frozen=True):
    """One class of a model. `name` is short and unique within its set; `label` is the text in the model's own list."""

    set: str
    label: str
    name: str
    synset: int
    synonyms: tuple[str, ...]
    hypernyms: tuple[str, ...]
    """Synsets above it, nearest first."""
    gloss: str

    @property
    def plain(self) -> str:
        """The name without the part that distinguishes labels of the same name: "crane (wading bird)" is "crane"."""
        return self.name.split(" (")[0]


@lru_cache(maxsize=1)
def read_table() -> tuple[Label, ...]:
    """Every label with an entry in the table."""
    lines = files("edgemem.infer").joinpath("labels.tsv").read_text(encoding="utf-8").splitlines()
    table = []
    for line in lines[2:]:
        which, label, name, synset, synonyms, hypernyms, gloss = line.split("\t")
        pair = (tuple(filter(None, synonyms.split("|"))), tuple(filter(None, hypernyms.split("|"))))
        table.append(Label(set=which, label=label, name=name, synset=int(synset), synonyms=pair[0], hypernyms=pair[1], gloss=gloss))
    return tuple(table)


def describe(labels: Sequence[str], which: str) -> tuple[Label, ...]:
    """The table's entries for a model's labels, found by first name; if several have it, by order. An unknown label gets an entry with its
    name only.
    """
    known: dict[str, list[Label]] = {}
    for entry in read_table():
        if entry.set == which:
            known.setdefault(entry.label.split(",")[0].strip(), []).append(entry)
    found: list[Label] = []
    for label in labels:
        first = label.split(",")[0].strip()
        namesakes = known.get(first, [])
        found.append(
            namesakes.pop(0) if namesakes else Label(set=which, label=label, name=first, synset=0, synonyms=(), hypernyms=(), gloss="")
        )
    return tuple(found)


def heads(phrase: str) -> list[str]:
    """The phrase, then the phrase without its tail, then without one modifier after the other: "red cup of tea", "red cup", "cup"."""
    words = re.sub(r"[^\w\s'-]", " ", phrase.lower()).split()
    core = PREPOSITION.sub("", " ".join(words) + " ").split() or words
    return list(dict.fromkeys(" ".join(part) for part in [words, *(core[i:] for i in range(len(core)))]))


def squeezed(name: str) -> str:
    """Without what separates the parts of a compound."""
    return re.sub(r"[\s_-]", "", name)


class Nouns:
    """The positions of nouns in WordNet's hierarchy, relative to the labels."""

    def __init__(self) -> None:
        text = gzip.decompress(files("edgemem.infer").joinpath("nouns.txt.gz").read_bytes()).decode()
        nodes, _, self._lemmas = text.partition("\na")  # the lines of the nodes start with @, so the lemmas start at the first "a"
        self._lemmas = "\na" + self._lemmas
        self._squeezed = re.sub("[_-]", "", self._lemmas)
        rows = [line[1:].split() for line in nodes.splitlines() if line.startswith("@")]
        self._row = {int(row[0]): i for i, row in enumerate(rows)}
        self.content: Vector = np.array([float(row[1]) for row in rows], np.float32)
        """Information content per row, 0 (the most general) to 1 (a leaf)."""
        self._parents = [[self._row[int(p)] for p in row[2:]] for row in rows]
        self.senses = lru_cache(maxsize=4096)(self._senses)  # 0.6 ms for a lemma that is none
        """Rows of the synsets of a lemma, the most common sense first, and whether the noun is below that synset.

        A compound is found in one word, in two, or with a hyphen: "letterbox", "tooth brush", "hot air balloon".
        """

    def row(self, synset: int) -> int:
        """The row of a synset at or above a label, else -1."""
        return self._row.get(synset, -1)

    def _senses(self, lemma: str) -> tuple[tuple[int, bool], ...]:
        for lines, name in ((self._lemmas, lemma.replace(" ", "_")), (self._squeezed, squeezed(lemma))):
            at = lines.find(f"\n{name} ")
            if at >= 0:
                places = lines[at + 1 : lines.find("\n", at + 1)].split()[1:]
                return tuple((self._row[int(place.lstrip("<"))], place.startswith("<")) for place in places)
        return ()

    def find(self, phrase: str) -> tuple[str, tuple[tuple[int, bool], ...]]:
        """The longest head of the phrase that is a known noun, and its senses; ("", ()) if there is none."""
        for head in heads(phrase):
            for lemma in singulars(head):
                if senses := self.senses(lemma):
                    return head, senses
        return "", ()

    def above(self, row: int) -> set[int]:
        """The row and all rows above it."""
        found: set[int] = set()
        todo = [row]
        while todo:
            if (one := todo.pop()) not in found:
                found.add(one)
                todo += self._parents[one]
        return found


@lru_cache(maxsize=1)
def nouns() -> Nouns:
    """The nouns of WordNet that a label may stand for: things that can be seen."""
    return Nouns()


@lru_cache(maxsize=1)
def label_names() -> frozenset[str]:
    """The first names of all labels, in lower case."""
    return frozenset(label.plain.lower() for label in read_table())


@lru_cache(maxsize=1)
def other_names() -> dict[str, tuple[str, ...]]:
    """The labels of a name that no label has as its first: their synonyms in WordNet, and everyday names (`names.txt`)."""
    lines = files("edgemem.infer").joinpath("names.txt").read_text(encoding="utf-8").splitlines()[1:]
    everyday = ((label, name) for label, _, names in (line.partition("=") for line in lines) for name in names.split("|"))
    synonyms = ((label.plain, name.lower()) for label in read_table() for name in label.synonyms)
    own = label_names()
    named: dict[str, dict[str, None]] = {}
    for called, name in (*synonyms, *everyday):
        if name not in own:
            named.setdefault(name, {})[called] = None
    return {name: tuple(labels) for name, labels in named.items()}


def labels_called(phrase: str) -> tuple[str, ...]:
    """The labels that people call so: "my red settee" is a couch. None where WordNet has a longer part: an "elephant seal" is no seal."""
    for part in heads(phrase):
        names = singulars(part)
        if labels := [label for name in names for label in other_names().get(name, ())]:
            return tuple(dict.fromkeys(labels))
        if any(nouns().senses(name) for name in names):
            return ()
    return ()


@cache
def _rows_of_labels() -> dict[str, frozenset[int]]:
    """The rows of WordNet that are above the labels of each name, and their own."""
    rows: dict[str, set[int]] = {}
    for label in read_table():
        row = nouns().row(label.synset)
        rows.setdefault(label.name, set()).update(nouns().above(row) if row >= 0 else ())
    return {name: frozenset(some) for name, some in rows.items()}


@lru_cache(maxsize=1000)
def _rows_of_kind(kind: str) -> frozenset[int]:
    """The rows of the senses of a noun, without those that it is itself below."""
    return frozenset(row for called in singulars(kind) for row, below in nouns().senses(called) if not below)


def is_kind_of(label: str, kind: str) -> bool:
    """A label is below `kind` in one of its senses: "toucan" is a "bird". False for what is no noun of WordNet by itself: "pink bird"."""
    return not _rows_of_kind(kind).isdisjoint(_rows_of_labels().get(label, ()))


@lru_cache(maxsize=1000)
def has_kinds(kind: str) -> bool:
    """Some label is a kind of it."""
    return any(is_kind_of(label.name, kind) for label in read_table() if label.name not in singulars(kind))


class Meanings:
    """Similarity of phrases to a fixed list of labels by meaning only (Lin 1998 with intrinsic information content)."""

    def __init__(self, labels: Sequence[Label]) -> None:
        self._nouns = nouns()
        self._rows = np.array([self._nouns.row(label.synset) for label in labels], np.int64)
        self._content = np.where(self._rows < 0, 0.0, self._nouns.content[self._rows]).astype(np.float32)
        self._above: npt.NDArray[np.bool_] = np.zeros((len(labels), len(self._nouns.content)), np.bool_)
        for i, row in enumerate(self._rows):
            if row >= 0:
                self._above[i, sorted(self._nouns.above(int(row)))] = True

    def likeness(self, phrase: str) -> Vector:
        """0 (nothing in common) to 1 (the label is a kind of it), float32 [labels]; zeros if no noun of the phrase is known."""
        _, senses = self._nouns.find(phrase)
        best: Vector = np.zeros(len(self._rows), np.float32)
        for (row, below), weight in zip(senses, (1.0, SECOND_SENSE), strict=False):
            best = np.maximum(best, weight * self._lin(row, below))
        return best

    def among_labels(self) -> Matrix:
        """The likeness of the labels among themselves, float32 [labels, labels]; zeros for a label that is not in WordNet."""
        return np.stack([self._lin(int(row), below=False) if row >= 0 else np.zeros(len(self._rows), np.float32) for row in self._rows])

    def _lin(self, row: int, below: bool) -> Vector:
        """2 IC(lowest common hypernym) / (IC(noun) + IC(label)), raised if one is above the other.

        A noun below its synset counts as a leaf (IC 1).
        """
        over = np.array(sorted(self._nouns.above(row)))
        shared = (self._above[:, over] * self._nouns.content[over]).max(axis=1)
        own = 1.0 if below else float(self._nouns.content[row])
        lin = np.clip(2 * shared / np.maximum(own + self._content, 1e-6), 0.0, 1.0)
        more_general = np.isin(self._rows, over) & (self._content > 0)
        lin = np.where(more_general, np.maximum(lin, IS_ABOVE), lin)
        return np.asarray(lin if below else np.where(self._above[:, row], 1.0, lin), np.float32)
