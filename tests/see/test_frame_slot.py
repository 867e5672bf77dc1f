"""How far a source may run ahead of what handles its frames."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from itertools import pairwise

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


class Hung(Counted):
    """A live source that gives nothing, also when it is closed."""

    live = True

    def __init__(self) -> None:
        self.over = threading.Event()

    def frames(self) -> Iterator[Frame]:
        self.over.wait(60.0)
        yield from ()


def test_a_stop_from_another_thread_ends_the_wait_for_a_source_that_hangs():
    source = Hung()
    slot = FrameSlot(source)  # type: ignore[arg-type]
    threading.Timer(0.2, slot.stop).start()
    began = time.monotonic()
    assert list(slot.frames()) == []
    assert 0.2 <= time.monotonic() - began < 30.0
    source.over.set()


def test_a_stop_ends_a_recording_that_waits_for_room():
    source = Counted()
    slot = FrameSlot(source)  # type: ignore[arg-type]
    frames = slot.frames()
    next(frames)
    while source.made < 3:  # one is handled, one waits, and one waits for its place
        time.sleep(0.01)
    capturing = next(thread for thread in threading.enumerate() if thread.name == "edgemem-capture")
    slot.stop()
    assert list(frames) == []
    capturing.join(20.0)
    assert not capturing.is_alive()


def test_while_no_frame_comes_something_else_is_done_about_every_second():
    source, times = Hung(), list[float]()
    slot = FrameSlot(source, lambda: times.append(time.monotonic()))  # type: ignore[arg-type]
    threading.Timer(2.5, slot.stop).start()
    assert list(slot.frames()) == []
    assert len(times) >= 2
    assert all(later - earlier >= 0.9 for earlier, later in pairwise(times))
    source.over.set()
    quick, idle = Counted(), list[int]()
    assert len(list(FrameSlot(quick, lambda: idle.append(1)).frames())) == quick.made  # type: ignore[arg-type]
    assert idle == []
