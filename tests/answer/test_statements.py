"""What no picture shows but somebody said is answered with the quote; what is shown stays answered by pictures."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from edgemem.answer.planner import AnswerKit, ask
from edgemem.answer.retrieve import Query
from edgemem.answer.say.statements import may_tell
from edgemem.answer.understand import understand
from edgemem.records import US, Answer, Question
from edgemem.remember.entries import NewDocument, NewEntity
from edgemem.remember.store import Store
from edgemem.remember.view import View
from tests.answer.conftest import START_US, WALK, WordMatcher, label, remember, text
from tests.answer.test_plans import heard

SAID = (
    "The plumber comes on Tuesday at nine.",
    "I called the electrician twice already.",
    "When does the electrician come? No idea.",
    "The scissors are in the top drawer.",
    "Twelve guests are coming to the party.",
    "The bus leaves every twenty minutes.",
    "The wifi password is hidden behind the clock.",
    "A tabby cat sleeps in the wardrobe at nine.",
    "The printer on the second floor is broken.",
    "Clara will water the plants on Sunday.",
    "The vet will be here around ten.",
    "I saw a giraffe in the zoo at ten.",
    "It is late. The baker has moved. The spare key is under the flower pot on Monday.",
    "The gardener phoned. He comes at four. Is that fine?",
    "I forgot the alarm code again.",
    "Keep the ladder until Friday.",
    "You meet Robert on Thursday at two.",
)
BUS_S, SIGN_S, TALK_S = 210, 220, 300
NOW_US = START_US + 3600 * US


class Guessing(WordMatcher):
    """As an engine does with a word that it does not know: it takes the nearest thing that it knows, and is a third sure of it."""

    def match(self, query: Query, view: View, k: int):
        found = super().match(query, view, k)
        if found.evidence:
            return found
        guess = super().match(Query(text="space rocket", from_us=query.from_us, to_us=query.to_us), view, k)
        return type(found)(evidence=tuple(msgspec.structs.replace(one, score=0.35) for one in guess.evidence), confidence=0.35)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("told") / "memory"
    with Store.open(directory) as store:
        store.ensure_stream("walk", START_US)
        remember(store, "walk", START_US, {**WALK, BUS_S: (label("bus"),), SIGN_S: (text("CONCERT FRIDAY 20:00"),)})
        with store.transaction() as tx:
            speaker = tx.add_entity(NewEntity(kind="person", name="Anna", known_us=START_US))
            for number, words in enumerate(SAID):
                t_us = START_US + (TALK_S + 10 * number) * US
                tx.add_document(
                    NewDocument(
                        kind="utterance", text=words, stream="walk", t0_us=t_us, t1_us=t_us + 3 * US, offset_us=t_us - START_US,
                        known_us=t_us + 3 * US, origin="asr", speaker_id=speaker, confidence=0.9,
                    )
                )  # fmt: skip
    return directory


@pytest.fixture
def view(memory: Path) -> Iterator[View]:
    with View.open(memory) as opened:
        yield opened


@pytest.fixture
def guessing(kit: AnswerKit) -> AnswerKit:
    from edgemem.answer.retrievers.frames import FrameRetriever

    return AnswerKit(planner=kit.planner, retrievers=(FrameRetriever(matcher=Guessing()), *kit.retrievers[1:]))


def put(view: View, kit: AnswerKit, question: str, *options: str, now_us: int = NOW_US) -> Answer:
    asked = Question(text=question, asked_us=now_us, as_of_us=min(now_us, view.as_of_us), options=options)
    return ask(view, asked, kit)[0]


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("When does the plumber come?", 0),
        ("What time is the plumber coming?", 0),
        ("Can you tell me when the plumber will come?", 0),
        ("Is the plumber coming on Tuesday?", 0),
        ("Who is coming on Tuesday?", 0),
        ("Where are the scissors?", 3),
        ("Where did I put the scissors?", 3),
        ("How many guests are coming?", 4),
        ("When does the bus leave?", 5),
        ("What is the wifi password?", 6),
        ("What is broken on the second floor?", 8),
        ("Who will water the plants?", 9),
        ("When does the vet come?", 10),
        ("When did Anna say the plumber comes?", 0),
        ("Who said that the plumber comes on Tuesday?", 0),
        ("Which day do I see Robert?", 16),
        ("When did I say that Robert comes?", 16),
    ],
)
def test_what_was_said_and_not_shown_is_answered_with_the_quote(view: View, guessing: AnswerKit, question: str, number: int) -> None:
    answer = put(view, guessing, question)
    assert answer.status == "answered"
    assert f'Anna said "{SAID[number]}"' in answer.answer
    assert answer.evidence[0].channel == "speech"
    assert answer.evidence[0].offset_us == (TALK_S + 10 * number) * US
    assert 0.3 < answer.confidence < 0.97


@pytest.mark.parametrize(
    ("question", "second"),
    [
        ("Where is the tabby cat?", 140),
        ("When was the tabby cat there?", 40),
        ("Where was the rocket?", 120),
        ("When did I see the bus?", BUS_S),
        ("When was the bus there?", BUS_S),
    ],
)
def test_what_is_shown_is_answered_by_its_picture_though_it_was_spoken_of(
    view: View, guessing: AnswerKit, question: str, second: int
) -> None:
    answer = put(view, guessing, question)
    assert answer.evidence[0].channel == "frame"
    assert second in [evidence.offset_us // US for evidence in answer.evidence]


def test_what_was_read_stands_against_a_guess(view: View, guessing: AnswerKit) -> None:
    answer = put(view, guessing, "When is the concert?")
    assert "CONCERT FRIDAY 20:00" in answer.answer
    assert answer.evidence[0].offset_us == SIGN_S * US


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("Where is the spare key?", '"The spare key is under the flower pot on Monday."'),
        ("Until when should I keep the ladder?", '"Keep the ladder until Friday."'),
        ("When does the gardener come?", '"The gardener phoned. He comes at four."'),
    ],
)
def test_of_a_long_utterance_the_sentence_that_answers_is_quoted(view: View, guessing: AnswerKit, question: str, quoted: str) -> None:
    answer = put(view, guessing, question)
    assert quoted in answer.answer
    assert answer.evidence[0].channel == "speech"


@pytest.mark.parametrize(
    "question",
    [
        "When does the electrician come?",
        "When does the plumber leave?",
        "When is the wedding?",
        "When did Ben say the plumber comes?",
        "What is the alarm code?",
    ],
)
def test_no_picture_says_when_something_will_be(view: View, guessing: AnswerKit, question: str) -> None:
    """Nor does a question that was heard, or talk about the same thing."""
    answer = put(view, guessing, question)
    assert answer.status == "abstained"
    assert answer.confidence < 0.4


@pytest.mark.parametrize("question", ["When did I see a giraffe?", "Did I see a giraffe?", "Have I seen a plumber?", "Show me the giraffe"])
def test_talk_about_a_thing_is_no_sight_of_it(view: View, kit: AnswerKit, question: str) -> None:
    assert put(view, kit, question).status == "abstained"


def test_the_option_that_was_said_is_chosen(view: View, guessing: AnswerKit) -> None:
    assert put(view, guessing, "When does the plumber come?", "on Monday", "on Tuesday", "on Friday").option == 1


def test_nothing_that_was_said_later_is_told(memory: Path, guessing: AnswerKit) -> None:
    with View.open(memory, START_US + TALK_S * US) as before:
        assert put(before, guessing, "When does the plumber come?", now_us=START_US + TALK_S * US).status == "abstained"


@pytest.mark.parametrize(
    ("question", "words", "tells"),
    [
        ("What colour is the car?", "The car is next to the green pillar.", False),
        ("What colour is the pillar?", "The car is next to the green pillar.", True),
        ("What colour is the car?", "She has a green car.", True),
        ("What colour is the car?", "The car is green, by the red door.", True),
        ("What colour is the car?", "I like it in green.", True),
        ("What colour is the post by the car?", "The car is next to the green pillar.", True),
        ("What colour is the pillar that the car is by?", "The car is next to the green pillar.", True),
    ],
)
def test_a_colour_of_another_thing_is_none_of_it(question: str, words: str, tells: bool) -> None:
    assert may_tell(understand(question), heard(words)) is tells
