"""Evidence first: everything in a memory that may answer a question, from every channel, before anything is decided.

What was said and read is compared with the whole question, by its words and by its meaning; each thing that the question names is looked
for in pictures, in what was read, and where pictures cannot be searched in what was written about events. `weigh` tells what it is worth.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from edgemem.answer.retrieve import Episode, Hits, Query, Retriever, as_evidence, distinct, episodes, runs
from edgemem.answer.retrievers.frames import Roles
from edgemem.answer.retrievers.readings import OcrReading, readings
from edgemem.answer.tool_base import BaseTool, ToolResult, Windowed
from edgemem.answer.tools_graph import shown_name
from edgemem.answer.understand import words as of_words
from edgemem.answer.understand.lexicon import CARRIERS, pairs_of
from edgemem.answer.understand.words import best_word, content_words, line_of, numbered, root, similar_texts, squeeze
from edgemem.errors import EngineError
from edgemem.infer.labels import nouns
from edgemem.infer.roles import TextEmbedder
from edgemem.records import US, Evidence, Matrix, Record
from edgemem.remember.view import View

_Phrase = Annotated[str, msgspec.Meta(max_length=400)]


class Gather(Windowed, frozen=True, tag="gather"):
    """Collect all evidence for a question and for the things that it names."""

    question: _Phrase = ""
    """Compared as a whole with what was said and read; nothing of that is collected where it is empty."""
    words: tuple[str, ...] = ()
    """Those of the question that the evidence should hold; empty for all of its content words."""
    things: tuple[_Phrase, ...] = ()
    """Looked for in pictures, signs and events, each by itself; what stands in quotation marks was read."""


class Candidate(Record, frozen=True):
    """Words that were said or read, and how near they are to the question."""

    channel: Literal["speech", "text"]
    text: str
    evidence: tuple[Evidence, ...]
    """Best first: the pictures of a sign, or the one document."""
    speaker: str = ""
    around: str = ""
    """Words for what carries it: a sign in its colours is a sign."""
    clarity: float = 1.0
    """How reliable the words are, as whoever recognised what was said tells, 0..1."""
    held: float = 0.0
    """Share of the question's words that it holds, rare ones counting more, 0..1."""
    cosine: float = 0.0
    """Of the sentence vectors of question and words, 0 without an engine."""
    above: float = 0.0
    """How far the cosine stands above those of unrelated questions, in standard deviations."""

    @property
    def t0_us(self) -> int:
        """When it began."""
        return self.evidence[0].t0_us


class Lead(Record, frozen=True):
    """What was found of one thing."""

    phrase: str
    confidence: float = 0.0
    """That the memory shows it at all, as the channel says."""
    episodes: tuple[Episode, ...] = ()
    """Its appearances, oldest first."""
    basis: Literal["frame", "text", "event"] = "frame"
    firing: float = 1.0
    """How well the vocabulary covers the phrase: the largest probability that a label fires on a picture of it."""
    named: bool = True
    """Its noun is a word that means something."""
    note: str = ""
    """Why pictures were not searched, or in another way."""
    same: Mapping[str, float] = msgspec.field(default_factory=dict)
    """How surely each picture shows the same thing as the best one, by its id, where looks were compared."""

    @property
    def recognised(self) -> bool:
        """The vocabulary has a word for it, so that not seeing it means something."""
        return self.basis != "frame" or (self.named and self.firing >= _FIRES)


class Pool(ToolResult, frozen=True):
    """Everything that was gathered."""

    candidates: tuple[Candidate, ...] = ()
    leads: tuple[Lead, ...] = ()
    notes: tuple[str, ...] = ()
    by_words: str = ""
    """Why what was said and read was compared by its words alone, where an engine for its meaning is configured."""
    people: bool = False
    """The memory keeps relations or knows who spoke."""


class Meaning:
    """Sentence vectors of questions and words, and what unrelated questions give. Without an engine everything is 0."""

    def __init__(self, engines: Roles | None) -> None:
        self._engines = engines
        self._vectors: dict[tuple[bool, str], Any] = {}
        """By whether it is a query, and its text."""
        self.problem = ""
        """Why the last comparison was by words alone."""

    @property
    def _embedder(self) -> TextEmbedder | None:
        return None if self._engines is None or self._engines.missing("embed_text") else self._engines.role("embed_text")

    def near(self, question: Sequence[str], texts: Sequence[str]) -> tuple[Any, Any]:
        """Cosine of each text with the nearest wording of the question, and its distance above the background: float32 [texts] each.

        Zeros where the engine fails, as one behind a server may; `problem` then says why.
        """
        try:
            if not texts or (embedder := self._embedder) is None:
                return np.zeros(len(texts)), np.zeros(len(texts))
            own = self._embed(embedder, texts)
            bank, found = (self._embed(embedder, asked, queries=True) for asked in (background(), question))
        except EngineError as error:
            self.problem = f"what was said and read was compared by its words alone: {error}"
            return np.zeros(len(texts)), np.zeros(len(texts))
        cosines = (own @ found.T).max(axis=1)
        chance = own @ bank.T
        return cosines, (cosines - chance.mean(axis=1)) / (chance.std(axis=1) + _LEAST_DEVIATION)

    def passages(self, view: View, query: Query) -> list[int]:
        """Ids of the utterances that are nearest to the query in meaning, by their stored vectors."""
        try:
            if (embedder := self._embedder) is None:
                return []
            vector = self._embed(embedder, [query.text], queries=True)[0]
        except EngineError:  # `near` says so
            return []
        hits = view.search_passages(embedder.space.name, vector, _FOUND, kinds=("utterance",), from_us=query.from_us, to_us=query.to_us)
        return [hit.document.id for hit in hits]

    def _embed(self, embedder: TextEmbedder, texts: Sequence[str], *, queries: bool = False) -> Matrix:
        known = self._vectors  # another question may begin anew meanwhile
        if len(known) > _REMEMBERED:
            known = self._vectors = {}
        if new := [text for text in dict.fromkeys(texts) if (queries, text) not in known]:
            vectors = embedder.embed_query(new) if queries else embedder.embed_text(new)
            known.update(zip(((queries, text) for text in new), vectors, strict=True))
        return np.stack([known[queries, text] for text in texts])


_LEAST_DEVIATION = 0.02
_REMEMBERED = 5_000


@cache
def background() -> tuple[str, ...]:
    """Everyday questions about other things than a memory holds: what they give is chance."""
    return tuple(files("edgemem.answer").joinpath("background.txt").read_text(encoding="utf-8").splitlines())


class GatherTool(BaseTool):
    """Read every channel."""

    name = "gather"
    action = Gather

    def __init__(self, retrievers: Sequence[Retriever], engines: Roles | None = None) -> None:
        self._by_name: dict[str, Retriever] = {retriever.name: retriever for retriever in retrievers}
        self._meaning = Meaning(engines)

    def run(self, action: Gather, view: View) -> Pool:
        """Never looks outside the action's stretch of time."""
        query = Query(text=action.question, from_us=action.from_us, to_us=action.to_us)
        self._meaning.problem = ""
        candidates = self._candidates(query, action.words, view) if action.question else ()
        leads = tuple(self._lead(msgspec.structs.replace(query, text=thing), view) for thing in action.things)
        found = [e for lead in leads for episode in lead.episodes for e in episode.evidence]
        found += [e for candidate in candidates for e in candidate.evidence]
        return Pool(
            candidates=candidates, leads=leads, evidence=distinct(found), by_words=self._meaning.problem,
            notes=tuple(dict.fromkeys(lead.note for lead in leads if lead.note)), people=bool(view.entities(limit=1)),
        )  # fmt: skip

    def _candidates(self, query: Query, words: Sequence[str], view: View) -> tuple[Candidate, ...]:
        found = [*_said(view, query, self._meaning), *(signs_of(view, query) if "text" in self._by_name else [])]
        wanted = tuple(dict.fromkeys(numbered(" ".join(words or content_words(query.text)))))
        lost = re.search(r"\bwhe(?:re|n)\b", query.text)  # "where is my shopping list" asks for the paper
        meant = [asked for name, asked in pairs_of("MEANT").items() if name in query.text and not lost]
        texts, around = [f"{one.text} {one.speaker}" for one in found], [one.around for one in found]
        readings_of = (held_shares(own, texts, around) for own in (wanted, *map(content_words, meant)))
        shares = list(map(max, zip(*readings_of, strict=True)))
        first = sorted(range(len(found)), key=lambda i: -shares[i])[:_COMPARED]
        cosines, above = self._meaning.near((query.text, " ".join(wanted), *meant), [found[i].text for i in first])
        near = zip(first, cosines, above, strict=True)
        weighed = (msgspec.structs.replace(found[i], held=shares[i], cosine=float(c), above=float(a)) for i, c, a in near)
        return tuple(sorted(weighed, key=lambda one: -(one.held + one.cosine))[:_KEPT])

    def _lead(self, query: Query, view: View) -> Lead:
        """One thing in pictures, else in what was read; in what was written about events where pictures cannot be searched."""
        shape = msgspec.structs.replace(query, text="person") if of_words.PLURALS.get(query.text) == "person" else query
        frame, text = self._hits("frame", shape, view), self._hits("text", query, view)
        unseen = frame.silent or "frame" not in self._by_name
        read = text.confidence >= _READ and not frame.taught
        read = read and (query.text.startswith('"') or (frame.confidence < _CLEARLY and _is_reading(query.text, text.evidence[0])))
        basis: Literal["frame", "text", "event"] = "text" if read else "event" if unseen else "frame"
        hits = {"frame": frame, "text": text}.get(basis) or self._hits("event", query, view)
        named = bool(frame.taught) or hits.firing >= _FIRES or bool(nouns().find(shape.text)[1])
        return Lead(
            phrase=frame.taught or query.text, confidence=_WEIGHTS[basis] * hits.confidence, episodes=tuple(episodes(view, hits.evidence)),
            basis=basis, firing=hits.firing, named=named, note=frame.silent or frame.note, same=hits.same,
        )  # fmt: skip

    def _hits(self, channel: str, query: Query, view: View) -> Hits:
        retriever = self._by_name.get(channel)
        return retriever.retrieve(query, view, _SIGHTINGS) if retriever is not None and query.text.strip() else Hits()


CARRIED = f"{' '.join(sorted(CARRIERS))} written write read say said show shown stand stood display displayed print printed call called"
"""Words for a sign of any kind."""
SPOKEN = "say said tell told mention mentioned hear heard talk talked call called speak spoke"
"""Words for speech."""
_KEPT = 40
_COMPARED = 60
"""In a large memory only so many are compared by meaning, those that hold most of the words."""
_SIGHTINGS = 40
_FIRES = 0.1
"""A word for which a label fires this surely means something; of 50 words that mean nothing none reached .02."""
_SAME = 0.8
"""What a word that means the same is worth against the word itself."""
_READ, _CLEARLY = 0.8, 0.7
_WEIGHTS = {"frame": 1.0, "text": 0.9, "event": 0.6}
"""What a thing that was read or only written about is worth against one that was seen."""
_ALL = 400
"""Utterances that are compared one by one; above that full text and passages say which."""
_FOUND = 60
_SAME_SIGN_US = 12 * US
"""Readings this close that share a line are of one sign."""
_SIGNS = 20
"""Signs of one run of readings that are told apart at most, so that a page that is always in view costs no more."""


def _said(view: View, query: Query, meaning: Meaning) -> list[Candidate]:
    spoken = view.utterances(from_us=query.from_us, to_us=query.to_us, limit=_ALL + 1, newest_first=True)
    if len(spoken) > _ALL:
        hits = view.search_text(query.text, _FOUND, kinds=("utterance",), from_us=query.from_us, to_us=query.to_us)
        spoken = view.spoken(list(dict.fromkeys((*(hit.document.id for hit in hits), *meaning.passages(view, query)))))
    return [
        Candidate(
            channel="speech", text=part, evidence=(as_evidence(one.document, "speech", 1.0, one.document.text),),
            speaker=shown_name(one.speaker.name) if one.speaker else "", around=SPOKEN, clarity=one.confidence,
        )
        for one in spoken
        for part in statements(one.document.text)
    ]  # fmt: skip


_ASKS = re.compile(
    r"^(?:when|where|what|who|whose|which|why|how)\b"
    r"|^(?:did|do|does|is|are|was|were|can|could|would|should|have|has|had)(?:n't)? "
    r"(?:i|you|we|he|she|it|they|the|an?|my|your|our|his|her|their|this|that|there|any\w+|some\w+)\b"
)
"""What lost its first word asks nothing: "should call my mother"."""
_GOES_ON = re.compile(r"^(?:and |but |so |then )?(?:he|she|it|they|that|this|those)\b")


def statements(text: str) -> list[str]:
    """Every sentence that asks nothing, and each with a next one that goes on about the same: "the plumber called. He comes at nine"."""
    sentences = [(part, not part.endswith("?") and not _ASKS.match(part.lower())) for part in re.split(r"(?<=[.!?])\s+", text.strip())]
    pairs = [f"{one} {two}" for (one, tells), (two, goes_on) in pairwise(sentences) if tells and goes_on and _GOES_ON.match(two.lower())]
    return [part for part, tells in sentences if tells and len(part) > 3] + pairs


def signs_of(view: View, query: Query) -> list[Candidate]:
    """What was clearly read, sign by sign: of readings that follow each other and share a line those that hold each repeated line."""
    clear = (one for one in readings(view, query) if one.lines)
    signs = runs(clear, lambda sign, one: _same_sign(sign[-1], one))
    return [sign for group in signs for sign in _signs(group) if len(squeeze(sign.text)) > 1]


def _signs(group: Sequence[OcrReading]) -> list[Candidate]:
    """The reading with the most lines that others have as well, then any that adds such a line.

    A packet that is always in view shares its text with every sign that is held in front of it.
    """
    own = [frozenset(map(squeeze, one.lines)) for one in group]
    often = Counter(line for lines in own for line in lines)
    around = " ".join((CARRIED, *dict.fromkeys(colour for one in group for colour in one.colours)))
    made, left = list[Candidate](), set(often)
    while left and len(made) < _SIGNS:
        gain = [sum(often[line] - 1 for line in lines & left) for lines in own]
        best = max(range(len(group)), key=lambda i: (gain[i], group[i].evidence.score))
        if made and not gain[best]:
            break
        new, left = own[best] & left, left - own[best]
        misread = not made  # what no other reading has a line of is the first sign, read wrongly
        proof = [i for i, lines in enumerate(own) if lines & new or (misread and all(often[line] == 1 for line in lines))]
        proof.sort(key=lambda i: (i != best, -len(own[i] & new), -group[i].evidence.score))
        evidence = tuple(group[i].evidence for i in proof)
        made.append(Candidate(channel="text", text="\n".join(group[best].lines), evidence=evidence, around=around))
    return made


def _same_sign(one: OcrReading, other: OcrReading) -> bool:
    if one.evidence.stream != other.evidence.stream or other.evidence.t0_us - one.evidence.t1_us > _SAME_SIGN_US:
        return False
    own = {squeeze(line) for line in one.lines}
    return any(squeeze(line) in own for line in other.lines) or similar_texts(one.text, other.text) > 0.5


def held_shares(wanted: Sequence[str], texts: Sequence[str], around: Sequence[str]) -> list[float]:
    """For each text the share of the wanted words that it holds, weighted by how few of the texts hold them (log(1 + n / df)).

    Of the words around it, which are not its own, none is taken for a misreading of another: a "wallet" is no "wall".
    """
    meant, rows = [(word, of_words.synonyms(word)) for word in wanted], []
    for words, beside in zip(map(numbered, texts), around, strict=True):
        roots, line = {root(word) for word in (*words, *beside.split())}, line_of(" ".join(words))
        means = set(map(of_words.meaning, words))
        near = (max(best_word(word, line) if len(word) > 3 else 0.0, 0.0 if same.isdisjoint(means) else _SAME) for word, same in meant)
        rows.append([1.0 if root(word) in roots else share for (word, _), share in zip(meant, near, strict=True)])
    held = np.array(rows).reshape(len(texts), len(wanted))
    weights = np.log1p(len(texts) / (0.5 + np.maximum(1, (held > 0).sum(axis=0))))
    return [float(share) for share in held @ weights / max(1e-9, weights.sum())]


def _is_reading(phrase: str, reading: Evidence) -> bool:
    """The phrase names the text itself: it has a figure in it, two words or more, or is most of what stands there."""
    named, letters = content_words(phrase), "".join(content_words(phrase))
    most = 2 * len(squeeze(letters)) >= len(squeeze(reading.text))
    return len(letters) >= 3 and (len(named) > 1 or any(map(str.isdigit, phrase)) or most)
