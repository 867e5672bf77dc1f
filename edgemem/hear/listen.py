"""Recognises the speech of a stream: sound becomes utterances, in separate threads that never delay a frame.

Sound waits in a bounded queue. When the queue is full, a recording waits; a live microphone loses its oldest sound, which is counted and
reported. Offsets are those of the source, as in `Frame.offset_us`.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Literal, Protocol

from edgemem.isolation import FaultIsolation, counted_lines
from edgemem.records import AFTER_END_US, BEFORE_START_US, US, Origin, Record, Sound

QUEUE_S = 60.0
"""Most sound that waits for the recogniser, in seconds: 3.8 MB."""
_STOPPED_WAIT_S = 0.3
"""For the recogniser to end once it was stopped: what it is busy with just then may take seconds, and is heard again by a later run."""
AHEAD_US = 30 * US
"""The sound of a recording is recognised at most this far ahead of its frames."""
_SILENT_S = 10.0
"""A live source that sends no sound for so long is deaf: what is seen does not wait for its words."""
_NICE = 5
"""Recognition gets less processor time than seeing. Threads that a model starts inherit it."""


class Word(Record, frozen=True, array_like=True):
    """One word of an utterance, with offsets in the stream."""

    text: str
    t0_us: int
    t1_us: int
    probability: float


class Heard(Record, frozen=True):
    """What one speaker said without a long pause."""

    t0_us: int
    t1_us: int
    """Wall time."""
    offset_us: int
    """Offset of its beginning."""
    text: str
    speaker: str = ""
    """"speaker 3": the same for the same voice in every stream and after every restart; "" = unknown."""
    speaker_kind: Literal["voice", "person"] = "voice"
    """Kind of the speaker's entity: "person" where a subtitle file names the speaker."""
    origin: Origin = "asr"
    confidence: float = 1.0
    """0..1: how reliable the words are."""
    words: tuple[Word, ...] = ()
    united: tuple[tuple[str, str], ...] = ()
    """Voices that turned out to be one as this was heard: (the name that goes, the name that stays)."""


class SpeechRecogniser(Protocol):
    """Hook `register_ears`. Called from one thread at a time, never from the thread that handles frames."""

    name: str

    @property
    def until_us(self) -> int:
        """Offset up to which every utterance was returned: later ones begin after it."""
        ...

    @property
    def notes(self) -> dict[str, int]:
        """Messages for a person, such as speech that was left out, with their counts."""
        ...

    def hear(self, sound: Sound) -> list[Heard]:
        """Utterances that ended with this sound, in the order of their beginnings. A gap before this sound ends an open utterance."""
        ...

    def flush(self) -> list[Heard]:
        """The utterance that was open at the end, or before a silence: then hearing goes on."""
        ...

    def state(self) -> bytes:
        """The known voices (a `hear.voices.VoicesState`). They belong to the memory, not to one stream. The state contains no sound."""
        ...

    def restore(self, state: bytes) -> None:
        """Continue with an earlier `state`. Raises ValueError or msgspec.DecodeError when it is not one."""
        ...


class UtteranceStream(Protocol):
    """The utterances of one stream as they become known: a `Listener`, or subtitles.

    Order of use: `restore` (after a restart), `start`, then `seen` and `take` with every commit, `finish` (or `stop` and `finish`) and a
    last `take`. A run saves the result of `take` together with `position_us` (of the stream) and `voices` (of the memory), so that after a
    kill it continues without losing or repeating an utterance.
    """

    @property
    def heard_until_us(self) -> int:
        """Offset up to which `take` has returned every utterance; `AFTER_END_US` at the end."""
        ...

    @property
    def position_us(self) -> int:
        """Offset at which a later run continues."""
        ...

    @property
    def voices(self) -> bytes:
        """`SpeechRecogniser.state` as of the last `take`."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages for a person: lost sound, speech that was left out, failures."""
        ...

    def take_new_notes(self) -> tuple[str, ...]:
        """What failed for the first time since the last call."""
        ...

    def restore(self, position_us: int, voices: bytes) -> None:
        """Before `start`: continue where an earlier run stopped."""
        ...

    def start(self) -> None:
        """Begin."""
        ...

    def seen(self, offset_us: int | None) -> None:
        """Frames were handled up to this offset; None = there are no more frames."""
        ...

    def take(self) -> list[Heard]:
        """Utterances since the last call. Never waits."""
        ...

    def stop(self) -> None:
        """Accept no further sound. Can be called from any thread and more than once."""
        ...

    def finish(self, timeout_s: float | None = None, progress: Callable[[], object] = lambda: None) -> bool:
        """Wait until everything was recognised; `progress` is called about every second. False if it was stopped or took too long."""
        ...


class _Queue:
    """Sound that waits for the recogniser, at most `QUEUE_S` of it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sounds: deque[Sound] = deque()
        self._held_us = 0
        self._ended = False
        self.lost_us = 0

    def put(self, sound: Sound, *, wait: bool) -> None:
        """Add at the end. If the queue is full, wait, or drop its oldest sound."""
        with self._changed:
            while self._held_us + sound.duration_us > QUEUE_S * US and self._sounds and not self._ended:
                if wait:
                    self._changed.wait(timeout=0.5)
                    continue
                oldest = self._sounds.popleft()
                self._held_us -= oldest.duration_us
                self.lost_us += oldest.duration_us
            if not self._ended:
                self._sounds.append(sound)
                self._held_us += sound.duration_us
            self._changed.notify_all()

    def end(self) -> None:
        """Nothing more is added; the rest can still be taken."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def take(self, within_s: float | None = None) -> Sound | Literal["nothing"] | None:
        """The oldest sound; None after the end; "nothing" if none comes within this time."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._sounds or self._ended, within_s):
                return "nothing"
            if not self._sounds:
                return None
            sound = self._sounds.popleft()
            self._held_us -= sound.duration_us
            self._changed.notify_all()
            return sound


class Listener:
    """Recognises the speech of one source while another thread handles its frames; it implements the protocol `UtteranceStream`.

    `sounds(after_us)` yields the sound later than an offset. If the recogniser fails, that sound is lost, counted and reported.
    """

    def __init__(
        self,
        sounds: Callable[[int], Iterator[Sound]],
        recogniser: SpeechRecogniser,
        *,
        live: bool,
        paused: Callable[[], bool] = lambda: False,
    ) -> None:
        self._sounds, self._recogniser, self._live, self._paused = sounds, recogniser, live, paused
        self._queue = _Queue()
        self._isolation = FaultIsolation()
        self._lock = threading.Lock()
        self._heard: list[Heard] = []
        self._seen_us: int | None = 0
        self._moved = threading.Condition()
        self._stopped = self._ending = False
        self._silent = False
        """Whether a live source sends no sound."""
        self._taken_us = self._until_us = BEFORE_START_US
        self._state = self._taken_state = b""
        self._done = threading.Event()
        self._capturing = threading.Thread(target=self._capture, name="edgemem-sound", daemon=True)
        self._recognising = threading.Thread(target=self._recognise, name="edgemem-speech", daemon=True)

    @property
    def heard_until_us(self) -> int:
        return self._taken_us

    @property
    def position_us(self) -> int:
        """`heard_until_us`. Not useful for a live source, whose sound is gone."""
        return self._taken_us

    @property
    def voices(self) -> bytes:
        return self._taken_state

    @property
    def notes(self) -> tuple[str, ...]:
        lost_s = self._queue.lost_us / US
        lost = (f"{lost_s:.0f} s of sound were not recognised: speech recognition is slower than real time here",) if lost_s else ()
        return (*lost, *self._isolation.lines, *counted_lines(self._recogniser.notes))

    def take_new_notes(self) -> tuple[str, ...]:
        return self._isolation.take_new()

    def restore(self, position_us: int, voices: bytes) -> None:
        self._taken_us = self._until_us = BEFORE_START_US if self._live else position_us
        if voices and self._isolation.attempt("known voices could not be restored", False, self._restore, voices):
            self._state = self._taken_state = voices

    def _restore(self, voices: bytes) -> bool:
        """A new version of a recogniser may not know the old state."""
        self._recogniser.restore(voices)
        return True

    def start(self) -> None:
        self._capturing.start()
        self._recognising.start()

    def seen(self, offset_us: int | None) -> None:
        with self._moved:
            self._seen_us = offset_us
            self._moved.notify_all()

    def take(self) -> list[Heard]:
        with self._lock:
            heard, self._heard = self._heard, []
            until_us = self._seen_us - round(_SILENT_S * US) if self._silent and self._seen_us is not None else BEFORE_START_US
            self._taken_us, self._taken_state = max(self._taken_us, self._until_us, until_us), self._state
        return heard

    def stop(self) -> None:
        """Sound that waits in the queue is dropped too."""
        self._stopped = True
        self._queue.end()

    def finish(self, timeout_s: float | None = None, progress: Callable[[], object] = lambda: None) -> bool:
        """Wait until a recording was recognised to its end, or the queue of a live source is empty.

        False if the time was not enough: the rest is dropped, and a later run continues at `position_us`.
        """
        self.seen(None)
        if self._live:
            self._ending = True
            self._queue.end()
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._done.wait(_STOPPED_WAIT_S if self._stopped else 1.0):
            if self._stopped:
                return False
            progress()
            if deadline is not None and time.monotonic() > deadline:
                self.stop()
                self._done.wait(5.0)
                return False
        return not self._stopped

    def _capture(self) -> None:
        self._isolation.attempt("sound", None, self._fill)
        self._queue.end()

    def _fill(self) -> None:
        for sound in self._sounds(self._until_us):
            if self._stopped or self._ending:
                return
            if not self._paused():
                self._queue.put(sound, wait=not self._live)

    def _recognise(self) -> None:
        with suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        try:
            while (sound := self._next()) is not None and not self._stopped:
                self._pace(sound)
                self._add(partial(self._recogniser.hear, sound), sound.end_us)
            if not self._stopped:
                self._add(self._recogniser.flush)
                with self._lock:
                    self._until_us = AFTER_END_US
        finally:
            self._done.set()

    def _next(self) -> Sound | None:
        """The next sound, however long it takes; None after the end. What was open before a silence is closed."""
        while (sound := self._queue.take(_SILENT_S if self._live else None)) == "nothing":
            if not self._silent:
                self._add(self._recogniser.flush)
            self._silent = True
        self._silent = False
        return sound

    def _pace(self, sound: Sound) -> None:
        """Wait instead of running far ahead of the frames of a recording."""
        with self._moved:
            while not (self._live or self._stopped or self._seen_us is None or sound.offset_us <= self._seen_us + AHEAD_US):
                self._moved.wait(timeout=0.5)

    def _add(self, recognise: Callable[[], list[Heard]], lost_until_us: int = BEFORE_START_US) -> None:
        """`lost_until_us`: how far it is heard if this fails."""

        def step() -> tuple[list[Heard], bytes]:
            heard = recognise()
            return heard, self._recogniser.state() if heard else self._state

        done = self._isolation.attempt("hearing", None, step)
        heard, state = done or ([], self._state)
        with self._lock:
            self._heard += heard
            self._state = state
            self._until_us = max(self._until_us, self._recogniser.until_us, BEFORE_START_US if done else lost_until_us)
