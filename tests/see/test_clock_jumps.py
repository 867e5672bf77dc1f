"""A camera whose clock is set while it sees: the order is kept, nothing fades, and times are correct as soon as the clock is."""

from __future__ import annotations

import itertools

import pytest

from edgemem.clock import SteadyClock
from edgemem.extend.testing import FakeClock, FakeJointEmbedder, SyntheticCamera
from edgemem.records import US, Frame
from edgemem.remember.check import check_memory
from edgemem.remember.store import Store
from edgemem.remember.tiers import AgeTiers, AgeTiersSettings, TierRule
from edgemem.see.chains import Chain
from edgemem.see.perceive import JointPerceiver
from edgemem.see.pipeline import Pipeline, PipelineParts
from edgemem.see.segment import FixedWindow
from edgemem.see.select import KeepAll
from edgemem.see.sources.base import BaseSource
from edgemem.see.write import EventDocument

NOW_US = 1_780_000_000 * US
YEAR_S = 365 * 86400
FADING = AgeTiersSettings(tiers=(TierRule("recent", 3600), TierRule("long", None, gap_s=600)))


class LiveCamera(BaseSource):
    """The synthetic camera, live, a frame a second on a clock that is set at some of its frames (`jumps`: frame -> seconds)."""

    live = True
    identity = blind = ""
    name = "door"
    duration_us = None

    def __init__(self, clock, frames, jumps, boot="boot-1"):
        self._clock, self._count, self._jumps, self._boot = clock, frames, jumps, boot
        self._steady = SteadyClock(clock.wall, clock.mono, clock.kernel)
        self.t0_us, self._mono0_us, _ = self._steady.now()
        self.dropped = {}

    def skip_to(self, _offset_us):
        pass

    def frames(self):
        for picture in SyntheticCamera(self._count, scene_s=5).frames():
            self._clock.tick(1.0)
            self._clock.jump(self._jumps.get(picture.seq, 0))
            t_us, mono_us, error_us = self._steady.now()
            yield Frame(
                stream=self.name, seq=picture.seq, t_us=t_us, offset_us=mono_us - self._mono0_us, image=picture.image,
                mono_us=mono_us, boot_id=self._boot, error_us=error_us,
            )  # fmt: skip

    def close(self):
        pass


def see(directory, camera):
    with Store.open(directory) as store:
        parts = PipelineParts(
            selector=KeepAll(),
            chains=[Chain(FixedWindow(), [EventDocument()])],
            perceivers=[JointPerceiver(FakeJointEmbedder())],
            retainer=AgeTiers(FADING),
        )
        return Pipeline(camera, parts, store).run()


@pytest.fixture(autouse=True)
def _every_frame(monkeypatch):
    """A live source drops frames that are not read in time; here every frame must be seen."""
    monkeypatch.setattr("edgemem.see.frame_slot.FrameSlot.frames", lambda self: self._source.frames())


def remembered(directory):
    with Store.open(directory) as store, store.view() as view:
        moments = view.moments()
        assert [m.seq for m in moments] == sorted(m.seq for m in moments), "order"
        assert all(a.t_us < b.t_us for a, b in itertools.pairwise(moments))
        by_id = {m.id: m for m in moments}
        for segment in view.segments():
            times = [m.t_us for m in view.segment_moments(segment.id)]
            assert (segment.t0_us, segment.t1_us) == (min(times), max(times))
        for document in view.documents(kinds=["event"]):
            assert document.t0_us <= by_id[document.moment_id].t_us <= document.t1_us <= document.known_us
        for posting in view.postings(["bright", "dark"]):
            assert posting.t_us == by_id[posting.moment_id].t_us
        found = view.vector_search(FakeJointEmbedder.space.name, view.vectors(FakeJointEmbedder.space.name, [moments[0].id])[0], 1000)
        assert {i for i, _ in found} == set(by_id)
        lasting = view.vector_search(
            FakeJointEmbedder.space.name, view.vectors(FakeJointEmbedder.space.name, [moments[0].id])[0], 1000,
            from_us=moments[5].t_us,
        )  # fmt: skip
        assert {i for i, _ in lasting} == {m.id for m in moments[5:]}
        trusted = store.time_trusted
    assert check_memory(directory) == []
    return [m.t_us for m in moments], trusted


@pytest.mark.parametrize("jump_s", [-NOW_US // US, 10 * YEAR_S, -3600], ids=["to 1970", "ten years on", "an hour back"])
def test_a_clock_that_is_set_wrong_changes_nothing_and_nothing_fades_meanwhile(tmp_path, jump_s):
    clock = FakeClock(NOW_US)
    see(tmp_path, LiveCamera(clock, 40, {20: jump_s}))
    times, trusted = remembered(tmp_path)
    assert times == [NOW_US + (i + 1) * US for i in range(40)]
    assert not trusted
    with Store.open(tmp_path) as store:
        assert AgeTiers(AgeTiersSettings(tiers=(TierRule("recent", 1), TierRule("long", None, gap_s=600)))).apply(store).dropped == 0


def test_a_clock_that_returns_is_trusted_again(tmp_path):
    clock = FakeClock(NOW_US)
    see(tmp_path, LiveCamera(clock, 40, {10: -3600, 30: 3600}))
    times, trusted = remembered(tmp_path)
    assert times == [NOW_US + (i + 1) * US for i in range(40)]
    assert trusted


def test_a_board_that_starts_in_1970_dates_its_memories_once_it_knows_the_time(tmp_path):
    clock = FakeClock(0)
    report = see(tmp_path, LiveCamera(clock, 40, {20: NOW_US // US}))
    times, trusted = remembered(tmp_path)
    assert times == [NOW_US + (i + 1) * US for i in range(40)]
    assert trusted
    assert report.notes[0] == "the clock was corrected: 20 moments of this boot got new dates"


def test_a_jump_that_the_time_server_confirms_is_followed_and_corrects_what_came_before(tmp_path):
    clock = FakeClock(NOW_US)
    clock.error_us = 1500
    see(tmp_path, LiveCamera(clock, 40, {10: -3600}))
    times, trusted = remembered(tmp_path)
    assert times == [NOW_US + (i + 1 - 3600) * US for i in range(40)]
    assert trusted


def test_a_reboot_without_a_clock_comes_after_what_was_known_and_is_dated_later(tmp_path):
    see(tmp_path, LiveCamera(FakeClock(NOW_US), 10, {}))
    see(tmp_path, LiveCamera(FakeClock(0), 10, {}, boot="boot-2"))
    times, trusted = remembered(tmp_path)
    assert len(times) == 20
    assert not trusted
    later = FakeClock(0)
    later.tick(100)
    see(tmp_path, LiveCamera(later, 10, {5: (NOW_US // US) + 86400}, boot="boot-2"))
    times, trusted = remembered(tmp_path)
    assert trusted
    seconds = [*range(1, 11), *range(101, 111)]
    assert times[-20:] == [NOW_US + (86400 + second) * US for second in seconds]
    assert 2 <= len(times) - 20 < 10, "the first run is a day old now and has faded"


def test_the_error_of_a_clock_is_told():
    clock = FakeClock(NOW_US)
    steady = SteadyClock(clock.wall, clock.mono, clock.kernel)
    first = steady.now().error_us
    clock.tick(86400)
    assert steady.now().error_us == first + 43_200_000  # 500 ppm of a day
    clock.error_us = 700
    assert steady.now().error_us == 700
    clock.jump(-NOW_US / US)
    assert not steady.now().trusted
