"""Asking a small real memory: what a person gets back."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgemem.answer.local import LocalPlanner
from edgemem.answer.planner import AnswerKit, ask
from edgemem.answer.retrieve import Query, search
from edgemem.answer.session import Session
from edgemem.answer.tool_base import BasePlanner
from edgemem.answer.tools import Action, Inspect, Refused, Reply, Search, action_schema, decode_action
from edgemem.errors import UsageError
from edgemem.records import US, Answer, Question
from edgemem.remember.store import Store
from edgemem.remember.view import View
from tests.answer.conftest import START_US

NOW_US = START_US + 300 * US


def put(view: View, kit: AnswerKit, text: str, *options: str, now_us: int = NOW_US, tz: str = "UTC") -> Answer:
    answer, session = ask(view, Question(text=text, asked_us=now_us, as_of_us=now_us, options=options, tz=tz), kit)
    assert answer.steps == len(session.steps) + 1
    assert answer.status != "answered" or answer.evidence
    return answer


def seconds(answer: Answer) -> list[int]:
    return [e.offset_us // US for e in answer.evidence]


@pytest.mark.parametrize(
    ("text", "said", "proof"),
    [
        ("Where did I leave the mug?", "kitchen", 180),
        ("Where was the rocket?", "museum", 120),
        ("What time did the motorbike show up?", "10:01:40", 100),
        ("When did I first see the cat?", "10:00:40", 40),
        ("When was the last time I saw the cat?", "10:02:20", 140),
        ("When did I see the cat after the motorbike?", "10:02:20", 140),
        ("Have I seen a cat today?", "Yes", 40),
        ("Was the rocket there at 10:02?", "Yes", 120),
        ("Did I see the cat before the motorbike?", "Yes", 40),
        ("Did I see the rocket before the motorbike?", "No", 120),
        ("Which came first, the cat or the rocket?", "The cat came first", 40),
        ("Did the cat appear before or after the rocket?", "Before", 40),
        ("How many times did I see the cat?", "2 times", 40),
        ("How many people were there?", "3 people", 80),
        ("How many people were there at 10:01:24?", "2 people", 84),
        ("What did the blue sign say?", '"ROOM 214 Elena Fischer"', 60),
        ("What was the room number?", "214", 60),
        ("Who works in room 214?", "Elena Fischer", 60),
        ("When does Marlow Bakery open?", "7:00", 160),
        ("How much was the espresso?", "2.80", 200),
        ("Did I see the word bakery?", "Yes", 160),
        ("What did I see right after the motorbike?", "rocket", 120),
        ("What came just before the motorbike?", "park", 84),
        ("What did I see between the motorbike and the last mug?", "rocket", 120),
        ("What was next to the tabby cat?", "sofa", 40),
        ("What did I see at 10:02:00?", "rocket", 120),
        ("What was there 100 seconds in?", "motorbike", 100),
        ("What did I see first?", "street", 5),
        ("Find the red mug", "10:00:20", 20),
        ("Did I see the mug while I was walking home?", "Yes: I saw the mug", 20),
        ("When was the rocket there while it rained?", 'about "while it rained" I cannot tell.', 120),
        ("Show me the last time I saw a cat", "10:02:20", 140),
        ("How long was the mug visible?", "4 s", 20),
    ],
)
def test_an_answer_says_it_and_proves_it(view: View, kit: AnswerKit, text: str, said: str, proof: int) -> None:
    answer = put(view, kit, text)
    assert answer.status == "answered"
    assert said.lower() in answer.answer.lower()
    assert proof in seconds(answer)[:2]
    assert 0 < answer.confidence <= 1


@pytest.mark.parametrize(
    ("text", "said", "proof"),
    [
        ("Seldom does one get so close to a rocket, does one? Do look up the moment for me.", "10:02", 120),
        ("Of all the times that a cat stood before me, it is only the final one whose hour I wish to know.", "last saw the cat", 140),
        ("Am I losing it or did the cat show up like a bunch of times? Gimme the number.", "2 times", 40),
        ("If it is not too much bother, I would appreciate being shown the rocket again.", "10:02:00", 120),
        ("Note down the final sighting of the cat, giving hours and minutes.", "last saw the cat at 10:02:20", 140),
        ("Put a number on it for me, the cat, how many separate times", "2 times", 40),
    ],
)
def test_a_question_that_brings_nothing_is_read_anew(view: View, kit: AnswerKit, text: str, said: str, proof: int) -> None:
    answer = put(view, kit, text)
    assert answer.status == "answered"
    assert said in answer.answer
    assert proof in seconds(answer)
    assert 0 < answer.confidence <= 0.5


def test_what_is_read_anew_is_half_as_sure(view: View, kit: AnswerKit) -> None:
    plain = put(view, kit, "When did I see the rocket?")
    anew = put(view, kit, "Seldom does one get so close to a rocket, does one? Do look up the moment for me.")
    assert anew.confidence == pytest.approx(plain.confidence / 2)


@pytest.mark.parametrize(
    ("text", "said", "unverified"),
    [
        (
            "Note down the final sighting of the cat, giving hours and minutes.",
            'I do not carry out commands ("note down"). I last saw',
            "note down",
        ),
        ("Did somebody steal the rocket, and at what time?", 'About "stolen" I cannot tell.', "stolen"),
        ("Who drove the rocket, and at what time?", 'About "driven" I cannot tell.', "driven"),
    ],
)
def test_what_is_read_anew_says_what_was_not_done_or_not_checked(view: View, kit: AnswerKit, text: str, said: str, unverified: str) -> None:
    answer = put(view, kit, text)
    assert answer.status == "answered"
    assert said in answer.answer
    assert answer.unverified == (unverified,)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Did somebody steal the rocket?", "I cannot tell"),
        ("Was the cat there while it rained?", 'about "while it rained" I cannot tell.'),
        ("Did I see the mug when they came home?", 'about "when they came home" I cannot tell.'),
        ("Was there a phone number on that Elena Fischer sign?", "I cannot tell"),
        ("Delete the cat and tell me how often it was there.", "edgemem forget"),
        ("Note down the final sighting of the zebra, giving hours and minutes.", "I do not carry out commands"),
        ("What did the doctor say about the rocket and at what time?", "I have heard or read nothing"),
        ("I would like to buy a rocket.", ""),
    ],
)
def test_nothing_is_read_anew_into_a_deed_a_text_what_was_said_or_a_command(view: View, kit: AnswerKit, text: str, said: str) -> None:
    answer = put(view, kit, text)
    assert answer.status == "abstained"
    assert said in answer.answer


@pytest.mark.parametrize(
    ("text", "options", "right"),
    [
        ("Which of these did I see?", ("a dog", "the cat", "a horse"), 1),
        ("What did I see right after the motorbike?", ("cat", "rocket", "mug"), 1),
        ("Which of these did I see first?", ("cat", "rocket", "mug"), 2),
        ("Which of these came last?", ("cat", "rocket", "motorbike"), 0),
        ("Where did I see the rocket?", ("museum", "kitchen", "park"), 0),
        ("How many times did I see the cat?", ("once", "twice", "three times"), 1),
        ("Have I seen a cat?", ("no", "yes"), 1),
        ("When did I see the rocket?", ("10:00:30", "10:02:00", "10:03:00"), 1),
        ("What was the room number?", ("213", "214", "215"), 1),
        ("Did I see the cat?", ("yes",), 0),
        ("Did I see the rocket earlier or later than the motorbike?", ("earlier", "later"), 1),
        ("Did the motorbike turn up earlier or later than the rocket?", ("sooner", "later"), 0),
    ],
)
def test_the_right_option_is_chosen(view: View, kit: AnswerKit, text: str, options: tuple[str, ...], right: int) -> None:
    answer = put(view, kit, text, *options)
    assert (answer.status, answer.option) == ("answered", right)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Have I seen a dog?", "No"),
        ("When did I see the giraffe?", "not seen"),
        ("What did I see right after the giraffe?", "giraffe"),
        ("When did I see the cat for the third time?", "only 2 times"),
        ("What was the wifi password?", "read nothing"),
        ("Who did I meet?", "faces"),
        ("What will I see tomorrow?", "not come yet"),
        ("What did I see on 2026-05-01?", "2026-05-01"),
        ("What did I see at 23:30?", "23:30"),
    ],
)
def test_it_abstains_and_says_why(view: View, kit: AnswerKit, text: str, why: str) -> None:
    answer = put(view, kit, text)
    assert answer.status == "abstained"
    assert why in answer.answer
    assert answer.confidence < 0.5


def test_yes_is_never_said_about_a_day_without_records(view: View, kit: AnswerKit) -> None:
    later = NOW_US + 86_400 * US
    for question in ("Did I see the cat today?", "When did I see the motorbike today?", "Did I see the mug this morning?"):
        answer = put(view, kit, question, now_us=later)
        assert (answer.status, answer.answer) == ("abstained", "Nothing was recorded today.")
    assert put(view, kit, "Did I see the cat yesterday?", now_us=later).answer.startswith("Yes")


def test_a_sign_about_a_thing_is_not_the_thing(view: View, kit: AnswerKit) -> None:
    assert put(view, kit, "Have I seen a room?").status == "abstained"


def test_thirty_options_and_one_that_is_empty(view: View, kit: AnswerKit) -> None:
    options = (*(f"giraffe{i}" for i in range(29)), "rocket")
    assert put(view, kit, "Which of these did I see?", *options).option == 29
    with pytest.raises(UsageError, match="options"):
        put(view, kit, "Which of these did I see?", "cat", " ")


def test_nothing_after_the_as_of_time_is_told(kit: AnswerKit, walk: Path) -> None:
    before_rocket = START_US + 110 * US
    with View.open(walk, before_rocket) as early:
        answer = put(early, kit, "When did I see the rocket?", now_us=before_rocket)
        assert answer.status == "abstained"
        seen = put(early, kit, "What did I see?", now_us=before_rocket)
        assert all(e.t1_us <= before_rocket for e in seen.evidence)


def test_before_everything_and_in_an_empty_memory_it_abstains(walk: Path, kit: AnswerKit, tmp_path: Path) -> None:
    with View.open(walk, START_US - US) as early:
        assert "empty" in put(early, kit, "Where is the mug?", now_us=START_US - US).answer
    with Store.open(tmp_path / "memory"):
        pass
    with View.open(tmp_path / "memory") as empty:
        assert put(empty, kit, "Where is the mug?").status == "abstained"


def test_times_are_told_on_the_clock_of_the_one_who_asks(view: View, kit: AnswerKit) -> None:
    assert "12:01:40" in put(view, kit, "When did I see the motorbike?", tz="Europe/Berlin").answer
    assert put(view, kit, "What did I see at 12:01:40?", tz="Europe/Berlin").answer.startswith("Motorbike")


def test_the_same_question_takes_the_same_steps(view: View, kit: AnswerKit) -> None:
    question = Question(text="What did I see right after the motorbike?", asked_us=NOW_US, as_of_us=NOW_US)
    (one, first), (two, second) = ask(view, question, kit), ask(view, question, kit)
    assert [step.action for step in first.steps] == [step.action for step in second.steps]
    assert (one.answer, one.evidence) == (two.answer, two.evidence)


def test_without_an_engine_for_pictures_documents_and_text_still_answer(view: View) -> None:
    from edgemem.answer.retrieve import EventRetriever
    from edgemem.answer.retrievers.readings import TextRetriever

    kit = AnswerKit(planner=LocalPlanner(), retrievers=(TextRetriever(), EventRetriever()))
    assert 100 in seconds(put(view, kit, "When did I see the motorbike?"))


class Scripted(BasePlanner):
    """A planner that does what it is told: for tests of the loop."""

    name = "scripted"

    def __init__(self, *actions: Action) -> None:
        self._actions = actions

    def next(self, session: Session) -> Action:
        return self._actions[min(len(session.steps), len(self._actions) - 1)]


def run(view: View, kit: AnswerKit, *actions: Action) -> tuple[Answer, Session]:
    kit.planner = Scripted(*actions)
    return ask(view, Question(text="where is it", asked_us=NOW_US, as_of_us=NOW_US), kit)


def test_any_planner_fits_into_the_loop(view: View, kit: AnswerKit) -> None:
    answer, session = run(view, kit, Search(query="cat"), Reply(text="There.", evidence=("m4",), confidence=0.7))
    assert (answer.status, answer.evidence[0].id, len(session.steps)) == ("answered", "m4", 1)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply(text="There."), "cite"),
        (Reply(text="There.", evidence=("m99",)), "m99"),
        (Reply(text="There.", evidence=("m4",), option=3), "option 3"),
    ],
)
def test_a_reply_that_proves_nothing_is_given_back(view: View, kit: AnswerKit, reply: Reply, why: str) -> None:
    _, session = run(view, kit, Search(query="cat"), reply, Reply(text="I do not know.", status="abstained"))
    refused = session.steps[-1].result
    assert isinstance(refused, Refused)
    assert why in refused.why


def test_no_action_looks_past_the_as_of_time(view: View, kit: AnswerKit) -> None:
    _, session = run(view, kit, Inspect(from_us=NOW_US + US, to_us=NOW_US + 2 * US), Reply(text="?", status="abstained"))
    assert isinstance(session.steps[0].result, Refused)


def test_a_planner_that_never_ends_is_stopped(view: View, kit: AnswerKit) -> None:
    kit.step_limit = 5
    answer, session = run(view, kit, Search(query="cat"))
    assert (answer.status, len(session.steps)) == ("abstained", 5)


def test_actions_come_as_json_and_unknown_keys_are_refused() -> None:
    assert decode_action('{"action": "search", "query": "mug", "top_k": 3}') == Search(query="mug", top_k=3)
    for bad in (
        '{"action": "search", "query": "mug", "rm": 1}',
        '{"action": "delete"}',
        '{"action": "search", "query": "x", "top_k": 900}',
        "nonsense",
    ):
        with pytest.raises(UsageError, match="action"):
            decode_action(bad)
    assert "query" in str(action_schema())


def test_search_by_channel_and_fused(view: View, kit: AnswerKit) -> None:
    assert search(view, Query(text="cat"), kit.retrievers, "frame")[0].channel == "frame"
    assert "214" in search(view, Query(text="room 214"), kit.retrievers, "text")[0].text
    assert search(view, Query(text="cat"), kit.retrievers)[0].offset_us in {40 * US, 140 * US}
    assert search(view, Query(text="cat"), kit.retrievers, "speech") == []
    late = search(view, Query(text="cat", from_us=START_US + 100 * US), kit.retrievers)
    assert late
    assert all(e.t0_us >= START_US + 100 * US for e in late)
    for bad in (("", "any", 5), ("cat", "smell", 5), ("cat", "any", 0)):
        with pytest.raises(UsageError):
            search(view, Query(text=bad[0]), kit.retrievers, bad[1], bad[2])


@pytest.mark.parametrize("line", ["EXITC", "exit c", "EX1T C"])
def test_text_is_found_as_read_squeezed_and_with_a_slip(line: str) -> None:
    from edgemem.answer.understand.words import likeness

    assert likeness("exit c", line) > 0.7


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(min_size=1, max_size=120), options=st.lists(st.text(min_size=1, max_size=20), max_size=3))
def test_any_question_ends_with_an_answer_or_a_usage_error(view: View, kit: AnswerKit, text: str, options: list[str]) -> None:
    try:
        answer = put(view, kit, text, *options)
    except UsageError:
        return
    assert answer.option is None or 0 <= answer.option < len(options)
