"""What was said: by full text (BM25), or all of a stretch of time for a model to read (EGAgent, section 3.3, both kinds)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from edgemem.answer.retrieve import held
from edgemem.answer.tool_base import BaseTool
from edgemem.answer.tools_graph import Row, match_entities, said_of
from edgemem.answer.understand.words import content_words
from edgemem_egagent.actions import Lines, TranscriptSearch

if TYPE_CHECKING:
    from edgemem.remember.results import Spoken
    from edgemem.remember.view import View

READ_LINES = 6000
"""Utterances that are read as a whole: more than a day of EgoLife has (4,700 timestamps for several days, table 7)."""


class TranscriptTool(BaseTool):
    """What was said, by BM25 over full text; or all of a bounded stretch of time."""

    name = "transcript_search"
    action = TranscriptSearch

    def run(self, action: TranscriptSearch, view: View) -> Lines:
        """The union of what the queries find, in the order of time; the latest first where that is asked for."""
        speakers = [entity.id for entity in match_entities(view, action.speaker)]
        if action.speaker and not speakers:
            return Lines()
        return self._found(action, view, set(speakers)) if action.queries else self._all(action, view, speakers)

    def _found(self, action: TranscriptSearch, view: View, speakers: set[int]) -> Lines:
        documents: dict[int, float] = {}
        for span in action.spans:
            for text in action.queries:
                wanted = content_words(text)
                for hit in view.search_text(text, action.per_query, kinds=("utterance",), from_us=span.from_us, to_us=span.to_us):
                    documents[hit.document.id] = max(documents.get(hit.document.id, 0.0), held(wanted, hit.document.text))
        said = [said_of(one, documents[one.document.id]) for one in view.spoken(list(documents)) if _by(one, speakers)]
        return _lines(said, newest_first=action.newest_first)

    def _all(self, action: TranscriptSearch, view: View, speakers: Sequence[int]) -> Lines:
        """Every utterance of bounded stretches, at most `READ_LINES`; what is left out is said."""
        if any(span.from_us is None or span.to_us is None for span in action.spans):
            return Lines()
        ids: list[int | None] = [*speakers] or [None]
        found: dict[int, Spoken] = {}
        for span in action.spans:
            for speaker_id in ids:
                some = view.utterances(
                    from_us=span.from_us, to_us=span.to_us, speaker_id=speaker_id, limit=READ_LINES + 1, newest_first=action.newest_first
                )
                found.update((one.document.id, one) for one in some)
        ordered = sorted(found.values(), key=lambda one: (one.document.t0_us, one.document.id), reverse=action.newest_first)
        lines = _lines([said_of(one, 0.5) for one in ordered[:READ_LINES]], newest_first=action.newest_first)
        which = "last" if action.newest_first else "first"
        cut = (f"only the {which} {READ_LINES} utterances of that time were read",) if len(ordered) > READ_LINES else ()
        return msgspec.structs.replace(lines, notes=cut)


def _by(spoken: Spoken, speakers: set[int]) -> bool:
    return not speakers or (spoken.speaker is not None and spoken.speaker.id in speakers)


def _lines(said: Sequence[Row], *, newest_first: bool) -> Lines:
    ordered = tuple(sorted(said, key=lambda one: (one.t0_us, one.evidence.id), reverse=newest_first))
    return Lines(said=ordered, evidence=tuple({one.evidence.id: one.evidence for one in ordered}.values()))
