"""What is said to edgemem itself, and asked of the recording as a whole."""

from pathlib import Path

import msgspec
import pytest

from edgemem.answer.planner import AnswerKit, ask
from edgemem.answer.say import itself
from edgemem.answer.session import Turn, turns_before
from edgemem.answer.tools import Reply, Scene
from edgemem.answer.understand import understand
from edgemem.clock import from_iso
from edgemem.records import US, Answer, Question
from edgemem.remember.entries import NewDocument, NewEntity, NewSession
from edgemem.remember.store import Store
from edgemem.remember.view import View
from tests.answer.conftest import START_US, label, remember, text
from tests.answer.test_limits import evidence, run, session

ABOUT = {
    "nothing": (
        "good morning", "Morning!", "Hi there", "hey, you there?", "Thanks, that's great.", "ok", "never mind",
        "Oh wait, no, scratch that.",
        "How are you?", "can you hear me", "you are very clever for a pair of glasses" , "Um, so the, wait...", "Ha, you're good at this",
        "Okay, that's it, bye", "well done", "no thank you that will do for the moment",
        "that will be all for now goodbye and thank you", "right you are", "no no i did not ask you that",
        "good morning edgemem i hope you slept well",
    ),
    "told": (
        "Really?", "are you sure about that", "say that again", "show me", "Pardon?", "How sure are you?", "may i see it",
        "what makes you think so", "That's wrong.", "are you really sure", "are you quite sure it was as many as that",
    ),
    "clock": ("What time is it?", "what day is it today", "what's the date", "and what time do you make it", "is it still morning"),
    "recording": (
        "When did you start recording?", "how long have you been on", "How much have you got so far?", "is it recording this very minute",
        "are you on right now?", "How long is the recording?", "when did you begin watching today i forgot to look",
    ),
    "itself": (
        "What are you?", "what can you do", "how does this work", "Help!", "do you ever get things wrong", "what is your name",
        "What can you actually do for me?", "do you like me?", "which do you find prettier the rose or the butterfly",
        "could you tell me what sort of things i may ask you i am new to all this",
    ),
    "device": ("how is the battery", "How much memory is left?", "is the memory full", "how long will the battery last?"),
    "here": ("Where am I?", "where are we just now i think we are lost"),
    "": (
        "What time is it when the bus leaves?", "what day is it i meet david", "What day is the meeting?",
        "What time did I see the owl?", "How long was it on the table?",
        "How long was it?", "When did the film start?", "Where am I in the picture?", "What was that I heard?",
        "Is it Monday that we meet Anna?",
        "first thing I saw?", "do you like to know where the mug is?", "how much is left of the cake",
        "ok, where is the mug", "good, and the flight number?", "thanks to whom did I get the mug?",
        "morning coffee",
        "what can you tell me about the dog", "are you sure that I saw the mug?", "today?", "here?", "where?", "test tube",
        "what do you think I saw first", "do you know the people i saw", "what kind of things can i eat", "what is this i saw at 8:05",
        "you are good at finding things where was the ferret", "how much juice is there in the pitcher", "is the card empty",
        "what can you see",
        "did anyone mention the morning", "how many memory cards are there", "do you mind telling me which gate I need",
        "my name?", "when did you see the camera", "show me the mug",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("about", "asked"), [(about, asked) for about, wordings in ABOUT.items() for asked in wordings])
def test_what_is_said_to_edgemem_itself(about: str, asked: str) -> None:
    assert understand(asked).about == about


def test_long_courtesy_is_read_in_linear_time() -> None:
    for one in ("all right ", "well and ", "no thank you ", "it is kind of you ", "wait a minute "):
        assert understand(one * 30).about == "nothing"
        assert understand(one * 30 + "where is the owl").about == ""


def test_of_the_question_before_it_is_no_clock_and_no_recording() -> None:
    film = understand("When is the meeting with Anna?")
    for asked in ("what time is it?", "is it on?", "when did it start?", "what date"):
        assert understand(asked, film).about == "", asked
    assert understand("what time is it", understand("good morning")).about == "clock"
    assert understand("How long have you been on?", film).about == "recording"


def test_what_is_in_view_now_is_asked_of_the_newest_half_minute() -> None:
    for asked in (
        "What am I looking at?",
        "what is standing right in front of me this second",
        "what do you see now",
        "What was I looking at just now?",
    ):
        read = understand(asked)
        assert read.time is not None, asked
        assert (read.kind, read.time.last_s, read.about) == ("what", 30.0, ""), asked
    for other in ("What was I looking at?", "what is in front of the shop", "What did I see just now?"):
        assert understand(other).time is None, other


def put(view: View, kit: AnswerKit, asked: str, before: str = "", now_us: int = START_US + 20 * 60 * US) -> Answer:
    return ask(view, Question(text=asked, asked_us=now_us, as_of_us=now_us, tz="UTC"), kit, [Turn(question=before)] if before else ())[0]


def test_greetings_and_what_it_is_need_no_memory(tmp_path: Path, kit: AnswerKit) -> None:
    Store.open(tmp_path / "memory").close()
    with View.open(tmp_path / "memory") as empty:
        for said, back in (
            ("Good morning!", "Hello. Ask me what was seen, read or said, such as: where did I leave the mug?"),
            ("Are you there?", "I am here. Ask me what was seen, read or said, such as: where did I leave the mug?"),
            ("Thank you very much", "You are welcome."), ("you are clever", "You are welcome."), ("Good night", "Goodbye."),
            ("Okay", "All right."), ("never mind", "All right."), ("right you are", "All right."),
        ):  # fmt: skip
            assert put(empty, kit, said).answer == back
        assert put(empty, kit, "What are you?").answer.startswith("I am edgemem")
        assert "edgemem doctor" in put(empty, kit, "How is the battery?").answer
        clock = put(empty, kit, "What day is it today?", now_us=from_iso("2026-05-04T10:20:31Z"))
        assert (clock.status, clock.answer) == ("abstained", "It is 10:20 on Monday, 2026-05-04.")
        assert put(empty, kit, "When did you start recording?").answer == "This memory is empty."


def test_with_a_second_question_the_greeting_is_not_all(view: View, kit: AnswerKit) -> None:
    told = put(view, kit, "How are you? Where is the cat?")
    assert (told.status, told.evidence) == ("answered", put(view, kit, "Where is the cat?").evidence)
    clock = put(view, kit, "What time is it? Where is the cat?")
    assert (clock.answer[:6], "cat" in clock.answer) == ("It is ", True)


def test_with_options_one_of_them_is_chosen(view: View, kit: AnswerKit) -> None:
    question = Question(
        text="What is this?", options=("a cat", "a helicopter"), asked_us=START_US + 600 * US, as_of_us=START_US + 600 * US, tz="UTC"
    )
    assert ask(view, question, kit)[0].option == 0


def test_from_when_to_when_the_memory_reaches(view: View, kit: AnswerKit) -> None:
    bounds = view.bounds()
    assert bounds is not None
    told = put(view, kit, "How long have you been recording?")
    length_s = (bounds[1] - bounds[0]) // US
    assert f"{length_s // 60} min {length_s % 60} s" in told.answer
    assert [one.t0_us for one in told.evidence] == list(bounds)


def test_recordings_are_told_one_by_one_up_to_four() -> None:
    def told(*starts_s: int) -> Reply:
        scene = Scene(
            evidence=(evidence(starts_s[0]), evidence(starts_s[-1])), recorded=tuple((at_s * US, (at_s + 60) * US) for at_s in starts_s)
        )
        made: Reply = run(itself.of_recording(session(kind="other", about="recording")), lambda _: scene)[0]
        return made

    day = "on Thursday 1970-01-01"
    four, five = told(0, 100, 200, 300), told(0, 100, 200, 300, 400)
    each = "; ".join(f"from 00:0{begin} {day} to 00:0{end} {day}" for begin, end in (("0:00", "1:00"), ("1:40", "2:40")))
    assert four.text.startswith(f"I recorded 4 times on one day, {each}; from 00:03:20")
    assert five.text == f"I recorded 5 times on one day, from 00:00:00 {day} to 00:07:40 {day}, 5 min 0 s in all."
    assert (five.confidence, five.evidence) == (0.9, ("m0", "m400000000"))


def test_where_one_is_and_what_is_in_view_are_told_of_the_newest_pictures(tmp_path: Path, kit: AnswerKit) -> None:
    with Store.open(tmp_path / "memory") as store:
        remember(store, "walk", START_US, {0: (label("cat"),), 300: (label("rocket"),), 305: (label("rocket"),)})
    with View.open(tmp_path / "memory") as view:
        here, now = (put(view, kit, asked, now_us=START_US + 310 * US) for asked in ("Where am I?", "What am I looking at?"))
        assert here.answer.startswith("I do not know places by name. The newest pictures: Rocket")
        assert (here.unverified, "cat" in now.answer.lower(), "rocket" in now.answer.lower()) == (("where",), False, True)


def test_are_you_sure_of_nothing(view: View, kit: AnswerKit) -> None:
    assert put(view, kit, "Are you sure?").answer.startswith("I do not know what this goes on about")


def test_are_you_sure_asks_once_more(view: View, kit: AnswerKit) -> None:
    first, again = put(view, kit, "Where is the cat?"), put(view, kit, "Are you sure?", "Where is the cat?")
    assert first.status == "answered"
    assert (again.answer, again.evidence) == (first.answer, first.evidence)


def test_when_that_was_and_who_said_it_is_told_by_the_words_that_answered(tmp_path: Path, kit: AnswerKit) -> None:
    with Store.open(tmp_path / "memory") as store:
        remember(store, "walk", START_US, {0: (label("cat"),), 300: (label("car"),), 301: (label("car"),)})
        with store.transaction() as tx:
            ben = tx.add_entity(NewEntity(kind="person", name="Ben", known_us=START_US))
            tx.add_document(
                NewDocument(
                    kind="utterance", text="The car is parked on level four.", stream="walk", t0_us=START_US + 60 * US,
                    t1_us=START_US + 63 * US, offset_us=60 * US, known_us=START_US + 63 * US, origin="asr", speaker_id=ben, confidence=0.95,
                )
            )  # fmt: skip
    with View.open(tmp_path / "memory") as view:
        for asked in ("When was that?", "Who said that?", "and who was it that said so?"):
            told = put(view, kit, asked, "On which level is the car parked?")
            assert "Ben said" in told.answer, asked
            assert [one.channel for one in told.evidence] == ["speech"], asked
        seen = put(view, kit, "When was that?", "Did I see the cat?")
        assert (seen.status, seen.evidence[0].t0_us) == ("answered", START_US), "a picture answers when"


def test_and_then_asks_what_came_next(tmp_path: Path, kit: AnswerKit) -> None:
    with Store.open(tmp_path / "memory") as store:
        remember(store, "walk", START_US, {0: (label("cat"),), 2: (label("cat"),), 30: (label("rocket"),), 32: (label("rocket"),)})
    with View.open(tmp_path / "memory") as view:
        for asked in ("And then?", "then what?", "what next"):
            assert put(view, kit, asked, "When did I see the cat?", START_US + 60 * US).answer.startswith("Rocket"), asked


def test_the_last_question_that_can_be_gone_on_about_is_no_greeting(tmp_path: Path) -> None:
    with Store.open(tmp_path / "memory") as store:
        remember(store, "walk", START_US, {0: (label("cat"),)})
        with store.transaction() as tx:
            for i, asked in enumerate(("Where is the cat?", "and the dog?", "thanks", "really?")):
                tx.add_session(
                    NewSession(
                        question=asked, recipe="default", planner="local", asked_us=START_US + i * US, as_of_us=START_US,
                        status="abstained", answer="", confidence=0.0,
                    )
                )  # fmt: skip
    with View.open(tmp_path / "memory") as view:
        assert [turn.question for turn in turns_before(view, "last")] == ["Where is the cat?", "and the dog?", "really?"]


def test_letters_that_are_hardly_legible_are_neither_told_nor_an_answer(tmp_path: Path, kit: AnswerKit) -> None:
    with Store.open(tmp_path / "memory") as store:
        far = msgspec.structs.replace(text("HYALT"), score=0.89)
        near = msgspec.structs.replace(text("ROOM 214"), score=0.9)
        remember(store, "walk", START_US, {0: (label("cat"), far), 60: (label("cat"), far, near), 120: (label("cat"), far)})
    with View.open(tmp_path / "memory") as view:
        assert [one.t0_us for one in put(view, kit, "What was written anywhere?").evidence] == [START_US + 60 * US]
        assert put(view, kit, "What was written anywhere?").answer.startswith('"ROOM 214"')
        assert '"ROOM 214"' in put(view, kit, "What was there?").answer
        assert "HYALT" not in put(view, kit, "What was there?").answer
        assert put(view, kit, 'When did I see the word "HYALT"?').status == "answered", "who names it finds it"
