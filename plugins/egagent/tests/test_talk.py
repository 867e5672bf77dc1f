"""What a talk comes to: who speaks to whom and how sure that is, what sentences name, and where each limit of time lies."""

from __future__ import annotations

import pytest
from edgemem_egagent.graph import Edge, Line, person, thing
from edgemem_egagent.lexicon import is_thing
from edgemem_egagent.phrases import Phrase, phrases
from edgemem_egagent.speech import read_speech
from edgemem_egagent.turns import broadcasting, speaker_name

from edgemem.records import US


def said(*lines: tuple[float, float, str, str], sure: float = 1.0) -> list[Line]:
    return [
        Line(speaker=who, text=text, t0_us=round(t0 * US), t1_us=round(t1 * US), document_id=i, confidence=sure)
        for i, (t0, t1, who, text) in enumerate(lines)
    ]


def edges(*lines: tuple[float, float, str, str], type_: str = "", sure: float = 1.0) -> list[tuple[str, str, str, float]]:
    found: list[Edge] = [edge for edge in read_speech(said(*lines, sure=sure)).edges if type_ in {"", edge.type}]
    return [(edge.source.name, edge.type, edge.target.name, edge.confidence) for edge in found]


def talks(*lines: tuple[float, float, str, str]) -> list[tuple[str, str, float]]:
    return [(source, target, sure) for source, _, target, sure in edges(*lines, type_="TALKS_TO")]


FINE, YES = "Nice weather.", "It rained."


# Who speaks to whom


def test_an_answer_comes_within_eight_seconds() -> None:
    assert talks((0, 2, "Anna", FINE), (10, 12, "Ben", YES)) == [("Anna", "Ben", 0.75), ("Ben", "Anna", 0.75)]
    assert talks((0, 2, "Anna", FINE), (10.000001, 12, "Ben", YES)) == []


def test_who_speaks_before_and_after_is_surely_spoken_to_else_who_answers_is() -> None:
    assert talks((0, 1, "Anna", FINE), (2, 3, "Ben", YES), (4, 5, "Anna", FINE))[1] == ("Ben", "Anna", 0.85)
    assert talks((0, 1, "Anna", FINE), (2, 3, "Ben", YES), (4, 5, "Clara", FINE)) == [
        ("Anna", "Ben", 0.75), ("Ben", "Clara", 0.75), ("Clara", "Ben", 0.75),
    ]  # fmt: skip


def test_who_is_called_by_name_is_spoken_to_and_not_spoken_of() -> None:
    assert edges((0, 1, "Ben", "Anna, look here."), (2, 3, "Clara", YES))[0] == ("Ben", "TALKS_TO", "Anna", 0.9)
    assert not edges((0, 1, "Ben", "Anna, look here."), type_="MENTIONS")


def test_a_broadcast_between_two_lines_is_passed_over() -> None:
    radio = [(4.0 * n, 4.0 * n + 3.5, "speaker 7", f"and number {n} was reported") for n in range(7)]
    assert talks(*radio, (28, 29, "me", FINE), (29.5, 30.5, "speaker 7", "that was the news"), (31, 32, "Anna", YES)) == [
        ("me", "Anna", 0.75), ("Anna", "me", 0.75),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "silent"),
    [
        ([(0, 20, "speaker 7", "x")], True),
        ([(0, 19.999999, "speaker 7", "x")], False),
        ([(0, 10, "speaker 7", "x"), (12, 21, "speaker 7", "x")], True),  # a pause of two seconds
        ([(0, 10, "speaker 7", "x"), (12.000001, 21, "speaker 7", "x")], False),
        ([(0, 9, "speaker 7", "x"), (9.5, 10, "me", "Well."), (10.5, 21, "speaker 7", "x")], False),  # somebody came between
        ([(0, 20.5, "speaker 7", "x"), (28.5, 29, "me", "Really?")], False),  # is asked within eight seconds
        ([(0, 20.5, "speaker 7", "x"), (28.500001, 29, "me", "Really?")], True),
        ([(0, 20.5, "speaker 7", "x"), (21, 22, "speaker 7", "Really?")], True),  # asks itself
    ],
)
def test_a_broadcast_lasts_20_seconds_with_pauses_of_two_and_is_not_spoken_to(
    lines: list[tuple[float, float, str, str]], silent: bool
) -> None:
    made = said(*lines)
    assert broadcasting(made, [line.speaker for line in made]) == ({"speaker 7"} if silent else set())


def test_the_wearer_is_me_under_every_name_and_nobody_else_is() -> None:
    assert [speaker_name(name, "Jake") for name in (" JAKE ", "me", "I", "Myself", "Ben", "")] == ["me", "me", "me", "me", "Ben", ""]
    assert [speaker_name(name) for name in ("Jake", "")] == ["Jake", ""]


# How sure an edge is


def test_an_edge_is_as_sure_as_its_kind_and_as_what_was_heard() -> None:
    """.85 for people and places, .75 for things, .7 for where one is, .8 for what one does; each of .333, in thousandths."""
    assert sorted(edges((0, 1, "Ben", "I'm in the kitchen with Clara."), sure=0.333)) == [
        ("Ben", "INTERACTS_WITH", "kitchen", 0.233), ("Ben", "MENTIONS", "Clara", 0.283), ("Ben", "MENTIONS", "kitchen", 0.283),
    ]  # fmt: skip
    assert sorted(edges((0, 1, "Ben", "I'm using the drill."), sure=0.333)) == [
        ("Ben", "MENTIONS", "drill", 0.25),
        ("Ben", "USES", "drill", 0.266),
    ]


@pytest.mark.parametrize(
    ("text", "sure"), [("I opened with the key.", 0.25), ("Tom is on the phone.", 0.25), ("The saw is here. I'm using it.", 0.2)]
)
def test_what_is_used_in_other_ways_than_as_an_object_is_less_sure(text: str, sure: float) -> None:
    """.75 behind a preposition, .6 where only "it" is said; of .333."""
    assert [one[3] for one in edges((0, 1, "Ben", text), type_="USES", sure=0.333)] == [sure]


PASSED = [("Anna", "INTERACTS_WITH", "salt", 0.7), ("Ben", "INTERACTS_WITH", "salt", 0.65)]


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([(0, 1, "Clara", FINE), (2, 3, "Ben", "Pass me salt."), (4, 5, "Anna", "Here."), (6, 7, "Ben", FINE)], PASSED),
        ([(2, 3, "Ben", "Pass me salt."), (11, 12, "Anna", "Here.")], PASSED),
        ([(2, 3, "Ben", "Pass me salt."), (11.000001, 12, "Anna", "Here.")], []),
        ([(2, 3, "Ben", "Pass me salt."), (4, 5, "Ben", "Here.")], []),
        ([(2, 3, "Ben", "Pass me salt."), (4, 5, "Anna", "Wait.")], []),
        ([(2, 3, "Ben", "Pass me the very very heavy salt."), (4, 5, "Anna", "Here.")], PASSED),  # 20 letters stand between
        ([(2, 3, "Ben", "Pass me the very very heavier salt."), (4, 5, "Anna", "Here.")], []),
    ],
)
def test_what_is_passed_was_in_both_hands(lines: list[tuple[float, float, str, str]], found: list[tuple[str, str, str, float]]) -> None:
    assert edges(*lines, type_="INTERACTS_WITH") == found


@pytest.mark.parametrize(("second", "uses"), [(10, ["drill", "drill"]), (10.000001, ["drill"])])
def test_it_means_what_was_named_last_within_eight_seconds(second: float, uses: list[str]) -> None:
    made = edges((0, 2, "Ben", "I'm using the drill."), (second, 20, "Anna", "I'm using it."), type_="USES")
    assert [target for _, _, target, _ in made] == uses


def test_an_earlier_line_keeps_its_partner_and_is_drawn_anew_only_by_what_follows() -> None:
    before = said((20, 22, "Anna", FINE), (24, 26, "Ben", "Pass me salt."))
    found = read_speech(said((31, 33, "Clara", "Here.")), before=before).edges
    assert {(e.source.name, e.type, e.target.name, e.t0_us // US) for e in found} == {
        ("Clara", "TALKS_TO", "Ben", 31), ("Clara", "INTERACTS_WITH", "salt", 24), ("Ben", "INTERACTS_WITH", "salt", 24),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("speaker", "text", "name"),
    [
        ("speaker 3", "My name is Zorblat.", "Zorblat"),  # whatever it is
        ("speaker 3", "I'm Zorblat.", ""),  # may be anything
        ("speaker 3", "I'm Felix.", "Felix"),
        ("speaker 3", "My name is Monday.", ""),
        ("Ben", "My name is Felix.", ""),  # somebody else's words
        ("Felix", "My name is felix.", ""),
        ("Felix", "My name is Felix Berg.", "Felix Berg"),
        ("me", "My name is Felix Berg.", ""),
    ],
)
def test_a_name_that_a_speaker_gives_is_taken_where_it_is_one(speaker: str, text: str, name: str) -> None:
    assert [one.name for one in read_speech(said((0, 1, speaker, text))).same] == ([name] if name else [])


# What a sentence names


@pytest.mark.parametrize(
    ("sentence", "named"),
    [
        ("Anna, look here.", [("person", "Anna", True)]),
        ("Zorblat, look here.", [("person", "Zorblat", True)]),
        ("Zorblat looks here.", []),
        ("Look here, Zorblat.", []),
        ("Look here, Anna.", [("person", "Anna", True)]),
        ("Good morning, Anna is here.", [("person", "Anna", True)]),
        ("Anna came.", [("person", "Anna", False)]),
        ("Then Anna, please.", [("person", "Anna", False)]),
        ("I enjoy Zorblat.", []),
        ("I met Zorblat.", [("person", "Zorblat", False)]),
        ("Yesterday Zorblat said so.", [("person", "Zorblat", False)]),
        ("I met Anna Maria Louise Schmidt.", [("person", "Anna Maria Louise", False)]),
        ("We are in Zorblat.", [("location", "Zorblat", False)]),
        ("I drove to Zorblat.", [("location", "Zorblat", False)]),
        ("I talked to Zorblat.", [("person", "Zorblat", False)]),
        ("It is my Zorblat.", []),
        ("Now can you water the lamps.", [("object", "lamp", False)]),
        ("Quickly water the lamps.", [("object", "lamp", False)]),
        ("Water the lamps.", [("object", "lamp", False)]),
        ("Tom hammers the lamps.", [("person", "Tom", False), ("object", "lamp", False)]),
        ("The box, Tom hammers the lamps.", [("object", "box", False), ("person", "Tom", False), ("object", "lamp", False)]),
        ("Tom's hammer is here.", [("person", "Tom", False), ("object", "hammer", False)]),
        ("I want to hammer.", []),
        ("I walk to the hammer.", [("object", "hammer", False)]),
        ("I walk to school.", [("location", "school", False)]),
        ("It is the big hammer.", [("object", "hammer", False)]),
        ("It is the school bag.", [("object", "school bag", False)]),
        ("It is the train station.", [("location", "train station", False)]),
        ("It is the living room.", [("location", "living room", False)]),
        ("It is the living of lamps.", [("object", "lamp", False)]),
        ("It is the bread cheese butter lamp.", [("object", "bread cheese butter", False), ("object", "lamp", False)]),
        ("It is the lamp, bread.", [("object", "lamp", False), ("object", "bread", False)]),
        ("It is the down hammer.", [("object", "hammer", False)]),
        ("It is my hammer number two, a lamp.", [("object", "lamp", False)]),
    ],
)
def test_what_a_sentence_names(sentence: str, named: list[tuple[str, str, bool]]) -> None:
    assert [(one.node.kind, one.node.name, one.vocative) for one in phrases(sentence)] == named


def test_food_is_a_thing_that_is_eaten_in_one_of_its_two_first_senses() -> None:
    def eaten(node: object) -> bool:
        return Phrase(node=node, start=0, end=1).is_food  # type: ignore[arg-type]

    assert [eaten(thing(name)) for name in ("green apple", "tea", "egg", "hammer")] == [True, True, True, False]
    assert not eaten(person("Apple"))


@pytest.mark.parametrize("word", ["ticket", "diamond", "candy", "orange", "tree", "cat", "pebble", "sand", "egg", "cup"])
def test_a_thing_can_be_touched(word: str) -> None:
    """Asked for, made, nourishing, eaten, a plant, an animal, found in nature, a substance; in its second sense; of three letters."""
    assert is_thing(word)


@pytest.mark.parametrize("word", ["idea", "side", "ox", "Cup", "xyzzy"])
def test_what_cannot_be_touched_is_vague_or_too_short_is_no_thing(word: str) -> None:
    assert not is_thing(word)
