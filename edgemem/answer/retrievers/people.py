"""The channels `speech` and `entity`: what was said, and who did what with what."""

from __future__ import annotations

import msgspec

from edgemem.answer.retrieve import Hits, Query, distinct, held
from edgemem.answer.tools_graph import PEOPLE, match_entities, row_of, utterances
from edgemem.answer.understand.lexicon import SAYING, VERBS
from edgemem.answer.understand.words import content_words, words
from edgemem.records import Channel, Entity, Relation
from edgemem.remember.view import View


class SpeechRetriever:
    """Utterances and subtitles that hold the query's words.

    A speaker's name in the query ("what did Tomas say about the key") is taken as who said it, not as a word that was said.
    """

    name: Channel = "speech"

    def retrieve(self, query: Query, view: View, k: int) -> Hits:
        """Best first: those with most of the words, then by BM25. The evidence's text is the quote with its speaker."""
        speakers = _speakers(query.text, view)
        names = {part for one in speakers for part in words(one.name)}
        wanted = [word for word in content_words(query.text) if word not in names and VERBS.get(word) not in SAYING]
        wanted = wanted if wanted or speakers else words(query.text)
        said = utterances(view, query, wanted, [one.id for one in speakers], k)
        said = said or (utterances(view, query, wanted, (), k) if wanted else [])
        best = sorted(said, key=lambda row: -row.confidence)[:k]
        return Hits(evidence=tuple(row.evidence for row in best), confidence=best[0].confidence if best else 0.0)


def _speakers(text: str, view: View) -> list[Entity]:
    """People in the query: those whose first or whole name stands in it. The word "speaker" of "speaker 3" is no first name."""
    own = f" {' '.join(words(text))} "

    def named(name: str) -> bool:
        first, *_ = parts = words(name) or [""]
        return f" {' '.join(parts)} " in own or (len(first) > 2 and not name[-1:].isdigit() and f" {first} " in own)

    return [one for one in view.entities() if one.kind in PEOPLE and any(map(named, (one.name, *one.aliases)))]


class EntityRetriever:
    """Relations whose ends the query names; those with more of its words at their ends and in their words come first."""

    name: Channel = "entity"

    def retrieve(self, query: Query, view: View, k: int) -> Hits:
        """The newest `k` of each entity that is named, best first."""
        wanted = content_words(query.text)
        named = {one.id: None for phrase in (query.text, *wanted) for one in match_entities(view, phrase)}
        found: dict[Relation, float] = {}
        for id_ in list(named)[:_NAMES]:
            some = view.relations(entity_id=id_, from_us=query.from_us, to_us=query.to_us, limit=k, newest_first=True)
            for one in some:  # by the share of the query's words at its ends, in its type or in its quotes
                own = (one.source.name, one.type.replace("_", " "), one.target.name, *(quote.text for quote in one.quotes))
                found[one] = held(wanted, " ".join(own))
        ranked = sorted(found, key=lambda r: (-found[r], -r.confidence, -r.t0_us))[:k]
        evidence = distinct(msgspec.structs.replace(row_of(view, relation).evidence, channel=self.name) for relation in ranked)
        return Hits(evidence=evidence, confidence=max((found[r] * r.confidence for r in ranked), default=0.0))


_NAMES = 8
"""Entities of one query that are followed, those of the whole phrase first."""
