"""How likely it is that a piece of evidence answers a question: one small monotone logistic model for words, one for pictures.

Few features, each of them with a sign that it must have; the weights are fitted by `tools/eval/fit.py` and stand in `weights.json` with
what they were fitted on. The probabilities of both can be compared: the best one says which channel answers, and whether any does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

import msgspec

from edgemem.answer.gather import Candidate, Lead
from edgemem.answer.understand import Parsed
from edgemem.answer.understand.forms import fits
from edgemem.answer.understand.lexicon import HAVING, PLACING, SEEING
from edgemem.records import Record

WORDS = ("held", "cosine", "above", "misfits", "told", "channel")
"""Features of words; every one but "misfits" may only speak for the evidence."""
LETTERS = tuple(name for name in WORDS if name not in {"cosine", "above"})
"""Features of words where no engine tells their meaning."""
PICTURES = ("sure", "firing", "by", "agrees")
"""Features of pictures; all of them may only speak for the evidence."""
AGAINST = frozenset(("misfits",))
"""Features that may only speak against it."""


class Model(Record, frozen=True):
    """Weights by feature, and the constant."""

    constant: float
    weights: dict[str, float]
    least: float = 0.4
    """Probability from which on an answer is given."""

    def probability(self, features: Mapping[str, float]) -> float:
        """1 / (1 + exp(-(constant + sum of weight x feature)))."""
        total = self.constant + sum(weight * features[name] for name, weight in self.weights.items())
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


class Weights(Record, frozen=True):
    """What `tools/eval/fit.py` found."""

    words: Model
    letters: Model
    pictures: Model
    source: str


@lru_cache(maxsize=1)
def weights() -> Weights:
    """The weights that edgemem ships."""
    return msgspec.json.decode(files("edgemem.answer").joinpath("weights.json").read_bytes(), type=Weights)


_TO_COME = re.compile(r"\b(?:when|where|what (?:time|day|date)|which (?:day|date))(?:'s| (?:does|do|is|are|will|can|should|must|am))\b")
_STILL_OPEN = re.compile(r"^(?:is|are|will|does|do|can|should|must)\b(?! (?:i|we|there)\b)")
_NOW = re.compile(r"\b(?:is|are|does|do|will|should|must|can|need|take|takes|'s)\b")


def stated_prior(p: Parsed) -> float:
    """How much the wording points at words rather than pictures, 0..1. It only weighs."""
    if p.kind in {"when", "yes_no"} and p.verb in SEEING:
        return 0.0
    if p.hint in {"said", "read"} or p.quote:
        return 1.0
    if p.hint == "seen" or p.kind in {"order", "how_many", "how_long"} or p.ordinal or (p.relation and p.anchors) or p.form == "colour":
        return 0.0
    if p.kind == "when":
        return 0.8 if _TO_COME.search(p.text) else 0.0
    if p.kind == "who" or p.form in {"price", "code", "number", "name", "address", "topic", "time", "duration"}:
        return 0.9
    if p.kind == "how_why":
        return 0.7
    if p.kind == "where":
        return 0.5 if _TO_COME.search(p.text) or re.search(r"\bwould\b", p.text) else 0.2
    if p.kind in {"what", "which"}:
        return 0.7 if p.verb not in SEEING | HAVING | {""} or _NOW.search(p.text) or p.person else 0.3
    return 0.5 if _STILL_OPEN.match(p.text) else 0.2


def word_features(p: Parsed, one: Candidate) -> dict[str, float]:
    """`WORDS` of one candidate."""
    right = p.hint == ("said" if one.channel == "speech" else "read")
    return {
        "held": one.held, "cosine": max(0.0, one.cosine), "above": max(0.0, min(one.above, 8.0)) / 8,
        "misfits": float(not fits(p.form, one.text)), "told": stated_prior(p), "channel": float(right),
    }  # fmt: skip


def picture_features(lead: Lead) -> dict[str, float]:
    """`PICTURES` of what was found of one thing."""
    sure = min(0.99, max(0.01, lead.confidence))
    return {
        "sure": math.log(sure / (1 - sure)) + 5, "firing": _log(lead.firing), "by": _log(lead.by), "agrees": float(lead.agrees),
    }  # fmt: skip


def _log(share: float) -> float:
    """Logarithm of a probability from .005 to 1, scaled to 0..1."""
    return 1 - math.log(max(share, 0.005)) / math.log(0.005)


def stated(p: Parsed, one: Candidate) -> float:
    """Probability that these words answer the question."""
    return _of_words(one).probability(word_features(p, one))


def _of_words(one: Candidate) -> Model:
    return weights().words if one.cosine or one.above else weights().letters


def shown(p: Parsed, lead: Lead) -> float:
    """Probability that the pictures answer it. What was read or written stands for a thing as surely as its words agree.

    A word that means nothing names no thing, whatever the labels make of it.
    """
    if not lead.episodes or not fits_pictures(p) or not lead.named:
        return 0.0
    return weights().pictures.probability(picture_features(lead)) if lead.basis == "frame" else lead.confidence


_PICTURED = frozenset(("", "time", "date", "place", "colour", "duration", "person"))
_LASTED = re.compile(r"\b(?:was|were|did|have|has|had|been|stayed?)\b")


def fits_pictures(p: Parsed) -> bool:
    """A picture shows when, where, whether, how often and in which colour; it knows no names and no numbers, and nothing to come."""
    if p.kind == "how_long":
        return _LASTED.search(p.text) is not None
    if p.kind in {"what", "which"} and p.form != "colour" and p.hint != "seen" and p.verb not in SEEING | HAVING | {""}:
        return False
    return (
        p.form in _PICTURED and p.kind not in {"who", "how_why"} and not (p.kind == "when" and stated_prior(p) >= 0.5) and p.hint != "said"
    )


def is_seen(p: Parsed) -> bool:
    """Pictures can show what is claimed: that a thing was there, not that it was bought, locked or somebody's."""
    if p.predicate and p.kind in {"yes_no", "who", "how_why", "how_many", "how_long", "what", "when", "which"}:
        return p.predicate in {"colour", "still", "gone", "missing", "different", "price"} or p.verb in SEEING | HAVING | PLACING
    return True


def is_stated(p: Parsed, one: Candidate) -> bool:
    """These words are likely enough an answer."""
    return stated(p, one) >= _of_words(one).least


def is_shown(p: Parsed, lead: Lead) -> bool:
    """The pictures are likely enough an answer: "when did I see it" takes it for granted that it was there, "did I see it" does not."""
    return shown(p, lead) >= (SURELY if p.kind == "yes_no" else weights().pictures.least)


SURELY = 0.35
"""Probability from which on it is said that a thing was there at all."""
