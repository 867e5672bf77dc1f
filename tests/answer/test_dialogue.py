"""Conversations: each question is stored with its answer, and the next one goes on about it."""

from pathlib import Path

import msgspec
import pytest

from edgemem.answer.planner import AnswerKit, ask
from edgemem.answer.session import Turn, turns_before
from edgemem.answer.understand import Parsed, understand
from edgemem.answer.understand.followup import now_about
from edgemem.answer.understand.record import Answered
from edgemem.records import US, Answer, Evidence, Question
from edgemem.remember.entries import NewDocument, NewSession, NewStep
from edgemem.remember.store import Store
from edgemem.remember.view import View
from edgemem.serve.trace import log_of
from tests.answer.conftest import START_US, label, remember, text

SEEN = {
    10: (label("cat"),), 15: (label("cat"),), 40: (label("rocket"),), 44: (label("rocket"),), 70: (text("GATE 18"), label("corridor")),
    100: (label("cat"),), 130: (label("mug", colour="red"),), 160: (label("cat"),), 164: (label("cat"),), 168: (label("cat"),),
    200: (label("drum"),),
}  # fmt: skip
SAID = {12: "That was really funny.", 42: "I left the spare keys under the flower pot.", 102: "Let us turn left here."}


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "memory") as store:
        remember(store, "walk", START_US, SEEN)
        for second, words in SAID.items():
            t_us = START_US + second * US
            with store.transaction() as tx:
                tx.add_document(
                    NewDocument(
                        kind="utterance", text=words, stream="walk", t0_us=t_us, t1_us=t_us + 3 * US, offset_us=second * US, known_us=t_us,
                        origin="speech",
                    )
                )  # fmt: skip
    return tmp_path / "memory"


def talk(memory: Path, kit: AnswerKit, *said: str, pause_s: float = 20) -> list[Answer]:
    """The answers of a conversation, each question but the first asked with `--session last`."""
    answers = []
    for i, asked in enumerate(said):
        now_us = START_US + 600 * US + round(i * pause_s * US)
        with View.open(memory) as view:
            answer, session = ask(
                view, Question(text=asked, asked_us=now_us, as_of_us=now_us), kit, turns_before(view, "last" if i else "")
            )
        with Store.open(memory) as store, store.transaction() as tx:
            tx.add_session(log_of(session, answer, "default", "local"))
        answers.append(answer)
    return answers


def seconds(answer: Answer) -> float:
    return (answer.evidence[0].t0_us - START_US) / US


@pytest.mark.parametrize(
    ("said", "at_s"),
    [
        (("When did I last see the cat?", "And the one before that?", "and the one before that?"), 15),
        (("When did I first see the cat?", "Ah, lovely! And the one after that?", "and the one after that?"), 168),
        (("Did I see a cat?", "Three times, good grief! When was the first one?", "And what came straight after the last one?"), 200),
        (("When did I see the mug?", "what did I see right after?"), 160),
        (("When did I see the mug?", "Was there a cat after that?"), 160),
        (("When did I first see the cat?", "What did I see next?", "and after that?"), 70),
        (("When did I see the rocket?", "What was said then?"), 42),
        (("How many cats did I see?", "When was the second one?", "was anybody talking while I was looking at it?"), 102),
        (("Where are the spare keys?", "What was I looking at when that was said?"), 44),
        (("Where are the spare keys?", "What sign did I read after that?"), 70),
        (("How often did I see the cat?", "Which of them was the longest?"), 160),
        (("When did I see the drum?", "No, I mean the mug."), 130),
        (("How often did I see the cat?", "What did I see between them?"), 40),
        (("When did I see the rocket?", "No hippo?", "What was said then?"), 42),
        (("When did I first see the cat?", "Was that before the mug?"), 10),
        (("Where are the spare keys?", "Was that before the mug?"), 42),
    ],
)  # fmt: skip
def test_a_question_goes_on_about_what_was_answered(walk: Path, kit: AnswerKit, said: tuple[str, ...], at_s: float) -> None:
    answer = talk(walk, kit, *said)[-1]
    assert answer.status == "answered", answer.answer
    assert abs(seconds(answer) - at_s) <= 8, answer.answer


def test_no_appearance_lies_behind_the_last_one(walk: Path, kit: AnswerKit) -> None:
    answer = talk(walk, kit, "When did I last see the cat?", "and the one after that?")[-1]
    assert (answer.status, answer.answer) == ("abstained", "I saw the cat only 3 times.")


def test_whether_that_was_the_first_time(walk: Path, kit: AnswerKit) -> None:
    first, last = (
        talk(walk, kit, f"When did I {which} see the cat?", "Was that the first time?")[-1].answer for which in ("first", "last")
    )
    assert first.startswith("Yes: I saw the cat at 10:00:10")
    assert last.startswith("No: I saw the cat at 10:00:10")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("how long?", "At least 8 s: a cat at 10:02:40"),
        ("and how often?", "3 times: I saw the cat"),
        ("how long does it take?", "I have heard"),
    ],
)
def test_how_long_and_how_often_is_asked_of_the_appearance_that_was_told(walk: Path, kit: AnswerKit, asked: str, told: str) -> None:
    assert talk(walk, kit, "When did I last see the cat?", asked)[-1].answer.startswith(told)


def test_nothing_was_said_then(walk: Path, kit: AnswerKit) -> None:
    assert talk(walk, kit, "When did I see the mug?", "Did anyone say anything then?")[-1].answer == "No, I heard nothing being said then."


def test_after_a_pause_only_the_last_question_is_gone_on_about(walk: Path, kit: AnswerKit) -> None:
    said = ("When did I see the drum?", "And the cat?", "and the first one?")
    assert "10:00:1" in talk(walk, kit, *said, pause_s=600)[-1].answer
    with View.open(walk) as view:
        assert len(turns_before(view, "last")) == 3
    talk(walk, kit, *said[:2], pause_s=601)
    with View.open(walk) as view:
        assert [turn.question for turn in turns_before(view, "last")] == ["And the cat?"]


def test_a_question_that_goes_on_about_none_begins_a_conversation(walk: Path, kit: AnswerKit) -> None:
    talk(walk, kit, "When did I see the drum?", "and the cat?")
    talk(walk, kit, "When did I see the mug?", "and the rocket?", pause_s=1)
    with View.open(walk) as view:
        assert [turn.question for turn in turns_before(view, "last")] == ["When did I see the mug?", "and the rocket?"]
        assert [turn.question for turn in turns_before(view, "2")] == ["When did I see the drum?", "and the cat?"]


@pytest.mark.parametrize(("action", "result"), [("no JSON", "{}"), ('{"action":"answer","text":"x"}', '{"evidence":[{"id":1}]}')])
def test_a_step_that_cannot_be_read_leaves_the_words(walk: Path, kit: AnswerKit, action: str, result: str) -> None:
    talk(walk, kit, "When did I see the rocket?")
    with Store.open(walk) as store, store.transaction() as tx:
        step = NewStep(actor="local", action_json=action, result_json=result, ms=0.0)
        tx.add_session(
            NewSession(
                question="When did I see the drum?", recipe="default", planner="local", asked_us=START_US + 610 * US, as_of_us=START_US,
                status="answered", answer="At noon.", confidence=0.9, steps=(step,),
            )
        )  # fmt: skip
    with View.open(walk) as view:
        turns = turns_before(view, "last")
        assert turns[-1] == Turn(question="When did I see the drum?", answered=Answered(text="At noon."))
        assert [turn.question for turn in turns] == ["When did I see the rocket?", "When did I see the drum?"], "nor does it begin one"


def test_what_was_told_earlier_is_not_it(walk: Path, kit: AnswerKit) -> None:
    """A hippo was not seen: what was beside it is not what is beside the rocket that was told of before."""
    said = ("When did I see the rocket?", "Did I see a hippo?")
    assert "hippo" in talk(walk, kit, *said, "what was beside it?")[-1].answer
    assert "spare keys" in talk(walk, kit, *said, "what was said then?")[-1].answer


def test_another_thing_in_the_same_relation(walk: Path, kit: AnswerKit) -> None:
    assert "Drum" in talk(walk, kit, "What came right after the mug?", "And after the last cat?")[-1].answer


def test_what_an_abstention_shows_was_not_told(walk: Path, kit: AnswerKit) -> None:
    talk(walk, kit, "Did I see a hippo?")
    with View.open(walk) as view:
        assert turns_before(view, "last")[0].answered.evidence == ()
    talk(walk, kit, "When did I see the drum?")
    with View.open(walk) as view:
        answered = turns_before(view, "last")[-1].answered
    assert [one.t0_us for one in answered.evidence] == [START_US + 200 * US]
    assert answered.evidence[0].score == pytest.approx(0.8), "that of the answer"
    said = talk(walk, kit, "Where did I leave the spare keys?")[0]
    with View.open(walk) as view:
        words = turns_before(view, "last")[-1].answered.evidence[0]
    assert (words.channel, words.score) == ("speech", max(0.8, said.confidence)), "words that were told are sure, however weak the answer"


def behind(asked: str, *names: str, text: str = "") -> Parsed:
    """A question as one goes on about it: answered with these names."""
    proof = Evidence(id="m1", channel="frame", stream="walk", t0_us=US, t1_us=US, offset_us=US, score=0.5, text="")
    return msgspec.structs.replace(understand(asked), answered=Answered(text=text, names=names, evidence=(proof,)))


@pytest.mark.parametrize(
    ("asked", "before", "read"),
    [
        ("Right. Four times, good grief! When was the first one, love?", behind("did I see a cat?"), "when was the first cat?"),
        ("Green pillar, tidy. What about the mug?", behind("Where is the car?", text="next to the green pillar"), "what about the mug?"),
        ("There was a hippo. What about the mug?", behind("did I see a cat?"), "what about the mug?"),
        ("There was a hippo. Was it grey?", behind("did I see a cat?"), "there was a hippo. was it grey?"),
        ("A hippo in town, tidy. Was it grey?", behind("did I see a cat?"), "was it grey?"),
        ("Really? And the mug?", behind("did I see a cat?"), "and the mug?"),
        ("And what was in between them?", behind("which birds did I see?", "hen", "owl", "gull"), "what was between the hen and the owl?"),
        ("what was between the two?", behind("was the hen before the owl?"), "what was between the hen and the owl?"),
        ("which of them was first?", behind("which birds did I see?", "hen", "owl"), "which bird was first?"),
        ("which of the three was first?", behind("when did I see a hen?"), "which time was first?"),
        ("No, I mean the small one.", behind("when did I see the box?"), "what about the small box?"),
        ("and the garlic, was that before the last one?", behind("how many eggs?"), "the garlic, was that before the last egg?"),
        ("What was inside it?", behind("when did I see the box?"), "what was inside the box?"),
        ("Longer than the drum then?", behind("how long was the trumpet there?"), "was the trumpet longer than the drum then?"),
        ("how many of them were there?", behind("where was the hen?"), "how many hens were there?"),
        ("and the last of them?", behind("where was the hen?"), "and the last hen?"),
        ("How far apart were they?", behind("was the hen before the owl?"), "how long was it between the hen and the owl?"),
        ("and between the first two?", behind("where was the hen?"), "and between the first hen and the second hen?"),
        ("between its second and its third time?", behind("how often was the hen there?"), "between the second hen and the third hen?"),
        ("when was the last one?", behind("Our lad likes it: when did I see the hen?", text="I saw the hen."), "when was the last hen?"),
        ("Of those, which did I see first?", behind("which birds did I see?", "hen", "owl"), "which bird did i see first?"),
        ("what date is that then?", behind("when is the party?"), "what date is that then?"),
        ("is that the pink one?", behind("where is the red car?"), "is that the pink car?"),
        ("when was the last one?", behind("where is the red car?"), "when was the last red car?"),
        ("was it there after the second time?", behind("how often was the hen there?"), "was it there after the second hen?"),
        ("Did I pass it before the bus or afterwards?", behind("where was the hen?"), "did i pass it before the bus or afterwards?"),
        ("was it just before it or just after?", behind("where was the hen?"), "was it just before it or just after?"),
        ("There was a notice. What was on that one?", behind("where was the car?"), "there was a notice. what was on that one?"),
        ("No, I meant the hen. Was it late?", behind("where was the car?"), "what about the hen. was it late?"),
        ("and the evening one?", behind("which bus was there on Monday morning?"), "and the evening one?"),
        ("what was it on Sunday then?", behind("what is the price?"), "what was it on sunday then?"),
    ],
)  # fmt: skip
def test_a_question_is_read_with_what_it_leaves_out(asked: str, before: Parsed, read: str) -> None:
    assert understand(asked, before).text == read


@pytest.mark.parametrize(
    ("asked", "relation", "anchor"),
    [
        ("what was said then?", "while", "owl"), ("did anyone talk while I was watching it?", "while", "owl"),
        ("what came after that one?", "after", "owl"), ("and just before it?", "before", "owl"),
        ("what was there just before that?", "before", "owl"),
        ("what was next to it too?", "side", "owl"), ("what did I read before that was said?", "before", "owl"),
        ("with the parrot, was anybody chatting then?", "while", "parrot"),
        ("what did I see the day before that?", "", ""),
    ],
)  # fmt: skip
def test_what_lies_where_to_the_answer(asked: str, relation: str, anchor: str) -> None:
    parsed = understand(asked, behind("which bird did I see?", "owl"))
    assert (parsed.relation, parsed.anchors[:1]) == (relation, (anchor,) if anchor else ())
    assert (parsed.anchor is not None, parsed.follows) == (anchor == "owl", False)


@pytest.mark.parametrize(
    "said", [("When did I see the mug?", "Was that before the mug?"), ("Did that come before or after I saw the mug the second time?",)]
)
def test_what_is_compared_with_itself_or_with_nothing_is_not_answered(walk: Path, kit: AnswerKit, said: tuple[str, ...]) -> None:
    answer = talk(walk, kit, *said)[-1]
    assert (answer.status, answer.answer) == ("abstained", "I do not know which two this means.")


@pytest.mark.parametrize(
    ("asked", "read"),
    [
        ("What was I holding while that were being said?", "what was i holding while that was said?"),
        ("Weren't it red?", "wasn't it red?"), ("there were a mug, where were it?", "there was a mug, where was it?"),
        ("where was I when Ann and I were in York?", "where was i when ann and i were in york?"),
        ("if I were you", "if i were you"), ("there were two mugs", "there were two mugs"),
        ("what was going on about five past eight?", "what was going on about five past eight?"),
    ],
)  # fmt: skip
def test_were_for_was(asked: str, read: str) -> None:
    assert understand(asked).text.rstrip("?") == read.rstrip("?")


def test_what_brought_nothing_leaves_a_conversation_where_it_was() -> None:
    cat = behind("when did I see the cat?")
    assert cat.answered is not None
    for asked in ("how old is it?", "is he a tabby?", "what tune was it playing?"):
        assert now_about(understand(asked, cat), Answered(), cat) is cat, asked
    for asked in ("the plane, is it late?", "where is the mug?"):
        other = now_about(understand(asked, cat), Answered(), cat)
        assert other.answered is not None
        assert (other.things, other.answered.evidence, other.answered.earlier) == (understand(asked).things, cat.answered.evidence, True), (
            asked
        )
    assert now_about(understand("how old is it?", cat), cat.answered or Answered(), cat) is not cat
    for bare in ("with whom?", "where?", "and the?"):
        assert now_about(understand(bare, cat), Answered(), cat) is cat, "it names nothing itself"


def test_two_things_that_were_asked_about_one_behind_the_other() -> None:
    answered = behind("when did I see the cat?").answered
    assert answered is not None
    cat = now_about(understand("when did I see the cat?"), answered, None)
    assert cat.answered is not None
    assert cat.answered.beside == "", "nothing before"
    bus = now_about(understand("was there a bus?", cat), answered, cat)
    again = now_about(understand("when was it?", bus), answered, bus)
    assert [one.answered and one.answered.beside for one in (bus, again)] == ["cat", "cat"]
    for asked, row in (("which of the two was first?", 1), ("and which one of them came later?", -1), ("what of both appeared last", -1)):
        parsed = understand(asked, again)
        assert (parsed.kind, parsed.choices, parsed.ordinal) == ("order", ("cat", "bus"), row), asked
    assert understand("how long was it between them?", again).anchors == ("cat", "bus")
    assert understand("which of the two was first?", cat).kind == "when", "of one thing it asks which time"
    assert understand("which one did I see first?", again).kind != "order", "of the bus alone, which was told last"
    assert understand("which one did I see first?", bus).choices == ("cat", "bus")
    unseen = now_about(understand("and a hen?", bus), Answered(text="I have not seen a hen."), bus)
    assert unseen.answered is not None
    assert (unseen.answered.beside, unseen.answered.earlier) == ("bus", True)
    assert understand("how far apart?", bus).anchors == ("cat", "bus")
    pair = understand("did I see the owl or the hen?")
    assert understand("which of them was first?", pair).choices == ("owl", "hen")
