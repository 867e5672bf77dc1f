"""Stores what is heard in the stream of one run: utterances, their speakers, and where a later run continues."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

from edgemem.errors import BudgetError
from edgemem.hear.listen import Heard, Listener, SpeechRecogniser, UtteranceStream
from edgemem.hear.subtitles import Subtitles
from edgemem.hear.voices import numbered_after
from edgemem.records import AFTER_END_US, Document, Entity, Sound
from edgemem.remember.entries import NewDocument, NewEntity, NewPassage, embedded
from edgemem.remember.names import VOICE
from edgemem.remember.numbers import last_number
from edgemem.remember.results import Spoken

if TYPE_CHECKING:
    from edgemem.infer.roles import TextEmbedder
    from edgemem.remember.store import Store, Transaction

_AT_ONCE = 32
"""Most utterances in one transaction: about 20 pages each, half of what a transaction may change under the smallest budget."""


class HearingProgress(NamedTuple):
    """How far the sound was heard."""

    until_us: int
    """Offset in the stream before which no further utterance will begin."""
    position_us: int
    """Offset in the source at which a later run continues."""


class Stamps(Protocol):
    """Converts the times of a source into those of its stream in the memory."""

    @property
    def stream(self) -> str: ...

    def stamp(self, t_us: int, offset_us: int) -> tuple[int, int]: ...


class SoundSource(Protocol):
    """Where sound comes from."""

    @property
    def live(self) -> bool: ...

    def sounds(self, after_us: int) -> Iterator[Sound]: ...


HearingFactory = Callable[[SoundSource, Stamps, "Store", Callable[[], bool]], "StreamHearing"]
"""(source, stamps, store, whether the memory is paused) -> the hearing of this source."""


def by_recogniser(recogniser: SpeechRecogniser, embedder: TextEmbedder | None) -> HearingFactory:
    """Hearing by a speech recogniser. The `embedder` makes one vector per utterance."""

    def make(source: SoundSource, stamps: Stamps, store: Store, paused: Callable[[], bool]) -> StreamHearing:
        listener = Listener(source.sounds, recogniser, live=source.live, paused=paused)
        return StreamHearing(recogniser.name, listener, store, stamps, embedder)

    return make


def by_subtitles(subtitles: Subtitles, embedder: TextEmbedder | None) -> HearingFactory:
    """Utterances from a subtitle file instead of the sound."""

    def make(_source: SoundSource, stamps: Stamps, store: Store, _paused: Callable[[], bool]) -> StreamHearing:
        return StreamHearing(subtitles.name, subtitles, store, stamps, embedder)

    return make


class StreamHearing:
    """Stores the utterances of one stream. A source without sound has none."""

    def __init__(self, name: str, source: UtteranceStream, store: Store, stamps: Stamps, embedder: TextEmbedder | None) -> None:
        """`name`: of the recogniser; its voices are saved under this name."""
        self._state_key = f"hear/{name}"
        self._source, self._store, self._stamps, self._embedder = source, store, stamps, embedder
        self._queue: deque[Heard] = deque()
        self._too_long = 0
        self.utterances = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages for a person."""
        lost = (f"{self._too_long} utterances are too long for budget.disk and were left out",) if self._too_long else ()
        return (*self._source.notes, *lost)

    def take_new_notes(self) -> tuple[str, ...]:
        """What failed for the first time since the last call."""
        return self._source.take_new_notes()

    @property
    def waiting(self) -> bool:
        """Whether utterances are left for the next `write`."""
        return bool(self._queue)

    def start(self, position_us: int) -> None:
        """Begin where an earlier run stopped."""
        voices = numbered_after(self._store.state(self._state_key) or b"", last_number(self._store, VOICE))
        self._source.restore(position_us, voices)
        self._source.start()

    def seen(self, offset_us: int) -> None:
        """Note that frames were handled up to this offset of the stream."""
        self._source.seen(offset_us - self._stamps.stamp(0, 0)[1])

    def finish(self, commit: Callable[[], object], stopped: Callable[[], bool]) -> None:
        """There are no more frames: hear a recording to its end. Once `stopped()` is true, hear only what was said so far."""

        def progress() -> None:
            if stopped():
                self._source.stop()
            commit()

        progress()
        self._source.finish(progress=progress)

    def write(self, tx: Transaction, stored: Callable[[Spoken], object]) -> HearingProgress:
        """Store what was heard, at most `_AT_ONCE` utterances, and where a later run continues."""
        self._queue.extend(self._source.take())
        last_us, count = None, 0
        # utterances that begin at the same time are stored together: a later run could not know which of them were stored
        while self._queue and (count < _AT_ONCE or self._queue[0].offset_us == last_us):
            heard = self._queue.popleft()
            last_us, count = heard.offset_us, count + 1
            self._store_one(tx, heard, stored)
        until_us, position_us = self._source.heard_until_us, self._source.position_us
        if self._queue:
            before_us = min(heard.offset_us for heard in self._queue) - 1
            until_us, position_us = min(until_us, before_us), min(position_us, before_us)
        if self._source.voices:
            tx.set_state(self._state_key, self._source.voices)
        return HearingProgress(until_us if until_us == AFTER_END_US else self._stamps.stamp(0, until_us)[1], position_us)

    def _store_one(self, tx: Transaction, heard: Heard, stored: Callable[[Spoken], object]) -> None:
        try:
            spoken = self._add(tx, heard)
        except BudgetError:
            self._too_long += 1
            return
        self.utterances += 1
        stored(spoken)

    def _add(self, tx: Transaction, heard: Heard) -> Spoken:
        t0_us, offset_us = self._stamps.stamp(heard.t0_us, heard.offset_us)
        t1_us = t0_us + heard.t1_us - heard.t0_us
        for gone, kept in heard.united:
            _unite(tx, gone, kept, t1_us)
        speaker = None
        if heard.speaker:
            speaker_id = tx.add_entity(NewEntity(kind=heard.speaker_kind, name=heard.speaker, known_us=t1_us))
            speaker = Entity(id=speaker_id, kind=heard.speaker_kind, name=heard.speaker)
        new = NewDocument(
            kind="utterance", text=heard.text, stream=self._stamps.stream, t0_us=t0_us, t1_us=t1_us, offset_us=offset_us, known_us=t1_us,
            origin=heard.origin, speaker_id=speaker.id if speaker else None, confidence=heard.confidence,
            passages=(NewPassage(kind="document", text=heard.text, vectors={}),),
        )  # fmt: skip
        document_id = tx.add_document(embedded(new, self._embedder))
        document = Document(
            id=document_id, kind=new.kind, text=new.text, stream=new.stream, t0_us=t0_us, t1_us=t1_us, offset_us=offset_us,
            known_us=t1_us, origin=new.origin,
        )  # fmt: skip
        return Spoken(document=document, speaker=speaker, confidence=heard.confidence)


def _unite(tx: Transaction, gone: str, kept: str, known_us: int) -> None:
    """Two voices are one, unless a person parted them or gave both a name."""
    gone_id, kept_id = (tx.add_entity(NewEntity(kind="voice", name=name, known_us=known_us)) for name in (gone, kept))
    if tx.split_before(gone_id, kept_id):
        return
    if tx.merge_of(gone_id) is None:
        tx.merge_entity(gone_id, kept_id, known_us)
    elif tx.merge_of(kept_id) is None:
        tx.merge_entity(kept_id, gone_id, known_us)
