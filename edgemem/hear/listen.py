"""Hearing beside seeing: an ear turns sound into utterances, in threads of their own that never hold up a frame.

Sound waits in a bounded queue. A recording's track waits at a full queue; a live microphone loses its oldest sound there, which is counted
and said. Offsets are the source's own, as in `Frame.offset_us`: whoever stamps frames for a run stamps what was heard alike.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from edgemem.errors import EdgememError
from edgemem.records import US, Origin, Record

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Samples = npt.NDArray[np.float32]
else:
    Samples = Any

RATE_HZ = 16_000
"""Sample rate of all sound: what speech models take."""
CHUNK_S = 0.5
"""Longest sound that a source gives at a time."""
QUEUE_S = 60.0
"""Sound that waits for the ear at most: 3.8 MB."""
AHEAD_US = 30 * US
"""A recording is heard at most so far beyond what was seen of it."""
NOTHING_YET_US, NOTHING_LATER_US = -(1 << 62), 1 << 62
"""`Listener.heard_until_us` before the first sound, and once all was heard."""
_NICE = 5
"""Hearing yields to seeing where processors are short. Threads that a model starts for itself inherit it."""


class Sound(Record, frozen=True):
    """A stretch of mono sound. The next one of its stream begins where it ends, or later: a gap."""

    stream: str
    t_us: int
    offset_us: int
    """Of its first sample, counted from the stream's first frame: sound that begins before it has a negative one."""
    samples: Samples
    """float32 [n] at 16 kHz, -1..1."""
    live: bool = False
    """What comes next does not wait: an ear that falls behind must leave something out."""

    @property
    def duration_us(self) -> int:
        return len(self.samples) * US // RATE_HZ

    @property
    def end_us(self) -> int:
        """Offset just after the last sample."""
        return self.offset_us + self.duration_us


class Word(Record, frozen=True, array_like=True):
    """One word of an utterance; offsets in the stream."""

    text: str
    t0_us: int
    t1_us: int
    probability: float


class Heard(Record, frozen=True):
    """What one speaker said in one go."""

    t0_us: int
    t1_us: int
    """Wall time."""
    offset_us: int
    """Of its beginning."""
    text: str
    speaker: str = ""
    """"speaker 3": the same for the same voice in every stream and after every restart; "" = unknown."""
    speaker_kind: Literal["voice", "person"] = "voice"
    """Of the entity that the speaker is: a person where somebody wrote the name down."""
    origin: Origin = "asr"
    confidence: float = 1.0
    """0..1, how sure the words are."""
    words: tuple[Word, ...] = ()


class VoicePrint(msgspec.Struct):
    """What is kept of a voice to know it again: enough to tell who speaks, so it goes when its speaker is forgotten."""

    number: int
    seconds: float
    """Speech behind its vector."""
    heard: int
    """When it was heard last, in utterances since the beginning."""
    vector: bytes
    """float16 [dim], unit length."""

    @property
    def name(self) -> str:
        return f"speaker {self.number}"


class VoicesState(msgspec.Struct):
    """`Ear.state`, in MessagePack. `last` is the highest number ever given: none is given twice."""

    space: str
    """Of the vectors: those of two embedders cannot be compared."""
    count: int
    last: int
    voices: list[VoicePrint]


def without_voices(state: bytes, names: Collection[str]) -> bytes:
    """The state of an ear that does not know these speakers any more; nothing of a state that is not understood."""
    try:
        found = msgspec.msgpack.decode(state, type=VoicesState)
    except msgspec.MsgspecError:
        return b""
    found.voices = [voice for voice in found.voices if voice.name not in names]
    return msgspec.msgpack.encode(found)


class SpeechRecogniser(Protocol):
    """Hook `register_ears`. Called from one thread at a time, not the one that sees."""

    name: str

    @property
    def until_us(self) -> int:
        """Offset up to which all that was said has been given: nothing that comes later began before it."""
        ...

    @property
    def notes(self) -> dict[str, int]:
        """Lines for a person, such as speech that was left out, with how often."""
        ...

    def hear(self, sound: Sound) -> list[Heard]:
        """Utterances that ended with this sound, in the order of their beginnings. A gap before it ends what was being said."""
        ...

    def flush(self) -> list[Heard]:
        """What was being said at the end."""
        ...

    def state(self) -> bytes:
        """What is known of voices (a `VoicesState`): of the memory, not of one stream. No sound is in it."""
        ...

    def restore(self, state: bytes) -> None:
        """Go on with an earlier `state`."""
        ...


class Governor:
    """A budget of work for live sound: seconds of work per second of sound, with some credit for a lively minute.

    `afford(work_s)` asks before a piece of work, `spent(work_s)` tells what it took. Credit never grows beyond `burst_s` of work.
    """

    def __init__(self, max_rtf: float, burst_s: float = 20.0) -> None:
        self._max_rtf, self._burst_s = max_rtf, burst_s
        self._credit_s = burst_s

    def heard(self, sound_s: float) -> None:
        """So much sound has come."""
        if self._max_rtf != math.inf:
            self._credit_s = min(self._burst_s, self._credit_s + sound_s * self._max_rtf)

    def afford(self, work_s: float) -> bool:
        """Whether work of this length is within the budget. With full credit everything is: one long utterance must not starve."""
        return self._max_rtf == math.inf or work_s <= self._credit_s or self._credit_s >= self._burst_s

    def spent(self, work_s: float) -> None:
        self._credit_s -= work_s


class _Queue:
    """Sound on its way to the ear, at most `QUEUE_S` of it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sounds: deque[Sound] = deque()
        self._held_us = 0
        self._ended = False
        self.lost_us = 0

    def put(self, sound: Sound, *, wait: bool) -> None:
        """Add at the end; a full queue is waited for, or loses its oldest sound."""
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
        """Nothing more is taken in; what is there can still be taken out."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def take(self) -> Sound | None:
        """The oldest sound; None after the end."""
        with self._changed:
            while not self._sounds and not self._ended:
                self._changed.wait(timeout=0.5)
            if not self._sounds:
                return None
            sound = self._sounds.popleft()
            self._held_us -= sound.duration_us
            self._changed.notify_all()
            return sound


class Listener:
    """Hears one source while another thread sees it.

    `sounds(after_us)` gives the sound later than an offset. Order of use: `restore` (after a restart), `start`, then `seen` and `take` with
    every commit, `finish` (or `stop` and `finish`) and a last `take`. What `take` gave, saved together with `position_us` (of the stream)
    and `ear_state` (of the memory), lets a killed run go on without losing or repeating an utterance. An ear that fails costs its sound,
    is counted and said.
    """

    def __init__(
        self, sounds: Callable[[int], Iterator[Sound]], ear: SpeechRecogniser, *, live: bool, paused: Callable[[], bool] = lambda: False
    ) -> None:
        self._sounds, self._ear, self._live, self._paused = sounds, ear, live, paused
        self._queue = _Queue()
        self._lock = threading.Lock()
        self._heard: list[Heard] = []
        self._notes: dict[str, int] = {}
        self._seen_us: int | None = 0
        self._moved = threading.Condition()
        self._stopped = self._ending = False
        self._taken_us = self._until_us = NOTHING_YET_US
        self._state = self._taken_state = b""
        self._done = threading.Event()
        self._capturing = threading.Thread(target=self._capture, name="edgemem-sound", daemon=True)
        self._hearing = threading.Thread(target=self._hear, name="edgemem-ear", daemon=True)

    @property
    def heard_until_us(self) -> int:
        """Offset up to which `take` has given every utterance; `NOTHING_LATER_US` once all was heard."""
        return self._taken_us

    @property
    def position_us(self) -> int:
        """Where a later run must go on: `heard_until_us`. Of no use for a live source, whose sound is gone."""
        return self._taken_us

    @property
    def ear_state(self) -> bytes:
        """`Ear.state` as of the last `take`."""
        return self._taken_state

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines for a person: sound that was lost, speech that was left out, failures."""
        lost_s = self._queue.lost_us / US
        lost = (f"{lost_s:.0f} s of sound were not heard: hearing is slower than real time here",) if lost_s else ()
        with self._lock:
            counted = {**self._notes, **self._ear.notes}
        return (*lost, *(f"{line} ({times} times)" if times > 1 else line for line, times in counted.items()))

    def restore(self, position_us: int, ear_state: bytes) -> None:
        """Before `start`: go on where an earlier run was."""
        self._taken_us = self._until_us = NOTHING_YET_US if self._live else position_us
        if ear_state:
            try:
                self._ear.restore(ear_state)
                self._state = self._taken_state = ear_state
            except Exception as error:  # noqa: BLE001 - a new version of an ear may not know the old state
                self._note(f"voices start afresh: {error}")

    def start(self) -> None:
        self._capturing.start()
        self._hearing.start()

    def seen(self, offset_us: int | None) -> None:
        """Frames were seen up to here; None = there are none, so that a recording is heard as fast as it can be."""
        with self._moved:
            self._seen_us = offset_us
            self._moved.notify_all()

    def take(self) -> list[Heard]:
        """What was heard since the last call. Never waits."""
        with self._lock:
            heard, self._heard = self._heard, []
            self._taken_us, self._taken_state = self._until_us, self._state
        return heard

    def stop(self) -> None:
        """Hear no further sound, what waits in the queue included; from any thread, twice if need be."""
        self._stopped = True
        self._queue.end()

    def finish(self, timeout_s: float | None = None, progress: Callable[[], object] = lambda: None) -> bool:
        """Wait until a recording was heard to its end, or a live source's queue is empty. `progress` is called about every second.

        False when the time was not enough: the rest is given up, `position_us` says where.
        """
        self.seen(None)
        if self._live:
            self._ending = True
            self._queue.end()
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._done.wait(1.0):
            progress()
            if deadline is not None and time.monotonic() > deadline:
                self.stop()
                self._done.wait(5.0)
                return False
        return not self._stopped

    def _capture(self) -> None:
        try:
            for sound in self._sounds(self._until_us):
                if self._stopped or self._ending:
                    return
                if self._paused():
                    continue
                self._queue.put(sound, wait=not self._live)
        except EdgememError as error:
            self._note(f"sound: {error}")
        except Exception as error:  # noqa: BLE001 - seeing goes on whatever a decoder does
            self._note(f"sound: {type(error).__name__}: {error}")
        finally:
            self._queue.end()

    def _hear(self) -> None:
        with suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        try:
            while (sound := self._queue.take()) is not None and not self._stopped:
                self._pace(sound)
                self._give(self._ear.hear, sound)
            if not self._stopped:
                self._give(self._ear.flush)
                with self._lock:
                    self._until_us = NOTHING_LATER_US
        finally:
            self._done.set()

    def _pace(self, sound: Sound) -> None:
        """Do not run away from the pictures of a recording."""
        with self._moved:
            while not (self._live or self._stopped or self._seen_us is None or sound.offset_us <= self._seen_us + AHEAD_US):
                self._moved.wait(timeout=0.5)

    def _give(self, action: Callable[..., list[Heard]], *args: Any) -> None:
        try:
            heard = action(*args)
            state = self._ear.state() if heard else self._state
        except Exception as error:  # noqa: BLE001 - an ear that fails costs its sound, not the run
            self._note(f"hearing: {error if isinstance(error, EdgememError) else f'{type(error).__name__}: {error}'}")
            heard, state = [], self._state
        with self._lock:
            self._heard += heard
            self._state = state
            self._until_us = max(self._until_us, self._ear.until_us)

    def _note(self, line: str) -> None:
        with self._lock:
            self._notes[line] = self._notes.get(line, 0) + 1
