"""Decides where a run begins: with a new stream, or at the point where a killed run of the same stream stopped.

A recording that was not seen to its end is continued after its last saved frame. It is continued earlier if a selector had not decided on a
frame yet: these frames are read from the recording again, so that the saved state contains no picture. A recording that was seen to its
end, or another one of the same name, becomes a new stream `name-2`, `name-3` ...; the caller decides whether to see a recording twice
(`seen_as`). A live stream always continues under its name.
"""

from __future__ import annotations

import msgspec

from edgemem.clock import JUMP_US, UNTRUSTED_US
from edgemem.records import BEFORE_START_US, US, Frame
from edgemem.remember.store import Store, Transaction
from edgemem.see.sources.base import Source


class Saved(msgspec.Struct, kw_only=True):
    """The state of a run. It is committed together with the moments, so that both always match."""

    identity: str
    t0_us: int
    finished: bool = False
    offset_us: int = -1
    """Offset of the last frame that was handled."""
    t_us: int = 0
    seq: int = -1
    boot_id: str = ""
    clocks_us: int = 0
    """For a live source: the boot of its last frame, and the difference between its wall clock and its monotonic clock."""
    accepted: bytes = b""
    """PNG of the 320 px copy of the last frame that passed the gates."""
    accepted_us: int = 0
    heard_us: int = BEFORE_START_US
    """Offset of the source up to which its sound was heard."""
    states: dict[str, bytes] = {}
    """States by `selector/<name>` and `segmenter/<name>`: components of another recipe start without a state."""
    held: list[int] = []
    """Offsets of the frames on which the selector has not decided yet."""
    again_us: int = -1
    """Offset at which a recording is continued to read these frames again."""
    slots: dict[str, dict[str, int]] = {}
    """By the name of the selector: moment ids by slot."""


class StreamRun:
    """The stream of one run: its name, its saved state, and the times of its frames."""

    def __init__(self, store: Store, source: Source) -> None:
        self.stream, found = _find(store, source)
        self.resumed = found is not None
        self.saved = found or Saved(identity=source.identity, t0_us=source.t0_us)
        self.live = source.live
        self.state_bytes = 0
        """Size of the state that was saved last."""
        self._shift_us = self._ahead_us = 0
        self._prior_us = self.saved.t_us if self.resumed and source.live else None
        self.corrected = False
        """Whether the clock was corrected at the last frame: `clocks_us` gives the new dates of this boot."""
        self.trusted = store.time_trusted
        self._seq = 0
        self._first_state = None if self.resumed else self.encode()
        """The state with which a run starts again if it is killed before the first save; None after that save."""
        if self.resumed and self.live:
            # If the clock was set back while the device was off, new frames must still get later dates than old ones.
            self._shift_us = max(0, self.saved.t_us + US - source.t0_us)
            self._ahead_us = source.t0_us + self._shift_us - self.saved.t0_us
            self._seq = self.saved.seq + 1
        elif self.resumed:
            source.skip_to(self.saved.again_us if self.saved.held else self.saved.offset_us)

    @property
    def key(self) -> str:
        """Key of the saved state in the store."""
        return f"see/{self.stream}"

    def stamped(self, frame: Frame) -> Frame:
        """The frame with the name of this stream; its times continue those of earlier runs."""
        self._watch_clock(frame)
        t_us, offset_us = self.stamp(frame.t_us, frame.offset_us)
        return msgspec.structs.replace(frame, stream=self.stream, seq=frame.seq + self._seq, t_us=t_us, offset_us=offset_us)

    def stamp(self, t_us: int, offset_us: int) -> tuple[int, int]:
        """(wall time, offset) in this stream for those of the source."""
        offset_us += self._ahead_us
        return (t_us + self._shift_us if self.live else self.saved.t0_us + offset_us), offset_us

    @property
    def clocks_us(self) -> int:
        """Wall time minus monotonic time of this run."""
        return self.saved.clocks_us + self._shift_us

    def _watch_clock(self, frame: Frame) -> None:
        """Detect that the source's clock was corrected (its wall time jumped relative to the monotonic one), or cannot be trusted."""
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
                # A clock in 1970 needs this correction to come after the last run; the correct clock does not.
                shift_us = max(0, self._prior_us + US - (frame.t_us - frame.offset_us))
                self.saved.t0_us += shift_us - self._shift_us
                self._shift_us = shift_us

    def encode(self) -> bytes:
        """The state as bytes, for `Transaction.set_state`."""
        state = msgspec.msgpack.encode(self.saved)
        self.state_bytes = len(state)
        return state

    def save_first(self, tx: Transaction) -> None:
        """Save the first state when moments are stored before the state they belong to: if the run is then killed, it starts again under
        this name.
        """
        if self._first_state is not None:
            tx.set_state(self.key, self._first_state)
            self._first_state = None

    def saved_first(self) -> None:
        """Note that a state is saved."""
        self._first_state = None


def state_of(store: Store, stream: str) -> bytes | None:
    """The saved state of a stream; None if nothing of it was seen, or all of it was forgotten."""
    return store.state(f"see/{stream}")


def seen_as(store: Store, source: Source) -> str:
    """Name of the stream as which this same recording was seen to its end before; "" if it was not, or if it is being seen again now."""
    return "" if _find(store, source)[1] is not None else _seen_whole(store, source)


def seen_whole(store: Store, source: Source) -> bool:
    """Whether this same recording was seen to its end before, so that a restarted daemon does not see it again."""
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
    """The saved state without pictures: where to continue is kept, what components know about the last frames is removed."""
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
