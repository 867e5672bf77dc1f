"""Names of what pictures show, and how probable it is that each appeared; the numbers are worked out by hand."""

from typing import Any

import pytest

from edgemem.answer import sights
from edgemem.answer.sights import SeenName, appearances, beside, in_time
from edgemem.records import US, Box, Moment, Observation


def look(at_s: float, *seen: Observation, stream: str = "s") -> tuple[Moment, tuple[Observation, ...]]:
    t_us = round(at_s * US)
    moment = Moment(
        id=t_us + 1, stream=stream, seq=0, t_us=t_us, offset_us=t_us, width_px=1, height_px=1, sharpness=1.0, tier="recent"
    )  # fmt: skip
    return moment, seen


def saw(name: str, score: float, kind: Any = "label", colour: str = "") -> Observation:
    return Observation(kind=kind, name=name, score=score, colour=colour, box=Box(x0=0, y0=0, x1=1, y1=1) if kind == "object" else None)


def appeared(looks: Any, low_s: float = 0, high_s: float = 99) -> list[SeenName]:
    return sights.appeared(looks, round(low_s * US), round(high_s * US))


def told(*looks: Any) -> list[tuple[str, int, int]]:
    return [(one.name, one.t0_us // US, one.t1_us // US) for one in appeared(looks)]


def test_an_appearance_is_as_probable_as_its_second_score_its_mean_and_what_is_around_it() -> None:
    """Log odds: .8 is 1.3863, .01 (nothing around it) is -4.5951, .846 is 1.7035, .9 is 2.1972."""
    three = appeared([look(0, saw("cat", 0.7)), look(1, saw("cat", 0.9)), look(2, saw("cat", 0.8))])
    assert [(one.name, one.t0_us, one.t1_us, one.best_us) for one in three] == [("cat", 0, 2 * US, US)]
    assert three[0].score == pytest.approx(0.5367, abs=1e-4)  # .264 x 1.3863 + .787 x 1.3863 + .185 x 4.5951 - 2.16 = .1471
    alone = appeared([look(0, saw("cat", 0.9))])[0]
    assert alone.score == pytest.approx(0.7045, abs=1e-4)  # .264 x 1.7035 + .787 x 2.1972 + .185 x 4.5951 - 2.16 = .8690
    certain = appeared([look(0, saw("cat", 1.0))])[0]  # counts as .99: .264 x 2.7515 + .787 x 4.5951 + .185 x 4.5951 - 2.16 = 3.0328
    assert certain.score == pytest.approx(0.9540, abs=1e-4)
    beaten = appeared([look(0, saw("cat", 0.9)), look(4)])[0]
    assert beaten.score < appeared([look(0, saw("cat", 0.9)), look(4.1)])[0].score == alone.score, "another picture within 4 s"


def test_what_is_around_an_appearance_as_well_is_less_probable() -> None:
    free = appeared([look(0, saw("cat", 0.9)), look(20, saw("dog", 0.9))])
    assert free[0].score == free[1].score == pytest.approx(0.7045, abs=1e-4)
    for at_s, less in ((20, True), (20.1, False)):
        weak = {one.name: one.score for one in appeared([look(0, saw("cat", 0.9)), look(at_s, saw("cat", 0.09))])}
        assert (weak["cat"] < 0.7) == less
    around = [
        appeared([look(0, saw("cat", 0.9)), *rest])[0].score
        for rest in ([look(20, saw("cat", 0.09))], [look(15), look(20, saw("cat", 0.09))])
    ]
    assert around[0] == around[1] < 0.7, "the best of the pictures around it counts"
    inside = appeared([look(0, saw("cat", 0.9)), look(1, saw("cat", 0.09)), look(2, saw("cat", 0.9))])[0]
    # .264 x 2.1972 + .787 x log odds of .63 (.5322) + .185 x 4.5951 - 2.16 = -.3110: a weak picture lowers the mean, and is not around it
    assert inside.score == pytest.approx(0.4229, abs=1e-4)
    gone = appeared([look(0, saw("cat", 0.9)), look(1), look(2, saw("cat", 0.9))])[0]
    # .264 x 2.1972 + .787 x log odds of .6 (.4055) + .185 x 4.5951 - 2.16 = -.4107: a picture without it counts as 0
    assert gone.score == pytest.approx(0.3988, abs=1e-4)


def test_sightings_are_one_appearance_when_they_are_close_enough_and_of_one_camera() -> None:
    assert told(look(0, saw("cat", 0.9)), look(12, saw("cat", 0.9))) == [("cat", 0, 12)]
    assert told(look(0, saw("cat", 0.9)), look(12.1, saw("cat", 0.9))) == [("cat", 0, 0), ("cat", 12, 12)]
    assert told(look(0, saw("cat", 0.1)), look(1, saw("cat", 0.099))) == [("cat", 0, 0)], "what scores less is not seen"
    assert told(look(5, saw("cat", 0.9), stream="hall"), look(0, saw("cat", 0.9))) == [("cat", 0, 0), ("cat", 5, 5)]
    assert told(look(0, saw("cat", 0.9), saw("EXIT", 0.9, "text"), saw("red", 0.9, "colour"))) == [("cat", 0, 0)]
    assert told(look(0, saw("cat", 0.9)), look(1, saw("cat", 0.45))) == [("cat", 0, 1)], "half as clear is clear"
    assert told() == []


def test_what_stays_in_view_appeared_in_every_stretch_in_which_it_is_clearly_seen() -> None:
    desk = [look(second, saw("desk", 0.9 if second != 3 else 0.95)) for second in range(10)]
    inside = appeared(desk, 5, 8)
    assert [(one.t0_us, one.t1_us, one.best_us) for one in inside] == [(0, 9 * US, 5 * US)], "all of it, and its best picture inside"
    weak = [look(0, saw("desk", 0.9)), *(look(second, saw("desk", 0.44)) for second in range(1, 4))]
    assert appeared(weak, 1, 4) == [], "less than half as clear as outside"
    assert appeared(weak, 10, 20) == []
    assert told(*weak) == [("desk", 0, 0)], "weak sightings do not make it longer"


def test_what_is_told_of_an_appearance() -> None:
    boxes = (saw("car", 0.9, "object", "red"), saw("car", 0.4, "object", "blue"), saw("car", 0.39, "object"))
    looks = [look(0, *boxes, saw("car", 0.5), saw("van", 0.39, "object")), look(1, saw("car", 0.8, "object"), saw("van", 0.39, "object"))]
    found = {(one.kind, one.name): one for one, _ in appearances(looks, 0, 9 * US)}
    car, label = found["object", "car"], found["label", "car"]
    assert (car.score, car.count, car.colour, car.best_us) == (0.9, 2, "red", 0), "two boxes at once are sure enough"
    assert (label.score, label.count, label.t1_us) == (0.5, 1, 0)
    assert found["object", "van"].count == 1, "what no box counts is one all the same"


def sight(name: str, begun_s: int, ended_s: int, score: float) -> SeenName:
    return SeenName(kind="label", name=name, score=score, t0_us=begun_s * US, t1_us=ended_s * US, best_us=begun_s * US)


def test_what_one_look_shows_is_told_by_score_and_by_how_many_pictures_show_it() -> None:
    """Its score x (1 + the share of the pictures that show it); boxes count from .4 on, in the picture that has the most of them."""
    cars = (saw("car", 0.7, "object", "red"), saw("car", 0.7, "object", "blue"), saw("car", 0.4, "object"), saw("car", 0.39, "object"))
    found = sights.seen_at_once([look(0, *cars, saw("owl", 0.65), saw("fog", 0.8)), look(1, saw("owl", 0.5), saw("van", 0.2, "object"))])
    assert [(one.name, one.score, one.count, one.colour) for one in found] == [
        ("owl", 0.65, 1, ""), ("fog", 0.8, 1, ""), ("car", 0.7, 3, "red"), ("van", 0.2, 1, ""),
    ]  # fmt: skip
    assert sights.seen_at_once([]) == []


def test_what_appeared_first_or_last() -> None:
    sights = [
        sight("owl", 18, 30, 0.9), sight("barn", 9, 40, 0.8), sight("cat", 10, 12, 0.2), sight("pear", 19, 20, 0.5),
        sight("fog", 10, 11, 0.19),
    ]  # fmt: skip

    def names(from_s: int, to_s: int, *, last: bool = False) -> list[str]:
        return [one.name for one in beside(sights, from_s * US, to_s * US, last=last)]

    assert names(10, 99) == ["owl", "cat"], "within 8 s of the first that is probable; the barn was there before"
    assert names(9, 99) == ["barn", "cat"]
    assert names(0, 40, last=True) == ["barn"]
    assert names(0, 39, last=True) == ["owl"], "the barn is there still"
    assert names(0, 28, last=True) == ["cat", "pear"]
    assert names(20, 99) == []


def test_each_name_stands_once_in_a_list_in_the_order_of_time() -> None:
    sights = [
        sight("owl", 50, 60, 0.9),
        sight("cat", 10, 12, 0.6),
        sight("owl", 5, 6, 0.5),
        sight("pear", 1, 2, 0.3),
        sight("fog", 0, 1, 0.29),
    ]
    assert [(one.name, one.t0_us // US) for one in in_time(sights, 9)] == [("pear", 1), ("cat", 10), ("owl", 50)]
    assert [one.name for one in in_time(sights, 2)] == ["cat", "owl"], "the most probable ones"
    assert [one.name for one in in_time([*sights[4:], sight("mist", 3, 4, 0.28)], 9)] == ["fog"], "the best one in any case"
    assert in_time([], 9) == []
