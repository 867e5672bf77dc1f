"""Which moments show a thing, and whether any does: on hand-made postings."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgemem.answer.retrievers.match import Features, Ranked, chance, confidence, features, same_thing, score_moments, spread, usual
from edgemem.infer.phrase import LabelQuery
from edgemem.records import US
from edgemem.remember.results import Posting

CUP = LabelQuery(labels={"cup": 0.8, "coffee mug": 0.4, "vase": 0.01}, objects={"cup": 0.9}, likeness=1.0)


def posting(moment: int, name: str, score: float, kind: str = "label", colour: str = "") -> Posting:
    return Posting(moment_id=moment, t_us=moment * US, kind=kind, name=name, score=score, colour=colour, area=0.25)


def test_the_moment_with_the_likelier_label_comes_first():
    found = score_moments(CUP, [posting(1, "vase", 0.9), posting(2, "cup", 0.7), posting(3, "coffee mug", 0.7)], 100)
    assert [one.moment_id for one in found] == [2, 3, 1]
    assert found[0].why == "cup"


def judged(query: LabelQuery, seen: list[Posting], *, beside: bool = True) -> Features:
    """Features of the query over these postings."""
    return features(query, seen, score_moments(query, seen, 100), beside=beside)


DOG = LabelQuery(labels={"pug": 0.9, "Pekinese": 0.9, "cat": 0.1}, objects={}, kinds=frozenset(("pug", "Pekinese")), likeness=1.0)


def test_the_kinds_of_a_thing_count_as_one_label() -> None:
    """Both dogs were seen in moments 1 and 2 and count once: (.9 ** .8) x ((.8 - mean) / (deviation + .03) + .8) over 20 + 3 moments."""
    seen = [posting(1, "pug", 0.8), posting(1, "Pekinese", 0.3), posting(20, "Pekinese", 0.8), posting(40, "cat", 0.8)]
    found = score_moments(DOG, seen, 3)
    assert [(one.moment_id, one.why) for one in found] == [(1, "pug"), (20, "Pekinese"), (40, "cat")]
    mean = 1.6 / 23
    deviation = (1.28 / 23 - mean**2) ** 0.5
    expected = 0.9**0.8 * ((0.8 - mean) / (deviation + 0.03) + 0.8)
    assert [one.score for one in found[:2]] == [pytest.approx(expected)] * 2


def test_of_two_kinds_in_one_moment_that_of_the_colour_counts() -> None:
    red = msgspec.structs.replace(DOG, colours=("red",))
    seen = [posting(1, "pug", 0.6, colour="red"), posting(1, "Pekinese", 0.8, colour="black")]
    assert score_moments(red, seen, 3)[0].why == "pug", ".6 against half of .8"
    assert score_moments(DOG, seen, 3)[0].why == "Pekinese"


def test_that_one_of_several_kinds_fires_proves_less() -> None:
    """log odds 2.62 + .7 log .9 + 2.07 x .9 log .81 + .53 log .57 + .08, less .75: again is .7 of the support."""
    seen = [posting(1, "pug", 0.8)]
    one = msgspec.structs.replace(DOG, kinds=frozenset(("pug",)))
    odds = 2.62 + 0.7 * np.log(0.9) + 2.07 * 0.9 * np.log(0.81) + 0.53 * np.log(0.57) + 0.08
    for query, value in ((one, odds), (DOG, odds - 0.75)):
        assert confidence(judged(query, seen, beside=False)) == pytest.approx(1 / (1 + np.exp(-value)))
        crops = msgspec.structs.replace(judged(query, seen, beside=False), alike=0.1)
        other = 1.23 + 0.52 * np.log(0.9) + 1.54 * 0.9 * np.log(0.81) + 0.39 * np.log(0.57) + 0.06 + 0.74 - 0.75 * (query is DOG)
        assert confidence(crops) == pytest.approx(1 / (1 + np.exp(-other)))


@pytest.mark.parametrize(("colour", "share"), [("red", 1.0), ("black", 0.5), ("", 0.75)])
def test_another_colour_halves_what_is_seen_and_none_takes_a_quarter(colour: str, share: float) -> None:
    query = LabelQuery(labels={"cup": 1.0}, objects={}, colours=("red",))
    assert judged(query, [posting(1, "cup", 0.8, colour=colour)]).support == pytest.approx(0.8 * share)


def test_a_label_that_fires_everywhere_counts_less_than_a_rare_one():
    common = [posting(m, "coffee mug", 0.6) for m in range(100)]
    found = score_moments(LabelQuery(labels={"cup": 0.4, "coffee mug": 0.5}, objects={}), [*common, posting(200, "cup", 0.5)], 101)
    assert found[0].moment_id == 200


def test_the_colour_asked_for_decides_between_two_things_of_a_kind():
    seen = [posting(100, "cup", 0.8, colour="red"), posting(200, "cup", 0.8, colour="black"), posting(300, "cup", 0.8)]
    for colour, order in (("black", [200, 300, 100]), ("red", [100, 300, 200])):
        query = LabelQuery(labels=CUP.labels, objects={}, colours=(colour,))
        assert [one.moment_id for one in score_moments(query, seen, 50)] == order


def test_label_and_object_together_beat_the_label_alone():
    seen = [posting(1, "cup", 0.6), posting(2, "cup", 0.6), posting(2, "cup", 0.9, kind="object")]
    assert score_moments(CUP, seen, 50)[0].moment_id == 2


def test_what_a_static_camera_always_sees_is_found():
    seen = [posting(m, "cup", 0.9) for m in range(50)]
    assert len(score_moments(CUP, seen, 50)) == 50
    assert confidence(judged(CUP, seen)) >= 0.5


def test_one_moment_is_a_memory_too():
    assert [one.moment_id for one in score_moments(CUP, [posting(1, "cup", 0.9)], 1)] == [1]


def test_of_pictures_shown_every_appearance_gets_one_before_any_gets_two():
    seen = [posting(m, "cup", 0.9 - m / 1000) for m in (100, 101, 102, 200, 300)]
    assert [one.moment_id for one in spread(score_moments(CUP, seen, 300), 4)][:3] == [100, 200, 300]
    assert len(spread(score_moments(CUP, seen, 300), 4)) == 4


def test_a_thing_seen_twice_in_a_row_beats_one_flicker():
    seen = [posting(1, "cup", 0.5), posting(50, "cup", 0.45), posting(52, "cup", 0.45)]
    assert score_moments(CUP, seen, 100)[0].moment_id == 50


def test_an_empty_memory_shows_nothing():
    assert score_moments(CUP, [], 0) == []
    assert confidence(judged(CUP, [])) < 0.5
    assert confidence(judged(LabelQuery(labels={}, objects={}), [])) == 0.0


def test_a_known_thing_that_was_hardly_seen_is_not_there():
    assert confidence(judged(CUP, [posting(1, "cup", 0.06), posting(2, "cup", 0.05), posting(2, "vase", 0.9)])) < 0.5
    assert confidence(judged(CUP, [posting(1, "cup", 0.7), posting(2, "cup", 0.6)])) >= 0.5


def test_one_flicker_among_pictures_is_doubted_but_a_lone_picture_is_believed():
    flicker = [posting(1, "cup", 0.7), posting(50, "cup", 0.7)]
    assert confidence(judged(CUP, flicker)) < 0.5
    assert confidence(judged(CUP, flicker, beside=False)) >= 0.5
    assert judged(CUP, [posting(1, "cup", 0.7), posting(3, "cup", 0.5), posting(30, "cup", 0.6)]).again == 0.5
    assert judged(CUP, [posting(1, "cup", 0.5), posting(3, "cup", 0.7), posting(9, "coffee mug", 0.9)]).again == 0.5
    three = [posting(1, "cup", 0.3), posting(4, "cup", 0.5), posting(6, "cup", 0.9)]
    assert judged(CUP, three).again == 0.5, "the nearest before"
    three = [posting(1, "cup", 0.5), posting(4, "cup", 0.3), posting(6, "cup", 0.9)]
    assert judged(CUP, three).again == 0.3, "also where one before that saw more of it"
    assert judged(CUP, [posting(1, "cup", 0.7), posting(11, "cup", 0.5)]).again == 0.0, "ten seconds are another appearance"
    after = [posting(1, "cup", 0.9), posting(4, "cup", 0.3), posting(6, "cup", 0.5)]
    assert judged(CUP, after).again == 0.3, "the nearest after"


def test_confidence_is_the_logistic_model_that_its_weights_describe():
    assert confidence(Features(firing=0.5, support=0.4, again=0.3, likeness=1.0)) == pytest.approx(0.6618, abs=1e-4)
    assert confidence(Features(firing=0.5, support=0.4, again=0.0, likeness=1.0)) == pytest.approx(0.2407, abs=1e-4)
    assert confidence(Features(firing=0.5)) == confidence(Features(support=0.5)) == 0.0


def test_the_same_thing_is_told_by_labels_and_by_looks():
    """.2 of the share of the best score, .8 of how far the cosine stands above .15; four fifths of the best score are enough."""
    ranked = [Ranked(moment_id=n, t_us=n, score=score, why="cup") for n, score in ((1, 2.0), (2, 1.0), (3, 0.5))]
    assert same_thing(ranked, {1: 1.0, 2: 0.575, 3: 0.1}) == pytest.approx({1: 1.0, 2: 0.5, 3: 0.05})
    assert same_thing(ranked, {}) == {}
    near = [msgspec.structs.replace(ranked[0], moment_id=n, score=score) for n, score in ((1, 1.0), (2, 0.8), (3, 0.79))]
    assert same_thing(near, {1: 1.0, 2: 0.1, 3: 0.1}) == pytest.approx({1: 1.0, 2: 0.8, 3: 0.158})


def test_crops_have_a_weight_of_their_own():
    """1.23 + .52 ln .5 + 1.54 x .5 ln .41 + .39 ln .31 + .06 + 10 x .74 x alike."""
    seen = Features(firing=0.5, support=0.4, again=0.3, likeness=1.0, alike=0.2)
    assert confidence(seen) == pytest.approx(0.7801, abs=1e-4)
    assert confidence(msgspec.structs.replace(seen, alike=0.0)) == pytest.approx(0.4468, abs=1e-4)
    assert confidence(msgspec.structs.replace(seen, alike=None)) == pytest.approx(0.6618, abs=1e-4)


def test_what_so_many_looks_reach_by_chance():
    """.07 times the normal deviate above which 1.8 of 6.65, 600.25 and 140,005.25 lie."""
    assert [chance(moments) for moments in (1, 425, 100_000)] == pytest.approx([0.04275, 0.19235, 0.29459], abs=1e-5)
    assert chance(0) < chance(1)


def test_every_look_counts_once_in_what_is_usual():
    """A cosine of .8 is the same look, as one of .7 is, of .6 another."""
    still = np.array([[1.0, 0.0]] * 50, np.float32)
    assert usual(still) == pytest.approx([1 / 21, 0.0])
    assert usual(np.concatenate([still, [[0.8, 0.6]]])) == pytest.approx([1 / 21, 0.0])
    assert usual(np.concatenate([still, [[0.6, 0.8]], still])) == pytest.approx([1.6 / 22, 0.8 / 22])
    assert usual(np.array([[1.0, 0.0], [0.7, 0.51**0.5]], np.float32)) == pytest.approx([1 / 21, 0.0])
    chain = np.array([[1.0, 0.0], [0.8, 0.6], [0.28, 0.96]])
    assert usual(chain) == pytest.approx([1.28 / 22, 0.96 / 22]), "only what is like a look that counts is left out"


def test_nothing_seen_beside_the_best_moment_is_no_second_sight():
    assert judged(CUP, [posting(1, "cup", 0.7), posting(60, "cup", 0.1)]).again == 0.0
    assert judged(CUP, [posting(1, "cup", 0.7), posting(3, "cup", 0.9, kind="object")]).again == 0.0
    assert judged(CUP, [posting(1, "cup", 0.8)], beside=False).again == pytest.approx(0.56)
    assert judged(CUP, [posting(1, "cup", 0.9, kind="object")], beside=False).again == 0.0


def test_two_moments_far_apart_lend_each_other_nothing():
    one, other = score_moments(CUP, [posting(1, "cup", 0.5), posting(50, "cup", 0.5)], 100)
    assert one.score == other.score
    together = score_moments(CUP, [posting(1, "cup", 0.5), posting(5, "cup", 0.5)], 100)
    assert [m.score for m in together] == pytest.approx([1.5 * one.score] * 2)


def test_what_is_seen_less_clearly_than_usual_hardly_counts():
    found = score_moments(CUP, [*(posting(100 * m, "cup", 0.9) for m in range(30)), posting(5000, "cup", 0.05)], 31)
    assert found[-1].moment_id == 5000
    assert found[-1].score < 0.1 * found[0].score


def test_an_unknown_word_needs_more_proof_than_a_known_one():
    seen = [posting(1, "tench", 0.9), posting(2, "tench", 0.9)]
    known, unknown = (LabelQuery(labels={"tench": firing}, objects={}, likeness=like) for firing, like in ((0.6, 1.0), (0.004, 0.0)))
    assert confidence(judged(known, seen)) > 0.75
    assert confidence(judged(unknown, seen)) < 0.3


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 0.5))
def test_more_support_never_lowers_confidence(firing: float, support: float, more: float):
    low, high = (confidence(Features(firing=firing, support=s, again=s)) for s in (support, min(1.0, support + more)))
    assert 0.0 <= low <= high <= 1.0


@given(st.lists(st.tuples(st.integers(0, 20), st.sampled_from(["cup", "coffee mug", "dog"]), st.floats(0, 1)), max_size=30))
def test_every_moment_with_a_wanted_label_is_ranked_once(seen: list[tuple[int, str, float]]):
    found = score_moments(CUP, [posting(*one) for one in seen], 21)
    assert sorted(one.moment_id for one in found) == sorted({m for m, name, _ in seen if name != "dog"})
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_a_weak_sighting_does_not_make_an_appearance_longer() -> None:
    from edgemem.answer.retrieve import episode_of
    from edgemem.records import Evidence

    def sighting(second: int, score: float) -> Evidence:
        t_us = second * 1_000_000
        return Evidence(id=f"m{second}", channel="frame", stream="s", t0_us=t_us, t1_us=t_us, offset_us=t_us, score=score, text="cat")

    episode = episode_of([sighting(1, 0.1), sighting(5, 0.6), sighting(9, 0.9), sighting(20, 0.2)])
    assert (episode.t0_us, episode.t1_us, episode.offset_us) == (5_000_000, 9_000_000, 5_000_000)
    assert [e.id for e in episode.evidence] == ["m9", "m5", "m20", "m1"]
    assert episode_of([sighting(1, 0.45), sighting(9, 0.9)]).t0_us == 1_000_000, "half of the best is clear"


def test_what_only_the_detector_knows_is_told_by_its_objects():
    query = LabelQuery(labels={"groom": 0.01}, objects={"person": 0.5})
    seen = [posting(1, "person", 0.9, kind="object"), posting(1, "groom", 0.3)]
    found = features(query, seen, score_moments(query, seen, 10))
    assert (found.firing, found.support) == (0.5, 0.9)
    both = LabelQuery(labels={"cup": 0.23}, objects={"cup": 0.66})
    seen = [posting(1, "cup", 0.9, kind="object"), posting(1, "cup", 0.3)]
    found = features(both, seen, score_moments(both, seen, 10))
    assert (found.firing, found.support) == (0.23, 0.3)
    ten = LabelQuery(labels={"cup": 0.05}, objects={"cup": 0.6})
    assert features(ten, seen, score_moments(ten, seen, 10)).firing == 0.6, "an object that is twelve times likelier"
    alone = LabelQuery(labels={"cup": 0.05}, objects={})
    assert features(alone, seen, score_moments(alone, seen, 10)).firing == 0.05, "nothing but a label that hardly fires"
    never = LabelQuery(labels={"cup": 0.0}, objects={}, likeness=1.0)
    assert features(never, seen, score_moments(never, seen, 10)) == Features(), "a label that never fires"
    two = LabelQuery(labels={"cup": 0.05}, objects={"cup": 0.6, "bowl": 0.01})
    assert features(two, seen, score_moments(two, seen, 10)).firing == 0.6, "the likeliest of the objects counts"
