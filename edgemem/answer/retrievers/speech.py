"""The `speech` channel: what was said, by full text, with who said it and when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from edgemem.answer.retrieve import Hits, Query
from edgemem.answer.tools_graph import PEOPLE, held, said_of
from edgemem.answer.understand.words import content_words, words
from edgemem.records import Channel

if TYPE_CHECKING:
    from edgemem.remember.results import Spoken, TextHit
    from edgemem.remember.view import View

_WIDER = 4
"""Of so many times the wanted number of hits those that hold most of the query's words are taken: BM25 also ranks by rare single words."""
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
        names = {part for name in speakers for part in words(name)}
        wanted = [word for word in content_words(query.text) if word not in names and word not in _TELLING]
        found = self._by(view, query, speakers, k) if speakers and not wanted else self._about(view, query, wanted, _WIDER * k)
        if speakers:
            found = [pair for pair in found if pair[1].speaker is not None and pair[1].speaker.name in speakers] or found
        best = sorted(found, key=lambda pair: -pair[0])[:k]
        return Hits(evidence=tuple(said_of(spoken, score).evidence for score, spoken in best), confidence=best[0][0] if best else 0.0)

    @staticmethod
    def _about(view: View, query: Query, wanted: Sequence[str], k: int) -> list[tuple[float, Spoken]]:
        text = " ".join(wanted) or query.text
        hits = view.search_text(text, k, kinds=("utterance",), from_us=query.from_us, to_us=query.to_us, stream=query.stream)
        return [(held(wanted or words(text), hit.document.text), spoken) for hit in hits if (spoken := _spoken(view, hit)) is not None]

    @staticmethod
    def _by(view: View, query: Query, speakers: Sequence[str], k: int) -> list[tuple[float, Spoken]]:
        """The newest of one who is asked about without a subject."""
        ids = {entity.id for name in speakers for entity in view.entities(name=name) if entity.kind in PEOPLE}
        said = [
            spoken
            for speaker_id in sorted(ids)
            for spoken in view.utterances(
                speaker_id=speaker_id, stream=query.stream, from_us=query.from_us, to_us=query.to_us, limit=k, newest_first=True
            )
        ]
        return [(1.0, spoken) for spoken in sorted(said, key=lambda spoken: -spoken.document.t0_us)]


def _spoken(view: View, hit: TextHit) -> Spoken | None:
    """Who said what was found."""
    document = hit.document
    same = view.utterances(stream=document.stream, from_us=document.t0_us, to_us=document.t1_us)
    return next((spoken for spoken in same if spoken.document.id == document.id), None)


def _speakers(text: str, view: View) -> list[str]:
    """Names of people in the query, as whole words: those of the entities whose first or full name is in it."""
    own = words(text)
    found = []
    for kind in ("person", "voice"):
        for entity in view.entities(kind=kind):
            for name in (entity.name, *entity.aliases):
                parts = words(name)
                if parts and (_holds(own, parts) or (kind == "person" and _is_first_name(parts[0], name) and parts[0] in own)):
                    found.append(entity.name)
                    break
    return list(dict.fromkeys(found))


def _is_first_name(word: str, name: str) -> bool:
    """The word "speaker" of "speaker 3" is none."""
    return len(word) > 2 and not any(letter.isdigit() for letter in name)


def _holds(own: Sequence[str], parts: Sequence[str]) -> bool:
    return any(own[at : at + len(parts)] == parts for at in range(len(own) - len(parts) + 1))
