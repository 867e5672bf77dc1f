"""Short-term memory against an oracle of its own, drawn streams, and the statistics of the sample."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import msgspec
import numpy as np
import pytest
from edgemem_eventmem.histogram import correlation, grey_histogram
from edgemem_eventmem.segmenter import Events
from edgemem_eventmem.short_term import ShortTermMemory, ShortTermSettings, event_of, role, slot
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemem.extend import US, Candidate, Evict, Frame, Keep, Mark, Pin, Replace, Unpin

BRIGHTNESS = {"dark": 20, "grey": 120, "bright": 230}


def picture(brightness: int, width: int = 32) -> np.ndarray:
    """A ramp of 16 grey values from `brightness` on: two pictures far apart share no bin."""
    ramp = np.clip(brightness + np.arange(width) % 16, 0, 255).astype(np.uint8)
    return np.repeat(np.tile(ramp, (24, 1))[..., None], 3, axis=2)


def candidate(second: int, brightness: int) -> Candidate:
    image = picture(brightness)
    frame = Frame(stream="s", seq=second, t_us=second * US, offset_us=second * US, image=image)
    return Candidate(frame=frame, vector=np.zeros(0, np.float32), sharpness=50.0, small=image)


class Core:
    """What the core does with decisions: which frame is in which slot, and which slots are pinned."""

    def __init__(self) -> None:
        self.slots: dict[str, tuple[int, str]] = {}
        self.pinned: set[str] = set()
        self.most = 0

    def carry_out(self, decisions: Iterable[object]) -> None:
        for decision in decisions:
            match decision:
                case Keep(candidate=kept, slot=name, role=why):
                    assert name not in self.slots
                    self.slots[name] = (kept.frame.seq, why)
                case Replace(slot=name, candidate=kept, role=why):
                    assert name in self.slots
                    assert name not in self.pinned
                    self.slots[name] = (kept.frame.seq, why)
                case Evict(slot=name):
                    assert name not in self.pinned
                    del self.slots[name]
                case Pin(slot=name):
                    self.pinned.add(name)
                case Unpin(slot=name):
                    self.pinned.remove(name)

    def short_term(self, memory: ShortTermMemory) -> dict[str, int]:
        """Frames of the events that are held, by slot."""
        held = {event.number for event in memory.events}
        return {name: seq for name, (seq, why) in self.slots.items() if event_of(why) in held}


def watch(brightness: Iterable[int], chosen: ShortTermSettings, *, restart_every: int = 0) -> tuple[ShortTermMemory, Core]:
    memory, core = ShortTermMemory(chosen), Core()
    for second, level in enumerate(brightness):
        core.carry_out(memory.observe(candidate(second, level)))
        core.most = max(core.most, len(core.short_term(memory)))
        if restart_every and second % restart_every == 0:
            state, memory = memory.state(), ShortTermMemory(chosen)
            memory.restore(state)
    return memory, core


# Histograms


def test_a_histogram_is_the_share_of_pixels_by_luma():
    image = np.zeros((1, 4, 3), np.uint8)
    image[0, 3] = (255, 255, 255)
    image[0, 2] = (255, 0, 0)  # blue: 0.114 x 255 = 29
    histogram = grey_histogram(image, 4)
    assert histogram.tolist() == [0.75, 0, 0, 0.25]
    assert grey_histogram(image, 256)[29] == 0.25


def test_correlation_is_pearsons():
    a, b = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.3, 0.1, 0.2, 0.4])
    assert correlation(a, b) == pytest.approx(np.corrcoef(a, b)[0, 1])
    assert correlation(a, b) == pytest.approx(0.4)  # by hand: covariance 0.02, both variances 0.05 in sums
    assert correlation(a, a) == pytest.approx(1.0)
    assert correlation(a, 0.5 - a) == pytest.approx(-1.0)


def test_correlation_of_flat_histograms_is_defined():
    flat = np.full(4, 0.25)
    assert correlation(flat, flat) == 1.0
    assert correlation(flat, np.array([1.0, 0, 0, 0])) == 0.0


# Where events end


def starts(memory_settings: ShortTermSettings, brightness: list[int]) -> list[int]:
    memory = ShortTermMemory(memory_settings)
    decided = [(second, memory.observe(candidate(second, level))) for second, level in enumerate(brightness)]
    return [second for second, decisions in decided if any(isinstance(d, Keep) and d.role.endswith("first") for d in decisions)]


def test_an_event_ends_where_the_picture_changes_but_not_within_its_first_8_frames():
    assert starts(ShortTermSettings(), [20] * 9 + [230] * 5) == [0, 9]
    # The 9th frame comes to an event of 8 frames, which cannot end yet; the 10th ends it.
    assert starts(ShortTermSettings(), [20] * 8 + [230] * 6) == [0, 9]
    assert starts(ShortTermSettings(), [20] * 5 + [230] * 3 + [20] * 5) == [0]
    assert starts(ShortTermSettings(min_frames=2), [20] * 3 + [230] * 3 + [20] * 3) == [0, 3, 6]


def test_delta_decides_how_much_change_ends_an_event():
    # 16 of 256 bins each; 8 bins shared: correlation of two such histograms is 0.4667 (by numpy), under 0.5 and over 0.2.
    a, b = grey_histogram(picture(100), 256), grey_histogram(picture(108), 256)
    assert correlation(a, b) == pytest.approx(0.46667, abs=1e-4)
    moved = [100] * 9 + [108] * 3
    assert starts(ShortTermSettings(delta=0.2), moved) == [0]
    assert starts(ShortTermSettings(delta=0.5), moved) == [0, 9]


def test_a_frame_is_compared_with_the_mean_of_the_event():
    # The mean of nine frames at 100 and one at 108 still fits 100 best; two histograms of 16 bins half shared.
    settings_ = ShortTermSettings(min_frames=1, delta=0.6)
    assert starts(settings_, [100, 100, 100, 100, 100, 100, 100, 100, 100, 108]) == [0, 9]
    mixed = [100, 100] + [104] * 6
    mean = (2 * grey_histogram(picture(100), 256) + 5 * grey_histogram(picture(104), 256)) / 7
    assert correlation(mean, grey_histogram(picture(100), 256)) > 0.6
    assert starts(settings_, [*mixed, 100]) == [0]


def test_events_of_a_fixed_length_begin_at_its_multiples():
    assert starts(ShortTermSettings(fixed_s=30), [20] * 95) == [0, 30, 60, 90]


def test_settings_that_make_no_sense_are_refused():
    for wrong in ({"frames": 0}, {"bins": 1}, {"min_frames": -1}, {"fixed_s": -1.0}):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(wrong, ShortTermSettings)
    for least in ({"frames": 1}, {"bins": 2}, {"min_frames": 0}, {"fixed_s": 0.0}):
        ((name, value),) = least.items()
        assert getattr(msgspec.convert(least, ShortTermSettings), name) == value


# The sample


def oracle(count: int, places: int, seed: int, event: int = 1) -> set[int]:
    """Vitter's algorithm R over the frames after the first, written down once more in the plainest way."""
    sample = list(range(1, min(count, places)))
    for number in range(places, count):
        draw = random.Random(f"{seed} {event} {number + 1}").randrange(number)
        if draw < places - 1:
            sample[draw] = number
    return {0, *sample}


@pytest.mark.parametrize(("count", "places"), [(1, 4), (4, 4), (5, 4), (200, 4), (100, 32), (50, 1)])
def test_the_sample_of_one_event_is_that_of_the_oracle(count: int, places: int):
    memory, core = watch([20] * count, ShortTermSettings(frames=places, seed=7))
    assert set(core.short_term(memory).values()) == oracle(count, places, 7)


def test_every_frame_has_the_same_chance_to_stay():
    """Chi-square over 3,000 seeds: 60 frames, 12 places, the first one is certain, each other stays with 11 / 59."""
    count, places, seeds = 60, 12, 3000
    stayed: Counter[int] = Counter()
    for seed in range(seeds):
        state = ShortTermSettings(frames=places, seed=seed)
        memory, core = ShortTermMemory(state), Core()
        first = candidate(0, 20)
        core.carry_out(memory.observe(first))
        for second in range(1, count):  # the pictures are all the same: one candidate with another number does
            frame = msgspec.structs.replace(first.frame, seq=second, offset_us=second * US)
            core.carry_out(memory._continue(msgspec.structs.replace(first, frame=frame), _FLAT))
        stayed.update(core.short_term(memory).values())
    assert stayed[0] == seeds
    chance = (places - 1) / (count - 1)
    expected = seeds * chance
    # Inclusions of one sample are not independent: their sum is fixed, which takes one degree of freedom and scales by 1 - chance.
    statistic = sum((stayed[n] - expected) ** 2 / (expected * (1 - chance)) for n in range(1, count)) * (count - 2) / (count - 1)
    assert statistic < 90.0  # the 99.5 % quantile of chi-square with 58 degrees of freedom is 87.5; the seeds are fixed


_FLAT = np.full(256, 1 / 256)


def test_where_a_frame_goes_is_uniform_too():
    """Each of the 3 places besides the first is given away about as often: 2,000 frames, chi-square with 2 degrees of freedom."""
    memory = ShortTermMemory(ShortTermSettings(frames=4, seed=3))
    places: Counter[str] = Counter()
    for second in range(2000):
        places.update(d.slot for d in memory.observe(candidate(second, 20)) if isinstance(d, Replace))
    given = [places[slot(1, place)] for place in (1, 2, 3)]
    mean = sum(given) / 3
    assert set(places) == {slot(1, place) for place in (1, 2, 3)}
    assert sum((n - mean) ** 2 / mean for n in given) < 10.6


# Whole events leave, oldest first


def test_the_oldest_event_leaves_as_a_whole_but_for_its_first_frame():
    chosen = ShortTermSettings(frames=12, min_frames=3)
    brightness = [20] * 5 + [120] * 5 + [230] * 2
    memory, core = watch(brightness, chosen)
    assert [event.held for event in memory.events] == [5, 5, 2]
    core.carry_out(memory.observe(candidate(12, 230)))  # the 13th frame
    assert [event.number for event in memory.events] == [2, 3]
    assert core.slots[slot(1, 0)] == (0, role(1, first=True))
    assert sorted(name for name in core.slots if name.startswith("1.")) == [slot(1, 0)]
    assert slot(1, 0) not in core.pinned
    assert {slot(2, 0), slot(3, 0)} <= core.pinned


def test_an_event_that_fills_the_memory_leaves_when_the_next_begins():
    memory, core = watch([20] * 40 + [230], ShortTermSettings(frames=8))
    assert [event.number for event in memory.events] == [2]
    assert sorted(seq for seq, _ in core.slots.values()) == [0, 40]


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from(sorted(BRIGHTNESS)), st.integers(1, 30)), min_size=1, max_size=8),
    st.integers(1, 20),
    st.integers(0, 9),
    st.integers(0, 3),
)
def test_whatever_comes_never_more_than_k_and_oldest_first(stretches, frames, min_frames, seed):
    brightness = [BRIGHTNESS[name] for name, count in stretches for _ in range(count)]
    chosen = ShortTermSettings(frames=frames, min_frames=min_frames, seed=seed)
    memory, core = watch(brightness, chosen)
    held = core.short_term(memory)
    assert core.most <= frames
    assert len(held) == sum(event.held for event in memory.events)
    numbers = [event.number for event in memory.events]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))  # whole events, none left out in between
    firsts = [seq for seq, why in core.slots.values() if why.endswith("first")]
    assert len(firsts) == numbers[-1]  # of every event, also of those that left
    by_event = [sorted(seq for name, seq in held.items() if name.startswith(f"{number}.")) for number in numbers]
    assert [seq for event in by_event for seq in event] == sorted(held.values())  # in the order of time
    assert watch(brightness, chosen, restart_every=7)[1].slots == core.slots


def test_a_state_with_other_bins_is_refused():
    memory, _ = watch([20] * 3, ShortTermSettings())
    other = ShortTermMemory(ShortTermSettings(bins=64))
    with pytest.raises(ValueError, match="256 bins, not 64"):
        other.restore(memory.state())


# Segments


def mark(number: int, second: int, event: int, *, first: bool = False) -> Mark:
    return Mark(
        moment_id=number, t_us=second * US, offset_us=second * US, vector=np.ones(4, np.float32), role=role(event, first=first)
    )  # fmt: skip


def test_a_segment_lasts_until_the_next_event_begins_and_its_first_frame_represents_it():
    segmenter = Events()
    assert segmenter.observe(mark(1, 0, 1, first=True)) == []
    assert segmenter.observe(mark(2, 5, 1)) == []
    restored = Events()
    restored.restore(segmenter.state())
    (cut,) = restored.observe(mark(3, 40, 2, first=True))
    assert ([m.moment_id for m in cut.marks], cut.representative_id) == ([1, 2], 1)
    assert (cut.t0_us, cut.t1_us, cut.offset_us, cut.end_offset_us) == (0, 40 * US - 1, 0, 40 * US - 1)
    (last,) = restored.flush()
    assert (last.t0_us, last.t1_us, last.representative_id) == (40 * US, 40 * US, 3)
    assert restored.flush() == []


def test_roles_name_their_event():
    assert event_of(role(12)) == event_of(role(12, first=True)) == 12
    assert event_of("") is event_of("endpoint") is event_of("event x") is None


def test_a_correlation_of_delta_itself_is_no_change():
    value = correlation(grey_histogram(picture(100), 256), grey_histogram(picture(108), 256))
    moved = [100] * 9 + [108]
    assert starts(ShortTermSettings(delta=value), moved) == [0]
    assert starts(ShortTermSettings(delta=np.nextafter(value, 1.0)), moved) == [0, 9]


def test_the_mean_counts_every_frame_of_the_event_once():
    # Histograms of half the frames at 100, half at 104, and those that came first weigh no more: 1 of 100 and 3 of 104.
    memory, _ = watch([100, 104, 104, 104], ShortTermSettings(delta=-1.0))
    mean = (grey_histogram(picture(100), 256) + 3 * grey_histogram(picture(104), 256)) / 4
    assert np.allclose(memory._mean(), mean)
