"""What the ear of a run brings into its stream: utterances, their speakers, and where a later run goes on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from edgemem.errors import BudgetError
from edgemem.hear.listen import NOTHING_LATER_US, Heard, Listener, Sound, SpeechRecogniser
from edgemem.hear.subtitles import Subtitles
from edgemem.records import Document, Entity
from edgemem.remember.entries import NewDocument, NewEntity, NewPassage, embedded
from edgemem.remember.results import Spoken

if TYPE_CHECKING:
    from edgemem.infer.roles import TextEmbedder
    from edgemem.remember.store import Store, Transaction
    from edgemem.see.resume import StreamRun
    from edgemem.see.sources.base import Source


class Hearing:
    """The sound of one run's source. A source without sound is silent from the start."""

    def __init__(
        self,
        source: Source,
        ear: SpeechRecogniser | Subtitles,
        store: Store,
        run: StreamRun,
        embedder: TextEmbedder | None,
        paused: Callable[[], bool],
    ) -> None:
        self._store, self._run, self._ear, self._embedder = store, run, ear, embedder
        sounds: Callable[[int], Iterator[Sound]] = getattr(source, "sounds", _silence)
        self._listener = ear if isinstance(ear, Subtitles) else Listener(sounds, ear, live=source.live, paused=paused)
        self.utterances = 0
        self._waiting: deque[Heard] = deque()
        """Under a budget: what was heard and does not fit into the transaction any more."""
        self._too_long = 0

    @property
    def _voices(self) -> str:
        return f"hear/{self._ear.name}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines for a person."""
        lost = (f"{self._too_long} utterances are too long for budget.disk and were left out",) if self._too_long else ()
        return (*self._listener.notes, *lost)

    @property
    def waiting(self) -> bool:
        """Something was heard that the next `write` stores."""
        return bool(self._waiting)

    def start(self) -> None:
        """Begin to listen where an earlier run stopped."""
        self._listener.restore(self._run.saved.heard_us, self._store.state(self._voices) or b"")
        self._listener.start()

    def seen(self, offset_us: int) -> None:
        """The pictures have come this far in the stream."""
        self._listener.seen(offset_us - self._run.stamp(0, 0)[1])

    def finish(self, waiting: Callable[[], object], stopped: Callable[[], bool]) -> None:
        """The pictures have ended: hear a recording to its end, or only what was said already once the run is stopped."""

        def progress() -> None:
            if stopped():
                self._listener.stop()
            waiting()

        progress()
        self._listener.finish(progress=progress)

    def write(self, tx: Transaction, told: Callable[[Spoken], object]) -> int:
        """Store what was heard, as much as fits, and tell it; returns the offset in the stream up to which nothing more will come."""
        self._waiting.extend(self._listener.take())
        last_us = None  # what begins at once is stored at once: a later run could not tell which of it was
        while self._waiting and (not tx.full or self._waiting[0].offset_us == last_us):
            last_us = self._waiting[0].offset_us
            try:
                if tx.attempt(partial(self._store_one, self._waiting[0], told)):
                    break
            except BudgetError:
                self._too_long += 1
            self._waiting.popleft()
        until_us, position_us = self._listener.heard_until_us, self._listener.position_us
        if self._waiting:
            before_us = min(heard.offset_us for heard in self._waiting) - 1
            until_us, position_us = min(until_us, before_us), min(position_us, before_us)
        self._run.saved.heard_us = position_us
        if self._listener.ear_state:
            tx.set_state(self._voices, self._listener.ear_state)
        return until_us if until_us == NOTHING_LATER_US else self._run.stamp(0, until_us)[1]

    def _store_one(self, heard: Heard, told: Callable[[Spoken], object], tx: Transaction) -> None:
        told(self._add(tx, heard))
        self.utterances += 1

    def _add(self, tx: Transaction, heard: Heard) -> Spoken:
        t0_us, offset_us = self._run.stamp(heard.t0_us, heard.offset_us)
        t1_us = t0_us + heard.t1_us - heard.t0_us
        speaker = None
        if heard.speaker:
            speaker_id = tx.add_entity(NewEntity(kind=heard.speaker_kind, name=heard.speaker, known_us=t1_us))
            speaker = Entity(id=speaker_id, kind=heard.speaker_kind, name=heard.speaker)
        new = NewDocument(
            kind="utterance", text=heard.text, stream=self._run.stream, t0_us=t0_us, t1_us=t1_us, offset_us=offset_us, known_us=t1_us,
            origin=heard.origin, speaker_id=speaker.id if speaker else None, confidence=heard.confidence,
            passages=(NewPassage(kind="document", text=heard.text, vectors={}),),
        )  # fmt: skip
        document_id = tx.add_document(embedded(new, self._embedder))
        document = Document(
            id=document_id, kind=new.kind, text=new.text, stream=new.stream, t0_us=t0_us, t1_us=t1_us, offset_us=offset_us,
            known_us=t1_us, origin=new.origin,
        )  # fmt: skip
        return Spoken(document=document, speaker=speaker, confidence=heard.confidence)


def _silence(_after_us: int) -> Iterator[Sound]:
    return iter(())
