"""Predicts which labels a classifier gives to a picture of a named thing: a probability per label from a phrase, without any picture.

It connects open questions to a closed vocabulary of 1,080 labels. A few features compare every label with the phrase: the cosine of their
sentence vectors (as "a photo of ...", and of the phrase with the label's gloss), whether their words are the same, and Lin's similarity in
WordNet. A logistic model computes from them the probability that the classifier gives the label to a picture of the thing. Its weights were
fitted on the classifier's output for photographs of named things.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from edgemem import files
from edgemem.infer.labels import Label, Meanings, heads, labels_called, nouns, squeezed
from edgemem.infer.projection import CROP_DIM, shorten
from edgemem.infer.prototype import coefficients, kernel, prototype
from edgemem.infer.roles import Classifier, TextEmbedder
from edgemem.records import Matrix, Record, Vector
from edgemem.words import singulars

if TYPE_CHECKING:
    import numpy.typing as npt

FACTS = ("photo", "gloss", "photo^3", "same", "same head", "lin", "lin^3", "lin*photo")
"""Columns of `PhraseMatcher.facts`."""
COLOURS = ("black", "white", "grey", "red", "orange", "yellow", "green", "blue", "purple", "pink", "brown")
"""The eleven basic colour terms (Berlin & Kay 1969)."""
COLOUR_WORDS = {word: word for word in COLOURS} | {
    "gray": "grey", "silver": "grey", "silvery": "grey", "golden": "yellow", "gold": "yellow", "blond": "yellow", "blonde": "yellow",
    "violet": "purple", "lilac": "purple", "magenta": "pink", "rosy": "pink", "crimson": "red", "scarlet": "red", "reddish": "red",
    "turquoise": "blue", "cyan": "blue", "navy": "blue", "bluish": "blue", "beige": "brown", "tan": "brown", "khaki": "brown",
    "greenish": "green", "olive": "green", "yellowish": "yellow", "dark": "black", "pale": "white", "whitish": "white",
}  # fmt: skip


class LabelQuery(Record, frozen=True):
    """What to search in the observations: per name the probability that it is given to a picture of the thing, and the colours of the
    query.
    """

    labels: dict[str, float]
    objects: dict[str, float]
    kinds: frozenset[str] = frozenset()
    """Labels that are the thing or a kind of it, as a "Pekinese" is a "dog". Their probability in `labels` is that any of them is given."""
    colours: tuple[str, ...] = ()
    likeness: float = 0.0
    """0..1: similarity of the thing to its nearest label in WordNet; 1 if a label is the thing or a kind of it, 0 for an unknown word."""
    prototype: Vector | None = None
    """Where crops that show it lie: a unit vector of the space of crops. None where the classifier does not tell its directions."""


def split_colours(phrase: str) -> tuple[str, tuple[str, ...]]:
    """The phrase without its colour words, and these as basic colour terms. The last word never counts as a colour: "a red orange"."""
    words = phrase.split()
    plain = [re.sub(r"\W", "", word).lower() for word in words]
    found = [i for i, word in enumerate(plain) if word in COLOUR_WORDS and i < len(words) - 1]
    rest = [word for i, word in enumerate(words) if i not in found and not (plain[i] == "and" and i - 1 in found and i + 1 in found)]
    return " ".join(rest), tuple(dict.fromkeys(COLOUR_WORDS[plain[i]] for i in found))


class PhraseMatcher:
    """Finds labels for phrases. `labels`: those of the classifier, then those of the detector (`infer.labels.describe`)."""

    def __init__(
        self, labels: Sequence[Label], embedder: TextEmbedder, cache_dir: Path | None = None, classifier: Classifier | None = None
    ) -> None:
        """`classifier`: gives the first labels, and from its directions prototypes, where it tells them."""
        self._labels = tuple(labels)
        self._classifier = classifier
        self._dual: Matrix | None = None
        self._embedder = embedder
        self._cache_dir = cache_dir
        words = [[word.lower() for word in (label.plain, *label.synonyms)] for label in self._labels]
        self._words = [{squeezed(word) for word in of_label} for of_label in words]
        self._last = [{word.split()[-1] for word in of_label} for of_label in words]
        self._vectors: tuple[Matrix, Matrix] | None = None
        self._meanings: Meanings | None = None

    def match(self, phrase: str, keep: int = 40) -> LabelQuery:
        """The `keep` most probable labels of each kind for a phrase such as "red toy car", and all that are the thing or a kind of it; its
        colour words are returned separately.
        """
        plain, colours = split_colours(phrase)
        facts = self.facts(plain)
        fires, likeness = _fires(facts), float(facts[:, [FACTS.index("same"), FACTS.index("lin")]].max())
        is_object = np.array([label.set == "coco" for label in self._labels])
        whole = nouns().find(plain)[0] == " ".join(plain.lower().split())  # "pink wading bird" is more than a bird
        below = ~is_object & whole & (facts[:, FACTS.index("lin")] == 1)
        fires_any = np.where(below, 1 - np.prod(1 - fires[below]), fires)
        parts = []
        for chosen in (np.flatnonzero(~is_object), np.flatnonzero(is_object)):
            best = chosen[np.argsort(-fires[chosen], kind="stable")]
            wanted = (*best[:keep], *(i for i in best[keep:] if below[i]))
            parts.append({self._labels[i].name: float(fires_any[i]) for i in wanted})
        kinds = frozenset(self._labels[i].name for i in np.flatnonzero(below))
        return LabelQuery(
            labels=parts[0], objects=parts[1], kinds=kinds, colours=colours, likeness=likeness, prototype=self._prototype(facts)
        )  # fmt: skip

    def firing(self, phrase: str) -> Vector:
        """Probability that each label is given to a picture of the thing, float32 [labels]."""
        return _fires(self.facts(phrase))

    def _prototype(self, facts: Matrix) -> Vector | None:
        if self._dual is None:
            weights = self._classifier.label_weights if self._classifier is not None else None
            if weights is None:
                self._classifier = None
                return None
            self._dual = self._cached("prototypes", weights.tobytes(), lambda: self._coefficients(weights))
        photo, gloss, lin = (facts[: len(self._dual), FACTS.index(name)] for name in ("photo", "gloss", "lin"))
        return prototype(kernel(photo, gloss, lin), self._dual)

    def _coefficients(self, weights: Matrix) -> Matrix:
        count = len(weights)
        photo, gloss = (rows[:count] for rows in self.vectors())
        lin = self._likeness.among_labels()[:count, :count]
        return shorten(coefficients(kernel(photo @ photo.T, gloss @ gloss.T, lin), weights), CROP_DIM)

    @property
    def _likeness(self) -> Meanings:
        if self._meanings is None:
            self._meanings = Meanings(self._labels)
        return self._meanings

    def facts(self, phrase: str) -> Matrix:
        """The columns `FACTS` for every label, float32 [labels, 8]. Of a thing with other names, the greatest of those of its names."""
        photo, gloss = self.vectors()
        names = (phrase, *labels_called(phrase))
        query = self._embedder.embed_text([text for name in names for text in (with_article(name, "a photo of "), name)])
        found = []
        for i, name in enumerate(names):
            cosine, defined = photo @ query[2 * i], gloss @ query[2 * i + 1]
            same, head = self._same_words(name)
            lin = self._likeness.likeness(name)
            found.append(np.stack([cosine, defined, cosine**3, same, head, lin, lin**3, lin * cosine], axis=1))
        return np.asarray(np.max(found, axis=0), np.float32)

    def _same_words(self, phrase: str) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """1 if the whole phrase is one of the label's names, .7 if its head is; and 1 if their last words are the same."""
        parts = heads(phrase)
        names = [{squeezed(name) for name in singulars(part)} for part in parts]
        last = set(singulars(parts[-1].split()[-1])) if parts and parts[-1] else set()
        whole, parts_of = names[:1], names[1:]
        same = [
            1.0 if any(words & name for name in whole) else 0.7 if any(words & name for name in parts_of) else 0.0 for words in self._words
        ]
        return np.array(same, np.float32), np.array([1.0 if ends & last else 0.0 for ends in self._last], np.float32)

    def vectors(self) -> tuple[Matrix, Matrix]:
        """Sentence vectors of the labels as "a photo of ..." and with their glosses, each float32 [labels, dim].

        Computed once (some seconds), then read from the cache.
        """
        if self._vectors is None:
            texts = [with_article(label.plain, "a photo of ") for label in self._labels]
            texts += [f"{label.plain}: {label.gloss}" if label.gloss else label.plain for label in self._labels]
            both = self._cached("label-vectors", "\n".join(texts).encode(), lambda: self._embedder.embed_text(texts))
            self._vectors = both[: len(self._labels)], both[len(self._labels) :]
        return self._vectors

    def _cached(self, name: str, of: bytes, make: Callable[[], Matrix]) -> Matrix:
        """What was once computed of something, to half precision."""
        if self._cache_dir is None:
            return make()
        key = hashlib.sha256(b"\n".join((self._embedder.space.name.encode(), of))).hexdigest()[:16]
        path = self._cache_dir / f"{name}-{key}.npy"
        with suppress(OSError, ValueError, EOFError):  # not there yet, or damaged, as by a power failure: it is made again
            return np.asarray(np.load(path, allow_pickle=False), np.float32)
        vectors = make().astype(np.float16)
        packed = io.BytesIO()
        np.save(packed, vectors)
        with suppress(OSError):  # a full or read-only disk costs only the time to make it once more
            files.make_directory(self._cache_dir)
            files.write_file(path, packed.getbuffer())
        return np.asarray(vectors, np.float32)


def _fires(facts: Matrix) -> Vector:
    return np.asarray(1 / (1 + np.exp(-(facts @ WEIGHTS[:-1] + WEIGHTS[-1]))), np.float32)


def with_article(phrase: str, before: str = "") -> str:
    """The phrase with an indefinite article; plurals get one too, which does not matter to the sentence embedder."""
    return f"{before}{'an' if phrase[:1].lower() in {'a', 'e', 'i', 'o', 'u'} else 'a'} {phrase}"


WEIGHTS = np.array([1.16, 2.97, 1.81, 0.94, 0.43, 1.32, 1.30, -0.78, -7.12], np.float32)
"""Weights of `FACTS`, and the constant: logistic regression on 534 phrases x 1,000 labels. The target is the rise of a label's probability
when a picture of the thing is pasted onto a background. Mean of five fits, each without a fifth of the things."""
