"""The `speech` channel: what was said, by full text, with who said it and when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from edgemem.answer.retrieve import Hits, Query
from edgemem.answer.tools_graph import utterances
from edgemem.answer.understand.words import content_words, words
from edgemem.records import Channel, Entity

if TYPE_CHECKING:
    from edgemem.remember.view import View

_TELLING = frozenset({"say", "said", "says", "tell", "told", "talk", "talked", "speak", "spoke", "mention", "mentioned", "hear", "heard"})
"""Words of a question about speech that are not part of what was said."""


class SpeechRetriever:
    """Utterances and subtitles that hold the query's words.

    A speaker's name in the query ("what did Tomas say about the key") is taken as who said it, not as a word that was said.
    """

    name: Channel = "speech"

    def retrieve(self, query: Query, view: View, k: int) -> Hits:
        """Best first: those with most of the words, then by BM25. The evidence's text is the quote with its speaker."""
        speakers = _speakers(query.text, view)
        names = {part for one in speakers for part in words(one.name)}
        wanted = [word for word in content_words(query.text) if word not in names and word not in _TELLING]
        wanted = wanted if wanted or speakers else words(query.text)
        window, ids = (query.from_us, query.to_us), [one.id for one in speakers]
        said = utterances(view, wanted, ids, window, k, query.stream)
        said = said or (utterances(view, wanted, (), window, k, query.stream) if wanted else [])
        best = sorted(said, key=lambda one: -one.score)[:k]
        return Hits(evidence=tuple(one.evidence for one in best), confidence=best[0].score if best else 0.0)


def _speakers(text: str, view: View) -> list[Entity]:
    """People in the query: those whose first or full name stands in it as whole words."""
    own = words(text)

    def named(entity: Entity, name: str) -> bool:
        parts = words(name)
        return bool(parts) and (_holds(own, parts) or (entity.kind == "person" and _is_first_name(parts[0], name) and parts[0] in own))

    people = [entity for kind in ("person", "voice") for entity in view.entities(kind=kind)]
    return [one for one in people if any(named(one, name) for name in (one.name, *one.aliases))]


def _is_first_name(word: str, name: str) -> bool:
    """The word "speaker" of "speaker 3" is none."""
    return len(word) > 2 and not any(letter.isdigit() for letter in name)


def _holds(own: Sequence[str], parts: Sequence[str]) -> bool:
    return any(own[at : at + len(parts)] == parts for at in range(len(own) - len(parts) + 1))
