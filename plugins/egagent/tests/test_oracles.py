"""What pictures and paragraphs come to, worked out by hand; every limit on both its sides."""

from __future__ import annotations

from typing import Any

import pytest
from edgemem_egagent.fuse import fused, origin_of
from edgemem_egagent.graph import Edge, Line, joined, person, thing
from edgemem_egagent.pictures import read_pictures

from edgemem.records import US, Box, Moment, Observation, Segment

HOLDER = (0.25, 0.3, 0.75, 0.9)
"""Half as wide as the picture: arms reach .05 beyond; area .3, of which .105 may be held."""
CUP = (0.45, 0.5, 0.55, 0.6)
LOW = (0.3, 0.5, 0.4, 1.0)


def moment(number: int, second: float) -> Moment:
    t_us = round(second * US)
    return Moment(
        id=number, stream="s", seq=number, t_us=t_us, offset_us=t_us, width_px=8, height_px=8, sharpness=1.0, tier="recent"
    )  # fmt: skip


def an(
    name: str, box: tuple[float, float, float, float] | None = None, score: float = 0.5, kind: Any = "object", **more: Any
) -> Observation:
    return Observation(kind=kind, name=name, score=score, box=None if box is None else Box(*box), **more)


MAN = an("person", HOLDER)


def edges(*seen: Observation, times: tuple[float, ...] = (1, 2), present: tuple[str, ...] = (), worn: bool = False) -> list[Edge]:
    moments = [moment(number, second) for number, second in enumerate(times, 1)]
    return list(read_pictures(moments, {m.id: seen for m in moments}, present, egocentric=worn).edges)


def drawn(*seen: Observation, **how: Any) -> list[tuple[str, str, str]]:
    return [(edge.source.name, edge.type, edge.target.name) for edge in edges(*seen, **how)]


USED = [("someone", "USES", "cup")]
IN_HAND = [("me", "USES", "cup")]


# What people hold


@pytest.mark.parametrize(
    ("score", "present", "sure"),
    [(0.5, (), 0.525), (0.4567, (), 0.493), (0.9, (), 0.75), (0.5, ("Ben",), 0.42), (0.9, ("Ben", "me"), 0.6),
     (0.5, ("Ben", "Anna"), 0.525), (0.5, ("me",), 0.525)],
)  # fmt: skip
def test_what_is_held_is_as_sure_as_its_score_and_who_holds_it(score: float, present: tuple[str, ...], sure: float) -> None:
    """.75 of the score and .2 more, at most of 1; of that .8 where a voice names who is seen."""
    [edge] = edges(MAN, an("cup", CUP, score), present=present)
    assert edge.confidence == pytest.approx(sure)
    assert edge.source.name == ("Ben" if {"Ben"} == {*present} - {"me"} else "someone")


@pytest.mark.parametrize(
    ("seen", "found"),
    [
        ((MAN, an("cup", CUP, 0.45)), USED),
        ((MAN, an("cup", CUP, 0.449)), []),
        ((an("person", HOLDER, 0.499), an("cup", CUP)), []),
        ((an("person", HOLDER, kind="label"), an("cup", CUP)), []),
        ((an("dog", HOLDER), an("cup", CUP)), []),
        ((MAN, an("cup", CUP, kind="label")), []),
        ((an("person"), an("cup", CUP)), []),
        ((MAN, an("cup")), []),
        ((MAN, an("cell phone", CUP)), [("someone", "USES", "phone")]),
        ((MAN, an("suitcase", CUP)), [("someone", "INTERACTS_WITH", "suitcase")]),
        ((MAN, an("chair", CUP)), []),
        ((MAN, an("person", CUP)), []),
        ((an("person", (0.9, 0, 1, 1)), MAN, an("cup", CUP)), USED),
    ],
)  # fmt: skip
def test_who_holds_what(seen: tuple[Observation, ...], found: list[tuple[str, str, str]]) -> None:
    assert drawn(*seen) == found


@pytest.mark.parametrize(
    ("box", "held"),
    [
        ((0.16, 0.5, 0.26, 0.6), True),  # its middle is .04 left of the person
        ((0.14, 0.5, 0.24, 0.6), False),
        ((0.74, 0.5, 0.84, 0.6), True),
        ((0.76, 0.5, 0.86, 0.6), False),
        ((0.45, 0.3, 0.55, 0.32), True),  # as high as the head
        ((0.45, 0.2, 0.55, 0.3), False),  # above it
        ((0.45, 0.85, 0.55, 0.93), True),
        ((0.45, 0.9, 0.55, 0.94), False),
        ((0.4, 0.4, 0.6, 0.92), True),  # .104 of .105
        ((0.4, 0.4, 0.6, 0.93), False),
    ],
)
def test_arms_reach_a_tenth_of_a_persons_width_and_hold_a_third_of_its_area(box: tuple[float, float, float, float], held: bool) -> None:
    assert drawn(MAN, an("cup", box)) == (USED if held else [])


def test_what_is_held_covers_as_much_as_the_limit_says_and_no_more() -> None:
    whole = an("person", (0.0, 0.0, 1.0, 1.0))
    assert drawn(whole, an("cup", (0.0, 0.0, 0.35, 1.0))) == USED
    assert drawn(whole, an("cup", (0.0, 0.0, 0.351, 1.0))) == []


@pytest.mark.parametrize(
    ("box", "ridden"),
    [
        ((0.0, 0.6, 0.9, 1.0), True),  # larger than the rider, under him: .8 is not beyond .6 + .4
        ((0.3, 0.85, 0.7, 0.95), False),  # far below: .9 is beyond .6 + .1
        ((0.8, 0.5, 0.98, 0.8), False),  # beside him
    ],
)
def test_what_is_ridden_lies_under_the_rider(box: tuple[float, float, float, float], ridden: bool) -> None:
    assert drawn(an("person", (0.25, 0.2, 0.75, 0.6)), an("bicycle", box)) == ([("someone", "USES", "bicycle")] if ridden else [])


# What the wearer holds, and where that is


@pytest.mark.parametrize(
    ("seen", "found"),
    [
        ((an("cup", LOW),), IN_HAND),
        ((an("suitcase", LOW),), []),  # not held in a hand
        ((an("cup", (0.3, 0.24, 0.4, 1.0)),), IN_HAND),  # its middle is at .62
        ((an("cup", (0.3, 0.23, 0.4, 1.0)),), []),
        ((an("cup", (0.0, 0.5, 0.03, 1.0)),), IN_HAND),  # .015 of the picture
        ((an("cup", (0.0, 0.5, 0.0299, 1.0)),), []),
        ((an("person", (0.1, 0.0, 0.9, 1.0)), an("cup", LOW)), USED),  # it is somebody else's
        ((an("person", (0.1, 0.0, 0.9, 1.0), 0.49), an("cup", LOW)), IN_HAND),
        ((an("person", (0.7, 0.0, 0.9, 1.0)), an("cup", LOW)), IN_HAND),
    ],
)  # fmt: skip
def test_what_is_large_and_low_is_in_the_wearers_hands(seen: tuple[Observation, ...], found: list[tuple[str, str, str]]) -> None:
    assert drawn(*seen, worn=True) == found
    assert drawn(*seen) == [one for one in found if one[0] != "me"], "a camera on a shelf has no hands"


@pytest.mark.parametrize(("score", "sure"), [(0.5, 0.385), (0.9, 0.55)])
def test_what_is_in_hand_is_less_sure(score: float, sure: float) -> None:
    assert [edge.confidence for edge in edges(an("cup", LOW, score), worn=True)] == pytest.approx([sure])


def test_a_scene_label_that_names_a_place_is_where_the_wearer_is() -> None:
    [edge] = edges(an("hotel kitchen", score=0.5, kind="label"))
    assert (edge.source.name, edge.type, edge.target, edge.confidence) == ("me", "INTERACTS_WITH", edge.target, pytest.approx(0.35))
    assert (edge.target.kind, edge.target.name) == ("location", "hotel kitchen")
    assert edges(an("kitchen", score=0.499, kind="label")) == []
    assert edges(an("kitchen", score=0.9)) == edges(an("violin", score=0.9, kind="label")) == []


# Times


@pytest.mark.parametrize(
    ("times", "spans"),
    [
        ((1,), []),
        ((1, 2), [(1, 2)]),
        ((1, 16), [(1, 16)]),
        ((1, 16.000001), [(1, 1), (16.000001, 16.000001)]),
        ((1, 9, 30, 40), [(1, 9), (30, 40)]),
    ],
)
def test_two_pictures_make_an_edge_and_15_seconds_part_it(times: tuple[float, ...], spans: list[tuple[float, float]]) -> None:
    assert [(edge.t0_us / US, edge.t1_us / US) for edge in edges(MAN, an("cup", CUP), times=times)] == spans


def test_the_surest_picture_stands_for_the_edge() -> None:
    moments = [moment(n, n) for n in (1, 2, 3)]
    seen = {n: (MAN, an("cup", CUP, score)) for n, score in ((1, 0.5), (2, 0.7), (3, 0.7))}
    [edge] = read_pictures(moments, seen, egocentric=False).edges
    assert [(quote.moment_id, quote.text, quote.origin) for quote in edge.quotes] == [(2, "a person with a cup", "caption")]
    assert edge.confidence == pytest.approx(0.675)


def test_edges_come_in_the_order_of_time_and_none_leads_back_to_itself() -> None:
    def use(who: str, what: str, t0_s: int, t1_s: int, sure: float = 0.5) -> Edge:
        return Edge(source=person(who), type="USES", target=thing(what), t0_us=t0_s * US, t1_us=t1_s * US, confidence=sure)

    mine = Edge(source=person("A"), type="USES", target=person("A"), t0_us=0, t1_us=US, confidence=1.0)
    found = joined([use("B", "saw", 20, 30), mine, use("A", "saw", 5, 20, 0.9), use("A", "saw", 6, 8)])
    assert [(e.source.name, e.t0_us // US, e.t1_us // US, e.confidence) for e in found] == [("A", 5, 20, 0.9), ("B", 20, 30, 0.5)]


# Paragraphs

SEGMENT = Segment(id=1, stream="s", segmenter="fixed_window", t0_us=100 * US, t1_us=130 * US, offset_us=60 * US, representative_id=1)


def line(speaker: str, text: str) -> Line:
    return Line(speaker=speaker, text=text, t0_us=0, t1_us=US)


def told(*moments: tuple[Observation, ...], lines: tuple[Line, ...] = ()) -> str:
    text = fused(SEGMENT, moments, lines)
    assert text.startswith("[1:00 to 1:30] ")
    return text.removeprefix("[1:00 to 1:30] ")


def test_a_paragraph_says_what_was_seen_read_and_said() -> None:
    man, cup, kitchen = an("person", score=0.99), an("cup", score=0.99), an("kitchen", score=0.99, kind="label")
    red, blue = (an("cup", score=0.99, colour=colour) for colour in ("red", "blue"))
    first = (man, man, red, kitchen, an(" MILK \n 1 l", kind="text"))
    second = (man, red, blue, an("milk1L", kind="text"), an("person", score=0.99, colour="red"), man, kitchen)
    third = (cup, man, an("person", score=0.99, kind="label"))
    said = (line("Anna", "Here."), line("Anna", 'Take "it".'), line("", "Well"), line("me", "Thanks."))
    assert told(first, second, third, lines=said) == (
        'The view shows a kitchen. There are 3 people and 2 cups. The text "MILK 1 l" can be read. Anna says "Here. Take \'it\'." '
        'Somebody says "Well" The wearer says "Thanks."'
    )


def test_one_thing_has_an_article_and_the_colour_in_which_it_was_seen_most() -> None:
    red, blue = (an("cup", score=0.99, colour=colour) for colour in ("red", "blue"))
    assert told((blue,), (red,), (red,)) == "There is a red cup."
    kitchen, unsure = an("kitchen", score=0.99, kind="label"), an("cup", score=0.05, colour="red")
    assert told((kitchen, unsure), (kitchen, unsure)) == "The view shows a kitchen."


def test_a_paragraph_holds_four_labels_eight_things_and_eight_texts() -> None:
    kitchens = [an(f"room{n}", score=0.99 - n / 100, kind="label") for n in range(6)]
    things = [an(f"tool{chr(97 + n)}", score=0.99) for n in range(10)]
    texts = [an(f"LINE {n}", kind="text") for n in range(10)]
    often = (*things[2:], *things[2:], an("tooll", score=0.99))
    text = told((*kitchens, *things, *texts), (*kitchens, *often))
    labels, objects, read = text.split(". ")
    assert labels == "The view shows a room0, a room1, a room2 and a room3"
    assert objects.count(" tool") == 8
    assert all(f"2 tool{chr(97 + n)}s" in objects for n in range(2, 10))
    assert read == "The text " + ", ".join(f'"LINE {n}"' for n in range(7)) + ' and "LINE 7" can be read.'


def test_a_quote_has_200_letters() -> None:
    assert told((), lines=(line("Anna", "x" * 200),)) == f'Anna says "{"x" * 200}"'
    assert told((), lines=(line("Anna", "x" * 201),)) == f'Anna says "{"x" * 199}…"'


def test_nothing_seen_or_said_is_no_paragraph_and_blank_text_is_not_read() -> None:
    assert fused(SEGMENT, [(an("cup", score=0.01), an(" ", kind="text"))], []) == ""
    assert origin_of([(an(" ", kind="text"), an("cup"))], []) == "caption"
    assert origin_of([(an("x", kind="text"),)], [line("a", "b")]) == "ocr"
    assert origin_of([], [line("a", "b")]) == "asr"
