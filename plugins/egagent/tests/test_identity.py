"""Who is who: names that speakers give themselves, first names of two people, voices that nobody knows, and radios."""

from __future__ import annotations

from pathlib import Path

import pytest
from edgemem_egagent.graph import Line
from edgemem_egagent.names import ambiguous, most_complete
from edgemem_egagent.speech import read_speech
from edgemem_egagent.turns import broadcasting
from edgemem_egagent.writers import Triples

from edgemem.records import US
from edgemem.remember.entries import NewEntity
from edgemem.remember.store import Store
from edgemem.see.carry_out import steps
from edgemem.see.operations import Node, Same, StreamEnded

from .conftest import T0_US, remember

Rows = set[tuple[str, str, str]]


def said(*lines: tuple[float, float, str, str]) -> list[Line]:
    return [
        Line(speaker=who, text=text, t0_us=round(t0 * US), t1_us=round(t1 * US), document_id=i)
        for i, (t0, t1, who, text) in enumerate(lines)
    ]


def triples(lines: list[Line], before: list[Line] | None = None) -> Rows:
    return {(e.source.name, e.type, e.target.name) for e in read_speech(lines, before=before or []).edges}


# Names that speakers give themselves


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("My name is Felix Berg.", "Felix Berg"),
        ("Hello, I'm Felix.", "Felix"),
        ("Hi, this is Felix.", "Felix"),
        ("Hello Anna, this is Felix. Are you at home?", "Felix"),
        ("Good morning. This is Felix.", "Felix"),
        ("Yes, this is Felix speaking.", "Felix"),
        ("This is Felix calling from the garage.", "Felix"),
        ("This is Felix.", ""),
        ("Hello Anna, this is Felix, my brother.", ""),
        ("And this is Felix, he works with me.", ""),
        ("In the picture this is Felix.", ""),
        ("I think this is Felix!", ""),
        ("Hi, this is great.", ""),
    ],
)
def test_this_is_names_the_speaker_only_in_a_greeting_or_a_call(text: str, name: str) -> None:
    found = read_speech(said((0, 2, "speaker 3", text))).same
    assert [one.name for one in found] == ([name] if name else [])


# First names


def test_a_first_name_is_taken_apart_when_a_second_person_has_it(tmp_path: Path) -> None:
    lines = [
        (2, 4, "me", "I met Tomas Novak today."),
        (31, 33, "me", "Tomas likes the garden."),
        (61, 63, "me", "I met Tomas Weber today."),
    ]
    writer = Triples()
    with Store.open(tmp_path / "memory") as store:
        remember(store, {}, lines[:2], [writer])
        with store.view() as view:
            assert [e.name for e in view.entities(name="Tomas")] == ["Tomas Novak"]
        again = Triples()
        again.restore(writer.state())
        remember(store, {}, lines[2:], [again])
        with store.view() as view:
            assert [e.name for e in view.entities(name="Tomas")] == ["Tomas"]
            assert {e.name for e in view.entities(kind="person")} == {"Tomas", "Tomas Novak", "Tomas Weber", "me"}
    assert b"omas" not in writer.state(), "the state names nobody"


def test_what_a_person_joined_is_not_taken_apart_and_what_a_person_parted_is_not_joined(tmp_path: Path) -> None:
    with Store.open(tmp_path / "memory") as store:
        remember(store, {}, [(2, 4, "me", "I met Tomas Novak today.")])
        with store.transaction() as tx:
            short = tx.add_entity(NewEntity(kind="person", name="Tomas", known_us=T0_US))
            [(full, _, _)] = tx.own_names("tomas novak")
            tx.merge_entity(short, full, T0_US)
        remember(store, {}, [(31, 33, "me", "I met Tomas Weber today.")])
        with store.view() as view:
            assert [e.name for e in view.entities(name="Tomas")] == ["Tomas Novak"]
        with store.transaction() as tx:
            merge_id = tx.merge_of(short)
            assert merge_id is not None
            tx.unmerge(merge_id, T0_US + 40 * US)
            ended = StreamEnded(stream="day", t_us=T0_US + 60 * US)
            for step in steps(
                "triples", ended, [Same(short=Node(kind="person", name="Tomas"), full=Node(kind="person", name="Tomas Novak"))]
            ):
                step(tx)
        with store.view() as view:
            assert [e.name for e in view.entities(name="Tomas")] == ["Tomas"]


def test_which_names_are_joined_and_which_are_ambiguous() -> None:
    assert [(s.other, s.name) for s in most_complete(["Tomas", "speaker 3", "me", "someone"], ["Tomas Novak"])] == [
        ("Tomas", "Tomas Novak")
    ]
    assert most_complete(["Tomas"], ["Tomas Novak", "Tomas Weber"]) == ()
    known = {"Tomas": "Tomas Novak", "Tomas Novak": "Tomas Novak", "Anna": "Anna"}
    assert [(s.other, s.name) for s in ambiguous(["Tomas Weber"], known)] == [("Tomas", "Tomas Novak")]
    for name in ("Tomas", "Tomas Novak", "Anna Weber", "Weber"):
        assert ambiguous([name], known) == ()
    assert ambiguous(["Tomas J. Novak"], {**known, "Tomas J. Novak": "Tomas Novak"}) == (), "a name of the same person"


# Voices that nobody knows


def test_speech_without_a_known_voice_is_someones() -> None:
    found = triples(said((0, 2, "", "I'm using the drill."), (3, 5, "me", "Be careful."), (6, 7, "", "My name is Felix.")))
    assert {
        ("someone", "USES", "drill"),
        ("someone", "MENTIONS", "drill"),
        ("someone", "TALKS_TO", "me"),
        ("me", "TALKS_TO", "someone"),
    } <= found
    assert read_speech(said((6, 7, "", "My name is Felix."))).same == ()


def test_someone_is_in_the_graph_of_the_memory(tmp_path: Path) -> None:
    with Store.open(tmp_path / "memory") as store:
        remember(store, {}, [(2, 4, "", "I'm using the drill.")])
        with store.view() as view:
            assert ("someone", "USES") in {(r.source.name, r.type) for r in view.relations()}


# Talks over the end of a window


def test_a_talk_goes_on_over_the_end_of_a_window(tmp_path: Path) -> None:
    """The question ends the first window, the answer begins the second: both are drawn, each once."""
    with Store.open(tmp_path / "memory") as store:
        remember(store, {}, [(27, 29, "Ben", "Give me the hammer."), (31, 33, "Anna", "Here you go.")])
        with store.view() as view:
            drawn = sorted(
                (r.source.name, r.type, r.target.name, (r.t0_us - T0_US) // US) for r in view.relations() if r.type != "MENTIONS"
            )
    assert drawn == [("Anna", "INTERACTS_WITH", "hammer", 27), ("Anna", "TALKS_TO", "Ben", 31), ("Ben", "INTERACTS_WITH", "hammer", 27),
                     ("Ben", "TALKS_TO", "Anna", 27)]  # fmt: skip


def test_after_a_long_pause_it_is_another_talk(tmp_path: Path) -> None:
    with Store.open(tmp_path / "memory") as store:
        remember(store, {}, [(20, 22, "Ben", "The hammer is heavy."), (31, 33, "Anna", "Here you go.")])
        with store.view() as view:
            assert not [r for r in view.relations() if r.type == "TALKS_TO"]


def test_what_was_drawn_before_is_not_drawn_again() -> None:
    before = said((20, 22, "Ben", "I'm using the hammer."), (24, 26, "Anna", "Good."))
    now = said((31, 33, "Ben", "I'm using it again."))
    assert triples(now, before) == {("Ben", "TALKS_TO", "Anna"), ("Ben", "USES", "hammer")}
    assert [e.t0_us // US for e in read_speech(now, before=before).edges] == [31, 31]


# Radios


RADIO = [(4.0 * n, 4.0 * n + 3.5, "speaker 7", f"and in the news of the day number {n} was reported") for n in range(7)]


def test_a_radio_is_not_a_partner_and_does_not_stand_between_two_who_talk() -> None:
    lines = [*RADIO, (29, 30, "me", "Nice weather."), (31, 32, "Anna", "Yes."), (33, 36, "speaker 7", "that was the news")]
    assert {t for t in triples(said(*lines)) if t[1] == "TALKS_TO"} == {("me", "TALKS_TO", "Anna"), ("Anna", "TALKS_TO", "me")}


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (RADIO[:5], set()),  # 19.5 s
        (RADIO[:6], {"speaker 7"}),
        ([(a, b, "Clara", t) for a, b, _, t in RADIO], set()),  # who has a name is somebody
        ([*RADIO, (28, 29, "me", "Do you really think so?")], set()),  # is spoken to
        ([*RADIO, (28, 29, "me", "Here you go.")], {"speaker 7"}),
        ([*RADIO, (40, 41, "me", "Do you really think so?")], {"speaker 7"}),  # much later
        ([(a + 2.2 * n, b + 2.2 * n, w, t) for n, (a, b, w, t) in enumerate(RADIO)], set()),  # pauses of 2.7 s
    ],
)
def test_who_speaks_on_and_on_and_is_not_spoken_to_broadcasts(lines: list[tuple[float, float, str, str]], found: set[str]) -> None:
    every = said(*lines)
    assert broadcasting(every, [line.speaker for line in every]) == found
