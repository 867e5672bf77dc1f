"""Only what was checked is said: claims, places, denials, commands, languages, follow-ups."""

from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import edgemem.answer
from edgemem.answer import weigh
from edgemem.answer.compose import a, the
from edgemem.answer.gather import Candidate, Lead
from edgemem.answer.planner import AnswerKit, ask
from edgemem.answer.retrieve import Episode
from edgemem.answer.say.base import pick, strong
from edgemem.answer.say.statements import tell
from edgemem.answer.session import Session, Turn, turns_before
from edgemem.answer.tool_base import BasePlanner
from edgemem.answer.tools import Action, Reply
from edgemem.answer.understand import Parsed, understand
from edgemem.answer.understand.forms import fits, form_of, names, short_answer
from edgemem.errors import UsageError
from edgemem.records import US, Answer, Evidence, Question, Record
from edgemem.remember.entries import NewSession
from edgemem.remember.store import Store
from edgemem.remember.view import View
from tests.answer.conftest import START_US

NOW_US = START_US + 300 * US


def put(view: View, kit: AnswerKit, text: str, before: str = "") -> Answer:
    return ask(view, Question(text=text, asked_us=NOW_US, as_of_us=NOW_US), kit, [Turn(question=before)] if before else ())[0]


@pytest.mark.parametrize(
    ("text", "claim", "proof"),
    [
        ("Did someone steal my motorbike?", "stolen", 100),
        ("Did I lock the motorbike?", "locked", 100),
        ("Was the motorbike broken?", "broken", 100),
        ("Is there a cat in the kitchen?", "in the kitchen", 140),
        ("When did I buy the mug?", "bought", 20),
    ],
)
def test_a_claim_that_no_picture_shows_is_not_affirmed(view: View, kit: AnswerKit, text: str, claim: str, proof: int) -> None:
    answer = put(view, kit, text)
    assert (answer.status, answer.unverified) == ("abstained", (claim,))
    assert "cannot tell" in answer.answer
    assert proof in [e.offset_us // US for e in answer.evidence]


def test_a_place_that_was_seen_with_the_thing_is_checked(view: View, kit: AnswerKit) -> None:
    assert put(view, kit, "Was there a cat in the garden?").answer.startswith("Yes: I saw the cat at 10:02:20")


def test_what_is_denied_is_denied_back(view: View, kit: AnswerKit) -> None:
    assert put(view, kit, "Have I never seen a cat?").answer.startswith("No, you have: I saw the cat")
    assert put(view, kit, "Didn't I see a cat?").answer.startswith("Yes: I saw the cat")
    assert put(view, kit, "Have I never seen a dog?").answer.startswith("I have not seen a dog")


def test_what_is_left_out_is_in_no_part_of_the_answer(view: View, kit: AnswerKit) -> None:
    there = put(view, kit, "What did I see at 10:01:20 besides people?")
    assert (there.answer.partition(",")[0], there.status) == ("Apart from people: Park", "answered")
    read = put(view, kit, "Which signs did I read, other than the bakery sign?").answer
    assert read.startswith("Apart from the bakery sign: ")
    assert "ROOM 214" in read
    assert "MARLOW" not in read
    none = put(view, kit, "Did I see any cat other than the tabby cat?")
    assert none.status == "abstained"
    assert none.answer.startswith("Apart from the tabby cat: No, I have not seen")


@pytest.mark.parametrize("text", ["How many people spoke?", "Who spoke?", "Who did I hear?", "How many voices were there?"])
def test_people_in_view_are_no_voices(view: View, kit: AnswerKit, text: str) -> None:
    answer = put(view, kit, text)
    assert (answer.status, answer.answer, answer.evidence) == ("abstained", "I heard nobody speak.", ())


def test_what_was_met_nowhere_cannot_be_left_out(view: View, kit: AnswerKit) -> None:
    answer = put(view, kit, "How often did I see a cat, besides the giraffe and the mug?")
    assert answer.answer.startswith("2 times: I saw the cat at 10:00:40")
    assert answer.answer.endswith(" I know of no giraffe and no mug to leave out.")


def test_both_things_must_have_been_there(view: View, kit: AnswerKit) -> None:
    assert put(view, kit, "Did I see a cat and a motorbike?").answer.startswith("Yes")
    answer = put(view, kit, "Did I see a cat and a giraffe?")
    assert (answer.status, answer.unverified) == ("abstained", ("giraffe",))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Delete everything from yesterday", "edgemem forget"),
        ("please forget what you saw in the bathroom", "edgemem forget"),
        ("turn off the camera", "edgemem pause"),
        ("Export my week", "edgemem memory export"),
        ("Call my wife", "only answer questions"),
    ],
)
def test_a_command_is_refused_with_the_command_that_does_it(view: View, kit: AnswerKit, text: str, named: str) -> None:
    answer = put(view, kit, text)
    assert answer.status == "abstained"
    assert named in answer.answer


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wo habe ich meine Tasse gelassen?", "German"),
        ("¿Dónde dejé las gafas?", "Spanish"),
        ("Où est-ce que j'ai mis mes clés ?", "French"),
        ("我的眼镜放在哪儿了？", "Chinese"),
        ("Где мои очки?", "a language that I do not know"),
    ],
)
def test_a_language_that_is_not_understood_is_said(view: View, kit: AnswerKit, text: str, language: str) -> None:
    answer = put(view, kit, text)
    assert answer.status == "abstained"
    assert language in answer.answer


def test_a_follow_up_takes_over_what_it_leaves_out(view: View, kit: AnswerKit) -> None:
    first = "When did I last see the cat?"
    assert "10:02:20" in put(view, kit, first).answer
    assert "10:00:40" in put(view, kit, "and the one before?", first).answer
    assert "10:03:00" in put(view, kit, "what about the blue one?", "When did I see the mug?").answer
    assert put(view, kit, "and the one before?").status == "abstained"


def test_a_conversation_ends_with_the_session_named(tmp_path: Path) -> None:
    with Store.open(tmp_path / "memory") as store:
        for number, asked in enumerate(("where is the mug?", "when did I see the cat?", "and the one before?")):
            with store.transaction() as tx:
                tx.add_session(
                    NewSession(
                        question=asked, recipe="default", planner="local", asked_us=START_US + number, as_of_us=START_US, status="answered",
                        answer="", option=None, confidence=0.5, tokens_in=0, tokens_out=0, usd=0.0, ms=1.0,
                    )
                )  # fmt: skip
    with View.open(tmp_path / "memory") as view:
        asked = [[turn.question for turn in turns_before(view, which)] for which in ("last", "2", "1", "")]
        both = ["where is the mug?", "when did I see the cat?"]
        assert asked == [[*both, "and the one before?"], both, both[:1], []]
        for unknown in ("77", "first"):
            with pytest.raises(UsageError):
                turns_before(view, unknown)


def test_english_is_read_only_when_a_planner_looks(view: View, kit: AnswerKit) -> None:
    class Curt(BasePlanner):
        name = "curt"

        def next(self, session: Session) -> Action:
            assert "_read" not in session.__dict__
            return Reply(text="no", status="abstained")

    kit.planner = Curt()
    answer, session = ask(view, Question(text="Wo ist das?", asked_us=NOW_US, as_of_us=NOW_US), kit)
    assert (answer.answer, "_read" in session.__dict__) == ("no", False)


# ------------------------------------------------------------------------------------------------------------- forms and weights


@pytest.mark.parametrize(
    ("question", "form", "answers", "does_not"),
    [
        ("What is the code of my locker?", "code", "LOCKER B12", "the locker is red"),
        ("What is my brother's shoe size?", "number", "size forty-one", "his shoes are new"),
        ("How much was the espresso?", "price", "Espresso 2.80", "an espresso please"),
        ("What colour is the pillar?", "colour", "by the red pillar", "by the pillar"),
        ("What's the meeting with Anna about?", "topic", "it is about the budget", "the meeting is on Monday"),
        ("How long does the film last?", "duration", "for two hours", "the film is old"),
        ("When is the meeting?", "date", "on Thursday at 12", "the meeting is long"),
        ("What time does the train leave?", "time", "at half past six", "from platform 6"),
        ("What is the phone number of the garage?", "phone", "call 5551234", "on Monday at 10"),
        ("What was the maximum speed on the sign?", "number", "MAX 50", "NO PARKING"),
        ("What does Sarah want to discuss?", "topic", "it is about the roof", "the meeting is on Monday"),
        ("Where is the meeting?", "place", "at Tesco", "on Monday at 9"),
        ("Where is the meeting?", "place", "in all rooms", "at noon"),
        ("Where is the meeting?", "place", "at 10 Downing Street", "at all, by Friday"),
        ("Which way did we turn?", "place", "turn left here", "we turned the leaves"),
        ("Which way should I go?", "place", "you keep going straight", "that is right"),
        ("Which cinema is it on at?", "place", "at the Odeon", "we are going to watch the film, come on"),
        ("What stop does the bus go to?", "place", "it goes to London", "it goes on Monday"),
    ],
)
def test_words_must_have_the_form_that_is_asked_for(question: str, form: str, answers: str, does_not: str) -> None:
    assert understand(question).form == form
    assert fits(form, answers)  # type: ignore[arg-type]
    assert not fits(form, does_not)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("form", "text", "question", "new"),
    [
        ("price", "BUS 44 to Madrid", "what does a ticket on bus 44 cost", False),
        ("price", "BUS 44 to Madrid, 3 EUR", "what does a ticket on bus 44 cost", True),
        ("code", "FLIGHT KL325", "what is the booking of kl325", False),
        ("number", "Room 264", "which room is dr novak in", True),
        ("number", "the bus of 9", "which bus comes at nine", False),
        ("place", "GATE 41", "which gate was written", True),
        ("place", "to Madrid", "what stop has the bus for madrid", False),
        ("place", "to Madrid", "where does the bus go", True),
        ("name", "Please remember, a meeting with Daniel is on Thursday.", "what is daniel's last name", False),
        ("name", "Please remember, a meeting with Daniel is on Thursday.", "who do i meet", True),
        ("name", "We watch the film called The Last Garden.", "who is the star of the last garden", False),
        ("name", "We watch the film called The Last Garden.", "what is the film called", True),
        ("name", "Dr. Novak\nRoom 694", "what is the name of the dr in room 694", True),
        ("", "anything", "what is anything", True),
    ],
)
def test_what_the_question_says_itself_is_no_answer(form: str, text: str, question: str, new: bool) -> None:
    asked = weigh.asked_already(Parsed(kind="what", text=question))
    assert fits(form, text)  # type: ignore[arg-type]
    assert fits(form, text, asked) is new  # type: ignore[arg-type]


def test_the_one_who_is_asked_about_and_what_is_to_be_chosen_from_may_be_said() -> None:
    assert weigh.asked_already(understand("Who is Robert?")) == frozenset()
    assert "robert" in weigh.asked_already(understand("When do I meet Robert?"))
    assert "plumber" in weigh.asked_already(understand("Who is the plumber?"))
    assert "7" not in weigh.asked_already(Parsed(kind="which", text="which came first, 7 or 8", choices=("7", "8")))


def test_a_name_is_one_that_the_question_does_not_have() -> None:
    assert names("A little cat is called rosie.", ("cat",))
    assert names("Remember, the meeting with Maria is on Sunday", ("meeting",))
    assert not names("Remember, the meeting with Maria is on sunday", ("surname", "maria"))
    assert not names("My brother's shoe size is 44", ())
    assert not names("It is called rosie", ("rosie",))


def test_forms_are_of_the_question_word_and_not_of_what_stands_behind_a_preposition() -> None:
    assert form_of("what", "what is broken on the second floor") == ""
    assert form_of("which", "which floor is the office on") == "number"
    assert form_of("when", "when did somebody say something funny") == ""


@pytest.mark.parametrize(
    ("form", "text", "short"),
    [
        ("number", "The car is on level four.", "4"),
        ("price", "COFFEE 7 EUR", "7 EUR"),
        ("price", "149 COFFEE 8 EUR", "8 EUR"),
        ("price", "TABLE 4, tea $3.50", "$3.50"),
        ("price", "Table 15", "15"),
        ("code", "FLIGHT AF616\nON TIME", "AF616"),
        ("name", "Their little cat is called Charlie.", "Charlie"),
        ("name", "Dr. Novak\nRoom 264", "Dr. Novak"),
        ("place", "I left the spare keys on top of the piano.", "on top of the piano"),
        ("place", "We meet at 8, in the hall.", "in the hall"),
        ("place", "On Saturday at 8.", ""),
        ("place", "Let us turn left here.", "left"),
        ("place", "You keep going straight.", "straight"),
        ("place", "We are going to watch the film.", ""),
        ("place", "BUS 14 to Madrid", "to Madrid"),
        ("colour", "next to the blue pillar", "blue"),
        ("", "anything", ""),
    ],
)
def test_the_short_answer_is_a_part_of_the_words(form: str, text: str, short: str) -> None:
    assert short_answer(form, text) == short  # type: ignore[arg-type]


def candidate(text: str, held: float, cosine: float = 0.0, above: float = 0.0, number: int = 1) -> Candidate:
    evidence = Evidence(id=f"d{number}", channel="speech", stream="s", t0_us=number, t1_us=number, offset_us=0, score=1.0, text=text)
    return Candidate(channel="speech", text=text, evidence=(evidence,), held=held, cosine=cosine, above=above)


def test_more_of_a_feature_never_speaks_against_the_evidence() -> None:
    p = understand("Where is the spare key?")
    weak, words, near = candidate("under the mat", 0.2), candidate("under the mat", 0.9), candidate("under the mat", 0.9, 0.6, 5.0)
    assert weigh.stated(p, weak) < weigh.stated(p, words)
    assert weigh.stated(p, candidate("x", 0.9, 0.1, 0.5)) < weigh.stated(p, near)
    assert weigh.stated(p, near) > 0.5
    for model in (weigh.weights().words, weigh.weights().letters):
        assert all((weight <= 0) == (name == "misfits") or weight == 0 for name, weight in model.weights.items())


def test_what_was_met_by_chance_was_seen() -> None:
    for question in ("Have I bumped into a stork?", "Did I run into a dog?", "When did I come across a map?"):
        assert weigh.is_seen(understand(question)), question
    assert not weigh.is_seen(understand("Did I bump the car?"))


@pytest.mark.parametrize(
    ("question", "seen"),
    [
        ("Did a dog come by?", True),
        ("Did the dog turn up?", True),
        ("Did the dog show up?", True),
        ("Was a dog lying about?", True),
        ("Did I look at the mug?", True),
        ("Did I find the mug?", True),
        ("Did I come across a dog?", True),
        ("Did I put the mug on the shelf?", True),
        ("Did the dog run away?", False),
        ("Did the dog come in?", False),
        ("Did I leave the mug behind?", False),
        ("Did I put the mug away?", False),
        ("Did I lose the mug?", False),
        ("Did I keep the mug?", False),
        ("Is the mug mine?", False),
        ("When did the dog run away?", True),
        ("Where did I lose the mug?", True),
    ],
)
def test_which_deeds_a_picture_proves(question: str, seen: bool) -> None:
    assert weigh.is_seen(understand(question)) is seen


def test_pictures_answer_what_a_picture_can_show() -> None:
    lead = Lead(phrase="mug", confidence=0.9, episodes=(episode(0, 0.9),))
    assert weigh.shown(understand("When did I see the mug?"), lead) > 0.3
    for question in ("Whose mug is it?", "What is the code of the mug?", "When does the mug arrive?", "Why is the mug there?"):
        assert weigh.shown(understand(question), lead) == 0.0
    read = Lead(phrase="dr patel", confidence=0.9, episodes=(episode(0, 0.9),), basis="text")
    assert weigh.shown(understand("What is Dr Patel a specialist in?"), read) == 0.0, "that the name was read is no answer"
    assert weigh.shown(understand("When did I see Dr Patel?"), read) == 0.9
    unknown = Lead(phrase="blicket", confidence=0.9, episodes=(episode(0, 0.9),), named=False)
    assert weigh.shown(understand("When did I see the blicket?"), unknown) == 0.0


def test_whether_it_was_there_at_all_needs_more_than_when() -> None:
    for confidence, granted, in_row, sure in (
        (0.19, False, False, False), (0.21, True, False, False), (0.43, True, False, False), (0.44, True, True, False),
        (0.58, True, True, False), (0.6, True, True, True),
    ):  # fmt: skip
        lead = Lead(phrase="mug", confidence=confidence, episodes=(episode(0, confidence),))
        for question in (
            "When did I see the mug?", "How many times did I see the mug?", "Where did I see the mug?", "Where was the mug?",
            "Did I see the mug before the cat?", "When did I see the first mug after the cat?", "Which of the mugs came first?",
        ):  # fmt: skip
            assert weigh.is_shown(understand(question), lead) is granted
        for question in ("When did I last see the mug?", "When did I first see the mug?", "Where did I last see the mug?"):
            assert weigh.is_shown(understand(question), lead) is in_row
        for question in ("Did I see the mug?", "Where is my mug?"):
            assert weigh.is_shown(understand(question), lead) is sure


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("What did Anna say about the rent?", "What was on the table?"),
        ("When does the bus leave?", "When did I see the bus?"),
        ("Who is the doctor?", "Where did I see the doctor?"),
        ("Where is the key hidden?", "Where did I see the key?"),
        ("What is the password?", "What did I see first?"),
    ],
)
def test_the_wording_is_a_prior_on_words_against_pictures(more: str, less: str) -> None:
    assert weigh.stated_prior(understand(more)) > weigh.stated_prior(understand(less))


def test_what_is_asked_of_words_is_looked_for_at_all_times() -> None:
    """From one half on the time of a question is one of its words, and no stretch to look in."""
    for question in (
        "Where is the key hidden?",
        "What is the password?",
        "Is the plumber coming on Tuesday?",
        "When does the bus leave today?",
    ):
        assert weigh.stated_prior(understand(question)) >= 0.5
    for question in (
        "Where did I see the key?",
        "Was the plumber there on Tuesday?",
        "When was the bus there today?",
        "How often was the bus there?",
    ):
        assert weigh.stated_prior(understand(question)) < 0.5


def test_pictures_are_as_sure_as_their_matcher() -> None:
    lead = Lead(phrase="mug", confidence=0.37, episodes=(episode(0, 0.9),), firing=0.1)
    assert weigh.shown(understand("When did I see the mug?"), lead) == 0.37
    assert weigh.shown(understand("When did I see the mug?"), Lead(phrase="mug", confidence=0.37)) == 0.0


def test_two_things_that_fit_as_well_are_told_as_two() -> None:
    session = Session(Question(text="Where is the key?", asked_us=0, as_of_us=0))
    one, two = candidate("The key is under the mat.", 1.0), candidate("The key hangs in the kitchen.", 1.0, number=2)
    both = tell(session, [(0.8, one), (0.78, two)])
    assert both.text.startswith('Under the mat: somebody said "The key is under the mat."')
    assert 'It may also be this: In the kitchen: somebody said "The key hangs in the kitchen."' in both.text
    assert both.evidence == ("d1", "d2")
    alone = tell(session, [(0.8, one), (0.4, two)])
    assert "may also" not in alone.text
    assert (alone.evidence, alone.alternatives) == (("d1",), ("d2",))


# ------------------------------------------------------------------------------------------------------------------------ tracks


def episode(at_s: float, score: float, until_s: float | None = None, stream: str = "s") -> Episode:
    t0, t1 = round(at_s * US), round((at_s if until_s is None else until_s) * US)
    evidence = Evidence(id=f"m{t0}{stream}", channel="frame", stream=stream, t0_us=t0, t1_us=t1, offset_us=t0, score=score, text="")
    return Episode(stream=stream, t0_us=t0, t1_us=t1, offset_us=t0, score=score, evidence=(evidence,))


def times(lead: Lead) -> list[tuple[int, int]]:
    return [(track.t0_us // US, track.t1_us // US) for track in strong(lead)]


def test_sightings_less_than_30_s_apart_are_one_track_of_their_stream() -> None:
    assert times(Lead(phrase="cat", episodes=(episode(0, 0.9, 5), episode(34, 0.9)))) == [(0, 34)]
    assert times(Lead(phrase="cat", episodes=(episode(0, 0.9, 5), episode(35, 0.9)))) == [(0, 5), (35, 35)]
    assert times(Lead(phrase="cat", episodes=(episode(0, 0.9, 40), episode(20, 0.9), episode(69, 0.9)))) == [(0, 69)]
    assert times(Lead(phrase="cat", episodes=(episode(0, 0.9), episode(1, 0.9, stream="t")))) == [(0, 0), (1, 1)]
    joined = strong(Lead(phrase="cat", episodes=(episode(0, 0.5, 5), episode(15, 0.9))))[0]
    assert (joined.score, [e.score for e in joined.evidence]) == (0.9, [0.9, 0.5])


def test_what_is_below_half_of_the_best_score_joins_no_track() -> None:
    for weak, tracks in ((0.51, [(0, 40)]), (0.49, [(0, 0), (40, 40)])):
        assert times(Lead(phrase="cat", episodes=(episode(0, 1.0), episode(20, weak), episode(40, 1.0)))) == tracks


def test_a_weak_sighting_makes_no_track_longer() -> None:
    assert times(Lead(phrase="cat", episodes=(episode(0, 1.0), episode(20, 0.49)))) == [(0, 0)]
    assert times(Lead(phrase="cat", episodes=(episode(0, 1.0), episode(20, 0.5)))) == [(0, 20)]


def test_a_track_counts_from_half_of_the_best_score_on() -> None:
    for score, counted in ((0.46, True), (0.44, False)):  # 0.5 * 0.9 = 0.45
        assert len(times(Lead(phrase="cat", episodes=(episode(0, 0.9), episode(100, score))))) == 1 + counted
    assert times(Lead(phrase="cat")) == []


def test_where_looks_were_compared_they_say_what_is_the_same_thing() -> None:
    """By scores 0 and 100 s are tracks and 50 s is none; by looks 50 s is one, 100 s is none, and 20 s joins nothing."""
    some = (episode(0, 0.9), episode(20, 0.9), episode(50, 0.1), episode(100, 0.8))
    same = {"m0s": 1.0, "m20000000s": 0.29, "m50000000s": 0.5, "m100000000s": 0.49}
    assert times(Lead(phrase="cat", episodes=some, same=same)) == [(0, 0), (50, 50)]
    assert times(Lead(phrase="cat", episodes=some, same={"m0s": 1.0, "m100000000s": 0.49})) == [(0, 20)], "others by their scores"


def test_what_has_an_article_gets_no_second_one() -> None:
    assert [the(x) for x in ("mug", "the mug", "a mug", "The mug", "my mug", "theatre", "")] == [
        "the mug", "the mug", "the mug", "the mug", "my mug", "the theatre", "that",
    ]  # fmt: skip
    assert [a(x) for x in ("mug", "the apple", "an apple", "my mug", "apples")] == ["a mug", "an apple", "an apple", "my mug", "apples"]


def test_the_nth_appearance_is_counted_from_either_end() -> None:
    three = [episode(0, 0.5), episode(50, 0.9), episode(90, 0.6)]
    assert [pick(three, n) for n in (1, 3, -1, -2)] == [three[0], three[2], three[2], three[1]]
    assert pick(three, 0) is three[1]
    assert pick(three, 4) is pick(three, -4) is None
    assert pick([], 0) is None


def test_no_record_of_answering_can_be_changed() -> None:
    modules = [import_module(one.name) for one in walk_packages(edgemem.answer.__path__, "edgemem.answer.")]
    records = {one for module in modules for one in vars(module).values() if isinstance(one, type) and issubclass(one, Record)}
    assert {Parsed, weigh.Model, Candidate} <= records
    assert [one.__name__ for one in records - {Record} if not one.__struct_config__.frozen] == []
