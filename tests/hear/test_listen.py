"""Listening beside seeing: nothing waits for the recogniser, nothing is lost or heard twice, and what was left out is reported."""

from __future__ import annotations

import math
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemem.hear import listen
from edgemem.hear.listen import AHEAD_US, QUEUE_S, Heard, Listener
from edgemem.hear.work_budget import WorkBudget
from edgemem.records import AFTER_END_US, BEFORE_START_US, SOUND_RATE_HZ, US, Sound

CHUNK_US = US // 2


def sound(number, *, live=False):
    return Sound(
        stream="a", t_us=number * CHUNK_US, offset_us=number * CHUNK_US, samples=np.full(SOUND_RATE_HZ // 2, number, np.float32), live=live
    )


def track(count, *, live=False):
    return lambda after_us: (sound(i, live=live) for i in range(count) if (i + 1) * CHUNK_US > after_us)


class EveryFourth:
    """Hears one utterance in every four chunks, which begins with the first and ends with the third of them."""

    name = "every fourth"

    def __init__(self, work=lambda _number: None):
        self.until_us, self.notes, self.count = BEFORE_START_US, {}, 0
        self._work, self._open = work, None

    def hear(self, sound):
        number = round(float(sound.samples[0]))
        self._work(number)
        heard = []
        if number % 4 == 0:
            self._open = sound
        elif number % 4 == 2 and self._open is not None:
            self.count += 1
            heard = [Heard(t0_us=self._open.t_us, t1_us=sound.t_us, offset_us=self._open.offset_us, text=f"{number // 4}")]
            self._open = None
        self.until_us = self._open.offset_us if self._open is not None else sound.end_us
        return heard

    def flush(self):
        return []

    def state(self):
        return str(self.count).encode()

    def restore(self, state):
        self.count = int(state)


def texts(heard):
    return [h.text for h in heard]


def test_a_recording_is_heard_to_its_end_in_order():
    listener = Listener(track(20), EveryFourth(), live=False)
    listener.start()
    assert listener.finish(20)
    assert texts(listener.take()) == ["0", "1", "2", "3", "4"]
    assert listener.heard_until_us == AFTER_END_US
    assert listener.notes == ()
    assert listener.take() == []


def test_a_recording_is_not_heard_far_beyond_what_was_seen():
    listener = Listener(track(400), EveryFourth(), live=False)
    listener.start()
    listener.seen(10 * US)
    while listener.heard_until_us < 35 * US:
        time.sleep(0.01)
        listener.take()
    time.sleep(0.1)
    listener.take()
    assert listener.heard_until_us <= 10 * US + AHEAD_US + CHUNK_US
    assert listener.finish(20)
    assert listener.heard_until_us < AFTER_END_US  # as of the last `take`
    listener.take()
    assert listener.heard_until_us == AFTER_END_US


def test_taking_never_waits_for_a_slow_ear():
    goes_on = threading.Event()
    listener = Listener(track(20), EveryFourth(lambda _number: goes_on.wait(10)), live=False)
    listener.start()
    assert listener.take() == []
    assert listener.heard_until_us == BEFORE_START_US
    goes_on.set()
    assert listener.finish(20)
    assert len(listener.take()) == 5


def test_live_sound_that_cannot_be_heard_in_time_is_dropped_oldest_first_and_said():
    goes_on, all_came = threading.Event(), threading.Event()
    count = round(2 * QUEUE_S / 0.5) + 21

    def come(after_us):
        yield from track(count, live=True)(after_us)
        all_came.set()
        goes_on.wait(10)

    ear = EveryFourth(lambda _number: goes_on.wait(10))
    listener = Listener(come, ear, live=True)
    listener.start()
    assert all_came.wait(10)  # the microphone was never held up
    goes_on.set()
    listener.finish(20)
    heard = texts(listener.take())
    assert heard[-1] == str((count - 3) // 4)
    assert len(heard) <= QUEUE_S / 2 + 2
    assert any("were not recognised" in line for line in listener.notes)


def test_an_ear_that_fails_costs_its_sound_and_is_said():
    def work(number):
        if number in {5, 6}:
            raise ValueError("no such thing")

    listener = Listener(track(20), EveryFourth(work), live=False)
    listener.start()
    assert listener.finish(20)
    assert texts(listener.take()) == ["0", "2", "3", "4"]
    assert listener.notes == ("hearing: ValueError: no such thing (2 times)",)


def test_a_track_that_breaks_off_is_said_and_what_came_before_is_kept():
    def breaks(after_us):
        yield from track(8)(after_us)
        raise OSError("the disk is gone")

    listener = Listener(breaks, EveryFourth(), live=False)
    listener.start()
    listener.finish(20)
    assert texts(listener.take()) == ["0", "1"]
    assert listener.notes == ("sound: OSError: the disk is gone",)


def test_while_paused_nothing_is_heard():
    listener = Listener(track(20), EveryFourth(), live=False, paused=lambda: True)
    listener.start()
    assert listener.finish(20)
    assert listener.take() == []


def test_stopping_gives_up_the_rest_and_says_where_to_go_on():
    listener = Listener(track(4000), EveryFourth(lambda _number: time.sleep(0.001)), live=False)
    listener.start()
    listener.seen(None)
    while listener.heard_until_us < 5 * US:
        listener.take()
        time.sleep(0.005)
    listener.stop()
    assert not listener.finish(20)
    listener.take()
    assert 5 * US <= listener.position_us < 2000 * US


@given(st.lists(st.integers(0, 60), max_size=4))
@settings(max_examples=15)
def test_killed_at_any_time_every_utterance_is_heard_once(kills):
    """The result of `take` is saved with the position and the recogniser's state; everything else is lost with the process."""
    saved, position_us, state = [], BEFORE_START_US, b""
    for kill in [*sorted(kills), None]:
        ear = EveryFourth()
        listener = Listener(track(60), ear, live=False)
        listener.restore(position_us, state)
        listener.start()
        if kill is None:
            assert listener.finish(20)
        else:
            listener.seen(kill * CHUNK_US)
            time.sleep(0.002)
        saved += texts(listener.take())
        position_us, state = listener.position_us, listener.voices
        listener.stop()
    assert saved == [str(i) for i in range(15)]
    assert state == b"15"


def test_an_old_state_that_the_ear_does_not_know_is_said():
    listener = Listener(track(4), EveryFourth(), live=False)
    listener.restore(BEFORE_START_US, b"not a number")
    listener.start()
    assert listener.finish(20)
    assert len(listener.take()) == 1
    assert "known voices could not be restored" in listener.notes[0]


@given(st.lists(st.tuples(st.floats(0.1, 5), st.floats(0.01, 10)), min_size=1, max_size=200), st.floats(0.05, 2))
def test_work_never_exceeds_the_budget_by_more_than_the_credit_and_one_piece(pieces, max_rtf):
    governor = WorkBudget(max_rtf, burst_s=5)
    heard_s = worked_s = longest_s = 0.0
    for sound_s, work_s in pieces:
        governor.heard(sound_s)
        heard_s += sound_s
        if governor.afford(work_s):
            governor.spent(work_s)
            worked_s += work_s
            longest_s = max(longest_s, work_s)
    assert worked_s <= max_rtf * heard_s + 5 + longest_s + 1e-6


def test_without_a_limit_everything_is_heard():
    governor = WorkBudget(math.inf, burst_s=5)
    for _ in range(10):
        governor.heard(0.1)
        assert governor.afford(60)
        governor.spent(60)


def test_a_budget_that_was_overdrawn_recovers():
    governor = WorkBudget(0.5, burst_s=5)
    governor.spent(30)
    assert not governor.afford(1)
    governor.heard(60)
    assert governor.afford(1)
    assert governor.afford(0.5)


def test_sound_knows_its_end():
    assert sound(3).end_us == 2 * US == pytest.approx(sound(3).offset_us + sound(3).duration_us)


def live_until(listener: Listener, reached: int) -> bool:
    """Whether what is heard reaches this offset within 20 s, while the frames have reached 60 s."""
    until = time.monotonic() + 20.0
    while time.monotonic() < until:
        listener.seen(60 * US)
        listener.take()
        if listener.heard_until_us >= reached:
            return True
        time.sleep(0.02)
    return False


def test_what_is_seen_does_not_wait_for_a_microphone_that_is_silent(monkeypatch):
    monkeypatch.setattr(listen, "_SILENT_S", 0.5)
    more = threading.Event()

    def sounds(_after_us):
        yield from (sound(number, live=True) for number in range(2))
        more.wait(60.0)
        yield sound(200, live=True)

    closed = []

    class Open(EveryFourth):
        def flush(self):
            closed.append(self._open and self._open.offset_us)
            self._open = None
            return []

    listener = Listener(sounds, Open(), live=True)
    listener.start()
    assert live_until(listener, round(59.5 * US))
    assert listener.heard_until_us == round(59.5 * US), "60 s less the half second without sound"
    assert closed == [0], "the utterance that was open is closed, once"
    more.set()
    assert live_until(listener, sound(200).offset_us), "it hears again"
    listener.stop()
    listener.finish()


def test_sound_that_cannot_be_recognised_is_over_and_its_failure_is_told_while_it_hears():
    def fails(number):
        raise RuntimeError(f"no memory for {number % 2}")

    listener = Listener(track(6, live=True), EveryFourth(fails), live=False)
    listener.start()
    assert listener.finish()
    listener.take()
    assert listener.heard_until_us == AFTER_END_US
    assert listener.take_new_notes() == ("hearing: RuntimeError: no memory for 0", "hearing: RuntimeError: no memory for 1")
    assert listener.take_new_notes() == ()
    waits = threading.Event()

    def sounds(_after_us):
        yield from track(3, live=True)(BEFORE_START_US)
        waits.wait(60.0)

    deaf = Listener(sounds, EveryFourth(fails), live=True)
    deaf.start()
    assert live_until(deaf, 3 * CHUNK_US)
    waits.set()
    deaf.stop()
    deaf.finish()
