"""How a run begins: with a new stream, or where a killed run of the same stream stopped.

A recording that was not seen to its end is continued after its last saved frame, or earlier where a selector had not decided on a frame
yet: these frames are taken from the recording again, so that no picture is in the saved state. A recording that was seen to its end, or
another one of the same name, becomes a new stream `name-2`, `name-3` ...; whether to see a film twice is up to the caller (`seen_as`).
A live stream always goes on under its name.
"""

from __future__ import annotations

import msgspec

from edgemem.clock import JUMP_US, UNTRUSTED_US
from edgemem.records import BEFORE_START_US, US, Frame
from edgemem.remember.store import Store, Transaction
from edgemem.see.sources.base import Source


class Saved(msgspec.Struct, kw_only=True):
    """What is committed with the moments, so that both are always from the same instant."""

    identity: str
    t0_us: int
    finished: bool = False
    offset_us: int = -1
    """Last frame that was handled."""
    t_us: int = 0
    seq: int = -1
    boot_id: str = ""
    clocks_us: int = 0
    """Of a live source: the boot of its last frame, and how far its wall clock was ahead of the monotonic one."""
    accepted: bytes = b""
    """PNG of the 320 px copy of the last frame that passed the gates."""
    accepted_us: int = 0
    heard_us: int = BEFORE_START_US
    """Offset, in the source's own count, up to which its sound was heard."""
    states: dict[str, bytes] = {}
    """By `selector/<name>` and `segmenter/<name>`: another recipe starts afresh."""
    held: list[int] = []
    """Offsets of the frames on which the selector has not decided yet."""
    again_us: int = -1
    """Where a recording is continued to see these frames again."""
    slots: dict[str, dict[str, int]] = {}
    """By the selector's name: moment ids by slot."""


class StreamRun:
    """The stream of one run: its name, its saved state, and the stamps of its frames."""

    def __init__(self, store: Store, source: Source) -> None:
        self.stream, found = _find(store, source)
        self.resumed = found is not None
        self.saved = found or Saved(identity=source.identity, t0_us=source.t0_us)
        self.live = source.live
        self.state_bytes = 0
        """Length of the state that was saved last."""
        self._shift_us = self._ahead_us = 0
        self._prior_us = self.saved.t_us if self.resumed and source.live else None
        self.corrected = False
        """The clock was set right with the last frame: `clocks_us` dates this boot anew."""
        self.trusted = store.time_trusted
        self._seq = 0
        self._first_state = None if self.resumed else self.encode()
        """Where a run that is killed before it saved a state begins again; None once one is saved."""
        if self.resumed and self.live:
            # A clock that was set back while we were off must not date new frames before old ones.
            self._shift_us = max(0, self.saved.t_us + US - source.t0_us)
            self._ahead_us = source.t0_us + self._shift_us - self.saved.t0_us
            self._seq = self.saved.seq + 1
        elif self.resumed:
            source.skip_to(self.saved.again_us if self.saved.held else self.saved.offset_us)

    @property
    def key(self) -> str:
        """Where the state is kept."""
        return f"see/{self.stream}"

    def stamped(self, frame: Frame) -> Frame:
        """The frame under this stream's name, its times continuing those of earlier runs."""
        self._watch_clock(frame)
        t_us, offset_us = self.stamp(frame.t_us, frame.offset_us)
        return msgspec.structs.replace(frame, stream=self.stream, seq=frame.seq + self._seq, t_us=t_us, offset_us=offset_us)

    def stamp(self, t_us: int, offset_us: int) -> tuple[int, int]:
        """(wall time, offset) in this stream of what the source gave at these."""
        offset_us += self._ahead_us
        return (t_us + self._shift_us if self.live else self.saved.t0_us + offset_us), offset_us

    @property
    def clocks_us(self) -> int:
        """Wall minus monotonic time of this run's stamps."""
        return self.saved.clocks_us + self._shift_us

    def _watch_clock(self, frame: Frame) -> None:
        """Notice that the source's clock was set right (its wall time jumped against the monotonic one), or cannot be trusted."""
        if not (self.live and frame.boot_id):
            return
        self.trusted = frame.error_us < UNTRUSTED_US
        saved, clocks_us = self.saved, frame.t_us - frame.mono_us
        moved_us = clocks_us - saved.clocks_us if saved.boot_id == frame.boot_id else 0
        if abs(moved_us) > JUMP_US and not self.trusted:
            return
        saved.boot_id, saved.clocks_us = frame.boot_id, clocks_us
        if abs(moved_us) > JUMP_US:
            self.corrected = True
            self.saved.t0_us += moved_us
            if self._prior_us is not None:
                # What a clock of 1970 needed to come after the last run, the right one does not.
                shift_us = max(0, self._prior_us + US - (frame.t_us - frame.offset_us))
                self.saved.t0_us += shift_us - self._shift_us
                self._shift_us = shift_us

    def encode(self) -> bytes:
        """For `Transaction.set_state`."""
        state = msgspec.msgpack.encode(self.saved)
        self.state_bytes = len(state)
        return state

    def save_first(self, tx: Transaction) -> None:
        """With moments that are stored ahead of the state they belong to: a run that is killed then begins again under this name."""
        if self._first_state is not None:
            tx.set_state(self.key, self._first_state)
            self._first_state = None

    def saved_first(self) -> None:
        """A state is saved."""
        self._first_state = None


def state_of(store: Store, stream: str) -> bytes | None:
    """What is saved of a stream; None where nothing of it was seen, or all of it is forgotten."""
    return store.state(f"see/{stream}")


def seen_as(store: Store, source: Source) -> str:
    """The stream as which this very recording was seen to its end before; "" when it was not, or when it is being seen once more."""
    return "" if _find(store, source)[1] is not None else _seen_whole(store, source)


def seen_whole(store: Store, source: Source) -> bool:
    """Whether this very recording was seen to its end before, so that a daemon that starts again need not see it again."""
    return bool(_seen_whole(store, source))


def _seen_whole(store: Store, source: Source) -> str:
    number = 1
    while not source.live and (state := state_of(store, _numbered(source.name, number))) is not None:
        saved = msgspec.msgpack.decode(state, type=Saved)
        if saved.finished and saved.identity == source.identity:
            return _numbered(source.name, number)
        number += 1
    return ""


def without_pictures(state: bytes) -> bytes:
    """A saved state that shows nothing: where to continue stays, what components know of the last frames goes."""
    saved = msgspec.msgpack.decode(state, type=Saved)
    saved.accepted, saved.accepted_us, saved.states, saved.held, saved.slots = b"", 0, {}, [], {}
    return msgspec.msgpack.encode(saved)


def _find(store: Store, source: Source) -> tuple[str, Saved | None]:
    number = 1
    while True:
        name = _numbered(source.name, number)
        state = state_of(store, name)
        if state is None:
            return name, None
        saved = msgspec.msgpack.decode(state, type=Saved)
        if source.live or (saved.identity == source.identity and not saved.finished):
            return name, saved
        number += 1


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"
