"""Asking about people: what a person gets back from relations and utterances that a memory keeps."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from edgemem.answer.local import LocalPlanner
from edgemem.answer.planner import AnswerKit, ask
from edgemem.answer.retrieve import EventRetriever, Query
from edgemem.answer.retrievers.frames import FrameRetriever
from edgemem.answer.retrievers.people import EntityRetriever
from edgemem.answer.retrievers.readings import TextRetriever
from edgemem.answer.tools_graph import _fit
from edgemem.answer.understand import understand as parse
from edgemem.answer.understand.people import ME, read_asked
from edgemem.clock import from_iso
from edgemem.records import US, Answer, Question, Quote
from edgemem.remember.entries import NewDocument, NewEntity, NewRelation
from edgemem.remember.store import Store, Transaction
from edgemem.remember.view import View
from tests.answer.conftest import WordMatcher, label, remember

DAY_US = from_iso("2026-05-04T00:00:00Z")
H = 3600
SAID = [  # day, second, speaker, to, words, edges (type, target kind, target)
    (0, 9 * H, "Anna", ME, "The printer is out of paper again.", [("MENTIONS", "object", "printer")]),
    (0, 9 * H + 4, ME, "Anna", "I'm using the old printer now.", [("USES", "object", "printer")]),
    (0, 14 * H, "Tomas Novak", ME, "The wifi password is hidden behind the clock.", []),
    (0, 14 * H + 5, ME, "Tomas Novak", "Thanks. I'm drinking coffee.", [("USES", "object", "coffee")]),
    (1, 11 * H, "speaker 1", "", "The dentist moved to Oak Street.", []),
    (2, 10 * H, ME, "", "I'm drinking coffee again.", [("USES", "object", "coffee")]),
    (2, 16 * H, "Ben", "Clara", "We should paint the garage in May.", [("MENTIONS", "location", "garage")]),
    (2, 16 * H + 6, "Clara", "Ben", "I opened the toolbox.", [("INTERACTS_WITH", "object", "toolbox")]),
    (3, 8 * H, ME, "", "I'm using the cordless drill.", [("USES", "object", "cordless drill")]),
    (3, 8 * H + 40, "Ben", ME, "Careful with that drill.", [("MENTIONS", "object", "drill")]),
]
NOW_US = DAY_US + (3 * 24 + 12) * H * US


def test_the_same_name_fits_better_than_a_part_of_a_longer_one() -> None:
    same, part, tail = (
        _fit(["anna"], ["anna"], "person"),
        _fit(["anna"], ["anna", "lee"], "person"),
        _fit(["old", "drill"], ["drill"], "object"),
    )
    assert same > part > tail > 0
    assert _fit(["phone"], ["mobile", "phone"], "object") == part


def tell(tx: Transaction, day: int, second: int, speaker: str, to: str, words: str, edges: list[tuple[str, str, str]]) -> None:
    t0_us = DAY_US + (day * 24 * H + second) * US
    span = {"stream": "days", "t0_us": t0_us, "t1_us": t0_us + 3 * US, "known_us": t0_us + 3 * US}

    def node(kind: str, name: str) -> int:
        return tx.add_entity(NewEntity(kind=kind, name=name, known_us=t0_us))

    who = node("voice" if speaker.startswith("speaker ") else "person", speaker)
    said = tx.add_document(
        NewDocument(kind="utterance", text=words, offset_us=t0_us - DAY_US, origin="asr", speaker_id=who, confidence=0.9, **span)
    )
    quotes = (Quote(text=words, origin="asr", document_id=said),)
    for type_, kind, name in [*edges, *([("TALKS_TO", "person", to)] if to else [])]:
        tx.add_relation(NewRelation(type=type_, source_id=who, target_id=node(kind, name), confidence=0.8, quotes=quotes, **span))


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("days") / "memory"
    with Store.open(directory) as store:
        store.ensure_stream("days", DAY_US)
        seen = {day * 24 * H + second: (label("room"),) for day, second, *_ in SAID}
        seen[24 * H + 100] = (label("scanner"), label("office"))
        remember(store, "days", DAY_US, seen)
        with store.transaction() as tx:
            for one in SAID:
                tell(tx, *one)
    return directory


@pytest.fixture
def view(days: Path) -> Iterator[View]:
    with View.open(days, NOW_US) as opened:
        yield opened


@pytest.fixture
def kit() -> AnswerKit:
    return AnswerKit(planner=LocalPlanner(), retrievers=(FrameRetriever(matcher=WordMatcher()), TextRetriever(), EventRetriever()))


def put(view: View, kit: AnswerKit, text: str, *options: str, now_us: int = NOW_US) -> Answer:
    answer, _ = ask(view, Question(text=text, asked_us=now_us, as_of_us=min(now_us, view.as_of_us), options=options), kit)
    assert answer.status != "answered" or answer.evidence
    return answer


@pytest.mark.parametrize(
    ("text", "said", "proof"),
    [
        ("Who did I talk to today?", "Ben", "Careful with that drill"),
        ("Who did I talk to on Monday?", "Anna", "printer"),
        ("Who talked to me on Monday?", "Tomas Novak", "Thanks"),
        ("When did I last use the printer?", "09:00:04 on Monday 2026-05-04", "old printer"),
        ("When did I last use the drill?", "08:00:00 on Thursday 2026-05-07", "cordless drill"),
        ("How often did I drink coffee this week?", "2 times", "coffee"),
        ("Who was with me when I used the drill?", "Ben", "drill"),
        ("Did I talk to Tomas on Monday?", "Yes: you talked to Tomas", "coffee"),
        ("What did Anna say about the printer?", "out of paper", "out of paper"),
        ("What did Tomas say?", "wifi password", "wifi"),
        ("What did speaker 1 say?", "Oak Street", "dentist"),
        ("When did speaker 1 mention the dentist?", "11:00:00 on Tuesday 2026-05-05", "dentist"),
        ("What was said about the garage?", "Ben", "paint the garage"),
        ("What was said at 14:00 on Monday?", "wifi password", "wifi"),
        ("What did I hear about the garage?", "Ben", "paint the garage"),
        ("What did I hear from Tomas?", "wifi password", "wifi"),
        ("When was the garage mentioned?", "16:00:00 on Wednesday 2026-05-06", "garage"),
        ("When was the drill last mentioned?", "08:00:40 on Thursday 2026-05-07", "drill"),
        ("How often was the drill mentioned?", "2 times", "drill"),
        ("Was the wifi password mentioned?", "Yes", "wifi"),
        ("Did I hear anything about the garage?", "Yes", "garage"),
        ("Who mentioned the garage?", "Ben", "paint the garage"),
        ("When did Ben mention the garage?", "16:00:00 on Wednesday 2026-05-06", "garage"),
        ("Did anyone mention the wifi password?", "Yes", "wifi"),
        ("Who spoke on Wednesday?", "You (at 10:00:00 on Wednesday 2026-05-06), Ben (at 16:00:00", "paint"),
        ("Who did I hear talking on Thursday?", "you (at 08:00:00 on Thursday 2026-05-07) and ben (at 08:00:40", "drill"),
        ("Who said something on Tuesday?", "speaker 1 (at 11:00:00", "dentist"),
        ("Who spoke first on Wednesday?", 'You (at 10:00:00 on Wednesday 2026-05-06): "I\'m drinking coffee again."', "coffee"),
        ("Who spoke last on Wednesday?", 'Clara (at 16:00:06 on Wednesday 2026-05-06): "I opened the toolbox."', "toolbox"),
        ("How many people spoke on Thursday?", "2: you (", "drill"),
        ("How many different people did I hear?", "6: you (", "drill"),
        ("How many voices were there on Tuesday?", "1: speaker 1 (", "dentist"),
        ("Which was mentioned first, the dentist or the wifi password?", "The wifi password came first", "wifi"),
        ("Who opened the toolbox?", "Clara", "toolbox"),
        ("Did Clara open the toolbox?", "Yes", "toolbox"),
        ("What did I use on Monday?", "printer", "printer"),
        ("When did I first use coffee?", "14:00:05 on Monday 2026-05-04", "coffee"),
        ("Who was there when Clara opened the toolbox?", "Ben", "garage"),
    ],
)
def test_people_deeds_and_words_are_told_with_their_proof(view: View, kit: AnswerKit, text: str, said: str, proof: str) -> None:
    answer = put(view, kit, text)
    assert answer.status == "answered", answer.answer
    assert said.lower() in answer.answer.lower()
    assert any(proof in e.text for e in answer.evidence[:3])
    assert all(e.id[0] == "d" for e in answer.evidence)


@pytest.mark.parametrize(
    ("text", "options", "right"),
    [
        ("Who did I talk to today?", ("Anna", "Ben", "Clara"), 1),
        ("Who mentioned the garage?", ("Tomas", "Clara", "Ben", "Anna"), 2),
        ("How often did I drink coffee this week?", ("once", "twice", "never"), 1),
        ("Did I talk to Anna on Monday?", ("no", "yes"), 1),
        ("What did Tomas say about the wifi password?", ("It is under the desk", "It is behind the clock"), 1),
        ("When did I last use the printer?", ("at 9:00", "at 11:30", "at 16:00"), 0),
    ],
)
def test_the_right_option_is_chosen(view: View, kit: AnswerKit, text: str, options: tuple[str, ...], right: int) -> None:
    answer = put(view, kit, text, *options)
    assert (answer.status, answer.option) == ("answered", right), answer.answer


@pytest.mark.parametrize(
    "text",
    ["Who did I talk to on Tuesday?", "Did I talk to Clara today?", "When did I last use the chainsaw?",
     "What did Anna say about the garage?", "Did Ben mention the password?",
     "How often did I use the lathe this week?", "Who did I talk to tomorrow?"],
)  # fmt: skip
def test_what_is_not_known_is_not_claimed(view: View, kit: AnswerKit, text: str) -> None:
    answer = put(view, kit, text)
    assert answer.status == "abstained", answer.answer
    assert answer.confidence < 0.25


def test_who_said_it_instead_is_told_without_a_claim(view: View, kit: AnswerKit) -> None:
    answer = put(view, kit, "What did Anna say about the garage?")
    assert answer.status == "abstained"
    assert "Anna said" in answer.answer
    assert 'Ben said "We should paint the garage' in answer.answer
    assert not answer.notes


def test_a_silent_hour_is_not_filled_with_what_was_read(view: View, kit: AnswerKit) -> None:
    answer = put(view, kit, "What was said at 11:00 on Monday?")
    assert (answer.status, answer.evidence) == ("abstained", ())
    assert "heard nothing" in answer.answer


def test_having_seen_a_thing_is_not_having_used_it(view: View, kit: AnswerKit) -> None:
    answer = put(view, kit, "When did I last use the scanner?")
    assert (answer.status, "saw the scanner" in answer.answer) == ("abstained", True)
    assert answer.evidence[0].id.startswith("m")


def test_nothing_is_told_that_became_known_after_the_question(days: Path, kit: AnswerKit) -> None:
    monday = DAY_US + 12 * H * US
    with View.open(days, monday) as early:
        assert put(early, kit, "Who mentioned the garage?", now_us=monday).status == "abstained"
        assert "Tomas" not in put(early, kit, "Who did I talk to today?", now_us=monday).answer
        assert put(early, kit, "What did Tomas say?", now_us=monday).status == "abstained"


def test_without_a_known_voice_of_the_wearer_those_heard_nearby_are_named(tmp_path: Path, kit: AnswerKit) -> None:
    with Store.open(tmp_path / "memory") as store:
        remember(store, "days", DAY_US, {9 * H: (label("room"),)})
        with store.transaction() as tx:
            tell(tx, 0, 9 * H, "Anna", "speaker 2", "Good morning.", [])
            tell(tx, 0, 9 * H + 3, "speaker 2", "Anna", "Morning!", [])
    with View.open(tmp_path / "memory") as view:
        now_us = DAY_US + 10 * H * US
        for text, told in (
            ("Who did I talk to today?", "Anna"),
            ("How often did I talk to Anna?", "1 time"),
            ("Did I talk to Anna today?", "Yes"),
        ):
            answer = put(view, kit, text, now_us=now_us)
            assert (answer.status, told in answer.answer) == ("answered", True), answer.answer
            assert any("which voice is yours" in note for note in answer.notes)
        answer = put(view, kit, "Did I talk to Clara today?", now_us=now_us)
        assert (answer.status, "Clara" in answer.answer) == ("abstained", True)
        answer = put(view, kit, "What did Clara say about the morning?", now_us=now_us)
        assert answer.status == "abstained"
        assert any('edgemem name speaker:2 "Clara"' in note for note in answer.notes)


def test_a_memory_of_pictures_alone_answers_as_it_did(walk: Path, kit: AnswerKit) -> None:
    with View.open(walk) as view:
        now_us = view.bounds()[1] + US  # type: ignore[index]
        assert "faces" in put(view, kit, "Who did I meet?", now_us=now_us).answer
        assert "ROOM 214" in put(view, kit, "What did the blue sign say?", now_us=now_us).answer
        used = put(view, kit, "When did I use the motorbike?", now_us=now_us)
        assert (used.status, used.unverified) == ("abstained", ("used",)), "seen is not used"


@pytest.mark.parametrize(
    "text",
    [
        "When did I see the cat?",
        "What did the sign say?",
        "Who works in room 214?",
        "What did I see after the coffee?",
        "find the drill",
        "When is the open day?",
    ],
)
def test_questions_about_things_stay_what_they_were(text: str) -> None:
    assert parse(text).asked is None


def test_i_is_the_one_who_carries_the_camera() -> None:
    asked = read_asked("who did i talk to")
    assert asked is not None
    assert (asked.source, asked.wanted) == (ME, "who")


def test_searching_the_graph_finds_relations_by_their_ends_and_words(view: View, days: Path) -> None:
    channel = EntityRetriever()
    assert "toolbox" in channel.retrieve(Query(text="Clara toolbox"), view, 5).evidence[0].text
    assert any("cordless drill" in e.text for e in channel.retrieve(Query(text="drill"), view, 5).evidence)
    assert {e.channel for e in channel.retrieve(Query(text="drill"), view, 5).evidence} == {"entity"}
    assert channel.retrieve(Query(text="coffee", from_us=DAY_US + 24 * H * US), view, 5).evidence[0].t0_us == DAY_US + (48 + 10) * H * US
    assert not channel.retrieve(Query(text="submarine"), view, 5).evidence
    with View.open(days, DAY_US + 12 * H * US) as early:
        assert not channel.retrieve(Query(text="Clara"), early, 5).evidence


def test_a_word_that_was_only_said_is_not_taken_for_a_sight(tmp_path: Path, kit: AnswerKit) -> None:
    with Store.open(tmp_path / "memory") as store:
        remember(store, "days", DAY_US, {9 * H: (label("cat", 0.1),), 9 * H + 1: (label("sofa"),)})
        with store.transaction() as tx:
            tell(tx, 0, 9 * H, "Anna", ME, "The cat ran away.", [("MENTIONS", "object", "cat")])
            span = {
                "stream": "days",
                "t0_us": DAY_US + 9 * H * US,
                "t1_us": DAY_US + (9 * H + 1) * US,
                "known_us": DAY_US + (9 * H + 1) * US,
            }
            tx.add_document(NewDocument(kind="fused", text='Anna says "The cat ran away."', offset_us=0, origin="asr", **span))
    with View.open(tmp_path / "memory") as view:
        assert put(view, kit, "Did I see the cat?", now_us=DAY_US + 10 * H * US).status == "abstained"


def test_where_no_relations_are_kept_those_who_were_heard_are_named(tmp_path: Path, kit: AnswerKit) -> None:
    with Store.open(tmp_path / "memory") as store:
        remember(store, "days", DAY_US, {9 * H: (label("room"),)})
        with store.transaction() as tx:
            tell(tx, 0, 9 * H, "Anna", "", "Good morning.", [])
    with View.open(tmp_path / "memory") as view:
        answer = put(view, kit, "Who did I talk to today?", now_us=DAY_US + 10 * H * US)
        assert answer.answer == "Anna (at 09:00:00 on Monday 2026-05-04) today."
        assert answer.notes == ("I do not know which voice is yours; this was said near you",)
        assert put(view, kit, "Did I talk to Ben today?", now_us=DAY_US + 10 * H * US).status == "abstained"


def test_what_was_said_about_a_matter_with_somebody_is_not_that_with_another(view: View, kit: AnswerKit) -> None:
    assert put(view, kit, "What was said about the garage?").status == "answered"
    assert put(view, kit, "What was said about painting the garage with Sarah?").status == "abstained"
