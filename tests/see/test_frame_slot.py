"""How far a source may run ahead of what handles its frames."""

from __future__ import annotations

import time
from collections.abc import Iterator

from edgemem.extend.testing import SyntheticCamera
from edgemem.records import Frame
from edgemem.see.frame_slot import FrameSlot


class Counted:
    """A recorded source that counts the frames it made."""

    name, live = "counted", False

    def __init__(self) -> None:
        self.made = 0
        self._all = list(SyntheticCamera(8.0).frames())

    def frames(self) -> Iterator[Frame]:
        for frame in self._all:
            self.made += 1
            yield frame

    def close(self) -> None:
        pass


def test_a_recording_decodes_two_frames_ahead_and_loses_none():
    source = Counted()
    slot = FrameSlot(source)  # type: ignore[arg-type]
    ahead, seqs = [], []
    for frame in slot.frames():
        seqs.append(frame.seq)
        time.sleep(0.1)
        ahead.append(source.made - len(seqs))
        slot.handled()
    assert seqs == list(range(len(seqs)))
    assert max(ahead) == 2  # one waits, and one waits for its place
