"""What a language model may do for the local planner: read a question, and word its answer; everything that it gives is checked."""

from typing import Any, Literal

import msgspec
import pytest

from edgemem.answer import reader
from edgemem.answer.planner import AnswerKit, ask
from edgemem.answer.session import Session, Step, Turn
from edgemem.answer.tool_base import BasePlanner
from edgemem.answer.tools import Action, Found, Reply, Search
from edgemem.answer.understand import Parsed, understand
from edgemem.config import ModelSettings
from edgemem.errors import ChatError
from edgemem.extend.scripted import ScriptedChat
from edgemem.llm.models import Models
from edgemem.records import Answer, Question
from edgemem.remember.view import View
from tests.answer.test_ask import NOW_US
from tests.answer.test_limits import evidence

GERMAN = "Wo habe ich die rote Tasse gelassen?"


def models(
    script: Any, reads: Literal["never", "other_languages", "always"] = "always", *, words: bool = False
) -> tuple[Models, ScriptedChat]:
    chat = ScriptedChat(script)
    return Models(chat, ModelSettings(read_questions=reads, word_answers=words)), chat


def filled(question: str, **values: Any) -> Parsed:
    return reader.read(question, (), models([{"kind": "where", **values}])[0])


@pytest.mark.parametrize(
    ("reads", "question", "task"),
    [
        ("never", GERMAN, ""),
        ("other_languages", GERMAN, "translate_question"),
        ("other_languages", "Where is my red mug?", ""),
        ("always", "Where is my red mug?", "read_question"),
        ("always", GERMAN, "translate_question"),
        ("always", "Good morning!", ""),
    ],
)
def test_which_questions_the_model_reads(reads: Any, question: str, task: str) -> None:
    some, chat = models(
        {"translate_question": [{"english": "Where did I leave the red mug?"}], "read_question": [{"kind": "where"}]}, reads
    )
    reader.read(question, (), some)
    assert [(prompt.task, prompt.max_tokens) for prompt in chat.asked] == [(task, 200)] * bool(task)
    assert task in ("", *reader.TASKS)


def test_without_a_model_rules_read_the_question() -> None:
    assert reader.read("where is my mug", (), Models(None, ModelSettings(read_questions="always"))) == understand("where is my mug")
    assert reader.read("and before that?", [Turn(question="where is my mug")], Models()).things == ("mug",)


def test_another_language_is_put_into_english_and_that_is_said() -> None:
    parsed = reader.read(GERMAN, (), models([{"english": "Where did I  leave the red mug?"}])[0])
    assert (parsed.language, parsed.kind, parsed.things) == ("en", "where", ("red mug",))
    assert parsed.notes == (f'read "{GERMAN}" as "Where did I leave the red mug?"',)


@pytest.mark.parametrize(
    ("question", "english"),
    [
        (GERMAN, ""),
        (GERMAN, "!?"),
        (GERMAN, "English"),
        (GERMAN, "Wo ist die rote Tasse und wo ist der Teller?"),
        (GERMAN, "the red mug " * 20),
        (GERMAN, "Where is it?"),
        (GERMAN, "where " * 43),
        ("Wer ist der Mann in dem Zimmer 214?", "Who is the man in the room 241?"),
    ],
)
def test_a_translation_that_is_none_is_left_out(question: str, english: str) -> None:
    parsed = reader.read(question, (), models([{"english": english}])[0])
    assert parsed.language == "de"
    assert parsed.notes == ("the question was read by rules alone: the model's translation is no English question with the same figures",)


def test_a_translation_may_be_longer_and_shorter_within_bounds() -> None:
    long = "Where did I leave the red mug that I like so much and that I had with me on the day when I was in the office with my friends?"
    assert 40 + 2 * len(GERMAN) < len(long) < 40 + 4 * len(GERMAN)
    for english in (long, "Where is it now?"):
        assert reader.read(GERMAN, (), models([{"english": english}])[0]).language == "en"
    for letters, language in ((40 + 4 * len(GERMAN), "en"), (41 + 4 * len(GERMAN), "de")):
        padded = f"{long} in the office".ljust(letters - 1, "s") + "?"
        assert (len(padded), reader.read(GERMAN, (), models([{"english": padded}])[0]).language) == (letters, language)
    eight = GERMAN.replace("Tasse", "Tasse heute")
    assert reader.read(eight, (), models([{"english": "Where is it now?"}])[0]).language == "en", "half as many words"


def test_chinese_has_few_spaces() -> None:
    for question, english in (
        ("我的红色杯子在哪里？我昨天放的", "Where is my red cup that I put down yesterday?"),
        ("我的杯子在哪里？", "Where did I put the cup of mine that I like so very much?"),
    ):
        assert reader.read(question, (), models([{"english": english}])[0]).language == "en"


@pytest.mark.parametrize("reply", [ChatError("the server is away"), "not JSON", {"kind": "nonsense"}])
def test_where_the_model_fails_the_rules_stand(reply: Any) -> None:
    parsed, plain = reader.read("where is my mug", (), models([reply])[0]), understand("where is my mug")
    assert msgspec.structs.replace(parsed, notes=()) == plain
    assert parsed.notes[0].startswith("the question was read by rules alone: ")


def test_only_words_of_the_question_are_taken() -> None:
    question = "could the big bag of the plumber be in the shed"
    own = filled(question, things=["the big bag", "Ladder"], place="in the shed", person="plumber", predicate="be")
    assert (own.kind, own.things, own.place, own.person, own.predicate) == ("where", ("big bag",), "in the shed", "plumber", "be")
    plain = understand("where is the red mug in the kitchen")
    other = filled("where is the red mug in the kitchen", things=["blue mug"], place="in the garden", person="Anna", predicate="stolen")
    assert (other.things, other.place, other.person, other.predicate) == (plain.things, plain.place, plain.person, plain.predicate)
    assert filled("where is the red mug in the kitchen", things=["red mug"]).place == "", "what is empty is not said"
    assert filled("where is the mugshot", things=["mug"]).things == ("mugshot",), "whole words"


def test_what_follows_from_the_kind_follows_from_the_models() -> None:
    count = reader.read("my mug all day, the number", "", models([{"kind": "how_many", "things": ["mug"], "hint": "seen"}])[0])
    assert (count.kind, count.counts, count.form, count.hint, count.asked) == ("how_many", "times", "", "seen", None)
    at_once = "how many mugs were there at once"
    assert reader.read(at_once, "", models([{"kind": "how_many"}])[0]).counts == understand(at_once).counts == "at_once"
    same = understand("who did I talk to")
    assert reader.read("who did I talk to", (), models([{"kind": "who"}])[0]).asked == same.asked is not None
    assert reader.read("my parcel arrived, the day", "", models([{"kind": "when"}])[0]).form == "date"
    assert reader.read("delete the last hour", (), models([{"kind": "command"}])[0]).command == "delete"
    assert reader.read("delete the last hour", (), models([{"kind": "what"}])[0]).command == ""


@pytest.mark.parametrize(
    ("said", "same"),
    [
        ("The mug was on the table at 10:02.", True),
        ("Your mug: on a table.", True),
        ("The mug was on the shelf at 10:02.", False),
        ("The mug was on the table at 10:20.", False),
        ("The mug was not on the table.", False),
        ("No, the mug was on the table.", False),
        ("", False),
        ("?!", False),
    ],
)
def test_a_wording_says_nothing_else(said: str, same: bool) -> None:
    assert reader.says_the_same(said, "I last saw the mug at 10:02, on the table.", ["where is my mug"]) is same
    assert reader.says_the_same("You have never seen it.", "No, you never saw it, I have not seen it.", [])


def put(view: View, kit: AnswerKit, text: str, some: Models) -> Answer:
    own = AnswerKit(planner=kit.planner, retrievers=kit.retrievers, engines=kit.engines, models=some)
    return ask(view, Question(text=text, asked_us=NOW_US, as_of_us=NOW_US), own)[0]


def test_a_question_in_german_is_answered_where_a_model_puts_it_into_english(view: View, kit: AnswerKit) -> None:
    some, _ = models({"translate_question": [{"english": "Where did I leave the mug?"}]}, "other_languages")
    answer, plain = put(view, kit, "Wo habe ich die Tasse gelassen?", some), put(view, kit, "Where did I leave the mug?", Models())
    assert (answer.status, answer.answer, answer.evidence) == ("answered", plain.answer, plain.evidence)
    assert 'read "Wo habe ich die Tasse gelassen?" as "Where did I leave the mug?"' in answer.notes
    assert (answer.usage.tokens_in, answer.usage.tokens_out) == (100, 20)
    refused = put(view, kit, "Wo habe ich die Tasse gelassen?", Models())
    assert (refused.status, "German" in refused.answer) == ("abstained", True)
    assert any("models.read_questions" in note for note in refused.notes)


def test_an_answer_is_worded_in_its_own_words(view: View, kit: AnswerKit) -> None:
    plain = put(view, kit, "What was the room number?", Models())
    some, chat = models({"word_answer": [{"sentence": "The room number was 214."}]}, "never", words=True)
    answer = put(view, kit, "What was the room number?", some)
    assert (answer.answer, answer.evidence, answer.confidence) == ("The room number was 214.", plain.evidence, plain.confidence)
    [prompt] = chat.asked
    assert "214" in prompt.messages[-1].text
    assert "214" not in prompt.messages[0].text, "what was read is data"


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ({"sentence": "The room number was 215."}, "the model's wording says more than the answer and is left out"),
        (ChatError("away"), "the answer is not worded by the model: away"),
        ("not JSON", "the answer is not worded by the model: "),
    ],
)
def test_a_wording_that_is_none_is_left_out(view: View, kit: AnswerKit, line: Any, note: str) -> None:
    plain = put(view, kit, "What was the room number?", Models())
    answer = put(view, kit, "What was the room number?", models({"word_answer": [line]}, "never", words=True)[0])
    assert (answer.answer, answer.evidence) == (plain.answer, plain.evidence)
    assert any(one.startswith(note) for one in answer.notes)


def test_other_planners_ask_the_model_themselves(view: View, kit: AnswerKit) -> None:
    class Own(BasePlanner):
        name = "own"

        def next(self, session: Session) -> Action:
            return Reply(text=session.parsed.language, status="abstained", confidence=0.0)

    some, chat = models({}, "always", words=True)
    own = AnswerKit(planner=Own(), retrievers=kit.retrievers, models=some)
    assert ask(view, Question(text=GERMAN, asked_us=NOW_US, as_of_us=NOW_US), own)[0].answer == "de"
    assert not chat.asked


def test_what_was_not_answered_is_not_worded(view: View, kit: AnswerKit) -> None:
    for text, words in (("Where is the trombone?", True), ("What was the room number?", False)):
        some, chat = models({"word_answer": []}, "never", words=words)
        put(view, kit, text, some)
        assert not chat.asked


def test_the_words_beside_the_answer_are_those_of_its_evidence(view: View, kit: AnswerKit) -> None:
    some, _ = models([{"sentence": "Bakery"}], words=True)
    session = ask(view, Question(text="What was the room number?", asked_us=NOW_US, as_of_us=NOW_US), kit)[1]
    with some.answering(session):
        assert reader.worded(Reply(text="214", evidence=("m0",)), session, some).text == "214"


def test_a_wording_may_use_words_of_the_first_three_pieces_of_evidence(view: View, kit: AnswerKit) -> None:
    session = ask(view, Question(text="What was the room number?", asked_us=NOW_US, as_of_us=NOW_US), kit)[1]
    read = tuple(evidence(n, text=word) for n, word in enumerate(("Lobby", "Stairs", "Bakery", "Garage")))
    session.steps.append(Step(action=Search(query="x"), result=Found(evidence=read), ms=1.0))
    for sentence, taken in (("Bakery 214", True), ("Garage 214", False)):
        some, _ = models([{"sentence": sentence}], words=True)
        with some.answering(session):
            said = reader.worded(Reply(text="214", evidence=tuple(one.id for one in read)), session, some)
        assert (said.text == sentence) is taken, sentence
